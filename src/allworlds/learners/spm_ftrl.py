"""SPM-FTRL: Tsallis entropy on a feedback graph, at a rate that matches stability and penalty.

The idea. Follow the regularised leader with the Tsallis entropy of an index ``a`` between the bandit's 1/2 and the 1
of full information, chosen by how much the graph shows. Divide every loss seen by the mass ``P_t(i)`` of the arms
that show it. The regret is a sum of penalties ``(beta_{t+1} - beta_t) h_t`` and of stability terms ``z_t / beta_t``;
grow ``beta`` so that the two are equal in every round:

    p_t = argmin  Lhat·p + beta_t psi_a(p) + betabar psi_{1-a}(p),      psi_a(p) = -(1/a) sum_i (p_i^a - p_i),
    Lhat_i += l_i / P_t(i)   for every arm i that is seen,              P_t(i) = sum of p_t over the neighbourhood of i,
    beta_{t+1} = beta_t + z_t / (beta_t h_t),                           h_t = -psi_a(p_t),
    z_t = 1/(1 - a) sum_i min{p_t(i), p*}^(2 - a) / P_t(i),             p* = min{max p_t, 1 - max p_t},
    beta_1 = 4 N / (1 - a),      betabar = 0 if a <= 1/2, else 32 N / ((1 - a)^2 beta_1).

The index minimises ``alpha (N / alpha)^(1 - a) / (a (1 - a))``, ``alpha`` the independence number. Then the regret is
of order ``sqrt(alpha log(N / alpha) T)`` against any losses and ``alpha log(N / alpha) log(T) / Delta_min`` in
stochastic worlds, and grows with the root of corruption; nothing but the graph must be told (Ito, Tsuchiya and Honda,
"Adaptive learning rate for follow-the-regularized-leader: competitive analysis and best-of-both-worlds", COLT 2024,
Algorithm 1). On single arms it is close to Tsallis-INF. Index, ``beta1`` and ``betabar`` may be given; the bounds are
proved for those printed above, which explore for the first tens of thousands of rounds, the second entropy most of all:
``beta1=5, betabar=0`` is many times better where arms see much, without a bound. Given a smaller ``beta1``, the
default ``betabar`` does not rise above that of the printed one: that is ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.covers import independence_number
from allworlds.foundation.checks import real
from allworlds.foundation.errors import InvalidParameter
from allworlds.graphs import FeedbackGraph
from allworlds.kernels.jit import lean_jit
from allworlds.learners.dispatch import register_kernels
from allworlds.learners.dividing import (
    DividingLearner,
    DrawnSpread,
    EstimateState,
    SpreadTicket,
    learn_divided,
    pick_seen,
    write_observed,
)
from allworlds.learners.recipe import LearnerRecipe
from allworlds.learners.separable import Regulariser, best_index, separable_step

ROUND, BETA, DISTANCE, GROWTH = 0, 1, 2, 3
"""Places in ``State.clock``: round, ``beta_t``, the solution of the last step, the coming round's ``z_t / h_t``."""


class Rates(NamedTuple):
    """The scalars of the learner, for kernels."""

    tsallis_index: float
    second: float
    """``betabar``."""


class State(EstimateState):
    """What the next round needs; the distribution is already that of the coming round."""

    __slots__ = ()


@dataclass(frozen=True, init=False)
class SPMFTRL(DividingLearner[State, SpreadTicket]):
    """SPM-FTRL on an undirected graph.

    ``index`` is ``a``; the default is the best one for ``independence``, the independence number of the graph or a
    bound above it, which is computed unless it is given. ``beta1`` is the first ``beta``; the default is that of the
    paper.

    >>> from allworlds.graphs import disjoint_cliques
    >>> learner = SPMFTRL(disjoint_cliques(2, 3))
    >>> round(learner.index, 3), round(learner.beta1, 1)
    (0.628, 64.6)
    >>> state = learner.init()
    >>> ticket = learner.draw(state, 0.3, 0.0)
    >>> ticket.arm, ticket.divisors
    (1, array([0.5, 0.5, 0.5]))
    >>> learner.update(state, ticket, np.array([1.0, 0.0, 1.0]))
    >>> learner.distribution(state).argmax()
    np.int64(1)
    """

    name: ClassVar[str] = "spm-ftrl"
    ticket_class: ClassVar[type] = SpreadTicket
    drawn_class: ClassVar[type] = DrawnSpread
    state_class: ClassVar[type] = State
    saved: ClassVar[tuple[str, ...]] = ("cumulative_losses", "distribution", "clock")

    index: float
    beta1: float
    independence: float | None
    """None where the index was given without it."""
    betabar: float

    def __init__(
        self,
        graph: FeedbackGraph,
        index: float | None = None,
        beta1: float | None = None,
        independence: float | None = None,
        betabar: float | None = None,
    ) -> None:
        super().__init__(graph)
        if independence is None and index is None:
            independence = independence_number(graph).upper
        if independence is not None:
            independence = real("independence", independence, at_least=1)
        if index is None and independence is not None:
            index = best_index(self.n_arms, independence)
        index = real("index", index, above=0)
        if index >= 1.0:
            raise InvalidParameter(f"index is {index}; expected a number above 0 and below 1")
        beta1 = 4.0 * self.n_arms / (1.0 - index) if beta1 is None else real("beta1", beta1, above=0)
        if betabar is None:
            least = max(beta1, 4.0 * self.n_arms / (1.0 - index))
            betabar = 0.0 if index <= 0.5 else 32.0 * self.n_arms / ((1.0 - index) ** 2 * least)
        object.__setattr__(self, "index", index)
        object.__setattr__(self, "beta1", beta1)
        object.__setattr__(self, "independence", independence)
        object.__setattr__(self, "betabar", real("betabar", betabar, at_least=0))

    def init(self) -> State:
        """No losses, round one."""
        state = self.new_state([1.0, self.beta1, 1.0, 0.0], Rates(self.index, self.betabar))
        step(state)
        return state


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def draw(state: State, first: float, second: float) -> DrawnSpread:
    """Draw ``I_t`` from ``p_t``; note ``P_t(i)`` of what it shows, and ``z_t / h_t``."""
    arm = pick_seen(state, first, 0.0)
    return DrawnSpread(arm, float(state.distribution[arm]), float(state.clock[GROWTH]), int(state.clock[ROUND]))


