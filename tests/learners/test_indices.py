"""What index rules share, by definition."""

from __future__ import annotations

import math

import numpy as np
import pytest

from allworlds.learners.indices import bernoulli_divergence, lowest_mean, pick_lowest, share_lowest


@pytest.mark.parametrize(
    "values", [[3.0], [1.0, 1.0], [2.0, 0.5, 0.5, 1.0, 0.5], [-math.inf, 0.0, -math.inf], [math.inf] * 3]
)
def test_each_arm_with_the_lowest_index_has_the_same_share_of_the_uniforms(values):
    indices = np.array(values)
    best = [i for i, value in enumerate(values) if value == min(values)]
    grid = (np.arange(60) + 0.5) / 60
    picks = [pick_lowest(indices, float(uniform)) for uniform in grid]
    assert {probability for _, probability in picks} == {1.0 / len(best)}
    counts = np.bincount([arm for arm, _ in picks], minlength=len(values))
    assert counts[best].tolist() == [60 // len(best)] * len(best)
    assert np.allclose(share_lowest(indices), counts / 60, rtol=0, atol=1e-15)


def test_the_lowest_mean_is_that_of_an_arm_that_was_seen():
    totals, seen = np.array([0.0, 3.0, 1.0, 2.0]), np.array([0.0, 4.0, 2.0, 4.0])
    assert lowest_mean(totals, seen, np.array([0, 1])) == (0.75, 1)
    assert lowest_mean(totals, seen, np.array([0, 1, 2, 3])) == (0.5, 2)
    assert lowest_mean(totals, seen, np.array([0])) == (math.inf, 1)


def test_the_divergence_is_that_of_two_coins():
    from scipy.special import rel_entr

    for p in (0.0, 0.2, 0.5, 1.0):
        for q in (0.0, 1e-9, 0.3, 0.5, 1.0):
            expected = rel_entr(p, q) + rel_entr(1 - p, 1 - q)
            assert bernoulli_divergence(p, q) == pytest.approx(expected, rel=1e-12, abs=1e-15)
