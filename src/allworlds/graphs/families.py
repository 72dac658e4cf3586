"""Graphs with a name, each with its numbers where they are known.

``alpha`` is the independence number: the most arms of which no two see each other. ``theta`` is the clique
cover number: the fewest cliques that hold all arms. Always alpha <= theta, and they are equal on perfect
graphs. The random families are in ``random_families.py``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from allworlds.foundation.checks import Ints, integers, real, whole
from allworlds.foundation.errors import InvalidGraph
from allworlds.graphs.graph import FeedbackGraph


def bandit(n: int) -> FeedbackGraph:
    """No side observations: an arm sees only itself. alpha = theta = n.

    >>> bandit(3).sees(1)
    array([1])
    """
    return FeedbackGraph._from_sizes(np.ones(whole("n", n, error=InvalidGraph), dtype=np.int64))


def full_information(n: int) -> FeedbackGraph:
    """Every arm sees every arm, as for experts. alpha = theta = 1.

    >>> full_information(3).sees(1)
    array([0, 1, 2])
    """
    return FeedbackGraph._from_sizes(np.array([whole("n", n, error=InvalidGraph)], dtype=np.int64))


MOST_ARMS = 1_000_000_000
"""More would not fit any machine's memory, and are a slip of the pen."""


def disjoint_cliques(n_cliques: int | Sequence[int], size: int | None = None) -> FeedbackGraph:
    """``n_cliques`` cliques of ``size`` arms each, or one clique for each size in a list.

    The model case of [EK21]. Cliques are runs of consecutive arms. alpha = theta = the number of cliques.

    >>> disjoint_cliques(2, 3).sees(4)
    array([3, 4, 5])
    >>> disjoint_cliques([1, 2, 3]).n_edges
    4
    """
    if size is not None:
        count, each = whole("n_cliques", n_cliques, error=InvalidGraph), whole("size", size, error=InvalidGraph)
        if count * each > MOST_ARMS:
            raise InvalidGraph(f"{count:,} cliques of {each:,} arms are too many arms; at most {MOST_ARMS:,} are taken")
        return FeedbackGraph._from_sizes(np.full(count, each, dtype=np.int64))
    if np.ndim(n_cliques) == 0:
        raise InvalidGraph(
            f"disjoint_cliques({n_cliques!r}) lacks the size of a clique; "
            "call disjoint_cliques(n_cliques, size) or disjoint_cliques([1, 2, 3])"
        )
    return FeedbackGraph._from_sizes(block_sizes(n_cliques))


def star(n: int) -> FeedbackGraph:
    """Arm 0 sees all and is seen by all; the others see no one else. alpha = theta = n - 1 (1 for n = 1).

    >>> star(4).sees(0), star(4).sees(2)
    (array([0, 1, 2, 3]), array([0, 2]))
    """
    leaves = np.arange(1, whole("n", n, error=InvalidGraph))
    return FeedbackGraph(n, np.column_stack([np.zeros_like(leaves), leaves]))


def path(n: int) -> FeedbackGraph:
    """Arms in a row, each seeing the next and the one before. alpha = theta = ceil(n / 2).

    >>> path(4).sees(1)
    array([0, 1, 2])
    """
    arms = np.arange(whole("n", n, error=InvalidGraph))
    return FeedbackGraph(n, np.column_stack([arms[:-1], arms[1:]]))


def cycle(n: int) -> FeedbackGraph:
    """Arms in a ring, n >= 3. alpha = floor(n / 2), theta = ceil(n / 2); for n = 3 both are 1.

    The cycle of five is the smallest graph with alpha < theta.

    >>> cycle(5).sees(0)
    array([0, 1, 4])
    """
    arms = np.arange(whole("n", n, at_least=3, error=InvalidGraph))
    return FeedbackGraph(n, np.column_stack([arms, (arms + 1) % n]))


def grid(rows: int, columns: int) -> FeedbackGraph:
    """Arms on a board, each seeing the next left, right, above and below.

    Arm ``row * columns + column`` sits at (row, column). alpha = theta = ceil(rows * columns / 2).

    >>> grid(2, 3).sees(1)
    array([0, 1, 2, 4])
    """
    rows, columns = whole("rows", rows, error=InvalidGraph), whole("columns", columns, error=InvalidGraph)
    board = np.arange(rows * columns).reshape(rows, columns)
    across = np.column_stack([board[:, :-1].ravel(), board[:, 1:].ravel()])
    down = np.column_stack([board[:-1].ravel(), board[1:].ravel()])
    return FeedbackGraph(rows * columns, np.concatenate([across, down]))


