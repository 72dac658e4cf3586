"""Random graphs: pure functions of their sizes and a seed.

A seed is an integer, or a ``numpy.random.Generator`` to draw from. Memory follows the edges that are drawn,
not the pairs that could be.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from allworlds.foundation.checks import Ints, real, whole
from allworlds.foundation.errors import InvalidGraph
from allworlds.graphs.families import block_sizes, interval, unit_disk
from allworlds.graphs.graph import FeedbackGraph

Seed: TypeAlias = int | np.random.Generator


def erdos_renyi(n: int, p: float, seed: Seed) -> FeedbackGraph:
    """Every two arms see each other with probability ``p``, independently.

    For fixed p and large n, alpha is near 2 log(n) / log(1 / (1 - p)), and theta is far larger, near
    n log(1 / p) / (2 log n).

    >>> erdos_renyi(10, 1.0, seed=0).n_edges
    45
    """
    n, p = whole("n", n, error=InvalidGraph), real("p", p, at_least=0, at_most=1, error=InvalidGraph)
    places = _successes(n * (n - 1) // 2, p, generator(seed))
    return FeedbackGraph(n, _triangle_pairs(places, n))


def stochastic_blocks(sizes: Sequence[int], p_in: float, p_out: float, seed: Seed) -> FeedbackGraph:
    """Communities: arms of one block see each other with probability ``p_in``, others with ``p_out``.

    Blocks are runs of consecutive arms. With p_in = 1 and p_out = 0 these are disjoint cliques,
    alpha = theta = the number of blocks.

    >>> stochastic_blocks([2, 3], 1.0, 0.0, seed=0).edges().tolist()
    [[0, 1], [2, 3], [2, 4], [3, 4]]
    """
    blocks = block_sizes(sizes)
    p_in, p_out = (
        real("p_in", p_in, at_least=0, at_most=1, error=InvalidGraph),
        real("p_out", p_out, at_least=0, at_most=1, error=InvalidGraph),
    )
    rng = generator(seed)
    starts = np.cumsum(blocks) - blocks
    pairs = []
    for one, (size, start) in enumerate(zip(blocks.tolist(), starts.tolist(), strict=True)):
        pairs.append(start + _triangle_pairs(_successes(size * (size - 1) // 2, p_in, rng), size))
        # All arms of the later blocks at once: a rectangle of size x rest pairs.
        later = start + size
        rest = int(blocks[one + 1 :].sum())
        places = _successes(size * rest, p_out, rng)
        if rest:
            pairs.append(np.column_stack([start + places // rest, later + places % rest]))
    return FeedbackGraph(int(blocks.sum()), np.concatenate(pairs))


def random_interval(n: int, length: float, seed: Seed) -> FeedbackGraph:
    """Intervals of one ``length`` that start uniformly in [0, 1]. Perfect: alpha = theta.

    >>> random_interval(5, 1.0, seed=0).n_edges
    10
    """
    n, length = whole("n", n, error=InvalidGraph), real("length", length, at_least=0, error=InvalidGraph)
    left = generator(seed).random(n)
    return interval(np.column_stack([left, left + length]))


def random_unit_disk(n: int, radius: float, seed: Seed) -> FeedbackGraph:
    """Uniform points in the unit square that see each other up to a distance of ``radius``.

    >>> random_unit_disk(5, 1.5, seed=0).n_edges
    10
    """
    return unit_disk(generator(seed).random((whole("n", n, error=InvalidGraph), 2)), radius)


def barabasi_albert(n: int, m: int, seed: Seed) -> FeedbackGraph:
    """Arms come one by one, and each links to ``m`` earlier arms, popular ones more often; 1 <= m < n.

    It starts from a star of m + 1 arms, so there are m (n - m) edges. For m = 1 it is a tree, which is
    perfect: alpha = theta. [Barabási and Albert 1999].

    >>> barabasi_albert(10, 2, seed=0)
    FeedbackGraph(10 arms, 16 edges)
    """
    n, m = whole("n", n, error=InvalidGraph), whole("m", m, error=InvalidGraph)
    if m >= n:
        raise InvalidGraph(f"m must be below n, but m = {m} links and n = {n} arms came")
    rng = generator(seed)
    ends = np.empty(2 * m * (n - m), dtype=np.int64)  # an arm is here once for each of its links
    ends[0 : 2 * m : 2], ends[1 : 2 * m : 2] = 0, np.arange(1, m + 1)
    for arm in range(m + 1, n):
        known = 2 * m * (arm - m)
        chosen: dict[int, None] = {}
        while len(chosen) < m:
            for place in rng.integers(known, size=m - len(chosen)).tolist():
                chosen[int(ends[place])] = None
        ends[known : known + 2 * m : 2], ends[known + 1 : known + 2 * m : 2] = list(chosen), arm
    return FeedbackGraph(n, ends.reshape(-1, 2))


def generator(seed: Seed) -> np.random.Generator:
    """The generator of a seed.

    >>> generator(0).random() == np.random.default_rng(0).random()
    True
    """
    if isinstance(seed, np.random.Generator):
        return seed
    return np.random.default_rng(whole("seed", seed, at_least=0, error=InvalidGraph))


def _successes(trials: int, p: float, rng: np.random.Generator) -> Ints:
    """Which of ``trials`` independent trials succeed, sorted: jump from success to success.

    The gap to the next success is geometric, so the work follows the successes and not the trials.
    """
    found = [np.zeros(0, dtype=np.int64)]
    last = -1
    while p > 0 and last < trials:
        expected = (trials - last) * p
        draws = int(expected + 4 * np.sqrt(expected)) + 16
        gaps = np.minimum(rng.geometric(p, size=draws), trials + 1)
        places = last + np.cumsum(gaps)
        found.append(places[places < trials])
        last = int(places[-1])
    return np.concatenate(found)


def _triangle_pairs(places: Ints, n: int) -> Ints:
    """The places-th pairs i < j of n arms, counted row by row, (len(places), 2)."""
    row_ends = np.cumsum(np.arange(n - 1, -1, -1))
    rows = np.searchsorted(row_ends, places, side="right")
    columns = places - row_ends[rows] + n if len(places) else places
    return np.column_stack([rows, columns])
