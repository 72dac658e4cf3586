"""UCB-LP, our reconstruction: elimination in phases that look at all arms by the domination of the graph.

The idea. Phase ``m`` looks for gaps of about ``D_m = 2^-m``. For that every arm that may still be best must have been
seen ``n(m)`` times, and a linear program says how to do so with the fewest plays (``learners/domination.py``):

    n(m) = ceil(2 log(T D_m²) / D_m²),      B_0 = all arms,      Z = sum_j z*_j;
    while Z <= 2 |B_m| D_m:   play every arm j  ceil(z*_j (n(m) - n(m-1))) times;
    later:                    play arms of B_m until each was seen n(m) times;
    B_{m+1} = {i in B_m: mean_i - r <= min_j (mean_j + r)},     r = sqrt(log(T D_m²) / (2 n(m))).

One arm left, or all ``log2(T / e) / 2`` phases over: play the arm of ``B`` with the lowest mean. After Buccapatnam,
Eryilmaz and Shroff (SIGMETRICS 2014) and Buccapatnam, Liu, Eryilmaz and Shroff (JMLR 2018), whose UCB-LP has these
phases and this linear program. We write it from memory: the test for leaving the linear program, the rounding, and
that later plays count side observations are ours where they differ, and so is the order of plays within a phase: of
the arms that have most to do, or were seen least, one at random. No bound is claimed. The horizon must be known. For
stochastic losses only: an arm that was dropped never comes back. Of several solutions ``z*`` we take the one with the
least sum of squares.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.kernels.jit import lean_jit
from allworlds.learners.base import Ticket
from allworlds.learners.dispatch import Visibility, register_kernels
from allworlds.learners.domination import fractional_domination
from allworlds.learners.indices import IndexLearner, count_losses, draw_lowest, mean
from allworlds.learners.recipe import LearnerRecipe

ROUND, PHASE, MODE = 0, 1, 2
"""Places in ``State.clock``."""
BY_PROGRAM, BY_ARM, SETTLED = 0.0, 1.0, 2.0
"""Modes: plays by the linear program, plays of the remaining arms, the best mean for good."""
SLACK = 1e-9
"""A number of plays this little above a whole one is that one: the linear program is solved in doubles."""


class Rates(NamedTuple):
    """The scalars of the learner, for kernels."""

    horizon: float
    value: float
    """``Z``."""
    last_phase: float


class State(NamedTuple):
    """Where in which phase we are."""

    totals: NDArray[np.float64]
    """(N,) the sum of the losses seen."""
    seen: NDArray[np.float64]
    """(N,) how often each arm was seen."""
    active: NDArray[np.float64]
    """(N,) 1 for the arms of ``B_m``, else 0."""
    due: NDArray[np.float64]
    """(N,) how often the linear program still plays each arm in this phase."""
    clock: NDArray[np.float64]
    """(3,) round, phase, mode."""
    indices: NDArray[np.float64]
    """(N,) room for the index of each arm."""
    plays: NDArray[np.float64]
    """(N,) ``z*``."""
    visibility: Visibility
    rates: Rates


@dataclass(frozen=True)
class UCBLP(IndexLearner[State]):
    """Elimination in phases, by the domination of the graph; our reconstruction.

    >>> from allworlds.graphs import star
    >>> learner = UCBLP(star(4), horizon=1000)
    >>> learner.distribution(learner.init())  # the hub shows all
    array([1., 0., 0., 0.])
    """

    name: ClassVar[str] = "ucb-lp"
    accepts: ClassVar[frozenset[str]] = frozenset({"directed"})
    saved: ClassVar[tuple[str, ...]] = ("totals", "seen", "active", "due", "clock")

    horizon: int

    @cached_property
    def plays(self) -> NDArray[np.float64]:
        """(N,) ``z*``."""
        return fractional_domination(self.graph)

    def init(self) -> State:
        """All arms may be best; the first phase begins."""
        n, last = self.n_arms, math.floor(0.5 * math.log2(self.horizon / math.e))
        state = State(
            totals=np.zeros(n),
            seen=np.zeros(n),
            active=np.ones(n),
            due=np.zeros(n),
            clock=np.array([1.0, 0.0, BY_PROGRAM]),
            indices=np.empty(n),
            plays=self.plays,
            visibility=self.visibility,
            rates=Rates(float(self.horizon), float(self.plays.sum()), float(last)),
        )
        start_phase(state)
        return state

    def active(self, state: State) -> NDArray[np.int64]:
        """``B_m``: the arms that have not been dropped, sorted."""
        return np.flatnonzero(state.active)


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def write_indices(state: State) -> None:
    """Minus what is due; or the times that an active arm was seen; or its mean."""
    mode = state.clock[MODE]
    for i in range(state.seen.size):
        if mode == BY_PROGRAM:
            state.indices[i] = -state.due[i]
        elif state.active[i] == 0.0:
            state.indices[i] = math.inf
        elif mode == BY_ARM:
            state.indices[i] = state.seen[i]
        else:  # an arm never seen comes after all others, but before those that were dropped
            state.indices[i] = min(mean(state.totals[i], state.seen[i]), 2.0)


@lean_jit
def update(state: State, ticket: Ticket, losses: NDArray[np.float64]) -> None:
    """Count what is seen; when the phase has seen enough, drop arms and begin the next."""
    count_losses(state.visibility, ticket.arm, losses, state.totals, state.seen)
    state.due[ticket.arm] = max(0.0, state.due[ticket.arm] - 1.0)
    while state.clock[MODE] != SETTLED and phase_is_over(state):
        eliminate(state)
        state.clock[PHASE] += 1.0
        start_phase(state)
    state.clock[ROUND] += 1.0


@lean_jit
def times(horizon: float, phase: float) -> float:
    """``n(m) = ceil(2 log(T D²) / D²)`` with ``D = 2^-m``; none before the first phase."""
    square = 4.0**-phase
    return math.ceil(2.0 * math.log(horizon * square) / square) if phase >= 0.0 else 0.0


@lean_jit
def start_phase(state: State) -> None:
    """Settle if one arm or no phase is left; else plan the plays of the phase."""
    phase, rates = state.clock[PHASE], state.rates
    n_active = 0.0
    for i in range(state.active.size):
        n_active += state.active[i]
    if n_active == 1.0 or phase > rates.last_phase:
        state.clock[MODE] = SETTLED
    elif rates.value <= 2.0 * n_active * 2.0**-phase:
        state.clock[MODE] = BY_PROGRAM
        more = times(rates.horizon, phase) - times(rates.horizon, phase - 1.0)
        for j in range(state.due.size):
            state.due[j] = max(0.0, math.ceil(state.plays[j] * more - SLACK))
    else:
        state.clock[MODE] = BY_ARM


@lean_jit
def phase_is_over(state: State) -> bool:
    """Whether nothing is due, or every active arm was seen ``n(m)`` times."""
    enough = times(state.rates.horizon, state.clock[PHASE])
    over = True
    for i in range(state.due.size):
        if state.clock[MODE] == BY_PROGRAM:
            over = over and state.due[i] == 0.0
        elif state.active[i] == 1.0:
            over = over and state.seen[i] >= enough
    return over


@lean_jit
def eliminate(state: State) -> None:
    """Drop ``i`` if ``mean_i - r > min_j (mean_j + r)``, ``r = sqrt(log(T D²) / (2 n(m)))``."""
    phase, horizon = state.clock[PHASE], state.rates.horizon
    radius = math.sqrt(math.log(horizon * 4.0**-phase) / (2.0 * times(horizon, phase)))
    best = math.inf
    for i in range(state.seen.size):
        if state.active[i] == 1.0:
            best = min(best, mean(state.totals[i], state.seen[i]))
    for i in range(state.seen.size):
        if mean(state.totals[i], state.seen[i]) > best + 2.0 * radius:
            state.active[i] = 0.0


register_kernels(State, draw_lowest, update, index_kernel=write_indices)

RECIPES = (
    LearnerRecipe(
        "ucb-lp",
        UCBLP,
        "none claimed; our reconstruction of UCB-LP [Buccapatnam et al. 2014]",
        "ucb-lp",
        kind=UCBLP,
        world="stochastic",
        told="horizon",
        horizon="needed",
        source='Buccapatnam, Liu, Eryilmaz and Shroff, "Reward maximization under uncertainty", JMLR 2018',
        rendering="reconstruction",
    ),
)
