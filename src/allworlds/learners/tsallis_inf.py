"""Tsallis-INF: good in all worlds at once for a learner that sees only what was chosen.

The idea. Follow the regularised leader with the Tsallis entropy of power 1/2, whose weights fall with the square of
the estimated loss and not exponentially, so that bad arms are still looked at, just often enough:

    p_t(i) = 4 / (eta_t (Lhat_i - x))^2,        x such that they sum to one.

Two estimators. ``iw``, importance weighting, ``lhat_I = l_I / p_t(I)`` with ``eta_t = 2 / sqrt(t)``: regret at most
``4 sqrt(N T) + 1``. ``rv``, of reduced variance, ``lhat_i = 1{i = I} (l_i - B_i) / p_t(i) + B_i`` for every arm, with
``B_i = 1/2`` where ``p_t(i) >= eta_t^2`` and 0 elsewhere, and ``eta_t = 4 / sqrt(t)``: regret at most
``2 sqrt(N T) + 10 N log T + 16``. Both are logarithmic in stochastic worlds and need nothing (Zimmert and Seldin,
"Tsallis-INF", JMLR 2021, Theorem 1; rules and rates are
theirs). The graph is ignored beyond the chosen arm. ``iw`` is the paper's learner on single arms
[EK21, equation (1)].

A late outcome is divided by the probability that held at the draw, and uses the ``B`` of the round in which it comes:
``B`` may be anything that the draw itself did not decide, the estimate is right on average all the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from allworlds.foundation.errors import InvalidParameter
from allworlds.kernels.jit import lean_jit
from allworlds.learners.base import Learner, Ticket
from allworlds.learners.dispatch import Shows, Visibility, register_kernels
from allworlds.learners.recipe import LearnerRecipe
from allworlds.learners.sampling import pick

Estimator = Literal["iw", "rv"]
TOLERANCE = 1e-14
"""The sum of the weights is this close to one before the last division makes it one."""
MAX_STEPS = 60
ROUND, DISTANCE = 0, 1
"""Places in ``State.clock``."""


class Rates(NamedTuple):
    """The scalars of the learner, for kernels."""

    eta0: float
    reduced: float
    """``B`` of a likely arm: 1/2 with reduced variance, else 0."""


class State(NamedTuple):
    """What the next round needs; ``weights`` is already solved for it."""

    cumulative_losses: NDArray[np.float64]
    """(N,) ``Lhat``."""
    weights: NDArray[np.float64]
    """(N,) ``p_t`` of the coming round."""
    clock: NDArray[np.float64]
    """(2,) round; ``z``, the solution of the last step, in [1, sqrt(N)]."""
    visibility: Visibility
    rates: Rates


@dataclass(frozen=True)
class TsallisINF(Learner[State, Ticket]):
    """Tsallis-INF with importance weighting (``iw``) or reduced variance (``rv``); the graph is ignored.

    >>> from allworlds.graphs import bandit
    >>> learner = TsallisINF(bandit(2))
    >>> state = learner.init()
    >>> learner.update(state, learner.draw(state, 0.7, 0.0), np.array([1.0]))
    >>> learner.distribution(state).round(3)
    array([0.841, 0.159])
    """

    name: ClassVar[str] = "tsallis-inf"
    redrawn: ClassVar[bool] = True
    shows: ClassVar[Shows] = "itself"
    accepts: ClassVar[frozenset[str]] = frozenset({"directed", "changing", "uninformed"})
    saved: ClassVar[tuple[str, ...]] = ("cumulative_losses", "weights", "clock")

    estimator: Estimator = "iw"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.estimator not in get_args(Estimator):
            raise InvalidParameter(f"estimator is {self.estimator!r}; expected 'iw' or 'rv'")

    @property
    def title(self) -> str:
        """The registry name of either kind."""
        return self.name if self.estimator == "iw" else f"{self.name}-{self.estimator}"

    def init(self) -> State:
        """No losses, round one."""
        state = State(
            cumulative_losses=np.zeros(self.n_arms),
            weights=np.empty(self.n_arms),
            clock=np.array([1.0, 1.0]),
            visibility=self.visibility,
            rates=Rates(2.0, 0.0) if self.estimator == "iw" else Rates(4.0, 0.5),
        )
        resolve(state)
        return state

    def distribution(self, state: State) -> NDArray[np.float64]:
        """(N,) the probability of each arm in the coming round."""
        return state.weights.copy()


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def draw(state: State, first: float, second: float) -> Ticket:
    """Draw ``I_t`` from ``p_t``."""
    arm = pick(state.weights, first)
    return Ticket(arm, float(state.weights[arm]), int(state.clock[ROUND]))


@lean_jit
def update(state: State, ticket: Ticket, losses: NDArray[np.float64]) -> None:
    """``Lhat_i += 1{i = I} (l_i - B_i) / p_t(i) + B_i``, then the next round's distribution."""
    reduced = state.rates.reduced
    mine = 0.0
    if reduced > 0.0:
        likely = state.rates.eta0 * state.rates.eta0 / state.clock[ROUND]
        for i in range(state.weights.size):
            if state.weights[i] >= likely:
                state.cumulative_losses[i] += reduced
        if state.weights[ticket.arm] >= likely:
            mine = reduced
    state.cumulative_losses[ticket.arm] += (losses[0] - mine) / ticket.probability
    state.clock[ROUND] += 1.0
    resolve(state)


