"""What proves that no cover has fewer cliques: a value that anyone can check against the graph.

Five kinds. Each has a ``bound``, a number of cliques that every cover of the graph needs, and ``check(graph)``, which
says in a sentence what it checked, or raises :class:`InvalidCover`. They rest on two facts. A cover of the graph covers
every induced part of it. And no clique reaches from one part to another where no edge does, so their bounds add.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from allworlds.foundation.checks import Ints, check_arms, frozen, integers, whole
from allworlds.foundation.errors import InvalidCover
from allworlds.graphs.graph import FeedbackGraph, check_graph
from allworlds.graphs.storage import DisjointCliques, induced


def _arms(arms: Any, what: str) -> Ints:
    """Arms as a sorted read-only array of its own; one that comes twice is refused."""
    members = np.sort(integers(what, arms, InvalidCover).ravel())
    if np.any(members[1:] == members[:-1]):
        raise InvalidCover(f"{what} names arm {members[:-1][members[1:] == members[:-1]][0]} twice; name it once")
    return frozen(members)


@dataclass(frozen=True, eq=False)
class IndependentArms:
    """Arms of which no two see each other: no clique holds two of them.

    >>> IndependentArms([0, 2]).check(FeedbackGraph(3, [(0, 1), (1, 2)]))
    '2 arms do not see each other'
    """

    arms: Ints

    def __post_init__(self) -> None:
        """Sort the arms."""
        object.__setattr__(self, "arms", _arms(self.arms, "the independent set"))

    @property
    def bound(self) -> int:
        """The number of arms."""
        return len(self.arms)

    def check(self, graph: FeedbackGraph) -> str:
        """Look at what every arm of the set sees."""
        _check_inside(self.arms, graph, "the independent set")
        taken = np.zeros(graph.n_arms, dtype=np.bool_)
        taken[self.arms] = True
        if isinstance(graph._storage, DisjointCliques):
            owner = graph._storage.owner[self.arms]
            alone = len(np.unique(owner)) == len(owner)
        else:
            alone = all(np.count_nonzero(taken[graph._storage.sees(arm)]) == 1 for arm in self.arms.tolist())
        if not alone:
            raise InvalidCover("two arms of the independent set see each other, so it proves nothing")
        return f"{self.bound} arms do not see each other"

    def to_data(self) -> dict[str, Any]:
        """As numbers and lists."""
        return {"kind": "independent arms", "arms": self.arms.tolist()}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IndependentArms) and np.array_equal(self.arms, other.arms)

    def __hash__(self) -> int:
        return hash(self.arms.tobytes())


@dataclass(frozen=True, eq=False)
class OddComponents:
    """No three arms see each other, and few arms ``barrier`` keep many odd components apart.

    A clique is then an arm or an edge, so a cover of n arms by K cliques has a matching of n - K edges. Without the
    barrier, every odd component has an arm that is unmatched or matched into the barrier. So at least
    ``odd - len(barrier)`` arms stay unmatched, and ``K >= (n + odd - len(barrier)) / 2``. [Berge 1958].

    >>> pentagon = FeedbackGraph(5, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)])
    >>> OddComponents([], n_arms=5, odd=1).check(pentagon)
    'no three arms see each other, and 0 arms keep 1 odd components apart'
    """

    barrier: Ints
    n_arms: int
    odd: int

    def __post_init__(self) -> None:
        """Sort the barrier."""
        object.__setattr__(self, "barrier", _arms(self.barrier, "the barrier"))

    @property
    def bound(self) -> int:
        """``(n + odd - len(barrier)) / 2``, rounded up."""
        return -(-(self.n_arms + self.odd - len(self.barrier)) // 2)

    def check(self, graph: FeedbackGraph) -> str:
        """Look for a triangle, and count the odd components without the barrier."""
        from allworlds.covers.structure import component_of, has_triangle

        _check_inside(self.barrier, graph, "the barrier")
        if graph.n_arms != self.n_arms:
            raise InvalidCover(f"the certificate is for {self.n_arms} arms, but the graph has {graph.n_arms}")
        indptr, indices = graph._storage.neighbours()
        if has_triangle(indptr, indices):
            raise InvalidCover("three arms see each other, so a matching bounds no cover of this graph")
        rest = np.setdiff1d(np.arange(graph.n_arms), self.barrier)
        sizes = np.bincount(component_of(*induced(indptr, indices, rest))) if len(rest) else np.zeros(0, dtype=np.int64)
        odd = int(np.count_nonzero(sizes % 2))
        if odd != self.odd:
            raise InvalidCover(f"the certificate counts {self.odd} odd components, but there are {odd}")
        return f"no three arms see each other, and {len(self.barrier)} arms keep {odd} odd components apart"

    def to_data(self) -> dict[str, Any]:
        """As numbers and lists."""
        barrier = self.barrier.tolist()
        return {"kind": "odd components", "barrier": barrier, "n_arms": self.n_arms, "odd": self.odd}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OddComponents) and self.to_data() == other.to_data()

    def __hash__(self) -> int:
        return hash((self.barrier.tobytes(), self.n_arms, self.odd))


@dataclass(frozen=True, eq=False)
class FractionalPacking:
    """Weights of the arms such that no clique weighs more than one: every cover needs their sum, rounded up.

    Weights are whole numbers over one ``unit``, so the check is exact. With weights 0 and 1 it is an independent set.

    >>> pentagon = FeedbackGraph(5, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)])
    >>> halves = FractionalPacking([1, 1, 1, 1, 1], unit=2)
    >>> halves.bound, halves.check(pentagon)
    (3, 'no clique weighs more than 2/2, and all arms weigh 5/2')
    """

    weights: Ints
    unit: int

    def __post_init__(self) -> None:
        """Refuse weights below zero, or above one."""
        weights = integers("weights", self.weights, InvalidCover).ravel()
        whole("unit", self.unit, error=InvalidCover)
        if weights.size and weights.min() < 0:
            raise InvalidCover(f"a weight is {weights.min()}; weights must not be below zero")
        if weights.size and weights.max() > self.unit:
            raise InvalidCover(f"a weight is {weights.max()}/{self.unit}; an arm alone may not exceed one")
        object.__setattr__(self, "weights", frozen(weights))

    @property
    def bound(self) -> int:
        """The sum of the weights, rounded up."""
        return int(-(-sum(self.weights.tolist()) // self.unit))

    @property
    def value(self) -> float:
        """The sum of the weights."""
        return float(sum(self.weights.tolist()) / self.unit)

    def check(self, graph: FeedbackGraph) -> str:
        """Weigh every maximal clique."""
        from allworlds.covers.maximal import maximal_cliques

        if self.weights.shape != (graph.n_arms,):
            raise InvalidCover(f"{len(self.weights)} weights came for {graph.n_arms} arms; expected one an arm")
        for clique in maximal_cliques(graph):
            if (weight := sum(self.weights[clique].tolist())) > self.unit:  # whole numbers of any size
                raise InvalidCover(f"the clique {clique} weighs {weight}/{self.unit}, but no clique may exceed one")
        total = sum(self.weights.tolist())
        return f"no clique weighs more than {self.unit}/{self.unit}, and all arms weigh {total}/{self.unit}"

    def to_data(self) -> dict[str, Any]:
        """As numbers and lists."""
        return {"kind": "fractional packing", "weights": self.weights.tolist(), "unit": self.unit}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FractionalPacking) and self.to_data() == other.to_data()

    def __hash__(self) -> int:
        return hash((self.weights.tobytes(), self.unit))


@dataclass(frozen=True)
class Exhausted:
    """A search went through all covers with fewer than ``bound`` cliques and found none.

    This proof is too long to carry along: ``check`` searches again, with a SAT solver if one is installed and else by
    branch and bound, and takes as long as that takes. ``solver`` says who found it, with its version.

    >>> pentagon = FeedbackGraph(5, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)])
    >>> Exhausted(3, "branch and bound").check(pentagon)
    'searched again: there is no cover with 2 cliques'
    """

    bound: int
    solver: str

    def check(self, graph: FeedbackGraph) -> str:
        """Search again for a cover with one clique less."""
        from allworlds.covers.sat import find_smaller_cover

        whole("bound", self.bound, error=InvalidCover)
        if self.bound > 1 and find_smaller_cover(graph, self.bound) is not None:
            raise InvalidCover(f"{self.solver} found no cover with {self.bound - 1} cliques, but there is one")
        return f"searched again: there is no cover with {self.bound - 1} cliques"

    def to_data(self) -> dict[str, Any]:
        """As numbers and lists."""
        return {"kind": "exhausted", "bound": self.bound, "solver": self.solver}


@dataclass(frozen=True, eq=False)
class Part:
    """Some arms, and a certificate for the graph that they induce; its arm i is ``arms[i]``."""

    arms: Ints
    certificate: Certificate

    def __post_init__(self) -> None:
        """Sort the arms."""
        object.__setattr__(self, "arms", _arms(self.arms, "a part"))

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, Part) and np.array_equal(self.arms, other.arms)
        return same and self.certificate == other.certificate  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash(self.arms.tobytes())


@dataclass(frozen=True)
class PartByPart:
    """Parts of the graph without an edge from one to another, each with its certificate: their bounds add.

    Arms that are in no part are left out, which can only make covers smaller.

    >>> graph = FeedbackGraph(4, [(0, 1), (2, 3), (1, 2)])
    >>> parts = PartByPart((Part([0], IndependentArms([0])), Part([2, 3], IndependentArms([0]))))
    >>> parts.bound, parts.check(graph)
    (2, '2 parts without an edge between them need 2 cliques: 2 by independent arms')
    """

    parts: tuple[Part, ...]

    @functools.cached_property
    def bound(self) -> int:
        """The sum of the parts' bounds."""
        return sum(part.certificate.bound for part in self.parts)

    def check(self, graph: FeedbackGraph) -> str:
        """Look for arms in two parts and edges between two parts, then check every part."""
        check_graph(graph, InvalidCover)
        where = np.full(graph.n_arms, -1)
        for number, part in enumerate(self.parts):
            _check_inside(part.arms, graph, f"part {number}")
            if np.any(where[part.arms] >= 0):
                raise InvalidCover(f"part {number} shares an arm with another part; parts must be disjoint")
            where[part.arms] = number
        indptr, indices = graph._storage.neighbours()
        here, there = np.repeat(where, np.diff(indptr)), where[indices]
        if np.any((here >= 0) & (there >= 0) & (here != there)):
            raise InvalidCover("an edge leads from one part to another, so the bounds of the parts do not add")
        kinds: dict[str, int] = {}
        for part in self.parts:
            part.certificate.check(FeedbackGraph._induced(graph, part.arms))
            kind = part.certificate.to_data()["kind"]
            kinds[kind] = kinds.get(kind, 0) + part.certificate.bound
        listed = ", ".join(f"{bound} by {kind}" for kind, bound in kinds.items())
        return f"{len(self.parts)} parts without an edge between them need {self.bound} cliques: {listed}"

    def to_data(self) -> dict[str, Any]:
        """As numbers and lists."""
        parts = [{"arms": part.arms.tolist(), "certificate": part.certificate.to_data()} for part in self.parts]
        return {"kind": "part by part", "parts": parts}


