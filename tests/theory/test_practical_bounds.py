"""Theorem C as numbers: each bound is its formula, and its parts are what the proof adds up."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from allworlds.errors import InvalidConstants, InvalidParameter
from allworlds.ftrl.constants import Constants
from allworlds.ftrl.sharp import rebound, sharp_alpha
from allworlds.theory import practical_adversarial_bound, practical_corrupted_bound, practical_general_bound
from allworlds.theory import practical_coefficients as number
from allworlds.theory.practical_bounds import unnoticed_chance
from allworlds.theory.practical_coefficients import numbers_of
from theory.states import cover_of

SIZES = [3, 1, 10]


class ByHand:
    """The numbers of the theorem for the shipped constants, written out."""

    def __init__(self, sizes: list[int]) -> None:
        self.reach = [sharp_alpha(d, 0.25) + math.log(d) for d in sizes]
        self.n = rebound(max(sizes))
        self.beta = 0.2 + 1.25 * self.n
        self.rho_bar = max(
            ((self.beta + 1.25 * b) / (0.2 + 0.25 * (self.n + b))) ** 1.5 * max(b, 1.0 - b) ** 2
            for b in np.linspace(0.0, 1.0, 1001)
        )
        self.limits = [max(r / 0.16, 20.0 * (self.beta + 2.25)) for r in self.reach]
        late = [16.0 * r * (math.sqrt(2.0) * (1.0 + self.n) / 0.25) ** 2 for r in self.reach]
        self.t0 = math.ceil(max(*late, *(2.0 * g for g in self.limits)) - 300.0 - 1e-9) - 1
        self.sizes = sizes

    def logs(self, horizon: int) -> float:
        k = len(self.sizes)
        held = sum(self.limits) * math.log((horizon + 300.0) / 300.0)
        return 1.0 + (self.beta + 1.25) * (k - 1) * math.log(horizon) + held

    def weights(self, best: int) -> list[float]:
        root = math.sqrt(math.log(self.sizes[best]))
        m = max(2.0 * self.rho_bar, 1.42 + 4.0 * 4.83 + 4.0 * 2.45 * root)
        sigma = [math.sqrt(r) for r in self.reach]
        costs = [4.0 * ((2.0 * self.rho_bar + 8.0) * s + m * sigma[best]) + 0.59 * s / 4.0 for s in sigma]
        costs[best] = 64.0 * sigma[best] + 0.59 * (1.0 + math.log(self.sizes[best])) / (4.0 * sigma[best])
        return costs

    def constant(self, best: int, horizon: int) -> float:
        total, rounds = math.sqrt(sum(self.reach)), min(self.t0, horizon)
        early = 2.0 * self.rho_bar * total * 8.0 * (math.sqrt(rounds + 300.0) - math.sqrt(300.0))
        alpha = sharp_alpha(self.sizes[best], 0.25) / math.sqrt(self.reach[best])
        rest = (math.sqrt(horizon + 300.0) - math.sqrt(301.0)) / 4.0 * alpha / horizon
        return self.logs(horizon) + math.sqrt(301.0) / 4.0 * total + early + rest


@pytest.mark.parametrize("sizes", [SIZES, [1, 1], [100, 2]])
def test_the_practical_adversarial_bound_is_its_formula(sizes: list[int]) -> None:
    own, horizon = ByHand(sizes), 10**6
    total = math.sqrt(sum(own.reach))
    stability = 4.0 * own.rho_bar * total * 4.0 * (math.sqrt(horizon + 300.0) - math.sqrt(300.0))
    value = total * math.sqrt(horizon + 300.0) / 4.0 + stability + own.logs(horizon)
    bound = practical_adversarial_bound(sizes, horizon)
    assert bound.value == pytest.approx(value, rel=1e-9)
    assert bound.applies
    assert sum(bound.terms.values()) == bound.value


def test_the_practical_general_bound_is_its_formula() -> None:
    own, horizon = ByHand(SIZES), 50
    rng = np.random.default_rng(0)
    q = rng.dirichlet(np.ones(3), horizon)
    for best in range(3):
        x = q[:, best] * rng.random(horizon) if SIZES[best] > 1 else np.zeros(horizon)
        weights, value = own.weights(best), own.constant(best, horizon)
        for t in range(1, horizon + 1):
            for k in range(3):
                root = math.sqrt(x[t - 1] if k == best else q[t - 1, k])
                value += weights[k] * root / math.sqrt(t + 300.0)
        bound = practical_general_bound(SIZES, q, x, best)
        assert bound.value == pytest.approx(value, rel=1e-9)
        assert numbers_of(SIZES).constant(best, 10**6) == pytest.approx(own.constant(best, 10**6), rel=1e-9)


def test_the_practical_corrupted_bound_is_the_best_choice_of_youngs_parameter() -> None:
    own, horizon, gaps = ByHand(SIZES), 10**8, [0.25, 0.5, 0.125]
    for corruption in (0.0, 1000.0):
        weights = own.weights(0)
        w = math.log((horizon + 300.0) / 300.0) * sum(b * b / g for b, g in zip(weights, gaps, strict=True))
        a = own.constant(0, horizon)
        bound = practical_corrupted_bound(SIZES, gaps, 0, horizon, corruption)
        assert bound.terms["W"] == pytest.approx(w, rel=1e-9)
        assert bound.terms["constant"] == pytest.approx(a, rel=1e-9)
        choices = [
            (a + z / 2.0 * w + corruption / z) / (1.0 - 1.0 / (2.0 * z)) for z in 0.5 + np.logspace(-3.0, 3.0, 20001)
        ]
        assert bound.value == pytest.approx(min(choices), rel=1e-5)
        assert bound.value <= min(choices) * (1.0 + 1e-12)


def test_the_bounds_grow_like_a_root_and_like_a_logarithm() -> None:
    ratio = practical_adversarial_bound(SIZES, 10**14).value / practical_adversarial_bound(SIZES, 10**12).value
    assert ratio == pytest.approx(10.0, rel=1e-3)
    values = [practical_corrupted_bound([1, 1], [0.0, 0.5], 0, 10**n).value for n in (8, 12, 16)]
    assert values[2] - values[1] == pytest.approx(values[1] - values[0], rel=0.01)
    assert not practical_corrupted_bound([1, 1], [0.0, 0.5], 0, 10**8).vacuous


def test_the_sums_over_rounds_are_bounded_by_their_integrals() -> None:
    for constants in (None, Constants.sharp(cover_of([1, 1]))):
        numbers = numbers_of([1, 1], constants)
        h = numbers.constants.head_start
        for horizon in (1, 10, 1000):
            s = np.arange(1, horizon + 1) + h
            assert (1.0 / s).sum() <= numbers.harmonic(horizon) * (1.0 + 1e-12)
            assert numbers.harmonic(horizon) < (1.0 / s).sum() + 1.0
            rates = numbers.constants.eta0 / np.sqrt(s)
            assert rates.sum() <= numbers.summed_rates(horizon) <= rates.sum() * 1.01 + 2.0 * rates[0]


def test_the_last_early_round_is_the_last_one() -> None:
    for sizes in ([1, 1], SIZES, [30, 2]):
        numbers = numbers_of(sizes)
        t0 = numbers.last_early_round
        assert numbers.is_late(t0 + 1)
        assert not numbers.is_late(t0)
        assert t0 == ByHand(sizes).t0
    slow = dataclasses.replace(Constants.sharp(cover_of([1, 1])), eta0=0.01)
    assert numbers_of([1, 1], slow).last_early_round == 0


def test_the_rounded_numbers_are_rounded_up() -> None:
    omega = math.exp(2.0 * 0.25 / math.sqrt(2.0))
    exact = {
        "STEP_X": math.sqrt(4.0 * math.e * omega),
        "STEP_S": math.sqrt(6.0 * math.e * omega),
        "STEP_LOG": math.sqrt(6.0),
        "BEST_ARM": math.sqrt(2.0),
        "WEIGHT": 1.0 / (1.0 + math.sqrt(0.5)),
    }
    for name, value in exact.items():
        assert value <= getattr(number, name) <= value * 1.02, name


def test_what_the_theorem_is_not_about_is_refused() -> None:
    with pytest.raises(InvalidConstants, match="implicit_exploration"):
        practical_adversarial_bound([1, 1], 10, constants=Constants.unproved(cover_of([1, 1])))
    with pytest.raises(InvalidConstants, match="one clique"):
        practical_adversarial_bound([4], 10)
    with pytest.raises(InvalidParameter, match="unique"):
        practical_corrupted_bound([1, 1], [0.0, 0.0], 0, 10)
    with pytest.raises(InvalidParameter, match="draws_per_factor_e"):
        unnoticed_chance(-1.0)


def test_sharp_constants_are_a_special_case_without_anything_held_back() -> None:
    cover = cover_of([2, 2])
    numbers = numbers_of([2, 2], Constants.sharp(cover))
    assert numbers.limits.tolist() == [0.0, 0.0]
    assert numbers.growth == pytest.approx((9.0 / (9.0 - rebound(2))) ** 1.5)


# --- the frontier --------------------------------------------------------------------------------------


def test_an_arm_that_is_drawn_independently_is_missed_as_often_as_stated() -> None:
    horizon = 10**6
    t = np.arange(int(0.35 * horizon) + 1, int(0.9 * horizon) + 1)
    for draws in (1.0, 3.0, 8.05):
        exact = math.exp(float(np.log1p(-draws / t).sum()))
        assert unnoticed_chance(draws) == pytest.approx(exact, rel=1e-3)
    assert 2000 * unnoticed_chance(8.04) > 1.0 > 2000 * unnoticed_chance(8.06)


def test_not_looking_until_nine_tenths_costs_a_tenth_of_the_horizon() -> None:
    horizon = 1000
    a = np.where(np.arange(1, horizon + 1) <= 350, 1.0, 0.0)
    played = np.where(np.arange(1, horizon + 1) <= 900, 0.5, a)
    assert (played - a).sum() == pytest.approx(0.1 * horizon)
    assert (0.5 - a).sum() == pytest.approx(0.15 * horizon)


def test_a_schedule_looks_in_time_with_far_fewer_draws() -> None:
    for horizon in np.unique(np.logspace(3.0, 7.0, 200).astype(int)):
        looks = np.exp(np.arange(0, 40) / 1.1)  # 1.1 draws in each factor e of rounds
        assert np.any((looks > 0.35 * horizon + 1) & (looks <= 0.9 * horizon))
