"""The log barrier with guesses: small regret where losses change little, or are small.

The idea. Guess that each arm has the loss it had when it was last drawn, and let estimates correct only what the
guess missed. The log barrier is steep enough to be told the guess before the draw:

    p_t = argmin  (Lhat + m_t)·p + (1/eta) sum_i log(1 / p_i),
    Lhat_i += 1{i = I_t} (l_i - m_t(i)) / p_t(i) + m_t(i),     m_t(i) = the last loss seen of arm i, 0 before that.

The regret is about ``N log(T) / eta + 3 eta Q`` with ``Q = sum_t (l_t(I_t) - m_t(I_t))^2``. The rate starts at ``eta
= 1/162`` and is halved, with a restart from no losses, when the ``Q`` since the last restart reaches ``N log(T) / (3
eta^2)``. As ``Q`` is at most the path length ``V = sum_t ||l_t - l_{t-1}||_1``, and at most about twice the loss
incurred, the regret is of order ``sqrt(N log(T) V)``, and of order ``sqrt(N log(T) L*)`` where the best arm loses
``L*``. This is Broad-OMD, second option, with its doubling (Wei and Luo, "More adaptive algorithms for adversarial
bandits", COLT 2018), written from memory; on the simplex with this barrier their mirror descent is the leader above.

``rate`` is the first ``eta``. With the paper's 1/162 the first thousands of rounds are nearly uniform; no bound is
claimed for a larger one. Without a horizon the round stands for ``T``, which is ours. A late outcome uses the guesses
of the round in which it comes. The graph is ignored beyond the chosen arm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.kernels.jit import lean_jit
from allworlds.learners.base import Learner, Ticket
from allworlds.learners.dispatch import Shows, Visibility, register_kernels
from allworlds.learners.recipe import LearnerRecipe
from allworlds.learners.sampling import draw_arm
from allworlds.learners.separable import Regulariser, separable_step

ROUND, DISTANCE, RATE, MISSED = 0, 1, 2, 3
"""Places in ``State.clock``."""


class State(NamedTuple):
    """What the next round needs; the distribution is already that of the coming round."""

    cumulative_losses: NDArray[np.float64]
    """(N,) ``Lhat`` since the last restart."""
    guesses: NDArray[np.float64]
    """(N,) ``m_t``."""
    distribution: NDArray[np.float64]
    """(N,) ``p_t`` of the coming round."""
    clock: NDArray[np.float64]
    """(4,) round, the solution of the last step, ``eta``, the ``Q`` since the last restart."""
    expected: NDArray[np.float64]
    """(N,) room for ``Lhat + m_t``."""
    visibility: Visibility
    horizon: float
    """0 where it is not known."""


@dataclass(frozen=True)
class LogBarrier(Learner[State, Ticket]):
    """Broad-OMD with the last loss of each arm as guess; anytime unless a horizon is given.

    >>> from allworlds.graphs import bandit
    >>> learner = LogBarrier(bandit(3), rate=0.5)
    >>> state = learner.init()
    >>> learner.update(state, learner.draw(state, 0.5, 0.0), np.array([1.0]))
    >>> learner.distribution(state).round(3)
    array([0.39 , 0.219, 0.39 ])
    """

    name: ClassVar[str] = "log-barrier"
    shows: ClassVar[Shows] = "itself"
    accepts: ClassVar[frozenset[str]] = frozenset({"directed", "changing", "uninformed"})
    positive: ClassVar[tuple[str, ...]] = ("rate",)
    saved: ClassVar[tuple[str, ...]] = ("cumulative_losses", "guesses", "distribution", "clock")
    scratch: ClassVar[tuple[str, ...]] = ("expected",)

    horizon: int | None = None
    rate: float = 1.0 / 162.0

    def init(self) -> State:
        """No losses, no guesses, round one."""
        state = State(
            cumulative_losses=np.zeros(self.n_arms),
            guesses=np.zeros(self.n_arms),
            distribution=np.full(self.n_arms, 1.0 / self.n_arms),
            clock=np.array([1.0, 1.0, self.rate, 0.0]),
            expected=np.empty(self.n_arms),
            visibility=self.visibility,
            horizon=float(self.horizon or 0),
        )
        step(state)
        return state


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def update(state: State, ticket: Ticket, losses: NDArray[np.float64]) -> None:
    """``Lhat_i += 1{i = I} (l_i - m_i) / p_t(i) + m_i``; perhaps a restart; then the next round's distribution."""
    clock, arm = state.clock, ticket.arm
    # learn, and guess the same loss again
    missed = losses[0] - state.guesses[arm]
    for i in range(state.guesses.size):
        state.cumulative_losses[i] += state.guesses[i]
    state.cumulative_losses[arm] += missed / ticket.probability
    state.guesses[arm] = losses[0]
    clock[ROUND] += 1.0
    clock[MISSED] += missed * missed
    # halve the rate once the guesses missed too much
    rounds = state.horizon if state.horizon > 0.0 else clock[ROUND]
    if clock[MISSED] >= state.guesses.size * math.log(max(2.0, rounds)) / (3.0 * clock[RATE] * clock[RATE]):
        clock[RATE] *= 0.5
        clock[MISSED] = 0.0
        for i in range(state.guesses.size):
            state.cumulative_losses[i] = 0.0
    step(state)


@lean_jit
def step(state: State) -> None:
    """``p_i = 1 / (eta (Lhat_i + m_i - lambda))``."""
    clock = state.clock
    for i in range(state.expected.size):
        state.expected[i] = state.cumulative_losses[i] + state.guesses[i]
    barrier = Regulariser(1.0 / clock[RATE], 1.0, 0.0, 1.0, 0.0)
    clock[DISTANCE] = separable_step(state.expected, barrier, 1.0, clock[DISTANCE], state.distribution)


register_kernels(State, draw_arm, update)

RECIPES = (
    LearnerRecipe(
        "log-barrier",
        LogBarrier,
        "sqrt(N V log T), V the path length of the losses, with the horizon [Wei and Luo 2018]",
        "log-barrier:rate=0.2",
        {"rate": "number"},
        kind=LogBarrier,
        world="adversarial",
        told="nothing; takes a horizon",
        horizon="taken",
        source='Wei and Luo, "More adaptive algorithms for adversarial bandits", COLT 2018',
        rendering="from memory",
    ),
)
