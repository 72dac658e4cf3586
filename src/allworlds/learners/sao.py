"""SAO: assume that the world is friendly, check it in every round, and switch to Exp3.P for good if it is not.

The idea. As long as losses look stochastic, drop arms that are clearly worse. But go on playing a dropped arm now and
then, and compare two estimates of every mean: if they disagree, or if an arm turns out not to have deserved its fate,
the losses are not stochastic, and the safe learner Exp3.P takes over. With rewards ``g = 1 - l``, after round ``t``:

    H_i = sum of g_i / p_i over its plays, divided by t;     M_i = its mean reward over T_i plays;   L = 4 log T,
    r(s) = sqrt(4 N L / s + 5 (N L / s)²);       A the active arms;  arm i was dropped after round tau_i with q_i = p_i;
    drop i from A                 if max_A H - H_i > 6 r(t);
    p_i = q_i tau_i / t for dropped arms, the rest shared equally by A;
    switch to Exp3.P              if |H_i - M_i| > sqrt(2 L / T_i) + sqrt(4 (N s_i / t² + (t - s_i) / (q_i tau_i t)) L
                                     + 5 (N L / s_i)²),   s_i = min{tau_i, t},
                                  or, for a dropped i, max_A H - H_i > 10 r(tau_i - 1),
                                  or, for a dropped i, max_A H - H_i <= 2 r(tau_i).

The regret is of order ``N log(N) log(T)² / Delta`` where losses are stochastic and ``log(N) log(T)^(3/2) sqrt(N T)``
against any others (Bubeck and Slivkins, "The best of both worlds: stochastic and adversarial bandits", COLT 2012:
their rule with ``beta = T^4``). Exp3.P has the parameters of Bubeck and Cesa-Bianchi 2012, Theorem 3.3, for the
horizon and ``delta = 1/T``. The graph is ignored beyond the chosen arm. The constants are huge: with ten arms and ``T
= 100,000`` only an arm that is worse by 0.8 is dropped, at the end. ``scale`` multiplies ``L``; below 1 nothing is
proved.
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
from allworlds.learners.sampling import draw_arm, exponential_weights

ROUND, HOSTILE = 0, 1
"""Places in ``State.clock``."""


class Rates(NamedTuple):
    """The scalars of the learner, for kernels."""

    log: float
    """``L``."""
    rate: float
    """``eta`` of Exp3.P."""
    share: float
    """``gamma`` of Exp3.P: the share of uniform play."""
    bias: float
    """``beta`` of Exp3.P: what is added to every gain before it is divided."""


class State(NamedTuple):
    """What the next round needs; the distribution follows from it."""

    estimates: NDArray[np.float64]
    """(N,) ``t H_i``."""
    totals: NDArray[np.float64]
    """(N,) ``T_i M_i``."""
    played: NDArray[np.float64]
    """(N,) ``T_i``."""
    dropped_at: NDArray[np.float64]
    """(N,) ``tau_i``, 0 for an active arm."""
    dropped_with: NDArray[np.float64]
    """(N,) ``q_i``, 0 for an active arm."""
    regrets: NDArray[np.float64]
    """(N,) minus the gains of Exp3.P."""
    distribution: NDArray[np.float64]
    """(N,) ``p`` of the coming round."""
    clock: NDArray[np.float64]
    """(2,) round, and 1 after the switch."""
    visibility: Visibility
    rates: Rates


@dataclass(frozen=True)
class SAO(Learner[State, Ticket]):
    """Stochastic and adversarial optimal; ``scale`` narrows the confidence intervals.

    >>> from allworlds.graphs import bandit
    >>> learner = SAO(bandit(2), horizon=1000, scale=0.01)
    >>> state = learner.init()
    >>> for t in range(200):
    ...     ticket = learner.draw(state, 0.99 if t % 2 else 0.0, 0.0)
    ...     learner.update(state, ticket, np.array([float(ticket.arm)]))
    >>> learner.active(state), learner.hostile(state), learner.distribution(state).round(2)
    (array([0]), False, array([0.8, 0.2]))
    """

    name: ClassVar[str] = "sao"
    shows: ClassVar[Shows] = "itself"
    accepts: ClassVar[frozenset[str]] = frozenset({"directed", "changing", "uninformed"})
    positive: ClassVar[tuple[str, ...]] = ("scale",)
    saved: ClassVar[tuple[str, ...]] = (
        "estimates",
        "totals",
        "played",
        "dropped_at",
        "dropped_with",
        "regrets",
        "clock",
    )

    horizon: int
    scale: float = 1.0

    def init(self) -> State:
        """All arms are active."""
        n, horizon = self.n_arms, max(2, self.horizon)
        rates = Rates(
            log=self.scale * 4.0 * math.log(horizon),
            rate=0.95 * math.sqrt(math.log(n) / (n * horizon)),
            share=min(1.0, 1.05 * math.sqrt(n * math.log(n) / horizon)),
            bias=math.sqrt(math.log(n * horizon) / (n * horizon)),
        )
        state = State(
            estimates=np.zeros(n),
            totals=np.zeros(n),
            played=np.zeros(n),
            dropped_at=np.zeros(n),
            dropped_with=np.zeros(n),
            regrets=np.zeros(n),
            distribution=np.empty(n),
            clock=np.array([1.0, 0.0]),
            visibility=self.visibility,
            rates=rates,
        )
        resolve(state)
        return state

    def active(self, state: State) -> NDArray[np.int64]:
        """The arms that have not been dropped, sorted."""
        return np.flatnonzero(state.dropped_at == 0.0)

    def hostile(self, state: State) -> bool:
        """Whether Exp3.P has taken over."""
        return bool(state.clock[HOSTILE])


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def update(state: State, ticket: Ticket, losses: NDArray[np.float64]) -> None:
    """Learn the gain of the arm, in the estimates or in Exp3.P; then the tests and the next round's distribution."""
    gain = 1.0 - losses[0]
    if state.clock[HOSTILE] == 0.0:
        state.estimates[ticket.arm] += gain / ticket.probability
        state.totals[ticket.arm] += gain
        state.played[ticket.arm] += 1.0
        drop_and_test(state, state.clock[ROUND])
    else:  # Exp3.P: (g_i 1{I = i} + beta) / p_i
        state.regrets[ticket.arm] -= gain / ticket.probability
        for i in range(state.regrets.size):
            state.regrets[i] -= state.rates.bias / state.distribution[i]
    state.clock[ROUND] += 1.0
    resolve(state)


