from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from allworlds.foundation.errors import InvalidConstants
from allworlds.ftrl.constants import Constants
from allworlds.theory import Round, lemma_7, lemma_8, lemma_9, mass_ratio, mass_stability, round_state
from theory import by_definition as own
from theory.states import cover_of


def test_lemma_7_holds_with_the_papers_and_with_sharp_constants(
    sharp_rounds: list[Round], paper_rounds: list[Round]
) -> None:
    for state in sharp_rounds + paper_rounds:
        assert lemma_7(state).holds
        assert mass_stability(state).holds


def test_without_a_barrier_the_masses_jump() -> None:
    cover = cover_of([1, 1])
    bare = Constants(alpha=(2.0, 2.0), beta=0.0, gamma=0.0, eta0=10.0)
    state = round_state(cover, np.array([2.0, 0.0]), np.array([0.0, 1.0]), 10.0, bare, 1)
    assert not lemma_7(state).holds


def test_the_ratio_makes_the_proofs_last_line_an_equality() -> None:
    for beta in (2.5, 4.0, 9.0, 100.0):
        rho = mass_ratio(beta)
        b = math.sqrt(2.0 * beta) / (math.sqrt(beta) - math.sqrt(2.0))
        assert rho == pytest.approx(1.0 + b / math.sqrt(beta))
        assert b**2 / (2.0 * rho**2) == pytest.approx(1.0)
    assert mass_ratio(9.0) < 7.0 / 3.0


def test_a_barrier_of_two_or_less_gives_no_ratio() -> None:
    with pytest.raises(InvalidConstants, match="expected more than 2"):
        mass_ratio(2.0)


def test_lemma_8_holds_for_every_draw(sharp_rounds: list[Round], paper_rounds: list[Round]) -> None:
    for state in sharp_rounds + paper_rounds:
        assert lemma_8(state).holds


def test_lemma_8_notices_a_step_in_the_wrong_direction(sharp_rounds: list[Round]) -> None:
    state = next(state for state in sharp_rounds if state.cover.n_cliques == 2 and state.losses.min() > 0.1)
    backwards = 2.0 * state.distribution - state.half_steps
    swapped = dataclasses.replace(state)
    swapped.__dict__["half_steps"] = backwards
    assert not lemma_8(swapped).holds


@pytest.mark.parametrize("gamma", [1e-4, 0.05, 0.2])
def test_lemma_9_holds_for_any_play(gamma: float) -> None:
    rng = np.random.default_rng(0)
    for _ in range(100):
        p, losses = rng.dirichlet(np.ones(5), size=30), rng.random((30, 5)).round()
        assert lemma_9(p, losses, int(rng.integers(5)), gamma).holds


def test_lemma_9_is_tight_when_only_the_best_arm_is_free() -> None:
    losses = np.ones((10, 4))
    losses[:, 2] = 0.0
    check = lemma_9(np.full((10, 4), 0.25), losses, 2, gamma=0.1)
    assert check.slack == pytest.approx(0.1 * 10 * 4 - 0.1 * 3 * 10)


ROUNDS = own.few_rounds()


def test_the_masses_are_compared_clique_by_clique_for_every_draw() -> None:
    fell = False
    for state in ROUNDS:
        ratios = [
            own.mass(step, clique) / own.mass(state.distribution, clique)
            for step in state.half_steps
            for clique in state.cover.cliques
        ]
        check = lemma_7(state)
        assert check.left == pytest.approx(max(ratios), rel=1e-12)
        assert check.right == 7.0 / 3.0
        check = mass_stability(state)
        assert check.left == pytest.approx(max(abs(ratio - 1.0) for ratio in ratios), rel=1e-9, abs=1e-15)
        assert check.right == pytest.approx(math.sqrt(2.0) / (3.0 - math.sqrt(2.0)), rel=1e-12)
        fell |= max(ratios) - 1.0 < 1.0 - min(ratios) - 1e-6
    assert fell  # in some round a mass fell by more than any rose


def test_the_ratio_is_known_by_hand_and_starts_above_two() -> None:
    assert mass_ratio(8.0) == pytest.approx(2.0)
    assert mass_ratio(18.0) == pytest.approx(1.5)
    assert mass_ratio(2.0001) > 1e4
    with pytest.raises(InvalidConstants, match=r"beta is 2\.0"):
        mass_ratio(2.0)
    with pytest.raises(InvalidConstants, match="beta is nan"):
        mass_ratio(math.nan)


def test_the_estimated_losses_are_those_of_the_draw_with_the_least_room() -> None:
    for state in ROUNDS:
        sides = [
            (math.fsum(step * own.estimates(state, k)), math.fsum(state.distribution * own.estimates(state, k)))
            for k, step in enumerate(state.half_steps)
        ]
        after, before = max(sides, key=lambda both: both[0] - both[1])
        check = lemma_8(state)
        assert check.left == pytest.approx(after, rel=1e-12)
        assert check.right == pytest.approx(before, rel=1e-12)


def test_regret_against_the_comparator_is_its_definition() -> None:
    rng = np.random.default_rng(0)
    p, losses, gamma = rng.dirichlet(np.ones(4), size=6), rng.random((6, 4)), 0.1
    check = lemma_9(p, losses, 2, gamma)
    incurred = math.fsum(p[t, i] * losses[t, i] for t in range(6) for i in range(4))
    target = [0.1, 0.1, 0.7, 0.1]
    against = math.fsum(target[i] * losses[t, i] for t in range(6) for i in range(4))
    assert check.left == pytest.approx(incurred - math.fsum(losses[:, 2]))
    assert check.right == pytest.approx(incurred - against + 0.1 * 6 * 4)
    assert check.scale == pytest.approx(incurred)
