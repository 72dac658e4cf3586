"""The attacker raises what is shown, as its rule says, and makes index rules play its arm at a low price."""

from __future__ import annotations

import math

import numpy as np
import pytest

from allworlds import play
from allworlds.foundation.errors import InvalidParameter
from allworlds.graphs import bandit, disjoint_cliques
from allworlds.learners import UCBN
from allworlds.worlds import Poisoning

MEANS = [0.2, 0.5, 0.8]


def width(n, n_arms=3, confidence=0.05):
    return math.sqrt(0.5 / n * math.log(math.pi**2 * n_arms * n**2 / (3 * confidence)))


def shown_in_turn(world, n_rounds):
    """Play the arms in turn; the clean and the shown loss of each round."""
    world.start(3)
    rows = []
    for t in range(1, n_rounds + 1):
        arm = (t + 1) % 3
        clean = world.losses(t)
        rows.append((arm, clean[arm], world.shown(t, arm, np.array([arm]), clean)[0]))
    return rows


@pytest.mark.parametrize("rule", ["mean", "gap"])
def test_each_loss_is_raised_by_the_published_amount(rule):
    rows = shown_in_turn(Poisoning(MEANS, 2, rule, margin=0.1), 60)
    clean, added = {0: [], 1: [], 2: []}, {0: 0.0, 1: 0.0, 2: 0.0}
    for arm, loss, shown in rows:
        clean[arm].append(loss)
        if arm == 2:
            assert shown == loss
            continue
        n, goal = len(clean[arm]), np.mean(clean[2])
        if rule == "mean":
            wanted = n * (goal + 2 * width(len(clean[2])) + 0.1) - sum(clean[arm]) - added[arm]
        else:
            wanted = goal - np.mean(clean[arm]) + width(len(clean[2])) + width(n)
        assert shown - loss == pytest.approx(min(max(wanted, 0.0), 1.0 - loss))
        added[arm] += shown - loss


def test_losses_are_bernoulli_and_a_run_can_be_repeated():
    world = Poisoning(MEANS)
    world.start(5)
    first = np.array([world.losses(t) for t in range(1, 3001)])
    assert set(np.unique(first)) == {0.0, 1.0}
    assert np.abs(first.mean(axis=0) - MEANS).max() < 4 * 0.5 / math.sqrt(3000)
    world.start(5)
    assert np.array_equal(first[:50], [world.losses(t) for t in range(1, 51)])


def test_side_observations_are_raised_too_and_the_cost_of_a_round_is_the_largest_of_them():
    world = Poisoning([0.1, 0.1, 0.9, 0.9], target=3)
    world.start(0)
    assert world.shown(1, 0, np.array([0, 1]), np.zeros(4)).tolist() == [1.0, 1.0]
    assert world.cost == 1.0
    assert world.shown(2, 3, np.array([2, 3]), np.array([0.0, 0.0, 1.0, 1.0])).tolist() == [1.0, 1.0]
    assert (world.cost, world.target_plays) == (1.0, 1)


@pytest.mark.parametrize("rule", ["mean", "gap"])
def test_an_index_rule_is_led_to_a_bad_arm_at_a_price_that_hardly_grows(rule):
    """What the papers show: the target is played in most rounds, and ten times the rounds cost far less than that."""
    shares, costs = [], []
    for horizon in (400, 4000):
        world = Poisoning([0.2, 0.5, 0.4], 1, rule)
        play(UCBN(bandit(3), width=0.5), world, horizon, seed=1)
        shares.append(world.target_plays / horizon)
        costs.append(world.cost)
    assert shares[1] > 0.9
    assert costs[1] < 4 * costs[0] < 0.5 * 4000


def test_a_clique_is_attacked_as_a_whole():
    world = Poisoning([0.2, 0.2, 0.8, 0.8], target=2)
    trace = play(UCBN(disjoint_cliques(2, 2), width=0.5), world, 500, seed=2)
    assert world.cost > 0
    assert trace.horizon == 500


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"means": [0.5]}, "expected two or more numbers from 0 to 1"),
        ({"means": [0.5, 1.5]}, "expected two or more numbers from 0 to 1"),
        ({"means": MEANS, "target": 3}, "target is 3; expected an integer from 0 to 2"),
        ({"means": MEANS, "rule": "greed"}, "there is no rule of poisoning 'greed'"),
        ({"means": MEANS, "confidence": 0}, "confidence is 0; expected a number above 0 and at most 1"),
    ],
)
def test_bad_input_is_named(given, sentence):
    with pytest.raises(InvalidParameter, match=sentence):
        Poisoning(**given)
