"""The pieces of the lazy step, each against its definition: derivatives in fifty digits, sums clique by clique.

Checked as plain Python only: to compile each piece by itself takes longer than all of this file.
"""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from numba.core import config

from allworlds.covers import clique_cover
from allworlds.ftrl import Constants, floor_step, lazy_step, solve_ftrl
from allworlds.ftrl.clique_table import (
    ALPHA,
    BEND,
    BLOCK,
    COOLNESS,
    CURL,
    EASE,
    EMPTY,
    HOTTEST,
    LANES,
    LOWEST,
    NEXT,
    ORDER,
    PINNED,
    PRICE,
    RADIUS,
    RATE_FACTOR,
    REACH,
    TAIL,
    TEMPERATURE,
    TERMS,
    column,
    new_table,
    place,
)
from allworlds.ftrl.expansion import expand, new_work
from allworlds.ftrl.floor_step import expand_with_floor, read_moments
from allworlds.graphs import disjoint_cliques

pytestmark = pytest.mark.skipif(not config.DISABLE_JIT, reason="each piece is checked as plain Python")

SIZES = [1, 2, 5, 3, 1, 4, 2, 2, 6, 3]
ETA, BETA = 0.3, 0.7


def instance(sizes=SIZES, seed=0, spread=6.0, hottest=1e150):
    """A table with its arms: temperatures, rates and losses differ, and no clique has been expanded."""
    rng = np.random.default_rng(seed)
    alpha, factor = 2.0 + np.log(sizes) ** 2, rng.uniform(0.7, 1.4, len(sizes))
    table = new_table(alpha, factor, np.full(len(sizes), hottest))
    starts = np.concatenate([[0], np.cumsum(sizes)])
    losses = np.concatenate([rng.random(int(starts[-1])) * spread, np.full(LANES, 9.0)])
    masses = rng.dirichlet(np.full(len(sizes), 3.0))
    for k in range(len(sizes)):
        write(table, k, TEMPERATURE, masses[k] ** -0.5)
        write(table, k, COOLNESS, masses[k] ** 0.5)
        write(table, k, LOWEST, losses[starts[k] : starts[k + 1]].min())
    return table, losses, starts


def write(table, clique, row, value):
    table[int(place(clique) + row)] = value


def read(table, clique, row):
    return float(table[int(place(clique) + row)])


def appraised(**changes):
    table, losses, starts = instance(**changes)
    lazy_step._appraise(table, 0, table.size - TAIL, losses, starts, *new_work(), ETA, BETA)
    return table, losses, starts


def price(losses, alpha, rate, x):
    """``V'`` at the mass ``x^-2`` in fifty digits, from ``V`` itself: the best value of the clique's own problem.

    ``V(q) = q min - q^(1/2) (alpha + log sum exp(-rate sqrt(q) (L - min))) / rate - beta log q``.
    """
    lowest = min(losses)

    def value(q):
        s = rate * mpmath.sqrt(q)
        total = mpmath.log(mpmath.fsum(mpmath.exp(-s * (loss - lowest)) for loss in losses))
        return q * lowest - mpmath.sqrt(q) * (alpha + total) / rate - mpmath.mpf(BETA) * mpmath.log(q)

    return mpmath.diff(value, 1 / (x * x))


