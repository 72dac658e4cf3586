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
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.kernels.jit import lean_jit
from allworlds.learners.base import Learner, Ticket
from allworlds.learners.dispatch import Shows, Visibility, register_kernels
from allworlds.learners.recipe import LearnerRecipe
from allworlds.learners.sampling import exponential_weights, pick


class State(NamedTuple):
    """What the next round needs; the distribution follows from losses and round."""

    cumulative_losses: NDArray[np.float64]
    """(N,) ``L``."""
    distribution: NDArray[np.float64]
    """(N,) ``p_t`` of the coming round."""
    clock: NDArray[np.float64]
    """(1,) round."""
    visibility: Visibility


class Hedge(Learner[State, Ticket]):
    """Decreasing Hedge with full information.

    >>> from allworlds.graphs import bandit
    >>> learner = Hedge(bandit(3))
    >>> state = learner.init()
    >>> ticket = learner.draw(state, 0.5, 0.0)
    >>> ticket.arm, learner.observes(ticket.arm)
    (1, array([0, 1, 2]))
    >>> learner.update(state, ticket, np.array([1.0, 1.0, 0.0]))
    >>> learner.distribution(state).argmax()
    np.int64(2)
    """

    name: ClassVar[str] = "hedge"
    shows: ClassVar[Shows] = "everything"
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
    """``L += l``, then the next round's distribution."""
    for i in range(losses.size):
        state.cumulative_losses[i] += losses[i]
    state.clock[0] += 1.0
    resolve(state)


@lean_jit
def resolve(state: State) -> None:
    """``p_t ∝ exp(-sqrt(log(N) / t) L)``."""
    rate = math.sqrt(math.log(state.distribution.size) / state.clock[0])
    exponential_weights(state.cumulative_losses, rate, state.distribution)


register_kernels(State, draw, update, resolve)

RECIPES = (
    LearnerRecipe(
        "hedge",
        Hedge,
        "1.25 sqrt(T log N), and log N / Delta where stochastic [Amir et al. 2020]",
        "hedge",
        kind=Hedge,
        world="any",
        told="all losses",
        rival=False,
        source='Amir, Attias, Koren, Mansour and Livni, "Prediction with corrupted expert advice", NeurIPS 2020',
        rendering="from memory",
    ),
)
