"""Exp3-DOM: exponential weights that explore a dominating set of the round's graph.

The idea. The graph of a round is told before the choice. A few arms that together show all arms, a dominating set
``R_t``, are enough to explore; the greedy one takes the arm that shows the most unseen arms first, so it is at most
``1 + log N`` times larger than need be. How much to explore depends on how many they are, so there is a copy ``b`` of
the weights for each order of magnitude, and a round uses and changes only that of ``b = floor(log2 |R_t|)``:

    p_t = (1 - gamma_b) w^b / W^b + gamma_b 1{i in R_t} / |R_t|,
    w_i^b *= exp(-gamma_b lhat_i / 2^b),   lhat_i = l_i / P_t(i) for every arm i that is seen,
    P_t(i) = sum of p_t over the arms that show i,       gamma_b = min{1/2, sqrt(2^b log N / 2^r_b)}.

``r_b`` starts at 0. When the sum of ``1 + Q_t / 2^(b+1)`` over the rounds of the copy, ``Q_t = sum_i p_t(i) / P_t(i)``,
passes ``2^r_b``, the copy starts anew with ``r_b`` one larger. So nothing must be told but the graph, and the regret is
at most about ``log(N) sqrt(log(NT) sum_t alpha(G_t))`` (Alon, Cesa-Bianchi, Gentile and Mansour, "From bandits to
experts: a tale of domination and independence", NeurIPS 2013). The rule is written from memory and was not compared
with the print; the doubling is less sure than the rest, and that ``gamma_b`` is at most 1/2 is ours.

Where two arms show equally many unseen arms, the greedy set takes the one with the smaller number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.foundation.checks import index
from allworlds.foundation.errors import InvalidState
from allworlds.kernels.jit import lean_jit
from allworlds.learners.dispatch import Visibility, register_kernels
from allworlds.learners.dividing import (
    DividingLearner,
    add_estimates,
    chances_of_seen,
    neighbourhood_masses,
    spread_of,
)
from allworlds.learners.recipe import LearnerRecipe
from allworlds.learners.sampling import explore, exponential_weights, pick

ROUND, COPY, SHARE = 0, 1, 2
"""Places in ``State.clock``."""


class State(NamedTuple):
    """What the next round needs; what is not saved follows from the rest and the graph."""

    cumulative_losses: NDArray[np.float64]
    """(B, N) the sum of ``lhat`` of each copy since it started anew."""
    spent: NDArray[np.float64]
    """(B,) the sum of ``1 + Q_t / 2^(b+1)`` of each copy since it started anew."""
    doublings: NDArray[np.float64]
    """(B,) ``r_b``."""
    distribution: NDArray[np.float64]
    """(N,) ``p_t`` of the coming round."""
    explorers: NDArray[np.float64]
    """(N,) ``1{i in R_t} / |R_t|``."""
    clock: NDArray[np.float64]
    """(3,) round, the coming round's ``b`` and ``gamma_b``."""
    unseen: NDArray[np.bool_]
    """(N,) the arms that the greedy set does not show yet."""
    observed: NDArray[np.float64]
    """``P_t``, for each list of the observers."""
    divisors: NDArray[np.float64]
    """``P_t(i)`` of the arms that the last drawn arm shows, in their order; room for the most."""
    visibility: Visibility
    observers: Visibility
    """Who shows each arm."""


class Drawn(NamedTuple):
    """One choice, as kernels hand it on."""

    arm: int
    probability: float
    copy: int
    """``b``."""
    spread: float
    """``Q_t``."""
    round: int


class Ticket(NamedTuple):
    """One choice, with all that its estimate needs."""

    arm: int
    probability: float
    divisors: NDArray[np.float64]
    """``P_t(i)`` of the arms that are seen, in their order."""
    copy: int
    """``b``."""
    spread: float
    """``Q_t``."""
    round: int


