"""A zoo of problems whose answers are known by hand, for any test to use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from allworlds import graphs
from allworlds.graphs import FeedbackGraph


@dataclass(frozen=True)
class KnownGraph:
    """A graph with its independence number alpha and its clique cover number theta."""

    name: str
    make: Callable[[], FeedbackGraph]
    alpha: int
    theta: int

    def __str__(self) -> str:
        return self.name


def _bridged_triangles() -> FeedbackGraph:
    return FeedbackGraph(6, [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (2, 3)])


def _petersen() -> FeedbackGraph:
    outer = [(i, (i + 1) % 5) for i in range(5)]
    inner = [(5 + i, 5 + (i + 2) % 5) for i in range(5)]
    return FeedbackGraph(10, outer + inner + [(i, i + 5) for i in range(5)])


GRAPHS: list[KnownGraph] = [
    KnownGraph("one-arm", lambda: graphs.bandit(1), 1, 1),
    KnownGraph("bandit", lambda: graphs.bandit(6), 6, 6),
    KnownGraph("full-information", lambda: graphs.full_information(7), 1, 1),
    KnownGraph("equal-cliques", lambda: graphs.disjoint_cliques(3, 3), 3, 3),
    KnownGraph("unequal-cliques", lambda: graphs.disjoint_cliques([1, 4, 2]), 3, 3),
    KnownGraph("star", lambda: graphs.star(8), 7, 7),
    KnownGraph("path-even", lambda: graphs.path(8), 4, 4),
    KnownGraph("path-odd", lambda: graphs.path(9), 5, 5),
    KnownGraph("triangle", lambda: graphs.cycle(3), 1, 1),
    KnownGraph("cycle-even", lambda: graphs.cycle(8), 4, 4),
    KnownGraph("pentagon", lambda: graphs.cycle(5), 2, 3),
    KnownGraph("cycle-odd", lambda: graphs.cycle(9), 4, 5),
    KnownGraph("grid-even", lambda: graphs.grid(2, 5), 5, 5),
    KnownGraph("grid-odd", lambda: graphs.grid(3, 3), 5, 5),
    KnownGraph("bridged-triangles", _bridged_triangles, 2, 2),
    KnownGraph("intervals", lambda: graphs.interval([(0, 2), (1, 3), (2.5, 4), (5, 6), (5, 5)]), 3, 3),
    KnownGraph("petersen", _petersen, 4, 5),  # no triangle, a perfect matching
    KnownGraph("mycielski-1", lambda: graphs.mycielski_complement(1), 1, 1),
    KnownGraph("mycielski-2", lambda: graphs.mycielski_complement(2), 2, 2),
    KnownGraph("mycielski-3", lambda: graphs.mycielski_complement(3), 2, 3),
    KnownGraph("groetzsch-complement", lambda: graphs.mycielski_complement(4), 2, 4),
    KnownGraph("lu-gadgets", graphs.lu_gadgets, 10, 14),  # too large for brute force
]

SMALL_GRAPHS = [known for known in GRAPHS if known.make().n_arms <= 11]
