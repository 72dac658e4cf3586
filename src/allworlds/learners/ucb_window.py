"""UCB that forgets: over a sliding window of rounds, or with discounted counts.

The idea. Where means move, only recent observations tell where they are. UCB over a window keeps the last ``w``
rounds,

    I_t = argmin_i  mean_i(w) - sqrt(width log(min(t, w)) / O_i(w)),

with ``O_i(w)`` the number of times arm i was *seen* in them, chosen or not. Discounted UCB lets old rounds fade: an
observation that is ``s`` rounds old counts ``gamma^s``, in the sums, in ``O_i`` and in the number ``n`` of rounds,

    I_t = argmin_i  mean_i(gamma) - sqrt(width log(n(gamma)) / O_i(gamma)).

An arm that was not seen, or not within the window, comes first; arms with the same index are equally likely. Both
rules are those of Garivier and Moulines, "On upper-confidence bound policies for switching bandit problems", ALT
2011, for bandits; that side observations count is ours. Their ``xi``, above 1/2, is ``width`` for the window and
``width / 4`` for the discount; the defaults are ``xi = 0.6``. If the means change ``changes`` times in ``T`` rounds
they take

    w = 2 sqrt(T log(T) / changes),        gamma = 1 - sqrt(changes / T) / 4,

and the regret of bandits is of order ``N sqrt(changes T) log(T)``. Here a horizon gives these values, for one change
unless told otherwise; without one, 1,000 rounds are kept, or ``gamma = 0.999``. An outcome that comes late counts as
one of the round in which it comes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.foundation.checks import whole
from allworlds.graphs.changing import ChangingGraph
from allworlds.kernels.jit import lean_jit
from allworlds.learners.base import Ticket
from allworlds.learners.dispatch import Visibility, register_kernels
from allworlds.learners.indices import IndexLearner, count_losses, draw_lowest, write_optimistic
from allworlds.learners.recipe import LearnerRecipe

XI = 0.6
WINDOW, DISCOUNT = 1000, 0.999
"""What is kept where nothing is told."""
ROUND, FADED = 0, 1
"""Places in ``DiscountedState.clock``."""


class WindowState(NamedTuple):
    """What the next round needs; the last ``w`` rounds in turn, the oldest is overwritten."""

    totals: NDArray[np.float64]
    """(N,) the sum of the losses seen in the window."""
    seen: NDArray[np.float64]
    """(N,) how often each arm was seen in it."""
    arms: NDArray[np.int64]
    """(w, longest list) the arms that each round showed."""
    losses: NDArray[np.float64]
    """(w, longest list) their losses."""
    sizes: NDArray[np.int64]
    """(w,) how many there are."""
    clock: NDArray[np.float64]
    """(1,) round."""
    indices: NDArray[np.float64]
    """(N,) room for the index of each arm."""
    visibility: Visibility
    width: float


class DiscountedState(NamedTuple):
    """What the next round needs."""

    totals: NDArray[np.float64]
    """(N,) the discounted sum of the losses seen."""
    seen: NDArray[np.float64]
    """(N,) the discounted number of times that each arm was seen."""
    clock: NDArray[np.float64]
    """(2,) round, and the discounted number of past rounds."""
    indices: NDArray[np.float64]
    """(N,) room for the index of each arm."""
    visibility: Visibility
    discount: float
    width: float


@dataclass(frozen=True)
class UCBWindow(IndexLearner[WindowState]):
    """UCB over the observations of the last rounds.

    >>> from allworlds.graphs import bandit
    >>> learner = UCBWindow(bandit(2), window=1)
    >>> state = learner.init()
    >>> learner.update(state, learner.draw(state, 0.0, 0.0), np.array([0.0]))
    >>> learner.update(state, learner.draw(state, 0.0, 0.0), np.array([0.0]))
    >>> learner.distribution(state)  # arm 0 was not seen in the last round
    array([1., 0.])
    """

    name: ClassVar[str] = "ucb-window"
    positive: ClassVar[tuple[str, ...]] = ("width", "changes")
    saved: ClassVar[tuple[str, ...]] = ("totals", "seen", "arms", "losses", "sizes", "clock")

    window: int | None = None
    width: float = XI
    changes: float = 1.0
    horizon: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.window is not None:
            object.__setattr__(self, "window", whole("window", self.window))

    @property
    def n_kept(self) -> int:
        """``w``: the window, or the best for the horizon and the number of changes."""
        if self.window is not None:
            return self.window
        if self.horizon is None:
            return WINDOW
        best = 2.0 * math.sqrt(self.horizon * math.log(self.horizon) / self.changes)
        return min(self.horizon, max(1, math.ceil(best)))

    def init(self) -> WindowState:
        """Nothing seen, round one."""
        n, kept, changing = self.n_arms, self.n_kept, isinstance(self.graph, ChangingGraph)
        longest = n if changing else int(np.diff(self.visibility.starts).max())
        return WindowState(
            totals=np.zeros(n),
            seen=np.zeros(n),
            arms=np.zeros((kept, longest), dtype=np.int64),
            losses=np.zeros((kept, longest)),
            sizes=np.zeros(kept, dtype=np.int64),
            clock=np.array([1.0]),
            indices=np.empty(n),
            visibility=self.visibility,
            width=self.width,
        )


@dataclass(frozen=True)
class UCBDiscounted(IndexLearner[DiscountedState]):
    """UCB over observations that fade.

    >>> from allworlds.graphs import disjoint_cliques
    >>> learner = UCBDiscounted(disjoint_cliques(1, 2), discount=0.5)
    >>> state = learner.init()
    >>> for losses in ([0.0, 1.0], [1.0, 0.0]):
    ...     learner.update(state, learner.draw(state, 0.3, 0.6), np.array(losses))
    >>> learner.distribution(state)
    array([0., 1.])
    """

    name: ClassVar[str] = "ucb-discounted"
    fractions: ClassVar[tuple[str, ...]] = ("discount",)
    positive: ClassVar[tuple[str, ...]] = ("width", "changes")

    discount: float | None = None
    width: float = 4.0 * XI
    changes: float = 1.0
    horizon: int | None = None

    @property
    def factor(self) -> float:
        """``gamma``: the discount, or the best for the horizon and the number of changes."""
        if self.discount is not None:
            return self.discount
        if self.horizon is None:
            return DISCOUNT
        return 1.0 - 0.25 * math.sqrt(min(1.0, self.changes / self.horizon))

    def init(self) -> DiscountedState:
        """Nothing seen, round one."""
        n, clock = self.n_arms, np.array([1.0, 0.0])
        return DiscountedState(np.zeros(n), np.zeros(n), clock, np.empty(n), self.visibility, self.factor, self.width)


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def update_windowed(state: WindowState, ticket: Ticket, losses: NDArray[np.float64]) -> None:
    """Forget the round that leaves the window, and put the new one in its place."""
    row = (int(state.clock[ROUND]) - 1) % state.sizes.size
    for j in range(state.sizes[row]):
        i = state.arms[row, j]
        state.seen[i] -= 1.0
        state.totals[i] = state.totals[i] - state.losses[row, j] if state.seen[i] > 0.0 else 0.0
    start = state.visibility.starts[state.visibility.where[ticket.arm]]
    for j in range(losses.size):
        state.arms[row, j] = state.visibility.order[start + j]
        state.losses[row, j] = losses[j]
    state.sizes[row] = losses.size
    count_losses(state.visibility, ticket.arm, losses, state.totals, state.seen)
    state.clock[ROUND] += 1.0


@lean_jit
def update_discounted(state: DiscountedState, ticket: Ticket, losses: NDArray[np.float64]) -> None:
    """All sums fade by ``gamma``; then the round is counted."""
    for i in range(state.seen.size):
        state.totals[i] *= state.discount
        state.seen[i] *= state.discount
    count_losses(state.visibility, ticket.arm, losses, state.totals, state.seen)
    state.clock[ROUND] += 1.0
    state.clock[FADED] = state.discount * state.clock[FADED] + 1.0


@lean_jit
def write_windowed(state: WindowState) -> None:
    """``mean_i(w) - sqrt(width log(min(t, w)) / O_i(w))``; minus infinity where an arm was not seen in the window."""
    log_rounds = math.log(min(state.clock[ROUND], float(state.sizes.size)))
    write_optimistic(state.totals, state.seen, state.width * log_rounds, state.indices)


@lean_jit
def write_discounted(state: DiscountedState) -> None:
    """``mean_i(gamma) - sqrt(width log(n(gamma)) / O_i(gamma))``; minus infinity where an arm was never seen."""
    log_rounds = math.log(max(1.0, state.clock[FADED]))
    write_optimistic(state.totals, state.seen, state.width * log_rounds, state.indices)


register_kernels(WindowState, draw_lowest, update_windowed, index_kernel=write_windowed)
register_kernels(DiscountedState, draw_lowest, update_discounted, index_kernel=write_discounted)

_SOURCE = 'Garivier and Moulines, "On upper-confidence bound policies for switching bandit problems", ALT 2011'

RECIPES = (
    LearnerRecipe(
        "ucb-window",
        UCBWindow,
        "N sqrt(changes T) log T for bandits [Garivier and Moulines 2011]; none claimed with side observations",
        "ucb-window:window=500",
        {"window": "integer", "width": "number", "changes": "number"},
        kind=UCBWindow,
        world="moving",
        told="the window, or the horizon and how often means change",
        horizon="taken",
        source=_SOURCE,
        rendering="from memory",
    ),
    LearnerRecipe(
        "ucb-discounted",
        UCBDiscounted,
        "N sqrt(changes T) log T for bandits [Garivier and Moulines 2011]; none claimed with side observations",
        "ucb-discounted:discount=0.99",
        {"discount": "number", "width": "number", "changes": "number"},
        kind=UCBDiscounted,
        world="moving",
        told="how fast to forget, or the horizon and how often means change",
        horizon="taken",
        source=_SOURCE,
        rendering="from memory",
    ),
)