Certificate: TypeAlias = IndependentArms | OddComponents | FractionalPacking | Exhausted | PartByPart


def certificate_from_data(data: dict[str, Any] | None) -> Certificate | None:
    """The inverse of ``to_data``; None stays None.

    >>> certificate_from_data(IndependentArms([2, 0]).to_data()).bound
    2
    """
    if data is None:
        return None
    kinds: dict[str, Callable[[dict[str, Any]], Certificate]] = {
        "independent arms": lambda data: IndependentArms(data["arms"]),
        "odd components": lambda data: OddComponents(data["barrier"], data["n_arms"], data["odd"]),
        "fractional packing": lambda data: FractionalPacking(data["weights"], data["unit"]),
        "exhausted": lambda data: Exhausted(data["bound"], data["solver"]),
        "part by part": lambda data: PartByPart(tuple(_part(part) for part in data["parts"])),
    }
    try:
        return kinds[data["kind"]](data)
    except (KeyError, TypeError):
        raise InvalidCover(
            f"{str(data)[:60]!r} is no certificate; expected one of the kinds {', '.join(kinds)}"
        ) from None


def _part(data: dict[str, Any]) -> Part:
    certificate = certificate_from_data(data["certificate"])
    if certificate is None:
        raise InvalidCover("a part without a certificate came; leave the part out")
    return Part(data["arms"], certificate)


def _check_inside(arms: Ints, graph: FeedbackGraph, what: str) -> None:
    check_graph(graph, InvalidCover)
    check_arms(what, arms, graph.n_arms, InvalidCover)
