"""Hedge: what one could do if every loss were shown.

The idea. Follow the leader, softly: give each arm a probability that falls exponentially in its total loss,

    p_t ∝ exp(-eta_t L_{t-1}),        eta_t = rate sqrt(log(N) / n_t),        L_t = L_{t-1} + l_t.

It takes the losses of *all* arms, whatever the graph shows, so it is a line beside the learners and not a rival. The
schedule says what ``n_t`` is, or how the rate follows the losses:

- ``decreasing``, the default: the round ``t``. The weights are computed afresh from the totals in every round (follow
  the regularised leader): multiplying old weights is a different algorithm once the rate changes, and a worse one in
  stochastic worlds. A rate of 1, and the bound ``log(N)/Delta`` with an additive price for corruption, are those of
  Amir, Attias, Koren, Mansour and Livni, "Prediction with corrupted expert advice", NeurIPS 2020;
  ``1.25 sqrt(T log N)`` against any losses is classical. Mourtada and Gaïffas, "On the optimality of the Hedge
  algorithm in the stochastic regime", JMLR 2019, take a rate of 2.
- ``constant``: the horizon ``T``. A rate of ``sqrt(8)`` gives the classical ``sqrt(T log(N) / 2)``, but no better
  where the world is stochastic.
- ``doubling``: the length of the epoch, 1, 2, 4 and so on. Each epoch begins anew, with ``L = 0``.
- ``adaptive``: AdaHedge of de Rooij, van Erven, Grünwald and Koolen, "Follow the leader if you can, hedge if you must",
  JMLR 2014. Its rate falls only as far as hedging has cost something, with

      eta_t = rate log(N) / sum_{s < t} delta_s,    delta_s = <p_s, l_s> - M_s(L_s) + M_s(L_{s-1}),

  where ``M_s(L) = -log(mean_i exp(-eta_s L_i)) / eta_s``. While the sum is 0 it follows the leader.

With a very large rate, such as 1e9, all weight lies on the leaders: that is *follow the leader*.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from allworlds.foundation.errors import InvalidParameter
from allworlds.graphs import AnyGraph
from allworlds.kernels.jit import lean_jit
from allworlds.learners.base import Learner, Ticket
from allworlds.learners.dispatch import Shows, Visibility, register_kernels
from allworlds.learners.recipe import LearnerRecipe
from allworlds.learners.sampling import draw_arm, exponential_weights

Schedule = Literal["decreasing", "constant", "doubling", "adaptive"]
DECREASING, CONSTANT, DOUBLING, ADAPTIVE = range(4)
"""The schedules as kernels know them."""
HIGHEST = 1e290
"""The rate that stands for an infinite one: it leaves weight on the leaders only, and its products stay finite."""


class State(NamedTuple):
    """What the next round needs; the distribution follows from losses and round."""

    cumulative_losses: NDArray[np.float64]
    """(N,) ``L``."""
    distribution: NDArray[np.float64]
    """(N,) ``p_t`` of the coming round."""
    clock: NDArray[np.float64]
    """(1,) round."""
    hedging_cost: NDArray[np.float64]
    """(1,) ``sum_s delta_s`` of the adaptive schedule; 0 in the others."""
    visibility: Visibility
    rate: float
    schedule: int
    horizon: float
    """``T`` of the constant schedule, else 0."""


@dataclass(frozen=True)
class Hedge(Learner[State, Ticket]):
    """Hedge with full information; the rate decreases unless another schedule is given.

    >>> from allworlds.graphs import bandit
    >>> learner = Hedge(bandit(3))
    >>> state = learner.init()
    >>> ticket = learner.draw(state, 0.5, 0.0)
    >>> ticket.arm, learner.observes(ticket.arm)
    (1, array([0, 1, 2]))
    >>> learner.update(state, ticket, np.array([1.0, 1.0, 0.0]))
    >>> learner.distribution(state).argmax()
    np.int64(2)
    """

    name: ClassVar[str] = "hedge"
    shows: ClassVar[Shows] = "everything"
    positive: ClassVar[tuple[str, ...]] = ("rate",)
    saved: ClassVar[tuple[str, ...]] = ("cumulative_losses", "clock", "hedging_cost")

    rate: float = 1.0
    """The factor in ``eta_t``."""
    schedule: Schedule = "decreasing"
    horizon: int | None = None
    """The number of rounds that a constant rate is for; only that schedule takes one."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.schedule not in get_args(Schedule):
            raise InvalidParameter(f"schedule is {self.schedule!r}; expected one of {', '.join(get_args(Schedule))}")
        if (self.schedule == "constant") != (self.horizon is not None):
            given = "none" if self.horizon is None else self.horizon
            raise InvalidParameter(f"horizon is {given}; expected one with the constant schedule, and only with it")

    def init(self) -> State:
        """No losses, round one."""
        n, code, horizon = self.n_arms, get_args(Schedule).index(self.schedule), float(self.horizon or 0)
        zero, clock = np.zeros(1), np.array([1.0])
        state = State(np.zeros(n), np.empty(n), clock, zero, self.visibility, self.rate, code, horizon)
        resolve(state)
        return state


