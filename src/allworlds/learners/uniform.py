"""The null rival: every arm with the same probability, for ever.

The idea. There is none: what is seen is thrown away. Its regret is the mean gap times the number of rounds, the line
that every learner must stay below to have learnt anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.covers import CliqueCover
from allworlds.covers.cover import check_cover
from allworlds.kernels.jit import lean_jit
from allworlds.learners.base import Learner
from allworlds.learners.dispatch import Visibility, own_visibility, register_kernels


class State(NamedTuple):
    """The round, and what is shown."""

    clock: NDArray[np.float64]
    """(1,) round."""
    visibility: Visibility


class Ticket(NamedTuple):
    """One choice."""

    arm: int
    probability: float
    round: int


@dataclass(frozen=True)
class Uniform(Learner):
    """Every arm with probability ``1/N``; the cover is kept for its graph only.

    >>> from allworlds.covers import clique_cover
    >>> from allworlds.graphs import bandit
    >>> learner = Uniform(clique_cover(bandit(4)))
    >>> learner.distribution(learner.init())
    array([0.25, 0.25, 0.25, 0.25])
    """

    name: ClassVar[str] = "uniform"
    ticket_class: ClassVar[type] = Ticket
    saved: ClassVar[tuple[str, ...]] = ("clock",)

    cover: CliqueCover

    def __post_init__(self) -> None:
        """Refuse what is no cover."""
        check_cover(self.cover)

    def init(self) -> State:
        """Round one."""
        return State(np.array([1.0]), own_visibility(self.n_arms))

    def observes(self, arm: int) -> NDArray[np.int64]:
        """The arm alone."""
        return np.array([arm])

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


def visibility_of(state: State) -> Visibility:
    """An arm shows itself."""
    return state.visibility


register_kernels(State, draw, update, visibility_of)
