"""Exp3: exponential weights for a learner that sees only what was chosen.

The idea. Estimate the loss of the chosen arm by dividing it by its probability: right on average, whatever the losses.
Then follow the leader softly, as Hedge does, on the estimates:

    p_t ∝ exp(-eta_t Lhat_{t-1}),     eta_t = sqrt(log(N) / (N t)),     Lhat_I += l_I / p_t(I).

No extra exploration, no horizon. The expected regret is at most ``2 sqrt(N T log N)`` against any losses fixed
beforehand (Auer, Cesa-Bianchi, Freund and Schapire 2002; this rate and constant: Bubeck and Cesa-Bianchi 2012,
Theorem 3.1). The graph is ignored beyond the chosen arm.
"""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.kernels.jit import lean_jit
from allworlds.learners.base import Learner, Ticket
from allworlds.learners.dispatch import Shows, Visibility, register_kernels

RAREST = 1e-290
"""A probability below this, which only rounding can draw, is taken for this: the estimate stays finite."""


class State(NamedTuple):
    """What the next round needs; the distribution follows from losses and round."""

    cumulative_losses: NDArray[np.float64]
    """(N,) ``Lhat``."""
    distribution: NDArray[np.float64]
    """(N,) ``p_t`` of the coming round."""
    clock: NDArray[np.float64]
    """(1,) round."""
    visibility: Visibility


class Exp3(Learner[State, Ticket]):
    """Exp3 without a horizon.

    >>> from allworlds.graphs import bandit
    >>> learner = Exp3(bandit(3))
    >>> state = learner.init()
    >>> ticket = learner.draw(state, 0.5, 0.0)
    >>> ticket.arm, learner.observes(ticket.arm)
    (1, array([1]))
    >>> learner.update(state, ticket, np.array([1.0]))
    >>> learner.distribution(state).argmin()
    np.int64(1)
    """

    name: ClassVar[str] = "exp3"
    shows: ClassVar[Shows] = "itself"
    saved: ClassVar[tuple[str, ...]] = ("cumulative_losses", "clock")

    def init(self) -> State:
        """No losses, round one."""
        state = State(np.zeros(self.n_arms), np.empty(self.n_arms), np.array([1.0]), self.visibility)
        resolve(state)
        return state


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def draw(state: State, first: float, second: float) -> Ticket:
    """Draw ``I_t`` from ``p_t``."""
    arm = pick(state.distribution, first)
    return Ticket(arm, float(state.distribution[arm]), int(state.clock[0]))


@lean_jit
def update(state: State, ticket: Ticket, losses: NDArray[np.float64]) -> None:
    """``Lhat_I += l_I / p_t(I)``, then the next round's distribution."""
    state.cumulative_losses[ticket.arm] += losses[0] / max(ticket.probability, RAREST)
    state.clock[0] += 1.0
    resolve(state)


@lean_jit
def resolve(state: State) -> None:
    """``p_t ∝ exp(-sqrt(log(N) / (N t)) Lhat)``."""
    n_arms = state.distribution.size
    rate = math.sqrt(math.log(n_arms) / (n_arms * state.clock[0]))
    exponential_weights(state.cumulative_losses, rate, state.distribution)


@lean_jit
def exponential_weights(losses: NDArray[np.float64], rate: float, out: NDArray[np.float64]) -> None:
    """``out_i = exp(-rate L_i) / sum_j exp(-rate L_j)``, (N,), from the lowest loss, so that nothing overflows."""
    lowest = losses[0]
    for i in range(1, losses.size):
        lowest = min(lowest, losses[i])
    total = 0.0
    for i in range(losses.size):
        out[i] = math.exp(-rate * (losses[i] - lowest))
        total += out[i]
    for i in range(losses.size):
        out[i] /= total


@lean_jit
def pick(distribution: NDArray[np.float64], uniform: float) -> int:
    """The arm at which the running sum passes ``uniform``; what rounding leaves over goes to the likeliest arm."""
    rest = uniform
    likeliest = 0
    for i in range(distribution.size):
        rest -= distribution[i]
        if rest < 0.0:
            return i
        if distribution[i] > distribution[likeliest]:
            likeliest = i
    return likeliest


register_kernels(State, draw, update, resolve)
