"""What index rules share: counts of all that was seen, the lowest index, and equal chances for those that have it.

An index rule keeps numbers for each arm, makes one number of them, the index, and plays the arm with the lowest. Its
file has the formula, a kernel that writes the indices into ``state.indices``, which is scratch, and registers it as
``index_kernel`` with :func:`draw_lowest` as its ``draw``. Arms with the same index are equally likely, so the numbers
of the arms do not matter, and the probability of a choice is known.

Most rules need the sum of the losses seen and their number. They have an :class:`IndexState` of their own, keep what
else the formula needs in ``rates``, and register :func:`count_seen` as their ``update``.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.kernels.jit import lean_jit
from allworlds.learners.base import Learner, StateT, Ticket
from allworlds.learners.dispatch import Visibility, write_indices
from allworlds.learners.sampling import ROUND


class IndexState(NamedTuple):
    """What the next round of an index rule needs; a saved or compiled state belongs to one learner, so each derives."""

    totals: NDArray[np.float64]
    """(N,) the sum of the losses seen."""
    seen: NDArray[np.float64]
    """(N,) how often each arm was seen."""
    clock: NDArray[np.float64]
    """(1,) round."""
    indices: NDArray[np.float64]
    """(N,) room for the index of each arm."""
    visibility: Visibility
    rates: Any
    """What else the formula needs: a named tuple."""


class IndexLearner(Learner[StateT, Ticket]):
    """A learner that plays an arm with the lowest index, each of several with the same probability."""

    accepts: ClassVar[frozenset[str]] = frozenset({"directed", "changing", "uninformed"})
    saved: ClassVar[tuple[str, ...]] = ("totals", "seen", "clock")
    scratch: ClassVar[tuple[str, ...]] = ("indices",)
    state_class: ClassVar[type] = IndexState

    def init(self) -> StateT:
        """Nothing seen, round one."""
        n = self.n_arms
        state: StateT = self.state_class(
            np.zeros(n), np.zeros(n), np.array([1.0]), np.empty(n), self.visibility, self.rates()
        )
        return state

    def rates(self) -> Any:
        """What the formula needs beside sums and counts."""
        return ()

    def distribution(self, state: StateT) -> NDArray[np.float64]:
        """(N,) the arms with the lowest index share the coming round equally."""
        write_indices(state)
        return share_lowest(state.indices)  # type: ignore[attr-defined]


def share_lowest(indices: NDArray[np.float64]) -> NDArray[np.float64]:
    """(N,) the arms with the lowest index share the round equally.

    >>> share_lowest(np.array([0.5, 0.2, 0.2]))
    array([0. , 0.5, 0.5])
    """
    best = indices == indices.min()
    return np.where(best, 1.0 / best.sum(), 0.0)


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def pick_lowest(indices: NDArray[np.float64], uniform: float) -> tuple[int, float]:
    """One of the arms with the lowest index, chosen by ``uniform``, and its probability."""
    least, ties = lowest(indices)
    return place_of(indices, least, int(uniform * ties)), 1.0 / ties


@lean_jit
def draw_lowest(state: Any, first: float, second: float) -> Ticket:
    """The ``draw`` of most index rules: the arm with the lowest index, one of the best by the first uniform."""
    write_indices(state)
    arm, probability = pick_lowest(state.indices, first)
    return Ticket(arm, probability, int(state.clock[ROUND]))


@lean_jit
def mix_lowest(
    indices: NDArray[np.float64], exploration: NDArray[np.float64], share: float, out: NDArray[np.float64]
) -> None:
    """``share u + (1 - share) b``: ``u`` is ``exploration``, ``b`` uniform on the arms with the lowest index."""
    least, ties = lowest(indices)
    for i in range(out.size):
        best = 1.0 / ties if indices[i] == least else 0.0
        out[i] = share * exploration[i] + (1.0 - share) * best


@lean_jit
def lowest(indices: NDArray[np.float64]) -> tuple[float, int]:
    """The lowest index, and how many arms have it."""
    least, ties = indices[0], 1
    for i in range(1, indices.size):
        if indices[i] < least:
            least, ties = indices[i], 1
        elif indices[i] == least:
            ties += 1
    return least, ties


@lean_jit
def place_of(indices: NDArray[np.float64], value: float, skip: int) -> int:
    """The arm whose index is ``value``, after ``skip`` others that have it too."""
    arm = 0
    for i in range(indices.size):
        if indices[i] == value:
            arm = i
            if skip == 0:
                break
            skip -= 1
    return arm


@lean_jit
def count_losses(
    visibility: Visibility,
    arm: int,
    losses: NDArray[np.float64],
    totals: NDArray[np.float64],
    seen: NDArray[np.float64],
) -> None:
    """``O_i += 1`` and ``totals_i += l_i`` for every arm that ``arm`` shows."""
    start = visibility.starts[visibility.where[arm]]
    for j in range(losses.size):
        i = visibility.order[start + j]
        totals[i] += losses[j]
        seen[i] += 1.0


@lean_jit
def count_seen(state: Any, ticket: Ticket, losses: NDArray[np.float64]) -> None:
    """The ``update`` of most index rules: ``O_i += 1`` and ``totals_i += l_i`` for every arm that is seen."""
    count_losses(state.visibility, ticket.arm, losses, state.totals, state.seen)
    state.clock[ROUND] += 1.0


@lean_jit
def mean(total: float, seen: float) -> float:
    """The mean loss of one arm; infinity where it was never seen."""
    return total / seen if seen > 0.0 else math.inf


@lean_jit
def lowest_mean(totals: NDArray[np.float64], seen: NDArray[np.float64], arms: NDArray[np.int64]) -> tuple[float, int]:
    """The lowest mean among ``arms``, and how many of them have it."""
    best, ties = math.inf, 0
    for j in range(arms.size):
        value = mean(totals[arms[j]], seen[arms[j]])
        if value < best:
            best, ties = value, 1
        elif value == best:
            ties += 1
    return best, ties


@lean_jit
def bernoulli_divergence(p: float, q: float) -> float:
    """``kl(p, q) = p log(p/q) + (1-p) log((1-p)/(1-q))``, with ``0 log 0 = 0``; infinity where ``q`` excludes ``p``."""
    if p == q:
        return 0.0
    if (p > 0.0 and q <= 0.0) or (p < 1.0 and q >= 1.0):
        return math.inf
    value = p * math.log(p / q) if p > 0.0 else 0.0
    if p < 1.0:
        value += (1.0 - p) * math.log((1.0 - p) / (1.0 - q))
    return max(0.0, value)  # rounding may take it below


@lean_jit
def write_optimistic(
    totals: NDArray[np.float64], seen: NDArray[np.float64], bonus: float, out: NDArray[np.float64]
) -> None:
    """``mean_i - sqrt(bonus / O_i)``: the lowest mean that observations allow; minus infinity where there are none."""
    for i in range(out.size):
        out[i] = totals[i] / seen[i] - math.sqrt(bonus / seen[i]) if seen[i] > 0.0 else -math.inf
