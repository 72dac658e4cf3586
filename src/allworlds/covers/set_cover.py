"""Covers as set cover over the maximal cliques, by HiGHS: good for graphs with few of them.

A linear program chooses fractions of cliques that contain every arm once. Its dual gives weights to the arms such that
no clique weighs more than one, which is a certificate. The integer program chooses whole cliques.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allworlds.covers.budget import Budget, in_thread
from allworlds.covers.certificate import FractionalPacking
from allworlds.foundation.checks import Ints
from allworlds.graphs.graph import FeedbackGraph

MOST_ARMS = 3000
MOST_CLIQUES = 30_000
UNIT = 10**6
"""Weights are rounded down to multiples of one over this."""


def maximal_cliques(graph: FeedbackGraph) -> Iterator[list[int]]:
    """The maximal cliques of a graph, each as a sorted list of arms: cliques that no other arm can join.

    There can be exponentially many. Bron and Kerbosch's search with the pivot of [Tomita, Tanaka and Takahashi 2006];
    sets of arms are the bits of integers.

    >>> sorted(maximal_cliques(FeedbackGraph(4, [(0, 1), (1, 2), (0, 2), (2, 3)])))
    [[0, 1, 2], [2, 3]]
    """
    rows = [sum(1 << int(other) for other in graph.sees(arm) if other != arm) for arm in range(graph.n_arms)]
    stack = [((1 << graph.n_arms) - 1, 0, 0)]  # arms that may join, arms tried before, the clique so far
    while stack:
        joining, tried, clique = stack.pop()
        if not joining:
            if not tried:
                yield _bits(clique)
            continue
        pivot = max(_bits(joining | tried), key=lambda arm: (joining & rows[arm]).bit_count())
        for arm in _bits(joining & ~rows[pivot]):
            stack.append((joining & rows[arm], tried & rows[arm], clique | 1 << arm))
            joining &= ~(1 << arm)
            tried |= 1 << arm


def few_maximal_cliques(graph: FeedbackGraph, most: int, budget: Budget) -> list[list[int]] | None:
    """All maximal cliques if there are at most ``most`` and the budget allows, else None.

    >>> few_maximal_cliques(FeedbackGraph(3, [(0, 1), (1, 2)]), 1, Budget()) is None
    True
    """
    cliques = []
    for clique in maximal_cliques(graph):
        cliques.append(clique)
        if len(cliques) > most or budget.spent():
            return None
    return cliques


def solver_name() -> str:
    """The solver with its version, for certificates."""
    import scipy

    return f"HiGHS of SciPy {scipy.__version__}"


def fractional_packing(n_arms: int, cliques: list[list[int]], budget: Budget) -> FractionalPacking | None:
    """The heaviest weights of the arms such that no maximal clique weighs more than one, rounded safely.

    The solver's weights are rounded down to multiples of 1/``UNIT``. If a clique is still too heavy, the unit becomes
    its weight: the certificate is exact, whatever the solver did. None if the budget is too small.

    >>> fractional_packing(5, [[0, 1], [1, 2], [2, 3], [3, 4], [0, 4]], Budget()).bound
    3
    """
    from scipy import optimize  # here, because it is slow to import and most covers do not need it

    holds = _incidence(n_arms, cliques)
    options = {"time_limit": min(budget.left(), 1e6)}
    answer: Any = optimize.linprog(
        -np.ones(n_arms), A_ub=holds.T, b_ub=np.ones(len(cliques)), bounds=(0, 1), method="highs", options=options
    )
    if answer.x is None:
        return None
    weights = np.floor(np.clip(answer.x, 0.0, 1.0) * UNIT + 1e-3).astype(np.int64)
    heaviest = max(int(weights[clique].sum()) for clique in cliques)
    return FractionalPacking(weights, max(UNIT, heaviest))


def choose_cliques(n_arms: int, cliques: list[list[int]], budget: Budget) -> tuple[Ints | None, int]:
    """The cover by the fewest maximal cliques, (n_arms,), or None, and a lower bound on their number.

    >>> choose_cliques(3, [[0, 1], [1, 2]], Budget(10.0))[1]
    2
    """
    chosen, bound = choose_sets(_incidence(n_arms, cliques), budget)
    return None if chosen is None else _owner(n_arms, [cliques[k] for k in chosen]), bound


def choose_sets(holds: Any, budget: Budget) -> tuple[Ints | None, int]:
    """The fewest columns of ``holds`` (members, sets) that contain every member, or None, and a lower bound on them.

    HiGHS runs in a thread, so that Ctrl-C works and a late answer does not delay the caller.

    >>> choose_sets(np.array([[1, 1, 0], [0, 1, 1]]), Budget(10.0))
    (array([1]), 1)
    """
    from scipy import optimize

    n_sets, options = holds.shape[1], {"time_limit": min(budget.left(), 1e6)}
    constraints, bounds = optimize.LinearConstraint(holds, 1.0, np.inf), optimize.Bounds(0.0, 1.0)
    problem: dict[str, Any] = {"constraints": constraints, "bounds": bounds, "options": options}
    answer = in_thread(lambda: optimize.milp(np.ones(n_sets), integrality=np.ones(n_sets), **problem))
    budget.wait(answer)
    if not answer.done():
        return None, 1
    found = answer.result()
    dual = found.mip_dual_bound
    bound = 1 if dual is None or not np.isfinite(dual) else int(np.ceil(dual - 1e-6))
    return None if found.x is None else np.flatnonzero(found.x > 0.5), bound


def _owner(n_arms: int, chosen: list[list[int]]) -> Ints:
    """Each arm in the largest chosen clique that contains it, (n_arms,); empty cliques disappear."""
    owner = np.full(n_arms, -1)
    for number, clique in enumerate(sorted(chosen, key=len, reverse=True)):
        arms = np.array(clique)
        owner[arms[owner[arms] < 0]] = number
    return np.unique(owner, return_inverse=True)[1].ravel()


def _incidence(n_arms: int, cliques: list[list[int]]) -> Any:
    """Who is in which clique, (n_arms, n_cliques), sparse."""
    from scipy import sparse

    arms = np.concatenate([np.array(clique) for clique in cliques])
    number: NDArray[np.int64] = np.repeat(np.arange(len(cliques)), [len(clique) for clique in cliques])
    return sparse.csr_array((np.ones(len(arms)), (arms, number)), shape=(n_arms, len(cliques)))


def _bits(number: int) -> list[int]:
    arms = []
    while number:
        low = number & -number
        arms.append(low.bit_length() - 1)
        number ^= low
    return arms
