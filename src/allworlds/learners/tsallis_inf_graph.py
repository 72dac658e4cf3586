"""Tsallis-INF that uses what the graph shows: a loss is divided by the probability that it was seen.

The idea. The rule of Tsallis-INF (Zimmert and Seldin, "Tsallis-INF", JMLR 2021), but estimates use every loss seen:

    p_t(i) = 4 / (eta_t (Lhat_i - x))^2,     x such that they sum to one,     eta_t = 2 / sqrt(t),
    Lhat_i += l_i / P_t(i)   for every arm i that is seen,     P_t(i) = sum of p_t over the arms that show i.

On single arms this is Tsallis-INF. Where arms see more than themselves, ``P_t(i) >= p_t(i)``, so the estimates vary
less and the bound ``4 sqrt(N T) + 1`` against any losses still holds, by the same proof, also on directed and
changing graphs. The stability term falls from ``sqrt(N)`` to ``sum_i p_i^(3/2) / P_t(i)``, which is at most
``sqrt(alpha)`` in undirected graphs with independence number ``alpha`` (Eldowa, Esposito, Cesari and Cesa-Bianchi,
NeurIPS 2023), but the penalty does not; for a regret that depends on ``alpha`` alone see ``spm-ftrl`` and ``q-ftrl``.
The combination is ours, and no stochastic bound is claimed beyond that of Tsallis-INF on single arms.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from allworlds.kernels.jit import lean_jit
from allworlds.learners.base import Ticket
from allworlds.learners.dispatch import register_kernels
from allworlds.learners.dividing import (
    DividedTicket,
    DividingLearner,
    EstimateState,
    draw_seen,
    learn_divided,
    write_observed,
)
from allworlds.learners.recipe import LearnerRecipe
from allworlds.learners.tsallis_inf import tsallis_weights

ROUND, DISTANCE = 0, 1
"""Places in ``State.clock``: round, the solution of the last step."""


class State(EstimateState):
    """What the next round needs; the distribution is already that of the coming round."""

    __slots__ = ()


class TsallisINFGraph(DividingLearner[State, DividedTicket]):
    """Tsallis-INF with the losses of all arms that are seen.

    >>> from allworlds.graphs import full_information
    >>> learner = TsallisINFGraph(full_information(2))
    >>> state = learner.init()
    >>> learner.update(state, learner.draw(state, 0.7, 0.0), np.array([0.0, 1.0]))
    >>> learner.distribution(state).round(3)
    array([0.719, 0.281])
    """

    name: ClassVar[str] = "tsallis-inf-graph"
    redrawn: ClassVar[bool] = True
    accepts: ClassVar[frozenset[str]] = frozenset({"directed", "changing", "uninformed"})
    state_class: ClassVar[type] = State
    saved: ClassVar[tuple[str, ...]] = ("cumulative_losses", "distribution", "clock")

    def init(self) -> State:
        """No losses, round one."""
        state = self.new_state([1.0, 1.0], ())
        step(state)
        return state


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def update(state: State, ticket: Ticket, losses: NDArray[np.float64]) -> None:
    """``Lhat_i += l_i / P_t(i)`` on the arms that are seen, then the next round's distribution."""
    learn_divided(state, ticket, losses)
    step(state)


@lean_jit
def step(state: State) -> None:
    """The coming round's weights, starting from the last round's solution."""
    clock, rate = state.clock, 2.0 / math.sqrt(state.clock[ROUND])
    clock[DISTANCE] = tsallis_weights(state.cumulative_losses, rate, clock[DISTANCE], state.distribution)
    write_observed(state)


register_kernels(State, draw_seen, update, write_observed, graph_kernel=write_observed)

RECIPES = (
    LearnerRecipe(
        "tsallis-inf-graph",
        TsallisINFGraph,
        "4 sqrt(N T) + 1, by the proof of [Zimmert and Seldin 2021, Theorem 1]",
        "tsallis-inf-graph",
        kind=TsallisINFGraph,
        world="any",
        source='this project, after Zimmert and Seldin, "Tsallis-INF", JMLR 2021',
    ),
)
