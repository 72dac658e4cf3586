"""Sharing a clique's mass: closed forms, every pinned set tried, moments by definition, 50 digits."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, minimize

from allworlds.ftrl.within_clique import conditional, moments, probability


def softmax(losses, sharpness):
    weights = np.exp(-sharpness * (losses - losses.min()))
    return weights / weights.sum()


def by_enumeration(losses, sharpness, floor):
    """Try every set of pinned arms; the answer is the feasible one with the smallest objective."""
    best, winner = math.inf, None
    arms = range(len(losses))
    for n_pinned in range(len(losses) if floor > 0.0 else 1):
        for pinned in itertools.combinations(arms, n_pinned):
            free = [i for i in arms if i not in pinned]
            y = np.full(len(losses), floor)
            y[free] = (1.0 - n_pinned * floor) * softmax(losses[free], sharpness)
            if y.min() < floor * (1 - 1e-12):
                continue
            value = sharpness * losses @ y + np.sum(y * np.log(y))
            if value < best:
                best, winner = value, y
    return winner


def in_digits(losses, sharpness, digits=50):
    """Softmax and its moments in many digits: log_top, entropy, mean and variance of t."""
    with mpmath.workdps(digits):
        t = [mpmath.mpf(float(sharpness)) * (mpmath.mpf(float(x)) - mpmath.mpf(float(min(losses)))) for x in losses]
        total = mpmath.fsum(mpmath.exp(-x) for x in t)
        y = [mpmath.exp(-x) / total for x in t]
        entropy = -mpmath.fsum(p * mpmath.log(p) for p in y)
        mean = mpmath.fsum(p * x for p, x in zip(y, t, strict=True))
        variance = mpmath.fsum(p * (x - mean) ** 2 for p, x in zip(y, t, strict=True))
        return [float(value) for value in (-mpmath.log(total), entropy, mean, variance)], [float(p) for p in y]


def random_clique(rng, size, spread=5.0):
    return rng.uniform(0.0, spread, size) + rng.uniform(-100.0, 100.0)


def test_one_arm_has_everything():
    for floor in (0.0, 0.5, 1.0):
        assert conditional(np.array([123.0]), 7.0, floor).tolist() == [1.0]
    at = moments(np.array([123.0]), 123.0, 7.0, 0.0)
    assert tuple(at) == (0.0, 0.0, 1.0, 0.0, 0.0)


def test_equal_losses_share_equally():
    assert conditional(np.full(8, -3.0), 2.0) == pytest.approx(np.full(8, 0.125), rel=1e-15)
    at = moments(np.full(8, -3.0), -3.0, 2.0, 0.0)
    assert at.entropy == pytest.approx(math.log(8), rel=1e-15)
    assert at.log_top == pytest.approx(-math.log(8), rel=1e-15)
    assert (at.mean, at.variance) == (0.0, 0.0)


def test_two_arms_follow_the_logistic_function():
    for difference in (0.1, 1.0, 30.0, 600.0):
        y = conditional(np.array([5.0, 5.0 + difference]), 1.0)
        worse = 5.0 + difference - 5.0
        assert y == pytest.approx([1.0 / (1.0 + math.exp(-worse)), 1.0 / (1.0 + math.exp(worse))], rel=1e-14)


@given(st.integers(1, 12), st.floats(1e-6, 1e3), st.integers(0, 10**6))
def test_without_a_floor_it_is_a_softmax(size, sharpness, seed):
    losses = random_clique(np.random.default_rng(seed), size, spread=20.0 / sharpness)
    assert conditional(losses, sharpness) == pytest.approx(softmax(losses, sharpness), rel=1e-13)


@given(st.integers(2, 7), st.floats(0.01, 0.999), st.integers(0, 10**6))
def test_with_a_floor_it_is_the_best_of_all_pinned_sets(size, share, seed):
    rng = np.random.default_rng(seed)
    losses = random_clique(rng, size, spread=10.0)
    floor = share / size
    y = conditional(losses, 1.0, floor)
    assert y == pytest.approx(by_enumeration(losses, 1.0, floor), rel=1e-12)
    assert y.sum() == pytest.approx(1.0, rel=1e-13)
    assert y.min() >= floor


def test_with_a_floor_a_general_solver_finds_no_better():
    rng = np.random.default_rng(20)
    for _ in range(5):
        losses = np.append(rng.uniform(0.0, 6.0, 4), 8.0)
        floor = 0.05
        objective = lambda y, losses=losses: losses @ y + np.sum(y * np.log(y))  # noqa: E731
        gradient = lambda y, losses=losses: losses + np.log(y) + 1.0  # noqa: E731
        found = minimize(
            objective,
            np.full(5, 0.2),
            jac=gradient,
            bounds=[(floor, 1.0)] * 5,
            constraints=[LinearConstraint(np.ones((1, 5)), 1.0, 1.0)],
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        )
        y = conditional(losses, 1.0, floor)
        assert (y == floor).any()
        assert y == pytest.approx(found.x, abs=1e-6)
        assert objective(y) <= objective(found.x / found.x.sum()) + 1e-9


def test_pins_may_come_in_several_passes():
    # Pinning an arm lifts it to the floor, and what is left for the others shrinks: each pass pulls the next one under.
    floor = 0.2
    losses = -np.log([1.0, 0.499, 0.48, 0.3])
    passes, free = [], [0, 1, 2, 3]
    while True:
        shares = (1.0 - floor * (4 - len(free))) * softmax(losses[free], 1.0)
        fallen = [arm for arm, share in zip(free, shares, strict=True) if share < floor]
        if not fallen:
            break
        passes.append(fallen)
        free = [arm for arm in free if arm not in fallen]
    assert passes == [[3], [2], [1]]
    y = conditional(losses, 1.0, floor)
    assert y[1:].tolist() == [floor] * 3
    assert y == pytest.approx(by_enumeration(losses, 1.0, floor), rel=1e-14)


def test_a_floor_can_pin_all_arms_but_one():
    losses = np.arange(50.0)
    y = conditional(losses, 100.0, 0.01)
    assert y[1:].tolist() == [0.01] * 49
    assert y[0] == pytest.approx(0.51, rel=1e-14)
    at = moments(losses, 0.0, 100.0, 0.01)
    assert at.free == pytest.approx(0.51, rel=1e-14)
    assert (at.mean, at.variance) == (0.0, 0.0)


@pytest.mark.parametrize("size", [1, 2, 3, 10, 1000])
def test_a_floor_of_one_over_the_size_leaves_equal_shares(size):
    losses = np.linspace(0.0, 30.0, size)
    assert conditional(losses, 1.0, 1.0 / size) == pytest.approx(np.full(size, 1.0 / size), rel=1e-12)


def test_a_tied_best_arm_is_never_pinned():
    losses = np.array([2.0, 2.0, 9.0, 9.0])
    y = conditional(losses, 50.0, 0.24)
    assert y == pytest.approx([0.26, 0.26, 0.24, 0.24], rel=1e-14)


@given(st.integers(2, 10), st.floats(0.1, 50.0), st.floats(0.0, 0.99), st.integers(0, 10**6))
def test_moments_are_what_their_names_say(size, sharpness, share, seed):
    losses = random_clique(np.random.default_rng(seed), size, spread=4.0)
    floor = share / size
    at = moments(losses, losses.min(), sharpness, floor)
    y = by_enumeration(losses, sharpness, floor) if size <= 6 else conditional(losses, sharpness, floor)
    t = sharpness * (losses - losses.min())
    free = y > floor * (1 + 1e-9)
    weights = y[free] / y[free].sum()
    inside = y[y > 0.0]
    assert at.log_top == pytest.approx(math.log(y[losses.argmin()]), abs=1e-12)
    assert at.entropy == pytest.approx(-np.sum(inside * np.log(inside)), rel=1e-10, abs=1e-13)
    assert at.free == pytest.approx(y[free].sum(), rel=1e-8)
    assert at.mean == pytest.approx(weights @ t[free], rel=1e-7, abs=1e-7)
    assert at.variance == pytest.approx(weights @ (t[free] - weights @ t[free]) ** 2, rel=1e-6, abs=1e-6)


def test_without_pins_the_variance_is_that_of_the_log_probability():
    losses = np.array([0.3, 1.0, 2.5, 0.9])
    y = conditional(losses, 1.7)
    log = np.log(y)
    assert moments(losses, 0.3, 1.7, 0.0).variance == pytest.approx(y @ log**2 - (y @ log) ** 2, rel=1e-12)


@pytest.mark.parametrize("sharpness", [1e-9, 1e-3, 1.0, 40.0])
def test_moments_agree_with_fifty_digits(sharpness):
    losses = np.random.default_rng(3).uniform(10.0, 20.0, 7)
    (log_top, entropy, mean, variance), y = in_digits(losses, sharpness)
    at = moments(losses, losses.min(), sharpness, 0.0)
    assert at.log_top == pytest.approx(log_top, rel=1e-13, abs=1e-16)
    assert at.entropy == pytest.approx(entropy, rel=1e-12)
    assert at.mean == pytest.approx(mean, rel=1e-12)
    assert at.variance == pytest.approx(variance, rel=1e-9)
    assert conditional(losses, sharpness) == pytest.approx(y, rel=1e-12)


def test_far_arms_weigh_nothing_and_never_make_nan():
    losses = np.array([0.0, 1e3, 1e12, 1e300])
    for sharpness in (1.0, 1e8):
        y = conditional(losses, sharpness)
        assert y[0] == 1.0
        assert y[1:].max() <= 5e-324
        assert tuple(moments(losses, 0.0, sharpness, 0.0)) == (0.0, 0.0, 1.0, 0.0, 0.0)
        with_floor = moments(losses, 0.0, sharpness, 0.1)
        assert np.isfinite(with_floor).all()
        assert with_floor.entropy == pytest.approx(-0.7 * math.log(0.7) - 0.3 * math.log(0.1), rel=1e-14)


def test_the_probability_of_one_arm_is_its_entry_of_the_whole():
    rng = np.random.default_rng(11)
    for floor in (0.0, 0.03, 0.1):
        losses = rng.uniform(0.0, 8.0, 9)
        y = conditional(losses, 1.3, floor)
        log_top = moments(losses, losses.min(), 1.3, floor).log_top
        single = [probability(loss - losses.min(), log_top, 1.3, floor) for loss in losses]
        assert single == pytest.approx(y, rel=1e-14)
    assert probability(1e9, 0.0, 1.0, 0.0) == 0.0
    assert probability(1e9, 0.0, 1.0, 0.25) == 0.25


@given(st.floats(-1e6, 1e6), st.integers(0, 10**6))
def test_a_constant_added_to_all_losses_changes_nothing(shift, seed):
    losses = np.random.default_rng(seed).integers(0, 2**20, 5) / 2**16  # short mantissas: the shift is nearly exact
    assert conditional(losses + shift, 1.0) == pytest.approx(conditional(losses, 1.0), rel=1e-8)
