from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from allworlds.foundation.errors import InvalidParameter
from allworlds.ftrl.sharp import sharp_alpha
from allworlds.theory import (
    clique_penalty,
    sharp_adversarial_bound,
    sharp_corrupted_bound,
    sharp_general_bound,
    theorem_1_bound,
    theorem_2_bound,
)
from allworlds.theory.bounds import _bound


def test_theorem_2_adds_its_four_terms() -> None:
    horizon, n_arms = 4, 3
    q = np.tile([0.25, 0.75], (horizon, 1))
    bound = theorem_2_bound(n_arms, q, np.full(horizon, 0.04), np.full(horizon, 0.09), best_clique=1)
    rates = sum(1.0 / math.sqrt(t) for t in range(1, 5))
    log_nt = math.log(12.0)
    by_hand = 18.0 * log_nt + (6.0 * log_nt**2 * 0.5 + 2.0 * log_nt * 0.2 + 16.0 * 0.3) * rates
    assert bound.value == pytest.approx(by_hand)
    assert sum(bound.terms.values()) == pytest.approx(bound.value)
    assert not bound.applies
    assert bound.vacuous


def test_the_papers_condition_is_met_from_three_to_the_eleventh() -> None:
    for horizon, applies in ((3**11 // 3, True), (3**11 // 3 - 1, False)):
        zeros = np.zeros(horizon)
        assert theorem_2_bound(3, np.ones((horizon, 1)), zeros, zeros, best_clique=0).applies is applies
        assert theorem_1_bound(3, 1, horizon, [0.5]).applies is applies
    assert not theorem_1_bound(10**6, 1, 2, [0.5]).applies


def test_theorem_1_takes_the_smaller_branch() -> None:
    log2 = math.log(10**8) ** 2
    for corruption in (0.0, 1e6):
        bound = theorem_1_bound(100, 2, 10**6, [0.5, 0.25], corruption)
        difficulty = 6.0 * math.log(10**6)
        corrupted = 184.0 * log2 * (log2 * difficulty + math.sqrt(corruption * difficulty))
        assert bound.terms["adversarial"] == pytest.approx(184.0 * log2 * math.sqrt(2e6))
        assert bound.terms["corrupted"] == pytest.approx(corrupted)
        assert bound.value == min(bound.terms.values())


def test_the_sharp_general_bound_is_its_formula() -> None:
    q = np.array([[0.5, 0.25, 0.25], [0.6, 0.2, 0.2]])
    x = np.array([0.1, 0.05])
    bound = sharp_general_bound([3, 1, 2], q, x, best_clique=0)
    root = math.sqrt(math.log(3.0))
    b1 = 2.0 + 10.91 + 2.2 * root
    b2 = sharp_alpha(2) + math.log(2.0) + 10.91 + 2.2 * root
    by_hand = 18.0 * math.log(2.0) + 4.0 + sharp_alpha(3) / math.sqrt(2.0)
    for t in (0, 1):
        own = (11.29 + math.log(3.0)) * math.sqrt(x[t])
        by_hand += (b1 * math.sqrt(q[t, 1]) + b2 * math.sqrt(q[t, 2]) + own) / math.sqrt(t + 1)
    assert bound.value == pytest.approx(by_hand)


def test_the_sharp_adversarial_bound_is_its_formula() -> None:
    bound = sharp_adversarial_bound([2] * 4, 10**4)
    by_hand = 200.0 * (sharp_alpha(2) + math.log(2.0) + 5.21) + 27.0 * math.log(10**4) + 1.0
    assert bound.value == pytest.approx(by_hand)
    assert not bound.vacuous


def test_unequal_cliques_cost_less_than_the_largest_everywhere() -> None:
    mixed, largest = sharp_adversarial_bound([1, 1, 50], 10**5), sharp_adversarial_bound([50] * 3, 10**5)
    assert mixed.value < largest.value


@pytest.mark.parametrize("corruption", [0.0, 10.0, 1e5])
def test_the_sharp_corrupted_bound_is_the_best_choice_of_youngs_parameter(corruption: float) -> None:
    sizes, gaps, horizon = [3, 1, 2], [0.3, 0.2, 0.1], 10**5
    bound = sharp_corrupted_bound(sizes, gaps, 0, horizon, corruption)
    a, w = bound.terms["constant"], bound.terms["W"]

    def of(z: float) -> float:
        return float((2.0 * z * a + z * z * w + 2.0 * corruption) / (2.0 * z - 1.0))

    best = minimize_scalar(of, bounds=(0.5 + 1e-9, 1e3), method="bounded", options={"xatol": 1e-10}).fun
    assert bound.value == pytest.approx(best, rel=1e-6)
    assert bound.value <= 2.0 * a + w + math.sqrt(2.0 * corruption * w)


def test_w_adds_up_the_cliques_with_a_gap() -> None:
    bound = sharp_corrupted_bound([1, 1], [0.0, 0.5], 0, 100)
    assert bound.terms["W"] == pytest.approx((1.0 + math.log(100.0)) * 12.91**2 / 0.5)
    own = sharp_corrupted_bound([2], [0.5], 0, 100)
    assert own.terms["W"] == pytest.approx((1.0 + math.log(100.0)) * (11.29 + math.log(2.0)) ** 2 / 0.5)


def test_a_single_arm_costs_only_its_constant() -> None:
    assert sharp_corrupted_bound([1], [0.0], 0, 100).value == pytest.approx(4.2)


def test_what_the_theorems_do_not_cover_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="must be unique"):
        sharp_corrupted_bound([1, 1], [0.0, 0.0], 0, 100)
    with pytest.raises(InvalidParameter, match="must be unique"):
        sharp_corrupted_bound([1, 1], [0.1, 0.1], 0, 100)
    with pytest.raises(InvalidParameter, match="2 numbers from 0 to 1"):
        theorem_1_bound(2, 2, 10, [0.1])
    with pytest.raises(InvalidParameter, match="finite number of at least 0"):
        sharp_corrupted_bound([1, 1], [0.0, 0.1], 0, 100, corruption=-1.0)
    with pytest.raises(InvalidParameter, match="positive integer for each clique"):
        sharp_adversarial_bound([0, 2], 10)
    with pytest.raises(InvalidParameter, match=r"\(T, K\)"):
        sharp_general_bound([1, 1], [[0.5, 0.5]], [0.0, 0.0], best_clique=0)
    with pytest.raises(InvalidParameter, match=r"best_clique is .*; expected an integer from 0 to 1"):
        sharp_general_bound([1, 1], [[0.5, 0.5]], [0.0], best_clique=2)


NONSENSE = [0, -1, 1.5, 7.0, True, "a", None, math.nan, np.float64(3.0)]


@pytest.mark.parametrize("value", NONSENSE, ids=repr)
def test_what_is_no_count_is_refused_wherever_a_count_is_asked(value: object) -> None:
    zeros = np.zeros(2)
    for name, call in (
        ("horizon", lambda: theorem_1_bound(9, 1, value, [0.5])),
        ("horizon", lambda: sharp_adversarial_bound([1, 2], value)),
        ("horizon", lambda: sharp_corrupted_bound([1, 1], [0.0, 0.5], 0, value)),
        ("n_arms", lambda: theorem_1_bound(value, 1, 10, [0.5])),
        ("n_cliques", lambda: theorem_1_bound(9, value, 10, [0.5])),
        ("n_arms", lambda: theorem_2_bound(value, np.ones((2, 1)), zeros, zeros, best_clique=0)),
    ):
        with pytest.raises(InvalidParameter, match=rf"{name} is .*; expected an integer of at least 1"):
            call()


def test_counts_of_numpy_are_counts() -> None:
    assert sharp_adversarial_bound([1, 2], np.int64(50)) == sharp_adversarial_bound(np.array([1, 2]), 50)


def test_more_cliques_than_arms_are_refused() -> None:
    zeros = np.zeros(3)
    with pytest.raises(InvalidParameter, match="n_cliques is 2; expected at most n_arms = 1"):
        theorem_1_bound(1, 2, 10, [0.5, 0.5])
    with pytest.raises(InvalidParameter, match="n_cliques is 2; expected at most n_arms = 1"):
        theorem_2_bound(1, np.full((3, 2), 0.5), zeros, zeros, best_clique=0)


def test_every_clique_has_its_column_of_masses() -> None:
    with pytest.raises(InvalidParameter, match="2 columns but there are 1 cliques"):
        sharp_general_bound([2], [[0.5, 0.5]], [0.0], 0)
    with pytest.raises(InvalidParameter, match="2 columns but there are 3 cliques"):
        sharp_general_bound([2, 1, 1], [[0.5, 0.5]], [0.0], 0)


@pytest.mark.parametrize("row", [[-0.1, 1.1], [math.nan, 0.5], [0.5, 0.6], [0.2, 0.2], [math.inf, 0.0]], ids=str)
def test_masses_that_are_no_distribution_are_refused(row: list[float]) -> None:
    with pytest.raises(InvalidParameter, match="not a distribution"):
        sharp_general_bound([1, 1], [[0.5, 0.5], row], [0.0, 0.0], 0)
    with pytest.raises(InvalidParameter, match="not a distribution"):
        theorem_2_bound(2, [[0.5, 0.5], row], [0.0, 0.0], [0.0, 0.0], 0)


@pytest.mark.parametrize("x", [-0.1, 0.6, math.nan])
def test_the_mass_beside_the_best_arm_is_part_of_its_cliques(x: float) -> None:
    with pytest.raises(InvalidParameter, match="others is below 0 or above the best clique's mass"):
        sharp_general_bound([2, 1], [[0.5, 0.5]], [x], 0)
    with pytest.raises(InvalidParameter, match="others is below 0 or above the best clique's mass"):
        theorem_2_bound(3, [[0.5, 0.5]], [x], [0.0], 0)
    if x != 0.6:
        with pytest.raises(InvalidParameter, match="1 numbers from 0 to 1"):
            theorem_2_bound(3, [[0.5, 0.5]], [0.0], [x], 0)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: sharp_general_bound([1], np.ones((0, 1)), [], 0), "at least 1"),
        (lambda: sharp_general_bound([1, 1], "ab", [0.0], 0), "expected numbers in a regular shape"),
        (lambda: sharp_general_bound([[1], [1, 2]], [[1.0]], [0.0], 0), "positive integer for each clique"),
        (lambda: sharp_general_bound([1.0, 1.0], [[0.5, 0.5]], [0.0], 0), "positive integer for each clique"),
        (
            lambda: sharp_general_bound([1, 1], [[0.5, 0.5]], [0.0], True),
            "best_clique is .*; expected an integer from 0 to 1",
        ),
        (
            lambda: sharp_corrupted_bound([1, 1], [0.0, 0.5], "a", 10),
            "best_clique is .*; expected an integer from 0 to 1",
        ),
        (lambda: sharp_corrupted_bound([1, 1], [0.0, 0.5], 0, 10, "a"), "finite number of at least 0"),
        (lambda: sharp_corrupted_bound([1, 1], [0.0, 0.5], 0, 10, math.nan), "finite number of at least 0"),
        (lambda: theorem_1_bound(2, 1, 10, [0.5], math.inf), "finite number of at least 0"),
        (lambda: theorem_1_bound(2, 1, 10, [math.nan]), "1 numbers from 0 to 1"),
        (lambda: theorem_1_bound(2, 1, 10, ["a"]), "expected numbers in a regular shape"),
    ],
)
def test_other_nonsense_is_refused_in_a_sentence(call, match: str) -> None:
    with pytest.raises(InvalidParameter, match=match):
        call()


