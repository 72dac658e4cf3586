"""Structure that makes covers easy: components, dominated arms, chordal graphs, graphs without triangles or odd cycles.

Everything works on lists of neighbours (see ``graphs/storage.py``), in time about linear in the edges unless said.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from allworlds.foundation.checks import Ints
from allworlds.graphs.storage import induced
from allworlds.kernels.jit import jit

REDUCTION_WORK = 60_000_000
"""Pairs of arms to look at while searching for dominated arms: a second or two."""


class ReducedGraph(NamedTuple):
    """A graph without its dominated arms, in parts without an edge between them."""

    leader: Ints
    """The arm whose clique each arm joins, (n_arms,); an arm of a part leads itself."""
    parts: list[Ints]
    """The sorted arms of each part."""


def reduce_graph(indptr: Ints, indices: Ints, most_parts: int | None = None) -> ReducedGraph:
    """Put dominated arms aside, and split the rest into components.

    Neither the clique cover number nor the independence number changes. Isolated arms are one part; beyond
    ``most_parts`` components, the smallest ones are one part, too.

    >>> path = np.array([0, 2, 5, 7]), np.array([0, 1, 0, 1, 2, 1, 2])
    >>> reduce_graph(*path)
    ReducedGraph(leader=array([0, 0, 2]), parts=[array([0, 2])])
    """
    leader = dominating_arms(indptr, indices, REDUCTION_WORK)
    left = np.flatnonzero(leader == np.arange(len(leader)))
    component = component_of(*induced(indptr, indices, left))
    sizes = np.bincount(component)
    rank = np.empty(len(sizes), dtype=np.int64)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    if most_parts is not None:
        rank = np.minimum(rank, most_parts)
    rank[sizes == 1] = len(sizes)
    part = rank[component]
    order = np.argsort(part, kind="stable")
    ends = np.flatnonzero(np.diff(part[order])) + 1
    return ReducedGraph(leader, np.split(left[order], ends))


def dominating_arms(indptr: Ints, indices: Ints, work: int) -> Ints:
    """The arm whose clique each arm can join, whatever that clique will be, (n_arms,); itself if there is none.

    If u sees everything that its neighbour v sees, then u fits into any clique of v, and an independent set that
    contains u can take v instead. So u is put aside, and the search repeated without it until no arm is dominated or
    ``work`` pairs have been looked at. A simplicial arm, whose neighbours all see each other, ends up alone.

    >>> path = np.array([0, 2, 5, 7]), np.array([0, 1, 0, 1, 2, 1, 2])
    >>> dominating_arms(*path, work=100)
    array([0, 0, 2])
    """
    order = np.argsort(indptr[1:] - indptr[:-1], kind="stable")
    leader = _dominated(indptr, indices, order, work)
    while not np.array_equal(leader, leader[leader]):
        leader = leader[leader]
    return leader


def chordal_cover(indptr: Ints, indices: Ints) -> tuple[Ints, Ints] | None:
    """The smallest cover of a chordal graph and as many independent arms; None if it is not chordal.

    A graph is chordal if its arms can be ordered such that the later neighbours of each see each other. Maximum
    cardinality search finds such an order [Tarjan and Yannakakis 1984]. In it, the first arm not covered yet and its
    later neighbours are a clique; repeat [Gavril 1972]. Interval graphs and forests are chordal.

    Returns the clique of each arm, (n_arms,), and the arms that opened a clique, (n_cliques,).

    >>> path = np.array([0, 2, 5, 7]), np.array([0, 1, 0, 1, 2, 1, 2])
    >>> owner, apart = chordal_cover(*path)
    >>> len(apart), int(owner.max()) + 1
    (2, 2)
    """
    order, place = _maximum_cardinality(indptr, indices)
    if not _is_perfect(indptr, indices, order, place):
        return None
    return _eliminate(indptr, indices, order, place)


def component_of(indptr: Ints, indices: Ints) -> Ints:
    """The component of each arm, (n_arms,), numbered by their smallest arm."""
    from scipy.sparse import csgraph, csr_array  # here, because it is slow to import

    n_arms = len(indptr) - 1
    graph = csr_array((np.ones(len(indices)), indices, indptr), shape=(n_arms, n_arms))
    return np.asarray(csgraph.connected_components(graph, directed=False)[1], dtype=np.int64)


def two_sides(indptr: Ints, indices: Ints) -> Ints | None:
    """0 or 1 for each arm such that arms of one side do not see each other, (n_arms,); None if not bipartite.

    Make two copies of each arm, and let every edge join a first copy to a second one. An odd cycle then connects the
    two copies of its arms. Without odd cycles, a component of the graph becomes two, and the side of an arm is the one
    that contains its first copy.
    """
    n_arms = len(indptr) - 1
    itself = np.repeat(np.arange(n_arms), np.diff(indptr)) == indices
    crossed = [np.where(itself, indices, indices + n_arms), np.where(itself, indices + n_arms, indices)]
    label = component_of(np.concatenate([indptr, indptr[1:] + len(indices)]), np.concatenate(crossed))
    first, second = label[:n_arms], label[n_arms:]
    return None if np.any(first == second) else (first > second).astype(np.int64)


@jit
def has_triangle(indptr: Ints, indices: Ints) -> bool:
    """Whether three arms see each other; looks at each triangle from its arm of smallest degree."""
    n_arms = len(indptr) - 1
    degree = indptr[1:] - indptr[:-1]
    mark = np.full(n_arms, -1)
    for arm in range(n_arms):
        for one in indices[indptr[arm] : indptr[arm + 1]]:
            if degree[one] > degree[arm] or (degree[one] == degree[arm] and one > arm):
                mark[one] = arm
        for one in indices[indptr[arm] : indptr[arm + 1]]:
            if mark[one] == arm:
                for other in indices[indptr[one] : indptr[one + 1]]:
                    if other != one and mark[other] == arm:
                        return True
    return False


@jit
def sees(indptr: Ints, indices: Ints, one: int, other: int) -> bool:
    """Whether ``other`` is in the sorted list of ``one``."""
    row = indices[indptr[one] : indptr[one + 1]]
    place = np.searchsorted(row, other)
    return bool(place < len(row) and row[place] == other)


@jit
def _dominated(indptr: Ints, indices: Ints, order: Ints, work: int) -> Ints:
    """The leader of each arm, (n_arms,); leaders may have leaders. Arms are looked at in ``order`` first."""
    n_arms = len(indptr) - 1
    leader = np.arange(n_arms)
    queue = order.copy()
    waiting = np.ones(n_arms, dtype=np.bool_)
    head, length = 0, n_arms
    while length > 0 and work > 0:
        low = queue[head]
        head = (head + 1) % n_arms
        length -= 1
        waiting[low] = False
        if leader[low] != low:
            continue
        row = indices[indptr[low] : indptr[low + 1]]
        for high in row:
            if high == low or leader[high] != high:
                continue
            # Does high see everything that low sees?
            inside = True
            for other in row:
                if leader[other] == other:
                    work -= 1
                    if not sees(indptr, indices, high, other):
                        inside = False
                        break
            if not inside:
                continue
            leader[high] = low
            # Without high its neighbours see fewer arms: look again whether others see all of them.
            for other in indices[indptr[high] : indptr[high + 1]]:
                if leader[other] == other and not waiting[other]:
                    waiting[other] = True
                    queue[(head + length) % n_arms] = other
                    length += 1
    return leader


@jit
def _maximum_cardinality(indptr: Ints, indices: Ints) -> tuple[Ints, Ints]:
    """An elimination order, found from its end, and each arm's place in it, (n_arms,) both.

    The arms not yet placed stand first, sorted by their number of placed neighbours; ``last[count]`` is the place of
    the last one with that count.
    """
    n_arms = len(indptr) - 1
    order, place = np.arange(n_arms - 1, -1, -1), np.arange(n_arms - 1, -1, -1)
    count, last = np.zeros(n_arms, dtype=np.int64), np.full(n_arms, n_arms - 1)
    for step in range(n_arms - 1, -1, -1):
        arm = order[step]
        for other in indices[indptr[arm] : indptr[arm + 1]][::-1]:  # the last one is then placed next
            if place[other] >= step:
                continue
            # Swap each neighbour with the last of its count, behind which the next count begins.
            end = min(last[count[other]], step - 1)
            there = order[end]
            order[place[other]], place[there] = there, place[other]
            order[end], place[other] = other, end
            last[count[other]] = end - 1
            count[other] += 1
    return order, place


@jit
def _is_perfect(indptr: Ints, indices: Ints, order: Ints, place: Ints) -> bool:
    """Whether the later neighbours of every arm see each other: the linear test of Tarjan and Yannakakis."""
    n_arms = len(indptr) - 1
    follower, latest = np.arange(n_arms), np.arange(n_arms)
    for step in range(n_arms):
        arm = order[step]
        latest[arm] = step
        row = indices[indptr[arm] : indptr[arm + 1]]
        for other in row:
            if place[other] < step:
                latest[other] = step
                if follower[other] == other:
                    follower[other] = arm
        for other in row:
            if place[other] < step and latest[follower[other]] < step:
                return False
    return True


@jit
def _eliminate(indptr: Ints, indices: Ints, order: Ints, place: Ints) -> tuple[Ints, Ints]:
    """Cliques in a perfect order: the first uncovered arm with its uncovered later neighbours, repeatedly."""
    n_arms = len(indptr) - 1
    owner = np.full(n_arms, -1)
    apart = np.empty(n_arms, dtype=np.int64)
    count = 0
    for step in range(n_arms):
        arm = order[step]
        if owner[arm] >= 0:
            continue
        apart[count] = arm
        for other in indices[indptr[arm] : indptr[arm + 1]]:
            if place[other] >= step and owner[other] < 0:
                owner[other] = count
        count += 1
    return owner, apart[:count]
