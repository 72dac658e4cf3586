"""Numbers that describe a graph: independence, fractional cover and weak domination number.

For every graph alpha <= fractional cover number <= theta: the independence number, the least total weight of cliques
such that every arm is in cliques of weight one, and the number of cliques of the smallest cover. Lovász's number lies
between alpha and the fractional one; it needs a semidefinite solver and is not computed.

:func:`weak_domination` is about directed graphs that are not strongly observable: it sets their best regret, of order
delta^(1/3) T^(2/3) up to logarithms [Alon, Cesa-Bianchi, Dekel and Koren 2015].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from allworlds.covers import independence, set_cover
from allworlds.covers.budget import Budget, check_time_limit
from allworlds.covers.certificate import FractionalPacking, IndependentArms
from allworlds.covers.searching import BestCover, first_cover
from allworlds.covers.structure import reduce_graph
from allworlds.foundation.checks import Ints
from allworlds.foundation.errors import InvalidGraph, InvalidParameter
from allworlds.graphs.graph import FeedbackGraph, check_graph
from allworlds.graphs.storage import DisjointCliques, induced


@dataclass(frozen=True, eq=False)
class Independence:
    """Sorted arms that do not see each other, and an upper bound on the size of such sets."""

    arms: Ints
    upper: int

    @property
    def lower(self) -> int:
        """The number of arms."""
        return len(self.arms)

    @property
    def is_exact(self) -> bool:
        """Whether ``lower`` is the independence number."""
        return self.lower == self.upper


def independence_number(graph: FeedbackGraph, time_limit: float | None = None) -> Independence:
    """The most arms of which none sees another, exactly where the budget allows.

    In a directed graph an edge in either direction joins two arms: the number is that of ``graph.symmetrised()``.

    Against adversarial losses, the regret of every learner is at least of order sqrt(alpha T). To find alpha is
    NP-hard: dominated arms are put aside, as for :func:`clique_cover`, and the rest is searched component by
    component, unless it is chordal or bipartite, where no search is needed. Without a time limit, work is counted and
    not time.

    >>> from allworlds.graphs import lu_gadgets
    >>> alpha = independence_number(lu_gadgets())
    >>> alpha.lower, alpha.is_exact
    (10, True)

    [Mannor and Shamir 2011].
    """
    graph = check_graph(graph.symmetrised() if isinstance(graph, FeedbackGraph) else graph)
    check_time_limit(time_limit)
    if isinstance(graph._storage, DisjointCliques):
        arms = independence.independent_set(graph)
        return Independence(arms, len(arms))
    indptr, indices = graph._storage.neighbours()
    parts = reduce_graph(indptr, indices).parts
    budget, taken, upper = Budget(time_limit), [], 0
    for number, arms in enumerate(parts):
        best = first_cover(*induced(indptr, indices, arms))
        apart, most = _most_apart(best, budget.share(1.0 / (len(parts) - number)))
        taken.append(arms[apart])
        upper += most
    return Independence(np.sort(np.concatenate(taken)), upper)


def _most_apart(best: BestCover, budget: Budget) -> tuple[Ints, int]:
    """Independent arms of one component, and an upper bound on the size of such sets."""
    if isinstance(best.certificate, IndependentArms) and best.is_proved:
        return best.certificate.arms, best.n_cliques
    apart = np.flatnonzero(independence.fewest_neighbours_first(best.indptr, best.indices))
    if len(best.owner) > independence.MOST_ARMS:
        return apart, best.n_cliques
    found = independence.search_independent(best.stranger, apart, best.n_cliques, budget)
    return found.arms, len(found.arms) if found.finished else best.n_cliques


def fractional_cover(graph: FeedbackGraph, time_limit: float | None = None) -> FractionalPacking:
    """The fractional clique cover number, as weights of the arms that prove it: no clique weighs more than one.

    A linear program over all maximal cliques, for graphs with few of them; its solution is rounded such that the proof
    is exact. ``packing.value`` is the number up to that rounding, ``packing.bound`` the cliques that every cover needs.

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
    small = n_arms <= set_cover.MOST_ARMS
    cliques = set_cover.few_maximal_cliques(graph, set_cover.MOST_CLIQUES, budget) if small else None
    packing = None if cliques is None else set_cover.fractional_packing(n_arms, cliques, budget)
    if packing is None:
        raise InvalidParameter(
            f"the graph of {n_arms} arms has too many maximal cliques for a linear program in time; expected at most "
            f"{set_cover.MOST_CLIQUES:,} cliques of {set_cover.MOST_ARMS:,} arms; try the bound of clique_cover(graph)"
        )
    return packing


LONGEST = 10.0
"""Seconds for an exact domination where no time limit is given."""


@dataclass(frozen=True, eq=False)
class Domination:
    """Sorted arms that together see all arms in question, and a lower bound on the size of such sets."""

    arms: Ints
    lower: int

    @property
    def upper(self) -> int:
        """The number of arms."""
        return len(self.arms)

    @property
    def is_exact(self) -> bool:
        """Whether no smaller set does."""
        return self.lower == self.upper


def weak_domination(graph: FeedbackGraph, time_limit: float | None = None) -> Domination:
    """The fewest arms that together see every arm that is not strongly observable; none if all are.

    Exact by HiGHS within a time limit of at most ten seconds unless one is given; otherwise greedy, the arm that sees
    the most first, with a bound by counting.

    >>> from allworlds.graphs import directed_cycle, revealing_action
    >>> weak_domination(revealing_action(5)).arms, weak_domination(directed_cycle(4, self_loops=False)).upper
    (array([0]), 4)

    [Alon, Cesa-Bianchi, Dekel and Koren 2015, Definition 5].
    """
    if not isinstance(graph, FeedbackGraph):
        raise InvalidParameter(f"graph is of type {type(graph).__name__}; expected a FeedbackGraph")
    check_time_limit(time_limit)
    level = graph.observability
    if level == "none":
        raise InvalidGraph(f"no arm sees arm {level.arms[0]}; expected that some arm sees each arm")
    wanted = graph.adjacency()[:, list(level.arms)] if level.arms else np.zeros((graph.n_arms, 0), dtype=np.bool_)
    if wanted.shape[1] == 0:
        return Domination(np.zeros(0, dtype=np.int64), 0)
    greedy = greedy_domination(graph)
    lower = -(-wanted.shape[1] // int(wanted.sum(axis=1).max()))
    if len(greedy) == lower:
        return Domination(greedy, lower)
    chosen, bound = set_cover.choose_sets(wanted.T, Budget(LONGEST if time_limit is None else time_limit))
    best = greedy if chosen is None or len(chosen) >= len(greedy) else np.sort(chosen)
    return Domination(best, min(max(lower, bound), len(best)))


def greedy_domination(graph: FeedbackGraph) -> Ints:
    """Sorted arms that together see every arm that is not strongly observable: the arm that sees most of them first.

    At most ``1 + log N`` times as many as needed, found without a search, and the same on every machine.
    """
    return greedy_set(graph.adjacency()[:, list(graph.observability.arms)])


def greedy_set(sees: NDArray[np.bool_]) -> Ints:
    """Sorted rows of ``sees``, (N, M), that together have every column that some row has: the one with most new first.

    >>> greedy_set(np.array([[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 1]], dtype=bool))
    array([1, 3])
    """
    left, arms = sees.copy(), []
    while left.any():
        arm = int(left.sum(axis=1).argmax())
        arms.append(arm)
        left[:, left[arm]] = False
    return np.sort(np.array(arms, dtype=np.int64))
