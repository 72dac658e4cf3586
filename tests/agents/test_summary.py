"""An agent's report: its numbers by definition, and a mismatch that is found."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import allworlds as aw
from agents.agent_runs import make, play, report, resign
from allworlds.agents.summary import mismatch_of, radius_of


def test_a_report_counts_what_happened():
    agent = make(reward=True, low=0.0, high=10.0)
    drawn, seen = np.zeros(7), {arm: [] for arm in range(7)}
    for t in range(60):
        decision = agent.choose()
        drawn[decision.arm] += 1
        if t % 10 == 0:
            agent.void(decision)
        elif t % 10 == 1:
            continue
        else:
            values = {arm: 10.0 * loss for arm, loss in report(decision).items()}
            agent.observe(decision, values)
            for arm, value in values.items():
                seen[arm].append(value)
    made = agent.report()
    assert (made.round, made.decisions, made.open, made.reward) == (49, 60, 6, True)
    assert [arm.drawn for arm in made.arms] == drawn.tolist()
    assert [arm.seen for arm in made.arms] == [len(seen[arm]) for arm in range(7)]
    assert [arm.mean for arm in made.arms] == pytest.approx([np.mean(seen[arm]) for arm in range(7)])
    assert made.best == max(range(7), key=lambda arm: np.mean(seen[arm]))
    assert sum(arm.voided for arm in made.arms) == 6
    assert sum(arm.open for arm in made.arms) == 6
    for arm in made.arms:
        assert 0.0 <= arm.low <= arm.mean <= arm.high <= 10.0
        assert arm.probability == agent.distribution[arm.arm]
    assert json.loads(made.to_json()) == json.loads(json.dumps(made.to_dict()))
    assert "drawn against logged" in str(made)


def test_an_arm_that_was_left_out_of_a_masked_report_was_not_seen():
    agent = make()
    agent.observe(agent.choose([0]), {0: 0.5, 2: 0.25})
    assert [arm.seen for arm in agent.report().arms] == [1, 0, 1, 0, 0, 0, 0]


def test_the_bound_is_given_where_there_is_one_and_else_the_reason():
    agent = make()
    play(agent, 10)
    assert agent.report().regret_bound == agent.regret_bound > 0.0
    assert agent.report().why_no_bound is None
    late = agent.choose()
    play(agent, 1)
    assert "an outcome is missing" in agent.report().why_no_bound
    agent.observe(late, report(late))
    assert agent.report().regret_bound is None
    for change, reason in [
        (lambda a: a.choose([0]), "decision 1 was made with a mask"),
        (lambda a: a.retire_arm(0), "the arms changed before decision 1"),
    ]:
        agent = make()
        change(agent)
        assert reason in agent.report().why_no_bound
        assert f"none: {reason}" in str(agent.report())
    assert make(minimum_share=0.01).report().why_no_bound == "a minimum share is set"
    assert aw.Agent(aw.learners.UCBN(aw.graphs.bandit(2))).report().why_no_bound == "ucb-n has none"


def test_draws_that_do_not_follow_the_logged_probabilities_are_found(monkeypatch):
    honest, crooked = make(seed=1), make(seed=1)
    play(honest, 20)
    play(crooked, 20)
    for _ in range(300):
        honest.void(honest.choose(range(7)))
    assert not honest.report().mismatch
    monkeypatch.setattr("allworlds.agents.agent.pick", lambda distribution, uniform: 3)
    for _ in range(300):
        crooked.void(crooked.choose(range(7)))
    assert crooked.report().mismatch
    assert "MISMATCH" in str(crooked.report())


def test_false_alarms_are_rarer_than_the_level():
    rng = np.random.default_rng(1)
    alarms = 0
    for _ in range(400):
        p = rng.dirichlet(np.ones(4) * 0.5, size=200)
        arms = (rng.random(200)[:, None] < np.cumsum(p, axis=1)).argmax(axis=1)
        audited = np.bincount(arms, minlength=4).astype(float)
        alarms += mismatch_of(audited, p.sum(axis=0), (p * (1 - p)).sum(axis=0)) < 0.05
    assert alarms <= 20
    assert mismatch_of(np.array([30.0, 0.0]), np.array([15.0, 15.0]), np.array([7.5, 7.5])) < 0.001


def test_the_interval_is_hoeffdings_for_all_arms_and_times():
    for seen in (1, 10, 1000):
        level = 2 * math.exp(-2 * seen * radius_of(seen, 7) ** 2)
        assert level == pytest.approx(0.05 / (7 * seen * (seen + 1)))  # sums to 0.05 over arms and times


def test_shares_are_of_the_decisions_that_were_audited_while_the_arm_was_there():
    """By definition, with a mask in every round, so that each is audited; arms come and go meanwhile."""
    agent, audits, since = make(seed=3), [], {}
    for change in (lambda: None, lambda: agent.add_arm("new", [3, 4, 5]), lambda: agent.retire_arm(0)):
        change()
        since.update({arm: len(audits) for arm in agent.arms if arm not in since})
        for number in range(30):
            likely = dict(zip(agent.arms, agent.distribution.tolist(), strict=True))
            decision = agent.choose(agent.arms)
            audits.append((decision.arm, likely))
            agent.void(decision) if number % 3 == 0 else agent.observe(decision, report(decision))
    made = agent.report()
    assert made.audited == 90
    for arm in made.arms:
        there = audits[since[arm.arm] :]
        assert arm.frequency == pytest.approx(np.mean([drawn == arm.arm for drawn, _ in there]))
        assert arm.logged == pytest.approx(np.mean([likely[arm.arm] for _, likely in there]))
    assert str(made).startswith("tsallis-shannon, round 61: 90 decisions, 0 open, 30 voided")
    assert made.to_dict()["voided"] == 30
    assert not made.mismatch


def test_a_file_from_before_audits_were_counted_by_arm_still_loads(tmp_path):
    agent = make()
    play(agent, 100)
    agent.void(agent.choose([1, 5]))
    agent.save(tmp_path / "agent.json")
    resign(tmp_path / "agent.json", lambda data: data["tally"].pop())
    again = aw.Agent.load(tmp_path / "agent.json")
    assert again.report() == agent.report()


def test_counts_survive_saving(tmp_path):
    agent = make()
    play(agent, 100)
    agent.void(agent.choose([1, 5]))
    agent.save(tmp_path / "agent.npz")
    assert aw.Agent.load(tmp_path / "agent.npz").report() == agent.report()
