"""What theory says about one world of a race: bounds above the curves, and a line that no learner can beat below."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.covers import CliqueCover, independent_set, weak_domination
from allworlds.foundation.errors import MissingExtra
from allworlds.graphs import AnyGraph, FeedbackGraph
from allworlds.theory import sharp_adversarial_bound, sharp_corrupted_bound
from allworlds.theory.limits import (
    HOSTILE_START,
    adversarial_lower_bound,
    cliques_lower_bound,
    finite_time_lower_bound,
    stochastic_lower_bound,
    weak_lower_bound,
)
from allworlds.worlds import World
from allworlds.worlds.losses import BERNOULLI, NO_ATTACK

Floats = NDArray[np.float64]
Rounds = NDArray[np.int64]


class TheoryLine(NamedTuple):
    """A line at the recorded rounds; NaN where it says nothing."""

    kind: Literal["proved", "so far", "limit", "before", "cliques"]
    values: Floats
    text: str
    """For the margin of a figure."""
    sentence: str
    """For the caption."""


def theory_lines(
    played_on: CliqueCover | AnyGraph, world: World, rounds: Rounds, bound_so_far: Floats | None = None
) -> list[TheoryLine]:
    """The lines for one world that say something within the horizon.

    A graph without a cover has no upper line, and one that changes or is noisy no lower line either.
    ``bound_so_far`` is the bound that our learner computes along its runs, the mean over seeds, where it has one.
    """
    cover = played_on if isinstance(played_on, CliqueCover) else None
    graph = played_on if cover is None else cover.graph
    lines = [
        None if cover is None else _upper(cover, world, rounds),
        _so_far(bound_so_far, rounds),
        _lower(graph, world, rounds) if isinstance(graph, FeedbackGraph) else None,
        _before_logarithms(graph, world, rounds) if isinstance(graph, FeedbackGraph) else None,
        None if cover is None else _on_cliques(cover, world, rounds),
    ]
    return [line for line in lines if line is not None and np.isfinite(line.values).sum() > 1]


def clique_gaps_of(cover: CliqueCover, world: World) -> Floats | None:
    """``Delta_k`` where the means never change and one arm is best, else None."""
    if world.means is None:
        return None
    gaps = world.means - world.means.min()
    if np.count_nonzero(gaps == 0.0) != 1:
        return None
    others = np.where(gaps > 0.0, gaps, np.inf)
    smallest = np.minimum.reduceat(others[cover.order], cover.starts[:-1])
    return np.where(np.isfinite(smallest), smallest, 0.0)


def _upper(cover: CliqueCover, world: World, rounds: Rounds) -> TheoryLine:
    """The smaller of the two sharp bounds, where it is below the trivial one."""
    sizes = cover.sizes
    bounds: list[Callable[[int], float]] = [lambda t: sharp_adversarial_bound(sizes, t).value]
    gaps = clique_gaps_of(cover, world)
    if gaps is not None:
        best, budget = int(cover.owner[world.best_arm]), world.budget or 0.0
        bounds.append(lambda t: sharp_corrupted_bound(sizes, gaps, best, t, budget).value)
    values = np.array([min(bound(int(t)) for bound in bounds) for t in rounds])
    return TheoryLine(
        "proved",
        np.where(values < rounds, values, np.nan),
        "proved, sharp constants",
        "The grey dashed line is what is proved for the sharp constants (docs/sharp_constants.md), drawn where it is "
        "below the number of rounds.",
    )


def _so_far(bound: Floats | None, rounds: Rounds) -> TheoryLine | None:
    if bound is None:
        return None
    return TheoryLine(
        "so far",
        np.where(bound < rounds, bound, np.nan),
        "bound on our expected regret so far",
        "The thin dashed line in our colour is the bound on the expected regret so far that our learner computes while "
        "it plays (trace.regret_bound), mean of the seeds, drawn where it is below the number of rounds.",
    )


def _before_logarithms(graph: FeedbackGraph, world: World, rounds: Rounds) -> TheoryLine | None:
    """The order of what finding the best arm costs if means never change, once that much can have been lost."""
    if world.means is None or not _is_plain_bernoulli(world):
        return None
    cost, most = finite_time_lower_bound(graph, world.means), float(np.ptp(world.means)) * rounds
    return TheoryLine(
        "before",
        np.where(cost < most, cost, np.nan),
        f"{cost:.3g}, order of finding the best arm",
        f"The dash-dotted line is at {cost:.3g}: the order, up to a constant, of what it costs to find out which arms "
        "are near the best, before any logarithm of t.",
    )


def _on_cliques(cover: CliqueCover, world: World, rounds: Rounds) -> TheoryLine | None:
    """The order of the best regret on disjoint cliques, in worlds that are neither stochastic nor attacked."""
    arcs = int((cover.sizes**2 - cover.sizes).sum() // 2)
    if world.means is not None or world.arrays.attack != NO_ATTACK or cover.graph.n_edges != arcs:
        return None
    values = np.array([cliques_lower_bound(cover.sizes.tolist(), int(t)) for t in rounds])
    return TheoryLine(
        "cliques",
        np.where(values < rounds, values, np.nan),
        "order of the best on these cliques",
        "The dash-dotted line is √(t Σ log(m + 1)), summed over the cliques of m arms: no learner has a smaller "
        "worst-case regret on them, up to a constant.",
    )


def _is_plain_bernoulli(world: World) -> bool:
    return world.arrays.noise == BERNOULLI and world.arrays.attack == NO_ATTACK


def _lower(graph: FeedbackGraph, world: World, rounds: Rounds) -> TheoryLine | None:
    arrays = world.arrays
    if world.means is not None and _is_plain_bernoulli(world):
        try:
            constant = stochastic_lower_bound(graph, world.means)
        except MissingExtra:
            return None
        values, most = constant * np.log(rounds), float(np.ptp(world.means)) * rounds
        return TheoryLine(
            "limit",
            np.where(values < most, values, np.nan),  # no regret is above the largest gap times the rounds
            f"{constant:.3g} log t, asymptotic limit",
            f"The dotted line is {constant:.3g} log t: for large t no learner that is good in all such worlds stays "
            "below it. It is asymptotic: curves may lie below it early on.",
        )
    if arrays.attack != NO_ATTACK:
        return None
    if graph.observability == "weak":
        delta = weak_domination(graph).lower
        return TheoryLine(
            "limit",
            np.array([weak_lower_bound(delta, graph.n_arms, int(t)) for t in rounds]),
            "order of what some world forces",
            f"The dotted line is {delta}^(1/3) t^(2/3) / log({graph.n_arms})^(2/3): some hostile world, not "
            "necessarily this one, forces that much on every learner, up to a constant.",
        )
    if graph.demands():  # the constant is that of undirected graphs
        return None
    independent = len(independent_set(graph))
    return TheoryLine(
        "limit",
        np.array([adversarial_lower_bound(independent, int(t)) for t in rounds]),
        "some world forces this",
        f"The dotted line is 0.06 √({independent} t): some hostile world, not necessarily this one, forces that much "
        f"on every learner, proved from round {HOSTILE_START * independent**3:,} on.",
    )
