"""INF, the implicitly normalised forecaster: the first rule without a logarithm in the bandit's regret.

The idea. Weigh each arm by a function of its estimated gain, less a number ``C_t`` that makes the weights sum to one.
With a power in place of Exp3's exponential, arms that are behind are still looked at:

    p_t(i) = psi(V_i - C_t),       psi(x) = (eta / -x)^q + gamma / N,       V_I += g_I / p_t(I),     g = 1 - l,
    q = 2,      eta = sqrt(5 T),      gamma = min{1/2, sqrt(3 N / T)}.

The expected regret is at most ``16 sqrt(N T)`` against any losses fixed beforehand (Audibert and Bubeck, "Minimax
policies for adversarial and stochastic bandits", COLT 2009; rule, constants and bound are written from memory). With
``q = 2`` and ``gamma = 0`` the step is that of Tsallis-INF, on gains in place of losses. Without a horizon the round
``t`` stands for ``T``, and the weights are computed afresh from all gains: that is ours. The graph is ignored beyond
the chosen arm.
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


class Rates(NamedTuple):
    """The scalars of the learner, for kernels."""

    power: float
    """``q``."""
    horizon: float
    """0 where it is not known."""


class State(NamedTuple):
    """What the next round needs; the distribution is already that of the coming round."""

    forgone: NDArray[np.float64]
    """(N,) ``-V``: the estimated gains, counted as losses."""
    distribution: NDArray[np.float64]
    """(N,) ``p_t`` of the coming round."""
    clock: NDArray[np.float64]
    """(2,) round, the solution of the last step."""
    visibility: Visibility
    rates: Rates


@dataclass(frozen=True)
class INF(Learner[State, Ticket]):
    """INF with a polynomial, anytime unless a horizon is given; ``power`` is its ``q``.

    >>> from allworlds.graphs import bandit
    >>> learner = INF(bandit(2), horizon=1000)
    >>> state = learner.init()
    >>> learner.update(state, learner.draw(state, 0.7, 0.0), np.array([0.0]))
    >>> learner.distribution(state).round(3)
    array([0.491, 0.509])
    """

    name: ClassVar[str] = "inf"
    redrawn: ClassVar[bool] = True
    shows: ClassVar[Shows] = "itself"
    accepts: ClassVar[frozenset[str]] = frozenset({"directed", "changing", "uninformed"})
    saved: ClassVar[tuple[str, ...]] = ("forgone", "distribution", "clock")

    horizon: int | None = None
    power: float = 2.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "power", real("power", self.power, above=1))

    def init(self) -> State:
        """No gains, round one."""
        state = State(
            forgone=np.zeros(self.n_arms),
            distribution=np.full(self.n_arms, 1.0 / self.n_arms),
            clock=np.array([1.0, 1.0]),
            visibility=self.visibility,
            rates=Rates(self.power, float(self.horizon or 0)),
        )
        step(state)
        return state


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def update(state: State, ticket: Ticket, losses: NDArray[np.float64]) -> None:
    """``V_I += (1 - l_I) / p_t(I)``, then the next round's distribution."""
    state.forgone[ticket.arm] -= (1.0 - losses[0]) / ticket.probability
    state.clock[ROUND] += 1.0
    step(state)


@lean_jit
def step(state: State) -> None:
    """``p_i = (eta / (C - V_i))^q + gamma / N``, with ``C`` such that they sum to one."""
    p, clock, rates = state.distribution, state.clock, state.rates
    rounds = rates.horizon if rates.horizon > 0.0 else clock[ROUND]
    gamma = min(0.5, math.sqrt(3.0 * p.size / rounds))
    potential = Regulariser(math.sqrt(5.0 * rounds), 1.0 / rates.power, 0.0, 1.0, 0.0)
    clock[DISTANCE] = separable_step(state.forgone, potential, 1.0 - gamma, clock[DISTANCE], p)
    for i in range(p.size):
        p[i] += gamma / p.size


register_kernels(State, draw_arm, update)

RECIPES = (
    LearnerRecipe(
        "inf",
        INF,
        "16 sqrt(N T) with the horizon [Audibert and Bubeck 2009]",
        "inf:power=3",
        {"power": "number"},
        kind=INF,
        world="adversarial",
        told="nothing; takes a horizon",
        horizon="taken",
        source='Audibert and Bubeck, "Minimax policies for adversarial and stochastic bandits", COLT 2009',
        rendering="from memory",
    ),
)
