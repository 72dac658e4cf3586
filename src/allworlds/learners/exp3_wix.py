"""Exp3-WIX: exponential weights where what is seen beside one's own loss is noisy.

The idea. Whoever plays arm ``j`` receives of arm ``i`` not its loss but ``c_i = s l_i + (1 - s) xi``: the larger the
weight ``s = s(j, i)``, the less of it is noise ``xi``, of mean zero and at most ``R``. An observation counts by its
weight, and is divided by the squared weights that were to be expected; a little is added to the divisor, as in Exp3-IX:

    p_t ∝ exp(-eta_t Lhat_{t-1}),       Lhat_i += s(I_t, i) c_i / (P_t(i) + gamma_t),   P_t(i) = sum_j p_t(j) s(j, i)^2,
    eta_t = sqrt(log N / (2 (1 + R + R^2) (N + Q_1 + ... + Q_{t-1}))),      gamma_t = R eta_t,
    Q_t = sum_i p_t(i) / (P_t(i) + gamma_t).

So observations with small weight, which would only add variance, are not thrown away, and no threshold must be chosen.
The regret is at most about ``(1 + R) sqrt((N + alpha_*) T)`` up to logarithms, if every arm shows itself with weight 1;
``alpha_*`` is the least over ``e`` of ``alpha(e) / e^2``, with ``alpha(e)`` the independence number of the graph of
weights of at least ``e`` (Kocák, Neu and Valko, "Online learning with noisy side observations", AISTATS 2016).

With weights 0 and 1 this is Exp3-IX with other constants. ``R`` is a bound, so any number from the true one up will do;
where there is no noise at all we take ``R = 1``, since ``gamma_t = 0`` would do badly on directed graphs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.foundation.checks import real
from allworlds.foundation.errors import InvalidParameter
from allworlds.graphs import NoisyGraph
from allworlds.kernels.jit import lean_jit
from allworlds.learners.dispatch import Visibility, register_kernels
from allworlds.learners.dividing import (
    DividingLearner,
    DrawnSpread,
    EstimateState,
    SpreadTicket,
    spread_of,
)
from allworlds.learners.exp3_ix import BONUS, SPENT, SPREAD, draw_spread, learn_spread
from allworlds.learners.recipe import LearnerRecipe
from allworlds.learners.sampling import exponential_weights


class Rates(NamedTuple):
    """What the rule needs beside the state, for kernels."""

    log_arms: float
    scale: float
    """``2 (1 + R + R^2)``."""
    noise: float
    """``R``."""
    weights: NDArray[np.float64]
    """(N, N) ``s``; empty where all weights are 0 and 1."""


class State(EstimateState):
    """What the next round needs; all but losses, round and the sum of past ``Q`` follows from these."""

    __slots__ = ()


@dataclass(frozen=True)
class Exp3WIX(DividingLearner[State, SpreadTicket]):
    """Exp3-WIX on a noisy graph, or on any other whose arms see themselves.

    ``noise`` is the bound ``R`` on the noise; by default that of the graph, or 1 where there is none. ``scale`` is the
    constant of the rate, by default ``2 (1 + R + R^2)``.

    >>> from allworlds.graphs import noisy
    >>> learner = Exp3WIX(noisy([[1.0, 0.5], [0.0, 1.0]], noise=0.5))
    >>> state = learner.init()
    >>> ticket = learner.draw(state, 0.3, 0.0)
    >>> ticket.arm, learner.observes(ticket.arm)
    (0, array([0, 1]))
    >>> learner.update(state, ticket, np.array([1.0, 0.1]))
    >>> learner.distribution(state).argmin()
    np.int64(0)
    """

    name: ClassVar[str] = "exp3-wix"
    accepts: ClassVar[frozenset[str]] = frozenset({"directed", "changing", "uninformed", "noisy"})
    ticket_class: ClassVar[type] = SpreadTicket
    drawn_class: ClassVar[type] = DrawnSpread
    state_class: ClassVar[type] = State
    saved: ClassVar[tuple[str, ...]] = ("cumulative_losses", "clock")

    noise: float | None = None
    scale: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.noise is not None:
            real("noise", self.noise, at_least=0)
        if self.scale is not None:
            real("scale", self.scale, above=0)
        true = self.graph.noise if "noisy" in self.graph.demands() and isinstance(self.graph, NoisyGraph) else 0.0
        if self.noise is not None and self.noise < true:
            raise InvalidParameter(f"noise is {self.noise:g}; expected at least {true:g}, the noise of the graph")

    @property
    def noise_bound(self) -> float:
        """``R``."""
        if self.noise is not None:
            return float(self.noise)
        return (self.graph.noise if isinstance(self.graph, NoisyGraph) else 0.0) or 1.0

    def init(self) -> State:
        """No losses, round one."""
        bound = self.noise_bound
        scale = 2.0 * (1.0 + bound + bound**2) if self.scale is None else float(self.scale)
        weights = self.graph.weights.copy() if isinstance(self.graph, NoisyGraph) else np.zeros((0, 0))
        state = self.new_state([1.0, 0.0, 0.0, 0.0], Rates(math.log(self.n_arms), scale, bound, weights))
        resolve(state)
        return state


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def draw(state: State, first: float, second: float) -> DrawnSpread:
    """Draw ``I_t`` from ``p_t``; note ``(P_t(i) + gamma_t) / s(I_t, i)`` of what it shows."""
    drawn = draw_spread(state, first, state.clock[BONUS])
    visibility, weights = state.visibility, state.rates.weights
    if weights.size > 0:
        start = visibility.starts[visibility.where[drawn.arm]]
        for j in range(visibility.starts[visibility.where[drawn.arm] + 1] - start):
            state.divisors[j] /= weights[drawn.arm, visibility.order[start + j]]
    return drawn


@lean_jit
def update(state: State, ticket: DrawnSpread, losses: NDArray[np.float64]) -> None:
    """``Lhat_i += s(I_t, i) c_i / (P_t(i) + gamma_t)`` on the arms that are seen, then the next distribution."""
    learn_spread(state, ticket, losses)
    resolve(state)


@lean_jit
def resolve(state: State) -> None:
    """The coming round's ``p``, ``gamma``, ``P`` and ``Q``."""
    rates = state.rates
    rate = math.sqrt(rates.log_arms / (rates.scale * (state.distribution.size + state.clock[SPENT])))
    exponential_weights(state.cumulative_losses, rate, state.distribution)
    state.clock[BONUS] = rates.noise * rate
    regraph(state)


