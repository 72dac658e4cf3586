"""AAE on independent sets: look at all arms that may be best through a few that do not see each other, drop the rest.

The idea. To see every remaining arm it is enough to play a maximal independent set of them: each other one has a
neighbour in it. After each such sweep an arm is dropped if even its best plausible mean is worse than the worst
plausible mean of some other:

    sweep:  play each arm of a greedy maximal independent set of the active arms once; count all that is seen;
    drop i if  mean_i - r_i > min_j (mean_j + r_j),     r_i = sqrt(log(2 N T / delta) / (2 O_i)),     delta = 1 / T,

with ``O_i`` the number of times arm i was *seen*. The rule is the elimination algorithm that Lykouris, Tardos and
Wali analyse in "Feedback graph regret bounds for Thompson sampling and UCB", ALT 2020. Its regret is at most ``32
log(2 N T / delta) log(T)`` times the largest sum of ``1 / Delta`` over independent arms. Without a horizon the round
stands for it, as they suggest. They take any maximal independent set; here it is greedy in random order, so the
numbers of the arms do not matter: every play is uniform on the active arms that this sweep has not covered.

The radius is wide. ``scale`` multiplies its square; below 1 nothing is proved. For stochastic losses only: an arm
that was dropped never comes back.
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
from allworlds.learners.indices import count_losses, pick_lowest, share_lowest
from allworlds.learners.recipe import LearnerRecipe

WAITING, COVERED, DROPPED = 0.0, 1.0, 2.0
"""What an arm may be: active and not covered by this sweep, active and covered, dropped."""


class State(NamedTuple):
    """Where in which sweep we are."""

    totals: NDArray[np.float64]
    """(N,) the sum of the losses seen."""
    seen: NDArray[np.float64]
    """(N,) how often each arm was seen."""
    status: NDArray[np.float64]
    """(N,) ``WAITING``, ``COVERED`` or ``DROPPED``; some arm is always waiting."""
    clock: NDArray[np.float64]
    """(1,) round."""
    visibility: Visibility
    horizon: float
    """``T``, or 0 where there is none."""
    scale: float


@dataclass(frozen=True)
class AAEIndependent(Learner[State, Ticket]):
    """Action elimination on maximal independent sets; ``scale`` multiplies the square of the radius, 1 as published.

    >>> from allworlds.graphs import disjoint_cliques
    >>> learner = AAEIndependent(disjoint_cliques(2, 2))
    >>> state = learner.init()
    >>> learner.update(state, learner.draw(state, 0.9, 0.0), np.array([1.0, 0.0]))
    >>> learner.distribution(state)
    array([0.5, 0.5, 0. , 0. ])
    """

    name: ClassVar[str] = "aae-independent"
    positive: ClassVar[tuple[str, ...]] = ("scale",)
    saved: ClassVar[tuple[str, ...]] = ("totals", "seen", "status", "clock")

    horizon: int | None = None
    scale: float = 1.0

    def init(self) -> State:
        """All arms are active and none has been seen."""
        n, zeros = self.n_arms, np.zeros(self.n_arms)
        status = np.full(n, WAITING)
        return State(
            zeros, zeros.copy(), status, np.array([1.0]), self.visibility, float(self.horizon or 0), self.scale
        )

    def distribution(self, state: State) -> NDArray[np.float64]:
        """(N,) uniform on the arms that this sweep has not covered."""
        return share_lowest(state.status)

    def active(self, state: State) -> NDArray[np.int64]:
        """The arms that have not been dropped, sorted."""
        return np.flatnonzero(state.status != DROPPED)


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def draw(state: State, first: float, second: float) -> Ticket:
    """Uniform on the arms that are waiting."""
    arm, probability = pick_lowest(state.status, first)
    return Ticket(arm, probability, int(state.clock[0]))


@lean_jit
def update(state: State, ticket: Ticket, losses: NDArray[np.float64]) -> None:
    """Count and cover what is seen; when nothing is waiting, drop arms and start the next sweep."""
    count_losses(state.visibility, ticket.arm, losses, state.totals, state.seen)
    start = state.visibility.starts[state.visibility.where[ticket.arm]]
    for j in range(losses.size):
        i = state.visibility.order[start + j]
        state.status[i] = max(state.status[i], COVERED)
    waiting = False
    for i in range(state.status.size):
        waiting = waiting or state.status[i] == WAITING
    if not waiting:
        eliminate(state)
    state.clock[0] += 1.0


@lean_jit
def eliminate(state: State) -> None:
    """Drop ``i`` if ``mean_i - r_i > min_j (mean_j + r_j)`` over the active arms; all others wait again."""
    rounds = state.horizon if state.horizon > 0.0 else state.clock[0]
    level = 0.5 * state.scale * math.log(2.0 * state.seen.size * rounds * rounds)
    ceiling = math.inf
    for i in range(state.seen.size):
        if state.status[i] != DROPPED:
            ceiling = min(ceiling, state.totals[i] / state.seen[i] + math.sqrt(level / state.seen[i]))
    for i in range(state.seen.size):
        if state.status[i] != DROPPED:
            floor = state.totals[i] / state.seen[i] - math.sqrt(level / state.seen[i])
            state.status[i] = DROPPED if floor > ceiling else WAITING


register_kernels(State, draw, update)

RECIPES = (
    LearnerRecipe(
        "aae-independent",
        AAEIndependent,
        "32 log(2NT/delta) log T max over independent I of sum_I 1/Delta [Lykouris et al. 2020]",
        "aae-independent:scale=0.1",
        {"scale": "number"},
        kind=AAEIndependent,
        world="stochastic",
        told="horizon, if known",
        horizon="taken",
        source='Lykouris, Tardos and Wali, "Feedback graph regret bounds for Thompson sampling and UCB", ALT 2020',
        rendering="as printed",
    ),
)
