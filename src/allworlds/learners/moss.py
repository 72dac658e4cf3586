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

import numpy as np
from numpy.typing import NDArray

from allworlds.foundation.checks import whole
from allworlds.kernels.jit import lean_jit
from allworlds.learners.base import Learner, Ticket
from allworlds.learners.dispatch import Shows, Visibility, register_kernels
from allworlds.learners.indices import count_losses, pick_lowest, share_lowest
from allworlds.learners.recipe import LearnerRecipe

ANYTIME = 1.35
"""``a`` of the anytime variant."""


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
    visibility: Visibility
    horizon: float
    """``T``, or 0 where there is none."""


class StateN(State):
    """The same for MOSS-N: a saved or compiled state belongs to one learner."""

    __slots__ = ()


@dataclass(frozen=True)
class MOSS(Learner[State, Ticket]):
    """MOSS for a horizon, blind to the graph.

    >>> from allworlds.graphs import bandit
    >>> learner = MOSS(bandit(3), horizon=1000)
    >>> state = learner.init()
    >>> learner.update(state, learner.draw(state, 0.5, 0.0), np.array([1.0]))
    >>> learner.distribution(state)
    array([0.5, 0. , 0.5])
    """

    name: ClassVar[str] = "moss"
    shows: ClassVar[Shows] = "itself"
    accepts: ClassVar[frozenset[str]] = frozenset({"directed", "changing", "uninformed"})
    saved: ClassVar[tuple[str, ...]] = ("totals", "seen", "clock")
    scratch: ClassVar[tuple[str, ...]] = ("indices",)

    horizon: int

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "horizon", whole("horizon", self.horizon))

    def init(self) -> State:
        """Nothing seen, round one."""
        n = self.n_arms
        return State(np.zeros(n), np.zeros(n), np.array([1.0]), np.empty(n), self.visibility, float(self.horizon))

    def distribution(self, state: State) -> NDArray[np.float64]:
        """(N,) the arms that look best share the coming round equally."""
        write_indices(state)
        return share_lowest(state.indices)


@dataclass(frozen=True)
class MOSSN(Learner[StateN, Ticket]):
    """MOSS over observations, with a horizon or without.

    >>> from allworlds.graphs import disjoint_cliques
    >>> learner = MOSSN(disjoint_cliques(2, 2))
    >>> state = learner.init()
    >>> learner.update(state, learner.draw(state, 0.3, 0.0), np.array([0.5, 1.0]))
    >>> learner.distribution(state)
    array([0. , 0. , 0.5, 0.5])
    """

    name: ClassVar[str] = "moss-n"
    accepts: ClassVar[frozenset[str]] = frozenset({"directed", "changing", "uninformed"})
    saved: ClassVar[tuple[str, ...]] = ("totals", "seen", "clock")
    scratch: ClassVar[tuple[str, ...]] = ("indices",)

    horizon: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.horizon is not None:
            object.__setattr__(self, "horizon", whole("horizon", self.horizon))

    def init(self) -> StateN:
        """Nothing seen, round one."""
        n, horizon = self.n_arms, float(self.horizon or 0)
        return StateN(np.zeros(n), np.zeros(n), np.array([1.0]), np.empty(n), self.visibility, horizon)

    def distribution(self, state: StateN) -> NDArray[np.float64]:
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
    """``mean_i - sqrt(factor max(0, log(T / (N O_i))) / O_i)``, with ``t`` for ``T`` where there is no horizon."""
    n = state.seen.size
    rounds, factor = state.horizon, 1.0
    if rounds == 0.0:
        rounds, factor = state.clock[0], 0.5 * (1.0 + ANYTIME)
    for i in range(n):
        seen = state.seen[i]
        if seen > 0.0:
            bonus = factor * max(0.0, math.log(rounds / (n * seen))) / seen
            state.indices[i] = state.totals[i] / seen - math.sqrt(bonus)
        else:
            state.indices[i] = -math.inf


register_kernels(State, draw, update)
register_kernels(StateN, draw, update)

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
