"""The step at the cost of what a round reads: ``O(K + |V(I)|)`` instead of ``O(N)``.

The problem is that of ``clique_mass``: masses at which one multiplier is the price of every clique. Between rounds only
one clique's losses change, and all others meet a slightly smaller rate. So a clique is kept as an expansion
(``expansion``) with a certified radius, and its arms are read again only when it was drawn or has left its radius.

The method. Newton's method on all temperatures ``x`` at once, from the last round's, with one term more. Let ``p``
be a clique's price, ``p' = -1 / f`` and ``p'' = -r`` its derivatives by ``x``, and ``e = f (p - lambda)``. To second
order the temperature that fits ``lambda`` and its mass are

    x + e (1 - r f e / 2),        q - g e / f + (h / 2) (e / f)^2,        g = 2 f / x^3,   h = g f (r f + 3 / x),

so ``sum q = 1`` is a quadratic equation for ``lambda`` with a few sums for its coefficients. Convergence is cubic: a
last move of at most ``SETTLED`` leaves an error of the order of its cube. Where cliques are many, the drawn one's block
is settled first, against the sums of all others, which hardly move. Then one or two steps are usual. If it does not
settle in ``MAX_STEPS``, the exact step of ``clique_mass`` takes over: slower, and sure.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.ftrl.clique_mass import MAX_STEPS as EXACT_STEPS
from allworlds.ftrl.clique_mass import Problem, new_masses, price_of, solve_masses
from allworlds.ftrl.clique_table import (
    ALPHA,
    BEND,
    BLOCK,
    COOLNESS,
    FIRST_PINNED,
    FLATNESS,
    GAIN,
    GAIN_GROWTH,
    HOTTEST,
    INVERSE,
    INVERSE_FACTOR,
    LANES,
    LAST_FREE,
    LOWEST,
    NEXT,
    ORDER,
    PINNED,
    PRICE,
    RADIUS,
    RATE_FACTOR,
    REACH,
    TEMPERATURE,
    TERMS,
    place,
)
from allworlds.ftrl.expansion import expand
from allworlds.ftrl.within_clique import Moments, moments
from allworlds.kernels.jit import jit, lean_jit

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SETTLED = 1e-4
"""The search ends with a move of at most this, relative; what is left is of the order of its cube."""
REST = 1e-11
"""And with a move times the square of its relative correction of at most this: near the limit of convexity, where the
slope nearly vanishes, the cube has a large factor."""
SETTLED_WITH_FLOOR = 1e-6
"""The same with a floor, where only the first derivatives are used and the rest is of the order of the square."""
MAX_STEPS = 12
"""Where Newton's method gives up, and the exact step takes over."""
EXACT = 1e-12
"""Residual at which the exact step stops."""
FEW_BLOCKS = 4
"""With more blocks of cliques than this, the drawn clique's block is settled before all others move."""
TERM_8 = TERMS + NEXT * np.uint64(8)
TERM_7, TERM_6, TERM_5, TERM_4 = (TERMS + NEXT * np.uint64(j) for j in (7, 6, 5, 4))
TERM_3, TERM_2, TERM_1 = (TERMS + NEXT * np.uint64(j) for j in (3, 2, 1))

MASS, GAINED, LEAD, GROWTH, TILT, EXCESS = (NEXT * np.uint64(j) for j in range(6))
_1, _2, _3, _4, _5, _6, _7 = (np.uint64(j) for j in range(1, 8))


