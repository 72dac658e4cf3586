"""BARBAR-G: BARBAR on a feedback graph; our reconstruction, not a published rule.

The idea. BARBAR wants to see arm ``i`` about ``lambda / gap_i²`` times an epoch. On a graph it need not play the arm
for that: any arm that shows it will do, and one whose gap is about the same or smaller costs no more. So the plays of
an epoch are planned from the smallest gaps upwards, each arm is given only what those before it do not already show,
and estimates count all that is seen:

    n = plan(gap),   N_m = sum_i n_i;   for N_m rounds play arm i with probability p_i = n_i / N_m;
    r_i = (sum of its rewards that were seen) / (N_m P(i)),       P(i) = sum of p over the arms that show i,
    r* = max_i (r_i - gap_i / 16),    gap_i <- max{2^-m, r* - r_i}.

The plan. Arms are taken by levels, those with ``2^-(s+1) < gap <= 2^-s`` together, from the smallest gaps. In each
level, until every arm ``i`` of it has ``sum of n over the arms that show i >= lambda / gap_i²``: among the arms of
this level and of those before, take the ones that show the most arms still wanting, and raise ``n`` of all of these
alike until one more arm has enough (the greedy cover, with ties shared, so that the numbers of the arms do not
matter).

Lu, Wang and Zhang, "Stochastic graphical bandits with adversarial corruptions", AAAI 2021, prove ``alpha log N log T +
alpha C`` for an algorithm that explores independent sets by layers of estimated gaps. We know that bound only, and not
their rule; the plan is ours and their guarantee is not claimed for it. Where arms show only themselves it is BARBAR. It
takes directed graphs with self-loops as well. ``scale`` and ``failure`` are those of BARBAR.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.kernels.jit import lean_jit
from allworlds.learners.barbar import count_round, published_budget, set_length
from allworlds.learners.base import Ticket
from allworlds.learners.dispatch import Visibility, register_kernels
from allworlds.learners.dividing import DividedTicket, DividingLearner, draw_seen, neighbourhood_masses
from allworlds.learners.recipe import LearnerRecipe

ENOUGH = 1e-9
"""An arm is shown enough when less than this share of its plays is missing: a sum may round down."""


class State(NamedTuple):
    """Where in which epoch we are; the plan follows from the gaps."""

    gaps: NDArray[np.float64]
    """(N,) the gaps that the last epoch estimated."""
    rewards: NDArray[np.float64]
    """(N,) the sum of this epoch's rewards of each arm, each divided by the probability that it was seen."""
    distribution: NDArray[np.float64]
    """(N,) ``n_i / N_m``."""
    observed: NDArray[np.float64]
    """``P``: for each list of the observers, the mass of the arms in it."""
    wanting: NDArray[np.float64]
    """(N,) how often each arm must still be shown, while the plan is made."""
    shown: NDArray[np.int64]
    """(N,) how many wanting arms each arm shows, while the plan is made."""
    clock: NDArray[np.float64]
    """(4,) round, epoch, its length and the rounds left in it."""
    divisors: NDArray[np.float64]
    """``P(i)`` of the arms that the last drawn arm shows, in their order; room for the most."""
    visibility: Visibility
    observers: Visibility
    """Who shows each arm."""
    budget: float
    """``lambda``."""


@dataclass(frozen=True)
class BarbarG(DividingLearner[State, DividedTicket]):
    """BARBAR that sees by the graph; ``scale`` multiplies the lengths of the epochs.

    >>> from allworlds.graphs import disjoint_cliques
    >>> learner = BarbarG(disjoint_cliques([1, 3]), horizon=1000, scale=1e-3)
    >>> learner.distribution(learner.init())
    array([0.5       , 0.16666667, 0.16666667, 0.16666667])
    """

    name: ClassVar[str] = "barbar-g"
    accepts: ClassVar[frozenset[str]] = frozenset({"directed"})
    positive: ClassVar[tuple[str, ...]] = ("scale",)
    fractions: ClassVar[tuple[str, ...]] = ("failure",)
    saved: ClassVar[tuple[str, ...]] = ("gaps", "rewards", "clock")
    scratch: ClassVar[tuple[str, ...]] = ("divisors", "wanting", "shown")

    horizon: int
    scale: float = 1.0
    failure: float | None = None

    def init(self) -> State:
        """All gaps are 1, the first epoch begins."""
        n, observers = self.n_arms, self.observers
        state = State(
            gaps=np.ones(n),
            rewards=np.zeros(n),
            distribution=np.empty(n),
            observed=np.empty(observers.starts.size - 1),
            wanting=np.empty(n),
            shown=np.empty(n, dtype=np.int64),
            clock=np.array([1.0, 1.0, 0.0, 0.0]),
            divisors=self.room_for_divisors(),
            visibility=self.visibility,
            observers=observers,
            budget=self.scale * published_budget(n, self.horizon, self.failure or 1.0 / self.horizon),
        )
        set_length(state, allot(state))
        return state


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def update(state: State, ticket: Ticket, losses: NDArray[np.float64]) -> None:
    """Add ``(1 - l_i) / P(i)`` for every arm that is seen; at the end of an epoch, estimate the gaps."""
    visibility = state.visibility
    start = visibility.starts[visibility.where[ticket.arm]]
    for j in range(losses.size):
        state.rewards[visibility.order[start + j]] += (1.0 - losses[j]) / state.divisors[j]
    if count_round(state):
        set_length(state, allot(state))


