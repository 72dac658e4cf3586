"""Runs side by side: who was better, and how sure we are. Intervals, worst ratios, differences on equal losses."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from allworlds.analysis.theory_lines import TheoryLine, theory_lines
from allworlds.covers import CliqueCover
from allworlds.graphs import AnyGraph
from allworlds.worlds import World

Floats = NDArray[np.float64]

LEAST_REGRET = 1.0
"""A ratio needs a best regret of at least one round's loss to divide by.

Regret is against the best fixed arm. Where the means move, a learner may beat every fixed arm, and its regret is
negative: the table then ranks learners, but a ratio would mean nothing.
"""


@dataclass(frozen=True, eq=False)
class Runs:
    """S runs of one learner in one world, recorded at the same R rounds; arrays are (S, R) unless stated."""

    learner: str
    world: str
    seeds: tuple[int, ...]
    rounds: NDArray[np.int64]
    """(R,), the last is the horizon."""
    pseudo_regret: Floats
    clean_regret: Floats
    corruption: Floats
    clique_mass: Floats | None
    """(R, K) the mean over the runs, where the learner has cliques."""
    regret_bound: Floats | None
    """Bounds on the expected regret, where the learner has them."""
    seconds: Floats
    """(S,) how long each run took."""

    @property
    def horizon(self) -> int:
        """The last round."""
        return int(self.rounds[-1])

    @property
    def final(self) -> Floats:
        """(S,) pseudo-regret at the horizon."""
        return self.pseudo_regret[:, -1]

    @property
    def rounds_per_second(self) -> float:
        """Rounds of one run in a second, over all runs."""
        known = self.seconds[np.isfinite(self.seconds)]  # a kill may have lost a run's time, not the run
        total = float(known.sum())
        return self.horizon * known.size / total if total > 0.0 else float("inf")


class Estimate(NamedTuple):
    """A mean with its 95 % interval; without an interval where there is a single run."""

    mean: float
    low: float | None
    high: float | None

    @property
    def reach(self) -> tuple[float, float, float]:
        """The mean and both ends; three times the mean where there is no interval."""
        return self.mean, self.mean if self.low is None else self.low, self.mean if self.high is None else self.high


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
    """Each learner's largest ratio over the worlds, the smallest first; learners that are not rivals come last."""
    found = []
    for learner in dict.fromkeys(row.learner for row in rows):
        ratios = [(row.ratio, row.world) for row in rows if row.learner == learner and row.ratio is not None]
        ratio, world = max(ratios, key=lambda pair: pair[0], default=(None, None))
        found.append(WorstRatio(learner, ratio, world, rivals[learner]))
    return sorted(found, key=lambda one: (not one.rival, math.inf if one.ratio is None else one.ratio))


@dataclass(frozen=True, eq=False)
class RaceSummary:
    """A finished race, for figures and page; worlds and learners go by their specs."""

    graph: str
    played_on: CliqueCover | AnyGraph
    """The cover of the graph, or the graph where it has none: directed, changing, noisy."""
    worlds: Mapping[str, World]
    runs: tuple[Runs, ...]
    """Worlds in order, learners within."""
    standings: tuple[Standing, ...]
    """In the order of ``runs``."""
    ratios: tuple[WorstRatio, ...]
    ours: str
    command: str
    machine: str
    versions: Mapping[str, str]

    @property
    def cover(self) -> CliqueCover | None:
        """The cover of the graph; None where it has none."""
        return self.played_on if isinstance(self.played_on, CliqueCover) else None

    @property
    def horizon(self) -> int:
        """How many rounds a run has."""
        return self.runs[0].horizon

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seed numbers of every learner in every world."""
        return self.runs[0].seeds

    @property
    def learners(self) -> tuple[str, ...]:
        """In the order in which they were asked for."""
        return tuple(dict.fromkeys(one.learner for one in self.runs))

    @property
    def rivals(self) -> Mapping[str, bool]:
        """Whether a learner competes, or is a reference that sees more than the graph shows."""
        return {row.learner: row.rival for row in self.ratios}

    @property
    def has_ratios(self) -> bool:
        """Whether in any world the best regret is large enough to divide by."""
        return any(row.ratio is not None for row in self.ratios)

    @cached_property
    def theory(self) -> Mapping[str, list[TheoryLine]]:
        """The theory lines of each world."""
        return {name: self._theory_in(name, world) for name, world in self.worlds.items()}

    def _theory_in(self, name: str, world: World) -> list[TheoryLine]:
        runs = self.runs_in(name)
        bounds = next((one.regret_bound for one in runs if one.learner == self.ours), None)
        return theory_lines(self.played_on, world, runs[0].rounds, None if bounds is None else bounds.mean(axis=0))

    def runs_in(self, world: str) -> list[Runs]:
        """One world's runs."""
        return [one for one in self.runs if one.world == world]

    def standings_in(self, world: str) -> list[Standing]:
        """One world's standings, the least regret first."""
        return sorted((row for row in self.standings if row.world == world), key=lambda row: row.regret.mean)