class Response(NamedTuple):
    """How the masses of some cliques respond to ``lambda`` near a guess; sums over the cliques."""

    mass: float
    gain: float
    """``dq / dlambda``."""
    lead: float
    """``gain`` times how far the guess is ahead of the clique's price."""
    growth: float
    """``d2q / dlambda2``."""
    tilt: float
    """``growth`` times how far the guess is ahead."""
    excess: float
    """``growth`` times the square of that."""


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def solve_lazily(
    table: Floats,
    losses: Floats,
    starts: Ints,
    work: Floats,
    sums: Floats,
    eta: float,
    beta: float,
    gamma: float,
    guess: float,
    drawn: int,
) -> tuple[float, int]:
    """Find the coming round's temperatures from the last round's; return the multiplier and the steps it took.

    ``drawn`` is the clique with new losses: it may move far, while the others hardly move.
    """
    multiplier = guess
    settled = SETTLED if gamma == 0.0 else SETTLED_WITH_FLOOR
    for step in range(1, MAX_STEPS + 1):
        changed = False
        if gamma > 0.0:
            changed = _appraise_with_floor(table, losses, starts, work, sums, eta, beta, gamma, multiplier)
        else:
            _appraise(table, 0, table.size, losses, starts, work, sums, eta, beta)
        if starts.size == 2:  # one clique has all the mass
            return table[PRICE], step
        if step == 1 and gamma == 0.0 and table.size > FEW_BLOCKS * BLOCK:
            multiplier = _settle_block(table, drawn, losses, starts, work, sums, eta, beta, multiplier)
        else:
            multiplier = _multiplier(table, multiplier)
        if not _move(table, 0, table.size, multiplier, settled) and not changed:
            return multiplier, step
    multiplier = _solve_exactly(table, losses, starts, work, sums, eta, beta, gamma, guess)
    if gamma == 0.0:
        _appraise_blocks(table, 0, table.size, eta, beta)  # the entropies where the cliques are now
    return multiplier, MAX_STEPS + 1


@lean_jit
def _appraise(
    table: Floats,
    begin: int,
    end: int,
    losses: Floats,
    starts: Ints,
    work: Floats,
    sums: Floats,
    eta: float,
    beta: float,
) -> None:
    """Appraise the cliques of some blocks where they are now; expand those again that have left their radius."""
    if not _appraise_blocks(table, begin, end, eta, beta):
        return
    for block in range(begin, end, BLOCK):
        first = block // BLOCK * LANES
        found = False
        for clique in range(first, min(first + LANES, starts.size - 1)):
            at = place(clique)
            s = eta * table[at + RATE_FACTOR] * table[at + COOLNESS]
            if not abs(s * table[at + INVERSE] - 1.0) <= table[at + RADIUS]:
                expand(table, clique, losses, starts[clique], starts[clique + 1], s, np.inf, work, sums)
                found = True
        if found:
            _appraise_blocks(table, block, block + BLOCK, eta, beta)


@lean_jit
def _appraise_blocks(table: Floats, begin: int, end: int, eta: float, beta: float) -> int:
    """Price, gain, flatness and entropy of the cliques of some blocks; one if some clique has left its radius."""
    outside = 0
    half = 0.5 / eta
    for block in range(begin, end, BLOCK):
        for lane in range(LANES):
            k = np.uint64(block + lane)
            cool = table[k + COOLNESS]
            half_hot = half * table[k + INVERSE_FACTOR]
            w = eta * table[k + RATE_FACTOR] * cool * table[k + INVERSE] - 1.0
            outside |= abs(w) > table[k + RADIUS]
            a = table[k + TERM_8]
            b, c, d = a, a, a  # a becomes A; b, c and d its derivatives by w over 1, 2 and 6
            a = a * w + table[k + TERM_7]
            b = b * w + a
            c = c * w + b
            d = d * w + c
            a = a * w + table[k + TERM_6]
            b = b * w + a
            c = c * w + b
            d = d * w + c
            a = a * w + table[k + TERM_5]
            b = b * w + a
            c = c * w + b
            d = d * w + c
            a = a * w + table[k + TERM_4]
            b = b * w + a
            c = c * w + b
            d = d * w + c
            a = a * w + table[k + TERM_3]
            b = b * w + a
            c = c * w + b
            d = d * w + c
            a = a * w + table[k + TERM_2]
            b = b * w + a
            c = c * w + b
            a = a * w + table[k + TERM_1]
            b = b * w + a
            a = a * w + table[k + TERMS] + table[k + ALPHA]
            m = 1.0 + w
            slope, variance, skewness = m * b, 2.0 * m * m * c, 6.0 * m * m * m * d
            x = table[k + TEMPERATURE]
            table[k + PRICE] = table[k + LOWEST] - x * (half_hot * (a + slope) + beta * x)
            flatness = 1.0 / (half_hot * (a - slope - variance) + 2.0 * beta * x)
            bend = (half_hot * cool * (3.0 * variance + skewness) + 2.0 * beta) * flatness
            gain = 2.0 * cool * cool * cool * flatness
            table[k + REACH] = (a - slope) * table[k + INVERSE_FACTOR]
            table[k + FLATNESS] = flatness
            table[k + BEND] = bend
            table[k + GAIN] = gain
            table[k + GAIN_GROWTH] = gain * flatness * (bend + 3.0 * cool)
    return outside


