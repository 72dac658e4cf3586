from __future__ import annotations

import numpy as np
import pytest

import allworlds as aw
from allworlds.foundation.errors import AllWorldsError
from allworlds.theory.reference import solve_reference
from instances_of_ftrl import Step, random_steps, step


def mild(instance: Step) -> bool:
    """Spreads that the reference can walk: its Newton works on log p, down to about 1e-4000."""
    return np.ptp(instance.losses) * instance.learning_rate < 1e4


SMALL = [it for it in random_steps(220, seed=30, most_arms=7) if mild(it)]


@pytest.mark.parametrize("instance", SMALL, ids=lambda it: it.name)
def test_the_step_agrees_with_fifty_digits_wherever_doubles_can_say_it(instance: Step) -> None:
    exact = solve_reference(instance.cover, instance.losses, instance.learning_rate, instance.constants)
    ours = instance.solve().distribution
    for mine, theirs in zip(ours, exact, strict=True):
        if theirs > 1e-300:
            assert abs(mine / theirs - 1) <= 1e-9


def test_the_zoo_of_small_instances_covers_floors_and_small_probabilities() -> None:
    assert len(SMALL) >= 60
    assert sum(it.gamma > 0 for it in SMALL) >= 20
    smallest = min(it.solve().distribution.min() for it in SMALL)
    assert smallest < 1e-100


def test_the_reference_matches_a_softmax_known_in_closed_form() -> None:
    instance = step("one clique", [3], [0.0, 1.0, 2.0], 1.0)
    exact = solve_reference(instance.cover, instance.losses, 1.0, instance.constants)
    weights = np.exp(-instance.losses)
    np.testing.assert_allclose([float(p) for p in exact], weights / weights.sum(), rtol=1e-15)


def test_a_reference_that_does_not_converge_says_so() -> None:
    instance = step("far", [2, 2], [0.0, 1e3, 2e3, 3e3], 1.0)
    with pytest.raises(AllWorldsError, match="did not converge in 3 steps"):
        solve_reference(instance.cover, instance.losses, 1.0, instance.constants, max_steps=3)


def test_the_reference_refuses_constants_that_do_not_fit() -> None:
    cover = aw.clique_cover(aw.graphs.bandit(3))
    with pytest.raises(AllWorldsError, match="one for each clique"):
        solve_reference(cover, [0.0, 1.0, 2.0], 1.0, aw.Constants(alpha=(2.0,), beta=1.0, gamma=0.0, eta0=1.0))
