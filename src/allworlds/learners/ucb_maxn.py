"""UCB-MaxN: choose an arm as UCB-N does, then play its best neighbour instead.

The idea. UCB-N often chooses an arm only to look at it. Any neighbour shows it as well, so play the neighbour (or the
arm itself) that has the best mean so far:

    J = argmin_i  mean_i - sqrt(2 log(t) / O_i),        I_t = argmin of mean_j over the neighbours j of J and J.

A neighbour never seen counts as worst; if none was seen, each is equally likely, as are arms that look equally good.
The rule is that of Caron, Kveton, Lelarge and Bhagat, "Leveraging side observations in stochastic bandits", UAI 2012,
with a bound of clique-cover form; Hu, Mehta and Pan (UAI 2019) report a subtle issue in its proof, so no bound is
claimed here. What a neighbour never seen counts is our choice, the paper leaves it open. Where means move the regret
can be linear.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.covers import CliqueCover
from allworlds.covers.cover import check_cover
from allworlds.foundation.checks import real
from allworlds.kernels.jit import lean_jit
from allworlds.learners.base import Learner
from allworlds.learners.dispatch import Visibility, graph_visibility, register_kernels
from allworlds.learners.ucb_n import arm_with_index, index, lowest_index


class State(NamedTuple):
    """What the next round needs."""

    totals: NDArray[np.float64]
    """(N,) the sum of the losses seen."""
    seen: NDArray[np.float64]
    """(N,) how often each arm was seen."""
    clock: NDArray[np.float64]
    """(1,) round."""
    visibility: Visibility
    width: float


class Ticket(NamedTuple):
    """One choice; means need nothing more."""

    arm: int
    probability: float
    round: int


@dataclass(frozen=True)
class UCBMaxN(Learner):
    """UCB over observations, playing the best neighbour; the cover is kept for its graph only.

    >>> from allworlds.covers import clique_cover
    >>> from allworlds.graphs import disjoint_cliques
    >>> learner = UCBMaxN(clique_cover(disjoint_cliques(1, 3)))
    >>> state = learner.init()
    >>> learner.update(state, learner.draw(state, 0.9, 0.0), np.array([0.5, 0.25, 1.0]))
    >>> learner.distribution(state)
    array([0., 1., 0.])
    """

    name: ClassVar[str] = "ucb-maxn"
    ticket_class: ClassVar[type] = Ticket
    saved: ClassVar[tuple[str, ...]] = ("totals", "seen", "clock")

    cover: CliqueCover
    width: float = 2.0

    def __post_init__(self) -> None:
        """Refuse what is no cover or no width."""
        check_cover(self.cover)
        object.__setattr__(self, "width", real("width", self.width, above=0))

    def init(self) -> State:
        """Nothing seen, round one."""
        zeros = np.zeros(self.n_arms)
        return State(zeros, zeros.copy(), np.array([1.0]), graph_visibility(self.graph), self.width)

    def distribution(self, state: State) -> NDArray[np.float64]:
        """(N,) ties of either choice share equally."""
        bonus = state.width * math.log(state.clock[0])
        least, ties = lowest_index(state.totals, state.seen, bonus)
        return np.array([chance(state, bonus, least, ties, arm) for arm in range(self.n_arms)])


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def draw(state: State, first: float, second: float) -> Ticket:
    """``J`` by the first uniform among equals, its best neighbour by the second."""
    visibility = state.visibility
    bonus = state.width * math.log(state.clock[0])
    least, ties = lowest_index(state.totals, state.seen, bonus)
    wanted = arm_with_index(state.totals, state.seen, bonus, least, int(first * ties))
    where = visibility.where[wanted]
    arms = visibility.order[visibility.starts[where] : visibility.starts[where + 1]]
    best, equals = lowest_mean(state.totals, state.seen, arms)
    place = int(second * equals)
    arm = wanted
    for j in range(arms.size):
        if mean(state.totals[arms[j]], state.seen[arms[j]]) == best:
            arm = int(arms[j])
            if place == 0:
                break
            place -= 1
    probability = 1.0 / equals if ties == 1 else chance(state, bonus, least, ties, arm)
    return Ticket(arm, probability, int(state.clock[0]))


@lean_jit
def chance(state: State, bonus: float, least: float, ties: int, arm: int) -> float:
    """How likely ``arm`` is: through each ``J`` among its neighbours that may be chosen."""
    visibility = state.visibility
    own = mean(state.totals[arm], state.seen[arm])
    where = visibility.where[arm]
    last, best, equals = -1, 0.0, 1
    probability = 0.0
    for j in visibility.order[visibility.starts[where] : visibility.starts[where + 1]]:
        if index(state.totals[j], state.seen[j], bonus) == least:
            there = visibility.where[j]
            if there != last:  # arms of a clique share their list
                arms = visibility.order[visibility.starts[there] : visibility.starts[there + 1]]
                best, equals = lowest_mean(state.totals, state.seen, arms)
                last = there
            if own == best:
                probability += 1.0 / (ties * equals)
    return probability


@lean_jit
def mean(total: float, seen: float) -> float:
    """The mean loss of one arm; infinity where it was never seen."""
    return total / seen if seen > 0.0 else math.inf


@lean_jit
def lowest_mean(totals: NDArray[np.float64], seen: NDArray[np.float64], arms: NDArray[np.int64]) -> tuple[float, int]:
    """The lowest mean among ``arms``, and how many of them have it."""
    best, ties = math.inf, 0
    for j in range(arms.size):
        value = mean(totals[arms[j]], seen[arms[j]])
        if value < best:
            best, ties = value, 1
        elif value == best:
            ties += 1
    return best, ties


@lean_jit
def update(state: State, ticket: Ticket, losses: NDArray[np.float64]) -> None:
    """``O_i += 1`` and ``totals_i += l_i`` for every arm that is seen."""
    start = state.visibility.starts[state.visibility.where[ticket.arm]]
    for j in range(losses.size):
        i = state.visibility.order[start + j]
        state.totals[i] += losses[j]
        state.seen[i] += 1.0
    state.clock[0] += 1.0


def visibility_of(state: State) -> Visibility:
    """An arm shows its neighbours."""
    return state.visibility


register_kernels(State, draw, update, visibility_of)