@dataclass(frozen=True)
class Exp3DOM(DividingLearner[State, Ticket]):
    """Exp3-DOM on graphs whose arms see themselves; they may be directed, and change if told before the choice.

    >>> from allworlds.graphs import star
    >>> learner = Exp3DOM(star(4))
    >>> state = learner.init()
    >>> learner.distribution(state)
    array([0.625, 0.125, 0.125, 0.125])
    """

    name: ClassVar[str] = "exp3-dom"
    accepts: ClassVar[frozenset[str]] = frozenset({"directed", "changing"})
    ticket_class: ClassVar[type] = Ticket
    drawn_class: ClassVar[type] = Drawn
    saved: ClassVar[tuple[str, ...]] = ("cumulative_losses", "spent", "doublings", "clock")
    scratch: ClassVar[tuple[str, ...]] = ("divisors", "observed", "unseen")

    @property
    def n_copies(self) -> int:
        """How many copies of the weights there are: one for each order of magnitude of a dominating set."""
        return self.n_arms.bit_length()

    def init(self) -> State:
        """No losses, round one."""
        observers = self.observers
        state = State(
            cumulative_losses=np.zeros((self.n_copies, self.n_arms)),
            spent=np.zeros(self.n_copies),
            doublings=np.zeros(self.n_copies),
            distribution=np.empty(self.n_arms),
            explorers=np.empty(self.n_arms),
            clock=np.array([1.0, 0.0, 0.0]),
            unseen=np.empty(self.n_arms, dtype=np.bool_),
            observed=np.empty(observers.starts.size - 1),
            divisors=self.room_for_divisors(),
            visibility=self.visibility,
            observers=observers,
        )
        regraph(state)
        return state

    def check_ticket(self, ticket: Any) -> None:
        """Raise InvalidState also unless there is such a copy."""
        super().check_ticket(ticket)
        index("a ticket's copy", ticket.copy, self.n_copies, InvalidState)


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def draw(state: State, first: float, second: float) -> Drawn:
    """Draw ``I_t`` from ``p_t``; note ``P_t(i)`` of what it shows, and ``Q_t``."""
    p, observers = state.distribution, state.observers
    arm = pick(p, first)
    chances_of_seen(p, arm, state.visibility, observers, state.divisors)
    neighbourhood_masses(observers.starts, observers.order, p, state.observed)
    spread = float(spread_of(p, state.observed, observers.where, 0.0))
    return Drawn(arm, float(p[arm]), int(state.clock[COPY]), spread, int(state.clock[ROUND]))


@lean_jit
def update(state: State, ticket: Drawn, losses: NDArray[np.float64]) -> None:
    """Add ``l_i / P_t(i)`` to the losses of the copy; if it has spent ``2^r``, it starts anew with ``r + 1``."""
    b = ticket.copy
    add_estimates(state.visibility, ticket.arm, losses, state.divisors, state.cumulative_losses[b])
    state.spent[b] += 1.0 + ticket.spread / 2.0 ** (b + 1)
    if state.spent[b] > 2.0 ** state.doublings[b]:
        state.doublings[b] += 1.0
        state.spent[b] = 0.0
        state.cumulative_losses[b, :] = 0.0
    state.clock[ROUND] += 1.0
    resolve(state)


@lean_jit
def regraph(state: State) -> None:
    """The greedy dominating set of the round's graph, its copy, and their distribution."""
    state.clock[COPY] = math.floor(math.log2(dominate(state.visibility, state.unseen, state.explorers)))
    resolve(state)


@lean_jit
def resolve(state: State) -> None:
    """``p = (1 - gamma_b) w^b / W^b + gamma_b 1{i in R} / |R|``."""
    p, b = state.distribution, int(state.clock[COPY])
    share = min(math.sqrt(2.0**b * math.log(p.size) / 2.0 ** state.doublings[b]), 0.5)
    exponential_weights(state.cumulative_losses[b], share / 2.0**b, p)
    explore(p, share, state.explorers)
    state.clock[SHARE] = share


@lean_jit
def dominate(visibility: Visibility, unseen: NDArray[np.bool_], out: NDArray[np.float64]) -> int:
    """The size of the greedy dominating set, and the uniform distribution on it; all arms before any graph is told."""
    unseen[:] = True
    out[:] = 0.0
    size, left = 0, unseen.size
    while left > 0:
        best, most = -1, 0
        for i in range(unseen.size):  # the arm that shows the most unseen arms, the first of equals
            w, shown = visibility.where[i], 0
            for k in range(visibility.starts[w], visibility.starts[w + 1]):
                shown += unseen[visibility.order[k]]
            if shown > most:
                best, most = i, shown
        if best < 0:
            out[:] = 1.0 / unseen.size
            return int(unseen.size)
        w = visibility.where[best]
        for k in range(visibility.starts[w], visibility.starts[w + 1]):
            unseen[visibility.order[k]] = False
        out[best] = 1.0
        size, left = size + 1, left - most
    for i in range(out.size):
        out[i] /= size
    return size


register_kernels(State, draw, update, resolve, graph_kernel=regraph)

RECIPES = (
    LearnerRecipe(
        "exp3-dom",
        Exp3DOM,
        "log(N) sqrt(log(NT) sum_t alpha_t) in order [Alon et al. 2013]",
        "exp3-dom",
        kind=Exp3DOM,
        world="adversarial",
        told="the graph before the choice",
        source='Alon, Cesa-Bianchi, Gentile and Mansour, "From bandits to experts", NeurIPS 2013',
        rendering="from memory",
    ),
)
