"""The null rival: every arm with the same probability, for ever.

The idea. There is none: what is seen is thrown away. Its regret is the mean gap times the number of rounds, the line
that every learner must stay below to have learnt anything.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.kernels.jit import lean_jit
from allworlds.learners.base import Learner, Ticket
from allworlds.learners.dispatch import Shows, Visibility, register_kernels
from allworlds.learners.recipe import LearnerRecipe


class State(NamedTuple):
    """The round, and what is shown."""

    clock: NDArray[np.float64]
    """(1,) round."""
    visibility: Visibility


class Uniform(Learner[State, Ticket]):
    """Every arm with probability ``1/N``.

    >>> from allworlds.graphs import bandit
    >>> learner = Uniform(bandit(4))
    >>> learner.distribution(learner.init())
    array([0.25, 0.25, 0.25, 0.25])
    """

    name: ClassVar[str] = "uniform"
    shows: ClassVar[Shows] = "itself"
    accepts: ClassVar[frozenset[str]] = frozenset({"directed", "changing", "uninformed"})
    saved: ClassVar[tuple[str, ...]] = ("clock",)

    def init(self) -> State:
        """Round one."""
        return State(np.array([1.0]), self.visibility)

    def distribution(self, state: State) -> NDArray[np.float64]:
        """(N,) ``1/N``."""
        return np.full(self.n_arms, 1.0 / self.n_arms)


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def draw(state: State, first: float, second: float) -> Ticket:
    """``floor(N u)``."""
    n_arms = state.visibility.where.size
    arm = min(int(first * n_arms), n_arms - 1)  # the product may round up to N
    return Ticket(arm, 1.0 / n_arms, int(state.clock[0]))


@lean_jit
def update(state: State, ticket: Ticket, losses: NDArray[np.float64]) -> None:
    """Count the round."""
    state.clock[0] += 1.0


register_kernels(State, draw, update)

RECIPES = (
    LearnerRecipe(
        "uniform",
        Uniform,
        "the mean gap times T",
        "uniform",
        kind=Uniform,
        world="none",
    ),
)
