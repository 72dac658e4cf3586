"""Exponential weights that see by the graph: Exp3-IX, and Exp3-SET as its limit.

The idea. Draw an arm with probability falling exponentially in its estimated loss. Whoever draws an arm sees its
neighbours; so arm ``i`` is seen with probability ``P_t(i)``, the mass of its neighbourhood, and its loss is divided
by it. Implicit exploration adds a little to the divisor: a small bias, and estimates that cannot explode:

    p_t ∝ exp(-eta_t Lhat_{t-1}),        Lhat_i += l_i / (P_t(i) + gamma_t)   for every arm i that is seen,
    eta_t = gamma_t = sqrt(log N / (N + Q_1 + ... + Q_{t-1})),   Q_t = sum_i p_t(i) / (P_t(i) + gamma_t).

``Q_t`` is at most about the independence number ``alpha``, so the regret is about ``sqrt(alpha T)`` up to logarithms,
against any losses, and nothing must be told (Kocák, Neu, Valko and Munos, "Efficient learning by implicit
exploration in bandit problems with side observations", NeurIPS 2014). Rule and rate are
written from memory and were not compared with the print. The printed rule of the sequel on noisy observations (Kocák,
Neu and Valko, AISTATS 2016) has the same form of estimate and of rate, with other constants.

``implicit=False`` leaves ``gamma_t = 0`` everywhere. That is Exp3-SET (Alon, Cesa-Bianchi, Gentile and Mansour, "From
bandits to experts", NeurIPS 2013), whose authors tune one rate ``sqrt(2 log N / (alpha T))`` for the whole run; the
adaptive rate of the same form as above is ours, and their constant is not claimed for it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.foundation.checks import flag
from allworlds.kernels.jit import lean_jit
from allworlds.learners.dispatch import register_kernels
from allworlds.learners.dividing import (
    DividingLearner,
    DrawnSpread,
    EstimateState,
    SpreadTicket,
    learn_divided,
    neighbourhood_masses,
    pick_seen,
    spread_of,
)
from allworlds.learners.recipe import LearnerRecipe
from allworlds.learners.sampling import exponential_weights

ROUND, SPENT, SPREAD, BONUS = 0, 1, 2, 3
"""Places in ``State.clock``: round, the sum of the past ``Q``, the coming round's ``Q`` and ``gamma``."""


class Rates(NamedTuple):
    """The scalars of the learner, for kernels."""

    log_arms: float
    implicit: float
    """1 where the bonus is added to the divisor, 0 where not."""


class State(EstimateState):
    """What the next round needs; all but losses, round and the sum of past ``Q`` follows from these."""

    __slots__ = ()


@dataclass(frozen=True)
class Exp3IX(DividingLearner[State, SpreadTicket]):
    """Exp3-IX on a feedback graph, or Exp3-SET with ``implicit=False``.

    >>> from allworlds.graphs import star
    >>> learner = Exp3IX(star(4))
    >>> state = learner.init()
    >>> ticket = learner.draw(state, 0.3, 0.0)
    >>> ticket.arm, learner.observes(ticket.arm)
    (1, array([0, 1]))
    >>> learner.update(state, ticket, np.array([1.0, 0.0]))
    >>> learner.distribution(state).argmin()
    np.int64(0)
    """

    name: ClassVar[str] = "exp3-ix"
    redrawn: ClassVar[bool] = True
    movable: ClassVar[bool] = True
    accepts: ClassVar[frozenset[str]] = frozenset({"directed", "changing", "uninformed"})
    ticket_class: ClassVar[type] = SpreadTicket
    drawn_class: ClassVar[type] = DrawnSpread
    state_class: ClassVar[type] = State
    saved: ClassVar[tuple[str, ...]] = ("cumulative_losses", "clock")

    implicit: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        flag("implicit", self.implicit)

    @property
    def title(self) -> str:
        """The registry name of either kind."""
        return self.name if self.implicit else "exp3-set"

    def init(self) -> State:
        """No losses, round one."""
        state = self.new_state([1.0, 0.0, 0.0, 0.0], Rates(math.log(self.n_arms), float(self.implicit)))
        resolve(state)
        return state

    def ticket_from(self, state: State, arm: int, distribution: NDArray[np.float64]) -> SpreadTicket:
        """The ticket with ``P(i) + gamma_t`` and ``Q`` under ``distribution``; sleeping arms add nothing to ``Q``."""
        bonus = float(state.rates.implicit * state.clock[BONUS])
        observed = np.empty(state.observers.starts.size - 1)
        neighbourhood_masses(state.observers.starts, state.observers.order, distribution, observed)
        spread = spread_of(distribution, observed, state.observers.where, bonus)
        divisors = self.chances_under(distribution, arm) + bonus
        return SpreadTicket(arm, float(distribution[arm]), divisors, float(spread), self.round(state))


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def draw(state: State, first: float, second: float) -> DrawnSpread:
    """Draw ``I_t`` from ``p_t``; note ``P_t(i) + gamma_t`` of what it shows."""
    return draw_spread(state, first, state.rates.implicit * state.clock[BONUS])


