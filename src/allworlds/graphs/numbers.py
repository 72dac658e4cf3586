"""Numbers that describe a graph: today, arms that do not see each other."""

from __future__ import annotations

import heapq

import numpy as np

from allworlds.graphs.checks import Ints
from allworlds.graphs.graph import FeedbackGraph, check_graph
from allworlds.graphs.storage import DisjointCliques
from allworlds.kernels.jit import jit


def independent_set(graph: FeedbackGraph) -> Ints:
    """Arms of which no two are neighbours, many but not always as many as possible.

    No clique holds two of them, so their number is a lower bound on the cliques of any cover, and on the
    independence number. Greedy: take the arm with the fewest neighbours left, drop its neighbours, repeat.
    On disjoint cliques the answer is one arm a clique, the largest set there is.

    Returns the sorted arms, (size,).

    >>> independent_set(FeedbackGraph(4, [(0, 1), (1, 2), (2, 3)]))
    array([0, 2])
    """
    check_graph(graph)
    storage = graph._storage
    if isinstance(storage, DisjointCliques):
        return np.sort(storage.order[storage.starts[:-1]])
    return np.flatnonzero(fewest_neighbours_first(storage.indptr, storage.indices))


@jit
def fewest_neighbours_first(indptr: Ints, indices: Ints) -> Ints:
    """One for each arm taken, zero for the others; O((arms + edges) log arms).

    An arm's count of neighbours left only falls. Each fall adds a heap entry, which comes out before the
    older ones of the same arm; those find it taken or dropped.
    """
    n_arms = len(indptr) - 1
    left = indptr[1:] - indptr[:-1] - 1
    state = np.full(n_arms, -1)  # -1 still there, 0 dropped, 1 taken
    heap = [(left[arm], arm) for arm in range(n_arms)]
    heapq.heapify(heap)
    while len(heap) > 0:
        _, arm = heapq.heappop(heap)
        if state[arm] >= 0:
            continue
        state[arm] = 1
        for neighbour in indices[indptr[arm] : indptr[arm + 1]]:
            if state[neighbour] >= 0:
                continue
            state[neighbour] = 0
            for other in indices[indptr[neighbour] : indptr[neighbour + 1]]:
                if state[other] < 0:
                    left[other] -= 1
                    heapq.heappush(heap, (left[other], other))
    return state
