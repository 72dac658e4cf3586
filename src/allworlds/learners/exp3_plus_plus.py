"""EXP3++: exponential weights with a little more exploration where an arm is not yet known to be bad.

The idea. Exp3 copes with any losses. To be good in a friendly world too, it must look at every arm just often enough to
know how much worse it is, which is about ``log(t) / Delta_i²`` times. So the gap of each arm is estimated, from below,
by the means of the losses, and the exploration of an arm follows its estimated gap:

    q_t ∝ exp(-eta_t Lhat),    p_t = (1 - sum_j eps_t(j)) q_t + eps_t,    Lhat_I += l_I / p_t(I),
    eps_t(i) = min{1 / (2N), eta_t, b log(t) / (t gap_i²)},        eta_t = sqrt(log(N) / (t N)) / 2,
    gap_i = max{0, LCB_i - min_j UCB_j},    LCB_i, UCB_i = mean_i -+ sqrt(a log(t N^(1/a)) / (2 O_i)), kept in [0, 1],

with ``O_i`` plays of arm ``i``, ``a = 3`` and ``b = 256``. Before that each arm is played once; these losses count with
weight one, and the order is random here, so that the numbers of the arms do not matter. The rule is that of Seldin and
Slivkins, "One practical algorithm for both stochastic and adversarial bandits", ICML 2014, with the parameters of
Seldin and Lugosi, "An improved parametrization and analysis of the EXP3++ algorithm", COLT 2017. The expected regret
is at most about ``4 sqrt(N T log N)`` against any losses, and of order ``sum_i log(T)² / Delta_i`` in a stochastic
world. The graph is ignored beyond the chosen arm. ``exploration`` is ``b``. The proof needs 256; with ten arms and
gaps of 1/2 the third of the three numbers is then the least only after some 10^10 rounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.kernels.jit import lean_jit
from allworlds.learners.base import Learner
from allworlds.learners.dispatch import Shows, Visibility, register_kernels
from allworlds.learners.recipe import LearnerRecipe
from allworlds.learners.sampling import exponential_weights, pick

ROUND = 0
"""The place in ``State.clock``."""
CONFIDENCE = 3.0
"""``a`` of the confidence intervals [Seldin and Lugosi 2017]."""


class State(NamedTuple):
    """What the next round needs; distribution and gaps follow from the first three and the round."""

    cumulative_losses: NDArray[np.float64]
    """(N,) ``Lhat``."""
    totals: NDArray[np.float64]
    """(N,) the sum of the losses of each arm."""
    played: NDArray[np.float64]
    """(N,) ``O_i``."""
    distribution: NDArray[np.float64]
    """(N,) ``p_t`` of the coming round."""
    gaps: NDArray[np.float64]
    """(N,) the gap of each arm, estimated from below."""
    clock: NDArray[np.float64]
    """(1,) round."""
    visibility: Visibility
    exploration: float


class Ticket(NamedTuple):
    """One choice, and what its loss is divided by."""

    arm: int
    probability: float
    divisor: float
    """The probability, or 1 while some arm has not been played."""
    round: int


@dataclass(frozen=True)
class Exp3PlusPlus(Learner[State, Ticket]):
    """EXP3++ without a horizon.

    >>> from allworlds.graphs import bandit
    >>> learner = Exp3PlusPlus(bandit(3))
    >>> state = learner.init()
    >>> learner.update(state, learner.draw(state, 0.5, 0.0), np.array([1.0]))
    >>> learner.distribution(state)
    array([0.5, 0. , 0.5])
    """

    name: ClassVar[str] = "exp3-plus-plus"
    shows: ClassVar[Shows] = "itself"
    accepts: ClassVar[frozenset[str]] = frozenset({"directed", "changing", "uninformed"})
    ticket_class: ClassVar[type] = Ticket
    positive: ClassVar[tuple[str, ...]] = ("exploration",)
    saved: ClassVar[tuple[str, ...]] = ("cumulative_losses", "totals", "played", "clock")

    exploration: float = 256.0

    def init(self) -> State:
        """Nothing played, round one."""
        n = self.n_arms
        state = State(
            cumulative_losses=np.zeros(n),
            totals=np.zeros(n),
            played=np.zeros(n),
            distribution=np.empty(n),
            gaps=np.zeros(n),
            clock=np.array([1.0]),
            visibility=self.visibility,
            exploration=self.exploration,
        )
        resolve(state)
        return state


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def draw(state: State, first: float, second: float) -> Ticket:
    """Draw ``I_t`` from ``p_t``; a first play counts with weight one."""
    arm = pick(state.distribution, first)
    probability = float(state.distribution[arm])
    divisor = 1.0 if state.played[arm] == 0.0 else probability
    return Ticket(arm, probability, divisor, int(state.clock[ROUND]))


@lean_jit
def update(state: State, ticket: Ticket, losses: NDArray[np.float64]) -> None:
    """``Lhat_I += l_I / p_t(I)``, the mean of the arm, then the next round's distribution."""
    state.cumulative_losses[ticket.arm] += losses[0] / ticket.divisor
    state.totals[ticket.arm] += losses[0]
    state.played[ticket.arm] += 1.0
    state.clock[ROUND] += 1.0
    resolve(state)


