"""A partition of the arms into cliques, which checks itself."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from allworlds.covers.certificate import Certificate
from allworlds.foundation.checks import Ints, frozen, integers, whole
from allworlds.foundation.errors import AllWorldsError, InvalidCover, InvalidParameter
from allworlds.graphs.graph import FeedbackGraph, check_graph, flatten_cliques
from allworlds.graphs.storage import group_arms


class CliqueCover:
    """The arms of a graph, each in exactly one clique: whoever picks an arm sees its whole clique.

    The regret of the Tsallis-Shannon learner grows with the number of cliques, so few are better. A cover
    that exists is valid: building one checks that every arm is in one clique and that the members of a clique
    are neighbours. With ``lower_bound`` it says how few cliques there can be, and with ``certificate`` why. A cover
    never changes; its arrays are read-only.

    Parameters
    ----------
    graph:
        The graph that is covered.
    cliques:
        Lists of arms. Clique k is the k-th list.
    lower_bound:
        A number of cliques that every cover of the graph needs, if one is known.
    method:
        A word on where the cover comes from.
    certificate:
        What proves the lower bound; without ``lower_bound``, its bound is taken. It is not checked here, because
        that can take long: ``cover.certificate.check(graph)`` does it.

    Examples
    --------
    >>> graph = FeedbackGraph(4, [(0, 1), (1, 2), (0, 2), (2, 3)])
    >>> cover = CliqueCover(graph, [[0, 1], [2, 3]])
    >>> cover
    CliqueCover(4 arms in 2 cliques, given)
    >>> cover.owner
    array([0, 0, 1, 1])

    References
    ----------
    [EK21, Section 2]: V_1, ..., V_K, and V(i) is ``owner[i]``.
    """

    __slots__ = ("_certificate", "_cliques", "_graph", "_lower_bound", "_method", "_order", "_owner", "_starts")

    _graph: FeedbackGraph
    _owner: Ints
    _order: Ints
    _starts: Ints
    _lower_bound: int | None
    _method: str
    _certificate: Certificate | None
    _cliques: tuple[Ints, ...] | None

    def __init__(
        self,
        graph: FeedbackGraph,
        cliques: Iterable[Iterable[int]],
        *,
        lower_bound: int | None = None,
        method: str = "given",
        certificate: Certificate | None = None,
    ) -> None:
        check_graph(graph, InvalidCover)
        members, lengths = flatten_cliques(cliques, graph.n_arms, InvalidCover)
        number = np.repeat(np.arange(len(lengths)), lengths)
        _check_partition(members, number, graph.n_arms)
        owner = np.empty(graph.n_arms, dtype=np.int64)
        owner[members] = number
        self._fill(graph, *group_arms(owner, len(lengths)), lower_bound, method, certificate)
        _check_cliques(self)

    @classmethod
    def from_owner(
        cls,
        graph: FeedbackGraph,
        owner: Iterable[int] | Ints,
        *,
        lower_bound: int | None = None,
        method: str = "given",
        certificate: Certificate | None = None,
    ) -> CliqueCover:
        """The cover in which arm i belongs to clique ``owner[i]``, (n_arms,); quick for a million arms.

        >>> CliqueCover.from_owner(FeedbackGraph(3, [(0, 2)]), [0, 1, 0]).cliques
        (array([0, 2]), array([1]))
        """
        check_graph(graph, InvalidCover)
        owners = integers("owner", owner, InvalidCover)
        if owners.shape != (graph.n_arms,):
            raise InvalidCover(
                f"owner must name a clique for each of {graph.n_arms} arms, but shape {owners.shape} came"
            )
        if owners.min() < 0 or owners.max() >= graph.n_arms:
            wrong = owners.min() if owners.min() < 0 else owners.max()
            raise InvalidCover(
                f"owner names clique {wrong}, but {graph.n_arms} arms have room for cliques "
                f"0 to {graph.n_arms - 1} only"
            )
        n_cliques = int(owners.max()) + 1
        empty = np.flatnonzero(np.bincount(owners, minlength=n_cliques) == 0)
        if empty.size:
            raise InvalidCover(f"clique {empty[0]} is empty; number the cliques 0 to K - 1 without gaps")
        cover = cls._trusted(graph, *group_arms(owners, n_cliques), lower_bound, method, certificate)
        _check_cliques(cover)
        return cover

    @classmethod
    def singletons(cls, graph: FeedbackGraph) -> CliqueCover:
        """Every arm alone: the cover that ignores what else can be seen.

        >>> CliqueCover.singletons(FeedbackGraph(3, [(0, 2)])).n_cliques
        3
        """
        check_graph(graph, InvalidCover)
        return cls._trusted(graph, *group_arms(np.arange(graph.n_arms), graph.n_arms), None, "singletons")

    @classmethod
    def _trusted(
        cls,
        graph: FeedbackGraph,
        owner: Ints,
        order: Ints,
        starts: Ints,
        lower_bound: int | None,
        method: str,
        certificate: Certificate | None = None,
    ) -> CliqueCover:
        """A cover known to be valid, around arrays that are not copied."""
        cover = cls.__new__(cls)
        cover._fill(graph, owner, order, starts, lower_bound, method, certificate)
        return cover

    def _fill(
        self,
        graph: FeedbackGraph,
        owner: Ints,
        order: Ints,
        starts: Ints,
        lower_bound: int | None,
        method: str,
        certificate: Certificate | None = None,
    ) -> None:
        self._graph = graph
        self._owner, self._order, self._starts = frozen(owner), frozen(order), frozen(starts)
        self._lower_bound = _checked_bound(lower_bound, certificate, len(starts) - 1)
        self._method = method
        self._certificate = certificate
        self._cliques = None

    @property
    def graph(self) -> FeedbackGraph:
        """The graph that is covered."""
        return self._graph

    @property
    def n_arms(self) -> int:
        """The number of arms."""
        return len(self._owner)

    @property
    def n_cliques(self) -> int:
        """The number of cliques, the paper's K."""
        return len(self._starts) - 1

    @property
    def owner(self) -> Ints:
        """The clique of each arm, (n_arms,)."""
        return self._owner

    @property
    def order(self) -> Ints:
        """The arms sorted by clique, then by number, (n_arms,): a clique is contiguous here."""
        return self._order

    @property
    def starts(self) -> Ints:
        """Clique k is ``order[starts[k]:starts[k + 1]]``, (n_cliques + 1,)."""
        return self._starts

    @property
    def sizes(self) -> Ints:
        """The number of arms in each clique, (n_cliques,)."""
        return frozen(np.diff(self._starts))

    @property
    def cliques(self) -> tuple[Ints, ...]:
        """The sorted arms of each clique; made when first asked for."""
        if self._cliques is None:
            ends = self._starts.tolist()
            self._cliques = tuple(self._order[ends[k] : ends[k + 1]] for k in range(self.n_cliques))
        return self._cliques

    @property
    def lower_bound(self) -> int | None:
        """A number of cliques that every cover of this graph needs, or None where none is known."""
        return self._lower_bound

    @property
    def is_minimum(self) -> bool:
        """Whether the lower bound proves that no cover has fewer cliques."""
        return self._lower_bound == self.n_cliques

    @property
    def method(self) -> str:
        """Where the cover comes from."""
        return self._method

    @property
    def certificate(self) -> Certificate | None:
        """What proves the lower bound, or None where nothing is known."""
        return self._certificate

    def digest(self) -> str:
        """SHA-256 of the graph's structure and of every arm's clique, in hex."""
        digest = hashlib.sha256(f"allworlds cover of {self._graph.digest()}\n".encode())
        digest.update(self._owner.astype("<i8", copy=False).data)
        return digest.hexdigest()

    def __len__(self) -> int:
        return self.n_cliques

    def __eq__(self, other: object) -> bool:
        """Equal graphs, cut in equal cliques of equal numbers; the certificate does not enter."""
        if not isinstance(other, CliqueCover):
            return NotImplemented
        return self._graph == other._graph and np.array_equal(self._owner, other._owner)

    def __hash__(self) -> int:
        return hash(self.digest())

    def __repr__(self) -> str:
        cliques = "1 clique" if self.n_cliques == 1 else f"{self.n_cliques} cliques"
        arms = "1 arm" if self.n_arms == 1 else f"{self.n_arms} arms"
        known = "" if self._lower_bound is None else f", at least {self._lower_bound} needed"
        return f"CliqueCover({arms} in {cliques}{known}, {self._method})"

    def __reduce__(self) -> tuple[Any, ...]:
        arrays = (self._owner, self._order, self._starts)
        return CliqueCover._trusted, (self._graph, *arrays, self._lower_bound, self._method, self._certificate)


