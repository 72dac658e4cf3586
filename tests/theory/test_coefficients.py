from __future__ import annotations

import math

import numpy as np
import pytest

from allworlds.theory import coefficients as number


def test_the_rounded_numbers_are_never_below_the_exact_ones() -> None:
    stability = number.RHO**1.5 * (1.25 + 2.0 * number.HUMP) + number.RHO * number.STEP_S
    pairs = [
        (number.STABILITY_S, stability),
        (number.STABILITY_LOG, number.RHO * number.STEP_LOG),
        (number.STABILITY_X, number.RHO * number.STEP_X),
        (number.ADVERSARIAL, 2.0 * number.RHO**1.5),
    ]
    for rounded, exact in pairs:
        assert exact <= rounded <= exact + 0.01


def test_the_hump_is_the_largest_value_and_sits_at_a_quarter() -> None:
    q = np.linspace(0.0, 1.0, 100001)
    values = np.sqrt(q) * (1.0 - q) ** 1.5
    assert values.max() <= number.HUMP + 1e-15
    assert pytest.approx(values.max(), abs=1e-9) == number.HUMP
    assert q[values.argmax()] == pytest.approx(0.25, abs=1e-4)


def test_the_other_case_of_step_4d_is_the_smaller_one() -> None:
    assert number.RHO**1.5 <= number.RHO * number.STEP_S


def test_the_exponent_shrinks_by_at_most_its_bound() -> None:
    for best in np.linspace(0.5, 1.0, 2001)[1:-1]:
        lowest = max(2.0 - number.RHO, 1.0 - (number.RHO - 1.0) * (1.0 - best) / best)
        assert 1.0 - math.sqrt(lowest) <= number.SHRINKAGE * (1.0 - best) + 1e-12


@pytest.mark.parametrize("m", [1, 2, 3, 10, 1000])
def test_the_entropy_of_the_best_clique_is_worth_at_most_one_and_a_logarithm(m: int) -> None:
    u = np.linspace(1e-9, 1.0, 200001)
    largest = (np.sqrt(u) * np.log(math.e * m / u)).max()
    by_hand = 2.0 * math.sqrt(m / math.e) if m <= 2 else 1.0 + math.log(m)
    assert largest == pytest.approx(by_hand, abs=1e-8)
    assert by_hand <= 1.0 + math.log(m + 1)


def test_weighted_means_bound_a_power_below_one() -> None:
    rng = np.random.default_rng(0)
    for _ in range(2000):
        m, a = int(rng.integers(1, 50)), rng.random()
        r = rng.random(m) ** rng.integers(1, 9)
        assert (r ** (1.0 - a)).sum() <= m**a * (r.sum() + a) * (1.0 + 1e-12)