@lean_jit
def update(state: State, ticket: DrawnSpread, losses: NDArray[np.float64]) -> None:
    """``Lhat_i += l_i / P_t(i)`` on the arms that are seen, ``beta += z_t / (beta h_t)``, then the next step."""
    learn_divided(state, ticket, losses)
    state.clock[BETA] += ticket.spread / state.clock[BETA]
    step(state)


@lean_jit
def step(state: State) -> None:
    """The coming round's ``p``, starting from the last round's, then its ``P``, ``z`` and ``h``."""
    index, clock = state.rates.tsallis_index, state.clock
    entropies = Regulariser(clock[BETA], 1.0 - index, state.rates.second, index, 0.0)
    clock[DISTANCE] = separable_step(state.cumulative_losses, entropies, 1.0, clock[DISTANCE], state.distribution)
    resolve(state)


@lean_jit
def resolve(state: State) -> None:
    """What follows from the distribution: ``P_t`` and ``z_t / h_t``."""
    write_observed(state)
    p = state.distribution
    penalty = penalty_of(p, state.rates.tsallis_index)
    stability = stability_of(p, state.observed, state.observers.where, state.rates.tsallis_index)
    state.clock[GROWTH] = stability / penalty if penalty > 0.0 else 0.0


@lean_jit
def penalty_of(p: NDArray[np.float64], index: float) -> float:
    """``h = (1/a) sum_i (p_i^a - p_i)``, the likeliest arm's part from ``1 - p`` so that it keeps its digits."""
    top = 0
    for i in range(1, p.size):
        if p[i] > p[top]:
            top = i
    total, rest = 0.0, 0.0
    for i in range(p.size):
        if i != top and p[i] > 0.0:
            total += math.pow(p[i], index) - p[i]
            rest += p[i]
    return (total + math.expm1(index * math.log1p(-rest)) + rest) / index if rest < 1.0 else 0.0


@lean_jit
def stability_of(
    p: NDArray[np.float64], observed: NDArray[np.float64], where: NDArray[np.int64], index: float
) -> float:
    """``z = 1/(1 - a) sum_i min{p_i, p*}^(2 - a) / P(i)``; an arm too rare for a double adds nothing."""
    top = 0
    for i in range(1, p.size):
        if p[i] > p[top]:
            top = i
    rest = 0.0
    for i in range(p.size):
        if i != top:
            rest += p[i]
    most, total = min(p[top], rest), 0.0
    for i in range(p.size):
        if p[i] > 0.0:
            total += math.pow(min(p[i], most), 2.0 - index) / observed[where[i]]
    return total / (1.0 - index)


register_kernels(State, draw, update, resolve)

RECIPES = (
    LearnerRecipe(
        "spm-ftrl",
        SPMFTRL,
        "sqrt(alpha log(N/alpha) T), and alpha log(N/alpha) log T / Delta_min where stochastic; sqrt(C) "
        "[Ito, Tsuchiya and Honda 2024]",
        "spm-ftrl:beta1=5,betabar=0",
        {"index": "number", "beta1": "number", "independence": "number", "betabar": "number"},
        kind=SPMFTRL,
        world="any",
        source='Ito, Tsuchiya and Honda, "Adaptive learning rate for follow-the-regularized-leader", COLT 2024',
        rendering="as printed",
    ),
)
