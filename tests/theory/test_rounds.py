from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from allworlds import graphs
from allworlds.covers import clique_cover
from allworlds.foundation.errors import InvalidConstants, InvalidParameter
from allworlds.ftrl.constants import Constants
from allworlds.theory import Round, round_state
from allworlds.theory.regulariser import log_barrier_gradient, tsallis_shannon_gradient
from allworlds.theory.rounds import half_steps
from theory.states import cover_of


def gradient_spread(state: Round, p: np.ndarray, cumulative: np.ndarray) -> float:
    """How far the objective's gradient is from constant: 0 at an interior minimiser over the simplex."""
    gradient = cumulative + log_barrier_gradient(p, state.cover, state.constants.beta)
    gradient = gradient + tsallis_shannon_gradient(p, state.cover, state.constants.alpha) / state.learning_rate
    return float(np.ptp(gradient) / np.abs(gradient).max())


def test_the_step_and_every_half_step_minimise_their_objectives(sharp_rounds: list[Round]) -> None:
    checked = 0
    for state in sharp_rounds:
        if state.distribution.min() < 1e-8 or state.half_steps.min() < 1e-8:
            continue
        assert gradient_spread(state, state.distribution, state.cumulative_losses) < 1e-8
        for step, estimate in zip(state.half_steps, state.estimates, strict=True):
            assert gradient_spread(state, step, state.cumulative_losses + estimate) < 1e-8
        checked += 1
    assert checked > 50


def test_the_estimates_are_unbiased(sharp_rounds: list[Round]) -> None:
    for state in sharp_rounds:
        np.testing.assert_allclose(state.mass @ state.estimates, state.losses, atol=1e-12)


def test_the_roots_of_the_other_cliques_exceed_the_root_of_their_mass(sharp_rounds: list[Round]) -> None:
    for state in sharp_rounds:
        assert state.root_sum >= np.sqrt(max(0.0, 1.0 - state.best_mass)) - 1e-7


def test_a_segment_has_both_its_ends(sharp_rounds: list[Round]) -> None:
    state = sharp_rounds[0]
    np.testing.assert_array_equal(state.segment(0)[0], state.distribution)
    np.testing.assert_array_equal(state.segment(0)[-1], state.half_steps[0])


def test_losses_outside_the_unit_interval_and_unknown_arms_are_refused() -> None:
    cover = cover_of([2, 1])
    with pytest.raises(InvalidParameter, match="between 0 and 1"):
        round_state(cover, np.zeros(3), np.array([0.0, 0.0, 1.1]), 0.5, Constants.sharp(cover), 0)
    with pytest.raises(InvalidParameter, match="an arm from 0 to 2"):
        round_state(cover, np.zeros(3), np.zeros(3), 0.5, Constants.sharp(cover), 3)


def test_a_round_has_the_rate_that_it_is_given_and_otherwise_that_of_its_number() -> None:
    cover = cover_of([2, 1])
    given = round_state(cover, np.zeros(3), np.zeros(3), 0.3, Constants.sharp(cover), 0)
    assert given.learning_rate == 0.3
    assert dataclasses.replace(given, rate=None, round=16).learning_rate == 0.25  # 1 / sqrt(16)


def test_constants_with_other_estimates_than_the_papers_are_refused():
    cover = clique_cover(graphs.disjoint_cliques(2, 2))
    p = np.full(4, 0.25)
    with pytest.raises(InvalidConstants, match="practical constants have other estimates"):
        half_steps(cover, np.zeros(4), p, p, 0.1, Constants.practical(cover))
