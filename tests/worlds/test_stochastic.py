"""Friendly worlds: the losses have the law that their name says, by scipy's distributions, with fixed seeds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from allworlds.foundation.errors import InvalidParameter
from allworlds.worlds import one_bad_arm, one_good_arm, stochastic
from instances_of_worlds import bare

UNLIKELY = 1e-6
"""A p-value below this, with a seed that was never chosen for the answer, is a defect."""
MEANS = [0.03, 0.25, 0.5, 0.9]
ROUNDS = 12_000


@pytest.mark.parametrize("noise", ["bernoulli", "beta", "deterministic", "gaussian-clipped"])
def test_losses_average_to_the_mean_that_the_world_states(noise):
    world = stochastic(MEANS, noise)
    losses = bare(world, ROUNDS).losses
    stated = np.array([world.mean(5, arm) for arm in range(world.n_arms)])
    error = losses.std(axis=0) / np.sqrt(ROUNDS) + 1e-12
    np.testing.assert_array_less(np.abs(losses.mean(axis=0) - stated), 5.0 * error)
    assert losses.min() >= 0.0
    assert losses.max() <= 1.0
    np.testing.assert_array_equal(world.means, stated)


def test_bernoulli_losses_are_zero_or_one():
    losses = bare(stochastic([0.0, 0.3, 1.0]), 2_000).losses
    assert set(np.unique(losses)) == {0.0, 1.0}
    assert losses[:, 0].max() == 0.0
    assert losses[:, 2].min() == 1.0
    assert stats.binomtest(int(losses[:, 1].sum()), 2_000, 0.3).pvalue > UNLIKELY


@pytest.mark.parametrize("width", [2.0, 4.0, 40.0])
def test_beta_losses_follow_the_beta_law(width):
    losses = bare(stochastic(MEANS, "beta", width=width), 4_000).losses
    for arm, mean in enumerate(MEANS):
        law = stats.beta(width * mean, width * (1.0 - mean))
        assert stats.kstest(losses[:, arm], law.cdf).pvalue > UNLIKELY


def test_beta_losses_with_means_at_the_ends_are_fixed():
    assert bare(stochastic([0.0, 1.0], "beta"), 10).losses.tolist() == [[0.0, 1.0]] * 10


@pytest.mark.parametrize("width", [0.05, 0.3, 2.0])
def test_gaussian_losses_are_normal_inside_and_clipped_at_the_ends(width):
    losses = bare(stochastic(MEANS, "gaussian-clipped", width=width), 4_000).losses
    cuts = np.append(np.linspace(0.0, 0.99, 100), 1.0 - 1e-12)  # P(X <= 0) is the atom at 0, the last leaves that at 1
    allowed = np.sqrt(np.log(2.0 / UNLIKELY) / (2.0 * 4_000))  # Dvoretzky, Kiefer, Wolfowitz and Massart
    for arm, centre in enumerate(MEANS):
        seen = (losses[:, arm, None] <= cuts).mean(axis=0)
        assert np.abs(seen - stats.norm(centre, width).cdf(cuts)).max() < allowed


@pytest.mark.parametrize("width", [0.01, 0.1, 1.0, 5.0])
@pytest.mark.parametrize("centre", [0.0, 0.02, 0.5, 0.97, 1.0])
def test_the_mean_of_clipped_noise_is_the_integral(centre, width):
    def integrand(loss):
        return stats.norm.sf((loss - centre) / width)  # E X = integral of P(X > x)

    integral, _ = integrate.quad(integrand, 0.0, 1.0, points=[centre], epsabs=1e-13)
    assert stochastic([centre], "gaussian-clipped", width=width).mean(1, 0) == pytest.approx(integral, abs=1e-11)


def test_clipping_can_change_who_is_best_in_number_but_never_in_order():
    world = stochastic([0.4, 0.02, 0.0], "gaussian-clipped", width=0.5)
    assert world.best_arm == 2
    assert (np.diff(world.means) < 0).all()
    assert world.means[2] > 0.15  # far from the centre, 0


def test_deterministic_losses_are_the_means():
    assert bare(stochastic(MEANS, "deterministic"), 3).losses.tolist() == [MEANS] * 3


def test_the_world_of_one_good_arm_is_zimmert_and_seldins():
    world = one_good_arm(5, 0.25, best_arm=3)
    assert world.means.tolist() == [0.625, 0.625, 0.625, 0.375, 0.625]
    assert (world.best_arm, world.stationary, world.longest) == (3, True, None)


def test_the_world_of_one_bad_arm_has_the_published_means():
    world = one_bad_arm(4, bad_arm=1)
    assert world.means.tolist() == [7 / 16, 9 / 16, 7 / 16, 7 / 16]
    assert world.best_arm == 0


def test_a_world_keeps_its_own_means():
    mine = np.array([0.25, 0.75])
    world = stochastic(mine)
    mine[:] = 1.0
    assert world.means.tolist() == [0.25, 0.75]
    with pytest.raises(ValueError, match="read-only"):
        world.means[0] = 0.0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: stochastic([0.5, 1.5]), "the mean of arm 1 is 1.5; expected numbers from 0 to 1"),
        (lambda: stochastic([float("nan")]), "the mean of arm 0 is nan"),
        (lambda: stochastic([]), r"means have shape \(0,\)"),
        (lambda: stochastic([[0.5]]), r"means have shape \(1, 1\)"),
        (lambda: stochastic(["low"]), "means is .*; expected numbers in a regular shape"),
        (lambda: stochastic([0.5], "cauchy"), "noise is 'cauchy'; expected one of bernoulli, beta"),
        (lambda: stochastic([0.5], "beta", width=0.0), "width is 0.0; expected a finite number above 0"),
        (lambda: stochastic([0.5], "gaussian-clipped", width=float("inf")), "width is inf"),
        (lambda: stochastic([0.5], "beta", width="wide"), "width is 'wide'"),
        (lambda: stochastic([0.5], width=0.1), "width is 0.1 for bernoulli noise; expected none"),
        (lambda: one_good_arm(0, 0.25), "n_arms is 0; expected an integer"),
        (lambda: one_good_arm(2.0, 0.25), "n_arms is 2.0"),
        (lambda: one_good_arm(3, 0.0), "gap is 0.0; expected a number above 0 and at most 1"),
        (lambda: one_good_arm(3, "big"), "gap is 'big'"),
        (lambda: one_good_arm(3, 0.25, best_arm=3), "best_arm is 3; expected an integer from 0 to 2"),
        (lambda: one_good_arm(3, 0.5, centre=0.1), "give the means -0.15 and 0.35; expected both from 0 to 1"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(call, words):
    with pytest.raises(InvalidParameter, match=words):
        call()