@lean_jit
def drop_and_test(state: State, t: float) -> None:
    """Drop what is clearly worse after round ``t``; note it if the world cannot be stochastic."""
    estimates, dropped_at, log = state.estimates, state.dropped_at, state.rates.log
    n, best = estimates.size, -math.inf
    for i in range(n):
        if dropped_at[i] == 0.0:
            best = max(best, estimates[i] / t)
    for i in range(n):
        if dropped_at[i] == 0.0 and best - estimates[i] / t > 6.0 * radius(n * log, t):
            dropped_at[i] = t
            state.dropped_with[i] = state.distribution[i]
    for i in range(n):
        behind = best - estimates[i] / t
        if dropped_at[i] > 0.0 and (
            behind > 10.0 * radius(n * log, dropped_at[i] - 1.0) or behind <= 2.0 * radius(n * log, dropped_at[i])
        ):
            state.clock[HOSTILE] = 1.0
        if state.played[i] > 0.0:
            apart = abs(estimates[i] / t - state.totals[i] / state.played[i])
            if apart > allowed(n, t, dropped_at[i], state.dropped_with[i], state.played[i], log):
                state.clock[HOSTILE] = 1.0


@lean_jit
def radius(width: float, rounds: float) -> float:
    """``r(s) = sqrt(4 x + 5 x²)`` with ``x = N L / s``; infinite before the first round."""
    if rounds <= 0.0:
        return math.inf
    x = width / rounds
    return math.sqrt(4.0 * x + 5.0 * x * x)


@lean_jit
def allowed(n_arms: int, t: float, dropped_at: float, dropped_with: float, played: float, log: float) -> float:
    """How far ``H_i`` and ``M_i`` may be apart where losses are stochastic."""
    until = min(dropped_at, t) if dropped_at > 0.0 else t
    spread = n_arms * until / (t * t)
    if t > until:
        spread += (t - until) / (dropped_with * dropped_at * t)
    x = n_arms * log / until
    return math.sqrt(2.0 * log / played) + math.sqrt(4.0 * spread * log + 5.0 * x * x)


@lean_jit
def resolve(state: State) -> None:
    """``q_i tau_i / t`` on the dropped arms, the rest shared by the active ones; after the switch, Exp3.P."""
    p, rates, t = state.distribution, state.rates, state.clock[ROUND]
    if state.clock[HOSTILE] == 1.0:
        exponential_weights(state.regrets, rates.rate, p)
        for i in range(p.size):
            p[i] = (1.0 - rates.share) * p[i] + rates.share / p.size
        return
    rest, n_active = 1.0, 0
    for i in range(p.size):
        if state.dropped_at[i] > 0.0:
            p[i] = state.dropped_with[i] * state.dropped_at[i] / t
            rest -= p[i]
        else:
            n_active += 1
    for i in range(p.size):
        if state.dropped_at[i] == 0.0:
            p[i] = rest / n_active


register_kernels(State, draw_arm, update, resolve)

RECIPES = (
    LearnerRecipe(
        "sao",
        SAO,
        "log N log(T)^1.5 sqrt(NT); N log N log(T)²/Delta where stochastic [Bubeck and Slivkins 2012]",
        "sao:scale=0.01",
        {"scale": "number"},
        kind=SAO,
        world="any",
        told="horizon",
        horizon="needed",
        source='Bubeck and Slivkins, "The best of both worlds: stochastic and adversarial bandits", COLT 2012',
        rendering="as printed",
    ),
)
