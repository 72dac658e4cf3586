"""Numbers that describe a graph: how many arms stand apart, and how many cliques fractions of cliques replace.

For every graph alpha <= fractional cover number <= theta: the independence number, then the least sum of weights of
cliques that hold every arm once, then the number of cliques of the smallest cover. Lovász's number lies between alpha
and the fractional one; it needs a semidefinite solver and is left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from allworlds.covers import independence, set_cover
from allworlds.covers.budget import Budget, check_time_limit
from allworlds.covers.certificate import FractionalPacking, IndependentArms
from allworlds.covers.independence import independent_set
from allworlds.covers.maximal import few_maximal_cliques
from allworlds.covers.searching import Best, begin
from allworlds.covers.structure import component_of, reduce_dominated
from allworlds.foundation.checks import Ints
from allworlds.foundation.errors import InvalidParameter
from allworlds.graphs.graph import FeedbackGraph, check_graph
from allworlds.graphs.storage import DisjointCliques, induced, matrix_of

REDUCTION_WORK = 60_000_000


@dataclass(frozen=True, eq=False)
class Independence:
    """Arms that do not see each other, sorted, and a number that no such set exceeds."""

    arms: Ints
    upper: int

    @property
    def lower(self) -> int:
        """The number of arms."""
        return len(self.arms)

    @property
    def is_exact(self) -> bool:
        """Whether there are no more: then ``lower`` is the independence number."""
        return self.lower == self.upper


def independence_number(graph: FeedbackGraph, time_limit: float | None = None) -> Independence:
    """The most arms of which no two see each other, exactly where the budget allows.

    No learner can do better than of order sqrt(alpha T) on a graph with hostile losses. Finding alpha is NP-hard: arms
    that see all that a neighbour sees are put aside, and what is left is searched component by component, chordal and
    bipartite ones without search. Without a time limit, work is counted and not time.

    >>> from allworlds.graphs import lu_gadgets
    >>> alpha = independence_number(lu_gadgets())
    >>> alpha.lower, alpha.is_exact
    (10, True)

    [Mannor and Shamir 2011].
    """
    check_graph(graph)
    check_time_limit(time_limit)
    if isinstance(graph._storage, DisjointCliques):
        arms = independent_set(graph)
        return Independence(arms, len(arms))
    indptr, indices = graph._storage.neighbours()
    left = reduce_dominated(indptr, indices, REDUCTION_WORK).left
    component = component_of(*induced(indptr, indices, left))
    alone = np.bincount(component)[component] == 1
    budget, taken, upper = Budget(time_limit), [left[alone]], int(np.count_nonzero(alone))
    groups = [left[component == number] for number in np.unique(component[~alone])]
    for number, arms in enumerate(groups):
        best = begin(*induced(indptr, indices, arms))
        apart, most = _most_apart(best, budget.share(1.0 / (len(groups) - number)))
        taken.append(arms[apart])
        upper += most
    return Independence(np.sort(np.concatenate(taken)), upper)


def _most_apart(best: Best, budget: Budget) -> tuple[Ints, int]:
    """Independent arms of one component and a number that no such set exceeds."""
    if isinstance(best.certificate, IndependentArms) and best.is_proved:
        return best.certificate.arms, best.n_cliques
    apart = np.flatnonzero(independence.fewest_neighbours_first(best.indptr, best.indices))
    if len(best.owner) > independence.MOST_ARMS:
        return apart, best.n_cliques
    stranger = ~matrix_of(best.indptr, best.indices)
    found = independence.search_independent(stranger, apart, best.n_cliques, budget)
    return found.arms, len(found.arms) if found.finished else best.n_cliques


def fractional_cover(graph: FeedbackGraph, time_limit: float | None = None) -> FractionalPacking:
    """Weights of the arms that prove the fractional cover number: no clique weighs more than one, all arms the most.

    A linear program over all maximal cliques, so for graphs that have few; its answer is rounded such that the proof is
    exact. ``packing.value`` is the number up to that rounding, and ``packing.bound`` the cliques that a cover needs.

    >>> from allworlds.graphs import lu_gadgets
    >>> fractional_cover(lu_gadgets()).bound
    12

    [Lovász 1979].
    """
    check_graph(graph)
    check_time_limit(time_limit)
    storage, n_arms = graph._storage, graph.n_arms
    if isinstance(storage, DisjointCliques):
        weights = np.zeros(n_arms, dtype=np.int64)
        weights[storage.order[storage.starts[:-1]]] = 1
        return FractionalPacking(weights, 1)
    budget = Budget(time_limit)
    cliques = few_maximal_cliques(graph, set_cover.MOST_CLIQUES, budget) if n_arms <= set_cover.MOST_ARMS else None
    packing = None if cliques is None else set_cover.fractional_packing(n_arms, cliques, budget)
    if packing is None:
        raise InvalidParameter(
            f"the graph of {n_arms} arms has too many maximal cliques for a linear program in time; the most are "
            f"{set_cover.MOST_CLIQUES:,} cliques of {set_cover.MOST_ARMS:,} arms; clique_cover(graph) has a lower bound"
        )
    return packing
