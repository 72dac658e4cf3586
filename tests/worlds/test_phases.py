"""Worlds in phases: means, noise and turns by definition, whatever the horizon."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from allworlds.foundation.errors import InvalidParameter
from allworlds.worlds import lock_in, phases
from instances_of_worlds import bare

UNLIKELY = 1e-6
LEVELS = np.array([[0.1, 0.2, 0.7], [0.9, 0.5, 0.0], [0.25, 1.0, 0.4]])
LENGTHS = np.array([2.0, 1.0, 5.0])
CONSTANT = np.array([[True, False, False], [False, True, False], [True, True, False]])


def phase_numbers(lengths: np.ndarray, horizon: int) -> list[int]:
    """The phase of each round: phase p ends with round ``round(horizon * share of phases 0 to p)``."""
    ends = [round(horizon * float(lengths[: p + 1].sum() / lengths.sum())) for p in range(lengths.size)]
    return [next(p for p, end in enumerate(ends) if t <= end) for t in range(1, horizon + 1)]


@pytest.mark.parametrize("horizon", [1, 2, 3, 5, 8, 80, 1_001])
def test_phases_take_their_shares_of_any_horizon(horizon):
    means = bare(phases(LEVELS, LENGTHS), horizon).means
    np.testing.assert_array_equal(means, LEVELS[phase_numbers(LENGTHS, horizon)])


def test_a_phase_turns_in_the_round_after_its_share():
    world = phases([[0.5], [0.25], [0.75]], [0.43, 0.087, 0.483])
    turns = [8_600, 8_601, 10_340, 10_341, 20_000]
    assert [world.mean(t, 0, horizon=20_000) for t in turns] == [0.5, 0.25, 0.25, 0.75, 0.75]


def test_lengths_count_only_in_proportion():
    small, large = phases(LEVELS, LENGTHS, CONSTANT), phases(LEVELS, 1e300 * LENGTHS, CONSTANT)
    np.testing.assert_array_equal(bare(small, 100).losses, bare(large, 100).losses)


def test_constant_losses_are_their_levels_and_the_others_are_coins():
    horizon = 8_000
    everything = bare(phases(LEVELS, LENGTHS, CONSTANT), horizon)
    number = np.array(phase_numbers(LENGTHS, horizon))
    for phase in range(3):
        for arm in range(3):
            losses, level = everything.losses[number == phase, arm], LEVELS[phase, arm]
            if CONSTANT[phase, arm]:
                assert (losses == level).all()
            else:
                assert set(np.unique(losses)) <= {0.0, 1.0}
                assert stats.binomtest(int(losses.sum()), losses.size, level).pvalue > UNLIKELY


def test_many_phases_are_looked_up_as_few():
    rng = np.random.default_rng(4)
    levels, lengths = rng.random((64, 2)), rng.random(64) + 0.01
    means = bare(phases(levels, lengths), 3_000).means
    np.testing.assert_array_equal(means, levels[phase_numbers(lengths, 3_000)])


def test_the_best_arm_has_the_lowest_mean_over_the_run():
    world = phases(LEVELS, LENGTHS)
    assert world.best_arm == (LENGTHS @ LEVELS).argmin()
    assert (world.means, world.stationary, world.longest) == (None, False, None)


def test_one_arm_stands_for_all_with_the_same_levels():
    columns = np.array([0, 1, 1, 2, 0, 1])
    assert phases(LEVELS[:, columns], LENGTHS).for_run(0, 100).candidates.tolist() == [0, 1, 3]
    assert lock_in(100_000).for_run(0, 100).candidates.tolist() == [0, 50_000]


@pytest.mark.parametrize(("n_arms", "best", "chosen"), [(2, None, 1), (5, None, 2), (5, 4, 4), (1, None, 0)])
def test_the_lock_in_is_quiet_then_a_trap_then_sure(n_arms, best, chosen):
    everything = bare(lock_in(n_arms, best), 1_000)
    others = [arm for arm in range(n_arms) if arm != chosen]
    assert (everything.means[:430] == 0.1).all()
    for start, stop, favoured, rest in ((430, 517, 0.9, 0.02), (517, 1_000, 0.05, 1.0)):
        assert (everything.means[start:stop, chosen] == favoured).all()
        assert (everything.means[start:stop, others] == rest).all()
    assert set(np.unique(everything.losses[:517])) == {0.0, 1.0}
    np.testing.assert_array_equal(everything.losses[517:], everything.means[517:])


def test_the_lock_in_takes_other_levels_lengths_and_noise():
    world = lock_in(
        2, 0, 0.5, 0.25, quiet_level=0.3, trap_levels=(0.8, 0.1), end_levels=(0.0, 0.6), constant=(True, True, False)
    )
    everything = bare(world, 400)
    np.testing.assert_array_equal(everything.losses[:200], np.full((200, 2), 0.3))
    np.testing.assert_array_equal(everything.losses[200:300], np.tile([0.8, 0.1], (100, 1)))
    np.testing.assert_array_equal(everything.means[300:], np.tile([0.0, 0.6], (100, 1)))
    assert set(np.unique(everything.losses[300:, 1])) == {0.0, 1.0}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: phases([0.5, 0.5], [1]), r"levels have shape \(2,\); expected \(phases, arms\)"),
        (lambda: phases([[0.5], [0.1, 0.2]], [1, 1]), "levels is .*; expected numbers in a regular shape"),
        (lambda: phases([[0.5, 1.5]], [1]), "the level of arm 1 in phase 0 is 1.5; expected a number from 0 to 1"),
        (lambda: phases([[float("nan")]], [1]), "the level of arm 0 in phase 0 is nan"),
        (lambda: phases([[0.5]], [1, 2]), r"lengths have shape \(2,\); expected one number for each phase, \(1,\)"),
        (lambda: phases([[0.5], [0.5]], [1, 0]), "the length of phase 1 is 0.0; expected a finite number above 0"),
        (lambda: phases([[0.5]], [float("inf")]), "the length of phase 0 is inf"),
        (lambda: phases([[0.5]], ["long"]), "lengths is .*; expected numbers"),
        (lambda: phases([[0.5]], [1], [True]), r"constant has shape \(1,\); expected that of levels, \(1, 1\)"),
        (lambda: phases([[0.5]], [1], [[2]]), "constant has values other than True and False"),
        (lambda: lock_in(0), "n_arms is 0; expected an integer of at least 1"),
        (lambda: lock_in(2, 2), "best is 2; expected an integer from 0 to 1"),
        (lambda: lock_in(2, quiet=0.0), "quiet is 0.0; expected a number above 0 and at most 1"),
        (lambda: lock_in(2, quiet=0.5, trap=0.5), "quiet is 0.5 and trap 0.5; expected a sum below 1"),
        (lambda: lock_in(2, trap_levels=(0.9,)), r"trap_levels are \(0.9,\); expected two numbers"),
        (lambda: lock_in(2, end_levels=(0.0, 2)), "a level is 2; expected a number from 0 to 1"),
        (lambda: lock_in(2, constant=(True,)), r"constant is \(True,\); expected three flags"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(call, words):
    with pytest.raises(InvalidParameter, match=words):
        call()
