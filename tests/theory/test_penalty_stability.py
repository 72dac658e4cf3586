from __future__ import annotations

import math

import numpy as np
import pytest

from allworlds.foundation.errors import InvalidParameter
from allworlds.ftrl.constants import Constants
from allworlds.theory import Check, Round, lemma_3, lemma_4, lemma_5, theorem_3
from allworlds.theory.regulariser import sharp_comparator, shrunk_comparator
from theory.states import cover_of, played


def exponential_weights(gradients: np.ndarray, rates: np.ndarray, comparator: np.ndarray) -> Check:
    """Theorem 3 with ``psi`` the negative entropy and ``phi = 0``: both steps are softmaxes."""

    def softmax(v: np.ndarray) -> np.ndarray:
        e = np.exp(v - v.max(axis=1, keepdims=True))
        return np.asarray(e / e.sum(axis=1, keepdims=True))

    def negative_entropy(p: np.ndarray) -> float:
        return float(p[p > 0] @ np.log(p[p > 0]))

    total = np.cumsum(gradients, axis=0)
    points, half = softmax(-rates[:, None] * (total - gradients)), softmax(-rates[:, None] * total)
    return theorem_3(
        gradients,
        points,
        half,
        rates,
        comparator,
        psi=negative_entropy,
        phi=lambda p: 0.0,
        dual_norm=lambda g, p: float(p @ g**2),
    )


def test_theorem_3_holds_for_exponential_weights() -> None:
    rng = np.random.default_rng(0)
    for _ in range(30):
        gradients = rng.normal(size=(40, 4)) * rng.choice([0.1, 1.0, 3.0])
        rates = 1.0 / np.sqrt(np.arange(1, 41))
        assert exponential_weights(gradients, rates, rng.dirichlet(np.ones(4))).holds
        assert exponential_weights(gradients, rates, np.eye(4)[gradients.sum(axis=0).argmin()]).holds


def test_theorem_3_notices_points_that_do_not_lead() -> None:
    gradients = np.tile([1.0, 0.0], (400, 1))
    worst = np.tile([0.999, 0.001], (400, 1))
    check = theorem_3(
        gradients,
        worst,
        worst,
        np.full(400, 0.05),
        np.array([0.0, 1.0]),
        psi=lambda p: float(p @ np.log(np.maximum(p, 1e-300))),
        phi=lambda p: 0.0,
        dual_norm=lambda g, p: float(p @ g**2),
    )
    assert not check.holds


@pytest.mark.parametrize("sizes", [[3, 2], [1, 1, 1], [4], [5, 1, 2]])
def test_lemma_3_holds_along_runs_with_both_sets_of_constants(sizes: list[int]) -> None:
    cover, horizon = cover_of(sizes), 60
    for seed, constants in enumerate((Constants.sharp(cover), Constants.paper(cover, horizon))):
        run = played(cover, constants, horizon, seed)
        best = int(run.losses.sum(axis=0).argmin())
        comparator = shrunk_comparator(cover.n_arms, best, constants.gamma)
        if constants.gamma == 0.0:
            comparator = sharp_comparator(cover, best, horizon)
        check = lemma_3(
            cover,
            constants,
            run.estimates,
            run.losses[:, best],
            run.distributions,
            run.half_steps,
            run.rates,
            comparator,
        )
        assert check.holds


@pytest.mark.parametrize("sizes", [[3, 2], [1, 1, 1], [4], [5, 1, 2]])
def test_lemma_4_holds_along_runs_with_the_papers_constants(sizes: list[int]) -> None:
    cover, horizon = cover_of(sizes), 200
    run = played(cover, Constants.paper(cover, horizon), horizon, 3)
    for best in range(cover.n_arms):
        assert lemma_4(run.distributions, cover, best, 1.0 / (cover.n_arms * horizon)).holds


def test_lemma_4_holds_for_any_distributions_above_the_floor() -> None:
    rng = np.random.default_rng(4)
    cover = cover_of([4, 3, 1])
    gamma = 1e-4
    for _ in range(50):
        play = gamma + (1.0 - 8 * gamma) * rng.dirichlet(np.full(8, 0.1), size=20)
        assert lemma_4(play, cover, int(rng.integers(8)), gamma).holds


def test_lemma_4s_right_side_is_its_formula() -> None:
    cover = cover_of([1, 1])
    check = lemma_4(np.full((1, 2), 0.5), cover, 0, 0.01)
    log_floor = math.log(100.0)
    assert check.right == pytest.approx(18.0 * log_floor + 5.0 * log_floor**2 * math.sqrt(0.5))


@pytest.mark.parametrize("gamma", [0.0, -0.1, math.nan, 0.6, "a"])
def test_lemma_4_refuses_what_is_no_floor(gamma: object) -> None:
    with pytest.raises(InvalidParameter, match=r"a number above 0 and at most 0\.5"):
        lemma_4(np.full((1, 2), 0.5), cover_of([1, 1]), 0, gamma)


def test_lemma_4_refuses_play_below_the_floor() -> None:
    with pytest.raises(InvalidParameter, match=r"expected at least gamma = 0\.1"):
        lemma_4(np.array([[0.95, 0.05]]), cover_of([1, 1]), 0, 0.1)


def test_lemma_5_held_on_every_state_that_was_tried(sharp_rounds: list[Round], paper_rounds: list[Round]) -> None:
    for state in sharp_rounds + paper_rounds:
        assert lemma_5(state).holds