def _hedge(graph: AnyGraph, horizon: int | None = None, rate: float = 1.0, schedule: Schedule = "decreasing") -> Hedge:
    """Only a constant rate takes the horizon."""
    return Hedge(graph, rate, schedule, horizon if schedule == "constant" else None)


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def update(state: State, ticket: Ticket, losses: NDArray[np.float64]) -> None:
    """``L += l``, or ``L = 0`` where an epoch begins; then the next round's distribution."""
    before, expected = mix(state), 0.0
    for i in range(losses.size):
        expected += state.distribution[i] * losses[i]
        state.cumulative_losses[i] += losses[i]
    if state.schedule == ADAPTIVE:
        state.hedging_cost[0] += max(0.0, expected - (mix(state) - before))
    state.clock[0] += 1.0
    if state.schedule == DOUBLING and epoch_length(state.clock[0]) == state.clock[0]:
        state.cumulative_losses[:] = 0.0
    resolve(state)


@lean_jit
def resolve(state: State) -> None:
    """``p_t ∝ exp(-eta_t L)``."""
    exponential_weights(state.cumulative_losses, rate_of(state), state.distribution)


@lean_jit
def rate_of(state: State) -> float:
    """``eta_t``, which is finite."""
    entropy = math.log(max(2, state.distribution.size))  # with one arm the rate does not matter
    if state.schedule == ADAPTIVE:
        cost = state.hedging_cost[0]
        return HIGHEST if cost * HIGHEST <= state.rate * entropy else state.rate * entropy / cost
    rounds = state.clock[0]
    if state.schedule == CONSTANT:
        rounds = state.horizon
    elif state.schedule == DOUBLING:
        rounds = epoch_length(rounds)
    return state.rate * math.sqrt(entropy / rounds)


@lean_jit
def mix(state: State) -> float:
    """``M(L) = -log(mean_i exp(-eta_t L_i)) / eta_t``, from the lowest loss; 0 where the schedule does not need it."""
    if state.schedule != ADAPTIVE:
        return 0.0
    losses, rate = state.cumulative_losses, rate_of(state)
    lowest, total = losses[0], 0.0
    for i in range(1, losses.size):
        lowest = min(lowest, losses[i])
    for i in range(losses.size):
        total += math.exp(-rate * (losses[i] - lowest))
    return float(lowest - math.log(total / losses.size) / rate)


@lean_jit
def epoch_length(round: float) -> float:
    """The largest power of two that is at most ``round``: the epoch's length and its first round."""
    return 2.0 ** (math.frexp(round)[1] - 1)


register_kernels(State, draw_arm, update, resolve)

RECIPES = (
    LearnerRecipe(
        "hedge",
        _hedge,
        "1.25 sqrt(T log N), and log N / Delta where stochastic [Amir et al. 2020]",
        "hedge:rate=2,schedule=decreasing",
        {"rate": "number", "schedule": "word"},
        kind=Hedge,
        world="any",
        told="all losses",
        horizon="taken",
        rival=False,
        source='Amir, Attias, Koren, Mansour and Livni, "Prediction with corrupted expert advice", NeurIPS 2020',
        rendering="from memory",
    ),
)
