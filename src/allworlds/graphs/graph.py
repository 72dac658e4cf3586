"""The feedback graph: who sees whom."""

from __future__ import annotations

import difflib
import hashlib
import operator
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from allworlds.foundation.checks import Error, Ints, check_arms, index, integers, is_whole, shorten, whole
from allworlds.foundation.errors import InvalidGraph, InvalidParameter, MissingExtra
from allworlds.graphs.storage import DisjointCliques, Storage, from_neighbours, from_pairs, induced

Label: TypeAlias = str | int


class FeedbackGraph:
    """Who sees whom: choosing an arm shows its own loss and the losses of its neighbours.

    The graph is undirected, and an arm always sees itself. It is immutable: the arrays that it returns are read-only
    or copies. Two graphs are equal if their structure and labels are, however they were built.

    Parameters
    ----------
    n_arms:
        The number of arms, which are numbered from 0.
    edges:
        Pairs of arms, (m, 2). Repeated pairs, both orientations and self-loops are allowed.
    labels:
        One str or int for each arm, all different. Labels that only repeat the arm numbers are dropped.

    Examples
    --------
    >>> graph = FeedbackGraph(4, [(0, 1), (1, 2)], labels=["a", "b", "c", "d"])
    >>> graph
    FeedbackGraph(4 arms, 2 edges)
    >>> graph.sees(1)
    array([0, 1, 2])
    >>> graph.index_of("d")
    3

    References
    ----------
    [EK21, Section 2].
    """

    __slots__ = ("_digest", "_labels", "_numbers", "_storage")

    _storage: Storage
    _labels: tuple[Label, ...] | None
    _digest: str | None
    _numbers: dict[Hashable, int] | None

    def __init__(
        self, n_arms: int, edges: Iterable[Sequence[int]] | Ints = (), labels: Sequence[Label] | None = None
    ) -> None:
        n_arms = whole("n_arms", n_arms, error=InvalidGraph)
        pairs = integers("edges", edges, InvalidGraph)
        if pairs.size == 0:
            pairs = pairs.reshape(0, 2)
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            raise InvalidGraph(f"edges has shape {pairs.shape}; expected pairs of arms, shape (m, 2)")
        check_arms("edges", pairs.ravel(), n_arms, InvalidGraph)
        self._fill(from_pairs(n_arms, pairs), labels)

    def _fill(self, storage: Storage, labels: Sequence[Label] | None) -> None:
        self._storage = storage
        self._labels = clean_labels(labels, storage.n_arms)
        self._digest = None
        self._numbers = None

    @classmethod
    def _of(cls, storage: Storage, labels: Sequence[Label] | None = None) -> FeedbackGraph:
        """A graph around a storage that is canonical already."""
        graph = cls.__new__(cls)
        graph._fill(storage, labels)
        return graph

    @classmethod
    def _from_sizes(cls, sizes: Ints) -> FeedbackGraph:
        """Disjoint cliques of consecutive arms; takes no more memory than three arrays."""
        return cls._of(DisjointCliques.from_sizes(sizes))

    @classmethod
    def _induced(cls, graph: FeedbackGraph, arms: Ints) -> FeedbackGraph:
        """The subgraph of sorted ``arms``, without labels; its arm i is ``arms[i]``."""
        return cls._of(from_neighbours(*induced(*graph._storage.neighbours(), arms)))

    @classmethod
    def from_adjacency(cls, matrix: ArrayLike, labels: Sequence[Label] | None = None) -> FeedbackGraph:
        """The graph of a square symmetric matrix of zeros and ones; the diagonal is ignored.

        >>> FeedbackGraph.from_adjacency([[0, 1], [1, 0]]).n_edges
        1
        """
        try:
            square = np.array(matrix)
        except ValueError:
            raise InvalidGraph("the adjacency matrix has rows of different lengths; expected a square matrix") from None
        if square.ndim != 2 or square.shape[0] != square.shape[1] or square.shape[0] == 0:
            raise InvalidGraph(f"the adjacency matrix has shape {square.shape}; expected a square matrix")
        if square.dtype.kind not in "biuf":
            raise InvalidGraph(f"the adjacency matrix is of type {square.dtype}; expected 0 and 1")
        np.fill_diagonal(square, 1)
        seen = square == 1
        wrong = np.argwhere(~seen & (square != 0))
        if wrong.size:
            row, column = wrong[0]
            entry = square[row, column]
            raise InvalidGraph(f"entry ({row}, {column}) of the adjacency matrix is {entry}; expected 0 or 1")
        lopsided = np.argwhere(seen & ~seen.T)
        if lopsided.size:
            row, column = lopsided[0]
            raise InvalidGraph(
                f"arm {row} sees arm {column} but not the other way round; expected a symmetric matrix; "
                "try (matrix | matrix.T) or (matrix & matrix.T)"
            )
        indptr = np.concatenate([[0], np.cumsum(seen.sum(axis=1))]).astype(np.int64)
        return cls._of(from_neighbours(indptr, np.nonzero(seen)[1].astype(np.int64)), labels)

    @classmethod
    def from_cliques(
        cls, n_arms: int, cliques: Iterable[Iterable[int]], labels: Sequence[Label] | None = None
    ) -> FeedbackGraph:
        """The graph in which two arms see each other if they share a clique.

        Disjoint cliques are never expanded into edges; overlapping ones are. An arm in no clique sees only itself.

        >>> FeedbackGraph.from_cliques(5, [[0, 1, 2], [3, 4]]).n_edges
        4
        """
        n_arms = whole("n_arms", n_arms, error=InvalidGraph)
        members, lengths = flatten_cliques(cliques, n_arms, InvalidGraph)
        number = np.repeat(np.arange(len(lengths)), lengths)
        keys = np.unique(number * n_arms + members)
        number, members = keys // n_arms, keys % n_arms
        if len(np.unique(members)) == len(members):
            owner = np.arange(n_arms)
            owner[members] = n_arms + number
            return cls._of(DisjointCliques.from_owner(owner), labels)
        pairs = [np.zeros((0, 2), dtype=np.int64)]
        for clique in np.split(members, np.flatnonzero(np.diff(number)) + 1):
            rows, columns = np.triu_indices(len(clique), 1)
            pairs.append(np.column_stack([clique[rows], clique[columns]]))
        return cls._of(from_pairs(n_arms, np.concatenate(pairs)), labels)

    @classmethod
    def from_networkx(cls, graph: Any) -> FeedbackGraph:
        """The graph of an undirected ``networkx.Graph``.

        Node names become labels, unless they are 0, 1, 2, ... in order.
        """
        if not isinstance(graph, import_networkx().Graph):
            raise InvalidGraph(f"graph is of type {type(graph).__name__}; expected a networkx graph")
        if graph.is_directed():
            raise InvalidGraph("graph is directed; expected mutual feedback; try graph.to_undirected()")
        if graph.is_multigraph():
            raise InvalidGraph("graph is a multigraph; expected at most one edge a pair; try networkx.Graph(graph)")
        nodes = list(graph.nodes)
        if not nodes:
            raise InvalidGraph("graph has no nodes; expected at least one")
        labels = clean_labels(nodes, len(nodes))
        number = {node: arm for arm, node in enumerate(nodes)}
        return cls(len(nodes), [(number[one], number[other]) for one, other in graph.edges], labels)

    def to_networkx(self) -> Any:
        """The same graph as a ``networkx.Graph``, with labels as node names and without self-loops."""
        names = self._labels if self._labels is not None else range(self.n_arms)
        graph = import_networkx().Graph()
        graph.add_nodes_from(names)
        graph.add_edges_from((names[one], names[other]) for one, other in self.edges().tolist())
        return graph

    @property
    def n_arms(self) -> int:
        """The number of arms."""
        return self._storage.n_arms

    @property
    def n_edges(self) -> int:
        """The number of edges; that an arm sees itself is not counted."""
        return self._storage.n_edges

    @property
    def labels(self) -> tuple[Label, ...] | None:
        """The label of each arm, (n_arms,), or None where arms are known by number."""
        return self._labels

    def sees(self, arm: int) -> Ints:
        """The arms whose losses are shown when ``arm`` is chosen: itself and its neighbours, sorted."""
        return self._storage.sees(index("arm", arm, self.n_arms))

    def degree(self, arm: int) -> int:
        """The number of neighbours of ``arm``, itself not counted."""
        return self._storage.degree(index("arm", arm, self.n_arms))

    def are_neighbours(self, one: int, other: int) -> bool:
        """Whether choosing one of the two arms shows the other; true of an arm and itself."""
        return self._storage.are_neighbours(index("one", one, self.n_arms), index("other", other, self.n_arms))

    def is_clique(self, arms: Iterable[int]) -> bool:
        """Whether these arms all see each other; one arm does, and so does the empty set.

        >>> FeedbackGraph(3, [(0, 1), (1, 2)]).is_clique([0, 1, 2])
        False
        """
        members = integers("arms", arms).ravel()
        check_arms("arms", members, self.n_arms)
        members = np.unique(members)
        if isinstance(self._storage, DisjointCliques):
            return len(np.unique(self._storage.owner[members])) <= 1
        return all(np.isin(members, self._storage.sees(arm)).all() for arm in members.tolist())

    def edges(self) -> Ints:
        """All edges as pairs i < j, sorted, (n_edges, 2), int64; large for dense graphs."""
        return self._storage.edges()

    def adjacency(self) -> NDArray[np.bool_]:
        """Who sees whom as a dense matrix, (n_arms, n_arms), with a True diagonal."""
        matrix = np.zeros((self.n_arms, self.n_arms), dtype=np.bool_)
        for arm in range(self.n_arms):
            matrix[arm, self._storage.sees(arm)] = True
        return matrix

    def index_of(self, label: Label) -> int:
        """The number of the arm with this label; without labels an arm is known by its number."""
        if self._labels is None:
            if is_whole(label) and 0 <= label < self.n_arms:  # type: ignore[operator]
                return int(label)
            raise InvalidParameter(f"no arm {label!r}; the arms have no labels and are numbered 0 to {self.n_arms - 1}")
        if self._numbers is None:
            self._numbers = {name: arm for arm, name in enumerate(self._labels)}
        if isinstance(label, str) or is_whole(label):
            arm = self._numbers.get(label)
            if arm is not None:
                return arm
        near = difflib.get_close_matches(str(label), [str(name) for name in self._labels], n=3, cutoff=0.0)
        raise InvalidParameter(f"no arm is labelled {label!r}; the nearest labels are {', '.join(near)}")

    def digest(self) -> str:
        """SHA-256 of the structure, without the labels, in hex; equal for equal graphs however they were built."""
        if self._digest is None:
            cliques = isinstance(self._storage, DisjointCliques)
            kind = "disjoint cliques" if cliques else "neighbours"
            digest = hashlib.sha256(f"allworlds undirected graph, {kind}, {self.n_arms} arms\n".encode())
            for array in self._storage.arrays()[: 1 if cliques else 2]:
                digest.update(array.astype("<i8", copy=False).data)
            self._digest = digest.hexdigest()
        return self._digest

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FeedbackGraph):
            return NotImplemented
        if self is other:
            return True
        if type(self._storage) is not type(other._storage) or self._labels != other._labels:
            return False
        return all(
            np.array_equal(mine, theirs)
            for mine, theirs in zip(self._storage.arrays(), other._storage.arrays(), strict=True)
        )

    def __hash__(self) -> int:
        return hash((self.digest(), self._labels))

    def __repr__(self) -> str:
        arms = "1 arm" if self.n_arms == 1 else f"{self.n_arms} arms"
        edges = "1 edge" if self.n_edges == 1 else f"{self.n_edges} edges"
        return f"FeedbackGraph({arms}, {edges})"

    def __reduce__(self) -> tuple[Any, ...]:
        return FeedbackGraph._of, (self._storage, self._labels)


