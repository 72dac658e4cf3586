from __future__ import annotations

import math

import numpy as np
import pytest

from allworlds.ftrl.sharp import sharp_alpha
from allworlds.theory import sharp as number
from allworlds.theory.bounds import difficulty
from allworlds.theory.sharp import SharpNumbers


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


def test_the_numbers_are_those_of_the_proof_to_four_digits() -> None:
    assert number.BETA == 9.0
    assert pytest.approx(1.8918, abs=5e-5) == number.RHO
    assert pytest.approx(0.3248, abs=5e-5) == number.HUMP
    assert pytest.approx(1.3421, abs=5e-5) == number.SHRINKAGE
    assert pytest.approx(5.4366, abs=5e-5) == number.STEP_X
    assert pytest.approx(3.1492, abs=5e-5) == number.STEP_S
    assert pytest.approx(1.1585, abs=5e-5) == number.STEP_LOG
    assert (number.STABILITY_S, number.STABILITY_LOG, number.STABILITY_X) == (10.91, 2.20, 10.29)
    assert number.ADVERSARIAL == 5.21
    assert number.FREE_ROUNDS == 3


def test_weights_and_reach_are_their_formulas() -> None:
    sizes = np.array([3, 1, 2])
    alphas = [sharp_alpha(3), 2.0, sharp_alpha(2)]
    logs = [math.log(3.0), 0.0, math.log(2.0)]
    assert SharpNumbers(sizes).reach.tolist() == pytest.approx([a + b for a, b in zip(alphas, logs, strict=True)])
    shared = 10.91 + 2.2 * math.sqrt(math.log(3.0))
    by_hand = [1.0 + logs[0] + 10.29, alphas[1] + shared, alphas[2] + logs[2] + shared]
    np.testing.assert_allclose(SharpNumbers(sizes).weights(0), by_hand)
    gaps = np.array([0.5, 0.25, 0.0])
    by_hand_w = (1.0 + math.log(50.0)) * (by_hand[0] ** 2 / 0.5 + by_hand[1] ** 2 / 0.25)
    assert difficulty(SharpNumbers(sizes), gaps, 0, 50) == pytest.approx(by_hand_w)