def test_the_trivial_bound_is_the_largest_gap_times_the_horizon_and_twice_the_corruption() -> None:
    stochastic = sharp_corrupted_bound([1] * 10, [0.0] + [0.125] * 9, 0, 10**6)
    assert stochastic.trivial == 0.125 * 10**6
    assert stochastic.vacuous  # 180,027: below the horizon, above what any play can lose
    assert stochastic.value < 10**6
    assert sharp_corrupted_bound([1] * 10, [0.0] + [0.125] * 9, 0, 10**6, 2000.0).trivial == 129_000.0
    assert sharp_corrupted_bound([1] * 10, [0.0] + [0.125] * 9, 0, 10**6, 1e6).trivial == 10**6
    wider = sharp_corrupted_bound([1] * 10, [0.0] + [0.125] * 9, 0, 10**6, largest_gap=0.5)
    assert wider.trivial == 500_000.0
    assert not wider.vacuous
    assert not sharp_corrupted_bound([1] * 10, [0.0] + [0.125] * 9, 0, 10**7).vacuous


def test_theorem_1_compares_with_the_largest_gap_too() -> None:
    assert theorem_1_bound(100, 2, 10**6, [0.5, 0.25]).trivial == 500_000.0
    assert theorem_1_bound(100, 2, 10**6, [0.5, 0.25], 100.0).trivial == 500_200.0
    assert theorem_1_bound(100, 2, 10**6, [0.5, 0.25], largest_gap=0.75).trivial == 750_000.0


