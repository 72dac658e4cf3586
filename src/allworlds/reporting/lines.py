"""What theory says about a race: a bound above the curves and a line that no learner can beat below them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.covers import independent_set
from allworlds.foundation.errors import MissingExtra
from allworlds.reporting.story import RaceSummary
from allworlds.reporting.styles import OURS, Style
from allworlds.theory import sharp_adversarial_bound, sharp_corrupted_bound
from allworlds.theory.lower_bounds import HOSTILE_START, hostile_lower_bound, stochastic_lower_bound
from allworlds.worlds import World
from allworlds.worlds.losses import BERNOULLI, NO_ATTACK

Floats = NDArray[np.float64]
GREY = "#666666"


class TheoryLine(NamedTuple):
    """A line at the recorded rounds; NaN where it says nothing."""

    values: Floats
    text: str
    """For the margin of a figure."""
    sentence: str
    """For the caption."""
    style: Style


def theory_lines(story: RaceSummary, world: str) -> list[TheoryLine]:
    """The lines for one world, those that say something within the horizon."""
    rounds = story.runs_in(world)[0].rounds
    lines = [
        _upper(story, story.worlds[world], rounds),
        _so_far(story, world, rounds),
        _lower(story, story.worlds[world], rounds),
    ]
    return [line for line in lines if line is not None and np.isfinite(line.values).sum() > 1]


def _upper(story: RaceSummary, world: World, rounds: NDArray[np.int64]) -> TheoryLine:
    """The smaller of the two sharp bounds, where it is below the trivial one."""
    sizes = story.cover.sizes
    promises: list[Callable[[int], float]] = [lambda t: sharp_adversarial_bound(sizes, t).value]
    gaps = clique_gaps_of(story, world)
    if gaps is not None:
        best, budget = int(story.cover.owner[world.best_arm]), world.budget or 0.0
        promises.append(lambda t: sharp_corrupted_bound(sizes, gaps, best, t, budget).value)
    values = np.array([min(promise(int(t)) for promise in promises) for t in rounds])
    return TheoryLine(
        np.where(values < rounds, values, np.nan),
        "proved, sharp constants",
        "The grey dashed line is what is proved for the sharp constants (docs/sharp_constants.md), drawn where it is "
        "below the number of rounds.",
        Style(GREY, (0, (6, 3)), 1.1),
    )


def _so_far(story: RaceSummary, world: str, rounds: NDArray[np.int64]) -> TheoryLine | None:
    """The bound that our learner computes along its runs, where it has one and where it is below the trivial one."""
    bounds = [one.regret_bound for one in story.runs_in(world) if one.learner == story.ours]
    if not bounds or bounds[0] is None:
        return None
    values = bounds[0].mean(axis=0)
    return TheoryLine(
        np.where(values < rounds, values, np.nan),
        "bound on our expected regret so far",
        "The thin dashed line in our colour is the bound on the expected regret so far that our learner computes while "
        "it plays (trace.regret_bound), mean of the seeds, drawn where it is below the number of rounds.",
        Style(OURS, (0, (4, 2)), 1.0),
    )


def clique_gaps_of(story: RaceSummary, world: World) -> Floats | None:
    """``Delta_k`` where the means never change and one arm is best, else None."""
    if world.means is None:
        return None
    gaps = world.means - world.means.min()
    if np.count_nonzero(gaps == 0.0) != 1:
        return None
    others = np.where(gaps > 0.0, gaps, np.inf)
    smallest = np.minimum.reduceat(others[story.cover.order], story.cover.starts[:-1])
    return np.where(np.isfinite(smallest), smallest, 0.0)


def _lower(story: RaceSummary, world: World, rounds: NDArray[np.int64]) -> TheoryLine | None:
    nature = world.nature
    style = Style(GREY, (0, (1.2, 1.6)), 1.3)
    if world.means is not None and nature.noise == BERNOULLI and nature.attack == NO_ATTACK:
        try:
            constant = stochastic_lower_bound(story.cover.graph, world.means)
        except MissingExtra:
            return None
        values, most = constant * np.log(rounds), float(np.ptp(world.means)) * rounds
        return TheoryLine(
            np.where(values < most, values, np.nan),  # no regret is above the largest gap times the rounds
            f"{constant:.3g} log t, asymptotic limit",
            f"The dotted line is {constant:.3g} log t: for large t no learner that is good in all such worlds stays "
            "below it. It is asymptotic: curves may lie below it early on.",
            style,
        )
    if nature.attack != NO_ATTACK:
        return None
    independent = len(independent_set(story.cover.graph))
    return TheoryLine(
        np.array([hostile_lower_bound(independent, int(t)) for t in rounds]),
        "some world forces this",
        f"The dotted line is 0.06 √({independent} t): some hostile world, not necessarily this one, forces that much "
        f"on every learner, proved from round {HOSTILE_START * independent**3:,} on.",
        style,
    )