@lean_jit
def _settle_block(
    table: Floats,
    drawn: int,
    losses: Floats,
    starts: Ints,
    work: Floats,
    sums: Floats,
    eta: float,
    beta: float,
    guess: float,
) -> float:
    """The multiplier after Newton's method on the drawn clique's block alone; all others follow it to second order."""
    begin = drawn // LANES * BLOCK
    end = begin + BLOCK
    every, block = _response(table, 0, table.size, guess, sums), _response(table, begin, end, guess, sums)
    if abs(1.0 - every.mass - every.lead) > 1.0:  # far from the guess
        return _multiplier(table, guess)
    multiplier = guess + _root(every)
    for _ in range(MAX_STEPS):
        unsettled = _move(table, begin, end, multiplier, SETTLED)
        _appraise(table, begin, end, losses, starts, work, sums, eta, beta)
        moved = _response(table, begin, end, guess, sums)
        multiplier = guess + _root(
            Response(
                every.mass - block.mass + moved.mass,
                every.gain - block.gain + moved.gain,
                every.lead - block.lead + moved.lead,
                every.growth - block.growth + moved.growth,
                every.tilt - block.tilt + moved.tilt,
                every.excess - block.excess + moved.excess,
            )
        )
        if not unsettled:
            break
    return multiplier


@lean_jit
def _multiplier(table: Floats, guess: float) -> float:
    """``lambda`` at which the masses sum to one, to second order.

    Far from the guess the coefficients of the quadratic equation would cancel: then the root of the linear one becomes
    the guess, three times at most.
    """
    for _ in range(3):
        mass, gain, lead = 0.0, 0.0, 0.0
        growth, tilt, excess = 0.0, 0.0, 0.0
        for block in range(0, table.size, BLOCK):
            for lane in range(LANES):
                k = np.uint64(block + lane)
                ahead = guess - table[k + PRICE]
                rise = table[k + GAIN_GROWTH] * ahead
                mass += table[k + COOLNESS] * table[k + COOLNESS]
                gain += table[k + GAIN]
                lead += table[k + GAIN] * ahead
                growth += table[k + GAIN_GROWTH]
                tilt += rise
                excess += rise * ahead
        missing = 1.0 - mass - lead
        if abs(missing) <= 1.0:
            return guess + _root(Response(mass, gain, lead, growth, tilt, excess))
        guess += missing / gain
    return guess


@lean_jit
def _root(at: Response) -> float:
    """How far ``lambda`` is from the guess: the root of the linear equation, then one Newton step on the quadratic."""
    straight = (1.0 - at.mass - at.lead) / at.gain
    excess = 0.5 * at.excess + straight * (at.tilt + 0.5 * straight * at.growth)
    return straight - excess / max(at.gain + at.tilt + straight * at.growth, 0.5 * at.gain)


@lean_jit
def _response(table: Floats, begin: int, end: int, guess: float, sums: Floats) -> Response:
    """Add up how the masses of some blocks respond to ``lambda`` near a guess; every lane has its own sums."""
    lanes = min(LANES, table.size)  # a number that the compiler does not know: it keeps the loop, and vectorises it
    sums[:] = 0.0
    for block in range(begin, end, BLOCK):
        for lane in range(lanes):
            i, k = np.uint64(lane), np.uint64(block + lane)
            cool, gain, growth = table[k + COOLNESS], table[k + GAIN], table[k + GAIN_GROWTH]
            ahead = guess - table[k + PRICE]
            rise = growth * ahead
            sums[i + MASS] += cool * cool
            sums[i + GAINED] += gain
            sums[i + LEAD] += gain * ahead
            sums[i + GROWTH] += growth
            sums[i + TILT] += rise
            sums[i + EXCESS] += rise * ahead
    return Response(
        lane_sum(sums, MASS),
        lane_sum(sums, GAINED),
        lane_sum(sums, LEAD),
        lane_sum(sums, GROWTH),
        lane_sum(sums, TILT),
        lane_sum(sums, EXCESS),
    )