def test_bounds_that_know_no_gaps_compare_with_the_horizon_unless_told() -> None:
    zeros = np.zeros(5)
    assert sharp_adversarial_bound([1, 1], 50).trivial == 50.0
    for gap in (1.0, 0.5):
        general = sharp_general_bound([1, 1], np.full((5, 2), 0.5), zeros, 0, largest_gap=gap)
        printed = theorem_2_bound(2, np.full((5, 2), 0.5), zeros, zeros, 0, largest_gap=gap)
        assert general.trivial == printed.trivial == 5.0 * gap
    assert sharp_general_bound([1, 1], np.full((5, 2), 0.5), zeros, 0).trivial == 5.0
    assert theorem_2_bound(2, np.full((5, 2), 0.5), zeros, zeros, 0).trivial == 5.0
    with pytest.raises(InvalidParameter, match=r"largest_gap is 2\.0"):
        theorem_1_bound(2, 1, 10, [0.5], largest_gap=2.0)


def test_a_bound_that_equals_the_trivial_one_says_nothing() -> None:
    bound = sharp_adversarial_bound([1], 1)
    assert bound.value == pytest.approx(2.0 + 5.21 + 1.0)
    assert bound.vacuous
    for value, vacuous in ((4.999, False), (5.0, True), (5.001, True)):
        assert _bound(value, 10, {}, largest_gap=0.4, corruption=0.5).vacuous is vacuous
    exact = sharp_corrupted_bound([1], [0.0], 0, 100)
    assert exact.trivial == 0.0
    assert exact.vacuous


