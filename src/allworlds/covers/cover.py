"""Clique covers: a partition of the arms into cliques that checks itself, and the file that stores it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from allworlds.covers.certificate import Certificate, certificate_from_data
from allworlds.foundation.checks import Ints, frozen, integers, whole
from allworlds.foundation.errors import InvalidCover, InvalidParameter
from allworlds.foundation.files import write_atomic
from allworlds.graphs.files import COVER_FORMAT, graph_from_data, graph_to_data, read_cover_data
from allworlds.graphs.graph import FeedbackGraph, check_graph
from allworlds.graphs.inputs import flatten_cliques
from allworlds.graphs.storage import Arcs, group_arms

Groups: TypeAlias = tuple[Ints, Ints, Ints]
"""Owner, order and starts, as :func:`group_arms` gives them."""


@dataclass(frozen=True, init=False, eq=False, repr=False)
class CliqueCover:
    """A partition of the arms into cliques: choosing an arm shows its whole clique.

    The regret of the Tsallis-Shannon learner grows with the number of cliques, so a cover with few is better. The
    constructor raises :class:`InvalidCover` unless the cliques partition the arms and the arms of each clique see each
    other. ``lower_bound`` says how many cliques every cover needs, and ``certificate`` proves it. A cover is immutable;
    its arrays are read-only.

    Parameters
    ----------
    graph:
        The graph to cover.
    cliques:
        Lists of arms. Clique k is the k-th list.
    lower_bound:
        A number of cliques that every cover of the graph needs, if known.
    method:
        How the cover was found.
    certificate:
        A proof of the lower bound, which it replaces if that is not given. It is not checked here, because that can
        take long; ``cover.certificate.check(graph)`` does.

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

    graph: FeedbackGraph
    """The graph that is covered."""
    owner: Ints
    """The clique of each arm, (n_arms,)."""
    order: Ints
    """The arms sorted by clique, then by number, (n_arms,), so that cliques are contiguous."""
    starts: Ints
    """Clique k is ``order[starts[k]:starts[k + 1]]``, (n_cliques + 1,)."""
    lower_bound: int | None
    """A number of cliques that every cover of this graph needs, or None if unknown."""
    method: str
    """How the cover was found."""
    certificate: Certificate | None
    """The proof of the lower bound, or None."""

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
        self._fill(graph, group_arms(owner, len(lengths)), lower_bound, method, certificate)
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
        """The cover in which arm i belongs to clique ``owner[i]``, (n_arms,); fast for a million arms.

        >>> CliqueCover.from_owner(FeedbackGraph(3, [(0, 2)]), [0, 1, 0]).cliques
        (array([0, 2]), array([1]))
        """
        check_graph(graph, InvalidCover)
        owners = integers("owner", owner, InvalidCover)
        if owners.shape != (graph.n_arms,):
            raise InvalidCover(f"owner has shape {owners.shape}; expected a clique for each of {graph.n_arms} arms")
        wrong = owners[(owners < 0) | (owners >= graph.n_arms)]
        if wrong.size:
            raise InvalidCover(f"owner contains {wrong[0]}; expected cliques from 0 to {graph.n_arms - 1}")
        n_cliques = int(owners.max()) + 1
        empty = np.flatnonzero(np.bincount(owners, minlength=n_cliques) == 0)
        if empty.size:
            raise InvalidCover(f"clique {empty[0]} is empty; expected cliques numbered 0 to K - 1 without gaps")
        cover = cls._trusted(graph, *group_arms(owners, n_cliques), lower_bound, method, certificate)
        _check_cliques(cover)
        return cover

    @classmethod
    def singletons(cls, graph: FeedbackGraph) -> CliqueCover:
        """Every arm in a clique of its own, as if the graph had no edges.

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
        bound: int | None,
        method: str,
        proof: Certificate | None = None,
    ) -> CliqueCover:
        """A cover that is known to be valid, around arrays that are not copied; pickles call it, old ones too."""
        cover = cls.__new__(cls)
        cover._fill(graph, (owner, order, starts), bound, method, proof)
        return cover

    def _fill(
        self, graph: FeedbackGraph, groups: Groups, bound: int | None, method: str, proof: Certificate | None
    ) -> None:
        known = _checked_bound(bound, proof, len(groups[2]) - 1)
        values = (graph, *(frozen(array) for array in groups), known, method, proof)
        for field, value in zip(fields(self), values, strict=True):
            object.__setattr__(self, field.name, value)

    @property
    def n_arms(self) -> int:
        """The number of arms."""
        return len(self.owner)

    @property
    def n_cliques(self) -> int:
        """The number of cliques, the paper's K."""
        return len(self.starts) - 1

    @property
    def sizes(self) -> Ints:
        """The number of arms in each clique, (n_cliques,)."""
        return frozen(np.diff(self.starts))

    @cached_property
    def cliques(self) -> tuple[Ints, ...]:
        """The sorted arms of each clique."""
        return tuple(self.order[start:end] for start, end in pairwise(self.starts.tolist()))

    @property
    def is_minimum(self) -> bool:
        """Whether the lower bound proves that no cover has fewer cliques."""
        return self.lower_bound == self.n_cliques

    def digest(self) -> str:
        """SHA-256 of the graph's structure and of every arm's clique, in hex."""
        digest = hashlib.sha256(f"allworlds cover of {self.graph.digest()}\n".encode())
        digest.update(self.owner.astype("<i8", copy=False).data)
        return digest.hexdigest()

    def __len__(self) -> int:
        return self.n_cliques

    def __eq__(self, other: object) -> bool:
        """Whether graphs, cliques and their numbers are equal; certificates are not compared."""
        if not isinstance(other, CliqueCover):
            return NotImplemented
        return self.graph == other.graph and np.array_equal(self.owner, other.owner)

    def __hash__(self) -> int:
        return hash(self.digest())

    def __repr__(self) -> str:
        cliques = "1 clique" if self.n_cliques == 1 else f"{self.n_cliques} cliques"
        arms = "1 arm" if self.n_arms == 1 else f"{self.n_arms} arms"
        known = "" if self.lower_bound is None else f", at least {self.lower_bound} needed"
        return f"CliqueCover({arms} in {cliques}{known}, {self.method})"

    def __reduce__(self) -> tuple[Any, ...]:
        groups = (self.owner, self.order, self.starts)
        return CliqueCover._trusted, (self.graph, *groups, self.lower_bound, self.method, self.certificate)


