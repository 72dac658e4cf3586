"""Both sides of the lemmas about the iterates, written out clique by clique and arm by arm."""

from __future__ import annotations

import math

import numpy as np
import pytest

from allworlds.foundation.errors import InvalidConstants
from allworlds.theory import lemma_7, lemma_8, lemma_9, mass_ratio, mass_stability
from theory import by_definition as own

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