def test_each_bound_names_its_parts() -> None:
    adversarial = sharp_adversarial_bound([2] * 4, 10**4)
    assert adversarial.terms["barrier"] == pytest.approx(27.0 * math.log(10**4) + 1.0)
    assert adversarial.terms["penalty"] == pytest.approx(200.0 * (sharp_alpha(2) + math.log(2.0)))
    assert adversarial.terms["stability"] == pytest.approx(5.21 * 200.0)
    general = sharp_general_bound([3, 1], [[0.5, 0.5]], [0.1], best_clique=0)
    assert general.terms["constant"] == pytest.approx(4.0 + sharp_alpha(3))
    assert general.terms["other cliques"] == pytest.approx(
        (2.0 + 10.91 + 2.2 * math.sqrt(math.log(3.0))) * math.sqrt(0.5)
    )
    assert general.terms["best clique"] == pytest.approx((11.29 + math.log(3.0)) * math.sqrt(0.1))
    printed = theorem_2_bound(3, [[0.25, 0.75]], [0.04], [0.09], best_clique=1)
    assert printed.terms["barrier"] == pytest.approx(18.0 * math.log(3.0))
    assert printed.terms["other cliques"] == pytest.approx(6.0 * math.log(3.0) ** 2 * 0.5)
    assert printed.terms["best clique"] == pytest.approx(2.0 * math.log(3.0) * 0.2)
    assert printed.terms["half step"] == pytest.approx(16.0 * 0.3)
    for bound in (adversarial, general, printed):
        assert bound.value == pytest.approx(sum(bound.terms.values()))
    assert adversarial.applies
    assert general.applies


def test_the_smaller_branch_of_theorem_1_needs_three_rounds_and_no_more() -> None:
    assert theorem_1_bound(10**6, 1, 3, [0.5]).applies
    assert not theorem_1_bound(10**6, 1, 2, [0.5]).applies


def test_a_cliques_penalty_is_its_formula() -> None:
    for size in (1, 2, 7):
        assert clique_penalty(size) == pytest.approx((sharp_alpha(size) + math.log(size)) ** 2 + 5.21**2)


def test_the_corrupted_bound_is_its_formula() -> None:
    bound = sharp_corrupted_bound([2, 1], [0.5, 0.25], 0, 100, corruption=7.0)
    a = 9.0 * math.log(100.0) + 4.0 + sharp_alpha(2) / 10.0
    own = (11.29 + math.log(2.0)) ** 2 / 0.5
    other = (12.91 + 2.2 * math.sqrt(math.log(2.0))) ** 2 / 0.25
    w = (1.0 + math.log(100.0)) * (own + other)
    assert bound.terms == pytest.approx({"constant": a, "W": w})
    assert bound.value == pytest.approx(a + w / 2.0 + math.sqrt(w * (w / 4.0 + a + 14.0)))
