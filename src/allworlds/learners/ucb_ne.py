"""UCB-NE: UCB-N with a little more width for arms that many others show.

The idea. The proof of a bound for UCB-N needs that no mean is far off, whatever the order in which an arm and its
neighbours were chosen. An arm with more neighbours can be seen in more ways, so it gets a wider bonus:

    I_t = argmin_i  mean_i - sqrt(2 log(|N_i|^(1/4) t) / O_i),        O_i observations of arm i,

with ``N_i`` the arms that show arm i, itself included. Without neighbours this is UCB-N. An arm never seen comes
first; arms with the same index are equally likely. ``width`` is the published 2.

The rule and its regret, at most about ``sum over the cliques C of a cover of Delta_max log(N_C T) / Delta_min²`` with
``N_C`` the largest ``|N_i|^(1/4)`` in the clique, are those of Hu, Mehta and Pan, "Problem-dependent regret bounds
for online learning with feedback graphs", UAI 2019. Where means move the regret can be linear.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.foundation.checks import real
from allworlds.kernels.jit import lean_jit
from allworlds.learners.base import Learner, Ticket
from allworlds.learners.dispatch import Visibility, register_kernels
from allworlds.learners.indices import count_losses, pick_lowest, share_lowest
from allworlds.learners.recipe import LearnerRecipe


class State(NamedTuple):
    """What the next round needs."""

    totals: NDArray[np.float64]
    """(N,) the sum of the losses seen."""
    seen: NDArray[np.float64]
    """(N,) how often each arm was seen."""
    clock: NDArray[np.float64]
    """(1,) round."""
    indices: NDArray[np.float64]
    """(N,) room for the index of each arm."""
    extra: NDArray[np.float64]
    """(N,) ``log(|N_i|) / 4``."""
    visibility: Visibility
    width: float


@dataclass(frozen=True)
class UCBNE(Learner[State, Ticket]):
    """UCB over observations, wider for arms with many neighbours.

    >>> from allworlds.graphs import disjoint_cliques
    >>> learner = UCBNE(disjoint_cliques([1, 2]))
    >>> state = learner.init()
    >>> for u, losses in ((0.0, [0.5]), (0.9, [0.5, 0.5])):
    ...     learner.update(state, learner.draw(state, u, 0.0), np.array(losses))
    >>> learner.distribution(state)
    array([0. , 0.5, 0.5])
    """

    name: ClassVar[str] = "ucb-ne"
    saved: ClassVar[tuple[str, ...]] = ("totals", "seen", "clock")
    scratch: ClassVar[tuple[str, ...]] = ("indices",)

    width: float = 2.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "width", real("width", self.width, above=0))

    def init(self) -> State:
        """Nothing seen, round one."""
        n = self.n_arms
        extra = 0.25 * np.log(np.diff(self.visibility.starts)[self.visibility.where])
        return State(np.zeros(n), np.zeros(n), np.array([1.0]), np.empty(n), extra, self.visibility, self.width)

    def distribution(self, state: State) -> NDArray[np.float64]:
        """(N,) the arms that look best share the coming round equally."""
        write_indices(state)
        return share_lowest(state.indices)


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def draw(state: State, first: float, second: float) -> Ticket:
    """The arm with the lowest index, one of the best by the first uniform."""
    write_indices(state)
    arm, probability = pick_lowest(state.indices, first)
    return Ticket(arm, probability, int(state.clock[0]))


@lean_jit
def update(state: State, ticket: Ticket, losses: NDArray[np.float64]) -> None:
    """``O_i += 1`` and ``totals_i += l_i`` for every arm that is seen."""
    count_losses(state.visibility, ticket.arm, losses, state.totals, state.seen)
    state.clock[0] += 1.0


@lean_jit
def write_indices(state: State) -> None:
    """``mean_i - sqrt(width log(|N_i|^(1/4) t) / O_i)``; minus infinity where an arm was never seen."""
    log_round = math.log(state.clock[0])
    for i in range(state.seen.size):
        seen = state.seen[i]
        bonus = state.width * (log_round + state.extra[i])
        state.indices[i] = state.totals[i] / seen - math.sqrt(bonus / seen) if seen > 0.0 else -math.inf


register_kernels(State, draw, update)

RECIPES = (
    LearnerRecipe(
        "ucb-ne",
        UCBNE,
        "sum over cliques of 8 Delta_max log(N_C T) / Delta_min² [Hu et al. 2019]",
        "ucb-ne:width=0.5",
        {"width": "number"},
        kind=UCBNE,
        world="stochastic",
        source='Hu, Mehta and Pan, "Problem-dependent regret bounds", UAI 2019',
        rendering="as printed",
    ),
)
