"""Theorem C as numbers: each bound is its formula, and its parts are what the proof adds up."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from allworlds.foundation.errors import InvalidConstants, InvalidParameter
from allworlds.ftrl.constants import Constants
from allworlds.ftrl.sharp import rebound, sharp_alpha
from allworlds.learners import TsallisShannon
from allworlds.learners.tsallis_shannon_round import State, Ticket
from allworlds.theory import practical_adversarial_bound, practical_corrupted_bound, practical_general_bound
from allworlds.theory import practical_coefficients as number
from allworlds.theory.bounds import unnoticed_chance
from allworlds.theory.practical_coefficients import Numbers, numbers_of
from theory.states import cover_of

SIZES = [3, 1, 10]


class ByHand:
    """The numbers of the theorem for the shipped constants, written out."""

    def __init__(self, sizes: list[int]) -> None:
        self.reach = [sharp_alpha(d, 0.25) + math.log(d) for d in sizes]
        self.n = rebound(max(sizes))
        self.beta = 0.2 + 1.25 * self.n
        self.beta_max = self.beta + 1.25 * 0.85
        # each b from 0 to the share 0.85; the step is 1/2000, and the largest value is at an end for these sizes
        self.rho_bar = max(
            ((self.beta + 1.25 * b) / (0.2 + 0.25 * (self.n + b))) ** 1.5 * max(b, 1.0 - b) ** 2
            for b in np.linspace(0.0, 0.85, 1701)
        )
        self.limits = [max(r / 0.0256, 50.0 * (self.beta_max + 1.0)) for r in self.reach]
        late = [16.0 * r * (math.sqrt(2.0) * (1.0 + self.n) / 0.25) ** 2 for r in self.reach]
        self.t0 = math.ceil(max(*late, *(2.0 * g for g in self.limits)) - 300.0 - 1e-9) - 1
        self.sizes = sizes

    def logs(self, horizon: int) -> float:
        k = len(self.sizes)
        held = sum(self.limits) * math.log((horizon + 300.0) / 300.0)
        return 1.0 + self.beta_max * (k - 1) * math.log(horizon) + held

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


def last_early(numbers: Numbers) -> int:
    """Round by round, from the definition of a late round."""
    c, n = numbers.constants, rebound(int(numbers.sizes.max()))
    early = 0
    for t in range(1, 20_000):
        s = t + c.head_start
        slow = all(c.eta0 * sigma / math.sqrt(s) <= 0.25 / (math.sqrt(2.0) * (1.0 + n)) for sigma in c.rate_factors)
        free = all(s >= 2.0 * limit for limit in numbers.limits)
        early = early if slow and free else t
    assert early < 10_000
    return early


def test_the_last_early_round_is_the_last_one() -> None:
    for sizes in ([1, 1], SIZES, [30, 2]):
        assert numbers_of(sizes).last_early_round == ByHand(sizes).t0 == last_early(numbers_of(sizes))
    shipped = Constants.practical(cover_of([1, 1]))
    held = numbers_of([1, 1], dataclasses.replace(shipped, eta0=1.0, head_start=0.0))
    assert held.limits.tolist() == [pytest.approx(625.0)] * 2  # the limit decides, not the rate: (1 / 0.04)^2
    assert held.last_early_round == last_early(held) == 1249
    moved = numbers_of([1, 1], dataclasses.replace(shipped, head_start=0.5))
    assert moved.last_early_round == last_early(moved) == 511  # 512.5 is the first s with a rate of at most 0.1768
    sharp = numbers_of([1, 1], Constants.sharp(cover_of([1, 1])))
    assert sharp.last_early_round == last_early(sharp) == 31  # the rate 1 / sqrt(32) is late
    assert [sharp.is_late(t) for t in (1, 31, 32, 33)] == [False, False, True, True]
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
        "OTHERS_GROWTH": 4.0,
        "NOT_DRAWN": 2.0 * 4.0,
        "OTHER_ARMS": 1.0 / 0.25,
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


def two_arms(share: float, rounds: int, first: float, second: float, seed: int) -> tuple[TsallisShannon, State]:
    """The shipped learner, but for its share, after some rounds in which its arms lose ``first`` and ``second``."""
    cover = cover_of([1, 1])
    learner = TsallisShannon(cover, dataclasses.replace(Constants.practical(cover), baseline_share=share))
    state, rng = learner.init(), np.random.default_rng(seed)
    for _ in range(rounds):
        ticket = learner.draw(state, rng.random(), rng.random())
        learner.update(state, ticket, np.array([first if ticket.clique == 0 else second]))
    return learner, state


def draw_second(learner: TsallisShannon, state: State) -> Ticket:
    ticket = learner.draw(state, 1.0 - float(learner.clique_mass(state)[1]) / 2.0, 0.5)
    assert ticket.clique == 1
    return ticket


@pytest.mark.compiled
@pytest.mark.parametrize("share", [0.5, 0.75, 0.9])
@pytest.mark.parametrize("second", [0.3, 0.5, 1.0])
@pytest.mark.parametrize(("before", "seed"), [(0, 0), (300, 1), (3000, 2)])
def test_an_arm_that_is_not_drawn_has_made_up_its_deficit_when_the_page_says(
    share: float, second: float, before: int, seed: int
) -> None:
    learner, state = two_arms(share, before, 1.0, second, seed)
    r = before + 1
    while draw_second(learner, state).baseline > second:  # the statement is about baselines of at most that loss
        learner.update(state, draw_second(learner, state), np.array([second]))
        r += 1
    losses = learner.cumulative_losses(state)
    start, mean = float(losses[0] - losses[1]), draw_second(learner, state).baseline / share
    assert start <= 0.08 * (r + 300.0) + 4.0 * math.sqrt(r + 300.0)
    rounds = math.ceil(max(0.0, start) / ((1.0 - share) * second) + (r + 99.0) / 19.0)
    for t in range(r, r + rounds + 20):
        losses = learner.cumulative_losses(state)
        deficit, q = float(losses[0] - losses[1]), learner.clique_mass(state)
        extra = share * max(0.0, mean - second) * (r + 99.0) / 19.0
        assert deficit <= start - (t - r) * (1.0 - share) * second + extra + 1e-9
        assert (q[0] >= q[1] - 1e-12) == (deficit <= 1e-9)
        if t >= r + rounds:
            assert deficit <= 0.0
            assert q[0] >= 0.5
        ticket = draw_second(learner, state)
        assert ticket.baseline <= second
        learner.update(state, ticket, np.array([second]))
        after = learner.cumulative_losses(state)
        assert after[0] == losses[0]
        if q[1] >= 0.5:  # then nothing is held back
            assert after[1] - losses[1] == pytest.approx((second - ticket.baseline) / q[1], abs=1e-9)
        assert after[1] - losses[1] >= 0.0


@pytest.mark.compiled
def test_with_the_whole_mean_an_arm_that_is_not_drawn_gains_nothing() -> None:
    learner, state = two_arms(1.0, 3000, 1.0, 0.5, 2)
    for _ in range(3000):  # until the mean is that of the second arm alone
        learner.update(state, draw_second(learner, state), np.array([0.5]))
    before = learner.cumulative_losses(state)
    for _ in range(3000):
        learner.update(state, draw_second(learner, state), np.array([0.5]))
    after = learner.cumulative_losses(state)
    assert after[0] == before[0]
    assert after[1] == pytest.approx(before[1], abs=1e-4)  # a share of 3/4 would add 375


def test_the_excess_of_the_mean_sums_to_what_the_page_says() -> None:
    for r in (1, 50, 10_000):
        excess, total = 1.0, 0.0
        for t in range(r, r + 100 * (r + 100)):
            total += excess
            excess *= 1.0 - 20.0 / (t + 100.0)
        assert total == pytest.approx((r + 99.0) / 19.0, rel=1e-6)


@pytest.mark.compiled
def test_a_draw_lifts_no_arm_further_above_another_than_the_limit_or_where_it_was() -> None:
    lifted = 0
    for seed in range(20):
        learner, state = two_arms(0.85, 0, 1.0, 0.5, seed)
        rng = np.random.default_rng([seed, 1])
        for t in range(1, 1500):
            before = learner.cumulative_losses(state)
            ticket = learner.draw(state, rng.random(), rng.random())
            learner.update(state, ticket, np.array([1.0 if ticket.clique == 0 else 0.5]))
            after = learner.cumulative_losses(state)
            if ticket.clique == 0:
                limit = 0.04 * (t + 300.0) + 6.0 * math.sqrt(t + 300.0)
                assert after[0] - after[1] <= max(before[0] - before[1], limit) + 1e-9
                lifted += after[0] - before[0] < (1.0 - ticket.baseline) / ticket.clique_probability - 1e-6
    assert lifted > 10  # some of these draws were held back


def test_the_change_is_seen_before_nine_tenths_with_the_numbers_of_the_page() -> None:
    for horizon in (22_000, 10**5, 10**6):
        r = 0.35 * horizon
        limit = 0.04 * (r + 300.0) + 6.0 * math.sqrt(r + 300.0)
        needed = limit / (0.15 * 0.5) + (r + 99.0) / 19.0
        by_page = 0.533 * (r + 300.0) + 80.0 * math.sqrt(r + 300.0) + 0.053 * (r + 99.0)
        assert needed == pytest.approx(by_page, rel=0.001)
        assert r + math.ceil(needed) <= 0.556 * horizon + 48.0 * math.sqrt(horizon + 900.0) + 200.0
        left = math.floor(0.9 * horizon - r - math.ceil(needed))
        assert 2.0**-left < 1e-9


def test_a_schedule_looks_in_time_with_far_fewer_draws() -> None:
    for horizon in np.unique(np.logspace(3.0, 7.0, 200).astype(int)):
        looks = np.exp(np.arange(0, 40) / 1.1)  # 1.1 draws in each factor e of rounds
        assert np.any((looks > 0.35 * horizon + 1) & (looks <= 0.9 * horizon))
