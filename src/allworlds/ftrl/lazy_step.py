"""The step at the cost of what a round reads: ``O(K + |V(I)|)`` instead of ``O(N)``.

The problem is that of ``clique_mass``: masses at which one multiplier is the price of every clique. Between rounds only
one clique's losses change, and all others meet a slightly smaller rate. So a clique is kept as an expansion
(``expansion``) with a certified radius, and its arms are read again only when it was drawn or has left its radius.

The method. Newton's method on all temperatures ``x`` at once, from the last round's, with two terms more. Let ``p`` be
a clique's price, ``p'``, ``p''`` and ``p'''`` its derivatives by ``x``, and ``e = (p - lambda) / (x |p'|)`` the
relative move that a linear price would ask for. With ``U = x p'' / p'`` and ``V = x^2 p''' / p'`` the temperature
that fits ``lambda``, and its mass, are to third order

    x (1 + e - (U / 2) e^2 + c e^3),                       c = U^2 / 2 - V / 6,
    q (1 - 2 e + (U + 3) e^2 - (2 c + 3 U + 4) e^3),

so ``sum q = 1`` is a cubic equation for ``lambda`` with a few sums for its coefficients. A last move of at most
``SETTLED`` leaves an error of the order of its fourth power.

Few cliques are moved together, step by step. Where they are many, one pass should do, and the drawn clique may move
far: the eight cliques of its block are settled first, one Newton step after another, while all others follow
``lambda`` by their cubic. Then the others move. Usually that is all: one pass over the cliques. If it does not settle
in ``MAX_STEPS`` passes, the exact step of ``clique_mass`` takes over: slower, and sure. The step with a floor under
every arm is in ``floor_step``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.ftrl.clique_mass import MAX_STEPS as EXACT_STEPS
from allworlds.ftrl.clique_mass import Problem, new_masses, solve_masses
from allworlds.ftrl.clique_table import (
    ALPHA,
    BEND,
    BLOCK,
    COOLNESS,
    CURL,
    CURVE_0,
    CURVE_1,
    CURVE_2,
    CURVE_3,
    EASE,
    GAIN,
    HOTTEST,
    INVERSE,
    INVERSE_FACTOR,
    LANES,
    LOWEST,
    MASS,
    NEXT,
    PRICE,
    RADIUS,
    RATE_FACTOR,
    REACH,
    TAIL,
    TEMPERATURE,
    TERMS,
    place,
)
from allworlds.ftrl.expansion import expand
from allworlds.kernels.jit import inline_jit, jit, lean_jit

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SETTLED = 1e-3
"""The search ends with a relative move of at most this; what is left is of the order of its fourth power."""
REST = 1e-11
"""And with an estimate of what is left of at most this: near the limit of convexity, where the slope nearly vanishes,
the fourth power has a large factor."""
MAX_STEPS = 12
"""Where Newton's method gives up, and the exact step takes over."""
EXACT = 1e-12
"""Residual at which the exact step stops."""
AHEAD = 0.75
"""A clique that drifts out of its radius is expanded so many radii further on: most keep moving the same way."""
DRIFT = 1.5
"""Further out than so many radii, a clique has not drifted but jumped, and is expanded where it is."""
FEW_BLOCKS = 4
"""Up to so many blocks, all cliques are settled together: that is quicker than to settle one block first."""
TILE = 8 * BLOCK
"""So much of the table is appraised and added up at a time: it stays in the processor's first cache."""

TERM_8 = TERMS + NEXT * np.uint64(8)
TERM_7, TERM_6, TERM_5, TERM_4 = (TERMS + NEXT * np.uint64(j) for j in (7, 6, 5, 4))
TERM_3, TERM_2, TERM_1 = (TERMS + NEXT * np.uint64(j) for j in (3, 2, 1))
STEP = np.uint64(BLOCK)
_1, _2, _3, _4, _5, _6, _7 = (np.uint64(j) for j in range(1, 8))


class Response(NamedTuple):
    """The mass of some cliques at ``lambda = guess + d``: ``mass + gain d + c0 + c1 d + c2 d^2 + c3 d^3``."""

    mass: float
    gain: float
    c0: float
    """From here on, what the straight lines leave out."""
    c1: float
    c2: float
    c3: float


