"""A clique's expansion against 50 digits: its terms, and that its radius is a bound and not a hope."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from allworlds.ftrl.clique_table import ALPHA, LANES, LOWEST, NEXT, ORDER, RADIUS, TERMS, new_table
from allworlds.ftrl.expansion import ACCURACY, expand, new_work

KINDS = {
    "two arms": [0.0, 1.5],
    "one arm": [3.0],
    "equal arms": [2.0] * 9,
    "a leader and a crowd": [0.0] + [5.0] * 60,
    "one far away": [0.0, 0.3, 1e4],
    "spread": np.random.default_rng(0).exponential(3.0, 130).tolist(),
    "wide": np.random.default_rng(1).uniform(0.0, 60.0, 17).tolist(),
}


def expanded(losses, s, cut=math.inf, first=0):
    """The table of one clique after expansion; its arms begin at place ``first``."""
    values = np.array(losses)
    table = new_table(np.array([2.0]), np.array([1.0]), np.array([1e150]))
    table[int(LOWEST)] = values.min()
    padded = np.concatenate([np.full(first, 9.0), values, np.full(LANES, 7.0)])
    expand(table, 0, padded, first, first + values.size, s, cut, *new_work())
    return table


def exact_terms(losses, s, order):
    """Taylor coefficients of ``log sum exp(-s (1 + w) l)`` at ``w = 0``, by mpmath."""
    with mpmath.workdps(50):
        above = [mpmath.mpf(x) - mpmath.mpf(min(losses)) for x in losses]
        return mpmath.taylor(lambda w: mpmath.log(sum(mpmath.exp(-s * (1 + w) * x) for x in above)), 0, order)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("s", [0.01, 0.7, 4.0])
def test_its_terms_are_the_taylor_coefficients(kind, s):
    table = expanded(KINDS[kind], s)
    exact = exact_terms(KINDS[kind], s, ORDER)
    for j in range(ORDER + 1):
        # a term is judged by what it adds inside the radius
        weight = min(1.0, float(table[int(RADIUS)])) ** j
        assert abs(float(table[int(TERMS + np.uint64(j) * NEXT)] - exact[j])) * weight <= 1e-14 * (1.0 + abs(exact[0]))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("s", [0.01, 0.7, 4.0])
@pytest.mark.parametrize("side", [-1.0, -0.5, 0.3, 1.0])
def test_inside_its_radius_it_leaves_out_no_more_than_it_promises(kind, s, side):
    table = expanded(KINDS[kind], s)
    radius = min(float(table[int(RADIUS)]), 0.5)  # infinite where all arms are equal
    terms = [mpmath.mpf(float(table[int(TERMS + np.uint64(j) * NEXT)])) for j in range(ORDER + 1)]
    with mpmath.workdps(50):
        above = [mpmath.mpf(x) - mpmath.mpf(min(KINDS[kind])) for x in KINDS[kind]]
        w = mpmath.mpf(side * radius)
        weights = [mpmath.exp(-s * (1 + w) * x) for x in above]
        total = sum(weights)
        value = mpmath.log(total)
        slope = -sum(p * s * x for p, x in zip(weights, above, strict=True)) / total
        second = sum(p * (s * x) ** 2 for p, x in zip(weights, above, strict=True)) / total - slope**2
        rest = abs(sum(a * w**j for j, a in enumerate(terms)) - value) + (1 + abs(w)) * abs(
            sum(j * a * w ** (j - 1) for j, a in enumerate(terms) if j) - slope
        )
        steepness = value + 2.0 - (1 + w) * slope - (1 + w) ** 2 * second  # H + alpha - Var, which divides the error
        assert rest <= ACCURACY * steepness * 1.05 + 1e-13
    assert table[int(ALPHA)] == 2.0


def test_a_wider_clique_has_a_smaller_radius_and_equal_arms_an_infinite_one():
    radii = [float(expanded([0.0, gap], 1.0)[int(RADIUS)]) for gap in (1e-6, 0.1, 1.0, 2.0)]
    assert radii == sorted(radii, reverse=True)
    assert radii[-1] < radii[0]
    assert expanded([4.0] * 5, 1.0)[int(RADIUS)] == math.inf
    assert expanded([4.0] * 5, 1.0, first=3)[int(RADIUS)] == math.inf


def test_arms_beyond_the_cut_count_for_nothing():
    near = expanded([0.0, 1.0, 2.0], 1.0)
    cut = expanded([0.0, 1.0, 2.0, 9.0, 11.0], 1.0, cut=5.0)
    assert cut[int(TERMS) :: LANES] == pytest.approx(near[int(TERMS) :: LANES], abs=0.0)


@pytest.mark.parametrize("far", [40.0, 80.0, 300.0, 1000.0])
def test_arms_too_far_to_weigh_anything_keep_the_radius_finite(far):
    # their weights vanish in rounding, but they come back when the sharpness falls far enough
    assert expanded([0.0, far, far], 1.0)[int(RADIUS)] <= 0.125


@pytest.mark.parametrize("kind", ["two arms", "a leader and a crowd", "spread", "wide"])
@pytest.mark.parametrize("s", [0.01, 0.7, 4.0])
def test_its_radius_is_no_smaller_than_its_proof_allows(kind, s):
    """``theta = E exp((u - m) / 2) + E exp((m - u) / 2) - 2`` with the mean ``m`` of ``u``, from the arms."""
    table = expanded(KINDS[kind], s)
    u = s * (np.array(KINDS[kind]) - min(KINDS[kind]))
    y = np.exp(-u) / np.exp(-u).sum()
    mean, log_total = float(y @ u), math.log(np.exp(-u).sum())
    variance = float(y @ (u - mean) ** 2)
    theta = float(y @ np.exp((u - mean) / 2.0) + y @ np.exp((mean - u) / 2.0)) - 2.0
    circle, height = (0.5, 2.0 * math.log(2.0) * theta) if theta <= 0.5 else (math.sqrt(0.125 / theta), math.log(2.0))
    steepness = log_total + 2.0 + mean - variance  # alpha is 2
    if steepness > 0.01:  # else alpha is too small for this clique
        eighth = (ACCURACY * steepness * circle / (18.2 * height)) ** 0.125
        assert float(table[int(RADIUS)]) == pytest.approx(circle * min(0.25, eighth), rel=1e-4)
