from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from allworlds.foundation.errors import InvalidParameter
from allworlds.ftrl.constants import Constants
from allworlds.ftrl.sharp import sharp_alpha
from allworlds.ftrl.solve import solve_ftrl
from allworlds.theory import Check, Round, round_state, sharp
from theory.states import cover_of, late, random_round

ROUND_STEPS: list[Callable[[Round], Check]] = [
    sharp.stability_at_most_one,
    sharp.stability_at_most_half_norm,
    sharp.drawn_elsewhere,
    sharp.drawn_best_arm,
    sharp.not_drawn,
    sharp.plain_stability,
]
LATE_STEPS: list[Callable[[Round], Check]] = [sharp.drawn_other_arms, sharp.stability]


@pytest.mark.parametrize("step", ROUND_STEPS, ids=lambda step: step.__name__)
def test_every_step_about_a_round_holds(step: Callable[[Round], Check], sharp_rounds: list[Round]) -> None:
    for state in sharp_rounds:
        assert step(state).holds


@pytest.mark.parametrize("step", LATE_STEPS, ids=lambda step: step.__name__)
def test_every_step_from_round_4_on_holds(step: Callable[[Round], Check], sharp_rounds: list[Round]) -> None:
    for state in late(sharp_rounds):
        assert step(state).holds


def test_the_rounds_begin_with_the_first_and_few_steps_need_a_later_one(sharp_rounds: list[Round]) -> None:
    rounds = [round(state.learning_rate**-2) for state in sharp_rounds]
    assert {1, 2, 3, 4} <= set(rounds)
    assert len(late(sharp_rounds)) == sum(number >= 4 for number in rounds) > 150


def test_the_half_step_lemma_holds_where_the_best_clique_has_most_mass(sharp_rounds: list[Round]) -> None:
    heavy = [state for state in late(sharp_rounds) if state.best_mass > 0.5]
    assert len(heavy) > 50
    for state in heavy:
        assert sharp.half_step_lemma(state).holds


def test_every_step_about_the_penalty_holds(sharp_rounds: list[Round]) -> None:
    for state in sharp_rounds:
        assert sharp.best_clique_entropy(state.distribution, state.cover, state.best_arm).holds
        for horizon in (1, 10, 10**6):
            assert sharp.entropy_penalty(state.distribution, state.cover, state.best_arm, horizon).holds
            assert sharp.plain_penalty(state.distribution, state.cover, state.best_arm, horizon).holds


@pytest.mark.parametrize("sizes", [[1, 1], [3, 3, 3], [40] * 5])
def test_the_penalty_by_norms_is_attained_by_equal_cliques(sizes: list[int]) -> None:
    cover = cover_of(sizes)
    check = sharp.plain_penalty(np.full(cover.n_arms, 1.0 / cover.n_arms), cover, 0, 10**12)
    own = sharp_alpha(sizes[0])  # what the comparator's own entropy takes off; the rest is an equality
    assert check.right == pytest.approx((own + math.log(sizes[0])) * math.sqrt(len(sizes)))
    assert check.right - check.left == pytest.approx(own, rel=1e-5)


@pytest.mark.parametrize("sizes", [[1], [3], [2, 2], [1, 5, 3], [1] * 10])
def test_the_barriers_penalty_is_at_most_nine_logarithms_a_clique(sizes: list[int]) -> None:
    cover = cover_of(sizes)
    first = solve_ftrl(cover, np.zeros(cover.n_arms), 1.0, Constants.sharp(cover)).distribution
    for horizon in (1, 2, 100, 10**9):
        assert sharp.barrier_penalty(first, cover, 0, horizon).holds


def test_the_comparator_costs_at_most_one() -> None:
    rng = np.random.default_rng(0)
    cover = cover_of([2, 3, 1])
    for horizon in (1, 7, 300):
        worst = np.ones((horizon, 6))
        worst[:, 4] = 0.0
        assert sharp.comparator_cost(worst, cover, 4).left == pytest.approx(2.0 / 3.0)
        assert sharp.comparator_cost(rng.random((horizon, 6)), cover, 4).holds


def test_the_half_step_inside_a_clique_is_a_power_times_a_softmax(sharp_rounds: list[Round]) -> None:
    for state in sharp_rounds[:100]:
        k = state.best_clique
        clique = list(state.cover.cliques[k])
        y, after = state.distribution[clique], state.half_steps[k][clique]
        tau = math.sqrt(after.sum() / y.sum())
        s_plus = state.learning_rate * math.sqrt(after.sum())
        logits = tau * np.log(y) - s_plus * state.estimates[k][clique]
        expected = np.exp(logits - logits.max())
        np.testing.assert_allclose(after / after.sum(), expected / expected.sum(), rtol=1e-6, atol=1e-12)


def test_stability_is_the_gap_of_two_minima(sharp_rounds: list[Round]) -> None:
    for state in sharp_rounds[:100]:
        assert state.stabilities.min() >= -1e-9 * (1.0 + np.abs(state.cumulative_losses).max())


def test_a_tighter_claim_than_half_the_norm_would_fail(sharp_rounds: list[Round]) -> None:
    checks = [sharp.stability_at_most_half_norm(state) for state in sharp_rounds]
    assert any(check.left > 0.9 * check.right > 1e-6 for check in checks)


def test_a_tighter_claim_about_the_entropy_penalty_would_fail(sharp_rounds: list[Round]) -> None:
    checks = [sharp.entropy_penalty(s.distribution, s.cover, s.best_arm, 10**6) for s in sharp_rounds]
    assert any(check.ratio > 0.8 for check in checks)


def test_steps_that_need_a_later_round_say_so() -> None:
    cover = cover_of([2, 1])
    early = round_state(cover, np.zeros(3), np.ones(3), 1.0, Constants.sharp(cover), 0)
    late = round_state(cover, np.array([9.0, 9.0, 9.0]), np.ones(3), 0.5, Constants.sharp(cover), cover.cliques[1][0])
    with pytest.raises(InvalidParameter, match="that of round 4"):
        sharp.stability(early)
    assert late.best_mass < 0.5
    with pytest.raises(InvalidParameter, match="more than 1/2"):
        sharp.half_step_lemma(late)


@pytest.mark.slow
def test_every_step_holds_on_thousands_of_states() -> None:
    rng = np.random.default_rng(2022)  # not the seed of benchmarks/proof_steps.py, which looks at others
    for _ in range(4000):
        state = random_round(rng)
        checks = [step(state) for step in ROUND_STEPS]
        checks.append(sharp.best_clique_entropy(state.distribution, state.cover, state.best_arm))
        if late([state]):
            checks += [step(state) for step in LATE_STEPS]
        if late([state]) and state.best_mass > 0.5:
            checks.append(sharp.half_step_lemma(state))
        assert all(check.holds for check in checks)
