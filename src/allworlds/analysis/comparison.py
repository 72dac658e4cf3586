"""Who was better, and how sure we are: intervals, worst ratios, differences on equal losses."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from allworlds.analysis.runs import Runs

LEAST_REGRET = 1.0
"""A ratio needs a best regret of at least one round's loss to divide by.

Regret is against the best fixed arm. Where the means move, a learner may beat every fixed arm, and its regret is
negative: the table then ranks learners, but a ratio would mean nothing.
"""


class Estimate(NamedTuple):
    """A mean with its 95 % interval; without an interval where there is a single run."""

    mean: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Standing:
    """One learner in one world, at the horizon."""

    world: str
    learner: str
    regret: Estimate
    """Pseudo-regret on the losses as played."""
    worst: float
    """The largest regret of a seed."""
    quantile_90: float
    quantile_99: float
    clean_regret: Estimate
    corruption: float
    """The mean corruption of the runs."""
    ratio: float | None
    """The mean regret over the best learner's in this world; None where that one is below :data:`LEAST_REGRET`."""
    difference: Estimate | None
    """Regret less that of our learner, seed by seed on equal losses; None for our learner itself."""
    rounds_per_second: float


@dataclass(frozen=True)
class WorstRatio:
    """The headline of a learner: how far it falls behind the best in the world that suits it least."""

    learner: str
    ratio: float | None
    """None where no world of the race has ratios."""
    world: str | None
    """The world in which that happens."""
    rival: bool


def mean_interval(values: ArrayLike) -> Estimate:
    """The mean of independent values and Student's 95 % interval.

    >>> mean_interval([1.0, 2.0, 3.0]).mean
    2.0
    """
    sample = np.asarray(values, dtype=np.float64)
    mean = float(sample.mean())
    if sample.size < 2:
        return Estimate(mean, None, None)
    half = student_quantile(sample.size - 1) * float(sample.std(ddof=1)) / math.sqrt(sample.size)
    return Estimate(mean, mean - half, mean + half)


def student_quantile(freedom: int) -> float:
    """The 97.5 % quantile of Student's distribution.

    >>> round(student_quantile(9), 3)
    2.262
    """
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.975))


def standings(runs: Sequence[Runs], ours: str, rivals: Mapping[str, bool]) -> list[Standing]:
    """Every learner in every world, in the order of ``runs``.

    ``ours`` is the learner that the others are compared with. ``rivals`` says of each learner whether it counts
    when the best of a world is sought; one that sees more than the graph shows does not.
    """
    table = {(one.world, one.learner): one for one in runs}
    rows = []
    for one in runs:
        everyone = [other for other in runs if other.world == one.world]
        field = [other for other in everyone if rivals[other.learner]] or everyone
        best = min(float(other.final.mean()) for other in field)
        mine = table.get((one.world, ours))
        difference = None if mine is None or one.learner == ours else mean_interval(one.final - mine.final)
        rows.append(
            Standing(
                world=one.world,
                learner=one.learner,
                regret=mean_interval(one.final),
                worst=float(one.final.max()),
                quantile_90=float(np.quantile(one.final, 0.9)),
                quantile_99=float(np.quantile(one.final, 0.99)),
                clean_regret=mean_interval(one.clean_regret[:, -1]),
                corruption=float(one.corruption[:, -1].mean()),
                ratio=float(one.final.mean()) / best if best >= LEAST_REGRET else None,
                difference=difference,
                rounds_per_second=one.rounds_per_second,
            )
        )
    return rows


def worst_ratios(rows: Sequence[Standing], rivals: Mapping[str, bool]) -> list[WorstRatio]:
    """Each learner's largest ratio over the worlds, the smallest first; lines that are no rivals come last."""
    found = []
    for learner in dict.fromkeys(row.learner for row in rows):
        ratios = [(row.ratio, row.world) for row in rows if row.learner == learner and row.ratio is not None]
        ratio, world = max(ratios, key=lambda pair: pair[0], default=(None, None))
        found.append(WorstRatio(learner, ratio, world, rivals[learner]))
    return sorted(found, key=lambda one: (not one.rival, math.inf if one.ratio is None else one.ratio))
