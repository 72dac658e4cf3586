"""Attacks: each does what it says, within its budget, and leaves the clean world alone."""

from __future__ import annotations

import numpy as np
import pytest

from allworlds import worlds
from allworlds.foundation.errors import InvalidParameter
from allworlds.theory import corruption_level
from allworlds.worlds import Reactive, corrupted, stochastic, switching
from allworlds.worlds.by_name import WORLDS, make_world
from allworlds.worlds.corrupted import ATTACKS
from allworlds.worlds.losses import KINDS as KIND_CODES
from instances_of_worlds import CLEAN, N_ARMS, attacked, bare

KINDS = pytest.mark.parametrize("name", CLEAN)
EACH = pytest.mark.parametrize("attack", ATTACKS)
HORIZON = 400
DEFINITIONS = {
    "flip": lambda clean, victim: 1.0 - clean,
    "best-worst": lambda clean, victim: np.where(victim, 1.0, clean),
    "decoy-best": lambda clean, victim: np.where(victim, 0.0, clean),
    "spread": lambda clean, victim: np.where(victim, 1.0, clean),
    "periodic": lambda clean, victim: np.where(victim, 1.0, clean),
    "all-worst": lambda clean, victim: np.ones_like(clean),
}
"""What each attack makes of losses (R, N) and means; a new one needs a line."""


def struck_rounds(world, horizon: int = HORIZON) -> np.ndarray:
    return np.flatnonzero(world.for_run(7, horizon).struck) + 1


@KINDS
@EACH
def test_the_clean_losses_stay_what_they_were(name, attack):
    before, after = bare(CLEAN[name], HORIZON), bare(attacked(name, attack), HORIZON)
    np.testing.assert_array_equal(before.losses, after.clean_losses)
    np.testing.assert_array_equal(before.means, after.clean_means)
    assert (after.losses != after.clean_losses).any()


@KINDS
@EACH
@pytest.mark.parametrize("budget", [0.0, 0.5, 1.0, 7.25, 20.0, 1e6])
def test_corruption_never_exceeds_the_budget_and_spends_it_when_there_is_time(name, attack, budget):
    world = attacked(name, attack, budget)
    assert world.budget == budget
    everything = bare(world, HORIZON)
    spent = corruption_level(everything.losses, everything.clean_losses)
    assert spent <= budget
    if 1.0 <= budget <= 20.0:  # the cheapest attack here costs 0.2 a round in half of the rounds
        assert spent > budget - 1.0
    if budget < 1.0:
        assert spent == 0.0


@KINDS
@EACH
def test_an_attack_changes_struck_rounds_by_its_definition_and_no_others(name, attack):
    world = attacked(name, attack)
    everything, rounds = bare(world, HORIZON), struck_rounds(world)
    assert rounds.size > 0
    victim = np.arange(N_ARMS) == (world.arrays.victim if attack == "decoy-best" else world.best_arm)
    for played, clean in ((everything.losses, everything.clean_losses), (everything.means, everything.clean_means)):
        expected = clean.copy()
        expected[rounds - 1] = DEFINITIONS[attack](clean[rounds - 1], victim)
        np.testing.assert_array_equal(played, expected)


@KINDS
@pytest.mark.parametrize("attack", ["flip", "best-worst", "decoy-best", "all-worst"])
def test_attacks_at_once_strike_every_round_until_the_budget_is_spent(name, attack):
    rounds = struck_rounds(attacked(name, attack))
    np.testing.assert_array_equal(rounds, np.arange(1, rounds.size + 1))


