"""AAE-AlphaSample: drop the arms that are clearly worse, and look at all others through few plays.

The idea. In a friendly world it is enough to estimate every mean to within ``epsilon``, to drop what lies more than
``2 epsilon`` above the best, and to go on with half the ``epsilon`` (action elimination). To get one fresh sample of
every remaining arm one need not play them all: play one at random, cross off all that were seen, play one of the rest
at random, until none is left (AlphaSample). That takes about ``alpha log N`` plays, ``alpha`` the independence number:

    phase r:  n_r = ceil(2 log(2 N T) / epsilon_r²) times AlphaSample(V_r);   m_r(v) = mean of the phase's samples,
              V_{r+1} = {v: m_r(v) <= min m_r + 2 epsilon_r},   epsilon_{r+1} = epsilon_r / 2,   epsilon_1 = 1/4.

The graph is looked at only through what is seen, so it could even be unknown and change (Cohen, Hazan and Koren,
"Online learning with feedback graphs without the graphs", ICML 2016: their rule, with ``scale = 1``). The regret is
about ``sum of log(T) / Delta_v`` over the ``10 alpha log N`` arms with the smallest gaps, or ``sqrt(alpha T)`` up to
logarithms. Both are for stochastic losses only: an arm that was dropped never comes back.

The constants are huge. With ten arms and ``T = 100,000`` the first phase has 465 repetitions and drops only what is
worse by about one half; a gap of 1/8 is surely told apart by the fourth, which has 29,714. Published experiments
shorten the phases by large factors; ``scale`` does so here, and then nothing is proved.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.kernels.jit import lean_jit
from allworlds.learners.base import Learner, Ticket
from allworlds.learners.dispatch import Visibility, register_kernels
from allworlds.learners.recipe import LearnerRecipe

FIRST_ACCURACY = 0.25

ROUND, ACCURACY, REPETITIONS, ACTIVE, WAITING = 0, 1, 2, 3, 4
"""Places in ``State.clock``."""


class Rates(NamedTuple):
    """The scalars of the learner, for kernels."""

    length: float
    """``scale * 2 log(2 N T)``: the length of a phase times ``epsilon²``."""


class State(NamedTuple):
    """Where in which phase we are."""

    sums: NDArray[np.float64]
    """(N,) the sum of this phase's samples of each arm."""
    active: NDArray[np.int64]
    """(N,) ``V_r``, sorted, in the first ``clock[ACTIVE]`` places."""
    waiting: NDArray[np.int64]
    """(N,) ``U``, the arms that this AlphaSample has not seen, in the first ``clock[WAITING]`` places."""
    place: NDArray[np.int64]
    """(N,) where an arm stands in ``waiting``, or -1."""
    clock: NDArray[np.float64]
    """(5,) round, ``epsilon_r``, repetitions left in this phase, sizes of ``V_r`` and ``U``."""
    visibility: Visibility
    rates: Rates


@dataclass(frozen=True)
class AAEAlphaSample(Learner[State, Ticket]):
    """Action elimination by AlphaSample; ``scale`` multiplies the lengths of the phases, 1 as published.

    >>> from allworlds.graphs import disjoint_cliques
    >>> learner = AAEAlphaSample(disjoint_cliques(2, 2), horizon=1000)
    >>> state = learner.init()
    >>> ticket = learner.draw(state, 0.9, 0.0)
    >>> ticket.arm, learner.observes(ticket.arm)
    (3, array([2, 3]))
    >>> learner.update(state, ticket, np.array([1.0, 0.0]))
    >>> learner.distribution(state)
    array([0.5, 0.5, 0. , 0. ])
    """

    name: ClassVar[str] = "aae-alphasample"
    accepts: ClassVar[frozenset[str]] = frozenset({"directed", "changing", "uninformed"})
    positive: ClassVar[tuple[str, ...]] = ("scale",)
    saved: ClassVar[tuple[str, ...]] = ("sums", "active", "waiting", "place", "clock")

    horizon: int
    scale: float = 1.0

    def init(self) -> State:
        """All arms are active and none has been seen."""
        n = self.n_arms
        length = self.scale * 2.0 * math.log(2.0 * n * self.horizon)
        return State(
            sums=np.zeros(n),
            active=np.arange(n),
            waiting=np.arange(n),
            place=np.arange(n),
            clock=np.array([1.0, FIRST_ACCURACY, phase_length(length, FIRST_ACCURACY), n, n]),
            visibility=self.visibility,
            rates=Rates(length),
        )

    def distribution(self, state: State) -> NDArray[np.float64]:
        """(N,) uniform on the arms that this AlphaSample has not seen."""
        waiting = state.waiting[: int(state.clock[WAITING])]
        distribution = np.zeros(self.n_arms)
        distribution[waiting] = 1.0 / waiting.size
        return distribution

    def active(self, state: State) -> NDArray[np.int64]:
        """``V_r``: the arms that have not been dropped, sorted."""
        return state.active[: int(state.clock[ACTIVE])].copy()


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def draw(state: State, first: float, second: float) -> Ticket:
    """Uniform on ``U``."""
    size = int(state.clock[WAITING])
    arm = state.waiting[min(int(first * size), size - 1)]
    return Ticket(int(arm), 1.0 / size, int(state.clock[ROUND]))