def test_every_clique_knows_its_price_and_three_derivatives():
    table, losses, starts = appraised()
    for k, size in enumerate(SIZES):
        with mpmath.workdps(50):
            own = [mpmath.mpf(float(loss)) for loss in losses[starts[k] : starts[k + 1]]]
            alpha, rate = mpmath.mpf(read(table, k, ALPHA)), mpmath.mpf(ETA * read(table, k, RATE_FACTOR))
            x = mpmath.mpf(read(table, k, TEMPERATURE))
            p = [mpmath.diff(lambda y, o=own, a=alpha, r=rate: price(o, a, r, y), x, n) for n in (0, 1, 2, 3)]
            u, v = x * p[2] / p[1], x * x * p[3] / p[1]
            s = rate / x
            weights = [mpmath.exp(-s * (loss - min(own))) for loss in own]
            shares = [w / mpmath.fsum(weights) for w in weights]
            entropy = -mpmath.fsum(y * mpmath.log(y) for y in shares)
        assert read(table, k, PRICE) == pytest.approx(float(p[0]), rel=1e-10), size
        assert read(table, k, EASE) == pytest.approx(float(1 / (x * abs(p[1]))), rel=1e-9)
        assert read(table, k, BEND) == pytest.approx(float(u / 2), rel=1e-7)
        assert read(table, k, CURL) == pytest.approx(float(u * u / 2 - v / 6), rel=1e-6)
        assert read(table, k, REACH) == pytest.approx(float(alpha + entropy) / read(table, k, RATE_FACTOR), rel=1e-10)


@pytest.mark.parametrize("w", [-0.4, -0.1, 0.3])
def test_away_from_where_a_clique_was_expanded_price_and_derivatives_are_those_of_its_polynomial(w):
    """Any nine coefficients: ``A(s) = sum_j a_j w^j`` in ``V``, differentiated by the temperature in fifty digits."""
    table, losses, starts = instance(sizes=[2])
    rng = np.random.default_rng(5)
    a, x = [3.0, -2.0, *rng.uniform(0.1, 0.4, ORDER - 1)], read(table, 0, TEMPERATURE)
    for j in range(ORDER + 1):
        write(table, 0, TERMS + np.uint64(j) * NEXT, a[j])
    rate = ETA * read(table, 0, RATE_FACTOR)
    write(table, 0, lazy_step.INVERSE, (1.0 + w) * x / rate)  # s / s0 = 1 + w
    write(table, 0, RADIUS, 1.0)
    lazy_step._appraise(table, 0, BLOCK, losses, starts, *new_work(), ETA, BETA)
    lowest, alpha, inverse = (mpmath.mpf(read(table, 0, row)) for row in (LOWEST, ALPHA, lazy_step.INVERSE))

    def value(q):
        at = rate * mpmath.sqrt(q) * inverse - 1
        total = mpmath.fsum(mpmath.mpf(a[j]) * at**j for j in range(ORDER + 1))
        return q * lowest - mpmath.sqrt(q) * (alpha + total) / rate - mpmath.mpf(BETA) * mpmath.log(q)

    with mpmath.workdps(50):
        rate, x = mpmath.mpf(rate), mpmath.mpf(x)
        p = [mpmath.diff(lambda y: mpmath.diff(value, 1 / (y * y)), x, n) for n in (0, 1, 2, 3)]
        u, v = x * p[2] / p[1], x * x * p[3] / p[1]
    assert read(table, 0, PRICE) == pytest.approx(float(p[0]), rel=1e-10)
    assert read(table, 0, EASE) == pytest.approx(float(-1 / (x * p[1])), rel=1e-9)
    assert read(table, 0, BEND) == pytest.approx(float(u / 2), rel=1e-7)
    assert read(table, 0, CURL) == pytest.approx(float(u * u / 2 - v / 6), rel=1e-6)


def mass_at(table, clique, multiplier):
    """``q (1 - 2 e + (U + 3) e^2 - (2 c + 3 U + 4) e^3)``, the series of the mass at a multiplier."""
    q, u, c = read(table, clique, COOLNESS) ** 2, 2.0 * read(table, clique, BEND), read(table, clique, CURL)
    e = (read(table, clique, PRICE) - multiplier) * read(table, clique, EASE)
    return q * (1.0 - 2.0 * e + (u + 3.0) * e**2 - (2.0 * c + 3.0 * u + 4.0) * e**3)