def _checked_bound(lower_bound: int | None, certificate: Certificate | None, n_cliques: int) -> int | None:
    if lower_bound is None and certificate is None:
        return None
    if certificate is not None and lower_bound is None:
        lower_bound = certificate.bound
    elif certificate is not None and certificate.bound != lower_bound:
        raise InvalidCover(
            f"lower_bound is {lower_bound}, but the certificate proves {certificate.bound}; leave lower_bound out"
        )
    bound = whole("lower_bound", lower_bound, error=InvalidCover)
    if bound > n_cliques:
        raise InvalidCover(f"lower_bound is {bound}, but this cover has only {n_cliques} cliques; one of both is wrong")
    return bound


def _check_partition(members: Ints, number: Ints, n_arms: int) -> None:
    """Every arm in exactly one clique: ``members[t]`` is an arm of clique ``number[t]``."""
    times = np.bincount(members, minlength=n_arms)
    missing = np.flatnonzero(times == 0)
    if missing.size:
        raise InvalidCover(f"arm {missing[0]} is in no clique; add it to one, or as a clique of its own")
    repeated = np.flatnonzero(times > 1)
    if repeated.size:
        first, second = number[members == repeated[0]][:2]
        where = f"twice in clique {first}" if first == second else f"in cliques {first} and {second}"
        raise InvalidCover(f"arm {repeated[0]} is {where}; every arm belongs to exactly one clique, once")


def _check_cliques(cover: CliqueCover) -> None:
    """The arms of each clique are neighbours."""
    strangers = cover.graph._storage.find_strangers(cover.owner, cover.order, cover.starts)
    if strangers is not None:
        one, other = sorted(strangers)
        raise InvalidCover(
            f"arms {one} and {other} share clique {cover.owner[one]} but are not neighbours; "
            "allworlds.clique_cover(graph) computes a valid cover"
        )


def check_cover(cover: object, error: type[AllWorldsError] = InvalidParameter) -> None:
    """Refuse what is no cover; a graph in its place is the likeliest slip."""
    if not isinstance(cover, CliqueCover):
        raise error(
            f"a CliqueCover was expected, but {type(cover).__name__} came; allworlds.clique_cover(graph) computes one"
        )
