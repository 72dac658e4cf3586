"""What a cell is, and the cells that settings are chosen on.

A cell is one world on one graph of disjoint cliques, for one horizon. Those of this file are for choosing: their seeds
start at 100,000 and their numbers are never published. Those of ``drawn.py`` are for reporting.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

import allworlds as aw
from allworlds.covers import CliqueCover, clique_cover
from allworlds.graphs import disjoint_cliques
from allworlds.worlds import World

Group = Literal[
    "stochastic", "large gaps", "low variance", "high variance", "adversary", "corruption", "lock-in", "moving"
]
Purpose = Literal["tuning", "drawn", "named"]
NEVER_NEGATIVE: tuple[Group, ...] = ("stochastic", "large gaps", "low variance", "high variance", "adversary")
"""Groups in which one arm is best in every round, so that regret is a sum of gaps."""
TUNING_SEED, REPORTING_SEED = 100_000, 5_000
"""The first seed of each kind of cell."""


@dataclass(frozen=True)
class Cell:
    """One world on one graph, for one horizon."""

    name: str
    group: Group
    sizes: tuple[int, ...]
    """Arms of each clique."""
    world: World = field(repr=False, compare=False)
    horizon: int
    gap: float | None = None
    """Where one gap describes the world: the smallest from the best arm to another."""
    attack: str | None = None
    purpose: Purpose = "tuning"

    @property
    def cover(self) -> CliqueCover:
        """The cliques, as a cover of their graph."""
        return clique_cover(disjoint_cliques(self.sizes))

    @property
    def floor(self) -> float:
        """Regrets nearer to 0 than this are not told apart; see ``rows.relative``."""
        return 1.0 if self.group in NEVER_NEGATIVE else 0.1 * math.sqrt(len(self.sizes) * self.horizon)

    @property
    def key(self) -> str:
        """A digest of the world, the sizes and the horizon: equal for equal problems, whatever their names."""
        return hashlib.sha256(f"{self.world_key} {self.sizes} {self.horizon}".encode()).hexdigest()[:24]

    @property
    def world_key(self) -> str:
        """A digest of all that decides the losses beside the seed and the horizon."""
        digest = hashlib.sha256(repr(self.world.budget).encode())
        for name, value in self.world.arrays._asdict().items():
            digest.update(name.encode())
            digest.update(value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode())
        return digest.hexdigest()[:24]


def sizes_of(text: str) -> tuple[int, ...]:
    """Read ``10x10`` (ten cliques of ten arms) or ``1,2,4``."""
    if "x" in text:
        cliques, arms = text.split("x")
        return (int(arms),) * int(cliques)
    return tuple(int(size) for size in text.split(","))


def in_words(sizes: Sequence[int]) -> str:
    """The inverse of :func:`sizes_of`."""
    return f"{len(sizes)}x{sizes[0]}" if len(set(sizes)) == 1 else ",".join(map(str, sizes))


def one_better(n_arms: int, low: float, gap: float, best: int, noise: Any = "bernoulli", width: Any = None) -> World:
    """The arm ``best`` has mean ``low``, all others ``low + gap``."""
    means = np.full(n_arms, low + gap)
    means[best] = low
    return aw.worlds.stochastic(means, noise, width=width)


def late_switch(n_arms: int, first: int, second: int, share: float, gap: float, centre: float = 0.5) -> World:
    """The best arm is ``first`` for a ``share`` of the horizon, then ``second``."""
    levels = np.full((2, n_arms), centre + gap / 2)
    levels[0, first] = levels[1, second] = centre - gap / 2
    return aw.worlds.phases(levels, [share, 1.0 - share])


def tuning_cells() -> list[Cell]:
    """All cells for choosing, in the order of their groups."""
    return [*_stochastic(), *_by_variance(), *_adversary(), *_corruption(), *_lock_in(), *_moving()]


def _gap_cell(text: str, gap: float, horizon: int) -> Cell:
    sizes = sizes_of(text)
    world = aw.worlds.one_good_arm(sum(sizes), gap, sum(sizes) // 3)
    group: Group = "stochastic" if gap <= 0.125 else "large gaps"
    return Cell(f"{group} {text} gap {gap:.3g}", group, sizes, world, horizon, gap)


def _stochastic() -> list[Cell]:
    cells = [
        _gap_cell(text, gap, horizon)
        for text, gap, horizon in (
            ("2x1", 1 / 8, 20_000),
            ("2x1", 1 / 16, 30_000),
            ("8x1", 1 / 8, 30_000),
            ("8x1", 1 / 16, 30_000),
            ("8x1", 1 / 32, 50_000),
            ("100x1", 1 / 8, 30_000),
            ("2x4", 1 / 16, 30_000),
            ("4x8", 1 / 8, 30_000),
            ("8x12", 1 / 8, 50_000),
            ("8x12", 1 / 16, 50_000),
            ("5x100", 1 / 8, 20_000),
            ("1,2,4,8,16", 1 / 8, 30_000),
            ("1,1,60", 1 / 16, 30_000),
            ("2x1", 0.4, 20_000),
            ("8x1", 1 / 4, 20_000),
            ("2x4", 1 / 4, 20_000),
            ("4x8", 0.3, 20_000),
            ("8x12", 1 / 4, 30_000),
            ("1,2,4,8,16", 0.4, 20_000),
        )
    ]
    for text, means in (
        ("8x1", np.linspace(0.35, 0.6, 8)),
        ("5x4", np.linspace(0.6, 0.3, 20)),
        ("6x1", np.array([0.55, 0.44, 0.55, 0.55, 0.45, 0.55])),
        ("4x4", np.array([0.55] * 5 + [0.42] + [0.55] * 4 + [0.43] + [0.55] * 5)),
        ("4x5", np.array([0.5] * 11 + [0.39, 0.4] + [0.5] * 7)),
    ):
        kind = "graded" if np.unique(means).size == means.size else "two near-equal best"
        smallest = float(np.diff(np.sort(means))[0])
        world = aw.worlds.stochastic(means)
        cells.append(Cell(f"stochastic {text} {kind}", "stochastic", sizes_of(text), world, 30_000, smallest))
    return cells


def _by_variance() -> list[Cell]:
    cells = []
    low: Group = "low variance"
    high: Group = "high variance"
    for group, text, best_mean, gap, noise, width in (
        (low, "8x1", 0.05, 0.125, "bernoulli", None),
        (low, "2x4", 0.05, 0.1, "bernoulli", None),
        (low, "8x12", 0.04, 0.125, "bernoulli", None),
        (low, "4x4", 0.85, 0.1, "bernoulli", None),
        (low, "8x1", 0.4, 0.125, "beta", 30.0),
        (low, "5x5", 0.4, 0.1, "deterministic", None),
        (low, "3x1", 0.3, 0.0625, "gaussian-clipped", 0.05),
        (high, "8x1", 0.45, 0.125, "beta", 0.5),
        (high, "4x4", 0.45, 0.0625, "beta", 0.2),
        (high, "2x5", 0.4, 0.125, "gaussian-clipped", 0.5),
    ):
        sizes = sizes_of(text)
        world = one_better(sum(sizes), best_mean, gap, sum(sizes) // 3, noise, width)
        name = f"{group} {text} {noise} {best_mean:g} gap {gap:.3g}"
        cells.append(Cell(name, group, sizes, world, 30_000, gap))
    return cells


def _adversary() -> list[Cell]:
    cells = []
    for text, gap, growth, horizon in (
        ("2x1", 0.3, 1.6, 20_000),
        ("2x4", 1 / 8, 2.0, 30_000),
        ("8x1", 1 / 8, 1.6, 30_000),
        ("8x1", 1 / 16, 1.2, 30_000),
        ("8x12", 1 / 8, 1.6, 50_000),
        ("4x8", 1 / 4, 2.5, 20_000),
        ("30x1", 1 / 8, 1.3, 30_000),
        ("1,2,4,8,16", 1 / 16, 4.0, 30_000),
    ):
        sizes = sizes_of(text)
        world = aw.worlds.constrained_adversary(sum(sizes), sum(sizes) // 3, gap, growth)
        name = f"adversary {text} gap {gap:.3g} growth {growth:g}"
        cells.append(Cell(name, "adversary", sizes, world, horizon, gap))
    return cells


def _corruption() -> list[Cell]:
    cells = []
    attacks = (
        ("flip", "8x1", "4x8"),
        ("best-worst", "4x4", "8x1"),
        ("decoy-best", "8x1", "8x12"),
        ("spread", "4x8", "3x1"),
        ("periodic", "2x4", "8x1"),
        ("all-worst", "3x1", "4x8"),
    )
    for attack, *texts in attacks:
        for text, budget in zip(texts, (600, 3000), strict=True):
            sizes = sizes_of(text)
            clean = aw.worlds.one_good_arm(sum(sizes), 1 / 8, sum(sizes) // 3)
            world = aw.worlds.corrupted(clean, budget, attack)
            name = f"corruption {text} {attack} {budget}"
            cells.append(Cell(name, "corruption", sizes, world, 30_000, 1 / 8, attack))
    return cells


def _lock_in() -> list[Cell]:
    """Lock-ins of other shapes than the one that is reported, and the two counterexamples found by search."""
    lock_in, phases = aw.worlds.lock_in, aw.worlds.phases
    sticky = phases([[0.9, 0.75], [0.5, 0.5], [1.0, 0.5], [0.0, 0.5]], [131, 333, 57, 479], np.ones((4, 2), dtype=bool))
    biased = phases(
        [[0.95, 0.95], [0.95, 0.75], [0.95, 0.4], [0.02, 0.1]],
        [0.21, 0.045, 0.004, 0.741],
        [[False, False], [True, False], [False, True], [True, False]],
    )
    return [
        Cell(f"lock-in {text} {name}", "lock-in", sizes_of(text), world, horizon)
        for text, name, world, horizon in (
            ("2x1", "quiet 0.4", lock_in(2, 0, quiet=0.4, trap=0.1, quiet_level=0.15), 50_000),
            ("2x4", "quiet 0.45", lock_in(8, 2, quiet=0.45, trap=0.08), 30_000),
            ("8x1", "bernoulli end", lock_in(8, 2, end_levels=(0.1, 0.9), constant=(False, False, False)), 30_000),
            ("2x1", "against the mean of all losses", sticky, 50_000),
            ("2x1", "against implicit exploration", biased, 50_000),
        )
    ]


def _moving() -> list[Cell]:
    worlds = aw.worlds
    return [
        Cell(f"moving {text} {name}", "moving", sizes_of(text), world, 30_000)
        for text, name, world in (
            ("8x1", "switching growth 1.6", worlds.switching(8, 0.25)),
            ("4x4", "switching every 5000", worlds.switching(16, 0.2, phases=[5000] * 6, leaders=[5, 1, 14])),
            ("8x1", "drifting", worlds.drifting(np.full(8, 0.5), 0.2, 10_000)),
            ("5x5", "drifting slowly", worlds.drifting(np.linspace(0.4, 0.6, 25), 0.15, 40_000)),
            ("8x1", "switch at 0.7", late_switch(8, 2, 6, 0.7, 0.25)),
            ("2x4", "switch at 0.9", late_switch(8, 1, 6, 0.9, 0.4)),
        )
    ]
