"""Hostile worlds: their means by definition, round by round."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from allworlds.foundation.errors import InvalidParameter
from allworlds.worlds import adversarial, constrained_adversary, drifting, loss_table, random_sequence, switching
from allworlds.worlds.adversarial import growing_turns
from instances_of_worlds import CLEAN, bare

UNLIKELY = 1e-6


def phase_numbers(lengths: list[int], horizon: int) -> list[int]:
    """The phase of each round, written out."""
    return [phase for phase, length in enumerate(lengths) for _ in range(length)][:horizon]


LENGTHS = [1, 2, 4, 7, 12, 20, 32, 52, 84, 135, 216]
"""1, ceil(1 · 1.6), ceil(2 · 1.6), …: as in the published code for Zimmert and Seldin's world."""


def test_phases_grow_by_the_factor_rounded_up():
    np.testing.assert_array_equal(np.diff(growing_turns(1.6)[: len(LENGTHS) + 1]), LENGTHS)
    assert growing_turns(2.0)[:5].tolist() == [1, 2, 4, 8, 16]
    assert growing_turns(1.01)[:4].tolist() == [1, 2, 4, 7]  # each is at least one round longer


@pytest.mark.parametrize("growth", [1.0 + 1e-9, 1.001, 1.6, 10.0, 1e300])
def test_turns_increase_and_reach_beyond_any_run(growth):
    turns = growing_turns(growth)
    assert turns[0] == 1
    assert (np.diff(turns) > 0).all()
    assert turns.size == 100_000 or turns[-1] * growth > 2**61
    assert turns.size < 100_000 or turns[-1] > 10**9


@pytest.mark.parametrize("gap", [0.125, 0.5, 1.0])
def test_the_constrained_adversary_moves_the_ground_and_keeps_the_gap(gap):
    world = constrained_adversary(4, best_arm=2, gap=gap)
    means = bare(world, 500).means
    for t, phase in enumerate(phase_numbers(LENGTHS, 500)):
        best, others = (0.0, gap) if phase % 2 == 0 else (1.0 - gap, 1.0)
        np.testing.assert_allclose(means[t], [others, others, best, others], atol=1e-15)
    assert (world.best_arm, world.means, world.stationary) == (2, None, False)


@pytest.mark.parametrize("name", ["constrained adversary", "switching", "drifting"])
def test_the_losses_of_moving_worlds_are_coins_around_their_means(name):
    everything = bare(CLEAN[name], 2_000)
    assert set(np.unique(everything.losses)) == {0.0, 1.0}
    deviation = everything.losses - everything.means
    error = np.sqrt((everything.means * (1.0 - everything.means)).sum(axis=0))
    np.testing.assert_array_less(np.abs(deviation.sum(axis=0)), 5.0 * error)


def test_switching_leaders_take_turns_in_growing_phases():
    means = bare(switching(3, gap=0.3, centre=0.4), 500).means
    for t, phase in enumerate(phase_numbers(LENGTHS, 500)):
        expected = [0.55, 0.55, 0.55]
        expected[phase % 3] = 0.25
        np.testing.assert_allclose(means[t], expected, atol=1e-15)


def test_switching_phases_and_leaders_may_be_given_and_the_last_phase_has_no_end():
    world = switching(5, phases=[3, 2, 1], leaders=[4, 0])
    leaders = bare(world, 50).means.argmin(axis=1)
    assert leaders.tolist() == [4, 4, 4, 0, 0] + [4] * 45
    assert world.best_arm == 4
    assert world.mean(10**15, 4) == 0.375


def test_drifting_means_swing_around_their_centres_and_stay_in_range():
    centres, amplitude, period = [0.5, 0.9, 0.1], 0.3, 50.0
    means = bare(drifting(centres, amplitude, period), 200).means
    for t in range(1, 201):
        for arm, centre in enumerate(centres):
            swing = centre + amplitude * math.sin(2.0 * math.pi * (t / period + arm / 3))
            assert means[t - 1, arm] == pytest.approx(min(1.0, max(0.0, swing)), abs=1e-12)
    assert means[:50, 0].mean() == pytest.approx(0.5)


