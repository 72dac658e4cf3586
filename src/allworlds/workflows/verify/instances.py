"""What the statements are checked on: random points, random rounds, and real runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from allworlds.covers import CliqueCover, clique_cover
from allworlds.graphs import disjoint_cliques
from allworlds.theory import Round, round_state
from allworlds.theory.practical_rounds import PracticalRound
from allworlds.workflows.verify.random_rounds import constants_of, random_practical_round, random_round
from allworlds.workflows.verify.trajectories import WORLDS, Trajectory, World, make_losses, run

Array = NDArray[np.float64]
Made = TypeVar("Made")

LONG_HORIZON = 1800
LONG_COVER = {"paper": (10, 10), "sharp": (2, 5), "practical": (2, 5)}
"""100 arms, so that N T >= 3^11 and the paper's theorems speak; 10 arms, so that the sharp ones say something."""
LONG_STREAM = {"paper": 7, "sharp": 8, "practical": 16}


class Instances:
    """What the statements are checked on; everything is made once, from the seed, when first needed."""

    def __init__(self, seed: int, *, full: bool) -> None:
        self.full = full
        self._seed = seed
        self._made: dict[str, Any] = {}

    def rng(self, stream: int) -> np.random.Generator:
        """An own generator for each purpose, so that no statement moves another's instances."""
        return np.random.default_rng([self._seed, stream])

    def once(self, key: str, make: Callable[[], Made]) -> Made:
        """What was made under this key, or ``make()`` if it is the first to be asked for."""
        if key not in self._made:
            self._made[key] = make()
        made: Made = self._made[key]
        return made

    def often(self, which: str, world: str, few: int) -> int:
        """How many runs a mean is taken of: ``few``, or four times as many.

        Also where corruption meets the default: there, the regret of a run goes from below 0 to three times its mean.
        """
        return few * (4 if self.full or (which, world) == ("practical", "corrupted") else 1)

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

    def states(self, which: str) -> list[Any]:
        """Rounds with the ``paper`` or the ``sharp`` constants, or with ``both``; or ``practical`` ones."""
        if which == "both":
            return [*self.paper_states, *self.sharp_states]
        if which == "practical":
            return self.practical_states
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
    def practical_states(self) -> list[PracticalRound]:
        """The same with the default constants; more of them, because many steps speak of few rounds."""
        rng = self.rng(9)
        anywhere = [random_practical_round(rng) for _ in range(600 if self.full else 150)]
        return [*anywhere, *(it.rounds[t] for it in self.short_practical for t in self._some(it))]

    @cached_property
    def short_paper(self) -> list[Trajectory]:
        """Short runs with the paper's constants, one a world."""
        return self._short("paper", 5)

    @cached_property
    def short_sharp(self) -> list[Trajectory]:
        """Short runs with sharp constants, one a world."""
        return self._short("sharp", 6)

    @cached_property
    def short_practical(self) -> list[Trajectory]:
        """Short runs with the default constants, one a world."""
        return self._short("practical", 15)

    def long(self, which: str) -> dict[World, list[Trajectory]]:
        """Longer runs with the ``paper``, ``sharp`` or ``practical`` constants; several seeds a world."""
        return self.once(f"long {which}", lambda: self._long(which, LONG_STREAM[which]))

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

    def _random_states(self, which: str, stream: int) -> Iterator[Round]:
        rng = self.rng(stream)
        for _ in range(100 if self.full else 40):  # so many that each condition of a lemma is met by some
            yield random_round(rng, which)

    def _short(self, name: str, stream: int) -> list[Trajectory]:
        rng = self.rng(stream)
        horizon = 150 if self.full else 40
        cover = clique_cover(disjoint_cliques([1, 2, 4]))
        constants = constants_of(name, cover, horizon)
        return [run(cover, constants, make_losses(world, 7, horizon, 0.4, 5, rng), rng) for world in WORLDS]

    def _some(self, it: Trajectory) -> list[int]:
        return [0, 1, 2, *range(3, len(it.rates), 1 if self.full else 4)]

    def _states_of(self, trajectories: list[Trajectory]) -> Iterator[Round]:
        for it in trajectories:
            for t in self._some(it):
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
        constants = constants_of(name, cover, LONG_HORIZON)
        return {
            world: [
                run(cover, constants, make_losses(world, cover.n_arms, LONG_HORIZON, 0.25, 2, rng), rng)
                for _ in range(self.often(name, world, 1))
            ]
            for world in WORLDS
        }
