"""Covers without search: greedily, arm by arm, and rebalanced by moves that lower a cost.

The complement graph, on which these would be colourings, is never built: memory grows with the edges.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from allworlds.foundation.checks import Ints
from allworlds.foundation.errors import InvalidParameter
from allworlds.kernels.jit import jit

SWEEPS = 100


def largest_first(owner: Ints, sizes: Ints, rng: np.random.Generator) -> Ints:
    """The arms clique by clique, (n_arms,), cliques of large ``sizes`` first, up to random factors.

    Greedy in such an order never needs more cliques than ``owner`` has [Culberson 1992].

    >>> largest_first(np.array([0, 1, 1]), np.array([1.0, 2.0]), np.random.default_rng(0)).tolist()
    [1, 2, 0]
    """
    keys = sizes * rng.uniform(0.5, 1.5, len(sizes)) if len(sizes) > 2 else sizes
    return np.lexsort((owner, -keys[owner]))


def rebalance(indptr: Ints, indices: Ints, owner: Ints, cost: Callable[[int], float]) -> Ints:
    """The cover with lower total ``cost(size)`` that moving single arms and joining two cliques lead to, (n_arms,).

    An arm moves where the total falls most: to another clique whose arms it sees, or to a clique of its own. Empty
    cliques disappear.

    >>> line = np.array([0, 2, 5, 8, 10]), np.array([0, 1, 0, 1, 2, 1, 2, 3, 2, 3])
    >>> rebalance(*line, np.arange(4), cost=lambda size: 1.0).tolist()
    [0, 0, 1, 1]
    """
    n_arms = len(owner)
    largest = min(n_arms, int((indptr[1:] - indptr[:-1]).max()))
    costs = np.array([0.0, *(float(cost(size)) for size in range(1, largest + 2))])
    if not np.all(np.isfinite(costs)):
        raise InvalidParameter(f"a cost of objective is not finite; expected finite costs for sizes 1 to {largest}")
    groups, sizes = owner.astype(np.int64), np.bincount(owner, minlength=n_arms)
    for _ in range(SWEEPS):
        moved = _move_arms(indptr, indices, groups, sizes, costs)
        if _join_cliques(indptr, indices, groups, sizes, costs) + moved == 0:
            break
    return np.unique(groups, return_inverse=True)[1].ravel()


@jit
def cover_in_order(indptr: Ints, indices: Ints, order: Ints) -> Ints:
    """The clique of each arm, (n_arms,), if arms join, in ``order``, the first clique that they see entirely."""
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
    """The cover of DSATUR [Brélaz 1979], (n_arms,): always place the arm that the fewest cliques can take.

    Memory O(edges), time O(sum of clique size x degree). ``takers[v]`` counts the cliques that can take v, those whose
    members all see v. The arms that clique k can take are ``pool[first[k]:last[k]]``: at first the neighbours of the
    arm that opened it, then fewer and fewer. The heap has an entry for each arm not yet placed that is at most its true
    (takers, degree, arm).
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
        if count != takers[arm]:  # an outdated entry
            heapq.heappush(heap, (takers[arm], degree[arm], arm))
            continue
        row = indices[indptr[arm] : indptr[arm + 1]]
        clique = _first_taker(row, owner, size, seen)
        if clique < 0:
            # Open a clique that can take all neighbours not yet placed.
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
            # Join a clique, which can then take only arms that see this one.
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


@jit
def _move_arms(indptr: Ints, indices: Ints, group: Ints, sizes: Ints, costs: NDArray[np.float64]) -> int:
    """One pass over the arms; returns how many moved. Empty groups have size zero."""
    n_arms = len(group)
    seen = np.zeros(n_arms, dtype=np.int64)
    empty, moved = 0, 0
    for arm in range(n_arms):
        row = indices[indptr[arm] : indptr[arm + 1]]
        source = group[arm]
        gain = costs[sizes[source]] - costs[sizes[source] - 1]
        # Count the arms of each group that this arm sees.
        for other in row:
            seen[group[other]] += 1
        # The best group that it sees entirely, or a group of its own.
        best, target = -1e-9, -1
        for other in row:
            clique = group[other]
            if clique != source and seen[clique] == sizes[clique]:
                change = costs[sizes[clique] + 1] - costs[sizes[clique]] - gain
                if change < best:
                    best, target = change, clique
        for other in row:
            seen[group[other]] = 0
        if sizes[source] > 1 and costs[1] - gain < best:
            while sizes[empty] > 0:
                empty += 1
            target = empty
        if target >= 0:
            sizes[source] -= 1
            sizes[target] += 1
            group[arm] = target
            empty = min(empty, source)
            moved += 1
    return moved


def _join_cliques(indptr: Ints, indices: Ints, group: Ints, sizes: Ints, costs: NDArray[np.float64]) -> int:
    """Join pairs of cliques that see each other entirely where that lowers the cost; returns how many were joined."""
    n_arms, joined = len(group), 0
    pairs, links = np.unique(np.repeat(group, np.diff(indptr)) * n_arms + group[indices], return_counts=True)
    one, other = pairs // n_arms, pairs % n_arms
    complete = (one < other) & (links == sizes[one] * sizes[other])
    one, other = one[complete], other[complete]
    changes = costs[sizes[one] + sizes[other]] - costs[sizes[one]] - costs[sizes[other]]
    target, fresh = np.arange(n_arms), np.ones(n_arms, dtype=np.bool_)
    for pair in np.argsort(changes, kind="stable")[: np.count_nonzero(changes < -1e-9)]:
        here, there = one[pair], other[pair]
        if fresh[here] and fresh[there]:  # a clique that grew in this pass is left for the next
            target[there] = here
            sizes[here], sizes[there] = sizes[here] + sizes[there], 0
            fresh[here] = fresh[there] = False
            joined += 1
    group[:] = target[group]
    return joined
