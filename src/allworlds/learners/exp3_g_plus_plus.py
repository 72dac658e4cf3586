"""EXP3.G++: EXP3++ on a feedback graph, exploring only what is not already shown; our reconstruction.

The idea. EXP3++ explores every arm at a rate that follows its estimated gap. On a graph an arm need not be played to
be seen: an arm of smaller gap that shows it is cheaper. So arms are taken by increasing estimated gap, and an arm is
explored only as far as those before it do not show it often enough:

    q_t ∝ exp(-eta_t Lhat),    p_t = (1 - sum_j eps_t(j)) q_t + eps_t,    Lhat_i += l_i / P_t(i) for every i seen,
    P_t(i) = sum of p_t over the arms that show i,    Q_t = sum_i p_t(i) / P_t(i),
    eta_t = sqrt(log(N) / (N + Q_1 + ... + Q_{t-1})) / 2,        d_i = min{1 / (2N), eta_t, b log(t) / (t gap_i²)},
    eps_t such that  sum of eps_t over the arms that show i and have gap_j <= gap_i  is at least d_i, for every i.

Arms of equal gap are taken together: if ``U`` are those among them that are not shown enough, arm ``j`` of ``U`` gets
the largest share ``(what arm i lacks) / (arms of U that show i)`` among the arms ``i`` of ``U`` that it shows. The
numbers of the arms do not matter. Gaps are estimated as by EXP3++, from all losses seen; an arm never seen has gap 0.

Rouyer, van der Hoeven, Cesa-Bianchi and Seldin, "A near-optimal best-of-both-worlds algorithm for online learning with
feedback graphs", NeurIPS 2022, prove ``sqrt(alpha T)`` up to logarithms against any losses and ``log(T)²`` times the
largest sum of ``1 / Delta`` over independent arms where they are stochastic. We know the bounds and the idea of their
exploration but not its details; caps, rates and the sharing are ours, and their bounds are not claimed. Where arms
show only themselves it is EXP3++ without its first plays. It takes directed graphs with self-loops. ``exploration`` is
``b``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.kernels.jit import lean_jit
from allworlds.learners.dispatch import Visibility, register_kernels
from allworlds.learners.dividing import (
    DividingLearner,
    DrawnSpread,
    SpreadTicket,
    neighbourhood_masses,
    spread_of,
)
from allworlds.learners.exp3_ix import ROUND, SPENT, SPREAD, draw_spread, learn_spread
from allworlds.learners.exp3_plus_plus import CONFIDENCE
from allworlds.learners.indices import count_losses
from allworlds.learners.recipe import LearnerRecipe
from allworlds.learners.sampling import exponential_weights

ENOUGH = 1.0 - 1e-9
"""An arm is shown enough at this share of its rate: a sum may round down."""


class State(NamedTuple):
    """What the next round needs; distribution and gaps follow from the first three, round and spent."""

    cumulative_losses: NDArray[np.float64]
    """(N,) ``Lhat``."""
    totals: NDArray[np.float64]
    """(N,) the sum of the losses seen."""
    seen: NDArray[np.float64]
    """(N,) how often each arm was seen."""
    distribution: NDArray[np.float64]
    """(N,) ``p_t`` of the coming round."""
    gaps: NDArray[np.float64]
    """(N,) the gap of each arm, estimated from below."""
    explored: NDArray[np.float64]
    """(N,) ``eps_t``."""
    observed: NDArray[np.float64]
    """``P_t``: for each list of the observers, the mass of the arms in it."""
    lacking: NDArray[np.float64]
    """(N,) what each arm of ``U`` lacks, 0 outside of ``U``, while ``eps_t`` is computed."""
    order: NDArray[np.int64]
    """(N,) the arms by increasing gap, while ``eps_t`` is computed."""
    clock: NDArray[np.float64]
    """(3,) round, the sum of the past ``Q`` and the coming round's ``Q``."""
    divisors: NDArray[np.float64]
    """``P_t(i)`` of the arms that the last drawn arm shows, in their order; room for the most."""
    visibility: Visibility
    observers: Visibility
    """Who shows each arm."""
    exploration: float


@dataclass(frozen=True)
class Exp3GPlusPlus(DividingLearner[State, SpreadTicket]):
    """EXP3.G++ without a horizon.

    >>> from allworlds.graphs import star
    >>> learner = Exp3GPlusPlus(star(4))
    >>> state = learner.init()
    >>> ticket = learner.draw(state, 0.3, 0.0)
    >>> ticket.arm, learner.observes(ticket.arm)
    (1, array([0, 1]))
    >>> learner.update(state, ticket, np.array([1.0, 0.0]))
    >>> learner.distribution(state).argmin()
    np.int64(0)
    """

    name: ClassVar[str] = "exp3-g-plus-plus"
    accepts: ClassVar[frozenset[str]] = frozenset({"directed"})
    ticket_class: ClassVar[type] = SpreadTicket
    drawn_class: ClassVar[type] = DrawnSpread
    positive: ClassVar[tuple[str, ...]] = ("exploration",)
    saved: ClassVar[tuple[str, ...]] = ("cumulative_losses", "totals", "seen", "clock")
    scratch: ClassVar[tuple[str, ...]] = ("divisors", "lacking", "order")

    exploration: float = 256.0

    def init(self) -> State:
        """Nothing seen, round one."""
        n, observers = self.n_arms, self.observers
        state = State(
            cumulative_losses=np.zeros(n),
            totals=np.zeros(n),
            seen=np.zeros(n),
            distribution=np.empty(n),
            gaps=np.zeros(n),
            explored=np.zeros(n),
            observed=np.empty(observers.starts.size - 1),
            lacking=np.empty(n),
            order=np.arange(n),
            clock=np.array([1.0, 0.0, 0.0]),
            divisors=self.room_for_divisors(),
            visibility=self.visibility,
            observers=observers,
            exploration=self.exploration,
        )
        resolve(state)
        return state


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def draw(state: State, first: float, second: float) -> DrawnSpread:
    """Draw ``I_t`` from ``p_t``; note ``P_t(i)`` of what it shows."""
    return draw_spread(state, first, 0.0)


