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

from allworlds.kernels.jit import lean_jit
from allworlds.learners.dispatch import register_kernels
from allworlds.learners.indices import IndexLearner, IndexState, count_seen, draw_lowest
from allworlds.learners.recipe import LearnerRecipe


class Rates(NamedTuple):
    """What the formula needs beside sums and counts."""

    width: float
    extra: NDArray[np.float64]
    """(N,) ``log(|N_i|) / 4``."""


class State(IndexState):
    """What the next round needs."""

    __slots__ = ()


@dataclass(frozen=True)
class UCBNE(IndexLearner[State]):
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
    accepts: ClassVar[frozenset[str]] = frozenset()
    positive: ClassVar[tuple[str, ...]] = ("width",)
    state_class: ClassVar[type] = State

    width: float = 2.0

    def rates(self) -> Rates:
        """The factor of the logarithm, and what each arm's neighbours add to it."""
        return Rates(self.width, 0.25 * np.log(np.diff(self.visibility.starts)[self.visibility.where]))


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def write_indices(state: State) -> None:
    """``mean_i - sqrt(width log(|N_i|^(1/4) t) / O_i)``; minus infinity where an arm was never seen."""
    log_round = math.log(state.clock[0])
    for i in range(state.seen.size):
        seen = state.seen[i]
        bonus = state.rates.width * (log_round + state.rates.extra[i])
        state.indices[i] = state.totals[i] / seen - math.sqrt(bonus / seen) if seen > 0.0 else -math.inf


register_kernels(State, draw_lowest, count_seen, index_kernel=write_indices)

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
