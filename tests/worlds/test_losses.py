"""A world is a pure function of (seed, round, arm), of one compiled type."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
import pytest
from scipy import stats

from allworlds.foundation.errors import InvalidParameter
from allworlds.worlds import corrupted, recorded, stochastic
from allworlds.worlds.base import change_arrays
from allworlds.worlds.corrupted import ATTACKS
from allworlds.worlds.losses import KINDS, NO_ATTACK, NOISES, TAMPERINGS, new_totals, play_round, reveal
from instances_of_worlds import CLEAN, N_ARMS, attacked, bare

UNLIKELY = 1e-6
ROUNDS = 40


@pytest.mark.parametrize("name", CLEAN)
def test_the_same_seed_round_and_arm_lose_the_same_in_any_order(name):
    world = CLEAN[name]
    at_once = bare(world, ROUNDS)
    places = [(t, arm) for t in range(1, ROUNDS + 1) for arm in range(N_ARMS)]
    random.Random(5).shuffle(places)
    for t, arm in places[:60]:
        assert world.loss(7, t, arm, ROUNDS) == at_once.losses[t - 1, arm]
        assert world.mean(t, arm, 7, ROUNDS) == at_once.means[t - 1, arm]


@pytest.mark.parametrize("attack", [None, *ATTACKS])
@pytest.mark.parametrize("name", CLEAN)
def test_a_learner_meets_the_losses_that_the_world_tells_for_each_arm(name, attack):
    world = CLEAN[name] if attack is None else attacked(name, attack)
    told = bare(world, ROUNDS).losses
    arrays = world.for_run(7, ROUNDS)
    for seen in ([0], [1, 2, 3], [5, 0, 2], list(range(N_ARMS)), []):
        arms, totals = np.array(seen, dtype=np.int64), new_totals(arrays.candidates.size)
        for t in range(1, ROUNDS + 1):
            losses = np.empty(arms.size)
            play_round(arrays, 7, t, 4, arms, losses, totals)
            np.testing.assert_array_equal(losses, told[t - 1, arms])
        assert totals.learner[2] == pytest.approx(told[:, 4].sum(), abs=1e-12)


@pytest.mark.parametrize("n_arms", [1, 5, 8, 999])
def test_all_arms_at_once_lose_what_each_loses_alone(n_arms):
    world = stochastic(np.linspace(0.0, 1.0, n_arms))
    losses = np.empty(n_arms)
    play_round(world.for_run(3, 9), 3, 9, 0, np.arange(n_arms), losses, new_totals(1))
    assert losses.tolist() == [world.loss(3, 9, arm) for arm in range(n_arms)]


def test_the_same_seed_round_and_arm_lose_the_same_from_any_thread():
    world = attacked("beta", "flip")

    def everything(seed: int) -> np.ndarray:
        return bare(world, 200, seed).losses

    alone = [everything(seed) for seed in range(6)]
    with ThreadPoolExecutor(max_workers=3) as pool:
        together = list(pool.map(everything, range(6)))
    np.testing.assert_array_equal(alone, together)
    assert len({losses.tobytes() for losses in alone}) == 6


@pytest.mark.parametrize("name", CLEAN)
def test_losses_are_between_zero_and_one_and_nothing_is_tampered_with(name):
    world = CLEAN[name]
    everything = bare(world, 300)
    for array in everything:
        assert array.min() >= 0.0
        assert array.max() <= 1.0
    np.testing.assert_array_equal(everything.losses, everything.clean_losses)
    np.testing.assert_array_equal(everything.means, everything.clean_means)
    assert (world.loss(7, 3, 2), world.mean(3, 2, seed=7)) == (
        world.clean_loss(7, 3, 2),
        world.clean_mean(3, 2, seed=7),
    )


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("name", CLEAN)
def test_losses_and_means_under_attack_are_between_zero_and_one(name, attack):
    for array in bare(attacked(name, attack), 100):
        assert ((array >= 0.0) & (array <= 1.0)).all()  # NaN is neither


def test_there_is_a_world_of_every_kind_and_noise_and_an_attack_of_every_code():
    arrays = [world.arrays for world in CLEAN.values()]
    assert {one.kind for one in arrays} == set(KINDS)
    assert {one.noise for one in arrays} == set(NOISES)
    assert {NO_ATTACK, *(attack.code for attack in ATTACKS.values())} == set(TAMPERINGS)


@pytest.mark.parametrize(
    ("unknown", "rows"),
    [({"kind": len(KINDS)}, [0, 1]), ({"noise": len(NOISES)}, [2, 3]), ({"attack": len(TAMPERINGS)}, [0, 2])],
)
def test_a_code_that_kernels_do_not_know_gives_nan_and_not_another_world(unknown, rows):
    arrays, numbers = CLEAN["bernoulli"].for_run(7, 1), np.empty((4, N_ARMS))
    reveal(change_arrays(arrays, struck=[True], **unknown), 7, 1, np.arange(N_ARMS), numbers)
    assert np.flatnonzero(np.isnan(numbers).all(axis=1)).tolist() == rows


@pytest.mark.parametrize("noise", ["bernoulli", "beta", "gaussian-clipped"])
def test_arms_rounds_and_seeds_are_independent(noise):
    world = stochastic([0.5, 0.5], noise)
    losses, other_seed = bare(world, 4_000).losses, bare(world, 4_000, seed=8).losses
    pairs = {
        "arms": (losses[:, 0], losses[:, 1]),
        "rounds": (losses[:-1, 0], losses[1:, 0]),
        "seeds": (losses[:, 0], other_seed[:, 0]),
        "arm and next round": (losses[:-1, 0], losses[1:, 1]),
    }
    for one, other in pairs.values():
        table = np.histogram2d(one, other, bins=2 if noise == "bernoulli" else 4)[0]
        assert stats.chi2_contingency(table).pvalue > UNLIKELY


def test_a_learner_with_the_same_seed_draws_other_numbers_than_the_world():
    from allworlds.kernels.random import STREAM_LEARNER, uniform_pair

    world = stochastic([0.5])
    losses = bare(world, 4_000).losses[:, 0]
    draws = np.array([uniform_pair(7, STREAM_LEARNER, t, 0)[0] for t in range(1, 4_001)])
    table = np.histogram2d(losses, draws, bins=[2, 4])[0]
    assert stats.chi2_contingency(table).pvalue > UNLIKELY


def test_a_million_arms_cost_nothing_until_they_are_looked_at():
    world = stochastic(np.linspace(0.25, 0.75, 1_000_000))
    assert world.for_run(0, 10).candidates.tolist() == [0]
    assert world.loss(0, 10**12, 999_999) in (0.0, 1.0)


def test_all_worlds_have_one_compiled_type():
    every = [CLEAN[name] for name in CLEAN] + [attacked(name, attack) for name in CLEAN for attack in ATTACKS]
    types = {numba.typeof(world.for_run(1, 100)) for world in every} | {numba.typeof(world.arrays) for world in every}
    assert len(types) == 1
    fortran = recorded(np.asfortranarray(np.zeros((3, 2), dtype=np.float32)))
    assert {numba.typeof(fortran.for_run(1, 3))} == types


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda w: w.loss(1, 0, 0), "round is 0; expected an integer of at least 1"),
        (lambda w: w.loss(1, 1.5, 0), "round is 1.5"),
        (lambda w: w.loss(1, 3, 0), "round is 3; expected at most 2, the last one recorded in 'recorded'"),
        (lambda w: w.loss(1, 1, 2), "arm is 2; expected an integer from 0 to 1"),
        (lambda w: w.clean_loss(1, 1, -1), "arm is -1; expected"),
        (lambda w: w.mean(1, True), "arm is True; expected"),
        (lambda w: w.loss(-1, 1, 0), "seed is -1"),
        (lambda w: w.loss(1, 2, 0, horizon=1), "round is 2; expected at most the horizon, 1"),
        (lambda w: w.loss(1, 1, 0, horizon=3), "round is 3; expected at most 2"),
    ],
)
def test_a_place_that_is_not_there_is_refused_in_a_sentence(call, words):
    with pytest.raises(InvalidParameter, match=words):
        call(corrupted(recorded([[0.0, 1.0], [1.0, 0.0]]), 1, name="recorded"))
