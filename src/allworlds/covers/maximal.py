"""All maximal cliques, one after the other: sets of arms that see each other and that no arm can join."""

from __future__ import annotations

from collections.abc import Iterator

from allworlds.covers.budget import Budget
from allworlds.graphs.graph import FeedbackGraph


def maximal_cliques(graph: FeedbackGraph) -> Iterator[list[int]]:
    """The maximal cliques of a graph, each as a sorted list of arms; there can be exponentially many.

    Bron and Kerbosch's search with the pivot of [Tomita, Tanaka and Takahashi 2006]. Sets of arms are the bits of a
    number.

    >>> sorted(maximal_cliques(FeedbackGraph(4, [(0, 1), (1, 2), (0, 2), (2, 3)])))
    [[0, 1, 2], [2, 3]]
    """
    rows = [sum(1 << int(other) for other in graph.sees(arm) if other != arm) for arm in range(graph.n_arms)]
    stack = [((1 << graph.n_arms) - 1, 0, 0)]  # may still join, were tried before, the clique so far
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


def _bits(number: int) -> list[int]:
    arms = []
    while number:
        low = number & -number
        arms.append(low.bit_length() - 1)
        number ^= low
    return arms
