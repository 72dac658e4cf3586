"""How a graph is stored: three small classes with one interface, chosen by the graph's structure.

Disjoint cliques are stored as the clique of each arm: a thousand cliques of a thousand arms have half a billion edges
and take sixteen megabytes. Any other undirected graph whose arms all see themselves is stored as sorted lists of
neighbours (CSR), and the rest as arcs: such lists in both directions. :func:`from_neighbours` and :func:`from_arcs`
choose, so equal graphs are always stored in the same way.

The interface: ``n_arms``, ``n_edges``, ``sees(i)``, ``seen_by(i)``, ``degree(i)``, ``are_neighbours(i, j)``,
``edges()``, ``neighbours()``, ``arrays()``; of undirected graphs also ``find_strangers(owner, order, starts)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from allworlds.foundation.checks import Ints, frozen


class Visibility(NamedTuple):
    """A list of arms for each arm, as kernels take it: ``order[starts[w]:starts[w + 1]]`` with ``w = where[arm]``.

    The arrays of a fixed graph are read-only, and arms with the same list may share it. Those of a changing graph are
    written anew in every round.
    """

    where: Ints
    starts: Ints
    order: Ints


@dataclass(frozen=True, eq=False, slots=True)
class DisjointCliques:
    """Arms in disjoint cliques, each seeing exactly its own clique.

    ``owner`` (n_arms,): the clique of each arm, cliques numbered by their smallest arm. ``order`` (n_arms,):
    arms sorted by clique, then number. ``starts`` (n_cliques + 1,): clique k is
    ``order[starts[k]:starts[k + 1]]``.
    """

    owner: Ints
    order: Ints
    starts: Ints

    def __post_init__(self) -> None:
        for array in self.arrays():
            frozen(array)

    def __reduce__(self) -> tuple[Any, ...]:
        return DisjointCliques, self.arrays()

    @classmethod
    def from_owner(cls, owner: Ints) -> DisjointCliques:
        """From any numbering of the cliques, (n_arms,).

        >>> DisjointCliques.from_owner(np.array([7, 3, 7])).owner
        array([0, 1, 0])
        """
        _, first, inverse = np.unique(owner, return_index=True, return_inverse=True)
        rank = np.empty(len(first), dtype=np.int64)
        rank[np.argsort(first)] = np.arange(len(first))
        return cls(*group_arms(rank[inverse.ravel()], len(first)))

    @classmethod
    def from_sizes(cls, sizes: Ints) -> DisjointCliques:
        """Cliques of consecutive arms, the first ``sizes[0]`` arms, the next ``sizes[1]``, and so on."""
        starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes, dtype=np.int64)])
        return cls(np.repeat(np.arange(len(sizes)), sizes), np.arange(starts[-1]), starts)

    @property
    def n_arms(self) -> int:
        """The number of arms."""
        return len(self.owner)

    @property
    def n_edges(self) -> int:
        """The number of edges, self-loops not counted."""
        sizes = np.diff(self.starts)
        return int((sizes * (sizes - 1) // 2).sum())

    def sees(self, arm: int) -> Ints:
        """The clique of ``arm``."""
        clique = self.owner[arm]
        return self.order[self.starts[clique] : self.starts[clique + 1]]

    seen_by = sees

    def degree(self, arm: int) -> int:
        """The number of other arms in the clique of ``arm``."""
        clique = self.owner[arm]
        return int(self.starts[clique + 1] - self.starts[clique]) - 1

    def are_neighbours(self, one: int, other: int) -> bool:
        """Whether both share a clique."""
        return bool(self.owner[one] == self.owner[other])

    def edges(self) -> Ints:
        """All edges (i, j), i < j, sorted, (n_edges, 2)."""
        pairs = [np.zeros((0, 2), dtype=np.int64)]
        for clique in np.flatnonzero(np.diff(self.starts) > 1):
            members = self.order[self.starts[clique] : self.starts[clique + 1]]
            rows, columns = np.triu_indices(len(members), 1)
            pairs.append(np.column_stack([members[rows], members[columns]]))
        stacked = np.concatenate(pairs)
        return stacked[np.lexsort((stacked[:, 1], stacked[:, 0]))]

    def neighbours(self) -> tuple[Ints, Ints]:
        """The same graph as lists of neighbours, see :class:`Neighbours`; large for large cliques."""
        sizes = np.diff(self.starts)[self.owner]
        indptr = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)])
        within = np.arange(indptr[-1]) - np.repeat(indptr[:-1], sizes)
        return indptr, self.order[np.repeat(self.starts[self.owner], sizes) + within]

    def find_strangers(self, owner: Ints, order: Ints, starts: Ints) -> tuple[int, int] | None:
        """Two arms of one group that do not see each other, or None; linear in the arms."""
        group, clique = owner[order], self.owner[order]
        broken = np.flatnonzero((group[1:] == group[:-1]) & (clique[1:] != clique[:-1]))
        return (int(order[broken[0]]), int(order[broken[0] + 1])) if broken.size else None

    def arrays(self) -> tuple[Ints, Ints, Ints]:
        """The arrays that define the graph."""
        return self.owner, self.order, self.starts


@dataclass(frozen=True, eq=False, slots=True)
class Neighbours:
    """Sorted lists of neighbours in one array; every arm is in its own list.

    ``indptr`` (n_arms + 1,) and ``indices`` (n_arms + 2 n_edges,): arm i sees
    ``indices[indptr[i]:indptr[i + 1]]``.
    """

    indptr: Ints
    indices: Ints

    def __post_init__(self) -> None:
        for array in self.arrays():
            frozen(array)

    def __reduce__(self) -> tuple[Any, ...]:
        return Neighbours, self.arrays()

    @property
    def n_arms(self) -> int:
        """The number of arms."""
        return len(self.indptr) - 1

    @property
    def n_edges(self) -> int:
        """The number of edges, self-loops not counted."""
        return (len(self.indices) - self.n_arms) // 2

    def sees(self, arm: int) -> Ints:
        """``arm`` and its neighbours."""
        return self.indices[self.indptr[arm] : self.indptr[arm + 1]]

    seen_by = sees

    def degree(self, arm: int) -> int:
        """The number of neighbours, ``arm`` not counted."""
        return int(self.indptr[arm + 1] - self.indptr[arm]) - 1

    def are_neighbours(self, one: int, other: int) -> bool:
        """Whether ``other`` is in the list of ``one``."""
        seen = self.sees(one)
        place = int(np.searchsorted(seen, other))
        return place < len(seen) and bool(seen[place] == other)

    def edges(self) -> Ints:
        """All edges (i, j), i < j, sorted, (n_edges, 2)."""
        rows = np.repeat(np.arange(self.n_arms), np.diff(self.indptr))
        upper = rows < self.indices
        return np.column_stack([rows[upper], self.indices[upper]])

    def neighbours(self) -> tuple[Ints, Ints]:
        """Copies of both arrays: writable, because read-only arrays are another type to compiled code."""
        return self.indptr.copy(), self.indices.copy()

    def find_strangers(self, owner: Ints, order: Ints, starts: Ints) -> tuple[int, int] | None:
        """Two arms of one group that do not see each other, or None; linear in the edges.

        An arm is a neighbour of its whole group when it sees as many arms of the group as the group has.
        """
        in_group = owner[self.indices] == np.repeat(owner, np.diff(self.indptr))
        seen = np.add.reduceat(in_group, self.indptr[:-1], dtype=np.int64)
        lonely = np.flatnonzero(seen < np.diff(starts)[owner])
        if lonely.size == 0:
            return None
        arm, group = int(lonely[0]), int(owner[lonely[0]])
        members = order[starts[group] : starts[group + 1]]
        return arm, int(np.setdiff1d(members, self.sees(arm))[0])

    def arrays(self) -> tuple[Ints, Ints]:
        """The arrays that define the graph."""
        return self.indptr, self.indices


@dataclass(frozen=True, eq=False, slots=True)
class Arcs:
    """Any feedback: arm i sees ``indices[indptr[i]:indptr[i + 1]]``, sorted, and itself only if it is listed.

    ``observers`` are lists of the same kind of who sees each arm.
    """

    indptr: Ints
    indices: Ints
    observers: tuple[Ints, Ints]

    def __post_init__(self) -> None:
        for array in (*self.arrays(), *self.observers):
            frozen(array)

    def __reduce__(self) -> tuple[Any, ...]:
        return Arcs.from_lists, self.arrays()

    @classmethod
    def from_lists(cls, indptr: Ints, indices: Ints) -> Arcs:
        """From the sorted lists of who is seen by each arm."""
        n_arms = len(indptr) - 1
        rows = np.repeat(np.arange(n_arms), np.diff(indptr))
        order = np.argsort(indices, kind="stable")
        starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(np.bincount(indices, minlength=n_arms))])
        return cls(indptr, indices, (starts, rows[order]))

    @property
    def n_arms(self) -> int:
        """The number of arms."""
        return len(self.indptr) - 1

    @property
    def n_edges(self) -> int:
        """The number of directed edges, self-loops not counted."""
        return len(self.indices) - int(self.loops().sum())

    def loops(self) -> NDArray[np.bool_]:
        """Whether each arm sees itself, (n_arms,)."""
        rows = np.repeat(np.arange(self.n_arms), np.diff(self.indptr))
        return np.bincount(rows[rows == self.indices], minlength=self.n_arms).astype(np.bool_)

    def sees(self, arm: int) -> Ints:
        """The arms that ``arm`` shows."""
        return self.indices[self.indptr[arm] : self.indptr[arm + 1]]

    def seen_by(self, arm: int) -> Ints:
        """The arms that show ``arm``."""
        starts, order = self.observers
        return order[starts[arm] : starts[arm + 1]]

    def degree(self, arm: int) -> int:
        """The number of other arms that ``arm`` shows."""
        return len(self.sees(arm)) - int(arm in self.sees(arm))

    def are_neighbours(self, one: int, other: int) -> bool:
        """Whether each shows the other."""
        return bool(other in self.sees(one) and one in self.sees(other))

    def edges(self) -> Ints:
        """All directed edges (i, j), i and j different, sorted, (n_edges, 2)."""
        rows = np.repeat(np.arange(self.n_arms), np.diff(self.indptr))
        proper = rows != self.indices
        return np.column_stack([rows[proper], self.indices[proper]])

    def neighbours(self) -> tuple[Ints, Ints]:
        """Copies of both arrays of what each arm shows."""
        return self.indptr.copy(), self.indices.copy()

    def arrays(self) -> tuple[Ints, Ints]:
        """The arrays that define the graph."""
        return self.indptr, self.indices


Storage: TypeAlias = DisjointCliques | Neighbours | Arcs


def group_arms(owner: Ints, n_groups: int) -> tuple[Ints, Ints, Ints]:
    """``owner`` itself, the arms sorted by owner, and where each group starts in that order.

    >>> group_arms(np.array([0, 1, 0]), 2)
    (array([0, 1, 0]), array([0, 2, 1]), array([0, 2, 3]))
    """
    starts = np.zeros(n_groups + 1, dtype=np.int64)
    np.cumsum(np.bincount(owner, minlength=n_groups), out=starts[1:])
    return owner, np.argsort(owner, kind="stable"), starts


def induced(indptr: Ints, indices: Ints, arms: Ints) -> tuple[Ints, Ints]:
    """The lists of neighbours of the subgraph of sorted ``arms``; its arm i is ``arms[i]``.

    >>> indptr, indices = induced(np.array([0, 2, 5, 7]), np.array([0, 1, 0, 1, 2, 1, 2]), np.array([0, 2]))
    >>> indptr.tolist(), indices.tolist()
    ([0, 1, 2], [0, 1])
    """
    number = np.full(len(indptr) - 1, -1)
    number[arms] = np.arange(len(arms))
    sizes = indptr[arms + 1] - indptr[arms]
    ends = np.cumsum(sizes)
    places = np.arange(ends[-1] if len(arms) else 0) - np.repeat(ends - sizes, sizes) + np.repeat(indptr[arms], sizes)
    inside = number[indices[places]]
    kept = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(inside >= 0)])
    return kept[np.concatenate([np.zeros(1, dtype=np.int64), ends])], inside[inside >= 0]


def matrix_of(indptr: Ints, indices: Ints) -> NDArray[np.bool_]:
    """Who sees whom as a dense matrix, (n_arms, n_arms).

    >>> matrix_of(np.array([0, 2, 4]), np.array([0, 1, 0, 1])).tolist()
    [[True, True], [True, True]]
    """
    matrix = np.zeros((len(indptr) - 1, len(indptr) - 1), dtype=np.bool_)
    matrix[np.repeat(np.arange(len(matrix)), np.diff(indptr)), indices] = True
    return matrix


def from_pairs(n_arms: int, pairs: Ints) -> Storage:
    """Store the graph with these edges, (m, 2), in either orientation, repeated or not; all arms see themselves."""
    arms = np.arange(n_arms)
    return from_neighbours(*_lists(n_arms, np.concatenate([np.column_stack([arms, arms]), pairs, pairs[:, ::-1]])))


def from_arcs(n_arms: int, pairs: Ints) -> Storage:
    """Store the graph in which arm i sees arm j for each pair (i, j), (m, 2); self-loops are pairs, too.

    >>> type(from_arcs(2, np.array([(0, 0), (0, 1), (1, 0), (1, 1)]))).__name__  # mutual, and all see themselves
    'DisjointCliques'
    """
    indptr, indices = _lists(n_arms, pairs)
    arcs = Arcs.from_lists(indptr, indices)
    starts, order = arcs.observers
    mutual = np.array_equal(starts, indptr) and np.array_equal(order, indices)
    return from_neighbours(indptr, indices) if mutual and arcs.loops().all() else arcs


def _lists(n_arms: int, pairs: Ints) -> tuple[Ints, Ints]:
    """Sorted lists of the arms that each arm sees, from pairs (i, j), which may be repeated."""
    keys = np.unique(pairs[:, 0] * n_arms + pairs[:, 1])  # one number a pair, so that one call sorts and drops copies
    return np.searchsorted(keys, np.arange(n_arms + 1) * n_arms), keys % n_arms


def from_neighbours(indptr: Ints, indices: Ints) -> Storage:
    """Store sorted closed neighbourhoods, as disjoint cliques if that is what they are.

    Name each arm's neighbourhood by its smallest arm. The graph is a union of disjoint cliques exactly if all arms that
    an arm sees have its name, and it sees as many arms as have that name.
    """
    sizes = np.diff(indptr)
    name = indices[indptr[:-1]]
    alike = bool(np.all(name[indices] == np.repeat(name, sizes)))
    if alike and np.array_equal(np.bincount(name, minlength=len(name))[name], sizes):
        return DisjointCliques.from_owner(name)
    return Neighbours(indptr, indices)