@lean_jit
def allot(state: State) -> float:
    """The plan for ``lambda = 1``, as a distribution, and ``P``; return the plan's sum."""
    n = state.distribution
    for i in range(n.size):
        n[i] = 0.0
    above = 0.0
    while True:  # one level of gaps after another
        least = math.inf
        for i in range(n.size):
            if state.gaps[i] > above:
                least = min(least, state.gaps[i])
        if least == math.inf:
            break
        part, power = math.frexp(least)  # least = part 2^power with 1/2 <= part < 1
        below, above = above, least if part == 0.5 else math.ldexp(1.0, power)
        plan_level(state, below, above)
    total = n.sum()
    for i in range(n.size):
        n[i] /= total
    observers = state.observers
    neighbourhood_masses(observers.starts, observers.order, n, state.observed)
    return float(total)


@lean_jit
def plan_level(state: State, below: float, above: float) -> None:
    """Raise ``n`` until every arm with ``below < gap <= above`` is shown ``1 / gap²`` times by arms up to ``above``."""
    n, observers = state.distribution, state.observers
    for i in range(n.size):
        state.wanting[i] = 0.0
        if below < state.gaps[i] <= above:
            where = observers.where[i]
            seen = 0.0
            for j in range(observers.starts[where], observers.starts[where + 1]):
                seen += n[observers.order[j]]
            demand = 1.0 / (state.gaps[i] * state.gaps[i])
            state.wanting[i] = demand - seen if demand - seen > ENOUGH * demand else 0.0
    most = count_shown(state, above)
    while most > 0:
        raise_the_best(state, most)
        most = count_shown(state, above)


@lean_jit
def count_shown(state: State, above: float) -> int:
    """For each arm with ``gap <= above`` how many wanting arms it shows; return the most."""
    visibility, most = state.visibility, 0
    for j in range(state.gaps.size):
        state.shown[j] = 0
        if state.gaps[j] <= above:
            where = visibility.where[j]
            for k in range(visibility.starts[where], visibility.starts[where + 1]):
                state.shown[j] += state.wanting[visibility.order[k]] > 0.0
            most = max(most, state.shown[j])
    return most


@lean_jit
def raise_the_best(state: State, most: int) -> None:
    """Raise ``n`` of the arms that show ``most`` alike, until the first of the wanting arms has enough."""
    observers, wanting = state.observers, state.wanting
    step = math.inf
    for i in range(wanting.size):
        if wanting[i] > 0.0:
            showing = best_that_show(observers.starts, observers.order, observers.where[i], state.shown, most)
            if showing > 0:
                step = min(step, wanting[i] / showing)
    for i in range(wanting.size):
        if wanting[i] > 0.0:
            showing = best_that_show(observers.starts, observers.order, observers.where[i], state.shown, most)
            rest = wanting[i] - step * showing
            wanting[i] = rest if rest > ENOUGH / (state.gaps[i] * state.gaps[i]) else 0.0
    for j in range(wanting.size):
        if state.shown[j] == most:
            state.distribution[j] += step


@lean_jit
def best_that_show(
    starts: NDArray[np.int64], order: NDArray[np.int64], where: int, shown: NDArray[np.int64], most: int
) -> int:
    """How many arms of the list ``where`` show ``most`` wanting arms."""
    count = 0
    for j in range(starts[where], starts[where + 1]):
        count += shown[order[j]] == most
    return count


register_kernels(State, draw_seen, update, allot)

RECIPES = (
    LearnerRecipe(
        "barbar-g",
        BarbarG,
        "none claimed; our reconstruction of [Lu et al. 2021], who prove alpha log N log T + alpha C",
        "barbar-g:scale=0.001",
        {"scale": "number", "failure": "number"},
        kind=BarbarG,
        world="corrupted",
        told="horizon",
        horizon="needed",
        source='Lu, Wang and Zhang, "Stochastic graphical bandits with adversarial corruptions", AAAI 2021',
        rendering="reconstruction",
    ),
)
