"""HYBRID on single arms: Tsallis entropy for rare arms, Shannon entropy for what is missing from likely ones.

The idea. The regulariser of a leader for semi-bandits, where several arms are drawn at once, must be steep at both
ends: near zero, where an arm is rarely seen, and near one, where it is hardly ever left out. Here one arm is drawn:

    p_t = argmin  Lhat·p + sqrt(t) sum_i (-sqrt(p_i) + gamma (1 - p_i) log(1 - p_i)),        gamma = 1,
    Lhat_i += (o_i + 1) 1{i = I_t} / p_t(i) - 1,                                           o = 2 l - 1 in [-1, 1].

The regret is of order ``sqrt(N T)`` against any losses and ``sum_i log(T) / Delta_i`` in stochastic worlds; nothing
must be told (Zimmert, Luo and Wei, "Beating stochastic and adversarial semi-bandits optimally and simultaneously",
ICML 2019, with ``m = 1``). Their losses are in [-1, 1]; ours, in [0, 1], are stretched to that, so the estimate is
``2 l / p - 1``, and the one, which all arms have in common, is left out. With ``gamma = 0`` the step is that of
Tsallis-INF with ``eta_t = 4 / sqrt(t)``. Rule and rate agree with a public program that cites the paper; they were
not compared with the print. The graph is ignored beyond the chosen arm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.foundation.checks import real
from allworlds.kernels.jit import lean_jit
from allworlds.learners.base import Learner, Ticket
from allworlds.learners.dispatch import Shows, Visibility, register_kernels
from allworlds.learners.recipe import LearnerRecipe
from allworlds.learners.sampling import draw_arm
from allworlds.learners.separable import Regulariser, separable_step

ROUND, DISTANCE = 0, 1
"""Places in ``State.clock``."""


class State(NamedTuple):
    """What the next round needs; the distribution is already that of the coming round."""

    cumulative_losses: NDArray[np.float64]
    """(N,) ``Lhat``."""
    distribution: NDArray[np.float64]
    """(N,) ``p_t`` of the coming round."""
    clock: NDArray[np.float64]
    """(2,) round, the solution of the last step."""
    visibility: Visibility
    gamma: float


@dataclass(frozen=True)
class Hybrid(Learner[State, Ticket]):
    """HYBRID for one arm at a time; ``gamma`` weighs the entropy of ``1 - p``.

    >>> from allworlds.graphs import bandit
    >>> learner = Hybrid(bandit(3))
    >>> state = learner.init()
    >>> learner.update(state, learner.draw(state, 0.5, 0.0), np.array([1.0]))
    >>> learner.distribution(state).round(3)
    array([0.493, 0.014, 0.493])
    """

    name: ClassVar[str] = "hybrid"
    redrawn: ClassVar[bool] = True
    shows: ClassVar[Shows] = "itself"
    accepts: ClassVar[frozenset[str]] = frozenset({"directed", "changing", "uninformed"})
    saved: ClassVar[tuple[str, ...]] = ("cumulative_losses", "distribution", "clock")

    gamma: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "gamma", real("gamma", self.gamma, at_least=0))

    def init(self) -> State:
        """No losses, round one."""
        n = self.n_arms
        state = State(np.zeros(n), np.full(n, 1.0 / n), np.array([1.0, 1.0]), self.visibility, self.gamma)
        step(state)
        return state


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def update(state: State, ticket: Ticket, losses: NDArray[np.float64]) -> None:
    """``Lhat_I += 2 l_I / p_t(I)``, then the next round's distribution."""
    state.cumulative_losses[ticket.arm] += 2.0 * losses[0] / ticket.probability
    state.clock[ROUND] += 1.0
    step(state)


@lean_jit
def step(state: State) -> None:
    """``sqrt(t) (p_i^(-1/2) / 2 + gamma log(1 - p_i)) = Lhat_i - lambda``, starting from the last round's ``p``."""
    clock, root = state.clock, math.sqrt(state.clock[ROUND])
    entropies = Regulariser(0.5 * root, 0.5, 0.0, 1.0, state.gamma * root)
    clock[DISTANCE] = separable_step(state.cumulative_losses, entropies, 1.0, clock[DISTANCE], state.distribution)


register_kernels(State, draw_arm, update)

RECIPES = (
    LearnerRecipe(
        "hybrid",
        Hybrid,
        "sqrt(N T), and sum of log T / Delta where stochastic [Zimmert, Luo and Wei 2019]",
        "hybrid:gamma=0.5",
        {"gamma": "number"},
        kind=Hybrid,
        world="any",
        source='Zimmert, Luo and Wei, "Beating stochastic and adversarial semi-bandits optimally and simultaneously", '
        "ICML 2019",
        rendering="from memory",
    ),
)
