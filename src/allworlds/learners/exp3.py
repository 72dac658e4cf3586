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
from allworlds.learners.recipe import LearnerRecipe
from allworlds.learners.sampling import draw_arm, exponential_weights

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
    redrawn: ClassVar[bool] = True
    movable: ClassVar[bool] = True
    shows: ClassVar[Shows] = "itself"
    accepts: ClassVar[frozenset[str]] = frozenset({"directed", "changing", "uninformed"})
    saved: ClassVar[tuple[str, ...]] = ("cumulative_losses", "clock")

    def init(self) -> State:
        """No losses, round one."""
        state = State(np.zeros(self.n_arms), np.empty(self.n_arms), np.array([1.0]), self.visibility)
        resolve(state)
        return state


# --- kernels --------------------------------------------------------------------------------------------


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


register_kernels(State, draw_arm, update, resolve)

RECIPES = (
    LearnerRecipe(
        "exp3",
        Exp3,
        "2 sqrt(N T log N) [Bubeck and Cesa-Bianchi 2012, Theorem 3.1]",
        "exp3",
        kind=Exp3,
        world="adversarial",
        source='Bubeck and Cesa-Bianchi, "Regret analysis of multi-armed bandit problems", 2012',
        rendering="from memory",
    ),
)
