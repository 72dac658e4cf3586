"""Slopes: known exponents come back, intervals hold what they promise, and noise is not hidden."""

from __future__ import annotations

import numpy as np
import pytest

from allworlds.analysis.slopes import doubling_slope, power_slope

X = [100.0, 300.0, 1000.0, 3000.0, 10_000.0]


@pytest.mark.parametrize("exponent", [-0.5, 0.0, 0.3, 0.5, 1.0])
def test_the_exponent_of_an_exact_power_law_comes_back_with_an_interval_of_no_width(exponent):
    slope = power_slope(X, [np.full(6, 7.0 * x**exponent) for x in X])
    assert slope[:3] == pytest.approx((exponent, exponent, exponent), abs=1e-12)
    assert (slope.n_points, slope.left_out) == (5, 0)


def test_the_value_is_that_of_least_squares_through_the_logarithms_of_means():
    random = np.random.default_rng(3)
    samples = [random.uniform(1.0, 2.0, 8) * x**0.7 for x in X]
    expected = np.polyfit(np.log(X), np.log([sample.mean() for sample in samples]), 1)[0]
    assert power_slope(X, samples).value == pytest.approx(expected, rel=1e-12)


def test_the_excess_over_the_point_at_0_has_its_own_exponent():
    base, samples = np.full(5, 200.0), [np.full(5, 200.0 + 3.0 * x**0.5) for x in X]
    assert power_slope(X, samples, base).value == pytest.approx(0.5, abs=1e-9)
    assert power_slope(X, samples).value < 0.3


@pytest.mark.parametrize("seeds", [5, 20])
def test_the_interval_covers_the_truth_about_as_often_as_it_says(seeds):
    random = np.random.default_rng(seeds)
    covered = 0
    for _ in range(400):
        slope = power_slope(X, [x**0.5 * random.normal(1.0, 0.3, seeds) for x in X])
        covered += slope.low <= 0.5 <= slope.high
    assert 0.91 <= covered / 400 <= 0.99  # four standard errors are 4 %


def test_the_same_results_give_the_same_interval():
    samples = [np.random.default_rng(5).normal(x, 0.2 * x, 9) for x in X]
    assert power_slope(X, samples) == power_slope(X, samples)


def test_a_point_without_a_positive_excess_is_left_out_and_counted():
    base = np.full(4, 10.0)
    samples = [np.full(4, 9.0), *(np.full(4, 10.0 + x) for x in X[1:])]
    slope = power_slope(X, samples, base)
    assert slope.value == pytest.approx(1.0)
    assert (slope.n_points, slope.left_out) == (4, 1)


def test_an_excess_that_drowns_in_noise_has_no_interval():
    base = np.array([0.0, 200.0, 100.0, 110.0])
    samples = [np.array([0.0, 220.0, 100.0, 120.0]), *(np.full(4, 100.0 + x) for x in X[1:])]
    slope = power_slope(X, samples, base)
    assert (slope.low, slope.high) == (None, None)


def test_one_seed_has_a_slope_without_an_interval_and_two_points_have_none():
    one = [np.array([x]) for x in X]
    assert power_slope(X, one)[:3] == (pytest.approx(1.0), None, None)
    assert doubling_slope(X, one).low is None
    assert power_slope(X[:2], one[:2]) is None
    assert doubling_slope(X[:2], one[:2]) is None


def test_growth_with_the_logarithm_is_told_by_the_doubling():
    sizes = [2.0, 4.0, 8.0, 16.0]
    slope = doubling_slope(sizes, [np.array([10.0, 12.0]) + 5.0 * np.log2(size) for size in sizes])
    assert slope.value == pytest.approx(5.0)
    assert slope.low < 5.0 < slope.high