def _checked_bound(lower_bound: int | None, certificate: Certificate | None, n_cliques: int) -> int | None:
    if lower_bound is None and certificate is None:
        return None
    if certificate is not None and lower_bound is None:
        lower_bound = certificate.bound
    elif certificate is not None and certificate.bound != lower_bound:
        raise InvalidCover(
            f"lower_bound is {lower_bound}; expected {certificate.bound}, which the certificate proves; leave it out"
        )
    return whole("lower_bound", lower_bound, at_most=n_cliques, error=InvalidCover)


def _check_partition(members: Ints, number: Ints, n_arms: int) -> None:
    """Raise :class:`InvalidCover` unless each arm occurs once; ``members[t]`` is in clique ``number[t]``."""
    times = np.bincount(members, minlength=n_arms)
    missing = np.flatnonzero(times == 0)
    if missing.size:
        raise InvalidCover(f"arm {missing[0]} is in no clique; expected each arm in exactly one clique")
    repeated = np.flatnonzero(times > 1)
    if repeated.size:
        first, second = number[members == repeated[0]][:2]
        where = f"twice in clique {first}" if first == second else f"in cliques {first} and {second}"
        raise InvalidCover(f"arm {repeated[0]} is {where}; expected each arm in exactly one clique, once")


def _check_cliques(cover: CliqueCover) -> None:
    check_graph(cover.graph)
    strangers = find_strangers(cover.graph, (cover.owner, cover.order, cover.starts))
    if strangers is not None:
        one, other = strangers
        raise InvalidCover(
            f"arms {one} and {other} share clique {cover.owner[one]} but are not neighbours; "
            "allworlds.clique_cover(graph) computes a valid cover"
        )


def find_strangers(graph: FeedbackGraph, groups: Groups) -> tuple[int, int] | None:
    """Two arms of one clique that are not neighbours, in order, or None; None also for a directed graph."""
    storage = graph._storage
    found = None if isinstance(storage, Arcs) else storage.find_strangers(*groups)
    return None if found is None else (min(found), max(found))


def check_cover(cover: object) -> None:
    """Raise InvalidParameter unless ``cover`` is a :class:`CliqueCover`."""
    if not isinstance(cover, CliqueCover):
        raise InvalidParameter(
            f"cover is of type {type(cover).__name__}; expected a CliqueCover; "
            "allworlds.clique_cover(graph) computes one"
        )


def write_cover(cover: CliqueCover, path: str | Path) -> Path:
    """Write a cover with its graph and certificate as JSON, atomically; :func:`read_cover` reads it.

    >>> import tempfile
    >>> from allworlds.covers import clique_cover
    >>> from allworlds.graphs import cycle
    >>> file = write_cover(clique_cover(cycle(5)), Path(tempfile.mkdtemp()) / "cover.json")
    >>> read_cover(file)
    CliqueCover(5 arms in 3 cliques, at least 3 needed, matching)
    """
    file = Path(path)
    summary = {"format": COVER_FORMAT, "n_cliques": cover.n_cliques, "is_minimum": cover.is_minimum}
    text = json.dumps(summary | cover_to_data(cover), default=lambda array: array.tolist()) + "\n"
    try:
        write_atomic(file, text.encode())
    except OSError as error:
        raise InvalidCover(f"cannot write '{file}': {error.strerror}; try another folder") from None
    return file


def read_cover(path: str | Path) -> CliqueCover:
    """The cover in a file of :func:`write_cover`.

    The cover is checked, but not its certificate, which can take long: ``cover.certificate.check(cover.graph)`` does.
    """
    data = read_cover_data(path)
    try:
        return cover_from_data(data)
    except (KeyError, TypeError) as error:
        raise InvalidCover(f"'{path}' is damaged: {error}; write it again") from None


def cover_to_data(cover: CliqueCover) -> dict[str, Any]:
    """The cover with its graph as numbers, arrays and strings."""
    return {
        "graph": graph_to_data(cover.graph),
        "owner": cover.owner,
        "lower_bound": cover.lower_bound,
        "method": cover.method,
        "certificate": None if cover.certificate is None else cover.certificate.to_data(),
    }


def cover_from_data(data: dict[str, Any]) -> CliqueCover:
    """The inverse of :func:`cover_to_data`, which checks the cover again; data of old versions has no certificate."""
    return CliqueCover.from_owner(
        graph_from_data(data["graph"]),
        np.asarray(data["owner"], dtype=np.int64),
        lower_bound=data["lower_bound"],
        method=data["method"],
        certificate=certificate_from_data(data.get("certificate")),
    )