@lean_jit
def resolve(state: State) -> None:
    """The coming round's weights, starting from the last round's solution."""
    rate = state.rates.eta0 / math.sqrt(state.clock[ROUND])
    state.clock[DISTANCE] = tsallis_weights(state.cumulative_losses, rate, state.clock[DISTANCE], state.weights)


@lean_jit
def tsallis_weights(losses: NDArray[np.float64], rate: float, start: float, out: NDArray[np.float64]) -> float:
    """``p_i = 1 / (d_i + z)^2`` with ``d_i = rate (L_i - min L) / 2`` and ``z >= 1`` such that they sum to one.

    Newton's method on ``g(z)^(-1/2) = 1``, where ``g(z) = sum_i (d_i + z)^-2``. The left side is a power mean of
    ``d_i + z``, so it is concave and increasing: from anywhere one step leads to the left of the root, and from there
    every step goes up and none passes it. At ``z = 1`` the best arm alone has one, so the root is not below.
    """
    lowest = losses[0]
    for i in range(1, losses.size):
        lowest = min(lowest, losses[i])
    half = 0.5 * rate
    z, total = start, 1.0
    for step in range(MAX_STEPS):
        total, cubes = 0.0, 0.0
        for i in range(losses.size):
            inverse = 1.0 / (half * (losses[i] - lowest) + z)
            out[i] = inverse * inverse
            total += out[i]
            cubes += out[i] * inverse
        better = max(1.0, z + total * (math.sqrt(total) - 1.0) / cubes)
        if abs(total - 1.0) <= TOLERANCE or (step > 1 and better <= z):
            break  # solved, or as near as doubles go
        z = better
    for i in range(losses.size):
        out[i] /= total
    return z


register_kernels(State, draw, update)

RECIPES = (
    LearnerRecipe(
        "tsallis-inf",
        TsallisINF,
        "4 sqrt(N T) + 1, and sum of 4 log T / Delta where stochastic [Zimmert and Seldin 2021, Theorem 1]",
        "tsallis-inf",
        kind=TsallisINF,
        world="any",
        source='Zimmert and Seldin, "Tsallis-INF", JMLR 2021',
        rendering="as printed",
    ),
    LearnerRecipe(
        "tsallis-inf-rv",
        partial(TsallisINF, estimator="rv"),
        "2 sqrt(N T) + 10 N log T + 16, and sum of log T / Delta + 28 N log T where stochastic "
        "[Zimmert and Seldin 2021, Theorem 1]",
        "tsallis-inf-rv",
        kind=TsallisINF,
        world="any",
        source='Zimmert and Seldin, "Tsallis-INF", JMLR 2021',
        rendering="as printed",
    ),
)
