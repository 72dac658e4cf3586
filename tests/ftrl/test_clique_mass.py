"""The price of a clique and its slope, against the definition of V in fifty digits."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from numba.core import config

from allworlds.ftrl import clique_mass
from allworlds.ftrl.clique_mass import (
    HOTTEST,
    MAX_STEPS,
    TIGHT,
    Problem,
    _bracket,
    _model_multiplier,
    _moved,
    _rescale,
    appraise,
    appraise_all,
    new_masses,
    price_of,
    residual_of,
    solve_masses,
)
from allworlds.ftrl.sharp import sharp_alpha
from allworlds.ftrl.solve import set_lowest
from allworlds.ftrl.within_clique import Moments, conditional

PLAIN = pytest.mark.skipif(not config.DISABLE_JIT, reason="pieces of the step are checked as plain Python")


def value(losses, q, eta, alpha, beta, gamma):
    """V(q) from its definition: the best share of q, found by water-filling over sorted arms in 50 digits."""
    losses = sorted(mpmath.mpf(float(x)) for x in losses)
    s = eta * mpmath.sqrt(q)
    for n_free in range(len(losses), 0, -1):
        rest = q - (len(losses) - n_free) * gamma
        weights = [mpmath.exp(-s * (x - losses[0])) for x in losses[:n_free]]
        p = [rest * w / mpmath.fsum(weights) for w in weights]
        if p[-1] >= gamma:
            break
    p += [gamma] * (len(losses) - n_free)
    linear = mpmath.fsum(x * y for x, y in zip(losses, p, strict=True))
    inner = mpmath.fsum(y * mpmath.log(y / q) for y in p if y > 0)
    return linear + (-alpha * mpmath.sqrt(q) + inner / mpmath.sqrt(q)) / eta - beta * mpmath.log(q)


CASES = [
    (size, spread, eta, beta, floor)
    for size in (1, 2, 5)
    for spread in (0.0, 1.0, 40.0)
    for eta in (1.0, 0.01)
    for beta in (0.0, 9.0)
    for floor in (0.0, 0.02)
]


@pytest.mark.parametrize(("size", "spread", "eta", "beta", "floor"), CASES)
def test_price_and_slope_are_the_derivatives_of_the_cliques_value(size, spread, eta, beta, floor) -> None:
    losses = np.random.default_rng(size).random(size) * spread
    alpha = sharp_alpha(size, 0.5)
    for q in (0.9, 0.3, 0.12):
        gamma = floor * q
        x = 1.0 / math.sqrt(q)
        at = appraise(losses, float(losses.min()), float(losses.min()), x, alpha, beta, gamma, eta)
        with mpmath.workdps(50):
            fixed = [mpmath.mpf(v) for v in (eta, alpha, beta, gamma)]
            first = mpmath.diff(lambda m, f=fixed: value(losses, m, *f), mpmath.mpf(q))
            second = mpmath.diff(lambda m, f=fixed: value(losses, m, *f), mpmath.mpf(q), 2)
            by_temperature = second * (-2) * mpmath.mpf(q) ** 1.5  # dq/dx = -2 q^(3/2)
        assert at.price == pytest.approx(float(first), rel=1e-11, abs=1e-11 * at.scale)
        assert at.slope - 2.0 * beta * x == pytest.approx(float(by_temperature), rel=1e-7)


def test_the_price_at_the_floor_is_the_right_derivative() -> None:
    losses = np.array([0.0, 1.0, 5.0])
    gamma = 0.1
    q = 3 * gamma
    at = appraise(losses, 0.0, 0.0, q**-0.5, 4.0, 2.0, gamma, 0.5)
    with mpmath.workdps(50):
        fixed = [mpmath.mpf(v) for v in (0.5, 4.0, 2.0, gamma)]
        right = mpmath.diff(lambda m: value(losses, m, *fixed), mpmath.mpf(q) + mpmath.mpf(10) ** -18, direction=1)
    assert at.price == pytest.approx(float(right), rel=1e-9)


def test_the_slope_without_pins_is_half_of_entropy_plus_alpha_less_varentropy() -> None:
    losses = np.array([0.0, 0.5, 3.0])
    q, eta, alpha = 0.4, 0.8, 3.2
    y = conditional(losses, eta * math.sqrt(q))
    entropy = -(y * np.log(y)).sum()
    varentropy = (y * np.log(y) ** 2).sum() - entropy**2
    at = appraise(losses, 0.0, 0.0, q**-0.5, alpha, 0.0, 0.0, eta)
    assert at.slope == pytest.approx(-(entropy + alpha - varentropy) / (2.0 * eta), rel=1e-12)


@pytest.mark.parametrize("beta", [0.0, 0.1, 40.0])
def test_the_scale_is_the_larger_of_the_two_terms_that_a_price_is_made_of(beta) -> None:
    losses, x, alpha, eta = np.array([0.0, 0.5, 3.0]), 1.7, 3.2, 0.8
    y = conditional(losses, eta / x)
    entropy = -(y * np.log(y)).sum()
    at = appraise(losses, 0.0, 0.0, x, alpha, beta, 0.0, eta)
    assert at.scale == pytest.approx(max((alpha + entropy) / 2.0 * x / eta, beta * x**2), rel=1e-12)


def test_a_slope_that_rounding_makes_too_flat_is_a_millionth_of_one_and_alpha() -> None:
    at = Moments(log_top=0.0, entropy=0.0, free=1.0, mean=0.0, variance=50.0)
    assert price_of(at, 0.0, 2.0, 3.0, 1.0, 0.5).slope == pytest.approx(-1e-6 * (1.0 + 3.0) / 0.5, rel=1e-12)


def problems():
    """Cliques of several sizes, with and without a floor: at 0.05 some cliques and arms are pinned to it."""
    rng = np.random.default_rng(4)
    sizes = np.array([1, 3, 2, 5, 1])
    starts = np.concatenate([[0], np.cumsum(sizes)])
    alpha = np.array([sharp_alpha(int(size), 0.5) for size in sizes])
    for gamma in (0.0, 0.01, 0.05):
        for beta in (0.0, 2.0):
            for spread in (0.5, 20.0, 400.0):
                eta = rng.uniform(0.2, 0.6, sizes.size)
                problem = Problem(rng.random(int(starts[-1])) * spread, starts, alpha, beta, gamma, eta)
                masses = new_masses(sizes, gamma)
                set_lowest(problem, masses)
                yield problem, masses


def check_optimal(problem, masses, multiplier, accuracy):
    """One price for every clique above its floor, no lower price at a floor, all masses together one."""
    sizes, losses = np.diff(problem.starts), problem.losses
    floors = np.maximum(sizes * problem.gamma, 1e-300)
    q = masses.temperature**-2.0
    assert q.sum() == pytest.approx(1.0, abs=accuracy)
    for k in range(sizes.size):
        own = losses[problem.starts[k] : problem.starts[k + 1]]
        at = appraise(
            own,
            own.min() - losses.min(),
            own.min(),
            masses.temperature[k],
            problem.alpha[k],
            problem.beta,
            problem.gamma,
            problem.eta[k],
        )
        assert q[k] >= floors[k] * (1.0 - 1e-12)
        if q[k] > floors[k] * (1.0 + 1e-9):
            assert abs(at.price - multiplier) <= accuracy * max(at.scale, own.min() - losses.min())
        else:
            assert at.price >= multiplier - accuracy * at.scale


@PLAIN
def test_bisection_alone_finds_the_masses() -> None:
    for problem, masses in list(problems())[::6]:  # bisection is slow: one for each floor
        masses.temperature[:] = masses.hottest  # whatever was there does not matter
        multiplier = _bracket(problem, masses)
        check_optimal(problem, masses, multiplier, 1e-10)
        other = new_masses(np.diff(problem.starts), problem.gamma)
        set_lowest(problem, other)
        again, residual, steps = solve_masses(problem, other, 0.0, TIGHT, MAX_STEPS)
        check_optimal(problem, other, again, 1e-11)
        assert residual <= 1e-10
        assert steps <= 30
        assert masses.temperature == pytest.approx(other.temperature, rel=1e-8)


@PLAIN
def test_without_any_step_bisection_takes_over() -> None:
    for problem, masses in list(problems())[16:17]:
        multiplier, residual, steps = solve_masses(problem, masses, 0.0, TIGHT, 0)
        assert steps == 1
        assert residual <= 1e-10
        check_optimal(problem, masses, multiplier, 1e-10)


@PLAIN
def test_the_steps_are_counted_from_one_and_one_more_than_the_limit_says_bisection() -> None:
    """Equal cliques start at the answer, so that one look is enough; a hard problem needs more than two."""
    equal = Problem(np.zeros(6), np.array([0, 2, 4, 6]), np.full(3, 3.0), 1.0, 0.0, np.full(3, 0.5))
    masses = new_masses(np.array([2, 2, 2]), 0.0)
    set_lowest(equal, masses)
    assert solve_masses(equal, masses, 0.0, TIGHT, MAX_STEPS)[2] == 1
    for problem, masses in list(problems())[5:6]:
        assert solve_masses(problem, masses, 0.0, TIGHT, 2)[2] == 3
        check_optimal(problem, masses, solve_masses(problem, masses, 0.0, TIGHT, 2)[0], 1e-10)


@PLAIN
def test_bisection_follows_as_many_steps_as_are_allowed_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """A problem that needs some steps is settled by bisection with one step less, and without it otherwise."""
    calls = []
    monkeypatch.setattr(clique_mass, "_bracket", lambda problem, masses: calls.append(1) or 0.0)
    for problem, masses in list(problems())[5:6]:
        start = masses.temperature.copy()
        needed = solve_masses(problem, masses, 0.0, TIGHT, MAX_STEPS)[2]
        assert (calls, needed > 2) == ([], True)
        for limit, expected in ((needed, []), (needed - 1, [1])):
            masses.temperature[:] = start
            assert solve_masses(problem, masses, 0.0, TIGHT, limit)[2] == needed
            assert calls == expected


@PLAIN
def test_the_residual_is_the_largest_relative_violation() -> None:
    """Recomputed clique by clique; a price above the multiplier is no violation at a floor, one below is."""
    seen = set()
    for problem, masses in problems():
        for shift in (-1.0, 0.0, 0.5):
            masses.temperature[:] = masses.even
            masses.temperature[1] = masses.hottest[1] if problem.gamma else masses.even[1]
            appraise_all(problem, masses)
            multiplier = float(np.median(masses.price)) + shift
            base = problem.losses.min()
            worst = abs((masses.temperature**-2.0).sum() - 1.0)
            for k in range(masses.price.size):
                gap = float(masses.price[k]) - multiplier
                if masses.temperature[k] >= masses.hottest[k] and gap > 0.0:
                    seen.add("floor")
                    continue
                scale = max(float(masses.scale[k]), abs(multiplier + base - float(masses.lowest[k])))
                worst = max(worst, abs(gap) / scale)
            assert residual_of(masses, multiplier) == pytest.approx(worst, rel=1e-12)
    assert seen == {"floor"}


@PLAIN
def test_what_is_missing_is_spread_over_the_masses_above_their_floor() -> None:
    masses = new_masses(np.array([1, 2, 3, 1]), 0.05)
    masses.temperature[:] = np.array([0.05, 0.6, 0.15, 0.16]) ** -0.5  # two at their floor; 0.04 is missing
    masses.temperature[[0, 2]] = masses.hottest[[0, 2]]
    _rescale(masses)
    assert masses.temperature**-2.0 == pytest.approx([0.05, 0.6 * 0.8 / 0.76, 0.15, 0.16 * 0.8 / 0.76], rel=1e-12)


@PLAIN
def test_no_mass_is_rescaled_below_its_floor() -> None:
    masses = new_masses(np.array([1, 2]), 0.1)
    masses.temperature[:] = np.array([0.101, 0.95]) ** -0.5
    _rescale(masses)
    assert masses.temperature[0] == masses.hottest[0]
    every = new_masses(np.array([1, 2]), 1.0 / 3.0)
    every.temperature[:] = every.hottest
    _rescale(every)  # nothing can move
    assert every.temperature.tolist() == every.hottest.tolist()


@PLAIN
def test_a_clique_moves_to_where_its_model_price_is_the_multiplier() -> None:
    for x, price, slope, beta, multiplier in [
        (1.5, 2.0, -0.7, 0.4, 1.5),
        (2.0, -1.0, -3.0, 0.0, -2.0),
        (1.2, 0.5, -0.1, 5, 1),
    ]:
        moved = _moved(x, price, slope, beta, 0.0, 1e150, multiplier)
        model = price + slope * (moved - x) - beta * (moved**2 - x**2)
        assert model == pytest.approx(multiplier, rel=1e-12)
    assert _moved(8.0, 0.0, -1.0, 1.0, 0.0, 1e150, 1e6) == 0.5  # at most 16 times colder
    assert _moved(8.0, 0.0, -1.0, 1.0, 3.0, 1e150, 1e6) == 3.0
    assert _moved(8.0, 1e6, -1.0, 1.0, 3.0, 9.0, 0.0) == 9.0


@PLAIN
def test_at_the_models_multiplier_the_models_masses_sum_to_one() -> None:
    for problem, masses in problems():
        appraise_all(problem, masses)
        for guess in (-1e3, 0.0, 1e3):
            multiplier = _model_multiplier(problem, masses, guess)
            moved = [
                _moved(*row, multiplier)
                for row in zip(
                    masses.temperature,
                    masses.price,
                    masses.slope,
                    [problem.beta] * masses.price.size,
                    masses.coldest,
                    masses.hottest,
                    strict=True,
                )
            ]
            assert sum(x**-2.0 for x in moved) == pytest.approx(1.0, abs=1e-12)


def test_new_masses_are_equal_shares_above_the_floors() -> None:
    masses = new_masses(np.array([1, 2, 3]), 0.1)
    assert masses.temperature**-2.0 == pytest.approx([0.1 + 0.4 / 3, 0.2 + 0.4 / 3, 0.3 + 0.4 / 3])
    assert masses.even.tolist() == masses.temperature.tolist()
    assert masses.coldest**-2.0 == pytest.approx([0.5, 0.6, 0.7])
    assert masses.hottest**-2.0 == pytest.approx([0.1, 0.2, 0.3])
    without = new_masses(np.array([1, 2]), 0.0)
    assert without.hottest.tolist() == [HOTTEST, HOTTEST]
    assert np.square(1.0 / HOTTEST) == pytest.approx(1e-300, rel=1e-12)
    assert without.coldest == pytest.approx([1.0, 1.0])
    tight = new_masses(np.array([1, 2]), 0.4)  # more than there is: no mass is negative
    assert tight.coldest**-2.0 == pytest.approx([0.4, 0.8])