def check_graph(graph: object, error: Error = InvalidParameter) -> None:
    """Raise ``error`` unless ``graph`` is a :class:`FeedbackGraph`."""
    if not isinstance(graph, FeedbackGraph):
        raise error(f"graph is of type {type(graph).__name__}; expected a FeedbackGraph")


def flatten_cliques(cliques: Iterable[Iterable[int]], n_arms: int, error: Error) -> tuple[Ints, Ints]:
    """The members of all cliques in one array, (total,), and the size of each clique, (n_cliques,).

    >>> flatten_cliques([[0, 2], [1]], 3, InvalidGraph)
    (array([0, 2, 1]), array([2, 1]))
    """
    try:
        groups = list(cliques)
    except TypeError:
        raise error(f"cliques is {shorten(cliques)}; expected a list of lists of arms") from None
    arrays = []
    for number, group in enumerate(groups):
        array = integers(f"clique {number}", group, error)
        if array.ndim != 1:
            raise error(f"clique {number} is {shorten(group)}; expected a flat list of arms")
        if array.size == 0:
            raise error(f"clique {number} is empty; expected at least one arm; leave it out")
        arrays.append(array)
    members = np.concatenate(arrays) if arrays else np.zeros(0, dtype=np.int64)
    lengths = np.array([len(array) for array in arrays], dtype=np.int64)
    wrong = np.flatnonzero((members < 0) | (members >= n_arms))
    if wrong.size:
        number = int(np.searchsorted(np.cumsum(lengths), wrong[0], side="right"))
        check_arms(f"clique {number}", members[wrong], n_arms, error)
    return members, lengths


