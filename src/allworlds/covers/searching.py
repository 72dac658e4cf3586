"""The best cover of one connected graph that the budget allows: structure, then heuristics, then exact search.

A :class:`BestCover` is improved in place, so that Ctrl-C always leaves a cover with its certificate.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from allworlds.covers import exact, independence, set_cover
from allworlds.covers.budget import Budget
from allworlds.covers.certificate import Certificate, Exhausted, IndependentArms
from allworlds.covers.greedy import cover_in_order, dsatur, largest_first
from allworlds.covers.independence import fewest_neighbours_first, search_independent
from allworlds.covers.matching import matching_cover
from allworlds.covers.structure import chordal_cover, has_triangle
from allworlds.covers.tabu import improve
from allworlds.foundation.checks import Ints
from allworlds.graphs.graph import FeedbackGraph
from allworlds.graphs.storage import from_neighbours, matrix_of

METHODS = ("auto", "heuristic", "branch", "sat", "set-cover")
SMALL = 150
"""Up to this many arms, exact search is likelier to help than more tabu search."""
PROBE = 3000
"""Nodes of a first short search, enough for small graphs."""
MOST_CLAUSES = 3_000_000
"""With more clauses, the SAT solver would spend its time reading them."""


@dataclass
class BestCover:
    """The best cover of one connected graph so far, and the best certificate."""

    indptr: Ints
    indices: Ints
    owner: Ints
    certificate: Certificate
    methods: list[str]
    apart: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """The most independent arms found so far; unused where structure proves the cover."""

    @functools.cached_property
    def stranger(self) -> NDArray[np.bool_]:
        """Who does not see whom, (n_arms, n_arms)."""
        return ~matrix_of(self.indptr, self.indices)

    @property
    def n_cliques(self) -> int:
        """The number of cliques of the cover."""
        return int(self.owner.max()) + 1

    @property
    def is_proved(self) -> bool:
        """Whether no cover has fewer."""
        return self.certificate.bound >= self.n_cliques

    def take(self, owner: Ints | None, method: str) -> None:
        """Keep ``owner`` if it has fewer cliques."""
        if owner is not None and int(owner.max()) + 1 < self.n_cliques:
            self.owner = owner
            self.credit(method)

    def prove(self, certificate: Certificate) -> None:
        """Keep ``certificate`` if it proves a higher bound."""
        if certificate.bound > self.certificate.bound:
            self.certificate = certificate

    def exhausted(self, solver: str, method: str) -> None:
        """Note that a finished search found no smaller cover."""
        self.prove(Exhausted(self.n_cliques, solver))
        self.credit(method)

    def credit(self, method: str) -> None:
        """List ``method`` as the latest that contributed."""
        self.methods = [*(name for name in self.methods if name != method), method]


def first_cover(indptr: Ints, indices: Ints) -> BestCover:
    """The smallest cover of a chordal or triangle-free graph, otherwise DSATUR's with greedily chosen independent arms.

    >>> from allworlds.graphs import cycle
    >>> first_cover(*cycle(6)._storage.neighbours()).methods
    ['matching']
    """
    chordal = chordal_cover(indptr, indices)
    if chordal is not None:
        return BestCover(indptr, indices, chordal[0], IndependentArms(chordal[1]), ["chordal"])
    if not has_triangle(indptr, indices):
        return BestCover(indptr, indices, *matching_cover(indptr, indices), ["matching"])
    apart = np.flatnonzero(fewest_neighbours_first(indptr, indices))
    return BestCover(indptr, indices, dsatur(indptr, indices), IndependentArms(apart), ["dsatur"], apart)


def search(best: BestCover, budget: Budget, method: str = "auto") -> None:
    """Improve the cover and the certificate of one connected graph until they meet or the budget is spent.

    First comes the work that is also done without a time limit; then, if there is one, all that time allows.
    """
    n_arms = len(best.owner)
    small = n_arms <= exact.MOST_ARMS
    _first_look(best, budget.counting(), method)
    if best.is_proved or not budget.timed:
        return
    if method == "heuristic" or n_arms > SMALL:
        _improve(best, budget.share(1.0 if method == "heuristic" else 0.3 if small else 0.75))
    if best.is_proved or method == "heuristic":
        return
    cliques = _bound_by_fractions(best, budget.share(0.3)) if method in ("auto", "set-cover") else None
    if small and method != "set-cover":
        if method != "sat":
            _raise_bound(best, budget.share(0.1))
        _race(best, budget.share(0.5 if cliques else 1.0), method)
    if cliques:
        _choose(best, cliques, budget.share(0.8 if method == "auto" else 1.0))
    if method == "auto" and small:
        _race(best, budget, method)
    elif method == "auto":
        _improve(best, budget)


def _first_look(best: BestCover, budget: Budget, method: str) -> None:
    """About a second of counted work."""
    branches = len(best.owner) <= exact.MOST_ARMS and method in ("auto", "branch")
    if branches:
        _branch(best, budget, nodes=PROBE)
    if len(best.owner) <= independence.MOST_ARMS and not best.is_proved:
        best.apart = search_independent(best.stranger, best.apart, best.n_cliques, budget.share(0.1)).arms
        best.prove(IndependentArms(best.apart))
    _improve(best, budget)
    if branches:
        _raise_bound(best, budget)
        _branch(best, budget)


def _improve(best: BestCover, budget: Budget) -> None:
    """Tabu search if the arms are few enough, otherwise iterated greedy in the order of the cliques."""
    if best.is_proved or budget.spent():
        return
    better = improve(best.indptr, best.indices, best.owner, best.certificate.bound, budget)
    if better is not None:
        best.take(better, "tabu")
        return
    rng = np.random.default_rng(0)
    for _ in range(budget.passes()):
        if budget.spent() or best.is_proved:
            return
        order = largest_first(best.owner, np.bincount(best.owner).astype(np.float64), rng)
        again = cover_in_order(best.indptr, best.indices, order)
        best.take(again, "iterated greedy")
        best.owner = again


def _branch(
    best: BestCover, budget: Budget, nodes: int | None = None, until: Callable[[], bool] = lambda: False
) -> None:
    """Branch and bound, until it finishes or something stops it."""
    if best.is_proved or budget.spent():
        return
    at = (best.stranger, best.apart, best.owner, best.certificate.bound)
    found = exact.search_smallest(*at, budget, nodes, until)
    best.take(found.owner, "branch and bound")
    if found.finished and not best.is_proved:
        best.exhausted("branch and bound", "branch and bound")


def _raise_bound(best: BestCover, budget: Budget) -> None:
    """Refute covers with as many cliques as the lower bound, and raise it, while that is quick."""
    while not best.is_proved and not budget.spent():
        fewest = best.certificate.bound + 1
        at = (best.stranger, best.apart, best.owner, 1)
        found = exact.search_smallest(*at, budget.share(0.5), fewest=fewest)
        best.take(found.owner, "branch and bound")
        if not found.finished or best.n_cliques < fewest:
            return
        best.prove(Exhausted(fewest, "branch and bound"))


def _race(best: BestCover, budget: Budget, method: str) -> None:
    """Branch and bound here and a SAT solver in a thread, until one of them finishes."""
    few = np.count_nonzero(best.stranger) // 2 * best.n_cliques <= MOST_CLAUSES
    if not (few and method != "branch" and exact.sat_is_installed()):
        if method != "sat":
            _branch(best, budget)
        return
    while not best.is_proved and not budget.spent():
        with exact.SatSearch(best.stranger, best.apart, best.n_cliques - 1) as solver:
            if method == "auto":
                _branch(best, budget, until=solver.finished)
                if best.is_proved:
                    return
            answer = solver.wait(budget)
        best.take(answer.owner, "sat")
        if answer.refuted:
            best.exhausted(exact.sat_solver_name(), "sat")


def _bound_by_fractions(best: BestCover, budget: Budget) -> list[list[int]] | None:
    """Prove a bound by a linear program over the maximal cliques; returns these, or None if they are too many."""
    n_arms = len(best.owner)
    if n_arms > set_cover.MOST_ARMS:
        return None
    graph = FeedbackGraph._of(from_neighbours(best.indptr.copy(), best.indices.copy()))
    cliques = set_cover.few_maximal_cliques(graph, set_cover.MOST_CLIQUES, budget.share(0.5))
    packing = set_cover.fractional_packing(n_arms, cliques, budget) if cliques else None
    if packing is not None:
        best.prove(packing)
    return cliques


def _choose(best: BestCover, cliques: list[list[int]], budget: Budget) -> None:
    """Choose the fewest of the maximal cliques."""
    if best.is_proved or budget.spent():
        return
    owner, bound = set_cover.choose_cliques(len(best.owner), cliques, budget)
    best.take(owner, "set cover")
    if bound > best.certificate.bound:
        best.prove(Exhausted(min(bound, best.n_cliques), set_cover.solver_name()))
        best.credit("set cover")
