"""The price of a clique and its slope, against the definition of V in fifty digits."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from allworlds.ftrl.clique_mass import appraise
from allworlds.ftrl.sharp import sharp_alpha
from allworlds.ftrl.within_clique import conditional


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
