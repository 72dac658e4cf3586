"""Where the lazy step keeps what it knows of each clique: one array, cut into blocks of eight cliques.

A round looks at every clique, so that must be a matter of nanoseconds. All numbers of eight cliques lie together, row
by row, at distances that are known when the kernels are compiled: the compiler sees that no two rows overlap and does
several cliques in one instruction. Clique ``k`` has its number ``row`` at ``place(k) + row``. The last block is filled
up with empty cliques, whose mass is 1e-140 and which never move.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from allworlds.kernels.jit import lean_jit

LANES = 8
ORDER = 8
"""Degree of a clique's expansion: see ``expansion``."""

_ROWS = 25 + ORDER
BLOCK = _ROWS * LANES


def _row(number: int) -> np.uint64:
    return np.uint64(number * LANES)


MASS, GAIN, CURVE_0, CURVE_1, CURVE_2, CURVE_3 = (_row(j) for j in range(6))
"""What ``lazy_step`` adds up over the blocks before this one; after the last block there is room for one sum more."""
TAIL = 6 * LANES
TEMPERATURE, COOLNESS = _row(6), _row(7)
"""``x = 1 / sqrt(q)`` and ``1 / x``."""
HOTTEST = _row(8)
"""The temperature of the least mass."""
PRICE, EASE, BEND, CURL = _row(9), _row(10), _row(11), _row(12)
"""``p = V'``; ``1 / (x |p'|)``, with derivatives by ``x``; and of the temperature as a cubic in a change of the price
the relative coefficients: half of ``U = x p'' / p'``, and ``U^2 / 2 - x^2 p''' / (6 p')``."""
REACH = _row(13)
"""``(alpha + H) / sigma``: the clique's part of the entropy, over ``sqrt(q)``."""
LOWEST, ALPHA = _row(14), _row(15)
"""The lowest cumulative loss, and the regulariser's ``alpha``."""
RATE_FACTOR, INVERSE_FACTOR = _row(16), _row(17)
"""By how much the clique's learning rate is larger than the round's, and the inverse."""
INVERSE, RADIUS = _row(18), _row(19)
"""``1 / s0``, with the sharpness ``s0`` at which the clique was expanded, and how far ``s / s0 - 1`` may go from 0."""
TERMS = _row(20)
"""The first of ``ORDER + 1`` coefficients of the expansion."""
REFERENCE = _row(21 + ORDER)
"""``s0``. From here on, what a round without a floor does not read."""
PINNED, LAST_FREE, FIRST_PINNED = _row(22 + ORDER), _row(23 + ORDER), _row(24 + ORDER)
"""With a floor: how many arms are pinned to it, the largest loss above it and the smallest below, less the lowest."""
NEXT = np.uint64(LANES)
"""From one coefficient to the next."""

EMPTY, DEAR, STEEP = 1e70, 1e150, 1e50
"""Temperature, lowest loss and inverse factor of the cliques that fill up the last block: too dear to get any mass,
whatever the barrier, and so steep that the third power of the move they ask for, times their mass, is nothing."""


def new_table(
    alpha: NDArray[np.float64], factor: NDArray[np.float64], hottest: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The table of ``alpha.size`` cliques with equal masses; nothing is expanded yet."""
    n_cliques = alpha.size
    n_blocks = -(-n_cliques // LANES)
    room = np.zeros(n_blocks * BLOCK + TAIL + LANES)
    start = -room.ctypes.data // 8 % LANES  # rows that begin where cache lines do are read faster
    table = room[start : start + n_blocks * BLOCK + TAIL]
    blocks = table[: n_blocks * BLOCK].reshape(n_blocks, _ROWS, LANES)
    fill(blocks, TEMPERATURE, np.full(n_cliques, np.sqrt(n_cliques)), EMPTY)
    fill(blocks, COOLNESS, np.full(n_cliques, 1.0 / np.sqrt(n_cliques)), 1.0 / EMPTY)
    fill(blocks, LOWEST, np.zeros(n_cliques), DEAR)
    fill(blocks, ALPHA, alpha, 1.0)
    fill(blocks, RATE_FACTOR, factor, 1.0)
    fill(blocks, INVERSE_FACTOR, 1.0 / factor, STEEP)
    fill(blocks, RADIUS, np.full(n_cliques, -1.0), np.inf)  # a clique is outside until it is expanded
    fill(blocks, HOTTEST, hottest, EMPTY)
    fill(blocks, FIRST_PINNED, np.full(n_cliques, np.inf), np.inf)
    return table


def fill(blocks: NDArray[np.float64], row: np.uint64, values: NDArray[np.float64], rest: float) -> None:
    """Write a row for all cliques, and ``rest`` for the empty ones."""
    line = np.full(blocks.shape[0] * LANES, rest)
    line[: values.size] = values
    blocks[:, int(row) // LANES] = line.reshape(-1, LANES)


def column(table: NDArray[np.float64], row: np.uint64, n_cliques: int) -> NDArray[np.float64]:
    """(K,) a copy of one number of every clique."""
    return table[:-TAIL].reshape(-1, _ROWS, LANES)[:, int(row) // LANES].flatten()[:n_cliques]


@lean_jit
def place(clique: int) -> np.uint64:
    """Where the first number of a clique is."""
    return np.uint64((clique // LANES) * BLOCK + clique % LANES)
