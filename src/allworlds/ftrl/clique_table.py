"""Where the lazy step keeps what it knows of each clique: one array, cut into blocks of eight cliques.

A round looks at every clique, so that must be a matter of nanoseconds. All numbers of eight cliques lie together, row
by row, at distances that are known when the kernels are compiled: the compiler sees that no two rows overlap and does
several cliques in one instruction. Clique ``k`` has its number ``row`` at ``place(k) + row``. The last block is filled
up with empty cliques, whose mass is 1e-200 and which never move.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from allworlds.kernels.jit import lean_jit

LANES = 8
ORDER = 8
"""Degree of a clique's expansion: see ``expansion``."""

_ROWS = 20 + ORDER
BLOCK = _ROWS * LANES


def _row(number: int) -> np.uint64:
    return np.uint64(number * LANES)


TEMPERATURE, COOLNESS = _row(0), _row(1)
"""``x = 1 / sqrt(q)`` and ``1 / x``."""
LOWEST, ALPHA = _row(2), _row(3)
"""The lowest cumulative loss, and the regulariser's ``alpha``."""
REFERENCE, INVERSE, RADIUS = _row(4), _row(5), _row(6)
"""The sharpness ``s0`` at which the clique was expanded, ``1 / s0``, and how far ``s / s0 - 1`` may go from zero."""
PRICE, FLATNESS, BEND = _row(7), _row(8), _row(9)
"""``V'``, ``|dx / dV'|``, and ``|d2V' / dx2|`` times it."""
HOTTEST = _row(10)
"""The temperature of the least mass."""
PINNED, LAST_FREE, FIRST_PINNED = _row(11), _row(12), _row(13)
"""With a floor: how many arms are pinned to it, the largest loss above it and the smallest below, less the lowest."""
GAIN, GAIN_GROWTH = _row(14), _row(15)
"""``dq / dlambda`` and its derivative by ``lambda``."""
RATE_FACTOR, INVERSE_FACTOR = _row(16), _row(17)
"""By how much the clique's learning rate is larger than the round's, and the inverse."""
REACH = _row(18)
"""``(alpha + H) / sigma``: the clique's part of the entropy, over ``sqrt(q)``."""
TERMS = _row(19)
"""The first of ``ORDER + 1`` coefficients of the expansion."""
NEXT = np.uint64(LANES)
"""From one coefficient to the next."""

EMPTY, DEAR = 1e100, 1e210
"""Temperature and lowest loss of the cliques that fill up the last block: no mass, and too dear to get any."""


def new_table(
    alpha: NDArray[np.float64], factor: NDArray[np.float64], hottest: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The table of ``alpha.size`` cliques with equal masses; nothing is expanded yet."""
    n_cliques = alpha.size
    blocks = np.zeros((-(-n_cliques // LANES), _ROWS, LANES))
    fill(blocks, TEMPERATURE, np.full(n_cliques, np.sqrt(n_cliques)), EMPTY)
    fill(blocks, COOLNESS, np.full(n_cliques, 1.0 / np.sqrt(n_cliques)), 1.0 / EMPTY)
    fill(blocks, LOWEST, np.zeros(n_cliques), DEAR)
    fill(blocks, ALPHA, alpha, 1.0)
    fill(blocks, RATE_FACTOR, factor, 1.0)
    fill(blocks, INVERSE_FACTOR, 1.0 / factor, 1.0)
    fill(blocks, RADIUS, np.full(n_cliques, -1.0), np.inf)  # a clique is outside until it is expanded
    fill(blocks, HOTTEST, hottest, EMPTY)
    fill(blocks, FIRST_PINNED, np.full(n_cliques, np.inf), np.inf)
    return blocks.reshape(-1)


def fill(blocks: NDArray[np.float64], row: np.uint64, values: NDArray[np.float64], rest: float) -> None:
    """Write a row for all cliques, and ``rest`` for the empty ones."""
    line = np.full(blocks.shape[0] * LANES, rest)
    line[: values.size] = values
    blocks[:, int(row) // LANES] = line.reshape(-1, LANES)


def column(table: NDArray[np.float64], row: np.uint64, n_cliques: int) -> NDArray[np.float64]:
    """(K,) a copy of one number of every clique."""
    return table.reshape(-1, _ROWS, LANES)[:, int(row) // LANES].flatten()[:n_cliques]


@lean_jit
def place(clique: int) -> np.uint64:
    """Where the first number of a clique is."""
    return np.uint64((clique // LANES) * BLOCK + clique % LANES)
