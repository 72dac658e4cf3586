"""Certificates: values that prove a lower bound on the cliques of every cover, and that anyone can check.

Each of the five kinds has a ``bound``, a number of cliques that every cover of the graph needs, and ``check(graph)``,
which returns a sentence that says what it checked, or raises :class:`InvalidCover`. They rest on two facts. A cover of
the graph covers every induced subgraph. And no clique has arms of two parts without an edge between them, so their
bounds add.
"""

from __future__ import annotations

import functools
from collections import Counter
from dataclasses import dataclass, fields
from typing import Any, ClassVar, TypeAlias, cast

import numpy as np

from allworlds.foundation.checks import Ints, check_arms, frozen, integers, shorten, whole
from allworlds.foundation.errors import InvalidCover
from allworlds.graphs.graph import FeedbackGraph, check_graph
from allworlds.graphs.storage import DisjointCliques, induced


def _arms(name: str, arms: Any) -> Ints:
    """Arms as a new, sorted, read-only array."""
    members = np.sort(integers(name, arms, InvalidCover).ravel())
    repeated = members[:-1][members[1:] == members[:-1]]
    if repeated.size:
        raise InvalidCover(f"{name} contains arm {repeated[0]} twice; expected each arm once")
    return frozen(members)


class _Record:
    """A frozen dataclass that is equal to another one if their data are."""

    kind: ClassVar[str] = ""

    def to_data(self) -> dict[str, Any]:
        """The kind and the fields as numbers, strings and lists."""
        data = {field.name: _plain(getattr(self, field.name)) for field in fields(cast(Any, self))}
        return {"kind": self.kind} | data if self.kind else data

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.to_data() == other.to_data()

    def __hash__(self) -> int:
        return hash(str(self.to_data()))


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return value.to_data() if isinstance(value, _Record) else value.tolist() if isinstance(value, np.ndarray) else value


@dataclass(frozen=True, eq=False)
class IndependentArms(_Record):
    """Arms of which no two see each other, so that no clique contains two of them.

    >>> IndependentArms([0, 2]).check(FeedbackGraph(3, [(0, 1), (1, 2)]))
    '2 arms do not see each other'
    """

    kind: ClassVar[str] = "independent arms"

    arms: Ints

    def __post_init__(self) -> None:
        object.__setattr__(self, "arms", _arms("the independent set", self.arms))

    @property
    def bound(self) -> int:
        """The number of arms."""
        return len(self.arms)

    def check(self, graph: FeedbackGraph) -> str:
        """Check that no arm of the set sees another one."""
        _check_inside("the independent set", self.arms, graph)
        taken = np.zeros(graph.n_arms, dtype=np.bool_)
        taken[self.arms] = True
        if isinstance(graph._storage, DisjointCliques):
            owner = graph._storage.owner[self.arms]
            alone = len(np.unique(owner)) == len(owner)
        else:
            alone = all(np.count_nonzero(taken[graph._storage.sees(arm)]) == 1 for arm in self.arms.tolist())
        if not alone:
            raise InvalidCover("two arms of the independent set see each other; expected arms that do not")
        return f"{self.bound} arms do not see each other"