@lean_jit
def regraph(state: State) -> None:
    """The ``P`` and ``Q`` of the distribution on the round's graph."""
    squared_masses(state.observers, state.rates.weights, state.distribution, state.observed)
    state.clock[SPREAD] = spread_of(state.distribution, state.observed, state.observers.where, state.clock[BONUS])


@lean_jit
def squared_masses(
    observers: Visibility, weights: NDArray[np.float64], p: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """``P(i) = sum_j p_j s(j, i)^2`` over those who show ``i``; each arm has its own list where there are weights."""
    for i in range(out.size):
        mass = 0.0
        for k in range(observers.starts[i], observers.starts[i + 1]):
            j = observers.order[k]
            mass += p[j] * weights[j, i] ** 2 if weights.size > 0 else p[j]
        out[i] = mass


register_kernels(State, draw, update, resolve, graph_kernel=regraph)

RECIPES = (
    LearnerRecipe(
        "exp3-wix",
        Exp3WIX,
        "(1 + R) sqrt((N + alpha_*) T) polylog, alpha_* = min alpha(e) / e^2, self-weights 1 [Kocák et al. 2016]",
        "exp3-wix:noise=0.5",
        {"noise": "number", "scale": "number"},
        kind=Exp3WIX,
        world="adversarial",
        told="a bound on the noise",
        source='Kocák, Neu and Valko, "Online learning with noisy side observations", AISTATS 2016',
        rendering="as printed",
    ),
)