def clean_labels(labels: Sequence[Label] | None, n_arms: int) -> tuple[Label, ...] | None:
    """Labels as a tuple, or None where they only repeat the arm numbers.

    >>> clean_labels(["red", "blue"], 2)
    ('red', 'blue')
    """
    if labels is None:
        return None
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        raise InvalidGraph(f"labels is {shorten(labels)}; expected a list with one label for each arm")
    clean: list[Label] = []
    for label in labels:
        if isinstance(label, str):
            clean.append(str(label))
        elif is_whole(label):
            clean.append(operator.index(label))
        else:
            raise InvalidGraph(
                f"label {label!r} is of type {type(label).__name__}; expected str or int, so that it can be saved; "
                "try str(label)"
            )
    if len(clean) != n_arms:
        raise InvalidGraph(f"labels has {len(clean)} labels; expected {n_arms}, one for each arm")
    twice = [label for label, times in Counter(clean).items() if times > 1]
    if twice:
        raise InvalidGraph(f"label {twice[0]!r} names two arms; expected labels that all differ")
    return None if clean == list(range(n_arms)) else tuple(clean)


def import_networkx() -> Any:
    """The optional package, or :class:`MissingExtra`."""
    try:
        import networkx
    except ImportError:
        raise MissingExtra('networkx is not installed; try pip install "allworlds[networkx]"') from None
    return networkx
