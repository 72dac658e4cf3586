"""Epsilon-greedy-LP: play the best mean, and now and then an arm that shows much.

The idea. Side observations make exploration cheap if it goes through the right arms. A linear program says how often
each arm must be played so that all are seen (``learners/domination.py``); explore by its solution ``z*``, ever more
rarely:

    with probability epsilon_t = min(1, c Z / (d² t)),  Z = sum_j z*_j,   play j with probability z*_j / Z,
    else the arm with the lowest mean of all that was seen,   ``0 < d <`` the smallest gap.

An arm never seen has no mean and is not played for it; arms with the same mean are equally likely. The rule is that
of Buccapatnam, Eryilmaz and Shroff, "Stochastic bandits with side observations on networks", SIGMETRICS 2014, and
Buccapatnam, Liu, Eryilmaz and Shroff, "Reward maximization under uncertainty: leveraging side-observations on
networks", JMLR 2018. With ``c`` large enough (5 here) its regret is of order ``Z log(T) / d²``, whereas a bandit pays
for each arm. It must be told a gap: if ``d`` is too large the regret may be linear, if it is too small exploration
never ends. Of several solutions ``z*`` we take the one with the least sum of squares.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.kernels.jit import lean_jit
from allworlds.learners.base import Learner, Ticket
from allworlds.learners.dispatch import Visibility, register_kernels
from allworlds.learners.domination import fractional_domination
from allworlds.learners.indices import count_losses, mean, mix_lowest
from allworlds.learners.recipe import LearnerRecipe
from allworlds.learners.sampling import draw_arm


class State(NamedTuple):
    """What the next round needs; the distribution follows from sums, counts and round."""

    totals: NDArray[np.float64]
    """(N,) the sum of the losses seen."""
    seen: NDArray[np.float64]
    """(N,) how often each arm was seen."""
    distribution: NDArray[np.float64]
    """(N,) of the coming round."""
    clock: NDArray[np.float64]
    """(1,) round."""
    indices: NDArray[np.float64]
    """(N,) room for the mean of each arm."""
    exploration: NDArray[np.float64]
    """(N,) ``z*_j / Z``."""
    visibility: Visibility
    rate: float
    """``c Z / d²``: the probability of exploring times the round."""


@dataclass(frozen=True)
class EpsilonGreedyLP(Learner[State, Ticket]):
    """Greedy, exploring by the domination of the graph; ``d`` is a lower bound on the gaps.

    >>> from allworlds.graphs import star
    >>> learner = EpsilonGreedyLP(star(4))
    >>> state = learner.init()
    >>> learner.distribution(state)  # the hub shows all
    array([1., 0., 0., 0.])
    """

    name: ClassVar[str] = "epsilon-greedy-lp"
    accepts: ClassVar[frozenset[str]] = frozenset({"directed"})
    positive: ClassVar[tuple[str, ...]] = ("c",)
    fractions: ClassVar[tuple[str, ...]] = ("d",)
    saved: ClassVar[tuple[str, ...]] = ("totals", "seen", "clock")
    scratch: ClassVar[tuple[str, ...]] = ("indices",)

    d: float = 0.1
    c: float = 5.0

    @cached_property
    def plays(self) -> NDArray[np.float64]:
        """(N,) ``z*``."""
        return fractional_domination(self.graph)

    def init(self) -> State:
        """Nothing seen, round one."""
        n, value = self.n_arms, float(self.plays.sum())
        state = State(
            totals=np.zeros(n),
            seen=np.zeros(n),
            distribution=np.empty(n),
            clock=np.array([1.0]),
            indices=np.empty(n),
            exploration=self.plays / value,
            visibility=self.visibility,
            rate=self.c * value / self.d**2,
        )
        resolve(state)
        return state


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def update(state: State, ticket: Ticket, losses: NDArray[np.float64]) -> None:
    """Count every arm that is seen, then the next round's distribution."""
    count_losses(state.visibility, ticket.arm, losses, state.totals, state.seen)
    state.clock[0] += 1.0
    resolve(state)


@lean_jit
def resolve(state: State) -> None:
    """``p_t = epsilon_t z* / Z`` and the rest shared by the arms with the lowest mean."""
    for i in range(state.seen.size):
        state.indices[i] = mean(state.totals[i], state.seen[i])
    epsilon = min(1.0, state.rate / state.clock[0])
    mix_lowest(state.indices, state.exploration, epsilon, state.distribution)


register_kernels(State, draw_arm, update, resolve)

RECIPES = (
    LearnerRecipe(
        "epsilon-greedy-lp",
        EpsilonGreedyLP,
        "Z log T / d² with Z the fractional domination number [Buccapatnam et al. 2014]",
        "epsilon-greedy-lp:d=0.2,c=1",
        {"d": "number", "c": "number"},
        kind=EpsilonGreedyLP,
        world="stochastic",
        told="a lower bound on the gaps",
        source='Buccapatnam, Eryilmaz and Shroff, "Stochastic bandits with side observations on networks", 2014',
        rendering="from memory",
    ),
)
