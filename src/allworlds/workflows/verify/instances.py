"""What the statements are checked on: random points, random rounds, and real runs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from allworlds.ftrl import Constants
from allworlds.graphs import CliqueCover, clique_cover, disjoint_cliques
from allworlds.theory import Round, round_state
from allworlds.workflows.verify.random_rounds import random_round
from allworlds.workflows.verify.trajectories import WORLDS, Trajectory, World, make_losses, run

Array = NDArray[np.float64]

LONG_HORIZON = 1800
LONG_COVER = {"paper": (10, 10), "sharp": (2, 5)}
"""100 arms, so that N T >= 3^11 and the paper's theorems speak; 10 arms, so that the sharp ones say something."""


class Instances:
    """What the statements are checked on; everything is made once, from the seed, when first needed."""

    def __init__(self, seed: int, *, full: bool) -> None:
        self.full = full
        self._seed = seed

    def rng(self, stream: int) -> np.random.Generator:
        """An own generator for each purpose, so that no statement moves another's instances."""
        return np.random.default_rng([self._seed, stream])

    @cached_property
    def conditionals(self) -> list[Array]:
        """Distributions inside a clique, from even to extreme."""
        rng = self.rng(1)
        sizes = rng.integers(2, 9, size=300 if self.full else 60)
        return [rng.dirichlet(np.full(size, 10.0 ** rng.uniform(-1.5, 1.0))) + 1e-12 for size in sizes]

    @cached_property
    def points(self) -> list[tuple[CliqueCover, Array]]:
        """Points of the orthant on random covers; every arm has at least 1e-4 of its clique."""
        rng = self.rng(2)
        return [(cover, self._point(cover, rng)) for cover in self._covers(rng, 100 if self.full else 20)]

    def states(self, which: str) -> list[Round]:
        """Rounds with the ``paper`` or the ``sharp`` constants, or with ``both``."""
        if which == "both":
            return [*self.paper_states, *self.sharp_states]
        return self.paper_states if which == "paper" else self.sharp_states

    @cached_property
    def paper_states(self) -> list[Round]:
        """Rounds with the paper's constants: random ones, and each of short trajectories."""
        return [*self._random_states("paper", 3), *self._states_of(self.short_paper)]

    @cached_property
    def sharp_states(self) -> list[Round]:
        """The same with sharp constants."""
        return [*self._random_states("sharp", 4), *self._states_of(self.short_sharp)]

    @cached_property
    def short_paper(self) -> list[Trajectory]:
        """Short runs with the paper's constants, one a world."""
        return self._short("paper", 5)

    @cached_property
    def short_sharp(self) -> list[Trajectory]:
        """Short runs with sharp constants, one a world."""
        return self._short("sharp", 6)

    @cached_property
    def long_paper(self) -> dict[World, list[Trajectory]]:
        """Runs with ``N T >= 3^11``, where the paper's theorems speak; several seeds a world."""
        return self._long("paper", 7)

    @cached_property
    def long_sharp(self) -> dict[World, list[Trajectory]]:
        """The same with sharp constants."""
        return self._long("sharp", 8)

    def _covers(self, rng: np.random.Generator, count: int) -> Iterator[CliqueCover]:
        for _ in range(count):
            yield clique_cover(disjoint_cliques(rng.integers(1, 6, size=rng.integers(2, 5)).tolist()))

    def _point(self, cover: CliqueCover, rng: np.random.Generator) -> Array:
        p = np.empty(cover.n_arms)
        for clique in cover.cliques:
            y = rng.dirichlet(np.full(clique.size, 10.0 ** rng.uniform(-1.0, 1.0)))
            y = np.maximum(y, 2e-4)
            p[clique] = y / y.sum() * 10.0 ** rng.uniform(-4.0, 0.0)
        return p

    def _constants(self, name: str, cover: CliqueCover, horizon: int) -> Constants:
        return Constants.paper(cover, horizon) if name == "paper" else Constants.sharp(cover)

    def _random_states(self, which: str, stream: int) -> Iterator[Round]:
        rng = self.rng(stream)
        for _ in range(100 if self.full else 40):  # so many that each condition of a lemma is met by some
            yield random_round(rng, which)

    def _short(self, name: str, stream: int) -> list[Trajectory]:
        rng = self.rng(stream)
        horizon = 150 if self.full else 40
        cover = clique_cover(disjoint_cliques([1, 2, 4]))
        constants = self._constants(name, cover, horizon)
        return [run(cover, constants, make_losses(world, 7, horizon, 0.4, 5, rng), rng) for world in WORLDS]

    def _states_of(self, trajectories: list[Trajectory]) -> Iterator[Round]:
        for it in trajectories:
            for t in [0, 1, 2, *range(3, len(it.rates), 1 if self.full else 4)]:
                yield round_state(
                    it.cover,
                    it.cumulative_losses[t],
                    it.losses.played[t],
                    float(it.rates[t]),
                    it.constants,
                    it.losses.best_arm,
                )

    def _long(self, name: str, stream: int) -> dict[World, list[Trajectory]]:
        rng = self.rng(stream)
        cover = clique_cover(disjoint_cliques(*LONG_COVER[name]))
        constants = self._constants(name, cover, LONG_HORIZON)
        return {
            world: [
                run(cover, constants, make_losses(world, cover.n_arms, LONG_HORIZON, 0.25, 2, rng), rng)
                for _ in range(4 if self.full else 1)
            ]
            for world in WORLDS
        }
