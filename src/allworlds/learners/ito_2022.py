"""Exponential weights whose rate follows their own entropy, on general graphs; our reconstruction of Ito et al. 2022.

The idea. Follow the leader with Shannon entropy at the rate ``1 / beta_t``, and give a share ``gamma_t`` of every draw
to a fixed exploration ``u``. What a round costs is about the entropy of the weights. So let ``beta`` grow fast once
they have settled, as where losses are stochastic, and like ``sqrt(t)`` as long as they have not:

    q_t ∝ exp(-Lhat / beta_t),        p_t = (1 - gamma_t) q_t + gamma_t u,        H_t = -sum_i q_t(i) log q_t(i),
    Lhat_i += l_i / P_t(i)   for every arm i that is seen,        P_t(i) = sum of p_t over the arms that show i.

Where all arms are strongly observable, with ``alpha`` the independence number and ``u`` uniform,

    beta'_1 = c,      beta'_(t+1) = beta'_t + c / sqrt(1 + (H_1 + ... + H_t) / log N),      beta_t = max{1, beta'_t},
    gamma_t = 1 / (2 beta_t),        c = scale sqrt(alpha log(T) log(N T) / log N).

Elsewhere exploration costs more than that. With ``b_t = 1 - max q_t`` and ``delta`` the least total rate of plays at
which every arm is seen that is weakly observable or does not see itself, ``u`` in proportion to these plays,

    gamma_t = b_t / r_t + delta / beta_t,       r_t = 4 (1 + (b_1 + ... + b_t)^(1/3) / c1),
    beta_1 = 4 delta,       beta_(t+1) = beta_t + c2 r_t / sqrt(c1 + r_1 H_2 + ... + r_(t-1) H_t),
    c1 = scale (delta log(T) log(N T))^(1/3),       c2 = scale sqrt(delta log T).

Ito, Tsuchiya and Honda, "Nearly optimal best-of-both-worlds algorithms for online learning with feedback graphs",
NeurIPS 2022, prove regret of order ``sqrt(alpha T log(T) log(N T))`` against any losses and
``alpha log(T) log(N T)² / Delta`` where they are stochastic; for weakly observable graphs
``(delta log(T) log(N T))^(1/3) T^(2/3)`` and ``delta log(T) log(N T) / Delta²``, with the weak domination number.

This is our reconstruction, and their bounds are not claimed for it. The recursion of ``beta'`` is known to us from
later papers by the same authors that restate it. The second rule is that of their paper on partial monitoring
(ALT 2023), which is of the same family. The shares ``gamma_t``, the least ``beta``, the constants of ``c``, ``c1`` and
``c2``, and plays by a linear program in place of a dominating set are ours. Without a horizon the round ``t`` stands
for ``T``; ``T`` counts as at least 3, and ``N`` as at least 2. With ``scale=1`` the rate is so low that a gap of 0.4
between six arms is hardly used before some 10,000 rounds; 0.1 does far better in our runs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.covers import independence_number
from allworlds.foundation.checks import real, whole
from allworlds.graphs import FeedbackGraph
from allworlds.kernels.jit import lean_jit
from allworlds.learners.base import Ticket
from allworlds.learners.dispatch import Visibility, register_kernels
from allworlds.learners.dividing import DividedTicket, DividingLearner, draw_seen, learn_divided, neighbourhood_masses
from allworlds.learners.domination import fractional_domination
from allworlds.learners.recipe import LearnerRecipe
from allworlds.learners.sampling import exponential_weights

ROUND, BETA, SPENT, UNSETTLED, LAST = 0, 1, 2, 3, 4
"""Places in ``State.clock``."""


class Rates(NamedTuple):
    """The scalars of the learner, for kernels."""

    number: float
    """``alpha``, or ``delta`` of a weakly observable graph."""
    weak: bool
    scale: float
    horizon: float
    """0 where it is not known."""


class State(NamedTuple):
    """What the next round needs; the distributions follow from losses and clock."""

    cumulative_losses: NDArray[np.float64]
    """(N,) ``Lhat``."""
    weights: NDArray[np.float64]
    """(N,) ``q_t`` of the coming round."""
    distribution: NDArray[np.float64]
    """(N,) ``p_t`` of the coming round."""
    observed: NDArray[np.float64]
    """``P_t`` of the coming round: for each list of the observers, the mass of the arms in it."""
    clock: NDArray[np.float64]
    """(5,) round, ``beta`` (of a strongly observable graph ``beta'``), the sum under its root so far, that of ``b``,
    and the last ``r``."""
    divisors: NDArray[np.float64]
    """``P_t(i)`` of the arms that the last drawn arm shows, in their order; room for the most."""
    exploration: NDArray[np.float64]
    """(N,) ``u``."""
    visibility: Visibility
    observers: Visibility
    """Who shows each arm."""
    rates: Rates


@dataclass(frozen=True, init=False)
class Ito2022(DividingLearner[State, DividedTicket]):
    """Exponential weights with an adaptive rate, anytime unless a horizon is given.

    ``number`` is the independence number of a strongly observable graph, or a bound above it; of a weakly observable
    one it is the fractional domination number. It is computed unless it is given.

    >>> from allworlds.graphs import loopless_clique, revealing_action
    >>> Ito2022(loopless_clique(4)).number, Ito2022(revealing_action(4)).number
    (1.0, 1.0)
    >>> learner = Ito2022(loopless_clique(4))
    >>> state = learner.init()
    >>> ticket = learner.draw(state, 0.0, 0.0)
    >>> ticket.arm, learner.observes(ticket.arm), ticket.divisors
    (0, array([1, 2, 3]), array([0.75, 0.75, 0.75]))
    >>> learner.update(state, ticket, np.array([1.0, 1.0, 0.0]))
    >>> learner.distribution(state).argmin()
    np.int64(1)
    """

    name: ClassVar[str] = "ito-2022"
    accepts: ClassVar[frozenset[str]] = frozenset({"directed", "loopless", "weak"})
    saved: ClassVar[tuple[str, ...]] = ("cumulative_losses", "clock")

    horizon: int | None
    number: float
    scale: float

    def __init__(
        self, graph: FeedbackGraph, horizon: int | None = None, number: float | None = None, scale: float = 1.0
    ) -> None:
        super().__init__(graph)
        if number is None:
            weak = graph.observability == "weak"
            number = max(1.0, self.plays().sum()) if weak else independence_number(graph).upper
        object.__setattr__(self, "horizon", None if horizon is None else whole("horizon", horizon))
        object.__setattr__(self, "number", real("number", float(number), at_least=1))
        object.__setattr__(self, "scale", real("scale", scale, above=0))

    def plays(self) -> NDArray[np.float64]:
        """(N,) rates of plays at which every arm is seen that is weakly observable or does not see itself."""
        graph = self.graph
        blind = np.flatnonzero(~graph.self_loops).tolist() if isinstance(graph, FeedbackGraph) else []
        return fractional_domination(graph, sorted({*graph.observability.arms, *blind}))

    def init(self) -> State:
        """No losses, round one."""
        n, observers = self.n_arms, self.observers
        weak = self.graph.observability == "weak"
        plays = self.plays() if weak else np.ones(n)
        state = State(
            cumulative_losses=np.zeros(n),
            weights=np.empty(n),
            distribution=np.empty(n),
            observed=np.empty(observers.starts.size - 1),
            clock=np.array([1.0, 4.0 * self.number, 0.0, 0.0, 0.0]),
            divisors=self.room_for_divisors(),
            exploration=plays / plays.sum(),
            visibility=self.visibility,
            observers=observers,
            rates=Rates(self.number, weak, self.scale, float(self.horizon or 0)),
        )
        if not weak:
            state.clock[BETA] = strong_constant(state)
        resolve(state)
        return state


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def update(state: State, ticket: Ticket, losses: NDArray[np.float64]) -> None:
    """The next ``beta``, from the entropy of ``q_t``; then ``Lhat_i += l_i / P_t(i)`` on the arms that are seen."""
    if state.rates.weak:
        next_weak_beta(state)
    else:
        next_strong_beta(state)
    learn_divided(state, ticket, losses)
    resolve(state)


@lean_jit
def next_strong_beta(state: State) -> None:
    """``beta'_(t+1) = beta'_t + c / sqrt(1 + (H_1 + ... + H_t) / log N)``."""
    clock = state.clock
    clock[SPENT] += entropy_of(state.weights) / log_arms(state)
    clock[BETA] += strong_constant(state) / math.sqrt(1.0 + clock[SPENT])


@lean_jit
def next_weak_beta(state: State) -> None:
    """``beta_(t+1) = beta_t + c2 r_t / sqrt(c1 + r_1 H_2 + ... + r_(t-1) H_t)``."""
    clock, rates = state.clock, state.rates
    clock[SPENT] += clock[LAST] * entropy_of(state.weights)
    clock[UNSETTLED] += unsettled(state.weights)
    clock[LAST] = weak_ratio(state, clock[UNSETTLED])
    second = rates.scale * math.sqrt(rates.number * math.log(rounds_of(state)))
    clock[BETA] += second * clock[LAST] / math.sqrt(weak_constant(state) + clock[SPENT])


@lean_jit
def resolve(state: State) -> None:
    """The coming round's ``q``, ``p = (1 - gamma) q + gamma u`` and ``P``."""
    p, q, clock, observers = state.distribution, state.weights, state.clock, state.observers
    beta = clock[BETA] if state.rates.weak else max(1.0, clock[BETA])
    exponential_weights(state.cumulative_losses, 1.0 / beta, q)
    share = 0.5 / beta
    if state.rates.weak:
        now = unsettled(q)
        share = now / weak_ratio(state, clock[UNSETTLED] + now) + state.rates.number / beta
    for i in range(p.size):
        p[i] = (1.0 - share) * q[i] + share * state.exploration[i]
    neighbourhood_masses(observers.starts, observers.order, p, state.observed)


@lean_jit
def entropy_of(q: NDArray[np.float64]) -> float:
    """``-sum_i q_i log q_i``."""
    entropy = 0.0
    for i in range(q.size):
        if q[i] > 0.0:
            entropy -= q[i] * math.log(q[i])
    return max(0.0, entropy)


@lean_jit
def unsettled(q: NDArray[np.float64]) -> float:
    """``1 - max q``, as the sum of the others, which keeps its digits."""
    top, total = 0, 0.0
    for i in range(1, q.size):
        if q[i] > q[top]:
            top = i
    for i in range(q.size):
        if i != top:
            total += q[i]
    return total


@lean_jit
def weak_ratio(state: State, total: float) -> float:
    """``r = 4 (1 + B^(1/3) / c1)``, ``B`` the sum of ``b`` so far."""
    return 4.0 * (1.0 + math.pow(total, 1.0 / 3.0) / weak_constant(state))


@lean_jit
def weak_constant(state: State) -> float:
    """``c1 = scale (delta log(T) log(N T))^(1/3)``."""
    log_rounds = math.log(rounds_of(state))
    return state.rates.scale * math.pow(state.rates.number * log_rounds * (log_arms(state) + log_rounds), 1.0 / 3.0)


@lean_jit
def strong_constant(state: State) -> float:
    """``c = scale sqrt(alpha log(T) log(N T) / log N)``."""
    log_rounds, log_n = math.log(rounds_of(state)), log_arms(state)
    return state.rates.scale * math.sqrt(state.rates.number * log_rounds * (log_n + log_rounds) / log_n)


@lean_jit
def rounds_of(state: State) -> float:
    """``T``, or ``t`` without a horizon, and at least 3."""
    return max(3.0, state.rates.horizon if state.rates.horizon > 0.0 else state.clock[ROUND])


@lean_jit
def log_arms(state: State) -> float:
    """``log N``, of two arms at least."""
    return math.log(max(2.0, float(state.weights.size)))


register_kernels(State, draw_seen, update, resolve)

RECIPES = (
    LearnerRecipe(
        "ito-2022",
        Ito2022,
        "none claimed; our reconstruction of [Ito et al. 2022], who prove sqrt(alpha T log(T) log(NT)) and "
        "alpha log(T) log(NT)² / Delta where stochastic, and T^(2/3) on weakly observable graphs",
        "ito-2022:scale=0.5",
        {"number": "number", "scale": "number"},
        kind=Ito2022,
        world="any",
        told="nothing; takes a horizon",
        horizon="taken",
        source='Ito, Tsuchiya and Honda, "Nearly optimal best-of-both-worlds algorithms for online learning with '
        'feedback graphs", NeurIPS 2022',
        rendering="reconstruction",
    ),
)
