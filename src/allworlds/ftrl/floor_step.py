"""The lazy step with a floor under every arm: arms may be pinned to it, and cliques to their least mass.

The problem and the expansions are those of ``lazy_step``; here an expansion covers the arms above the floor only, and
holds as long as no arm changes sides. Prices have a kink where one does. Newton's method takes the first derivatives
only: with pinned arms the formulas of the others are long. So a round takes a step or two more.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from allworlds.ftrl.clique_mass import price_of
from allworlds.ftrl.clique_table import (
    ALPHA,
    COOLNESS,
    EASE,
    FIRST_PINNED,
    HOTTEST,
    INVERSE,
    LAST_FREE,
    LOWEST,
    NEXT,
    ORDER,
    PINNED,
    PRICE,
    RADIUS,
    RATE_FACTOR,
    TAIL,
    TEMPERATURE,
    TERMS,
    place,
)
from allworlds.ftrl.expansion import expand
from allworlds.ftrl.lazy_step import MAX_STEPS, move, solve_from_all_arms, straight_multiplier
from allworlds.ftrl.within_clique import Moments, moments
from allworlds.kernels.jit import lean_jit

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SETTLED = 1e-6
"""The search ends with a relative move of at most this; what is left is of the order of its square."""


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def solve_with_floor(
    table: Floats,
    losses: Floats,
    starts: Ints,
    work: Floats,
    sums: Floats,
    eta: float,
    beta: float,
    gamma: float,
    guess: float,
) -> tuple[float, int]:
    """Find the coming round's temperatures from the last round's; return the multiplier and the steps it took."""
    multiplier = guess
    for step in range(1, MAX_STEPS + 1):
        changed = _appraise(table, losses, starts, work, sums, eta, beta, gamma, multiplier)
        if starts.size == 2:  # one clique has all the mass
            return table[PRICE], step
        multiplier = straight_multiplier(table, multiplier)
        if not move(table, 0, table.size - TAIL, multiplier, SETTLED) and not changed:
            return multiplier, step
    multiplier = solve_from_all_arms(table, losses, starts, eta, beta, gamma, guess)
    _appraise(table, losses, starts, work, sums, eta, beta, gamma, multiplier)
    return multiplier, MAX_STEPS + 1


@lean_jit
def _appraise(
    table: Floats,
    losses: Floats,
    starts: Ints,
    work: Floats,
    sums: Floats,
    eta: float,
    beta: float,
    gamma: float,
    multiplier: float,
) -> bool:
    """Price and slope of every clique where it is now; expand those again whose arms have changed sides.

    Says whether some arm or clique has changed sides: prices have a kink there, and one more step is due.
    """
    changed = False
    for clique in range(starts.size - 1):
        at = place(clique)
        x = table[at + TEMPERATURE]
        cool = table[at + COOLNESS]
        rate = eta * table[at + RATE_FACTOR]
        size = starts[clique + 1] - starts[clique]
        found = read_moments(table, clique, size, rate * cool, gamma * x * x)
        if not _is_inside(table, clique, found.log_top, rate * cool, gamma * x * x):
            pinned = table[at + PINNED]
            expand_with_floor(
                table, clique, losses, starts[clique], starts[clique + 1], rate * cool, gamma * x * x, work, sums
            )
            changed |= table[at + PINNED] != pinned
            found = read_moments(table, clique, size, rate * cool, gamma * x * x)
        seen = price_of(found, table[at + LOWEST], x, table[at + ALPHA], beta, rate)
        stays = x >= table[at + HOTTEST] and seen.price >= multiplier
        changed |= stays != (table[at + EASE] == 0.0)
        table[at + PRICE] = seen.price
        table[at + EASE] = 0.0 if stays else cool / (2.0 * beta * x - seen.slope)
    return changed


@lean_jit
def _is_inside(table: Floats, clique: int, log_top: float, s: float, floor: float) -> bool:
    """Whether a clique is within its radius and has the same arms above the floor as when it was expanded."""
    at = place(clique)
    if not abs(s * table[at + INVERSE] - 1.0) <= table[at + RADIUS]:
        return False
    reach = log_top - math.log(floor)
    return bool(
        s * table[at + FIRST_PINNED] >= reach and (table[at + LAST_FREE] == 0.0 or s * table[at + LAST_FREE] <= reach)
    )


@lean_jit
def expand_with_floor(
    table: Floats,
    clique: int,
    losses: Floats,
    start: int,
    stop: int,
    s: float,
    floor: float,
    work: Floats,
    sums: Floats,
) -> None:
    """Expand a clique over the arms above the floor, and note which arms are nearest to it on either side."""
    cut = np.inf
    if floor > 0.0:
        cut = moments(losses[start:stop], table[place(clique) + LOWEST], s, floor).log_top - math.log(floor)
    expand_up_to(table, clique, losses, start, stop, s, cut, work, sums)


@lean_jit
def expand_up_to(
    table: Floats,
    clique: int,
    losses: Floats,
    start: int,
    stop: int,
    s: float,
    cut: float,
    work: Floats,
    sums: Floats,
) -> None:
    """Expand a clique over its arms with ``u <= cut``; the others are pinned to the floor."""
    at = place(clique)
    lowest = table[at + LOWEST]
    pinned, last_free, first_pinned = 0, 0.0, np.inf
    for i in range(start, stop):
        above = losses[i] - lowest
        if s * above > cut and above > 0.0:
            pinned += 1
            first_pinned = min(first_pinned, above)
        else:
            last_free = max(last_free, above)
    table[at + PINNED] = pinned
    table[at + LAST_FREE] = last_free
    table[at + FIRST_PINNED] = first_pinned
    expand(table, clique, losses, start, stop, s, max(cut, 0.0), work, sums)


@lean_jit
def log_top_of(table: Floats, clique: int, size: int, s: float, floor: float) -> float:
    """The log-probability of a clique's best arm at sharpness ``s``, from its expansion."""
    at = place(clique)
    w = s * table[at + INVERSE] - 1.0
    a = 0.0
    for j in range(ORDER, -1, -1):
        a = a * w + table[at + TERMS + np.uint64(j) * NEXT]
    pinned = table[at + PINNED]
    if pinned == 0.0:
        return float(-a)
    return float(math.log(max(1.0 - pinned * floor, (size - pinned) * floor)) - a)  # the maximum only undoes rounding


@lean_jit
def read_moments(table: Floats, clique: int, size: int, s: float, floor: float) -> Moments:
    """The moments of a clique at sharpness ``s``, from its expansion."""
    at = place(clique)
    w = s * table[at + INVERSE] - 1.0
    a, b, c = 0.0, 0.0, 0.0
    for j in range(ORDER, -1, -1):
        c = c * w + b
        b = b * w + a
        a = a * w + table[at + TERMS + np.uint64(j) * NEXT]
    mean = -(1.0 + w) * b
    variance = max(0.0, 2.0 * (1.0 + w) * (1.0 + w) * c)
    pinned = table[at + PINNED]
    log_top = log_top_of(table, clique, size, s, floor)
    if pinned == 0.0:
        return Moments(log_top, mean - log_top, 1.0, mean, variance)
    free = max(1.0 - pinned * floor, (size - pinned) * floor)
    return Moments(log_top, -free * (log_top - mean) - pinned * floor * math.log(floor), free, mean, variance)
