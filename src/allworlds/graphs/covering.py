"""Finding a cover with few cliques."""

from __future__ import annotations

import heapq
import math
from typing import Any

import numpy as np

from allworlds.errors import InvalidParameter
from allworlds.graphs.checks import Ints
from allworlds.graphs.cover import CliqueCover
from allworlds.graphs.graph import FeedbackGraph, check_graph
from allworlds.graphs.numbers import independent_set
from allworlds.graphs.storage import DisjointCliques
from allworlds.kernels.jit import jit


def clique_cover(graph: FeedbackGraph, time_limit: float | None = None) -> CliqueCover:
    """A partition of the arms into few cliques, with a lower bound on how few there can be.

    The fewest possible is NP-hard to find, and any valid cover keeps the learner's guarantee, with its own
    number of cliques. Disjoint cliques are read off exactly. Otherwise this is DSATUR, the colouring of
    [Brélaz 1979], on the complement graph, which is never built: a colour class of the complement is a clique
    here. The next arm is the one that the fewest cliques can still take (then the one with the fewest
    neighbours, then the first); it joins the first clique that can take it, or opens a new one. That is exact
    where the complement is bipartite. A greedy independent set gives the lower bound.

    Parameters
    ----------
    graph:
        The graph to cover.
    time_limit:
        Seconds that a search may take. Neither way above is a search, so today it changes nothing.

    Examples
    --------
    >>> cover = clique_cover(FeedbackGraph(4, [(0, 1), (1, 2), (0, 2), (2, 3)]))
    >>> cover
    CliqueCover(4 arms in 2 cliques, at least 2 needed, dsatur)
    >>> cover.is_minimum
    True
    """
    check_graph(graph)
    _check_time_limit(time_limit)
    storage = graph._storage
    if isinstance(storage, DisjointCliques):
        n_cliques = len(storage.starts) - 1
        return CliqueCover._trusted(graph, *storage.arrays(), n_cliques, "structure")
    owner = _dsatur(storage.indptr, storage.indices)
    return CliqueCover.from_owner(graph, owner, lower_bound=len(independent_set(graph)), method="dsatur")


def _check_time_limit(time_limit: Any) -> None:
    if time_limit is None:
        return
    number = isinstance(time_limit, int | float | np.integer | np.floating) and not isinstance(time_limit, bool)
    if not number or math.isnan(time_limit) or time_limit <= 0:
        raise InvalidParameter(f"time_limit must be None or a positive number of seconds, but {time_limit!r} came")


@jit
def _dsatur(indptr: Ints, indices: Ints) -> Ints:
    """The clique of each arm, (n_arms,); memory O(edges), time O(sum of clique size x degree).

    ``takers[v]`` counts the cliques that can take v, those whose members all see v. The takeable arms of
    clique k are ``pool[first[k]:last[k]]``: first the neighbours of the arm that opened it, then ever fewer.
    The heap has an entry for each arm not yet placed that is not above its true (takers, degree, arm).
    """
    n_arms = len(indptr) - 1
    degree = indptr[1:] - indptr[:-1] - 1
    owner = np.full(n_arms, -1)
    takers = np.zeros(n_arms, dtype=np.int64)
    pool = np.empty(len(indices), dtype=np.int64)
    first, last = np.zeros(n_arms, dtype=np.int64), np.zeros(n_arms, dtype=np.int64)
    size, seen = np.zeros(n_arms, dtype=np.int64), np.zeros(n_arms, dtype=np.int64)
    mark = np.full(n_arms, -1)
    n_cliques = 0
    end = 0
    heap = [(takers[arm], degree[arm], arm) for arm in range(n_arms)]
    heapq.heapify(heap)
    while len(heap) > 0:
        count, _, arm = heapq.heappop(heap)
        if owner[arm] >= 0:
            continue
        if count != takers[arm]:
            heapq.heappush(heap, (takers[arm], degree[arm], arm))
            continue
        row = indices[indptr[arm] : indptr[arm + 1]]
        clique = _first_taker(row, owner, size, seen)
        if clique < 0:
            clique = owner[arm] = n_cliques
            n_cliques += 1
            first[clique] = end
            for neighbour in row:
                if owner[neighbour] < 0:
                    pool[end] = neighbour
                    end += 1
                    takers[neighbour] += 1
            last[clique] = end
        else:
            owner[arm] = clique
            mark[row] = arm
            last[clique] = _narrow(pool, first[clique], last[clique], mark, arm, owner, takers, degree, heap)
        size[clique] += 1
    return owner


@jit
def _first_taker(row: Ints, owner: Ints, size: Ints, seen: Ints) -> int:
    """The first clique whose members are all in ``row``, or -1; ``seen`` is zero before and after."""
    best = -1
    for neighbour in row:
        clique = owner[neighbour]
        if clique >= 0:
            seen[clique] += 1
            if seen[clique] == size[clique] and (best < 0 or clique < best):
                best = clique
    for neighbour in row:
        if owner[neighbour] >= 0:
            seen[owner[neighbour]] = 0
    return best


@jit
def _narrow(
    pool: Ints,
    first: int,
    last: int,
    mark: Ints,
    arm: int,
    owner: Ints,
    takers: Ints,
    degree: Ints,
    heap: list[tuple[int, int, int]],
) -> int:
    """Keep the arms of a clique's pool that see its new member ``arm``; the others lose a taker."""
    kept = first
    for place in range(first, last):
        other = pool[place]
        if owner[other] >= 0:
            continue
        if mark[other] == arm:
            pool[kept] = other
            kept += 1
        else:
            takers[other] -= 1
            heapq.heappush(heap, (takers[other], degree[other], other))
    return kept