def test_a_periodic_attack_strikes_in_every_second_stretch():
    world = corrupted(CLEAN["bernoulli"], 1e6, "periodic", period=9)
    expected = [t for t in range(1, HORIZON + 1) if (t - 1) // 9 % 2 == 0]
    assert struck_rounds(world).tolist() == expected


def test_a_spread_attack_spends_along_a_straight_line():
    world = corrupted(CLEAN["bernoulli"], 500.0, "spread")
    horizon = 5_000
    everything = bare(world, horizon)
    spent = np.abs(everything.losses - everything.clean_losses).max(axis=1).cumsum()
    line = 500.0 * np.arange(1, horizon + 1) / horizon
    assert np.abs(spent - line).max() < 3.0
    assert spent[-1] == 500.0


def test_whether_a_round_is_struck_does_not_depend_on_its_own_losses():
    """Else the means of the rounds that are left alone would not be the clean ones."""
    world = corrupted(stochastic([0.5, 0.75]), 2_000.0, "spread")
    everything = bare(world, 20_000)
    alone = ~np.asarray(world.for_run(7, 20_000).struck)
    n = int(alone.sum())
    assert 5_000 < n < 19_000
    assert abs(everything.clean_losses[alone, 0].mean() - 0.5) < 5.0 * 0.5 / np.sqrt(n)


@pytest.mark.parametrize(
    ("name", "decoy"),
    [
        ("bernoulli", 5),
        ("gaussian", 5),
        ("constrained adversary", 4),
        ("drifting", 5),
        ("switching", 5),
        ("lock-in", 0),
    ],
)
def test_the_decoy_is_the_worst_arm_or_one_beside_the_best(name, decoy):
    assert attacked(name, "decoy-best").arrays.victim == decoy
    assert corrupted(CLEAN[name], 5, "decoy-best", decoy=3).arrays.victim == 3


def test_the_decoy_of_a_recorded_world_is_its_worst_arm():
    world = attacked("recorded", "decoy-best")
    assert world.arrays.victim == bare(CLEAN["recorded"], 400).losses.sum(axis=0).argmax()


def test_a_corrupted_world_says_what_it_is():
    world = corrupted(CLEAN["bernoulli"], 1000, "flip")
    assert world.name == "stochastic, flip 1000"
    assert world.means.tolist() == CLEAN["bernoulli"].means.tolist()
    assert corrupted(CLEAN["bernoulli"], 1, name="mine").name == "mine"
    assert CLEAN["bernoulli"].budget is None


def random_instances(seed: int):
    """Worlds with ties and with every place of the best arm."""
    rng = np.random.default_rng(seed)
    n_arms = int(rng.integers(1, 7))
    yield stochastic(rng.choice([0.25, 0.4, 0.5, 0.75], n_arms))
    yield stochastic(rng.random(n_arms), "deterministic")
    yield stochastic(rng.random(n_arms), "gaussian-clipped", width=0.4)
    phases = rng.integers(1, 60, 4).tolist()
    yield switching(n_arms, gap=0.2, phases=phases, leaders=rng.integers(0, n_arms, 3).tolist())
    yield switching(n_arms, gap=0.2, growth=float(rng.uniform(1.1, 3.0)))
    yield switching(n_arms, gap=0.2, phases=[10, 10])  # the second leader overtakes the first
    yield worlds.phases(rng.choice([0.0, 0.3, 1.0], (3, n_arms)), rng.random(3) + 0.1, rng.random((3, n_arms)) < 0.5)
    yield worlds.constrained_adversary(n_arms, int(rng.integers(n_arms)), 0.2, float(rng.uniform(1.1, 3.0)))
    yield worlds.drifting(rng.random(n_arms), 0.4, 50.0)
    yield worlds.random_sequence(n_arms, 7)
    yield worlds.recorded(rng.random((150, n_arms)))


def assert_candidates_hold_the_best_arm(world, horizon: int, seed: int = 7) -> None:
    everything = bare(world, horizon, seed)
    candidates = world.for_run(seed, horizon).candidates
    for means in (everything.means, everything.clean_means):
        totals = means.cumsum(axis=0)
        np.testing.assert_allclose(totals[:, candidates].min(axis=1), totals.min(axis=1), atol=1e-9)


@KINDS
@pytest.mark.parametrize("attack", [None, *ATTACKS])
def test_the_candidates_hold_the_best_fixed_arm_after_every_round(name, attack):
    for budget in (3.0, 20.0, 150.0):
        world = CLEAN[name] if attack is None else attacked(name, attack, budget)
        assert_candidates_hold_the_best_arm(world, 300)


@pytest.mark.parametrize("seed", range(12))
def test_the_candidates_hold_the_best_fixed_arm_in_random_worlds(seed):
    rng = np.random.default_rng(100 + seed)
    for clean in random_instances(seed):
        assert_candidates_hold_the_best_arm(clean, 150)
        for attack in ATTACKS:
            decoy = int(rng.integers(clean.n_arms))
            world = corrupted(clean, float(rng.uniform(2, 150)), attack, decoy=decoy, period=11)
            assert_candidates_hold_the_best_arm(world, 150)


def test_the_random_worlds_are_of_every_kind():
    assert {world.arrays.kind for world in random_instances(0)} == set(KIND_CODES)


@pytest.mark.parametrize("spec", [WORLDS[name].example for name in WORLDS if name not in ("corrupted", "recorded")])
def test_the_candidates_hold_the_best_fixed_arm_in_every_world_with_a_name(spec):
    clean = make_world(spec, N_ARMS)
    for world in (clean, *(corrupted(clean, 60, attack, period=11) for attack in ATTACKS)):
        assert_candidates_hold_the_best_arm(world, 150)


def test_worlds_whose_means_keep_their_order_need_few_candidates():
    large = stochastic(np.linspace(0.75, 0.25, 1_000))
    assert large.for_run(0, 10).candidates.tolist() == [999]
    for attack in ATTACKS:
        assert corrupted(large, 5, attack).for_run(0, 10).candidates.size <= 3
    assert switching(1_000).for_run(0, 100_000).candidates.size < 30


class Nothing(Reactive):
    n_arms = 2

    def losses(self, round):
        return np.zeros(2)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda w: corrupted(w, -1), "budget is -1; expected a finite number of at least 0"),
        (lambda w: corrupted(w, float("inf")), "budget is inf; expected a finite number"),
        (lambda w: corrupted(w, float("nan")), "budget is nan"),
        (lambda w: corrupted(w, "much"), "budget is 'much'"),
        (lambda w: corrupted(w, 1, "bribe"), "attack is 'bribe'; expected one of flip, best-worst"),
        (lambda w: corrupted(w, 1, "decoy-best", decoy=N_ARMS), f"decoy is {N_ARMS}; expected an integer from 0 to"),
        (lambda w: corrupted(w, 1, "periodic", period=0), "period is 0; expected an integer"),
        (lambda w: corrupted(corrupted(w, 1), 1), "is corrupted already; expected a clean world"),
        (lambda w: corrupted(Nothing(), 1), "world is a Nothing; expected a world"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(call, words):
    with pytest.raises(InvalidParameter, match=words):
        call(CLEAN["bernoulli"])