def interval(intervals: ArrayLike) -> FeedbackGraph:
    """Arms are closed intervals (left, right), (n, 2), which see each other when they meet.

    Interval graphs are perfect: alpha = theta. Points in time that are valid together, or prices that are
    near enough, make such graphs.

    >>> interval([(0, 2), (1, 3), (2.5, 4)]).edges().tolist()
    [[0, 1], [1, 2]]
    """
    ends = coordinates(intervals, "intervals")
    if ends.shape[1] != 2:
        raise InvalidGraph(f"intervals must be pairs (left, right), shape (n, 2), but shape {ends.shape} came")
    wrong = np.flatnonzero(ends[:, 0] > ends[:, 1])
    if wrong.size:
        left, right = ends[wrong[0]].tolist()
        raise InvalidGraph(f"interval {wrong[0]} runs from {left} to {right}; left must not be above right")
    by_left = np.argsort(ends[:, 0], kind="stable")
    left, right = ends[by_left, 0], ends[by_left, 1]
    # By left end, an interval meets exactly those after it that start before it stops.
    here = np.arange(len(ends))
    meets = np.searchsorted(left, right, side="right") - here - 1
    one = np.repeat(here, meets)
    step = np.arange(len(one)) - np.repeat(np.cumsum(meets) - meets, meets) + 1
    return FeedbackGraph(len(ends), np.column_stack([by_left[one], by_left[one + step]]))


def unit_disk(points: ArrayLike, radius: float) -> FeedbackGraph:
    """Arms are points, (n, d), which see each other at a Euclidean distance of at most ``radius``.

    alpha and theta have no closed form. In the plane theta <= 3 alpha: what the leftmost point sees lies in
    half a disk, three sectors of which are cliques; cut them off and go on.

    >>> unit_disk([(0, 0), (3, 4), (3, 5)], 1).edges().tolist()
    [[1, 2]]
    """
    places = coordinates(points, "points")
    radius = real("radius", radius, at_least=0, error=InvalidGraph)
    by_first = np.argsort(places[:, 0], kind="stable")
    places = places[by_first]
    stop = np.searchsorted(places[:, 0], places[:, 0] + radius * (1 + 1e-12), side="right")
    pairs = [np.zeros((0, 2), dtype=np.int64)]
    for one, end in enumerate(stop.tolist()):
        distance = np.linalg.norm(places[one + 1 : end] - places[one], axis=1)
        near = one + 1 + np.flatnonzero(distance <= radius)
        pairs.append(np.column_stack([np.full_like(near, by_first[one]), by_first[near]]))
    return FeedbackGraph(len(places), np.concatenate(pairs))


def lu_gadgets() -> FeedbackGraph:
    """The 30 arms of Lu et al. 2021, where covers cost more than independent sets. alpha = 10, theta = 14.

    Four gadgets of seven arms: a cycle of five, and two hubs that see the whole cycle but not each other. Of
    gadget g, arms 7g and 7g + 6 are the hubs and 7g + 1, ..., 7g + 5 the cycle. The edges 0-14 and 7-21 join
    the gadgets; arm 28 sees 0 and 7, arm 29 sees 14 and 21. The fractional cover number is 12.

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

    Mycielski graphs have no triangle and chromatic number k: from k = 1, one arm, and k = 2, one edge, each
    makes the next. So theta grows without bound while alpha stays 2: the worst case for covers. There are
    3 * 2^(k - 2) - 1 arms for k >= 2.

    >>> mycielski_complement(4)
    FeedbackGraph(11 arms, 35 edges)
    """
    k = whole("k", k, error=InvalidGraph)
    if k > 14:
        raise InvalidGraph(f"mycielski_complement({k}) has {3 * 2 ** (k - 2) - 1} arms; k must be 14 at most")
    graph = np.zeros((1, 1), dtype=np.bool_) if k == 1 else ~np.eye(2, dtype=np.bool_)
    for _ in range(k - 2):
        n = len(graph)
        larger = np.zeros((2 * n + 1, 2 * n + 1), dtype=np.bool_)
        larger[:n, :n] = larger[:n, n : 2 * n] = larger[n : 2 * n, :n] = graph
        larger[2 * n, n : 2 * n] = larger[n : 2 * n, 2 * n] = True
        graph = larger
    return FeedbackGraph.from_adjacency(~graph)


def block_sizes(sizes: Sequence[int] | int) -> Ints:
    """Sizes of groups, (n_groups,), each at least one.

    >>> block_sizes([2, 3])
    array([2, 3])
    """
    array = integers("sizes", sizes, InvalidGraph)
    if array.ndim != 1 or array.size == 0 or array.min() < 1:
        raise InvalidGraph(f"sizes must be a list of positive integers, but {sizes!r} came")
    return array


def coordinates(values: ArrayLike, what: str) -> NDArray[np.float64]:
    """Finite coordinates, (n, d), n and d at least one.

    >>> coordinates([(0, 1)], "points")
    array([[0., 1.]])
    """
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidGraph(f"{what} must be numbers in an array of shape (n, d)") from None
    if array.ndim != 2 or array.size == 0:
        raise InvalidGraph(f"{what} must have shape (n, d) with at least one row, but shape {array.shape} came")
    wrong = np.flatnonzero(~np.isfinite(array).all(axis=1))
    if wrong.size:
        raise InvalidGraph(f"row {wrong[0]} of {what} is {array[wrong[0]].tolist()}, which is not finite")
    return array
