"""The graph of each round, for compiled loops: a table of graphs, and the kernels that write the one of a round.

A graph is written as two lists, what each arm shows and who shows it. Which edges are drawn and what noise is added are
functions of (seed, round, arm), as everything random here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.foundation.checks import Ints
from allworlds.graphs.graph import FeedbackGraph
from allworlds.graphs.storage import Visibility
from allworlds.kernels.jit import lean_jit
from allworlds.kernels.random import STREAM_GRAPH, uniform

STREAM_EDGES, STREAM_NOISE = STREAM_GRAPH, STREAM_GRAPH + 1
FOR_EVER = 2**62
"""The period of a graph that never changes."""


class RoundGraphs(NamedTuple):
    """A graph for each round; lists are as in :class:`~allworlds.graphs.storage.Visibility`."""

    period: int
    """For how many rounds a graph stays."""
    starts: Ints
    """(m, N + 1) where the list of each arm starts in ``order``, for each of m graphs that take turns."""
    order: Ints
    chances: NDArray[np.float64]
    """(c, N, N) the probability that arm i sees arm j in a round, in each of c cases; empty unless edges are drawn."""
    hinge: int
    """The arm whose loss decides the case: 1 above one half, else 0; -1 if there is one case."""
    mutual: bool
    """Whether i sees j in a round exactly if j sees i."""
    weights: NDArray[np.float64]
    """(N, N) the weight of each observation; empty where there is no noise."""
    noise: float


def make_round_graphs(
    graphs: Sequence[FeedbackGraph],
    period: int = FOR_EVER,
    *,
    chances: NDArray[np.float64] | None = None,
    hinge: int = -1,
    weights: NDArray[np.float64] | None = None,
    noise: float = 0.0,
) -> RoundGraphs:
    """Graphs that take turns, or one whose edges are drawn by ``chances``, or one with ``weights`` and noise."""
    lists = [lists_of(graph) for graph in graphs]
    ends = np.cumsum([0, *(len(order) for _, order in lists)])
    return RoundGraphs(
        period,
        np.stack([starts + end for (starts, _), end in zip(lists, ends[:-1], strict=True)]),
        np.concatenate([order for _, order in lists]),
        np.zeros((0, 0, 0)) if chances is None else chances.copy(),  # writable: to Numba, read-only is another type
        hinge,
        chances is not None and bool(np.array_equal(chances, chances.swapaxes(1, 2))),
        np.zeros((0, 0)) if weights is None else weights.copy(),
        noise,
    )


def lists_of(graph: FeedbackGraph, back: bool = False) -> tuple[Ints, Ints]:
    """What each arm shows, or who shows it, as two arrays: list i is ``order[starts[i]:starts[i + 1]]``."""
    lists = [graph.seen_by(arm) if back else graph.sees(arm) for arm in range(graph.n_arms)]
    starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum([len(each) for each in lists])])
    return starts, np.concatenate(lists)


def blank_lists(n_arms: int) -> tuple[Visibility, Visibility]:
    """Room for the lists of any graph: what each arm shows, and who shows it.

    Until a graph is written there, arms see only themselves, so that nothing is divided by zero.
    """

    def room() -> Visibility:
        order = np.zeros(n_arms**2, dtype=np.int64)
        order[:n_arms] = np.arange(n_arms)
        return Visibility(np.arange(n_arms), np.arange(n_arms + 1), order)

    return room(), room()


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def is_new(graphs: RoundGraphs, round: int) -> bool:
    """Whether the graph of a round is another one than that of the round before."""
    return bool((round - 1) % graphs.period == 0)


@lean_jit
def write_graph(
    graphs: RoundGraphs, seed: int, round: int, hinge_loss: float, seen: Visibility, observers: Visibility
) -> None:
    """Write the graph of a round: what each arm shows, and who shows it."""
    block = (round - 1) // graphs.period
    if graphs.chances.size > 0:
        case = 1 if graphs.hinge >= 0 and hinge_loss > 0.5 else 0
        _draw_lists(graphs.chances[case], graphs.mutual, seed, block, seen)
    else:
        _copy_lists(graphs.starts[block % graphs.starts.shape[0]], graphs.order, seen)
    _transpose(seen, observers)


@lean_jit
def _copy_lists(starts: Ints, order: Ints, out: Visibility) -> None:
    first = starts[0]
    for i in range(starts.size):
        out.starts[i] = starts[i] - first
    for j in range(starts[-1] - first):
        out.order[j] = order[first + j]


@lean_jit
def _draw_lists(chances: NDArray[np.float64], mutual: bool, seed: int, block: int, out: Visibility) -> None:
    """Arm i sees arm j if the uniform of the pair is below its chance; mutual pairs have one uniform for both ways."""
    n_arms, end = chances.shape[0], 0
    for i in range(n_arms):
        out.starts[i] = end
        for j in range(n_arms):
            chance = chances[i, j]
            if chance > 0.0:
                lane = j * n_arms + i if mutual and j < i else i * n_arms + j
                if chance >= 1.0 or uniform(seed, STREAM_EDGES, block, lane) < chance:
                    out.order[end] = j
                    end += 1
    out.starts[n_arms] = end


@lean_jit
def _transpose(seen: Visibility, observers: Visibility) -> None:
    """Who shows each arm, by counting: ``observers.starts[j + 1]`` is first where list j begins, then where it ends."""
    n_arms = seen.starts.size - 1
    starts = observers.starts
    for j in range(n_arms + 1):
        starts[j] = 0
    for k in range(seen.starts[n_arms]):
        if seen.order[k] + 2 <= n_arms:
            starts[seen.order[k] + 2] += 1
    for j in range(2, n_arms + 1):
        starts[j] += starts[j - 1]
    for i in range(n_arms):
        for k in range(seen.starts[i], seen.starts[i + 1]):
            j = seen.order[k]
            observers.order[starts[j + 1]] = i
            starts[j + 1] += 1


@lean_jit
def add_noise(graphs: RoundGraphs, seed: int, round: int, arm: int, seen: Ints, losses: NDArray[np.float64]) -> None:
    """``s l + (1 - s) xi`` for what ``arm`` shows with a weight ``s`` below 1."""
    if graphs.weights.size == 0:
        return
    for j in range(seen.size):
        s = graphs.weights[arm, seen[j]]
        if s < 1.0:
            xi = graphs.noise * (2.0 * uniform(seed, STREAM_NOISE, round, seen[j]) - 1.0)
            losses[j] = s * losses[j] + (1.0 - s) * xi