@pytest.mark.parametrize(("begin", "end"), [(0, 2), (0, 1), (1, 2), (0, 0)])
def test_the_response_of_some_blocks_is_the_sum_of_their_cubics(begin, end):
    table, _, _ = appraised()
    cliques = [k for k in range(len(SIZES)) if begin <= k // LANES < end]
    guess = 0.4
    at = lazy_step._response(table, begin * BLOCK, end * BLOCK, guess)
    for d in (-0.3, 0.0, 0.01, 1.0, 2.0):
        expected = sum(mass_at(table, k, guess + d) for k in cliques)
        assert at.mass + at.gain * d + at.c0 + d * (at.c1 + d * (at.c2 + d * at.c3)) == pytest.approx(expected)
    straight = sum(
        read(table, k, COOLNESS) ** 2 * (1.0 + 2.0 * read(table, k, EASE) * (guess - read(table, k, PRICE)))
        for k in cliques
    )
    assert at.mass == pytest.approx(straight)


def test_two_responses_together_are_the_sum_of_all_their_terms():
    one, two = lazy_step.Response(1.0, 2.0, 3.0, 4.0, 5.0, 6.0), lazy_step.Response(0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
    assert lazy_step._together(one, two) == pytest.approx((1.1, 2.2, 3.3, 4.4, 5.5, 6.6))


def test_a_survey_in_tiles_is_the_response_of_all_blocks(monkeypatch):
    table, losses, starts = instance(sizes=[2] * 40)
    monkeypatch.setattr(lazy_step, "TILE", 2 * BLOCK)  # five blocks in three tiles
    found = lazy_step._survey(table, 0, 5 * BLOCK, losses, starts, *new_work(), ETA, BETA, 0.2)
    assert found == pytest.approx(lazy_step._response(table, 0, 5 * BLOCK, 0.2), rel=1e-12)
    part = lazy_step._survey(table, BLOCK, 4 * BLOCK, losses, starts, *new_work(), ETA, BETA, 0.2)
    assert part == pytest.approx(lazy_step._response(table, BLOCK, 4 * BLOCK, 0.2), rel=1e-12)


@pytest.mark.parametrize("c0", [0.0, 0.01, -0.02])
@pytest.mark.parametrize("mass", [0.9, 1.0, 1.2])
def test_the_root_is_that_of_the_cubic(c0, mass):
    at = lazy_step.Response(mass, 2.0, c0, 0.05, 0.3, 0.2)
    roots = np.roots([at.c3, at.c2, at.gain + at.c1, at.mass + at.c0 - 1.0])
    nearest = min(roots[np.isreal(roots)].real, key=abs)
    assert lazy_step._root(at) == pytest.approx(nearest, abs=1e-6)


def test_where_the_cubic_turns_the_root_takes_at_least_half_the_straight_slope():
    at = lazy_step.Response(0.5, 1.0, 0.0, -3.0, 0.0, 0.0)  # first root 1/2, then steps of half the slope
    expected = 0.5
    for _ in range(2):
        expected -= (expected - 0.5 - 3.0 * expected) / 0.5
    assert lazy_step._root(at) == pytest.approx(expected)


@pytest.mark.parametrize("guess", [0.0, 1.0, -5.0, 1e6])
def test_at_the_straight_multiplier_the_straight_masses_sum_to_one(guess):
    table, _, _ = appraised()
    found = lazy_step.straight_multiplier(table, guess)
    masses = [
        read(table, k, COOLNESS) ** 2 * (1.0 + 2.0 * read(table, k, EASE) * (found - read(table, k, PRICE)))
        for k in range(len(SIZES))
    ]
    assert sum(masses) == pytest.approx(1.0, abs=1e-9)


def test_far_from_the_guess_the_multiplier_starts_from_the_straight_one():
    table, _, _ = appraised()
    last = table.size - TAIL
    near = lazy_step.straight_multiplier(table, 50.0)
    assert abs(1.0 - lazy_step._response(table, 0, last, 50.0).mass) > 1.0
    expected = near + lazy_step._root(lazy_step._response(table, 0, last, near))
    assert lazy_step._multiplier(table, 50.0) == pytest.approx(expected, rel=1e-12)
    close = near + 0.01
    assert abs(1.0 - lazy_step._response(table, 0, last, close).mass) < 0.5
    expected = close + lazy_step._root(lazy_step._response(table, 0, last, close))
    assert lazy_step._multiplier(table, close) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("begin", [0, 2, 4])
@pytest.mark.parametrize("away", [0.0, 20.0, -20.0, 1e3, -1e3])
def test_a_settled_block_is_where_all_masses_sum_to_one_wherever_the_search_starts(begin, away):
    """The block's cliques by their prices there, the others by their cubics, from wherever the search starts."""
    table, losses, starts = appraised(sizes=[2] * 40)
    last = table.size - TAIL
    guess = lazy_step.straight_multiplier(table, 0.0) + away
    begin, end = begin * BLOCK, (begin + 1) * BLOCK
    others = [k for k in range(40) if not begin <= int(place(k)) // BLOCK * BLOCK < end]
    parts = lazy_step._response(table, 0, begin, guess), lazy_step._response(table, end, last, guess)
    found = lazy_step._settle_block(
        table, begin, lazy_step._together(*parts), losses, starts, *new_work(), ETA, BETA, guess
    )
    own = [k for k in range(40) if k not in others]
    total = sum(mass_at(table, k, found) for k in others) + sum(read(table, k, COOLNESS) ** 2 for k in own)
    assert total == pytest.approx(1.0, abs=1e-6)
    lazy_step._appraise(table, begin, end, losses, starts, *new_work(), ETA, BETA)
    assert [read(table, k, PRICE) for k in own] == pytest.approx([found] * len(own), rel=1e-6, abs=1e-6)


MOVES = [  # ease (price - multiplier), bend, curl, hottest; factor
    (0.1, 0.0, 0.0, 1e9, 1.1),
    (0.1, 2.0, 0.0, 1e9, 1.0 + 0.1 * (1.0 - 0.2)),
    (0.1, 2.0, 3.0, 1e9, 1.0 + 0.1 * (1.0 - 0.2 + 0.03)),
    (0.1, 20.0, 0.0, 1e9, 1.0 + 0.1 * 0.5),  # a correction of at most one half
    (0.1, -20.0, 0.0, 1e9, 1.0 + 0.1 * 1.5),
    (-0.2, 0.0, 0.0, 1e9, 0.8),
    (-0.9, 0.0, 0.0, 1e9, 0.5),  # by a factor two at most
    (7.0, 0.0, 0.0, 1e9, 2.0),
    (0.5, 0.0, 0.0, 3.5, 3.5 / 3.0),  # and never beyond the hottest
    (2e-4, 1.0, 0.0, 1e9, 1.0 + 2e-4 * (1.0 - 2e-4)),
]


@pytest.mark.parametrize(("straight", "bend", "curl", "hottest", "factor"), MOVES)
def test_a_clique_moves_by_its_cubic_within_its_limits(straight, bend, curl, hottest, factor):
    table, _, _ = appraised(sizes=[1, 2])
    for row, value in (
        (TEMPERATURE, 3.0),
        (EASE, 0.25),
        (PRICE, 5.0),
        (BEND, bend),
        (CURL, curl),
        (HOTTEST, hottest),
    ):
        write(table, 1, row, value)
    write(table, 0, EASE, 0.0)
    unsettled = lazy_step.move(table, 0, BLOCK, 5.0 - straight / 0.25, 1e-3)
    assert read(table, 1, TEMPERATURE) == pytest.approx(3.0 * factor, rel=1e-12)
    assert read(table, 1, COOLNESS) == pytest.approx(1.0 / (3.0 * factor), rel=1e-12)
    assert bool(unsettled) == (abs(factor - 1.0) > 1e-3)


def test_a_small_move_with_a_large_rest_is_not_settled():
    """The rest is ``(|straight| + |bend straight|) |curl straight^2|`` of the way; ``REST`` of ``x`` is forgiven."""
    for bend, curl, settled in ((0.0, 9e4, True), (0.0, 1.1e5, False), (1.0, 4.5e4, True), (-1.0, 5.5e4, False)):
        table, _, _ = appraised(sizes=[1, 2])
        for row, value in ((TEMPERATURE, 3.0), (EASE, 1.0), (PRICE, 1e-4), (BEND, bend), (CURL, curl)):
            write(table, 1, row, value)
        write(table, 0, EASE, 0.0)
        assert bool(lazy_step.move(table, 0, BLOCK, 0.0, 1e-3)) != settled


def test_only_the_blocks_asked_for_move_and_empty_cliques_never_do():
    table, _, _ = appraised()
    before = column(table, TEMPERATURE, 2 * LANES)
    assert lazy_step.move(table, BLOCK, 2 * BLOCK, 0.0, 1e-3)
    after = column(table, TEMPERATURE, 2 * LANES)
    assert np.array_equal(before[:LANES], after[:LANES])
    assert (before[LANES : len(SIZES)] != after[LANES : len(SIZES)]).all()
    assert after[len(SIZES) :] == pytest.approx(EMPTY, rel=1e-12)


def test_a_clique_that_drifts_is_expanded_ahead_and_one_that_jumps_where_it_is():
    for factor, ahead in ((1.2, True), (1.6, False), (0.9, None)):
        table, losses, starts = appraised()
        at, radius = int(place(2)), read(table, 2, RADIUS)
        assert 0.0 < radius < 0.2
        old = 1.0 / float(table[at + int(lazy_step.INVERSE)])
        s = old * (1.0 + factor * radius)
        write(table, 2, COOLNESS, s / (ETA * read(table, 2, RATE_FACTOR)))
        lazy_step._appraise(table, 0, BLOCK, losses, starts, *new_work(), ETA, BETA)
        now = 1.0 / float(table[at + int(lazy_step.INVERSE)])
        where = {True: s * (1.0 + lazy_step.AHEAD * radius), False: s, None: old}[ahead]
        assert now == pytest.approx(where, rel=1e-12)
        assert abs(s / now - 1.0) <= read(table, 2, RADIUS)


def step_by(kind, gamma):
    """One step of either kind from a far start, and the exact answer."""
    cover = clique_cover(disjoint_cliques(SIZES))
    table, losses, starts = instance(hottest=1e150)
    if gamma > 0.0:
        for k, size in enumerate(SIZES):
            write(table, k, HOTTEST, (size * gamma) ** -0.5)
            write(table, k, TEMPERATURE, min(read(table, k, TEMPERATURE), (size * gamma) ** -0.5))
            write(table, k, COOLNESS, 1.0 / read(table, k, TEMPERATURE))
    alpha, factor = column(table, ALPHA, len(SIZES)), column(table, RATE_FACTOR, len(SIZES))
    constants = Constants(tuple(alpha.tolist()), BETA, gamma, 1.0, rate_factor=tuple(factor.tolist()))
    exact = solve_ftrl(cover, losses[: cover.n_arms], ETA, constants)
    if kind == "lazy":
        answer = lazy_step.solve_lazily(table, losses, starts, *new_work(), ETA, BETA, 0.0, 3)
    elif kind == "floor":
        answer = floor_step.solve_with_floor(table, losses, starts, *new_work(), ETA, BETA, gamma, 0.0)
    else:
        answer = lazy_step.solve_from_all_arms(table, losses, starts, ETA, BETA, gamma, 0.0), 0
    return table, exact, answer


@pytest.mark.parametrize(
    ("kind", "gamma"), [("lazy", 0.0), ("all arms", 0.0), ("all arms", 0.01), ("floor", 0.01), ("floor", 0.03)]
)
def test_a_step_from_far_away_is_the_exact_step(kind, gamma):
    table, exact, (multiplier, _) = step_by(kind, gamma)
    assert column(table, COOLNESS, len(SIZES)) ** 2 == pytest.approx(exact.clique_mass, rel=1e-9)
    assert column(table, TEMPERATURE, len(SIZES)) ** -2 == pytest.approx(exact.clique_mass, rel=1e-9)
    assert multiplier == pytest.approx(exact.multiplier, rel=1e-8)
    if kind == "all arms":
        assert (column(table, RADIUS, len(SIZES)) == -1.0).all()


@pytest.mark.parametrize(("kind", "gamma"), [("lazy", 0.0), ("floor", 0.01)])
@pytest.mark.parametrize("limit", [0, 1])
def test_where_newton_gives_up_the_exact_step_takes_over(kind, gamma, limit, monkeypatch):
    monkeypatch.setattr(lazy_step, "MAX_STEPS", limit)
    monkeypatch.setattr(floor_step, "MAX_STEPS", limit)
    table, exact, (multiplier, steps) = step_by(kind, gamma)
    assert steps == limit + 1
    assert column(table, COOLNESS, len(SIZES)) ** 2 == pytest.approx(exact.clique_mass, rel=1e-9)
    assert multiplier == pytest.approx(exact.multiplier, rel=1e-8)
    own = column(table, PRICE, len(SIZES))  # prices are those of the answer
    free = exact.clique_mass > np.array(SIZES) * gamma * (1.0 + 1e-9)
    assert own[free] == pytest.approx(multiplier, rel=1e-7)


@pytest.mark.parametrize(("kind", "gamma", "module"), [("lazy", 0.0, lazy_step), ("floor", 0.01, floor_step)])
@pytest.mark.parametrize("limit", [1, 2, 12])
def test_a_step_is_an_appraisal_and_after_the_last_one_only_the_answer_is_appraised(
    kind, gamma, module, limit, monkeypatch
):
    appraise, calls = module._appraise, []
    monkeypatch.setattr(module, "MAX_STEPS", limit)
    monkeypatch.setattr(module, "_appraise", lambda *given: calls.append(0) or appraise(*given))
    steps = step_by(kind, gamma)[2][1]
    assert len(calls) == steps
    assert steps <= limit if limit == 12 else steps == limit + 1


def test_an_expansion_holds_within_its_radius_and_while_no_arm_changes_sides():
    losses, s, floor = np.array([0.0, 0.2, 1.0, 1.7, 6.0]), 0.9, 0.1
    table = new_table(np.array([2.0]), np.array([1.0]), np.array([1e150]))
    expand_with_floor(table, 0, np.concatenate([losses, np.full(LANES, 3.0)]), 0, 5, s, floor, *new_work())
    y, free = _water_filled(s * losses, floor)
    assert 0 < free < 5
    top, radius = math.log(y[0]), read(table, 0, RADIUS)
    reach = top - math.log(floor)  # how far an arm may be from the best and be above the floor
    assert s * losses[free - 1] <= reach <= s * losses[free]
    for shift in (-1.01, -0.99, 0.0, 0.99, 1.01):
        held = floor_step._is_inside(table, 0, top, s * (1.0 + shift * radius), floor)
        assert held == (abs(shift) < 1.0)
    for arm, inside in ((free - 1, True), (free, True)):  # exactly at the floor an arm may be on either side
        edge = s * losses[arm] + math.log(floor)
        assert floor_step._is_inside(table, 0, edge + (1e-12 if arm < free else -1e-12), s, floor) == inside
        assert floor_step._is_inside(table, 0, edge + (-1e-9 if arm < free else 1e-9), s, floor) != inside


def test_a_clique_that_comes_to_its_floor_or_leaves_it_asks_for_one_more_step():
    """At its least mass it stays while its price is at least the multiplier; where it stays it does not move."""
    gamma = 0.01
    table, losses, starts = instance()
    for k, size in enumerate(SIZES):
        hottest = (size * gamma) ** -0.5
        write(table, k, HOTTEST, hottest)
        if k in (0, 4):  # single arms: none of theirs changes sides
            write(table, k, TEMPERATURE, hottest)
            write(table, k, COOLNESS, 1.0 / hottest)

    def appraise(multiplier):
        return floor_step._appraise(table, losses, starts, *new_work(), ETA, BETA, gamma, multiplier)

    appraise(1e9)
    for multiplier, stays in ((1e9, False), (-1e9, True), (-1e9, True), (1e9, False), (1e9, False)):
        before = read(table, 0, EASE) == 0.0
        assert bool(appraise(multiplier)) == (stays != before)
        for k in (0, 4):
            assert (read(table, k, EASE) == 0.0) == stays
            assert stays or 0.0 < read(table, k, EASE) <= 1.0 / (2.0 * BETA * read(table, k, TEMPERATURE) ** 2)
    price = read(table, 0, PRICE)
    appraise(price)
    assert read(table, 0, EASE) == 0.0  # an equal price stays
    appraise(math.nextafter(price, math.inf))
    assert read(table, 0, EASE) > 0.0


def test_an_arm_that_comes_to_the_floor_or_leaves_it_asks_for_one_more_step():
    """No clique is at its least mass; one of them gets so much, and then so little, that other arms are pinned."""
    gamma = 1e-3
    table, losses, starts = instance(spread=40.0)

    def appraise_at(mass):
        write(table, 8, TEMPERATURE, mass**-0.5)
        write(table, 8, COOLNESS, mass**0.5)
        changed = floor_step._appraise(table, losses, starts, *new_work(), ETA, BETA, gamma, 0.0)
        s = ETA * read(table, 8, RATE_FACTOR) * mass**0.5
        own = np.sort(losses[starts[8] : starts[9]])
        free = _water_filled(s * (own - own[0]), gamma / mass)[1]
        assert read(table, 8, PINNED) == SIZES[8] - free
        return bool(changed), free

    seen = [appraise_at(mass) for mass in (0.9, 0.9, 0.1, 0.1, 0.9, 0.9)]
    much, little = seen[0][1], seen[2][1]
    assert much != little
    assert [free for _, free in seen] == [much, much, little, little, much, much]
    assert [changed for changed, _ in seen[1:]] == [False, True, False, True, False]


@pytest.mark.parametrize("floor", [0.0, 0.03, 0.15, 0.199])
def test_moments_are_read_from_an_expansion_as_they_are_in_the_distribution(floor):
    losses = np.array([0.0, 0.2, 1.0, 1.7, 6.0])
    table = new_table(np.array([2.0]), np.array([1.0]), np.array([1e150]))
    padded = np.concatenate([losses, np.full(LANES, 3.0)])
    s = 0.9
    if floor:
        expand_with_floor(table, 0, padded, 0, 5, s, floor, *new_work())
    else:
        expand(table, 0, padded, 0, 5, s, math.inf, *new_work())
    y, free = _water_filled(s * losses, floor)
    for shift in (1.0, 1.0 + 0.5 * min(float(table[int(RADIUS)]), 1e-3)):
        y, free = _water_filled(s * shift * losses, floor)
        at = read_moments(table, 0, 5, s * shift, floor)
        t = s * shift * losses[:free]
        own = y[:free] / y[:free].sum()
        mean = float(own @ t)
        assert at.log_top == pytest.approx(math.log(y[0]), abs=1e-11)
        assert at.free == pytest.approx(y[:free].sum(), rel=1e-12)
        assert at.mean == pytest.approx(mean, abs=1e-11)
        assert at.variance == pytest.approx(float(own @ (t - mean) ** 2), abs=1e-10)
        assert at.entropy == pytest.approx(-float(y @ np.log(y)), abs=1e-11)


def _water_filled(t, floor):
    """The softmax of sorted ``-t`` with a floor, trying every number of free arms; and that number."""
    for free in range(t.size, 0, -1):
        weights = np.exp(-t[:free])
        y = weights / weights.sum() * (1.0 - (t.size - free) * floor)
        if y[-1] >= floor:
            return np.concatenate([y, np.full(t.size - free, floor)]), free
    raise AssertionError("the floor is too high")


def test_the_table_has_room_for_every_term():
    assert ORDER + 1 == 9
    table = new_table(np.ones(9), np.ones(9), np.full(9, 1e150))
    assert table.size == 2 * BLOCK + TAIL
    assert [int(place(k)) for k in (0, 7, 8, 9)] == [0, 7, BLOCK, BLOCK + 1]
