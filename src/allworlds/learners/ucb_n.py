"""UCB-N: trust the means, plus a bonus for what is rarely seen.

The idea. Keep for each arm the mean of its losses over all times it was *seen*, chosen or not. Believe of every arm the
best that its observations allow, and choose the one that then looks best:

    I_t = argmin_i  mean_i - sqrt(2 log(t) / O_i),        O_i observations of arm i.

An arm never seen comes first. Arms that look equally good are equally likely, so the numbers of the arms do not
matter. In a stochastic world the regret is at most about ``log(T) log(NT)`` times the largest sum of ``1/Delta`` over
independent arms (Lykouris, Tardos and Wali, "Feedback graph regret bounds for Thompson sampling and UCB", ALT 2020);
where means move it can be linear. The rule is that of Caron, Kveton, Lelarge and Bhagat, "Leveraging side observations
in stochastic bandits", UAI 2012, who break ties anyhow. ``width`` is their 2; smaller is bolder.
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
class UCBN(Learner):
    """UCB over observations; the cover is kept for its graph only.

    >>> from allworlds.covers import clique_cover
    >>> from allworlds.graphs import disjoint_cliques
    >>> learner = UCBN(clique_cover(disjoint_cliques(2, 2)))
    >>> state = learner.init()
    >>> learner.distribution(state)
    array([0.25, 0.25, 0.25, 0.25])
    >>> learner.update(state, learner.draw(state, 0.3, 0.0), np.array([0.5, 1.0]))
    >>> learner.distribution(state)
    array([0. , 0. , 0.5, 0.5])
    """

    name: ClassVar[str] = "ucb-n"
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
        """(N,) the arms that look best share the coming round equally."""
        bonus = state.width * math.log(state.clock[0])
        least, ties = lowest_index(state.totals, state.seen, bonus)
        indices = [index(total, seen, bonus) for total, seen in zip(state.totals, state.seen, strict=True)]
        return np.where(np.array(indices) == least, 1.0 / ties, 0.0)


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def draw(state: State, first: float, second: float) -> Ticket:
    """``argmin_i mean_i - sqrt(width log(t) / O_i)``, one of the best by the first uniform."""
    bonus = state.width * math.log(state.clock[0])
    least, ties = lowest_index(state.totals, state.seen, bonus)
    arm = arm_with_index(state.totals, state.seen, bonus, least, int(first * ties))
    return Ticket(arm, 1.0 / ties, int(state.clock[0]))


@lean_jit
def update(state: State, ticket: Ticket, losses: NDArray[np.float64]) -> None:
    """``O_i += 1`` and ``totals_i += l_i`` for every arm that is seen."""
    start = state.visibility.starts[state.visibility.where[ticket.arm]]
    for j in range(losses.size):
        i = state.visibility.order[start + j]
        state.totals[i] += losses[j]
        state.seen[i] += 1.0
    state.clock[0] += 1.0


@lean_jit
def index(total: float, seen: float, bonus: float) -> float:
    """The lowest mean that the observations of one arm allow; minus infinity where there are none."""
    return total / seen - math.sqrt(bonus / seen) if seen > 0.0 else -math.inf


@lean_jit
def lowest_index(totals: NDArray[np.float64], seen: NDArray[np.float64], bonus: float) -> tuple[float, int]:
    """The lowest index, and how many arms have it."""
    least, ties = math.inf, 0
    for i in range(totals.size):
        value = index(totals[i], seen[i], bonus)
        if value < least:
            least, ties = value, 1
        elif value == least:
            ties += 1
    return least, ties


@lean_jit
def arm_with_index(
    totals: NDArray[np.float64], seen: NDArray[np.float64], bonus: float, value: float, place: int
) -> int:
    """The arm at ``place``, from 0, among those whose index is ``value``."""
    arm = 0
    for i in range(totals.size):
        if index(totals[i], seen[i], bonus) == value:
            arm = i
            if place == 0:
                break
            place -= 1
    return arm


def visibility_of(state: State) -> Visibility:
    """An arm shows its neighbours."""
    return state.visibility


register_kernels(State, draw, update, visibility_of)
