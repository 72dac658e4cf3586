"""BROAD: mirror descent with a logarithmic barrier, whose rate is halved when the losses vary too much.

The idea. The barrier ``log(1/w)`` lets a probability fall only slowly, by a factor and not by an exponential, so
estimates divided by small probabilities do no harm. One rate serves until the observed variation exceeds what it is
good for; then start again with half of it:

    w_{t+1} = argmin over distributions w of  eta <w, lhat_t> + sum_i (w_i / w_t(i) - 1 - log(w_i / w_t(i))),
              that is,  1 / w_{t+1}(i) = 1 / w_t(i) + eta (lhat_t(i) - x)  with x such that the sum is 1,
    lhat_t(i) = l_t(I_t) / w_t(i) for i = I_t and 0 elsewhere,
    V += sum_i (l_t(i) 1{I_t = i} - w_t(i) l_t(I_t))²;    if V >= N log(T) / (3 eta²):  eta <- eta / 2, w = 1/N, V = 0,

from ``eta = 1/162``. This is BROAD of Wei and Luo, "More adaptive algorithms for adversarial bandits", COLT 2018, with
their prediction ``m_t(i) = l_t(I_t)``, equal for all arms, so that predicting changes nothing. The regret is at most
of order ``sqrt(N T log T)`` against any losses and ``N log(T) / Delta`` where they are stochastic. The graph is
ignored beyond the chosen arm. Without a horizon the round stands for ``T``, for which nothing is proved. The constant
is small, so learning is slow: ``rate`` is the first ``eta``.
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

ROUND, RATE, VARIATION = 0, 1, 2
"""Places in ``State.clock``."""
ACCURACY = 1e-12
"""The sum of the next distribution is solved to this; what is left is divided out."""


class State(NamedTuple):
    """What the next round needs."""

    distribution: NDArray[np.float64]
    """(N,) ``w_t`` of the coming round."""
    inverses: NDArray[np.float64]
    """(N,) ``1 / w_t + eta lhat_t`` while the step is solved."""
    clock: NDArray[np.float64]
    """(3,) round, ``eta`` and ``V``."""
    visibility: Visibility
    horizon: float
    """0 where it is not known."""


@dataclass(frozen=True)
class Broad(Learner[State, Ticket]):
    """BROAD with restarts; ``rate`` is the first learning rate.

    >>> from allworlds.graphs import bandit
    >>> learner = Broad(bandit(2), rate=0.75)
    >>> state = learner.init()
    >>> learner.update(state, learner.draw(state, 0.0, 0.0), np.array([1.0]))
    >>> learner.distribution(state)  # 3 - 3/2 = 0.75 * 1 / 0.5
    array([0.33333333, 0.66666667])
    """

    name: ClassVar[str] = "broad"
    shows: ClassVar[Shows] = "itself"
    accepts: ClassVar[frozenset[str]] = frozenset({"directed", "changing", "uninformed"})
    positive: ClassVar[tuple[str, ...]] = ("rate",)
    saved: ClassVar[tuple[str, ...]] = ("distribution", "clock")
    scratch: ClassVar[tuple[str, ...]] = ("inverses",)

    horizon: int | None = None
    rate: float = 1.0 / 162.0

    def init(self) -> State:
        """Uniform, round one."""
        n = self.n_arms
        clock = np.array([1.0, self.rate, 0.0])
        return State(np.full(n, 1.0 / n), np.empty(n), clock, self.visibility, float(self.horizon or 0))


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def update(state: State, ticket: Ticket, losses: NDArray[np.float64]) -> None:
    """One step of mirror descent on ``l_I / w_t(I)``, or a restart with half the rate."""
    w, clock, n = state.distribution, state.clock, state.distribution.size
    for i in range(n):
        off = losses[0] * ((1.0 if i == ticket.arm else 0.0) - w[i])
        clock[VARIATION] += off * off
    rounds = state.horizon if state.horizon > 0.0 else clock[ROUND]
    if clock[VARIATION] >= n * math.log(max(2.0, rounds)) / (3.0 * clock[RATE] * clock[RATE]):
        clock[RATE] *= 0.5
        clock[VARIATION] = 0.0
        for i in range(n):
            w[i] = 1.0 / n
    else:
        step(w, ticket.arm, clock[RATE] * losses[0] / ticket.probability, state.inverses)
    clock[ROUND] += 1.0


@lean_jit
def step(w: NDArray[np.float64], arm: int, push: float, inverses: NDArray[np.float64]) -> None:
    """``1 / w_i <- 1 / w_i + push 1{i = arm} - x`` with ``x`` such that the sum is 1, by Newton within a bracket.

    The sum grows with ``x``. It is at most 1 at ``x = 0`` and at least 1 at ``push``, unless a pole comes first.
    """
    # The bracket ends at the first pole.
    low, high = 0.0, push
    for i in range(w.size):
        inverses[i] = 1.0 / w[i] + (push if i == arm else 0.0)
        high = min(high, inverses[i])
    # Newton's steps; one that leaves the bracket is replaced by its middle.
    x = 0.0
    for _ in range(100):
        total, slope = 0.0, 0.0
        for i in range(w.size):
            value = 1.0 / (inverses[i] - x)
            total += value
            slope += value * value
        if abs(total - 1.0) <= ACCURACY:
            break
        if total < 1.0:
            low = x
        else:
            high = x
        x -= (total - 1.0) * total / slope  # Newton for 1 / total, which is nearly linear
        if not low < x < high:
            x = 0.5 * (low + high)
    # What the sum lacks of 1 is divided out.
    total = 0.0
    for i in range(w.size):
        w[i] = 1.0 / (inverses[i] - x)
        total += w[i]
    for i in range(w.size):
        w[i] /= total


register_kernels(State, draw_arm, update)

RECIPES = (
    LearnerRecipe(
        "broad",
        Broad,
        "sqrt(NT log T); N log T/Delta where stochastic, with the horizon [Wei and Luo 2018]",
        "broad:rate=0.1",
        {"rate": "number"},
        kind=Broad,
        world="any",
        told="nothing; takes a horizon",
        horizon="taken",
        source='Wei and Luo, "More adaptive algorithms for adversarial bandits", COLT 2018',
        rendering="as printed",
    ),
)
