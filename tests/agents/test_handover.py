"""An agent whose learner leaves all to Algorithm 1: it says when and why, and everything else goes on as before."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest

import allworlds as aw
from agents.agent_runs import everything, play, refused
from allworlds.foundation.errors import UnknownDecision


def guarded(seed=3, **options):
    """Two triangles with a bridge and a lone arm; the account is used up within some dozen rounds."""
    graph = aw.FeedbackGraph(7, [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (2, 3)])
    cover = aw.CliqueCover(graph, [[0, 1, 2], [3, 4, 5], [6]])
    return aw.Agent(aw.Guarded(cover, start=3.0, allowance=0.1, alarm=None), seed=seed, **options)


def go_on(agent, n_rounds):
    """Play a world in which the lone arm is best at first and worst later."""
    for _ in range(n_rounds):
        decision = agent.choose()
        agent.observe(decision, told(decision))


def told(decision):
    good = decision.id < 20
    return {arm: float((arm == 6) != good) if arm != 0 else 0.5 for arm in decision.observes}


def test_agent_and_report_say_when_and_why_all_was_left_to_algorithm_1(tmp_path):
    agent = guarded()
    go_on(agent, 5)
    before = agent.report()
    assert (agent.handed_over, before.handed_over, before.why_handed_over) == (None, None, None)
    assert "left to" not in str(before)
    while agent.handed_over is None and agent.round < 500:
        go_on(agent, 1)
    first = agent.handed_over
    assert first == agent.round < 500
    go_on(agent, 10)
    report = agent.report()
    assert (agent.handed_over, report.handed_over) == (first, first)
    assert report.why_handed_over == "an arm had no room left"
    assert f"left to Algorithm 1 in round {first:,}: an arm had no room left" in str(report).splitlines()
    said = json.loads(report.to_json())
    assert (said["handed_over"], said["why_handed_over"]) == (first, "an arm had no room left")
    assert report.regret_bound is not None
    agent.save(tmp_path / "agent.json")
    assert aw.Agent.load(tmp_path / "agent.json").handed_over == first


def test_other_learners_never_hand_over():
    for learner in (aw.TsallisShannon(aw.graphs.bandit(3)), aw.make_learner("exp3", aw.graphs.bandit(3))):
        agent = aw.Agent(learner, seed=1)
        play(agent, 5)
        assert agent.handed_over is None
        assert learner.handover_reason(agent._state) == ""
        assert json.loads(agent.report().to_json())["handed_over"] is None


def test_a_change_of_the_arms_hands_over_and_says_so():
    agent = guarded()
    go_on(agent, 4)
    agent.add_arm("new", [0, 1, 2])
    assert agent.handed_over == 5
    assert "left to Algorithm 1 in round 5: arms came or went" in str(agent.report())
    play(agent, 5)
    agent.retire_arm(6)
    assert agent.handed_over == 5
    assert agent.regret_bound is None


@pytest.mark.parametrize("suffix", [".json", ".npz"])
@pytest.mark.parametrize("n_rounds", [0, 3, 18, 60])
def test_it_is_saved_and_loaded_bit_for_bit_before_and_after_the_handover(tmp_path, n_rounds, suffix):
    agent = guarded()
    go_on(agent, n_rounds)
    assert (agent.handed_over is not None) == (n_rounds == 60)
    waiting = [agent.choose(), agent.choose([0, 4, 6]), agent.choose()]
    agent.save(tmp_path / f"agent{suffix}")
    for again in (aw.Agent.load(tmp_path / f"agent{suffix}"), copy.deepcopy(agent)):
        assert everything(again) == everything(agent)
        here = copy.deepcopy(agent)
        for one in (here, again):
            for decision in waiting[::-1]:
                one.observe(decision.id, told(decision))
            go_on(one, 80)
        assert everything(again) == everything(here)
        assert again.handed_over == here.handed_over is not None
        assert again.held_back == here.held_back


def test_outcomes_may_be_late_out_of_order_or_never_come_on_both_sides_of_the_handover():
    agent = guarded()
    early = [agent.choose() for _ in range(6)]
    agent.void(early[5])
    go_on(agent, 60)
    first, round = agent.handed_over, agent.round
    assert first is not None
    for decision in (early[3], early[0]):
        agent.observe(decision, told(decision))
        assert agent.distribution.sum() == pytest.approx(1.0, abs=1e-12)
    assert (agent.round, agent.handed_over) == (round + 2, first)
    assert set(agent.pending) == {2, 3, 5}
    assert agent.regret_bound is None
    refused(agent, UnknownDecision, "already reported, or it was voided", lambda: agent.observe(early[5], [0.1] * 3))


@pytest.mark.parametrize("n_rounds", [3, 60])
def test_masks_and_shares_are_drawn_and_divided_as_reported(n_rounds):
    shared, masked = guarded(minimum_share={1: 0.2}), guarded()
    for agent in (shared, masked):
        go_on(agent, n_rounds)
        assert (agent.handed_over is not None) == (n_rounds == 60)
    assert shared.distribution[1] >= 0.2
    assert shared.regret_bound is None
    for _ in range(20):
        decision = masked.choose([1, 4])
        assert decision.arm in (1, 4)
        before = masked.distribution
        weights = before[[1, 4]]
        expected = weights / weights.sum() if weights.sum() > 0.0 else np.full(2, 0.5)
        assert decision.probability == pytest.approx(expected[[1, 4].index(decision.arm)], rel=1e-9)
        assert decision.details["clique_probability"] == pytest.approx(decision.probability, rel=1e-9)
        masked.observe(decision, {decision.arm: 0.5})
    assert masked.regret_bound is None