# --- kernels --------------------------------------------------------------------------------------------


@inline_jit
def solve_lazily(
    table: Floats,
    losses: Floats,
    starts: Ints,
    work: Floats,
    sums: Floats,
    eta: float,
    beta: float,
    guess: float,
    drawn: int,
) -> tuple[float, int]:
    """Find the coming round's temperatures from the last round's; return the multiplier and the passes it took.

    ``drawn`` is the clique with new losses: it may move far, while the others hardly move.
    """
    begin = drawn // LANES * BLOCK
    end = begin + BLOCK
    last, multiplier = table.size - TAIL, guess
    for step in range(1, MAX_STEPS + 1):
        if last <= FEW_BLOCKS * BLOCK:  # all together
            _appraise(table, 0, last, losses, starts, work, sums, eta, beta)
            if starts.size == 2:  # one clique has all the mass
                return table[PRICE], 1
            multiplier = _multiplier(table, multiplier)
            if not move(table, 0, last, multiplier, SETTLED):
                return multiplier, step
            continue
        _appraise(table, begin, end, losses, starts, work, sums, eta, beta)
        before = _survey(table, 0, begin, losses, starts, work, sums, eta, beta, multiplier)
        behind = _survey(table, end, last, losses, starts, work, sums, eta, beta, multiplier)
        others = _together(before, behind)
        multiplier = _settle_block(table, begin, others, losses, starts, work, sums, eta, beta, multiplier)
        unsettled = move(table, 0, begin, multiplier, SETTLED)
        unsettled |= move(table, end, last, multiplier, SETTLED)
        if not unsettled:
            return multiplier, step
    multiplier = solve_from_all_arms(table, losses, starts, eta, beta, 0.0, guess)
    _appraise(table, 0, last, losses, starts, work, sums, eta, beta)
    return multiplier, MAX_STEPS + 1


