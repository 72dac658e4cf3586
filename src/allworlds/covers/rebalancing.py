"""A cover whose cliques cost less, where a clique's cost depends on its size: arms move, cliques join."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from allworlds.foundation.checks import Ints
from allworlds.foundation.errors import InvalidParameter
from allworlds.kernels.jit import jit

SWEEPS = 100


def rebalance(indptr: Ints, indices: Ints, owner: Ints, cost: Callable[[int], float]) -> Ints:
    """A cover with a sum of ``cost(size)`` that moving one arm, or joining two cliques, does not lower, (n_arms,).

    An arm goes where the sum falls most: to another clique whose arms it sees, or to one of its own. An emptied clique
    vanishes.

    >>> line = np.array([0, 2, 5, 8, 10]), np.array([0, 1, 0, 1, 2, 1, 2, 3, 2, 3])
    >>> rebalance(*line, np.arange(4), cost=lambda size: 1.0).tolist()
    [0, 0, 1, 1]
    """
    n_arms = len(owner)
    largest = min(n_arms, int((indptr[1:] - indptr[:-1]).max()))
    costs = np.array([0.0, *(float(cost(size)) for size in range(1, largest + 2))])
    if not np.all(np.isfinite(costs)):
        raise InvalidParameter(f"the cost of a clique is not finite; expected finite costs of sizes 1 to {largest}")
    groups = np.empty(n_arms, dtype=np.int64)
    groups[:] = owner
    sizes = np.zeros(n_arms, dtype=np.int64)
    sizes[: int(owner.max()) + 1] = np.bincount(owner)
    for _ in range(SWEEPS):
        moved = _move_arms(indptr, indices, groups, sizes, costs)
        if _join_cliques(indptr, indices, groups, sizes, costs) + moved == 0:
            break
    return np.unique(groups, return_inverse=True)[1].ravel()


@jit
def _move_arms(indptr: Ints, indices: Ints, group: Ints, sizes: Ints, costs: NDArray[np.float64]) -> int:
    """One pass over the arms; gives how many moved. Empty groups have size zero."""
    n_arms = len(group)
    seen = np.zeros(n_arms, dtype=np.int64)
    empty, moved = 0, 0
    for arm in range(n_arms):
        row = indices[indptr[arm] : indptr[arm + 1]]
        source = group[arm]
        gain = costs[sizes[source]] - costs[sizes[source] - 1]
        for other in row:
            seen[group[other]] += 1
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


@jit
def _join_cliques(indptr: Ints, indices: Ints, group: Ints, sizes: Ints, costs: NDArray[np.float64]) -> int:
    """Join cliques that see each other entirely where that costs less; gives how many were joined.

    A clique is looked at once, through its arms in turn: ``links[k]`` counts the edges to clique k.
    """
    n_arms = len(group)
    links = np.zeros(n_arms, dtype=np.int64)
    order = np.argsort(group, kind="mergesort")
    joined = 0
    start = 0
    while start < n_arms:
        end = start + 1
        while end < n_arms and group[order[end]] == group[order[start]]:
            end += 1
        here = group[order[start]]
        best, target = -1e-9, -1
        for arm in order[start:end]:
            for other in indices[indptr[arm] : indptr[arm + 1]]:
                links[group[other]] += 1
        for arm in order[start:end]:
            for other in indices[indptr[arm] : indptr[arm + 1]]:
                there = group[other]
                if there != here and links[there] == sizes[there] * sizes[here] and sizes[here] == end - start:
                    change = costs[sizes[here] + sizes[there]] - costs[sizes[here]] - costs[sizes[there]]
                    if change < best:
                        best, target = change, there
        for arm in order[start:end]:
            for other in indices[indptr[arm] : indptr[arm + 1]]:
                links[group[other]] = 0
        if target >= 0:
            sizes[target] += sizes[here]
            sizes[here] = 0
            for arm in order[start:end]:
                group[arm] = target
            joined += 1
        start = end
    return joined
