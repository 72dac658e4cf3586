"""MOSS and MOSS-N: a bonus only for arms that have not had their share of the rounds.

The idea. With ``T`` rounds and ``N`` arms, an arm that was seen more than ``T / N`` times needs no bonus, and before
that a smaller one than UCB's. That removes the logarithm from the worst case:

    index_i = mean_i - sqrt(max(0, log(T / (N O_i))) / O_i),        I_t = argmin_i index_i.

MOSS ignores the graph, so ``O_i`` counts the times that arm i was chosen; its regret is at most ``49 sqrt(N T)``
(Audibert and Bubeck, "Minimax policies for adversarial and stochastic bandits", COLT 2009). MOSS-N counts the times
that it was *seen*, which is ours; no bound is claimed. Without a horizon MOSS-N takes the anytime variant of Degenne
and Perchet, "Anytime optimal algorithms in stochastic multi-armed bandits", ICML 2016, with their ``a = 1.35``:

    index_i = mean_i - sqrt((1 + a) / 2 max(0, log(t / (N O_i))) / O_i).

An arm never seen comes first; arms with the same index are equally likely. Where means move the regret can be linear.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from allworlds.kernels.jit import lean_jit
from allworlds.learners.dispatch import Shows, register_kernels
from allworlds.learners.indices import IndexLearner, IndexState, count_seen, draw_lowest
from allworlds.learners.recipe import LearnerRecipe

ANYTIME = 1.35
"""``a`` of the anytime variant."""


class Rates(NamedTuple):
    """The scalar of the formula."""

    horizon: float
    """``T``, or 0 where there is none."""


class State(IndexState):
    """What the next round needs."""

    __slots__ = ()


class StateN(IndexState):
    """The same for MOSS-N."""

    __slots__ = ()


@dataclass(frozen=True)
class MOSS(IndexLearner[State]):
    """MOSS for a horizon, blind to the graph.

    >>> import numpy as np
    >>> from allworlds.graphs import bandit
    >>> learner = MOSS(bandit(3), horizon=1000)
    >>> state = learner.init()
    >>> learner.update(state, learner.draw(state, 0.5, 0.0), np.array([1.0]))
    >>> learner.distribution(state)
    array([0.5, 0. , 0.5])
    """

    name: ClassVar[str] = "moss"
    shows: ClassVar[Shows] = "itself"
    state_class: ClassVar[type] = State

    horizon: int

    def rates(self) -> Rates:
        """The horizon."""
        return Rates(float(self.horizon))


@dataclass(frozen=True)
class MOSSN(IndexLearner[StateN]):
    """MOSS over observations, with a horizon or without.

    >>> import numpy as np
    >>> from allworlds.graphs import disjoint_cliques
    >>> learner = MOSSN(disjoint_cliques(2, 2))
    >>> state = learner.init()
    >>> learner.update(state, learner.draw(state, 0.3, 0.0), np.array([0.5, 1.0]))
    >>> learner.distribution(state)
    array([0. , 0. , 0.5, 0.5])
    """

    name: ClassVar[str] = "moss-n"
    state_class: ClassVar[type] = StateN

    horizon: int | None = None

    def rates(self) -> Rates:
        """The horizon, if there is one."""
        return Rates(float(self.horizon or 0))


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def write_indices(state: State) -> None:
    """``mean_i - sqrt(factor max(0, log(T / (N O_i))) / O_i)``, with ``t`` for ``T`` where there is no horizon."""
    n = state.seen.size
    rounds, factor = state.rates.horizon, 1.0
    if rounds == 0.0:
        rounds, factor = state.clock[0], 0.5 * (1.0 + ANYTIME)
    for i in range(n):
        seen = state.seen[i]
        if seen > 0.0:
            bonus = factor * max(0.0, math.log(rounds / (n * seen))) / seen
            state.indices[i] = state.totals[i] / seen - math.sqrt(bonus)
        else:
            state.indices[i] = -math.inf


register_kernels(State, draw_lowest, count_seen, index_kernel=write_indices)
register_kernels(StateN, draw_lowest, count_seen, index_kernel=write_indices)

RECIPES = (
    LearnerRecipe(
        "moss",
        MOSS,
        "49 sqrt(N T) [Audibert and Bubeck 2009]",
        "moss",
        kind=MOSS,
        world="stochastic",
        told="horizon",
        horizon="needed",
        source='Audibert and Bubeck, "Minimax policies for adversarial and stochastic bandits", COLT 2009',
        rendering="from memory",
    ),
    LearnerRecipe(
        "moss-n",
        MOSSN,
        "sqrt(N T) for bandits [Degenne and Perchet 2016]; none claimed with side observations",
        "moss-n",
        kind=MOSSN,
        world="stochastic",
        told="horizon, if known",
        horizon="taken",
        source='Degenne and Perchet, "Anytime optimal algorithms in stochastic multi-armed bandits", ICML 2016',
        rendering="from memory",
    ),
)