@lean_jit
def _survey(
    table: Floats,
    begin: int,
    end: int,
    losses: Floats,
    starts: Ints,
    work: Floats,
    sums: Floats,
    eta: float,
    beta: float,
    guess: float,
) -> Response:
    """Appraise the cliques of some blocks; how do their masses respond to ``lambda`` near a guess?"""
    total = Response(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for tile in range(begin, end, TILE):
        stop = min(tile + TILE, end)
        _appraise(table, tile, stop, losses, starts, work, sums, eta, beta)
        total = _together(total, _response(table, tile, stop, guess))
    return total


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
            w, radius = s * table[at + INVERSE] - 1.0, table[at + RADIUS]
            if abs(w) <= radius:
                continue
            found = True
            start, stop = starts[clique], starts[clique + 1]
            if abs(w) <= DRIFT * radius:  # it drifts, and will go on: expand it further on, if that radius covers it
                ahead = s * (1.0 + math.copysign(AHEAD * radius, w))
                expand(table, clique, losses, start, stop, ahead, np.inf, work, sums)
            if not abs(s * table[at + INVERSE] - 1.0) <= table[at + RADIUS]:
                expand(table, clique, losses, start, stop, s, np.inf, work, sums)
        if found:
            _appraise_blocks(table, block, block + BLOCK, eta, beta)


@lean_jit
def _appraise_blocks(table: Floats, begin: int, end: int, eta: float, beta: float) -> int:
    """Price, its three derivatives and entropy of the cliques of some blocks; one if a clique has left its radius."""
    outside = 0
    half = 0.5 / eta
    for block in range(begin, end, BLOCK):
        for lane in range(LANES):
            k = np.uint64(block + lane)
            # where the clique is now, relative to where it was expanded
            cool = table[k + COOLNESS]
            w = eta * table[k + RATE_FACTOR] * cool * table[k + INVERSE] - 1.0
            outside |= abs(w) > table[k + RADIUS]
            # Horner's rule: a becomes A; b, c, d and f its derivatives by w over 1, 2, 6 and 24
            a = table[k + TERM_8]
            b, c, d, f = a, a, a, a
            a = a * w + table[k + TERM_7]
            b = b * w + a
            c = c * w + b
            d = d * w + c
            f = f * w + d
            a = a * w + table[k + TERM_6]
            b = b * w + a
            c = c * w + b
            d = d * w + c
            f = f * w + d
            a = a * w + table[k + TERM_5]
            b = b * w + a
            c = c * w + b
            d = d * w + c
            f = f * w + d
            a = a * w + table[k + TERM_4]
            b = b * w + a
            c = c * w + b
            d = d * w + c
            f = f * w + d
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
            # s^j times the j-th derivative by s
            m = 1.0 + w
            mm = m * m
            first, second, third, fourth = m * b, 2.0 * mm * c, 6.0 * mm * m * d, 24.0 * mm * mm * f
            # the price and its derivatives by the temperature
            x = table[k + TEMPERATURE]
            half_hot = half * table[k + INVERSE_FACTOR]
            barrier = beta * x
            table[k + PRICE] = table[k + LOWEST] - x * (half_hot * (a + first) + barrier)
            flatness = 1.0 / (half_hot * (a - first - second) + 2.0 * barrier)
            bend = flatness * (half_hot * (1.5 * second + 0.5 * third) + barrier)
            table[k + EASE] = flatness * cool
            table[k + BEND] = bend
            table[k + CURL] = 2.0 * bend * bend + flatness * half_hot * (
                1.5 * second + (7.0 / 6.0) * third + (1.0 / 6.0) * fourth
            )
            table[k + REACH] = (a - first) * table[k + INVERSE_FACTOR]
    return outside


@lean_jit
def _settle_block(
    table: Floats,
    begin: int,
    others: Response,
    losses: Floats,
    starts: Ints,
    work: Floats,
    sums: Floats,
    eta: float,
    beta: float,
    guess: float,
) -> float:
    """Newton's method on the drawn clique's block alone, already appraised; the others follow by their cubic."""
    end, last = begin + BLOCK, table.size - TAIL
    own = _response(table, begin, end, guess)
    if abs(1.0 - others.mass - own.mass) > 1.0:  # too far from the guess for a cubic
        guess = straight_multiplier(table, guess)
        others = _together(_response(table, 0, begin, guess), _response(table, end, last, guess))
        own = _response(table, begin, end, guess)
    multiplier = guess + _root(_together(others, own))
    for _ in range(MAX_STEPS):
        if not move(table, begin, end, multiplier, SETTLED):
            break
        _appraise(table, begin, end, losses, starts, work, sums, eta, beta)
        multiplier = guess + _root(_together(others, _response(table, begin, end, guess)))
    return multiplier


@inline_jit
def _multiplier(table: Floats, guess: float) -> float:
    """``lambda`` at which all masses sum to one if they follow their cubics."""
    last = table.size - TAIL
    every = _response(table, 0, last, guess)
    if abs(1.0 - every.mass) > 1.0:  # too far from the guess for a cubic
        guess = straight_multiplier(table, guess)
        every = _response(table, 0, last, guess)
    return guess + _root(every)


@inline_jit
def _root(at: Response) -> float:
    """How far ``lambda`` is from the guess: the root of the linear equation, then Newton's method on the cubic."""
    missing = 1.0 - at.mass
    root = missing / at.gain
    for _ in range(2):
        excess = at.gain * root - missing + at.c0 + root * (at.c1 + root * (at.c2 + root * at.c3))
        root -= excess / max(at.gain + at.c1 + root * (2.0 * at.c2 + 3.0 * root * at.c3), 0.5 * at.gain)
    return root


@inline_jit
def _response(table: Floats, begin: int, end: int, guess: float) -> Response:
    """Add up how the masses of some blocks respond to ``lambda`` near a guess.

    A block holds the sums of those before it, each lane its own: at places of one array whose distance is known when
    this is compiled, so that the compiler does several lanes in one instruction.
    """
    for lane in range(TAIL):
        table[np.uint64(begin + lane)] = 0.0
    for block in range(begin, end, BLOCK):
        for lane in range(LANES):
            # what appraising a clique left behind
            k = np.uint64(block + lane)
            after = k + STEP
            cool, ease, bend = table[k + COOLNESS], table[k + EASE], table[k + BEND]
            mass = cool * cool
            gain = mass * ease
            # e at the guess, and the coefficients of e^2 and -e^3 in its mass
            ahead = ease * (guess - table[k + PRICE])
            second = 2.0 * bend + 3.0
            third = 2.0 * table[k + CURL] + 6.0 * bend + 4.0
            rise = third * ahead
            # the sums up to and with this block
            table[after + MASS] = table[k + MASS] + (mass + 2.0 * mass * ahead)
            table[after + GAIN] = table[k + GAIN] + 2.0 * gain
            table[after + CURVE_0] = table[k + CURVE_0] + mass * ahead * ahead * (second + rise)
            table[after + CURVE_1] = table[k + CURVE_1] + gain * ahead * (2.0 * second + 3.0 * rise)
            table[after + CURVE_2] = table[k + CURVE_2] + gain * ease * (second + 3.0 * rise)
            table[after + CURVE_3] = table[k + CURVE_3] + gain * ease * ease * third
    at = np.uint64(end)
    return Response(
        _lane_sum(table, at + MASS),
        _lane_sum(table, at + GAIN),
        _lane_sum(table, at + CURVE_0),
        _lane_sum(table, at + CURVE_1),
        _lane_sum(table, at + CURVE_2),
        _lane_sum(table, at + CURVE_3),
    )


@inline_jit
def _lane_sum(table: Floats, row: np.uint64) -> float:
    """The sum of the eight lanes of a row, always in the same order."""
    low = (table[row] + table[row + _1]) + (table[row + _2] + table[row + _3])
    return float(low + ((table[row + _4] + table[row + _5]) + (table[row + _6] + table[row + _7])))


@lean_jit
def _together(one: Response, two: Response) -> Response:
    return Response(
        one.mass + two.mass,
        one.gain + two.gain,
        one.c0 + two.c0,
        one.c1 + two.c1,
        one.c2 + two.c2,
        one.c3 + two.c3,
    )


@lean_jit
def straight_multiplier(table: Floats, guess: float) -> float:
    """``lambda`` at which the masses sum to one if they follow straight lines.

    Far from the guess the sums cancel: then the root becomes the guess, three times at most.
    """
    for _ in range(3):
        missing, gain = 1.0, 0.0
        for block in range(0, table.size - TAIL, BLOCK):
            for lane in range(LANES):
                k = np.uint64(block + lane)
                mass = table[k + COOLNESS] * table[k + COOLNESS]
                missing -= mass * (1.0 + 2.0 * table[k + EASE] * (guess - table[k + PRICE]))
                gain += 2.0 * mass * table[k + EASE]
        guess += missing / gain
        if abs(missing) <= 1.0:
            break
    return guess


@lean_jit
def move(table: Floats, begin: int, end: int, multiplier: float, settled: float) -> int:
    """Move the temperatures of some blocks, by at most a factor two; one if some moved by more than ``settled``."""
    unsettled = 0
    lanes = min(LANES, table.size)  # a number that the compiler does not know: it keeps the loop, and vectorises it
    for block in range(begin, end, BLOCK):
        for lane in range(lanes):
            k = np.uint64(block + lane)
            x = table[k + TEMPERATURE]
            straight = table[k + EASE] * (table[k + PRICE] - multiplier)
            bent, curled = table[k + BEND] * straight, table[k + CURL] * straight * straight
            less = bent - curled
            less = less if less > -0.5 else -0.5
            less = less if less < 0.5 else 0.5
            factor = 1.0 + straight * (1.0 - less)
            factor = factor if factor > 0.5 else 0.5
            factor = factor if factor < 2.0 else 2.0
            moved = x * factor
            moved = moved if moved < table[k + HOTTEST] else table[k + HOTTEST]
            way = abs(moved - x)
            left = (abs(bent) + abs(straight)) * abs(curled) * way
            unsettled |= not (way <= settled * x and left <= REST * x)
            table[k + TEMPERATURE] = moved
            table[k + COOLNESS] = 1.0 / moved
    return unsettled


@jit
def solve_from_all_arms(
    table: Floats, losses: Floats, starts: Ints, eta: float, beta: float, gamma: float, guess: float
) -> float:
    """The temperatures by the exact step of ``clique_mass``; every clique then counts as outside its radius."""
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
        table[at + TEMPERATURE] = masses.temperature[clique]
        table[at + COOLNESS] = 1.0 / masses.temperature[clique]
        table[at + RADIUS] = -1.0
    return float(multiplier + base)
