"""What a round costs at least: two learners that learn nothing, to measure the others against.

``Null`` draws a clique and an arm uniformly and adds the feedback to a vector: the loop, the world and the memory that
any learner with side observations must touch. ``Toll`` adds the arithmetic that the paper's learner cannot avoid: a
draw by weights, one ``exp`` for each arm of the drawn clique, and one pass over the masses of the cliques with a
square root and a division each. Neither is in the registry, since they solve no problem.
"""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.kernels.jit import lean_jit
from allworlds.learners.base import CliqueLearner
from allworlds.learners.dispatch import Visibility, register_kernels


class NullState(NamedTuple):
    """The sums, in clique order, and who sees whom."""

    clock: NDArray[np.float64]
    """(1,) round."""
    sums: NDArray[np.float64]
    """(N,) the feedback added up."""
    owner: NDArray[np.int64]
    order: NDArray[np.int64]
    starts: NDArray[np.int64]


class TollState(NamedTuple):
    """The same, with a weight for each arm and a mass for each clique."""

    clock: NDArray[np.float64]
    """(1,) round."""
    sums: NDArray[np.float64]
    """(N,) the feedback added up."""
    weights: NDArray[np.float64]
    """(N,) what an arm is drawn by."""
    masses: NDArray[np.float64]
    """(K,) what a clique is drawn by; they sum to one."""
    owner: NDArray[np.int64]
    order: NDArray[np.int64]
    starts: NDArray[np.int64]


class Ticket(NamedTuple):
    """One choice."""

    arm: int
    probability: float
    clique: int
    round: int


class Null(CliqueLearner):
    """Draw a clique and an arm of it uniformly; add the feedback to a vector."""

    name: ClassVar[str] = "null"
    ticket_class: ClassVar[type] = Ticket
    saved: ClassVar[tuple[str, ...]] = ("clock", "sums")

    def init(self) -> NullState:
        """Nothing added up."""
        cover = self.cover
        return NullState(np.array([1.0]), np.zeros(self.n_arms), cover.owner, cover.order, cover.starts)

    def distribution(self, state: NullState) -> NDArray[np.float64]:
        """(N,) ``1 / (K d)``, ``d`` the size of the arm's clique."""
        sizes = self.cover.sizes
        return 1.0 / (sizes.size * sizes[self.cover.owner])


class Toll(Null):
    """The arithmetic that the paper's learner cannot avoid, without its purpose."""

    name: ClassVar[str] = "toll"
    saved: ClassVar[tuple[str, ...]] = ("clock", "sums", "weights", "masses")

    def init(self) -> TollState:  # type: ignore[override]
        """Equal weights, equal masses."""
        cover = self.cover
        masses = np.full(cover.n_cliques, 1.0 / cover.n_cliques)
        return TollState(
            np.array([1.0]), np.zeros(self.n_arms), np.ones(self.n_arms), masses, cover.owner, cover.order, cover.starts
        )

    def distribution(self, state: TollState) -> NDArray[np.float64]:  # type: ignore[override]
        """(N,) the mass of the arm's clique, shared by weight."""
        totals = np.add.reduceat(state.weights, self.cover.starts[:-1])
        distribution = np.empty(self.n_arms)
        owner = self.cover.owner[self.cover.order]
        distribution[self.cover.order] = state.masses[owner] * state.weights / totals[owner]
        return distribution


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def draw_null(state: NullState, first: float, second: float) -> Ticket:
    """``floor(K u)``, then ``floor(d v)``."""
    n_cliques = state.starts.size - 1
    k = min(int(first * n_cliques), n_cliques - 1)
    size = state.starts[k + 1] - state.starts[k]
    place = state.starts[k] + min(int(second * size), size - 1)
    return Ticket(int(state.order[place]), 1.0 / (n_cliques * size), k, int(state.clock[0]))


@lean_jit
def update_null(state: NullState, ticket: Ticket, losses: NDArray[np.float64]) -> None:
    """Add the feedback."""
    start = state.starts[ticket.clique]
    for j in range(losses.size):
        state.sums[start + j] += losses[j]
    state.clock[0] += 1.0


@lean_jit
def draw_toll(state: TollState, first: float, second: float) -> Ticket:
    """A clique by its mass, an arm by its weight."""
    k, rest = state.masses.size - 1, first
    for j in range(state.masses.size):
        rest -= state.masses[j]
        if rest < 0.0:
            k = j
            break
    start, stop = state.starts[k], state.starts[k + 1]
    total = 0.0
    for i in range(start, stop):
        total += state.weights[i]
    place, rest = stop - 1, second * total
    for i in range(start, stop):
        rest -= state.weights[i]
        if rest < 0.0:
            place = i
            break
    return Ticket(int(state.order[place]), state.masses[k] * state.weights[place] / total, k, int(state.clock[0]))


@lean_jit
def update_toll(state: TollState, ticket: Ticket, losses: NDArray[np.float64]) -> None:
    """Add the feedback; one ``exp`` for each arm of the clique; a square root and a division for each mass."""
    start = state.starts[ticket.clique]
    state.clock[0] += 1.0
    rate = 1.0 / state.clock[0]
    for j in range(losses.size):
        state.sums[start + j] += losses[j]
        state.weights[start + j] = math.exp(-rate * state.sums[start + j])
    masses = state.masses
    total = 0.0
    for k in range(masses.size):
        masses[k] = 1.0 / math.sqrt(1.0 + masses[k])
        total += masses[k]
    scale = 1.0 / total
    for k in range(masses.size):
        masses[k] *= scale


def visibility_of(state: NullState) -> Visibility:
    """An arm shows its clique."""
    return Visibility(state.owner, state.starts, state.order)


register_kernels(NullState, draw_null, update_null, visibility_getter=visibility_of)
register_kernels(TollState, draw_toll, update_toll, visibility_getter=visibility_of)
