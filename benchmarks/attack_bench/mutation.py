"""Random tables of phases, and random changes of them: where a search for attacks can go in one step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from attack_bench.tables import Table

MOST_PHASES = 6
CLIQUES = (2, 4)
"""Fewest and most cliques."""
LARGEST_CLIQUE = 3
SHORTEST = 0.002
"""The smallest share of the horizon that a phase may have."""
TYPICAL = np.array([0.0, 0.02, 0.05, 0.1, 0.5, 0.9, 0.95, 1.0])
"""Levels that attacks are often made of."""


@dataclass(frozen=True)
class Shapes:
    """Which cliques a search may use: the given sizes, or any of so many cliques."""

    n_cliques: int | None = None
    sizes: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        """Raise ``ValueError`` where the two do not fit."""
        if self.sizes is not None and self.n_cliques not in (None, len(self.sizes)):
            raise ValueError(f"n_cliques is {self.n_cliques}, but sizes {self.sizes} are {len(self.sizes)} cliques")

    def draw(self, rng: Generator) -> tuple[int, ...]:
        """Sizes at random; half of the time all cliques are single arms."""
        if self.sizes is not None:
            return self.sizes
        n_cliques = self.n_cliques or int(rng.integers(CLIQUES[0], CLIQUES[1] + 1))
        largest = 1 if rng.random() < 0.5 else LARGEST_CLIQUE
        return tuple(int(size) for size in rng.integers(1, largest + 1, n_cliques))


def random_table(shapes: Shapes, rng: Generator) -> Table:
    """A table from nothing: cliques mostly of one level, typical levels in one entry of two."""
    sizes = shapes.draw(rng)
    n_phases = int(rng.integers(2, MOST_PHASES + 1))
    clique = np.repeat(np.arange(len(sizes)), sizes)
    column = clique if rng.random() < 0.7 else np.arange(clique.size)
    shape = (n_phases, clique.size)
    levels = np.where(rng.random(shape) < 0.5, rng.choice(TYPICAL, shape), rng.random(shape))
    constant = rng.random(shape) < rng.choice([0.0, 0.5, 1.0])
    return _tidy(sizes, levels[:, column], rng.dirichlet(np.ones(n_phases)), constant[:, column])


def mutant(table: Table, shapes: Shapes, rng: Generator) -> Table:
    """The table after one change, or two, or three."""
    for _ in range(1 + int(rng.integers(3))):
        table = MUTATIONS[rng.choice(len(MUTATIONS), p=WEIGHTS)](table, shapes, rng)
    return table


def crossed(one: Table, other: Table, rng: Generator) -> Table:
    """The first phases of one table, then the last ones of another on the same cliques."""
    cut = int(rng.integers(1, min(one.lengths.size, MOST_PHASES - 1) + 1))
    keep = int(rng.integers(1, min(other.lengths.size, MOST_PHASES - cut) + 1))
    first, last = slice(cut), slice(other.lengths.size - keep, None)
    return _tidy(
        one.sizes,
        np.concatenate([one.levels[first], other.levels[last]]),
        np.concatenate([one.lengths[first], other.lengths[last]]),
        np.concatenate([one.constant[first], other.constant[last]]),
    )


# --- the changes ------------------------------------------------------------------------------------------------


def _levels(table: Table, shapes: Shapes, rng: Generator) -> Table:
    """Move the level of a clique, or of an arm, in one phase."""
    levels, phase = table.levels.copy(), rng.integers(table.lengths.size)
    arms = _some_arms(table, rng)
    if rng.random() < 0.3:
        levels[phase, arms] = rng.choice(TYPICAL)
    else:
        levels[phase, arms] += rng.normal(0.0, rng.choice([0.02, 0.1, 0.3]))
    return _tidy(table.sizes, levels, table.lengths, table.constant)


def _lengths(table: Table, shapes: Shapes, rng: Generator) -> Table:
    """Make one phase shorter or longer."""
    lengths = table.lengths.copy()
    lengths[rng.integers(lengths.size)] *= np.exp(rng.normal(0.0, rng.choice([0.1, 0.5])))
    return _tidy(table.sizes, table.levels, lengths, table.constant)


def _noise(table: Table, shapes: Shapes, rng: Generator) -> Table:
    """Make coins of constants, and the other way round, for a clique, an arm or all arms in one phase."""
    constant = table.constant.copy()
    arms = slice(None) if rng.random() < 0.3 else _some_arms(table, rng)
    constant[rng.integers(table.lengths.size), arms] ^= True
    return _tidy(table.sizes, table.levels, table.lengths, constant)


def _split(table: Table, shapes: Shapes, rng: Generator) -> Table:
    """Split a phase in two and move a level of the second part."""
    if table.lengths.size == MOST_PHASES:
        return _levels(table, shapes, rng)
    phase, share = int(rng.integers(table.lengths.size)), rng.uniform(0.05, 0.95)
    rows = np.insert(np.arange(table.lengths.size), phase, phase)
    lengths = table.lengths[rows].copy()
    lengths[phase] *= share
    lengths[phase + 1] *= 1.0 - share
    levels = table.levels[rows].copy()
    levels[phase + 1, _some_arms(table, rng)] = rng.choice(TYPICAL)
    return _tidy(table.sizes, levels, lengths, table.constant[rows])


def _drop(table: Table, shapes: Shapes, rng: Generator) -> Table:
    """Leave a phase out."""
    if table.lengths.size == 1:
        return table
    rows = np.delete(np.arange(table.lengths.size), rng.integers(table.lengths.size))
    return _tidy(table.sizes, table.levels[rows], table.lengths[rows], table.constant[rows])


def _turn(table: Table, shapes: Shapes, rng: Generator) -> Table:
    """Let two arms change places in one phase."""
    one, other = rng.integers(sum(table.sizes), size=2)
    phase = rng.integers(table.lengths.size)
    levels, constant = table.levels.copy(), table.constant.copy()
    levels[phase, [one, other]] = levels[phase, [other, one]]
    constant[phase, [one, other]] = constant[phase, [other, one]]
    return _tidy(table.sizes, levels, table.lengths, constant)


def _resize(table: Table, shapes: Shapes, rng: Generator) -> Table:
    """Play the same phases on other cliques; a new arm does as the first of an old clique."""
    sizes = shapes.draw(rng)
    starts = np.concatenate([[0], np.cumsum(table.sizes)[:-1]])
    columns: list[int] = []
    for k, size in enumerate(sizes):
        old = min(k, len(table.sizes) - 1)
        columns += [int(starts[old] + min(i, table.sizes[old] - 1)) for i in range(size)]
    return _tidy(sizes, table.levels[:, columns], table.lengths, table.constant[:, columns])


MUTATIONS: tuple[Callable[[Table, Shapes, Generator], Table], ...] = (
    _levels,
    _lengths,
    _noise,
    _split,
    _drop,
    _turn,
    _resize,
)
WEIGHTS = (0.35, 0.25, 0.1, 0.1, 0.08, 0.07, 0.05)


def _some_arms(table: Table, rng: Generator) -> np.ndarray:
    """The arms of one clique; sometimes only one of them."""
    clique = np.repeat(np.arange(len(table.sizes)), table.sizes)
    arms = np.flatnonzero(clique == rng.integers(len(table.sizes)))
    return arms if rng.random() < 0.7 else rng.choice(arms, 1)


def _tidy(sizes: tuple[int, ...], levels: np.ndarray, lengths: np.ndarray, constant: np.ndarray) -> Table:
    """A table with levels in [0, 1] to three digits, and lengths that add up to 1 and are not too short."""
    shares = np.maximum(lengths / lengths.sum(), SHORTEST)
    return Table(sizes, np.round(np.clip(levels, 0.0, 1.0), 3), np.round(shares / shares.sum(), 4), constant)
