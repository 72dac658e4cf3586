"""Play cells and compare: a row for each cell and learner, a line for each group.

Regret can be negative where the best arm changes, so a plain ratio is of little use there. ``ours`` relative to
``other`` is ``1 + (ours - other) / max(|other|, floor)``: the plain ratio wherever ``other`` is above the floor, which
is 1 where regret cannot be negative and ``0.1 sqrt(KT)`` elsewhere. So is the worst seed relative to the mean.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from allworlds.covers import CliqueCover
from allworlds.learners.by_name import make_learner
from allworlds.simulation import play_many
from regret_suite.cache import Cache, Plays
from regret_suite.cells import Cell, Group

Factory = Callable[[CliqueCover, int], Any]
"""Makes a learner from a cover and a horizon."""
RIVALS = ("thompson-n", "ucb-n", "tsallis-shannon-sharp", "exp3-ix", "tsallis-inf-rv")
LEAST = 0.01
"""A ratio is never below this, so that geometric means exist."""


@dataclass(frozen=True)
class Row:
    """One of our learners in one cell, beside all others that were played there."""

    cell: Cell
    learner: str
    means: Mapping[str, float]
    """Mean regret of every learner, ours and rivals, on the same seeds."""
    clean: Mapping[str, float]
    """The same of the regret on the clean losses."""
    rivals: tuple[str, ...]
    regrets: tuple[float, ...]
    """Of this learner, for every seed that it played: at least those of the means."""
    seeds: int
    """How many seeds the means are of."""

    @property
    def best(self) -> str:
        """The learner with the lowest mean regret; it can be this one."""
        return min(self.means, key=lambda name: self.means[name])

    @property
    def best_rival(self) -> str:
        """The rival with the lowest mean regret."""
        return min(self.rivals, key=lambda name: self.means[name])

    @property
    def ratio(self) -> float:
        """To the best learner; 1 is the best possible."""
        return self.against(self.best)

    def against(self, other: str) -> float:
        """The ratio to one other learner."""
        return relative(self.means[self.learner], self.means[other], self.cell.floor)

    @property
    def worst_over_mean(self) -> float:
        """The worst of all seeds relative to their mean."""
        return relative(max(self.regrets), float(np.mean(self.regrets)), self.cell.floor)

    @property
    def linear(self) -> float:
        """The share of seeds with a regret above a tenth of the horizon."""
        return float(np.mean(np.array(self.regrets) > 0.1 * self.cell.horizon))


@dataclass(frozen=True)
class Summary:
    """What the rows of one group and learner have in common."""

    learner: str
    group: str
    n_cells: int
    geometric_mean: float
    largest: float
    largest_in: str
    tail: float
    """The largest of worst seed over mean."""
    tail_in: str
    n_seeds: int
    """Seeds behind the tail, the fewest of any cell."""
    linear: float
    """The largest share of seeds above a tenth of the horizon."""


def relative(ours: float, other: float, floor: float) -> float:
    """The ratio of two regrets, of which any may be negative; see the head of this file.

    >>> relative(30.0, 20.0, 1.0), relative(-50.0, -100.0, 1.0), relative(3.0, 0.0, 2.0)
    (1.5, 1.5, 2.5)
    """
    return max(1.0 + (ours - other) / max(abs(other), floor), LEAST)


def geometric_mean(values: Iterable[float]) -> float:
    """Of positive numbers, at least one."""
    return math.exp(float(np.mean(np.log(list(values)))))


def score(
    factory: Factory,
    cells: Sequence[Cell],
    seeds: Sequence[int],
    *,
    name: str = "ours",
    tail: Sequence[int] = (),
    rivals: Sequence[str] = RIVALS,
    cache: Cache | None = None,
    jobs: int | None = None,
    progress: bool = False,
) -> list[Row]:
    """Play the learner that ``factory`` makes in all cells, beside ``rivals``, which are specs.

    Rivals are taken from the cache where they were played before. Our own plays are not, since a prototype may change
    without a trace in the sources. ``tail`` are further seeds of ours, for its worst.
    """
    return compare({name: factory}, cells, seeds, tail, rivals, cache or Cache(), Cache(None), jobs, progress)


def compare(
    ours: Mapping[str, Factory],
    cells: Sequence[Cell],
    seeds: Sequence[int],
    tail: Sequence[int] = (),
    rivals: Sequence[str] = RIVALS,
    cache: Cache | None = None,
    our_cache: Cache | None = None,
    jobs: int | None = None,
    progress: bool = False,
) -> list[Row]:
    """A row for each cell and each of ``ours``; the best learner of a cell is the best of all that were played."""
    rivals = [spec for spec in rivals if spec not in ours]
    cache = cache or Cache()
    our_cache = our_cache or cache
    all_seeds = list(dict.fromkeys([*seeds, *tail]))
    rows = []
    for number, cell in enumerate(cells, 1):
        if progress:
            _show(f"{number}/{len(cells)} {cell.name}")
        cover = cell.cover
        plays = {spec: _play(cell, make_learner(spec, cover, cell.horizon), seeds, cache, jobs) for spec in rivals}
        for name, factory in ours.items():
            plays[name] = _play(cell, factory(cover, cell.horizon), all_seeds, our_cache, jobs)
        means, clean = ({name: float(np.mean([p[s][i] for s in seeds])) for name, p in plays.items()} for i in (0, 1))
        for name in ours:
            regrets = tuple(plays[name][seed][0] for seed in all_seeds)
            rows.append(Row(cell, name, means, clean, tuple(rivals), regrets, len(seeds)))
    if progress:
        _show("")
    return rows


def _show(text: str) -> None:
    """Progress on stderr: one line that changes on a terminal, a line for each message elsewhere."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
    elif text:
        print(text, file=sys.stderr, flush=True)


def by_spec(spec: str) -> Factory:
    """The factory of a learner that has a name, such as ``tsallis-shannon:beta=1``."""
    return lambda cover, horizon: make_learner(spec, cover, horizon)


def _play(cell: Cell, learner: Any, seeds: Sequence[int], cache: Cache, jobs: int | None) -> Plays:
    """Regrets of all ``seeds``; those that are not in the cache are played, a few at a time, and kept."""
    plays = cache.read(cell, learner)
    missing = [seed for seed in seeds if seed not in plays]
    threads = jobs or os.cpu_count() or 1
    for start in range(0, len(missing), 4 * threads):
        few = missing[start : start + 4 * threads]
        traces = play_many(learner, cell.world, cell.horizon, few, threads)
        plays |= {trace.seed: (trace.final_regret, float(trace.clean_regret[-1])) for trace in traces}
        cache.write(cell, learner, plays)
    return plays


def summarise(rows: Sequence[Row]) -> list[Summary]:
    """A line for each learner and group, and one for all groups together."""
    summaries = []
    for learner in dict.fromkeys(row.learner for row in rows):
        mine = [row for row in rows if row.learner == learner]
        groups: list[Group] = list(dict.fromkeys(row.cell.group for row in mine))
        summaries += [_summary(learner, group, [row for row in mine if row.cell.group == group]) for group in groups]
        summaries.append(_summary(learner, "all", mine))
    return summaries


def _summary(learner: str, group: str, rows: Sequence[Row]) -> Summary:
    largest, tail = max(rows, key=lambda row: row.ratio), max(rows, key=lambda row: row.worst_over_mean)
    return Summary(
        learner,
        group,
        len(rows),
        geometric_mean(row.ratio for row in rows),
        largest.ratio,
        largest.cell.name,
        tail.worst_over_mean,
        tail.cell.name,
        min(len(row.regrets) for row in rows),
        max(row.linear for row in rows),
    )
