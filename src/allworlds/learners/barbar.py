"""BARBAR: never drop an arm, only play it less, so that tampering with a few rounds can be forgotten.

The idea. An arm that was dropped because its losses were tampered with never comes back. BARBAR keeps every arm and
plays it at random about ``1 / gap²`` times an epoch, with the gap that the last epoch estimated. Each epoch estimates
afresh, so what an attacker spends in one epoch is forgotten after the next:

    epoch m:   n_i = lambda / (gap_i)²,   N_m = sum_i n_i;   for N_m rounds play arm i with probability n_i / N_m;
               r_i = (sum of its rewards) / n_i,    r* = max_i (r_i - gap_i / 16),    gap_i <- max{2^-m, r* - r_i},

from ``gap = 1``. The sum is divided by the *expected* number of plays, which no attacker can change. Here ``lambda =
1024 log(8 N log2(T) / delta)``, and with probability ``1 - delta`` the regret is at most of order ``N C + sum_i log(T)
log(N log(T) / delta) / Delta_i``, ``C`` the corruption (Gupta, Koren and Talwar, "Better algorithms for stochastic
bandits with adversarial corruptions", COLT 2019: their rule, with ``scale = 1``).

An epoch has a whole number of rounds, so ``N_m`` is rounded up and the expected number of plays with it. A reward is
divided by the probability of its own draw, which is the same unless its outcome arrived an epoch late. The graph is
ignored beyond the chosen arm. The constant is huge: with ten arms and ``T = 100,000`` the first epoch alone would take
190,000 rounds of uniform play. ``scale`` multiplies ``lambda``; below 1 nothing is proved. ``failure`` is ``delta``,
``1 / T`` unless given.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.kernels.jit import lean_jit
from allworlds.learners.base import Learner, Ticket
from allworlds.learners.dispatch import Shows, Visibility, register_kernels
from allworlds.learners.recipe import LearnerRecipe
from allworlds.learners.sampling import draw_arm

ROUND, EPOCH, LENGTH, LEFT = 0, 1, 2, 3
"""Places in ``State.clock``."""
MARGIN = 1.0 / 16.0
"""The share of its gap by which an arm must lead to count as the best."""


class State(NamedTuple):
    """Where in which epoch we are; the distribution follows from the gaps."""

    gaps: NDArray[np.float64]
    """(N,) the gaps that the last epoch estimated."""
    rewards: NDArray[np.float64]
    """(N,) the sum of this epoch's rewards of each arm, each divided by the probability of its draw."""
    distribution: NDArray[np.float64]
    """(N,) ``n_i / N_m``."""
    clock: NDArray[np.float64]
    """(4,) round, epoch, its length and the rounds left in it."""
    visibility: Visibility
    budget: float
    """``lambda``."""


def published_budget(n_arms: int, horizon: int, failure: float) -> float:
    """``1024 log(8 N log2(T) / delta)``.

    >>> round(published_budget(10, 100_000, 1e-5))
    19154
    """
    return 1024.0 * math.log(8.0 * n_arms * math.log2(max(horizon, 2)) / failure)


@dataclass(frozen=True)
class Barbar(Learner[State, Ticket]):
    """BARBAR; ``scale`` multiplies the lengths of the epochs, 1 as published.

    >>> from allworlds.graphs import bandit
    >>> learner = Barbar(bandit(2), horizon=1000, scale=1e-3)
    >>> state = learner.init()
    >>> learner.epoch_length(state)  # 2 * 1.024 * log(16 * log2(1000) * 1000)
    25
    >>> for t in range(25):
    ...     ticket = learner.draw(state, (t + 0.5) / 25, 0.0)
    ...     learner.update(state, ticket, np.array([float(ticket.arm)]))
    >>> learner.distribution(state)  # the gaps are 1/2, the least after one epoch, and about 1 - 1/16
    array([0.76..., 0.23...])
    """

    name: ClassVar[str] = "barbar"
    shows: ClassVar[Shows] = "itself"
    accepts: ClassVar[frozenset[str]] = frozenset({"directed", "changing", "uninformed"})
    positive: ClassVar[tuple[str, ...]] = ("scale",)
    fractions: ClassVar[tuple[str, ...]] = ("failure",)
    saved: ClassVar[tuple[str, ...]] = ("gaps", "rewards", "clock")

    horizon: int
    scale: float = 1.0
    failure: float | None = None

    def init(self) -> State:
        """All gaps are 1, the first epoch begins."""
        n = self.n_arms
        budget = self.scale * published_budget(n, self.horizon, self.failure or 1.0 / self.horizon)
        state = State(np.ones(n), np.zeros(n), np.empty(n), np.array([1.0, 1.0, 0.0, 0.0]), self.visibility, budget)
        set_length(state, allot(state))
        return state

    def epoch_length(self, state: State) -> int:
        """``N_m`` of the epoch under way."""
        return int(state.clock[LENGTH])


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def update(state: State, ticket: Ticket, losses: NDArray[np.float64]) -> None:
    """Add ``(1 - l_I) / p(I)``; at the end of an epoch, estimate the gaps."""
    state.rewards[ticket.arm] += (1.0 - losses[0]) / ticket.probability
    if count_round(state):
        set_length(state, allot(state))


@lean_jit
def count_round(state: Any) -> bool:
    """Count the round; at the end of an epoch, estimate the gaps and say that the next one begins."""
    clock = state.clock
    clock[ROUND] += 1.0
    clock[LEFT] -= 1.0
    if clock[LEFT] > 0.0:
        return False
    estimate_gaps(state.gaps, state.rewards, clock[LENGTH], clock[EPOCH])
    clock[EPOCH] += 1.0
    return True


@lean_jit
def estimate_gaps(gaps: NDArray[np.float64], rewards: NDArray[np.float64], length: float, epoch: float) -> None:
    """``gap_i <- max{2^-m, r* - r_i}`` with ``r* = max_i (r_i - gap_i / 16)``; the rewards are forgotten."""
    best = -math.inf
    for i in range(gaps.size):
        best = max(best, rewards[i] / length - MARGIN * gaps[i])
    for i in range(gaps.size):
        gaps[i] = max(0.5**epoch, best - rewards[i] / length)
        rewards[i] = 0.0


@lean_jit
def set_length(state: Any, plays: float) -> None:
    """``N_m = lambda plays``, rounded up, for the epoch that begins."""
    state.clock[LENGTH] = max(1.0, float(np.ceil(state.budget * plays)))
    state.clock[LEFT] = state.clock[LENGTH]


@lean_jit
def allot(state: State) -> float:
    """``p_i = gap_i^-2 / sum_j gap_j^-2``; return the sum."""
    total = 0.0
    for i in range(state.gaps.size):
        total += 1.0 / (state.gaps[i] * state.gaps[i])
    for i in range(state.gaps.size):
        state.distribution[i] = 1.0 / (state.gaps[i] * state.gaps[i] * total)
    return total


register_kernels(State, draw_arm, update, allot)

RECIPES = (
    LearnerRecipe(
        "barbar",
        Barbar,
        "N C + sum_i log T log(N log T / delta) / Delta_i with probability 1 - delta [Gupta et al. 2019]",
        "barbar:scale=0.001",
        {"scale": "number", "failure": "number"},
        kind=Barbar,
        world="corrupted",
        told="horizon",
        horizon="needed",
        source='Gupta, Koren and Talwar, "Better algorithms for stochastic bandits with adversarial corruptions", '
        "COLT 2019",
        rendering="as printed",
    ),
)
