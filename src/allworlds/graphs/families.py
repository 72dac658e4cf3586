"""Families of graphs, fixed and random, with their independence and clique cover numbers where these are known.

``alpha`` is the independence number: the most arms of which no two see each other. ``theta`` is the clique cover
number: the fewest cliques that contain all arms. Always alpha <= theta, and they are equal on perfect graphs.

Random graphs are pure functions of their parameters and a seed: an integer, or a ``numpy.random.Generator`` to draw
from. Memory grows with the edges that are drawn, not with the pairs that could be.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from allworlds.foundation.checks import Ints, integers, numbers, real, whole
from allworlds.foundation.errors import InvalidGraph
from allworlds.graphs.graph import FeedbackGraph

Seed: TypeAlias = int | np.random.Generator

MOST_ARMS = 1_000_000_000
"""More arms fit into no memory and are most likely a typing error."""


def bandit(n: int) -> FeedbackGraph:
    """No side observations: an arm sees only itself. alpha = theta = n.

    >>> bandit(3).sees(1)
    array([1])
    """
    return FeedbackGraph._from_sizes(np.ones(check_count("n", n), dtype=np.int64))


def full_information(n: int) -> FeedbackGraph:
    """Every arm sees every arm, as for experts. alpha = theta = 1.

    >>> full_information(3).sees(1)
    array([0, 1, 2])
    """
    return FeedbackGraph._from_sizes(np.array([check_count("n", n)], dtype=np.int64))


def disjoint_cliques(n_cliques: int | Sequence[int], size: int | None = None) -> FeedbackGraph:
    """``n_cliques`` cliques of ``size`` arms each, or one clique for each size in a list.

    The model case of [EK21]. Cliques are consecutive arms. alpha = theta = the number of cliques.

    >>> disjoint_cliques(2, 3).sees(4)
    array([3, 4, 5])
    >>> disjoint_cliques([1, 2, 3]).n_edges
    4
    """
    if size is not None:
        count, each = check_count("n_cliques", n_cliques), check_count("size", size)
        if count * each > MOST_ARMS:
            raise InvalidGraph(f"{count:,} cliques of {each:,} arms are too many; expected at most {MOST_ARMS:,} arms")
        return FeedbackGraph._from_sizes(np.full(count, each, dtype=np.int64))
    if np.ndim(n_cliques) == 0:
        raise InvalidGraph(
            f"disjoint_cliques({n_cliques!r}) lacks the size of a clique; "
            "try disjoint_cliques(n_cliques, size) or disjoint_cliques([1, 2, 3])"
        )
    return FeedbackGraph._from_sizes(_block_sizes(n_cliques))


def star(n: int) -> FeedbackGraph:
    """Arm 0 sees all and is seen by all; the others see only arm 0 and themselves. alpha = theta = n - 1 (1 for n = 1).

    >>> star(4).sees(0), star(4).sees(2)
    (array([0, 1, 2, 3]), array([0, 2]))
    """
    leaves = np.arange(1, check_count("n", n))
    return FeedbackGraph(n, np.column_stack([np.zeros_like(leaves), leaves]))


def path(n: int) -> FeedbackGraph:
    """Arms in a row that see their neighbours in it. alpha = theta = ceil(n / 2).

    >>> path(4).sees(1)
    array([0, 1, 2])
    """
    arms = np.arange(check_count("n", n))
    return FeedbackGraph(n, np.column_stack([arms[:-1], arms[1:]]))


def cycle(n: int) -> FeedbackGraph:
    """Arms in a ring, n >= 3. alpha = floor(n / 2), theta = ceil(n / 2); for n = 3 both are 1.

    The cycle of five is the smallest graph with alpha < theta.

    >>> cycle(5).sees(0)
    array([0, 1, 4])
    """
    arms = np.arange(check_count("n", n, at_least=3))
    return FeedbackGraph(n, np.column_stack([arms, (arms + 1) % n]))


def grid(rows: int, columns: int) -> FeedbackGraph:
    """Arms on a board that see those left, right, above and below.

    Arm ``row * columns + column`` sits at (row, column). alpha = theta = ceil(rows * columns / 2).

    >>> grid(2, 3).sees(1)
    array([0, 1, 2, 4])
    """
    rows, columns = check_count("rows", rows), check_count("columns", columns)
    board = np.arange(rows * columns).reshape(rows, columns)
    across = np.column_stack([board[:, :-1].ravel(), board[:, 1:].ravel()])
    down = np.column_stack([board[:-1].ravel(), board[1:].ravel()])
    return FeedbackGraph(rows * columns, np.concatenate([across, down]))


def interval(intervals: ArrayLike) -> FeedbackGraph:
    """Arms are closed intervals (left, right), (n, 2), that see each other if they meet.

    Interval graphs are perfect: alpha = theta. Periods that overlap and prices close to each other give such graphs.

    >>> interval([(0, 2), (1, 3), (2.5, 4)]).edges().tolist()
    [[0, 1], [1, 2]]
    """
    ends = _coordinates("intervals", intervals)
    if ends.shape[1] != 2:
        raise InvalidGraph(f"intervals has shape {ends.shape}; expected pairs (left, right), shape (n, 2)")
    wrong = np.flatnonzero(ends[:, 0] > ends[:, 1])
    if wrong.size:
        left, right = ends[wrong[0]].tolist()
        raise InvalidGraph(f"interval {wrong[0]} runs from {left} to {right}; expected left <= right")
    by_left = np.argsort(ends[:, 0], kind="stable")
    left, right = ends[by_left, 0], ends[by_left, 1]
    # Sorted by left end, an interval meets exactly those after it that start before it ends.
    here = np.arange(len(ends))
    meets = np.searchsorted(left, right, side="right") - here - 1
    one = np.repeat(here, meets)
    step = np.arange(len(one)) - np.repeat(np.cumsum(meets) - meets, meets) + 1
    return FeedbackGraph(len(ends), np.column_stack([by_left[one], by_left[one + step]]))


def unit_disk(points: ArrayLike, radius: float) -> FeedbackGraph:
    """Arms are points, (n, d), that see each other at a Euclidean distance of at most ``radius``.

    In the plane theta <= 3 alpha: the points that the leftmost point sees lie in half a disk, which three cliques
    cover; remove them and repeat.

    >>> unit_disk([(0, 0), (3, 4), (3, 5)], 1).edges().tolist()
    [[1, 2]]
    """
    from scipy.spatial import KDTree  # here, because it is slow to import

    places = _coordinates("points", points)
    radius = _length("radius", radius)
    # The tree compares squares: ask for slightly more pairs, and compare their distances exactly.
    pairs = KDTree(places).query_pairs(radius * (1 + 1e-12), output_type="ndarray")
    near = np.linalg.norm(places[pairs[:, 0]] - places[pairs[:, 1]], axis=1) <= radius
    return FeedbackGraph(len(places), pairs[near])


def lu_gadgets() -> FeedbackGraph:
    """The 30 arms of Lu et al. 2021, which need more cliques than they have independent arms. alpha = 10, theta = 14.

    Four gadgets of seven arms: a cycle of five, and two hubs that see the whole cycle but not each other. In gadget g,
    arms 7g and 7g + 6 are the hubs and 7g + 1, ..., 7g + 5 the cycle. The edges 0-14 and 7-21 join the gadgets; arm 28
    sees 0 and 7, arm 29 sees 14 and 21. The fractional cover number is 12.

    >>> lu_gadgets()
    FeedbackGraph(30 arms, 66 edges)
    """
    edges = [(28, 0), (28, 7), (29, 14), (29, 21), (0, 14), (7, 21)]
    for base in (0, 7, 14, 21):
        for place in range(1, 6):
            arm = base + place
            edges += [(arm, base + place % 5 + 1), (base, arm), (arm, base + 6)]
    return FeedbackGraph(30, edges)


def mycielski_complement(k: int) -> FeedbackGraph:
    """The complement of the k-th Mycielski graph. alpha = 2 for k >= 2 (1 for k = 1), theta = k.

    Mycielski graphs have no triangle and chromatic number k; each is built from the one before, beginning with one arm
    and one edge. So theta grows without bound while alpha stays 2: the worst case for covers. There are
    3 * 2^(k - 2) - 1 arms for k >= 2.

    >>> mycielski_complement(4)
    FeedbackGraph(11 arms, 35 edges)
    """
    k = check_count("k", k)
    if k > 14:
        raise InvalidGraph(f"k is {k}, which gives {3 * 2 ** (k - 2) - 1} arms; expected at most 14")
    graph = np.zeros((1, 1), dtype=np.bool_) if k == 1 else ~np.eye(2, dtype=np.bool_)
    for _ in range(k - 2):
        n = len(graph)
        larger = np.zeros((2 * n + 1, 2 * n + 1), dtype=np.bool_)
        larger[:n, :n] = larger[:n, n : 2 * n] = larger[n : 2 * n, :n] = graph
        larger[2 * n, n : 2 * n] = larger[n : 2 * n, 2 * n] = True
        graph = larger
    return FeedbackGraph.from_adjacency(~graph)


def erdos_renyi(n: int, p: float, seed: Seed) -> FeedbackGraph:
    """Every two arms see each other with probability ``p``, independently.

    For fixed p and large n, alpha is near 2 log(n) / log(1 / (1 - p)), and theta is far larger, near
    n log(1 / p) / (2 log n).

    >>> erdos_renyi(10, 1.0, seed=0).n_edges
    45
    """
    n, p = check_count("n", n), check_probability("p", p)
    places = successes(n * (n - 1) // 2, p, random_generator(seed))
    return FeedbackGraph(n, _triangle_pairs(places, n))


def stochastic_blocks(sizes: Sequence[int], p_in: float, p_out: float, seed: Seed) -> FeedbackGraph:
    """Communities: arms of one block see each other with probability ``p_in``, other arms with ``p_out``.

    Blocks are consecutive arms. With p_in = 1 and p_out = 0 they are disjoint cliques.

    >>> stochastic_blocks([2, 3], 1.0, 0.0, seed=0).edges().tolist()
    [[0, 1], [2, 3], [2, 4], [3, 4]]
    """
    blocks = _block_sizes(sizes)
    p_in, p_out = (
        check_probability("p_in", p_in),
        check_probability("p_out", p_out),
    )
    rng = random_generator(seed)
    starts = np.cumsum(blocks) - blocks
    pairs = []
    for one, (size, start) in enumerate(zip(blocks.tolist(), starts.tolist(), strict=True)):
        pairs.append(start + _triangle_pairs(successes(size * (size - 1) // 2, p_in, rng), size))
        # All arms of the later blocks at once: a rectangle of size x rest pairs.
        later = start + size
        rest = int(blocks[one + 1 :].sum())
        places = successes(size * rest, p_out, rng)
        if rest:
            pairs.append(np.column_stack([start + places // rest, later + places % rest]))
    return FeedbackGraph(int(blocks.sum()), np.concatenate(pairs))


def random_interval(n: int, length: float, seed: Seed) -> FeedbackGraph:
    """Intervals of one ``length`` that start uniformly in [0, 1]. Perfect: alpha = theta.

    >>> random_interval(5, 1.0, seed=0).n_edges
    10
    """
    n, length = check_count("n", n), _length("length", length)
    left = random_generator(seed).random(n)
    return interval(np.column_stack([left, left + length]))


def random_unit_disk(n: int, radius: float, seed: Seed) -> FeedbackGraph:
    """Uniform points in the unit square that see each other up to a distance of ``radius``.

    >>> random_unit_disk(5, 1.5, seed=0).n_edges
    10
    """
    return unit_disk(random_generator(seed).random((check_count("n", n), 2)), radius)


def barabasi_albert(n: int, m: int, seed: Seed) -> FeedbackGraph:
    """Arms come one by one, and each links to ``m`` earlier arms, popular ones more often; 1 <= m < n.

    It starts from a star of m + 1 arms, so there are m (n - m) edges. For m = 1 it is a tree, which is
    perfect: alpha = theta. [Barabási and Albert 1999].

    >>> barabasi_albert(10, 2, seed=0)
    FeedbackGraph(10 arms, 16 edges)
    """
    n, m = check_count("n", n), check_count("m", m)
    if m >= n:
        raise InvalidGraph(f"m is {m} with n = {n} arms; expected m below n")
    rng = random_generator(seed)
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


def random_generator(seed: Seed) -> np.random.Generator:
    """The generator itself, or a new one from an integer."""
    return (
        seed if isinstance(seed, np.random.Generator) else np.random.default_rng(check_count("seed", seed, at_least=0))
    )


def check_count(name: str, value: Any, at_least: int = 1) -> int:
    """A whole number, or InvalidGraph."""
    return whole(name, value, at_least=at_least, error=InvalidGraph)


def check_probability(name: str, value: float) -> float:
    """A number from 0 to 1, or InvalidGraph."""
    return real(name, value, at_least=0, at_most=1, error=InvalidGraph)


def _length(name: str, value: float) -> float:
    return real(name, value, at_least=0, error=InvalidGraph)


def _block_sizes(sizes: Sequence[int] | int) -> Ints:
    """(n_groups,), each at least one."""
    array = integers("sizes", sizes, InvalidGraph)
    if array.ndim != 1 or array.size == 0 or array.min() < 1:
        raise InvalidGraph(f"sizes is {sizes!r}; expected a list of positive integers")
    return array


def _coordinates(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """(n, d) finite numbers, n and d at least one."""
    array = numbers(name, values, InvalidGraph)
    if array.ndim != 2 or array.size == 0:
        raise InvalidGraph(f"{name} has shape {array.shape}; expected (n, d) with at least one row")
    wrong = np.flatnonzero(~np.isfinite(array).all(axis=1))
    if wrong.size:
        raise InvalidGraph(f"row {wrong[0]} of {name} is {array[wrong[0]].tolist()}; expected finite numbers")
    return array


def successes(trials: int, p: float, rng: np.random.Generator) -> Ints:
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