@lean_jit
def resolve(state: State) -> None:
    """``p = (1 - sum eps) q + eps``; uniform on the arms never played while there are some."""
    p, n, t = state.distribution, state.distribution.size, state.clock[ROUND]
    waiting = 0
    for i in range(n):
        waiting += state.played[i] == 0.0
    if waiting > 0:
        for i in range(n):
            p[i] = 1.0 / waiting if state.played[i] == 0.0 else 0.0
        return
    estimate_gaps(state.totals, state.played, t, state.gaps)
    rate = 0.5 * math.sqrt(math.log(n) / (t * n))
    exponential_weights(state.cumulative_losses, rate, p)
    explored = 0.0
    for i in range(n):
        explored += exploration_of(state.gaps[i], state.exploration, t, n)
    for i in range(n):
        p[i] = (1.0 - explored) * p[i] + exploration_of(state.gaps[i], state.exploration, t, n)


@lean_jit
def estimate_gaps(totals: NDArray[np.float64], played: NDArray[np.float64], t: float, out: NDArray[np.float64]) -> None:
    """``gap_i = max{0, LCB_i - min_j UCB_j}``, with both bounds kept in [0, 1]."""
    width = 0.5 * (CONFIDENCE * math.log(t) + math.log(totals.size))
    lowest = 1.0
    for i in range(totals.size):
        lowest = min(lowest, totals[i] / played[i] + math.sqrt(width / played[i]))
    for i in range(totals.size):
        out[i] = max(0.0, max(0.0, totals[i] / played[i] - math.sqrt(width / played[i])) - lowest)


@lean_jit
def exploration_of(gap: float, exploration: float, t: float, n_arms: int) -> float:
    """``eps = min{1 / (2N), sqrt(log(N) / (t N)) / 2, b log(t) / (t gap²)}``."""
    cap = min(0.5 / n_arms, 0.5 * math.sqrt(math.log(n_arms) / (t * n_arms)))
    return min(cap, exploration * math.log(t) / (t * gap * gap)) if gap > 0.0 else cap


register_kernels(State, draw, update, resolve)

RECIPES = (
    LearnerRecipe(
        "exp3-plus-plus",
        Exp3PlusPlus,
        "4 sqrt(N T log N); sum_i log(T)²/Delta_i where stochastic [Seldin and Lugosi 2017]",
        "exp3-plus-plus:exploration=1",
        {"exploration": "number"},
        kind=Exp3PlusPlus,
        world="any",
        source='Seldin and Lugosi, "An improved parametrization and analysis of the EXP3++ algorithm", COLT 2017',
        rendering="as printed",
    ),
)
