"""Exp3: exponential weights for one who sees only what was chosen.

The idea. Estimate the loss of the chosen arm by dividing it by its probability: right on average, whatever the losses.
Then follow the leader softly, as Hedge does, on the estimates:

    p_t ∝ exp(-eta_t Lhat_{t-1}),     eta_t = sqrt(log(N) / (N t)),     Lhat_I += l_I / p_t(I).

No extra exploration, no horizon. The expected regret is at most ``2 sqrt(N T log N)`` against any losses fixed
beforehand (Auer, Cesa-Bianchi, Freund and Schapire 2002; this rate and constant: Bubeck and Cesa-Bianchi 2012,
Theorem 3.1). The graph is ignored beyond the chosen arm.
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
from allworlds.learners.dispatch import Visibility, own_visibility, register_kernels
from allworlds.learners.weights import exponential_weights, pick

RAREST = 1e-290
"""A probability below this, which only rounding can draw, is taken for this: the estimate stays finite."""


class State(NamedTuple):
    """What the next round needs; the distribution follows from losses and round."""

    cumulative_losses: NDArray[np.float64]
    """(N,) ``Lhat``."""
    weights: NDArray[np.float64]
    """(N,) ``p_t`` of the coming round."""
    clock: NDArray[np.float64]
    """(1,) round."""
    visibility: Visibility


class Ticket(NamedTuple):
    """One choice; its estimate needs its probability."""

    arm: int
    probability: float
    round: int


@dataclass(frozen=True)
class Exp3(Learner):
    """Exp3 without a horizon; the cover is kept for its graph only.

    >>> from allworlds.covers import clique_cover
    >>> from allworlds.graphs import bandit
    >>> learner = Exp3(clique_cover(bandit(3)))
    >>> state = learner.init()
    >>> ticket = learner.draw(state, 0.5, 0.0)
    >>> ticket.arm, learner.observes(ticket.arm)
    (1, array([1]))
    >>> learner.update(state, ticket, np.array([1.0]))
    >>> learner.distribution(state).argmin()
    np.int64(1)
    """

    name: ClassVar[str] = "exp3"
    ticket_class: ClassVar[type] = Ticket
    saved: ClassVar[tuple[str, ...]] = ("cumulative_losses", "clock")

    cover: CliqueCover

    def __post_init__(self) -> None:
        """Refuse what is no cover."""
        check_cover(self.cover)

    def init(self) -> State:
        """No losses, round one."""
        state = State(np.zeros(self.n_arms), np.empty(self.n_arms), np.array([1.0]), own_visibility(self.n_arms))
        resolve(state)
        return state

    def observes(self, arm: int) -> NDArray[np.int64]:
        """The arm alone."""
        return np.array([arm])

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
    """``Lhat_I += l_I / p_t(I)``, then the next round's distribution."""
    state.cumulative_losses[ticket.arm] += losses[0] / max(ticket.probability, RAREST)
    state.clock[0] += 1.0
    resolve(state)


@lean_jit
def resolve(state: State) -> None:
    """``p_t ∝ exp(-sqrt(log(N) / (N t)) Lhat)``."""
    n_arms = state.weights.size
    rate = math.sqrt(math.log(n_arms) / (n_arms * state.clock[0]))
    exponential_weights(state.cumulative_losses, rate, state.weights)


def visibility_of(state: State) -> Visibility:
    """An arm shows itself."""
    return state.visibility


register_kernels(State, draw, update, visibility_of)
