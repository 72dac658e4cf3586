"""Masks and minimum shares: drawn as reported, and estimates right by enumeration."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest

import allworlds as aw
from agents.agent_runs import everything, learner_bits, make, play, refused, report
from agents.enumeration import expected_increase, unlimited
from allworlds.agents.drawing import restricted
from allworlds.foundation.errors import InvalidLosses, InvalidParameter
from allworlds.learners.by_name import LEARNERS

LOSSES = np.array([0.9, 0.1, 0.4, 0.7, 0.2, 0.6])
MASKS = [None, [0], [0, 3], [1, 2, 5], [0, 1, 2, 3, 4, 5]]
UNBIASED = ["exp3", "exp3-set", "exp3-g", "hybrid", "tsallis-inf", "tsallis-inf-graph"]
"""Learners that add ``l / P``, or with a control variate ``(l - B) / P + B``, so that the mean is the loss."""


def bridged():
    graph = aw.FeedbackGraph(6, [(0, 2), (2, 4), (0, 4), (1, 3), (3, 5), (1, 5), (4, 5)])
    return aw.CliqueCover(graph, [[0, 2, 4], [1, 3], [5]])


def agent_of(name, **options):
    if name == "paper":
        cover = bridged()
        agent = aw.Agent(aw.TsallisShannon(cover, unlimited(cover)), seed=3, **options)
    else:
        agent = aw.Agent(aw.make_learner(name, bridged(), 1000), seed=3, **options)
    play(agent, 12)
    return agent


@pytest.mark.parametrize("shares", [None, 0.05, {1: 0.2, 5: 0.3}], ids=str)
@pytest.mark.parametrize("mask", MASKS, ids=str)
@pytest.mark.parametrize("name", ["paper", *UNBIASED])
def test_estimates_are_unbiased_by_enumeration_whatever_the_mask_and_the_shares(name, mask, shares):
    agent = agent_of(name, minimum_share=shares)
    mean, total, seen = expected_increase(agent, LOSSES, mask)
    assert total == pytest.approx(1.0, abs=1e-12)
    shift = 2.0 if name == "hybrid" else 1.0  # it learns twice the loss
    if name == "tsallis-inf":  # its control variate of arms that cannot be seen stays
        assert mean[seen] == pytest.approx(LOSSES[seen], rel=1e-9)
    else:
        assert mean == pytest.approx(np.where(seen, shift * LOSSES, 0.0), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("mask", MASKS, ids=str)
@pytest.mark.parametrize("name", ["tsallis-shannon", "tsallis-shannon-all"])
def test_with_a_baseline_estimates_are_unbiased_up_to_a_common_shift(name, mask):
    agent = agent_of(name)
    losses = 0.2 * LOSSES  # small: nothing is held back
    baseline = agent.choose().details["baseline"]
    mean, _, seen = expected_increase(agent, losses, mask)
    assert baseline > 0.0
    assert mean == pytest.approx(np.where(seen, losses - baseline, 0.0), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", [name for name, recipe in LEARNERS.items() if recipe.kind.redrawn])
def test_the_ticket_under_the_learners_own_distribution_is_its_own_ticket(name):
    agent = agent_of(name)
    learner, state = agent.learner, agent._state
    for first in (0.05, 0.35, 0.65, 0.95):
        own = learner.draw(state, first, 0.5)
        made = learner.ticket_from(state, own.arm, learner.distribution(state))
        assert type(made) is type(own)
        for mine, theirs in zip(made, own, strict=True):
            assert mine == pytest.approx(theirs, rel=1e-12)


def test_shares_are_mixed_and_hold_at_every_draw():
    agent = make(minimum_share={0: 0.25, 6: 0.1})
    for _ in range(200):
        decision = agent.choose()
        agent.observe(decision, {arm: float(arm == 0 or arm == 6) for arm in decision.observes})
        own = agent.learner.distribution(agent._state)
        mixed = np.array([0.25, 0, 0, 0, 0, 0, 0.1]) + 0.65 * own
        assert agent.distribution == pytest.approx(mixed, rel=1e-10)  # two ways of computing the same probabilities
    assert agent.distribution[0] < 0.4
    assert agent.distribution[0] >= 0.25
    assert agent.distribution.sum() == pytest.approx(1.0, abs=1e-12)
    assert agent.minimum_share == {0: 0.25, 6: 0.1}


def test_draws_under_a_mask_follow_the_reported_probabilities():
    agent = make(minimum_share=0.02)
    play(agent, 30)
    mask = [1, 3, 6]
    used = restricted(agent.learner.distribution(agent._state), np.array(mask), np.full(7, 0.02))
    counts = np.zeros(7)
    for _ in range(4000):
        decision = agent.choose(mask)
        assert decision.available == (1, 3, 6)
        assert decision.probability == pytest.approx(used[decision.arm], rel=1e-12)
        counts[decision.arm] += 1
    assert np.all(np.abs(counts / 4000 - used) <= 5 * np.sqrt(used * (1 - used) / 4000))
    assert counts[[0, 2, 4, 5]].sum() == 0


@pytest.mark.parametrize("suffix", [".json", ".npz"])
def test_masks_and_shares_are_saved(tmp_path, suffix):
    agent = make(labels=list("abcdefg"), minimum_share={"a": 0.1})
    play(agent, 5)
    waiting = [agent.choose(["a", "g"]), agent.choose(), agent.choose(["b"])]
    agent.save(tmp_path / f"agent{suffix}")
    for again in (aw.Agent.load(tmp_path / f"agent{suffix}"), copy.deepcopy(agent)):
        assert everything(again) == everything(agent)
        assert [again.pending[d.id].available for d in waiting] == [("a", "g"), None, ("b",)]
        assert again.minimum_share == {"a": 0.1}
        assert again.choose(["c", "d"]) == copy.deepcopy(agent).choose(["c", "d"])


def test_an_arm_that_was_not_available_need_not_be_reported_and_counts_as_the_chosen_one():
    short, full = make(), make()
    decision, same = short.choose([0]), full.choose([0])
    assert decision.observes == (0, 1, 2)
    refused(short, InvalidLosses, "the loss of arm 0 is missing", lambda: short.observe(decision, {1: 0.5, 2: 0.5}))
    short.observe(decision, {0: 0.7, 2: 0.1})
    full.observe(same, {0: 0.7, 1: 0.7, 2: 0.1})
    assert learner_bits(short) == learner_bits(full)


def test_a_mask_or_a_share_takes_the_regret_bound_away():
    agent = make()
    play(agent, 5)
    assert agent.regret_bound > 0.0
    decision = agent.choose([0, 3])
    agent.observe(decision, report(decision))
    assert agent.regret_bound is None
    assert make(minimum_share=0.01).regret_bound is None


WRONG_MASKS = [
    ([], "available is empty; expected at least one arm to choose from"),
    ([9], "available names an unknown arm: no arm 9"),
    (["a"], "available names an unknown arm"),
    ([0, None], "available names an unknown arm"),
    ("012", "available is '012'; expected a list of arms"),
    (3, "available is 3; expected a list of arms"),
    ({0: 1}, "expected a list of arms"),
]


@pytest.mark.parametrize(("mask", "sentence"), WRONG_MASKS, ids=str)
def test_a_wrong_mask_gets_a_sentence_and_changes_nothing(mask, sentence):
    agent = make()
    play(agent, 3)
    refused(agent, InvalidParameter, sentence, lambda: agent.choose(mask))
    assert agent.regret_bound is not None


WRONG_SHARES = [
    (-0.1, "minimum_share is -0.1; expected a number"),
    (0.2, "the minimum shares sum to 1.4; expected at most 1"),
    (math.nan, "minimum_share is nan"),
    ("a", "minimum_share is 'a'"),
    ({9: 0.1}, "minimum_share names an unknown arm"),
    ({0: 1.5}, "the minimum share of arm 0 is 1.5"),
    ({0: 0.6, 1: 0.6}, "the minimum shares sum to 1.2"),
]


@pytest.mark.parametrize(("share", "sentence"), WRONG_SHARES, ids=str)
def test_a_wrong_share_gets_a_sentence(share, sentence):
    with pytest.raises(InvalidParameter, match=sentence):
        make(minimum_share=share)


@pytest.mark.parametrize("name", ["ucb-n", "thompson-n"])
def test_a_learner_that_takes_no_mask_says_which_do(name):
    agent = agent_of(name)
    with pytest.raises(InvalidParameter, match=f"{name} does not take a mask .*learners that do: .*tsallis-shannon"):
        agent.choose([0])
    with pytest.raises(InvalidParameter, match=f"{name} does not take minimum shares"):
        agent_of(name, minimum_share=0.01)


def test_a_mask_of_arms_without_probability_is_shared_equally():
    assert restricted(np.array([1.0, 0.0, 0.0]), np.array([1, 2]), np.zeros(3)).tolist() == [0.0, 0.5, 0.5]