@lean_jit
def lane_sum(sums: Floats, row: np.uint64) -> float:
    """The sum of the eight lanes of a row, always in the same order."""
    low = (sums[row] + sums[row + _1]) + (sums[row + _2] + sums[row + _3])
    return float(low + ((sums[row + _4] + sums[row + _5]) + (sums[row + _6] + sums[row + _7])))


@lean_jit
def _move(table: Floats, begin: int, end: int, multiplier: float, settled: float) -> int:
    """Move the temperatures of some blocks, by at most a factor two; one if some moved by more than ``settled``."""
    unsettled = 0
    lanes = min(LANES, table.size)
    for block in range(begin, end, BLOCK):
        for lane in range(lanes):
            k = np.uint64(block + lane)
            x = table[k + TEMPERATURE]
            straight = (table[k + PRICE] - multiplier) * table[k + FLATNESS]
            bent = 0.5 * table[k + BEND] * straight
            bent = bent if bent > -0.5 else -0.5
            bent = bent if bent < 0.5 else 0.5
            moved = x + straight * (1.0 - bent)
            moved = moved if moved > 0.5 * x else 0.5 * x
            moved = moved if moved < 2.0 * x else 2.0 * x
            moved = moved if moved < table[k + HOTTEST] else table[k + HOTTEST]
            way = abs(moved - x)
            unsettled |= not (way <= settled * x and bent * bent * way <= REST * x)
            table[k + TEMPERATURE] = moved
            table[k + COOLNESS] = 1.0 / moved
    return unsettled


@lean_jit
def _appraise_with_floor(
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
    """The same with a floor under every arm: arms may be pinned to it, and cliques to their least mass.

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
        flatness = 1.0 / (2.0 * beta * x - seen.slope)
        stays = x >= table[at + HOTTEST] and seen.price >= multiplier
        changed |= stays != (table[at + GAIN] == 0.0)
        table[at + PRICE] = seen.price
        table[at + FLATNESS] = flatness
        table[at + GAIN] = 0.0 if stays else 2.0 * cool * cool * cool * flatness
        # no bend: with pins its formula is long, and Newton's method takes one step more
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
    a = table[at + TERM_8]
    a = a * w + table[at + TERM_7]
    a = a * w + table[at + TERM_6]
    a = a * w + table[at + TERM_5]
    a = a * w + table[at + TERM_4]
    a = a * w + table[at + TERM_3]
    a = a * w + table[at + TERM_2]
    a = a * w + table[at + TERM_1]
    a = a * w + table[at + TERMS]
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


@jit
def _solve_exactly(
    table: Floats,
    losses: Floats,
    starts: Ints,
    work: Floats,
    sums: Floats,
    eta: float,
    beta: float,
    gamma: float,
    guess: float,
) -> float:
    """The step over all arms, by ``clique_mass``; then every clique is expanded where it stands."""
    n_cliques = starts.size - 1
    masses = new_masses(starts[1:] - starts[:-1], gamma)
    alpha, rates = np.empty(n_cliques), np.empty(n_cliques)
    for clique in range(n_cliques):
        at = place(clique)
        masses.lowest[clique] = table[at + LOWEST]
        alpha[clique] = table[at + ALPHA]
        rates[clique] = eta * table[at + RATE_FACTOR]
    base = masses.lowest.min()
    problem = Problem(losses[: starts[n_cliques]], starts, alpha, beta, gamma, rates)
    multiplier, _, _ = solve_masses(problem, masses, guess - base, EXACT, EXACT_STEPS)
    for clique in range(n_cliques):
        at = place(clique)
        x = masses.temperature[clique]
        table[at + TEMPERATURE] = x
        table[at + COOLNESS] = 1.0 / x
        start, stop = starts[clique], starts[clique + 1]
        expand_with_floor(table, clique, losses, start, stop, rates[clique] / x, gamma * x * x, work, sums)
    return float(multiplier + base)
