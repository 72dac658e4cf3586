"""Exponential weights against a softmax, and draws against running sums."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax

from allworlds.learners.sampling import explore, exponential_weights, pick


@pytest.mark.parametrize("shift", [-1e9, 0.0, 1e6])
@pytest.mark.parametrize("rate", [0.0, 0.3, 50.0])
def test_weights_are_the_softmax_of_minus_rate_times_losses(rate, shift):
    losses = np.random.default_rng(3).integers(0, 8 * 2**20, 17) / 2.0**20  # so that shifting is exact
    out = np.empty(17)
    exponential_weights(losses + shift, rate, out)
    assert np.allclose(out, softmax(-rate * losses), rtol=1e-12, atol=0.0)


def test_losses_far_apart_neither_overflow_nor_vanish_together():
    out = np.empty(3)
    exponential_weights(np.array([1e300, 2.0, -1e8]), 1.0, out)
    assert out.tolist() == [0.0, 0.0, 1.0]
    for lowest in range(3):
        losses = np.full(3, 1e4)
        losses[lowest] = 0.0
        exponential_weights(losses, 1.0, out)
        assert out.tolist() == np.eye(3)[lowest].tolist()


def test_an_arm_is_picked_where_the_running_sum_passes_the_uniform():
    p = np.array([0.25, 0.0, 0.5, 0.25])
    assert [pick(p, u) for u in (0.0, 0.24, 0.25, 0.74, 0.75, 0.999)] == [0, 0, 2, 2, 3, 3]


def test_what_rounding_leaves_over_goes_to_the_likeliest_arm_and_never_to_an_impossible_one():
    p = np.array([0.3, 0.7 - 1e-9, 0.0])
    assert pick(p, np.nextafter(1.0, 0.0)) == 1


def test_a_single_arm_is_picked_whatever_rounding_leaves():
    assert pick(np.array([1.0 - 1e-9]), np.nextafter(1.0, 0.0)) == 0


def test_exploring_moves_by_its_share_of_the_way_to_the_explorers():
    p = np.array([0.5, 0.5, 0.0])
    explore(p, 0.25, np.array([0.0, 0.2, 0.8]))
    assert p.tolist() == pytest.approx([0.375, 0.425, 0.2], rel=1e-15)
