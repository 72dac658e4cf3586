"""What a graph is, in numbers: arms, observability, alpha, fractional cover, theta, weak domination."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from allworlds.covers import clique_cover, fractional_cover, independence_number, weak_domination
from allworlds.foundation.errors import InvalidParameter, MissingExtra
from allworlds.graphs import AnyGraph, FeedbackGraph, NoisyGraph

SECONDS = 2.0
"""How long the search for each number may take."""
MOST_FOR_FRACTIONS = 300
"""Arms up to which the fractional cover number is computed."""


ROUNDING = 1e-6
"""The fractional cover number is exact up to less than this."""


class Interval(NamedTuple):
    """A number that lies between two others; exact where these are equal."""

    low: float
    high: float

    @property
    def is_exact(self) -> bool:
        """Whether the number is known."""
        return self.low == self.high

    def __str__(self) -> str:
        return f"{self.low:.4g}" if self.is_exact else f"{self.low:.4g} to {self.high:.4g}"


@dataclass(frozen=True)
class GraphFacts:
    """The numbers of a graph; None where it has no such number."""

    kind: str
    """undirected, directed, loopless (some arm does not see itself), changing or noisy; learners differ."""
    n_arms: int
    observability: str
    alpha: Interval | None
    """The independence number; of a directed graph that of its symmetrised graph."""
    fractional: Interval | None
    theta: Interval | None
    """The clique cover number; undirected graphs only."""
    domination: Interval | None
    """The weak domination number, 0 where all arms are strongly observable."""


def graph_facts(graph: AnyGraph) -> GraphFacts:
    """The facts of a graph; searches without a proof give an interval.

    >>> from allworlds.graphs import lu_gadgets
    >>> facts = graph_facts(lu_gadgets())
    >>> str(facts.alpha), str(facts.theta), facts.kind
    ('10', '14', 'undirected')
    """
    if not isinstance(graph, FeedbackGraph):
        kind = "noisy" if isinstance(graph, NoisyGraph) else "changing"
        return GraphFacts(kind, graph.n_arms, str(graph.observability), None, None, None, None)
    arms = independence_number(graph)
    alpha = Interval(arms.lower, arms.upper)
    if graph.observability == "weak":
        weak = weak_domination(graph, SECONDS)
        domination = Interval(weak.lower, weak.upper)
    else:
        domination = Interval(0, 0)
    if demands := graph.demands():
        kind = "loopless" if "loopless" in demands else "directed"
        return GraphFacts(kind, graph.n_arms, str(graph.observability), alpha, None, None, domination)
    cover = clique_cover(graph)
    theta = Interval(max(alpha.low, cover.lower_bound or 1), cover.n_cliques)
    fractional = _fractional(graph, alpha, theta)
    # alpha <= fractional <= theta, and the outer two are integers.
    alpha = Interval(alpha.low, min(alpha.high, theta.high, math.floor(fractional.high + ROUNDING)))
    theta = Interval(max(theta.low, math.ceil(fractional.low - ROUNDING)), theta.high)
    return GraphFacts("undirected", graph.n_arms, str(graph.observability), alpha, fractional, theta, domination)


def _fractional(graph: FeedbackGraph, alpha: Interval, theta: Interval) -> Interval:
    """Between alpha and theta; a number where these are equal or a linear programme gives it."""
    if alpha.low == theta.high:
        return Interval(alpha.low, theta.high)
    if graph.n_arms <= MOST_FOR_FRACTIONS:
        try:
            value = float(fractional_cover(graph, SECONDS).value)
        except (InvalidParameter, MissingExtra):
            return Interval(alpha.low, theta.high)
        return Interval(value, value)
    return Interval(alpha.low, theta.high)
