"""A search for the table of phases that is worst for a given learner: a (mu + lambda) evolution strategy.

What is maximised is mean regret over ``sqrt(K T)``. The regret of a learner that fails now and then has a heavy tail,
so a table may look bad by luck. Three things keep luck from winning: every generation plays on seeds of its own; the
tables that survive are played again in each generation, and ranked by all their runs; and the score that is returned
comes from seeds that the search has never used.

A learner may also beat every fixed arm in some runs, by following the phases, and fail in others. Negative regrets
are clipped in the ranking, since they drown the failures in noise; but a table never ranks above what its plain mean
allows, plus one standard error, so that gains and failures that cancel out do not pass for an attack.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from attack_bench.fixed import SIZES, fixed_attacks
from attack_bench.mutation import Shapes, crossed, mutant, random_table
from attack_bench.tables import Floats, LearnerFactory, Table, evaluate

PARENTS, CHILDREN, NEWCOMERS = 10, 10, 2
"""How many tables survive a generation, and how many it adds as mutants and from nothing."""
MOST_RUNS = 8
"""A survivor is played again until it has this many times the runs of a child."""
FRESH_SEEDS = 10**9
"""The first seed of the final scores; the search uses smaller ones."""


@dataclass
class Candidate:
    """A table and the regrets seen so far, in units of ``sqrt(K T)``."""

    table: Table
    regrets: Floats = field(default_factory=lambda: np.zeros(0))

    @property
    def rank(self) -> float:
        """Mean regret without negative ones, at most the plain mean and its standard error: selection goes by it."""
        error = self.regrets.std() / math.sqrt(self.regrets.size)
        return float(min(np.maximum(self.regrets, 0.0).mean(), self.regrets.mean() + error))


@dataclass(frozen=True)
class Found:
    """The result of a search, with its effort; ``search`` with ``tables=tried`` repeats it."""

    tables: list[tuple[float, Table]]
    """(score, table), worst for the learner first; a score is mean regret over ``sqrt(K T)``, not below 0."""
    tried: int
    generations: int
    seconds: float


def search(
    learner_factory: LearnerFactory,
    n_cliques: int | None = None,
    sizes: Sequence[int] | None = None,
    minutes: float = 2.0,
    seed: int = 0,
    **options: Any,
) -> list[tuple[float, Table]]:
    """Tables of up to six phases that hurt the learner most, as (score, table), the worst first.

    ``learner_factory(cover, horizon)`` makes the learner. ``sizes`` fixes the cliques; without them the search
    chooses sizes from 1 to 3 itself, of ``n_cliques`` cliques, or of 2 to 4. The score is mean regret over
    ``sqrt(K T)`` on fresh seeds, 0 where that is negative. Further options are those of :func:`search_with_effort`.
    """
    shapes = Shapes(n_cliques, None if sizes is None else tuple(sizes))
    return search_with_effort(learner_factory, shapes, minutes, seed, **options).tables


def search_with_effort(
    learner_factory: LearnerFactory,
    shapes: Shapes | None = None,
    minutes: float | None = 2.0,
    seed: int = 0,
    *,
    tables: int | None = None,
    horizon: int = 20_000,
    runs: int = 24,
    final_runs: int = 200,
    keep: int = 5,
    starts: Sequence[Table] | None = None,
    jobs: int | None = None,
    on_generation: Callable[[int, Candidate], None] | None = None,
) -> Found:
    """As :func:`search`, and say what it took.

    The search ends with the generation in which ``minutes`` are over or ``tables`` have been tried, whichever comes
    first. It begins with ``starts`` (default: the fixed attacks) and as many random tables as it has parents. Each
    table is played ``runs`` times at first; the survivors are played ``final_runs`` times at the end, and the worst
    ``keep`` of them are returned.
    ``on_generation`` is called with the number of tables tried and the best of them.
    """
    shapes = shapes or Shapes()
    rng = np.random.default_rng(seed)
    begun = time.perf_counter()
    end = math.inf if minutes is None else begun + 60.0 * minutes
    limit = math.inf if tables is None else tables
    if math.isinf(end) and math.isinf(limit):
        raise ValueError("minutes and tables are both None; expected a limit")

    def play(candidate: Candidate, seeds: range) -> None:
        new = evaluate(learner_factory, candidate.table, horizon, seeds, jobs) / candidate.table.scale(horizon)
        candidate.regrets = np.concatenate([candidate.regrets, new])

    given = _default_starts(shapes) if starts is None else list(starts)
    children = [Candidate(table) for table in [*given, *(random_table(shapes, rng) for _ in range(PARENTS))]]
    population: list[Candidate] = []
    tried = generation = 0
    while True:
        seeds = range(generation * runs, (generation + 1) * runs)
        for candidate in [*population, *children]:
            if candidate.regrets.size < MOST_RUNS * runs:
                play(candidate, seeds)
        tried, generation = tried + len(children), generation + 1
        population = sorted([*population, *children], key=lambda each: each.rank, reverse=True)[:PARENTS]
        if on_generation is not None:
            on_generation(tried, population[0])
        if time.perf_counter() >= end or tried >= limit:
            break
        children = [Candidate(_child(population, shapes, rng)) for _ in range(CHILDREN)]
        children += [Candidate(random_table(shapes, rng)) for _ in range(NEWCOMERS)]
    scored = []
    for candidate in population:
        final = Candidate(candidate.table)
        play(final, range(FRESH_SEEDS, FRESH_SEEDS + final_runs))
        scored.append((max(0.0, float(final.regrets.mean())), final.table))
    scored.sort(key=lambda pair: pair[0], reverse=True)
    named = [(score, replace(table, name=f"found {place}")) for place, (score, table) in enumerate(scored[:keep], 1)]
    return Found(named, tried, generation, time.perf_counter() - begun)


def _default_starts(shapes: Shapes) -> list[Table]:
    """The fixed attacks on the cliques of the search, or on those of its shapes that the report uses."""
    if shapes.sizes is not None:
        return fixed_attacks(shapes.sizes)
    fitting = [sizes for sizes in SIZES if shapes.n_cliques in (None, len(sizes))]
    return fixed_attacks(fitting[0] if fitting else (1,) * (shapes.n_cliques or 2))


def _child(population: list[Candidate], shapes: Shapes, rng: np.random.Generator) -> Table:
    """A mutant of one parent, or, one time in five, of two; better parents are likelier."""
    places = np.minimum(rng.integers(len(population), size=2), rng.integers(len(population), size=2))
    one, other = (population[place].table for place in places)
    if rng.random() < 0.2 and one.sizes == other.sizes:
        one = crossed(one, other, rng)
    return mutant(one, shapes, rng)