def test_a_random_sequence_is_constant_in_blocks_and_uniform_over_them():
    losses = bare(random_sequence(2, block=5), 10_000).losses
    blocks = losses.reshape(2_000, 5, 2)
    assert (blocks == blocks[:, :1]).all()
    assert stats.kstest(blocks[:, 0].ravel(), "uniform").pvalue > UNLIKELY
    table = np.histogram2d(blocks[:, 0, 0], blocks[:, 0, 1], bins=4)[0]
    assert stats.chi2_contingency(table).pvalue > UNLIKELY
    assert np.unique(blocks[:, 0, 0]).size == 2_000


def test_a_table_is_played_as_it_is():
    table = np.random.default_rng(1).random((30, 4))
    everything = bare(loss_table(table), 30)
    np.testing.assert_array_equal(everything.losses, table)
    np.testing.assert_array_equal(everything.means, table)


@pytest.mark.parametrize(
    ("kind", "arguments", "direct"),
    [
        ("switching", (4, 0.5), switching(4, 0.5)),
        ("drifting", ([0.2, 0.8],), drifting([0.2, 0.8])),
        ("random", (3,), random_sequence(3)),
        ("table", ([[0.5, 0.25]],), loss_table([[0.5, 0.25]])),
    ],
)
def test_hostile_worlds_can_be_made_by_name(kind, arguments, direct):
    world = adversarial(kind, *arguments)
    assert world.name == direct.name
    np.testing.assert_array_equal(bare(world, 1).losses, bare(direct, 1).losses)


def test_an_error_inside_a_world_is_not_taken_for_a_wrong_argument(monkeypatch):
    def broken(n_arms):
        return len(n_arms)  # a bug: a number has no length

    monkeypatch.setitem(adversarial.__globals__, "switching", broken)
    with pytest.raises(TypeError, match="has no len"):
        adversarial("switching", 3)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: adversarial("storm"), "kind is 'storm'; expected one of switching, drifting, random, table"),
        (lambda: adversarial("random", 3, size=4), "the random world does not take these arguments"),
        (lambda: constrained_adversary(3, gap=0.0), "gap is 0.0"),
        (lambda: constrained_adversary(3, gap=1.5), "gap is 1.5; expected a number above 0 and at most 1"),
        (lambda: constrained_adversary(3, best_arm=5), "best_arm is 5; expected an integer from 0 to 2"),
        (lambda: constrained_adversary(3, growth=1.0), "growth is 1.0; expected a finite number above 1"),
        (lambda: constrained_adversary(3, growth=float("nan")), "growth is nan"),
        (lambda: switching(3, phases=[]), r"phases are \[\]; expected lengths of at least one round"),
        (lambda: switching(3, phases=[5, 0]), r"phases are \[5, 0\]"),
        (lambda: switching(3, phases=[1.5]), r"phases are \[1.5\]"),
        (lambda: switching(3, leaders=[]), "leaders are empty"),
        (lambda: switching(3, leaders=[0, 3]), "a leader is 3; expected an integer from 0 to 2"),
        (lambda: switching(3, gap=0.4, centre=0.9), "smaller gap or a centre nearer to 1/2"),
        (lambda: drifting([0.5, 2.0]), "the mean of arm 1 is 2.0"),
        (lambda: drifting([0.5], amplitude=-0.1), "amplitude is -0.1; expected a number from 0 to 1"),
        (lambda: drifting([0.5], period=0.5), "period is 0.5; expected a finite number of at least 1"),
        (lambda: drifting([0.5], period=math.inf), "period is inf; expected a finite number"),
        (lambda: random_sequence(3, block=0), "block is 0; expected an integer of at least 1"),
        (lambda: random_sequence(True), "n_arms is True"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(call, words):
    with pytest.raises(InvalidParameter, match=words):
        call()
