"""Covers arm by arm, on a complement that is never built: memory follows the edges."""

from __future__ import annotations

import heapq

import numpy as np

from allworlds.foundation.checks import Ints
from allworlds.kernels.jit import jit


def largest_first(owner: Ints, size_order: Ints, rng: np.random.Generator) -> Ints:
    """The arms clique by clique, cliques in the order of ``size_order`` with some chance, (n_arms,).

    Greedy in such an order never needs more cliques than ``owner`` has [Culberson 1992].

    >>> largest_first(np.array([0, 1, 1]), np.array([1.0, 2.0]), np.random.default_rng(0)).tolist()
    [1, 2, 0]
    """
    keys = size_order * rng.uniform(0.5, 1.5, len(size_order)) if len(size_order) > 2 else size_order
    rank = np.empty(len(keys), dtype=np.int64)
    rank[np.argsort(-keys, kind="stable")] = np.arange(len(keys))
    return np.argsort(rank[owner], kind="stable")


@jit
def cover_in_order(indptr: Ints, indices: Ints, order: Ints) -> Ints:
    """The clique of each arm when arms come in ``order`` and join the first clique that can take them, (n_arms,)."""
    n_arms = len(indptr) - 1
    owner = np.full(n_arms, -1)
    size, seen = np.zeros(n_arms, dtype=np.int64), np.zeros(n_arms, dtype=np.int64)
    n_cliques = 0
    for arm in order:
        clique = _first_taker(indices[indptr[arm] : indptr[arm + 1]], owner, size, seen)
        if clique < 0:
            clique = n_cliques
            n_cliques += 1
        owner[arm] = clique
        size[clique] += 1
    return owner


@jit
def dsatur(indptr: Ints, indices: Ints) -> Ints:
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
