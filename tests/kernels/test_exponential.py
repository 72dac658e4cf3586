"""The exponential of our own, against mpmath."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from allworlds.kernels.exponential import HIGHEST, LOWEST, exp


def units_off(x):
    """How many units in the last place the answer is off."""
    with mpmath.workprec(200):
        exact = mpmath.exp(mpmath.mpf(x))
        return float(abs(mpmath.mpf(exp(x)) - exact) / math.ulp(float(exact)))


@pytest.mark.parametrize(("low", "high"), [(-1.0, 1.0), (-40.0, 0.0), (LOWEST, HIGHEST)])
def test_it_is_within_one_unit_in_the_last_place(low, high):
    points = np.random.default_rng(0).uniform(low, high, 3000).tolist()
    assert max(units_off(x) for x in points) < 1.0


def test_it_is_within_one_unit_where_the_remainder_is_largest():
    halves = [(k + 0.5) * math.log(2.0) for k in range(-1000, 1000, 7)]
    nearby = [math.nextafter(x, side) for x in halves for side in (-math.inf, math.inf)]
    assert max(units_off(x) for x in halves + nearby) < 1.0


def test_its_ends_are_zero_and_infinity_and_it_keeps_nan():
    assert exp(0.0) == exp(-0.0) == 1.0
    assert exp(math.nextafter(LOWEST, -math.inf)) == exp(-math.inf) == 0.0
    assert exp(LOWEST) > 0.0
    assert exp(math.nextafter(HIGHEST, math.inf)) == exp(math.inf) == math.inf
    assert exp(HIGHEST) < math.inf
    assert math.isnan(exp(math.nan))


def test_it_never_falls():
    points = np.sort(np.random.default_rng(1).uniform(-700.0, 700.0, 20_000))
    values = np.array([exp(x) for x in points.tolist()])
    assert (np.diff(values) >= 0.0).all()
