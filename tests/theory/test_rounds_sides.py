"""A round's own numbers, written out arm by arm."""

from __future__ import annotations

import numpy as np
import pytest

from allworlds.foundation.errors import InvalidParameter
from allworlds.ftrl.constants import Constants
from allworlds.ftrl.solve import solve_ftrl
from allworlds.theory import Round, round_state
from allworlds.theory.rounds import half_steps, masses
from theory import by_definition as own
from theory.states import cover_of

ROUNDS = own.few_rounds()


def test_masses_estimates_and_neighbours_are_their_sums_over_arms() -> None:
    for state in ROUNDS:
        cliques = state.cover.cliques
        np.testing.assert_allclose(state.mass, [own.mass(state.distribution, clique) for clique in cliques])
        np.testing.assert_allclose(masses(state.cover, state.losses), [own.mass(state.losses, c) for c in cliques])
        expected = [[own.mass(step, clique) for clique in cliques] for step in state.half_steps]
        np.testing.assert_allclose(state.half_mass, expected)
        np.testing.assert_allclose(state.estimates, [own.estimates(state, k) for k in range(len(cliques))])
        assert state.best_clique == own.best_clique(state)
        assert sorted(state.others) == sorted(i for i in cliques[state.best_clique] if i != state.best_arm)
        assert state.others_mass == pytest.approx(own.beside(state, state.distribution))
        assert state.best_mass == pytest.approx(own.mass(state.distribution, cliques[state.best_clique]))
        assert state.root_sum == pytest.approx(own.root_sum(state))


def test_a_segment_is_seventeen_even_steps() -> None:
    for state in ROUNDS:
        for k in range(state.cover.n_cliques):
            np.testing.assert_allclose(state.segment(k), own.segment(state, k), rtol=1e-12, atol=1e-15)


def test_the_largest_dual_norm_and_an_expectation_are_found_by_looking_at_all() -> None:
    for state in ROUNDS:
        alphas = np.broadcast_to(state.constants.alpha, state.cover.n_cliques)
        values = np.arange(1.0, state.cover.n_cliques + 1.0)
        assert state.expected(values) == pytest.approx(own.expected(state, lambda k, v=values: float(v[k])))
        for k in range(state.cover.n_cliques):
            g = own.shifted(state, k)
            norms = [own.dual_norm(g, p, state.cover, alphas) for p in own.segment(state, k)]
            assert state.largest_dual_norm(k, g) == pytest.approx(max(norms), rel=1e-8)


def test_each_half_step_solves_the_step_after_its_own_estimates() -> None:
    for state in ROUNDS:
        at = (state.cover, state.cumulative_losses, state.distribution, state.losses, state.learning_rate)
        steps = half_steps(*at, state.constants)
        for k in range(state.cover.n_cliques):
            after = state.cumulative_losses + own.estimates(state, k)
            alone = solve_ftrl(state.cover, after, state.learning_rate, state.constants).distribution
            np.testing.assert_allclose(steps[k], alone, rtol=1e-12)
            np.testing.assert_allclose(state.half_steps[k], alone, rtol=1e-12)


def test_the_ends_of_what_is_accepted_are_accepted() -> None:
    cover = cover_of([2, 1])
    constants = Constants.sharp(cover)
    for arm in (0, 2):
        assert isinstance(round_state(cover, np.zeros(3), np.array([0.0, 1.0, 0.5]), 0.5, constants, arm), Round)
    for losses in ([0.0, 0.0, -1e-9], [0.0, np.nan, 0.0]):
        with pytest.raises(InvalidParameter, match="between 0 and 1"):
            round_state(cover, np.zeros(3), np.array(losses), 0.5, constants, 0)
    for arm in (-1, 3):
        with pytest.raises(InvalidParameter, match="an arm from 0 to 2"):
            round_state(cover, np.zeros(3), np.zeros(3), 0.5, constants, arm)