@lean_jit
def draw_spread(state: Any, first: float, bonus: float) -> DrawnSpread:
    """Draw ``I_t``, note ``P_t(i) + bonus`` of what it shows, and hand on ``Q_t``."""
    arm = pick_seen(state, first, bonus)
    return DrawnSpread(arm, float(state.distribution[arm]), float(state.clock[SPREAD]), int(state.clock[ROUND]))


@lean_jit
def update(state: State, ticket: DrawnSpread, losses: NDArray[np.float64]) -> None:
    """``Lhat_i += l_i / (P_t(i) + gamma_t)`` on the arms that are seen, then the next round's distribution."""
    learn_spread(state, ticket, losses)
    resolve(state)


@lean_jit
def learn_spread(state: Any, ticket: DrawnSpread, losses: NDArray[np.float64]) -> None:
    """Add the estimates to ``Lhat`` and the ticket's ``Q`` to those of the past."""
    learn_divided(state, ticket, losses)
    state.clock[SPENT] += ticket.spread


@lean_jit
def resolve(state: State) -> None:
    """The coming round's ``p``, ``P``, ``gamma`` and ``Q``."""
    rate = math.sqrt(state.rates.log_arms / (state.distribution.size + state.clock[SPENT]))
    exponential_weights(state.cumulative_losses, rate, state.distribution)
    state.clock[BONUS] = rate
    regraph(state)


@lean_jit
def regraph(state: State) -> None:
    """The ``P`` and ``Q`` of the distribution on the round's graph."""
    observers, bonus = state.observers, state.rates.implicit * state.clock[BONUS]
    neighbourhood_masses(observers.starts, observers.order, state.distribution, state.observed)
    state.clock[SPREAD] = spread_of(state.distribution, state.observed, observers.where, bonus)


register_kernels(State, draw, update, resolve, graph_kernel=regraph)

RECIPES = (
    LearnerRecipe(
        "exp3-ix",
        Exp3IX,
        "sqrt(alpha T) polylog [Kocák et al. 2014]",
        "exp3-ix",
        kind=Exp3IX,
        world="adversarial",
        source='Kocák, Neu, Valko and Munos, "Efficient learning by implicit exploration", NeurIPS 2014',
        rendering="from memory",
    ),
    LearnerRecipe(
        "exp3-set",
        partial(Exp3IX, implicit=False),
        "sqrt(2 alpha T log N) on undirected graphs with a rate tuned for T [Alon et al. 2013]; none claimed for ours",
        "exp3-set",
        kind=Exp3IX,
        world="adversarial",
        source='Alon, Cesa-Bianchi, Gentile and Mansour, "From bandits to experts", NeurIPS 2013',
        rendering="from memory",
    ),
)
