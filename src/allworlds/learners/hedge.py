"""Decreasing Hedge: what one could do if every loss were shown.

The idea. Follow the leader, softly: give each arm a probability that falls exponentially in its total loss, with a
rate that falls with time,

    p_t ∝ exp(-eta_t L_{t-1}),        eta_t = sqrt(log(N) / t),        L_t = L_{t-1} + l_t.

It takes the losses of *all* arms, whatever the graph shows, so it is a line beside the learners and not a rival. The
weights are computed afresh from the totals in every round (follow the regularised leader): multiplying old weights
is a different algorithm once the rate changes, and a worse one in stochastic worlds. Rate and the bound
``log(N)/Delta`` with an additive price for corruption are those of Amir, Attias, Koren, Mansour and Livni,
"Prediction with corrupted expert advice", NeurIPS 2020; ``1.25 sqrt(T log N)`` against any losses is classical.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.covers import CliqueCover
from allworlds.covers.cover import check_cover
from allworlds.kernels.jit import lean_jit
from allworlds.learners.base import Learner
from allworlds.learners.dispatch import Visibility, full_sight, register_kernels
from allworlds.learners.weights import exponential_weights, pick


class State(NamedTuple):
    """What the next round needs; the distribution follows from losses and round."""

    cumulative_losses: NDArray[np.float64]
    """(N,) ``L``."""
    weights: NDArray[np.float64]
    """(N,) ``p_t`` of the coming round."""
    clock: NDArray[np.float64]
    """(1,) round."""
    visibility: Visibility


class Ticket(NamedTuple):
    """One choice; the estimate of a loss that is shown is that loss."""

    arm: int
    probability: float
    round: int


@dataclass(frozen=True)
class Hedge(Learner):
    """Decreasing Hedge with full information; the cover is kept for its graph only.

    >>> from allworlds.covers import clique_cover
    >>> from allworlds.graphs import bandit
    >>> learner = Hedge(clique_cover(bandit(3)))
    >>> state = learner.init()
    >>> ticket = learner.draw(state, 0.5, 0.0)
    >>> ticket.arm, learner.observes(ticket.arm)
    (1, array([0, 1, 2]))
    >>> learner.update(state, ticket, np.array([1.0, 1.0, 0.0]))
    >>> learner.distribution(state).argmax()
    np.int64(2)
    """

    name: ClassVar[str] = "hedge"
    sees_everything: ClassVar[bool] = True
    ticket_class: ClassVar[type] = Ticket
    saved: ClassVar[tuple[str, ...]] = ("cumulative_losses", "clock")

    cover: CliqueCover

    def __post_init__(self) -> None:
        """Refuse what is no cover."""
        check_cover(self.cover)

    def init(self) -> State:
        """No losses, round one."""
        state = State(np.zeros(self.n_arms), np.empty(self.n_arms), np.array([1.0]), full_sight(self.n_arms))
        resolve(state)
        return state

    def observes(self, arm: int) -> NDArray[np.int64]:
        """All arms."""
        return np.arange(self.n_arms)

    def distribution(self, state: State) -> NDArray[np.float64]:
        """(N,) the probability of each arm in the coming round."""
        return state.weights.copy()

    def unpack(self, arrays: dict[str, NDArray[np.float64]]) -> State:
        """The state as it was; the weights are computed again."""
        state: State = super().unpack(arrays)
        resolve(state)
        return state


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def draw(state: State, first: float, second: float) -> Ticket:
    """Draw ``I_t`` from ``p_t``."""
    arm = pick(state.weights, first)
    return Ticket(arm, float(state.weights[arm]), int(state.clock[0]))


@lean_jit
def update(state: State, ticket: Ticket, losses: NDArray[np.float64]) -> None:
    """``L += l``, then the next round's distribution."""
    for i in range(losses.size):
        state.cumulative_losses[i] += losses[i]
    state.clock[0] += 1.0
    resolve(state)


@lean_jit
def resolve(state: State) -> None:
    """``p_t ∝ exp(-sqrt(log(N) / t) L)``."""
    rate = math.sqrt(math.log(state.weights.size) / state.clock[0])
    exponential_weights(state.cumulative_losses, rate, state.weights)


def visibility_of(state: State) -> Visibility:
    """Every arm shows all."""
    return state.visibility


register_kernels(State, draw, update, visibility_of)
