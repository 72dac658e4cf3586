"""Robust UCB: the index rule with a median of block means in place of the mean; our reconstruction.

The idea. The mean of an arm moves with every loss that was tampered with; the median of the means of several blocks
does not, as long as fewer than half of the blocks were touched. So trust medians of means, plus a bonus for what is
rarely seen:

    I_t = argmin_i  median_i - sqrt(width log(t) / O_i),
    median_i = median of the means of the full blocks of observations of arm i,   O_i observations in these.

The blocks of an arm are consecutive observations, all of one size, and there is room for ``groups`` of them. When all
are full, neighbouring blocks are merged in pairs and the size doubles. So there are always between half of ``groups``
and all of them (once that many observations have been made), no array grows, and a burst of lies, however old, spoils
one block after another and not all of them alike.

Kapoor, Patel and Kar, "Corruption-tolerant bandit learning", Machine Learning 2019, put robust estimates of means into
UCB (rUCB-MAB) and bound its regret where a known share of the losses is corrupted. Which estimate, which bonus and the
use of side observations are ours here; their bound is not claimed. Losses between 0 and 1 need no protection against
outliers: what is won is that lies concentrated in time are outvoted. What is lost is accuracy; the median of
``groups`` means varies about 1.25 times as much as their mean. Ties are broken at random.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.foundation.checks import whole
from allworlds.foundation.errors import InvalidParameter
from allworlds.kernels.jit import lean_jit
from allworlds.learners.base import Ticket
from allworlds.learners.dispatch import Visibility, register_kernels
from allworlds.learners.indices import IndexLearner, draw_lowest, write_optimistic
from allworlds.learners.recipe import LearnerRecipe


class State(NamedTuple):
    """What the next round needs; medians follow from blocks."""

    blocks: NDArray[np.float64]
    """(N, groups) the sum of the losses in each block, in the order in which they were filled."""
    full: NDArray[np.int64]
    """(N,) how many blocks of each arm are full."""
    size: NDArray[np.int64]
    """(N,) the size of its blocks."""
    filling: NDArray[np.int64]
    """(N,) how many losses its next block already has."""
    totals: NDArray[np.float64]
    """(N,) ``O_i median_i``."""
    seen: NDArray[np.float64]
    """(N,) ``O_i``: observations in full blocks."""
    ordered: NDArray[np.float64]
    """(groups,) room for sorting."""
    indices: NDArray[np.float64]
    """(N,) room for the indices."""
    clock: NDArray[np.float64]
    """(1,) round."""
    visibility: Visibility
    width: float


@dataclass(frozen=True)
class RobustUCB(IndexLearner[State]):
    """UCB over medians of means; ``groups`` is how many blocks an arm has at most, an even number.

    >>> from allworlds.graphs import disjoint_cliques
    >>> learner = RobustUCB(disjoint_cliques(1, 2), groups=4)
    >>> state = learner.init()
    >>> for loss in (1.0, 0.25, 0.5):
    ...     learner.update(state, learner.draw(state, 0.3, 0.0), np.array([loss, 0.0]))
    >>> learner.medians(state)
    array([0.5, 0. ])
    """

    name: ClassVar[str] = "robust-ucb"
    positive: ClassVar[tuple[str, ...]] = ("width",)
    saved: ClassVar[tuple[str, ...]] = ("blocks", "full", "size", "filling", "clock")
    scratch: ClassVar[tuple[str, ...]] = ("ordered", "indices")

    width: float = 2.0
    groups: int = 16

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "groups", whole("groups", self.groups, at_least=2))
        if self.groups % 2:
            raise InvalidParameter(f"groups is {self.groups}; expected an even number, as blocks are merged in pairs")

    def init(self) -> State:
        """Nothing seen, round one."""
        n = self.n_arms
        return State(
            blocks=np.zeros((n, self.groups)),
            full=np.zeros(n, dtype=np.int64),
            size=np.ones(n, dtype=np.int64),
            filling=np.zeros(n, dtype=np.int64),
            totals=np.zeros(n),
            seen=np.zeros(n),
            ordered=np.empty(self.groups),
            indices=np.empty(n),
            clock=np.array([1.0]),
            visibility=self.visibility,
            width=self.width,
        )

    def medians(self, state: State) -> NDArray[np.float64]:
        """(N,) the median of the means of the full blocks of each arm; NaN where there is none."""
        some = state.seen > 0.0
        return np.where(some, state.totals / np.where(some, state.seen, 1.0), np.nan)


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def write_indices(state: State) -> None:
    """``median_i - sqrt(width log(t) / O_i)``; minus infinity where no block of an arm is full."""
    write_optimistic(state.totals, state.seen, state.width * math.log(state.clock[0]), state.indices)


@lean_jit
def update(state: State, ticket: Ticket, losses: NDArray[np.float64]) -> None:
    """Put every loss that is seen into the next block of its arm."""
    start = state.visibility.starts[state.visibility.where[ticket.arm]]
    for j in range(losses.size):
        i = state.visibility.order[start + j]
        state.blocks[i, state.full[i]] += losses[j]
        state.filling[i] += 1
        if state.filling[i] == state.size[i]:
            state.filling[i] = 0
            state.full[i] += 1
            if state.full[i] == state.ordered.size:
                merge(state.blocks[i])
                state.full[i] //= 2
                state.size[i] *= 2
            take_median(state, i)
    state.clock[0] += 1.0


@lean_jit
def merge(blocks: NDArray[np.float64]) -> None:
    """Blocks 0 and 1 become block 0, blocks 2 and 3 become block 1, and so on; the upper half is empty again."""
    half = blocks.size // 2
    for k in range(half):
        blocks[k] = blocks[2 * k] + blocks[2 * k + 1]
    for k in range(half, blocks.size):
        blocks[k] = 0.0


@lean_jit
def take_median(state: State, arm: int) -> None:
    """``O_i`` and ``O_i median_i``, by insertion sort of the sums of the full blocks, all of one size."""
    ordered, full = state.ordered, state.full[arm]
    for k in range(full):
        value, place = state.blocks[arm, k], k
        while place > 0 and ordered[place - 1] > value:
            ordered[place] = ordered[place - 1]
            place -= 1
        ordered[place] = value
    middle = 0.5 * (ordered[(full - 1) // 2] + ordered[full // 2])
    state.seen[arm] = full * state.size[arm]
    state.totals[arm] = full * middle


@lean_jit
def resolve(state: State) -> None:
    """The medians of all arms that have a full block."""
    for i in range(state.full.size):
        if state.full[i] > 0:
            take_median(state, i)


register_kernels(State, draw_lowest, update, resolve, index_kernel=write_indices)

RECIPES = (
    LearnerRecipe(
        "robust-ucb",
        RobustUCB,
        "none claimed; our reconstruction of rUCB-MAB [Kapoor et al. 2019]",
        "robust-ucb:width=0.5,groups=8",
        {"width": "number", "groups": "integer"},
        kind=RobustUCB,
        world="corrupted",
        source='Kapoor, Patel and Kar, "Corruption-tolerant bandit learning", Machine Learning 2019',
        rendering="reconstruction",
    ),
)