@lean_jit
def update(state: State, ticket: Ticket, losses: NDArray[np.float64]) -> None:
    """One sample of every arm of ``U`` that is seen; when ``U`` is empty, the next AlphaSample or the next phase."""
    clock, visibility = state.clock, state.visibility
    start = visibility.starts[visibility.where[ticket.arm]]
    size = int(clock[WAITING])
    for j in range(losses.size):
        arm = visibility.order[start + j]
        if state.place[arm] >= 0:
            state.sums[arm] += losses[j]
            size -= 1
            cross_off(state.waiting, state.place, arm, size)
    if size == 0:
        clock[REPETITIONS] -= 1.0
        if clock[REPETITIONS] <= 0.0:
            next_phase(state)
        size = int(clock[ACTIVE])
        fill(state.active, size, state.waiting, state.place)
    clock[WAITING] = size
    clock[ROUND] += 1.0


@lean_jit
def cross_off(waiting: NDArray[np.int64], place: NDArray[np.int64], arm: int, last: int) -> None:
    """Take ``arm`` out of ``waiting``: the one that stands ``last`` moves to its place."""
    moved = waiting[last]
    waiting[place[arm]] = moved
    place[moved] = place[arm]
    place[arm] = -1


@lean_jit
def fill(active: NDArray[np.int64], size: int, waiting: NDArray[np.int64], place: NDArray[np.int64]) -> None:
    """``U = V_r``."""
    for j in range(size):
        waiting[j] = active[j]
        place[active[j]] = j


@lean_jit
def next_phase(state: State) -> None:
    """Keep ``{v: m_r(v) <= min m_r + 2 epsilon_r}``, halve ``epsilon`` and forget the samples."""
    clock, sums, active = state.clock, state.sums, state.active
    size = int(clock[ACTIVE])
    lowest = math.inf
    for j in range(size):
        lowest = min(lowest, sums[active[j]])
    accuracy = clock[ACCURACY]
    highest = lowest + 2.0 * accuracy * phase_length(state.rates.length, accuracy)
    kept = 0
    for j in range(size):
        arm = active[j]
        if sums[arm] <= highest:
            active[kept] = arm
            kept += 1
        sums[arm] = 0.0
    clock[ACTIVE] = kept
    clock[ACCURACY] = 0.5 * accuracy
    clock[REPETITIONS] = phase_length(state.rates.length, 0.5 * accuracy)


@lean_jit
def phase_length(length: float, accuracy: float) -> float:
    """``n_r = ceil(2 log(2 N T) / epsilon_r²)``, at least one."""
    return max(1.0, float(np.ceil(length / (accuracy * accuracy))))


register_kernels(State, draw, update)

RECIPES = (
    LearnerRecipe(
        "aae-alphasample",
        AAEAlphaSample,
        "sum of log T / Delta over the 10 alpha log N smallest gaps [Cohen et al. 2016]",
        "aae-alphasample:scale=0.1",
        {"scale": "number"},
        kind=AAEAlphaSample,
        world="stochastic",
        told="horizon",
        horizon="needed",
        source='Cohen, Hazan and Koren, "Online learning with feedback graphs without the graphs", ICML 2016',
        rendering="as printed",
    ),
)
