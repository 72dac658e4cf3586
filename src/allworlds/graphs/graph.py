"""The feedback graph: who sees whom."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from allworlds.foundation.checks import Error, Ints, check_arms, flag, index, integers, is_whole, whole
from allworlds.foundation.errors import InvalidGraph, InvalidParameter, import_extra
from allworlds.graphs.features import Observability
from allworlds.graphs.inputs import (
    Label,
    SelfLoops,
    clean_labels,
    flatten_cliques,
    self_loop_pairs,
    zeros_and_ones,
)
from allworlds.graphs.storage import Arcs, DisjointCliques, Storage, from_arcs, from_neighbours, from_pairs, induced


class FeedbackGraph:
    """Who sees whom: choosing an arm shows its own loss and the losses of its neighbours.

    The graph is undirected and an arm sees itself, unless told otherwise. It is immutable: the arrays that it returns
    are read-only or copies. Two graphs are equal if their structure and labels are, however they were built.

    Parameters
    ----------
    n_arms:
        The number of arms, which are numbered from 0.
    edges:
        Pairs of arms, (m, 2). Repeated pairs, both orientations and self-loops are allowed.
    labels:
        One str or int for each arm, all different. Labels that only repeat the arm numbers are dropped.
    directed:
        If true, an edge (i, j) says that choosing arm i shows arm j, and nothing about the other way round.
    self_loops:
        Whether arms see themselves: all of them, none, or those in a list. A pair (i, i) in ``edges`` is a self-loop,
        too.

    Examples
    --------
    >>> graph = FeedbackGraph(4, [(0, 1), (1, 2)], labels=["a", "b", "c", "d"])
    >>> graph
    FeedbackGraph(4 arms, 2 edges)
    >>> graph.sees(1)
    array([0, 1, 2])
    >>> graph.index_of("d")
    3

    Whoever bids sees what all higher bids would have paid; the highest bid is seen by all others, but not by itself:

    >>> bids = FeedbackGraph(3, [(0, 1), (0, 2), (1, 2)], directed=True, self_loops=[0, 1])
    >>> bids, bids.sees(1), bids.seen_by(2), bids.observability
    (FeedbackGraph(3 arms, 3 directed edges), array([1, 2]), array([0, 1]), 'strong')

    References
    ----------
    [EK21, Section 2]; directed graphs: [Alon, Cesa-Bianchi, Dekel and Koren 2015].
    """

    __slots__ = ("_digest", "_labels", "_numbers", "_storage")

    _storage: Storage
    _labels: tuple[Label, ...] | None
    _digest: str | None
    _numbers: dict[Hashable, int] | None

    def __init__(
        self,
        n_arms: int,
        edges: Iterable[Sequence[int]] | Ints = (),
        labels: Sequence[Label] | None = None,
        *,
        directed: bool = False,
        self_loops: SelfLoops = True,
    ) -> None:
        n_arms = whole("n_arms", n_arms, error=InvalidGraph)
        try:
            pairs = integers("edges", edges, InvalidGraph)
        except InvalidGraph as error:
            raise InvalidGraph(f"{error}; arms have the numbers from 0, and labels= names them") from None
        if pairs.size == 0:
            pairs = pairs.reshape(0, 2)
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            raise InvalidGraph(f"edges has shape {pairs.shape}; expected pairs of arms, shape (m, 2)")
        check_arms("edges", pairs.ravel(), n_arms, InvalidGraph)
        if not flag("directed", directed, InvalidGraph) and self_loops is True:
            storage = from_pairs(n_arms, pairs)
        else:
            loops = self_loop_pairs(self_loops, n_arms)
            storage = from_arcs(n_arms, np.concatenate([pairs, loops] if directed else [pairs, pairs[:, ::-1], loops]))
        self._fill(storage, labels)

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
    def from_adjacency(
        cls,
        matrix: ArrayLike,
        labels: Sequence[Label] | None = None,
        *,
        directed: bool = False,
        self_loops: SelfLoops | None = None,
    ) -> FeedbackGraph:
        """The graph of a square matrix of zeros and ones, symmetric unless ``directed``.

        Row i says whom arm i sees. Where ``self_loops`` does not say who sees itself, the diagonal of a directed graph
        does; in an undirected one all arms do.

        >>> FeedbackGraph.from_adjacency([[0, 1], [1, 0]]).n_edges
        1
        >>> FeedbackGraph.from_adjacency([[1, 1], [0, 0]], directed=True).seen_by(1)
        array([0])
        """
        directed = flag("directed", directed, InvalidGraph)
        seen = zeros_and_ones(matrix, diagonal=directed)
        if not directed:
            self_loops = True if self_loops is None else self_loops
            for row, column in np.argwhere(seen & ~seen.T)[:1].tolist():
                raise InvalidGraph(
                    f"arm {row} sees arm {column} but not the other way round; expected a symmetric matrix; "
                    "try directed=True, (matrix | matrix.T) or (matrix & matrix.T)"
                )
        loops = self_loop_pairs(False if self_loops is None else self_loops, len(seen))
        if self_loops is not None:
            np.fill_diagonal(seen, False)
        return cls._of(from_arcs(len(seen), np.concatenate([np.argwhere(seen), loops])), labels)

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
    def from_networkx(cls, graph: Any, *, self_loops: SelfLoops = True) -> FeedbackGraph:
        """The graph of a ``networkx.Graph``, or the directed one of a ``networkx.DiGraph``.

        Node names become labels, unless they are 0, 1, 2, ... in order. ``self_loops`` is as for
        :class:`FeedbackGraph`: by default all arms see themselves, whether the graph says so or not.
        """
        if not isinstance(graph, import_extra("networkx", "networkx").Graph):
            raise InvalidGraph(f"graph is of type {type(graph).__name__}; expected a networkx graph")
        if graph.is_multigraph():
            raise InvalidGraph("graph is a multigraph; expected at most one edge a pair; try networkx.Graph(graph)")
        nodes = list(graph.nodes)
        if not nodes:
            raise InvalidGraph("graph has no nodes; expected at least one")
        labels = clean_labels(nodes, len(nodes))
        number = {node: arm for arm, node in enumerate(nodes)}
        pairs = [(number[one], number[other]) for one, other in graph.edges]
        return cls(len(nodes), pairs, labels, directed=graph.is_directed(), self_loops=self_loops)

    def to_networkx(self) -> Any:
        """The same graph as a ``networkx.Graph``, with labels as node names and without self-loops.

        A graph that is directed, or has arms that do not see themselves, becomes a ``DiGraph`` with its self-loops;
        ``from_networkx(..., self_loops=False)`` reads it back.
        """
        names = self._labels if self._labels is not None else range(self.n_arms)
        arcs = isinstance(self._storage, Arcs)
        networkx = import_extra("networkx", "networkx")
        graph = networkx.DiGraph() if arcs else networkx.Graph()
        graph.add_nodes_from(names)
        graph.add_edges_from((names[one], names[other]) for one, other in self.edges().tolist())
        graph.add_edges_from((names[arm], names[arm]) for arm in np.flatnonzero(self.self_loops).tolist() if arcs)
        return graph

    def mutual(self) -> FeedbackGraph:
        """The undirected graph of the edges that go both ways; all its arms see themselves."""
        if not isinstance(self._storage, Arcs):
            return self
        return FeedbackGraph(self.n_arms, self.edges()[self._goes_both_ways()], self._labels)

    def with_self_loops(self, self_loops: SelfLoops) -> FeedbackGraph:
        """The same graph in which all arms, none, or those in a list see themselves, and no others.

        >>> FeedbackGraph(3, [(0, 1)]).with_self_loops([0, 1]).self_loops
        array([ True,  True, False])
        """
        directed = isinstance(self._storage, Arcs)
        return FeedbackGraph(self.n_arms, self.edges(), self._labels, directed=directed, self_loops=self_loops)

    def symmetrised(self) -> FeedbackGraph:
        """The undirected graph of all edges, whichever way they go; all its arms see themselves."""
        return self if not isinstance(self._storage, Arcs) else FeedbackGraph(self.n_arms, self.edges(), self._labels)

    @property
    def n_arms(self) -> int:
        """The number of arms."""
        return self._storage.n_arms

    @property
    def n_edges(self) -> int:
        """The number of edges, or of directed edges; that an arm sees itself is not counted."""
        return self._storage.n_edges

    @property
    def is_directed(self) -> bool:
        """Whether some arm sees another that does not see it."""
        return "directed" in self.demands()

    @property
    def self_loops(self) -> NDArray[np.bool_]:
        """Whether each arm sees itself, (n_arms,)."""
        return self._storage.loops() if isinstance(self._storage, Arcs) else np.ones(self.n_arms, dtype=np.bool_)

    @property
    def observability(self) -> Observability:
        """How well arms can be seen, with the arms that make it so.

        >>> FeedbackGraph(3, [(0, 1), (0, 2)], directed=True, self_loops=False).observability.arms
        (0,)
        """
        if not isinstance(self._storage, Arcs):
            return Observability("strong")
        loops, seen = self.self_loops, np.diff(self._storage.observers[0])
        for level, hard in (("none", seen == 0), ("weak", ~loops & (seen < self.n_arms - 1))):
            if hard.any():
                return Observability(level, np.flatnonzero(hard).tolist())
        return Observability("strong")

    def demands(self) -> dict[str, str]:
        """What the graph asks of a learner beyond mutual feedback: some of ``FEATURES``, each with an arm as witness.

        >>> FeedbackGraph(2, [(0, 1)], directed=True, self_loops=[0]).demands()
        {'directed': 'arm 0 sees arm 1 but not the other way round', 'loopless': 'arm 1 does not see itself'}
        """
        found: dict[str, str] = {}
        if not isinstance(self._storage, Arcs):
            return found
        for one, other in self.edges()[~self._goes_both_ways()][:1].tolist():
            found["directed"] = f"arm {one} sees arm {other} but not the other way round"
        for arm in np.flatnonzero(~self.self_loops)[:1].tolist():
            found["loopless"] = f"arm {arm} does not see itself"
        if (hard := self.observability) == "weak":
            found["weak"] = f"arm {hard.arms[0]} is not seen by itself, and not by all other arms"
        return found

    @property
    def labels(self) -> tuple[Label, ...] | None:
        """The label of each arm, (n_arms,), or None where arms are known by number."""
        return self._labels

    def _goes_both_ways(self) -> NDArray[np.bool_]:
        """Whether each directed edge has its opposite, (n_edges,)."""
        one, other = self.edges().T
        return np.isin(other * self.n_arms + one, one * self.n_arms + other)

    def sees(self, arm: int) -> Ints:
        """The arms whose losses are shown when ``arm`` is chosen: itself and its neighbours, sorted."""
        return self._storage.sees(index("arm", arm, self.n_arms))

    def seen_by(self, arm: int) -> Ints:
        """The arms whose choice shows the loss of ``arm``, sorted; the same as ``sees`` in an undirected graph."""
        return self._storage.seen_by(index("arm", arm, self.n_arms))

    def degree(self, arm: int) -> int:
        """The number of other arms that choosing ``arm`` shows."""
        return self._storage.degree(index("arm", arm, self.n_arms))

    def are_neighbours(self, one: int, other: int) -> bool:
        """Whether choosing either of the two arms shows the other; of an arm and itself, whether it sees itself."""
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
        return all(np.isin(members[members != arm], self._storage.sees(arm)).all() for arm in members.tolist())

    def edges(self) -> Ints:
        """All edges as pairs i < j, or as directed pairs, sorted, (n_edges, 2), int64; large for dense graphs."""
        return self._storage.edges()

    def adjacency(self) -> NDArray[np.bool_]:
        """Who sees whom as a dense matrix, (n_arms, n_arms)."""
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
            kind = "directed graph, arcs" if isinstance(self._storage, Arcs) else f"undirected graph, {kind}"
            digest = hashlib.sha256(f"allworlds {kind}, {self.n_arms} arms\n".encode())
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
        kind = "directed edge" if isinstance(self._storage, Arcs) else "edge"
        return f"FeedbackGraph({arms}, {self.n_edges} {kind}{'' if self.n_edges == 1 else 's'})"

    def __reduce__(self) -> tuple[Any, ...]:
        return FeedbackGraph._of, (self._storage, self._labels)


def check_graph(graph: object, error: Error = InvalidParameter) -> FeedbackGraph:
    """The graph; raise ``error`` unless it is an undirected :class:`FeedbackGraph` whose arms all see themselves."""
    demands = getattr(graph, "demands", None)
    if demands is None:
        raise error(f"graph is of type {type(graph).__name__}; expected a FeedbackGraph")
    for fault in demands().values():
        advice = "; graph.mutual() is the one of the edges that go both ways" if hasattr(graph, "mutual") else ""
        raise InvalidGraph(f"{fault}; expected an undirected graph whose arms all see themselves{advice}")
    if not isinstance(graph, FeedbackGraph):
        raise error(f"graph is of type {type(graph).__name__}; expected a FeedbackGraph")
    return graph