@dataclass(frozen=True, eq=False)
class OddComponents(_Record):
    """No three arms see each other, and the arms of ``barrier`` separate ``odd`` odd components.

    A clique is then an arm or an edge, so a cover of n arms by K cliques has a matching of n - K edges. Without the
    barrier, every odd component has an arm that is unmatched or matched into the barrier. So at least
    ``odd - len(barrier)`` arms stay unmatched, and ``K >= (n + odd - len(barrier)) / 2``. [Berge 1958].

    >>> pentagon = FeedbackGraph(5, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)])
    >>> OddComponents([], n_arms=5, odd=1).check(pentagon)
    'no three arms see each other, and 0 arms keep 1 odd components apart'
    """

    kind: ClassVar[str] = "odd components"

    barrier: Ints
    n_arms: int
    odd: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "barrier", _arms("the barrier", self.barrier))

    @property
    def bound(self) -> int:
        """``(n + odd - len(barrier)) / 2``, rounded up."""
        return -(-(self.n_arms + self.odd - len(self.barrier)) // 2)

    def check(self, graph: FeedbackGraph) -> str:
        """Check that there is no triangle, and count the odd components without the barrier."""
        from allworlds.covers.structure import component_of, has_triangle

        _check_inside("the barrier", self.barrier, graph)
        if graph.n_arms != self.n_arms:
            raise InvalidCover(f"the graph has {graph.n_arms} arms; expected {self.n_arms}")
        indptr, indices = graph._storage.neighbours()
        if has_triangle(indptr, indices):
            raise InvalidCover("three arms see each other; expected a graph without triangles")
        rest = np.setdiff1d(np.arange(graph.n_arms), self.barrier)
        sizes = np.bincount(component_of(*induced(indptr, indices, rest))) if len(rest) else np.zeros(0, dtype=np.int64)
        odd = int(np.count_nonzero(sizes % 2))
        if odd != self.odd:
            raise InvalidCover(f"without the barrier there are {odd} odd components; expected {self.odd}")
        return f"no three arms see each other, and {len(self.barrier)} arms keep {odd} odd components apart"


@dataclass(frozen=True, eq=False)
class FractionalPacking(_Record):
    """Weights of the arms such that no clique weighs more than one: a cover needs at least their sum, rounded up.

    Weights are integers over a common ``unit``, so the check is exact. Weights 0 and 1 are an independent set.

    >>> pentagon = FeedbackGraph(5, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)])
    >>> halves = FractionalPacking([1, 1, 1, 1, 1], unit=2)
    >>> halves.bound, halves.check(pentagon)
    (3, 'no clique weighs more than 2/2, and all arms weigh 5/2')
    """

    kind: ClassVar[str] = "fractional packing"

    weights: Ints
    unit: int

    def __post_init__(self) -> None:
        weights = integers("weights", self.weights, InvalidCover).ravel()
        whole("unit", self.unit, error=InvalidCover)
        wrong = weights[(weights < 0) | (weights > self.unit)]
        if wrong.size:
            raise InvalidCover(f"a weight is {wrong[0]}; expected integers from 0 to the unit, {self.unit}")
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
        from allworlds.covers.set_cover import maximal_cliques

        if self.weights.shape != (graph.n_arms,):
            raise InvalidCover(f"there are {len(self.weights)} weights; expected {graph.n_arms}, one for each arm")
        for clique in maximal_cliques(graph):
            if (weight := sum(self.weights[clique].tolist())) > self.unit:  # Python integers, which do not overflow
                raise InvalidCover(f"the clique {clique} weighs {weight}/{self.unit}; expected at most one")
        total = sum(self.weights.tolist())
        return f"no clique weighs more than {self.unit}/{self.unit}, and all arms weigh {total}/{self.unit}"


@dataclass(frozen=True, eq=False)
class Exhausted(_Record):
    """A search went through all covers with fewer than ``bound`` cliques and found none.

    The proof itself is too long to store: ``check`` repeats the search, with a SAT solver if one is installed and by
    branch and bound otherwise, and has no time limit. ``solver`` names the solver that finished it, with its version.

    >>> pentagon = FeedbackGraph(5, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)])
    >>> Exhausted(3, "branch and bound").check(pentagon)
    'searched again: there is no cover with 2 cliques'
    """

    kind: ClassVar[str] = "exhausted"

    bound: int
    solver: str

    def check(self, graph: FeedbackGraph) -> str:
        """Search again for a cover with one clique less."""
        from allworlds.covers.exact import find_smaller_cover

        whole("bound", self.bound, error=InvalidCover)
        if self.bound > 1 and find_smaller_cover(graph, self.bound) is not None:
            raise InvalidCover(f"there is a cover with {self.bound - 1} cliques; {self.solver} was wrong")
        return f"searched again: there is no cover with {self.bound - 1} cliques"


@dataclass(frozen=True, eq=False)
class Part(_Record):
    """Some arms, and a certificate for the graph that they induce; its arm i is ``arms[i]``."""

    arms: Ints
    certificate: Certificate

    def __post_init__(self) -> None:
        object.__setattr__(self, "arms", _arms("a part", self.arms))


@dataclass(frozen=True, eq=False)
class PartByPart(_Record):
    """Parts of the graph without an edge between them, each with its certificate: their bounds add.

    Arms in no part are ignored, which can only lower the bound.

    >>> graph = FeedbackGraph(4, [(0, 1), (2, 3), (1, 2)])
    >>> parts = PartByPart((Part([0], IndependentArms([0])), Part([2, 3], IndependentArms([0]))))
    >>> parts.bound, parts.check(graph)
    (2, '2 parts without an edge between them need 2 cliques: 2 by independent arms')
    """

    kind: ClassVar[str] = "part by part"

    parts: tuple[Part, ...]

    @functools.cached_property
    def bound(self) -> int:
        """The sum of the parts' bounds."""
        return sum(part.certificate.bound for part in self.parts)

    def check(self, graph: FeedbackGraph) -> str:
        """Check that parts are disjoint and without edges between them, then each part."""
        check_graph(graph, InvalidCover)
        where = np.full(graph.n_arms, -1)
        for number, part in enumerate(self.parts):
            _check_inside(f"part {number}", part.arms, graph)
            if np.any(where[part.arms] >= 0):
                raise InvalidCover(f"part {number} shares an arm with another part; expected disjoint parts")
            where[part.arms] = number
        indptr, indices = graph._storage.neighbours()
        here, there = np.repeat(where, np.diff(indptr)), where[indices]
        if np.any((here >= 0) & (there >= 0) & (here != there)):
            raise InvalidCover("an edge joins two parts; expected none, so that their bounds add")
        kinds: Counter[str] = Counter()
        for part in self.parts:
            part.certificate.check(FeedbackGraph._induced(graph, part.arms))
            kinds[part.certificate.kind] += part.certificate.bound
        listed = ", ".join(f"{bound} by {kind}" for kind, bound in kinds.items())
        return f"{len(self.parts)} parts without an edge between them need {self.bound} cliques: {listed}"


Certificate: TypeAlias = IndependentArms | OddComponents | FractionalPacking | Exhausted | PartByPart


def certificate_from_data(data: dict[str, Any] | None) -> Certificate | None:
    """The inverse of ``to_data``; None gives None.

    >>> certificate_from_data(IndependentArms([2, 0]).to_data()).bound
    2
    """
    if data is None:
        return None
    kinds = {one.kind: one for one in (IndependentArms, OddComponents, FractionalPacking, Exhausted, PartByPart)}
    try:
        values = dict(data)
        kind: Any = kinds[values.pop("kind")]
        if kind is PartByPart:
            values["parts"] = tuple(_part(part) for part in values["parts"])
        return cast(Certificate, kind(**values))
    except (KeyError, TypeError):
        expected = f"expected one of the kinds {', '.join(kinds)}"
        raise InvalidCover(f"the certificate is {shorten(data)}; {expected}") from None


def _part(data: dict[str, Any]) -> Part:
    certificate = certificate_from_data(data["certificate"])
    if certificate is None:
        raise InvalidCover("a part has no certificate; expected one; leave the part out")
    return Part(data["arms"], certificate)


def _check_inside(name: str, arms: Ints, graph: FeedbackGraph) -> None:
    check_graph(graph, InvalidCover)
    check_arms(name, arms, graph.n_arms, InvalidCover)
