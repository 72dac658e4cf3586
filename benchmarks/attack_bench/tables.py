"""An attack as a table of phases, and the regret of a learner under it, on many seeds.

A run of 20,000 rounds takes about ten milliseconds, so what a run costs beside its rounds counts: phases are laid
out once for all seeds, only the last round is recorded, and runs share two threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allworlds.covers import CliqueCover, clique_cover
from allworlds.graphs import disjoint_cliques
from allworlds.learners import Learner
from allworlds.learners.by_name import make_learner
from allworlds.learners.dispatch import visibility
from allworlds.simulation import play_many
from allworlds.simulation.play import run
from allworlds.simulation.trace import new_record
from allworlds.worlds import World, phases
from allworlds.worlds.losses import new_totals

Floats = NDArray[np.float64]
LearnerFactory = Callable[[CliqueCover, int], Any]
"""(cover, horizon) -> learner."""


@dataclass(frozen=True, eq=False)
class Table:
    """P phases on N arms in K disjoint cliques of the given ``sizes``; arms are numbered clique by clique."""

    sizes: tuple[int, ...]
    levels: Floats
    """(P, N) means, in [0, 1]."""
    lengths: Floats
    """(P,) shares of the horizon."""
    constant: NDArray[np.bool_]
    """(P, N) whether the loss is the level itself; Bernoulli elsewhere."""
    name: str = "table"

    def __post_init__(self) -> None:
        """Let the world check the numbers, and check that the cliques hold all arms."""
        if self.world.n_arms != sum(self.sizes):
            raise ValueError(f"levels have {self.world.n_arms} arms, sizes {self.sizes}; expected equally many")

    @cached_property
    def world(self) -> World:
        """The table as a world."""
        return phases(self.levels, self.lengths, self.constant, name=self.name)

    @property
    def cover(self) -> CliqueCover:
        """The cliques."""
        return cover_of(self.sizes)

    def scale(self, horizon: int) -> float:
        """``sqrt(K T)``, what regret is measured in."""
        return float(np.sqrt(len(self.sizes) * horizon))

    def as_json(self) -> dict[str, Any]:
        """All of it in lists."""
        return {
            "name": self.name,
            "sizes": list(self.sizes),
            "lengths": self.lengths.tolist(),
            "levels": self.levels.tolist(),
            "constant": self.constant.astype(int).tolist(),
        }

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> Table:
        """The inverse of :meth:`as_json`."""
        return cls(
            tuple(found["sizes"]),
            np.array(found["levels"], dtype=np.float64),
            np.array(found["lengths"], dtype=np.float64),
            np.array(found["constant"], dtype=np.bool_),
            found["name"],
        )


@lru_cache(maxsize=256)
def cover_of(sizes: tuple[int, ...]) -> CliqueCover:
    """Disjoint cliques of these sizes as a cover."""
    return clique_cover(disjoint_cliques(list(sizes)))


def parse_sizes(text: str) -> tuple[int, ...]:
    """``2x3`` is two cliques of three arms, ``1,1,3`` three cliques of these sizes.

    >>> parse_sizes("2x3"), parse_sizes("1,1,3")
    ((3, 3), (1, 1, 3))
    """
    if "x" in text:
        number, size = text.split("x")
        return (int(size),) * int(number)
    return tuple(int(size) for size in text.split(","))


def write_sizes(sizes: Sequence[int]) -> str:
    """The inverse of :func:`parse_sizes`."""
    equal = len(set(sizes)) == 1
    return f"{len(sizes)}x{sizes[0]}" if equal else ",".join(str(size) for size in sizes)


def by_spec(spec: str) -> LearnerFactory:
    """The factory of a learner by name, such as ``tsallis-shannon:beta=2``."""
    return lambda cover, horizon: make_learner(spec, cover, horizon=horizon)


def evaluate(
    learner_factory: LearnerFactory, table: Table, horizon: int, seeds: Iterable[int], jobs: int | None = None
) -> Floats:
    """(S,) pseudo-regret at the horizon of the learner in the table's world, one for each seed.

    ``learner_factory(cover, horizon)`` makes the learner; all seeds share it. ``jobs`` is the number of threads
    (default: all cores). The same seeds give the same numbers as :func:`allworlds.play_many`.
    """
    listed = [int(seed) for seed in seeds]
    learner = learner_factory(table.cover, horizon)
    workers = min(jobs or os.cpu_count() or 1, len(listed))
    if not isinstance(learner, Learner):  # a plain Python class, played round by round
        traces = play_many(learner, table.world, horizon, listed, workers)
        return np.array([trace.final_regret for trace in traces])
    arrays = table.world.for_run(0, horizon)  # without corruption the same for every seed
    last = np.array([horizon], dtype=np.int64)

    def one(seed: int) -> float:
        state, record = learner.init(), new_record(1, 0, learner.n_arms)
        totals = new_totals(arrays.candidates.size)
        seen = visibility(state)
        run(state, seen, seen, arrays, None, seed, last, np.empty(learner.n_arms), totals, record)
        return float(record.rows[0, 0])

    if workers <= 1:
        return np.array([one(seed) for seed in listed])
    with ThreadPoolExecutor(workers) as pool:
        return np.array(list(pool.map(one, listed)))