@lean_jit
def update(state: State, ticket: DrawnSpread, losses: NDArray[np.float64]) -> None:
    """``Lhat_i += l_i / P_t(i)`` and the means of the arms that are seen, then the next round's distribution."""
    learn_spread(state, ticket, losses)
    count_losses(state.visibility, ticket.arm, losses, state.totals, state.seen)
    resolve(state)


@lean_jit
def resolve(state: State) -> None:
    """``p = (1 - sum eps) q + eps``, ``P`` and ``Q`` of the coming round."""
    p, n, observers = state.distribution, state.distribution.size, state.observers
    rate = 0.5 * math.sqrt(math.log(n) / (n + state.clock[SPENT]))
    estimate_gaps(state.totals, state.seen, state.clock[ROUND], state.gaps)
    sort_by_gap(state.gaps, state.order)
    sweep(state, rate)
    total = 0.0
    for i in range(n):
        total += state.explored[i]
    exponential_weights(state.cumulative_losses, rate, p)
    for i in range(n):
        p[i] = (1.0 - total) * p[i] + state.explored[i]
    neighbourhood_masses(observers.starts, observers.order, p, state.observed)
    state.clock[SPREAD] = spread_of(p, state.observed, observers.where, 0.0)


@lean_jit
def estimate_gaps(totals: NDArray[np.float64], seen: NDArray[np.float64], t: float, out: NDArray[np.float64]) -> None:
    """``gap_i = max{0, LCB_i - min_j UCB_j}``, with both bounds kept in [0, 1]; an arm never seen has all of it."""
    width = 0.5 * (CONFIDENCE * math.log(t) + math.log(totals.size))
    lowest = 1.0
    for i in range(totals.size):
        if seen[i] > 0.0:
            lowest = min(lowest, totals[i] / seen[i] + math.sqrt(width / seen[i]))
    for i in range(totals.size):
        lower = totals[i] / seen[i] - math.sqrt(width / seen[i]) if seen[i] > 0.0 else 0.0
        out[i] = max(0.0, lower - lowest)


@lean_jit
def sort_by_gap(gaps: NDArray[np.float64], order: NDArray[np.int64]) -> None:
    """Arms by gap, those of equal gap by number: insertion sort, as the order changes little from round to round."""
    for k in range(1, order.size):
        arm, place = order[k], k
        while place > 0:
            before = order[place - 1]
            if gaps[before] < gaps[arm] or (gaps[before] == gaps[arm] and before < arm):
                break
            order[place] = before
            place -= 1
        order[place] = arm


@lean_jit
def sweep(state: State, rate: float) -> None:
    """``eps``, one group of equal gaps after another, from the smallest."""
    gaps, order, n = state.gaps, state.order, state.gaps.size
    cap, t = min(0.5 / n, rate), state.clock[ROUND]
    for i in range(n):
        state.explored[i] = 0.0
        state.lacking[i] = 0.0
    first = 0
    while first < n:
        gap, last = gaps[order[first]], first
        while last < n and gaps[order[last]] == gap:
            last += 1
        wanted = min(cap, state.exploration * math.log(t) / (t * gap * gap)) if gap > 0.0 else cap
        for k in range(first, last):  # U: who is not shown enough by the groups before
            missing = wanted - shown_to(state, order[k])
            state.lacking[order[k]] = missing if missing > wanted * (1.0 - ENOUGH) else 0.0
        for k in range(first, last):
            if state.lacking[order[k]] > 0.0:
                state.explored[order[k]] = largest_share(state, order[k])
        for k in range(first, last):
            state.lacking[order[k]] = 0.0
        first = last


@lean_jit
def shown_to(state: State, arm: int) -> float:
    """The sum of ``eps`` over the arms that show ``arm``."""
    observers, total = state.observers, 0.0
    where = observers.where[arm]
    for j in range(observers.starts[where], observers.starts[where + 1]):
        total += state.explored[observers.order[j]]
    return total


@lean_jit
def largest_share(state: State, arm: int) -> float:
    """The largest ``lacking_i / |arms of U that show i|`` over the arms ``i`` of ``U`` that ``arm`` shows."""
    visibility, observers, lacking = state.visibility, state.observers, state.lacking
    share, where = 0.0, visibility.where[arm]
    for j in range(visibility.starts[where], visibility.starts[where + 1]):
        i = visibility.order[j]
        if lacking[i] > 0.0:
            helpers, there = 0, observers.where[i]
            for k in range(observers.starts[there], observers.starts[there + 1]):
                helpers += lacking[observers.order[k]] > 0.0
            share = max(share, lacking[i] / helpers)
    return share


register_kernels(State, draw, update, resolve)

RECIPES = (
    LearnerRecipe(
        "exp3-g-plus-plus",
        Exp3GPlusPlus,
        "none claimed; our reconstruction of [Rouyer et al. 2022], who prove sqrt(alpha T) and "
        "log(T)² max over independent I of sum_I 1/Delta",
        "exp3-g-plus-plus:exploration=1",
        {"exploration": "number"},
        kind=Exp3GPlusPlus,
        world="any",
        source='Rouyer, van der Hoeven, Cesa-Bianchi and Seldin, "A near-optimal best-of-both-worlds algorithm for '
        'online learning with feedback graphs", NeurIPS 2022',
        rendering="reconstruction",
    ),
)
