"""The race made real before the first round: everything that could be refused is refused here."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

from allworlds import __version__
from allworlds.covers import CliqueCover
from allworlds.covers.covering import make_cover
from allworlds.experiments.cells import world_digest
from allworlds.foundation.errors import InvalidParameter
from allworlds.kernels.jit import source_digest
from allworlds.learners import LEARNERS, Learner, make_learner
from allworlds.workflows.race.config import Race
from allworlds.worlds import World
from allworlds.worlds.by_name import make_world

FORMAT = 1
"""Of the files of finished cells."""
BLOCK = 5
"""Seeds in a cell: enough for a second or so, few enough to lose little."""
OURS = "tsallis-shannon"


@dataclass(frozen=True)
class Cell:
    """The unit of work: one learner in one world with a few seeds, a pure function of what its digest covers."""

    world: str
    learner: str
    seeds: tuple[int, ...]
    digest: str

    @property
    def file_name(self) -> str:
        """Readable, and different for different digests."""
        words = [re.sub(r"[^a-z0-9.]+", "-", text.lower())[:60] for text in (self.world, self.learner)]
        return f"{words[0]}__{words[1]}__{self.seeds[0]}-{self.seeds[-1]}__{self.digest[:16]}.npz"


@dataclass(frozen=True)
class Plan:
    """Learners and worlds by the specs that named them, and the cells in the order of work."""

    race: Race
    cover: CliqueCover
    worlds: dict[str, World]
    learners: dict[str, Learner]
    rivals: dict[str, bool]
    cells: tuple[Cell, ...]

    @property
    def ours(self) -> str:
        """The learner that the others are compared with: the default one, or else the first."""
        return OURS if OURS in self.learners else next(iter(self.learners))


def make_plan(race: Race) -> Plan:
    """Build graph, worlds and learners, or say in a sentence why they do not fit together.

    >>> plan = make_plan(Race("bandit:3", ("stochastic",), ("tsallis-shannon",), horizon=10, seeds=12))
    >>> [cell.seeds for cell in plan.cells]
    [(0, 1, 2, 3, 4), (5, 6, 7, 8, 9), (10, 11)]
    """
    cover = make_cover(race.graph)
    learners = {spec: make_learner(spec, cover, race.horizon) for spec in race.learners}
    rivals = {spec: LEARNERS.find(spec).rival for spec in race.learners}
    worlds = {spec: make_world(spec, cover.n_arms) for spec in race.worlds}
    for spec, world in worlds.items():
        if world.longest is not None and world.longest < race.horizon:
            raise InvalidParameter(
                f"'{spec}' has {world.longest} rounds, but the horizon is {race.horizon}; "
                f"race with --horizon {world.longest} or less"
            )
    cells = tuple(
        Cell(world, learner, seeds, _digest(race, cover, worlds[world], learner, seeds))
        for learner in learners
        for world in worlds
        for seeds in _blocks(race.seed_numbers)
    )
    return Plan(race, cover, worlds, learners, rivals, cells)


def _blocks(seeds: range) -> list[tuple[int, ...]]:
    """Blocks that begin at multiples of their size, so that a race with more seeds finds the finished ones."""
    numbers = sorted({seed // BLOCK for seed in seeds})
    return [tuple(seed for seed in range(n * BLOCK, (n + 1) * BLOCK) if seed in seeds) for n in numbers]


def _digest(race: Race, cover: CliqueCover, world: World, learner: str, seeds: tuple[int, ...]) -> str:
    """Of all that a cell's numbers depend on, the sources of the package included."""
    parts: list[Any] = [FORMAT, __version__, source_digest(), cover.digest(), world_digest(world)]
    parts += [learner, race.horizon, seeds]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
