"""An agent under every order of calls: what must hold at every reachable state."""

from __future__ import annotations

import copy
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import allworlds as aw
from agents.agent_runs import everything, loss_of, refused, report
from agents.enumeration import baseline_of, expected_increase, forced, held_back, unlimited
from allworlds.foundation.errors import InvalidLosses, InvalidParameter, UnknownDecision

SHARES = st.sampled_from([None, 0.01, {0: 0.2}, {0: 0.3, 2: 0.3}])


class AgentMachine(RuleBasedStateMachine):
    """The paper's constants: plain importance weights, so that the mean of an estimate is the loss itself."""

    constants = staticmethod(unlimited)
    unbiased = True
    half_life = None

    def learner_on(self, cover):
        return aw.TsallisShannon(cover, self.constants(cover), half_life=self.half_life)

    @initialize(shares=SHARES, seed=st.integers(0, 1000))
    def start(self, shares, seed):
        graph = aw.FeedbackGraph(5, [(0, 1), (1, 2), (0, 2), (2, 3)])
        cover = aw.CliqueCover(graph, [[0, 1, 2], [3], [4]])
        self.rows = []
        self.agent = aw.Agent(self.learner_on(cover), seed=seed, minimum_share=shares, log=self.rows.append)
        self.open, self.closed, self.learnt, self.made, self.changes = {}, [], 0, 0, 0

    def some(self, data, arms, at_least=1):
        return data.draw(st.lists(st.sampled_from(sorted(arms, key=str)), min_size=at_least, unique=True))

    @rule(data=st.data(), masked=st.booleans())
    def choose(self, data, masked):
        agent = self.agent
        mask = self.some(data, agent.arms) if masked else None
        before, round = agent.distribution, agent.round
        decision = agent.choose(mask)
        self.made += 1
        assert decision.id == self.made
        assert agent.round == round
        assert np.array_equal(agent.distribution, before)
        assert decision.arm in (mask or agent.arms)
        assert 0.0 < decision.probability <= 1.0 + 1e-9
        if mask is None:
            assert decision.available is None
            assert decision.probability == pytest.approx(before[agent.arms.index(decision.arm)], rel=1e-6)
        else:
            assert sorted(decision.available, key=str) == sorted(mask, key=str)
        self.open[decision.id] = decision

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def observe(self, data):
        decision = self.open.pop(data.draw(st.sampled_from(sorted(self.open))))
        self.agent.observe(decision, report(decision))
        self.learnt += 1
        self.closed.append(decision)

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def void(self, data):
        decision = self.open.pop(data.draw(st.sampled_from(sorted(self.open))))
        self.agent.void(decision)
        self.closed.append(decision)

    @precondition(lambda self: self.closed)
    @rule(data=st.data())
    def report_again(self, data):
        decision = data.draw(st.sampled_from(self.closed))
        for call in (lambda: self.agent.observe(decision, report(decision)), lambda: self.agent.void(decision.id)):
            refused(self.agent, UnknownDecision, "already reported, or it was voided", call)

    @precondition(lambda self: len(self.agent.arms) < 8)
    @rule(data=st.data(), joins=st.booleans())
    def add(self, data, joins):
        agent, label = self.agent, f"new{self.changes}"
        neighbours = data.draw(st.lists(st.sampled_from(agent.arms), unique=True))
        if joins:
            clique = data.draw(st.sampled_from(agent.learner.cover.cliques))
            neighbours = [agent.arms[i] for i in clique.tolist()]
        before = dict(zip(agent.arms, agent.learner.estimates(agent._state), strict=True))
        agent.add_arm(label, neighbours)
        after = dict(zip(agent.arms, agent.learner.estimates(agent._state), strict=True))
        assert after.keys() - before.keys() == {label}
        assert all(after[arm] == before[arm] for arm in before)
        assert min(before.values()) - 1e-9 <= after[label] <= max(before.values()) + 1e-9
        self.changes += 1

    @precondition(lambda self: len(self.agent.arms) > 1)
    @rule(data=st.data())
    def retire(self, data):
        agent, arm = self.agent, data.draw(st.sampled_from(self.agent.arms))
        agent.retire_arm(arm)
        assert arm not in agent.arms
        refused(agent, InvalidParameter, "unknown arm", lambda: agent.choose([arm]))
        refused(agent, InvalidParameter, "was retired", lambda: agent.add_arm(arm))
        self.changes += 1

    @rule(data=st.data())
    def another_graph(self, data):
        kept = self.some(data, self.agent.arms)[:6]
        labels = [*kept, f"new{self.changes}"]
        pairs = [(i, j) for j in range(len(labels)) for i in range(j)]
        edges = data.draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
        before = dict(zip(self.agent.arms, self.agent.learner.estimates(self.agent._state), strict=True))
        self.agent.update_graph(aw.FeedbackGraph(len(labels), edges, labels=labels))
        assert self.agent.arms == tuple(labels)
        after = self.agent.learner.estimates(self.agent._state)
        assert after[:-1].tolist() == [before[arm] for arm in kept]
        self.changes += 1

    @rule(suffix=st.sampled_from([".json", ".npz"]))
    def save_and_load(self, suffix):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"agent{suffix}"
            self.agent.save(path)
            again = aw.Agent.load(path, log=self.rows.append)
        assert everything(again) == everything(self.agent)
        assert again.choose(again.arms[:1]) == copy.deepcopy(self.agent).choose(self.agent.arms[:1])
        self.agent = again
        self.agent.void(self.made + 1)
        self.made += 1
        self.agent._without_bound = self.agent._without_bound or "checked"

    @rule()
    def wrong_calls(self):
        agent = self.agent
        calls = [
            (InvalidParameter, "available is empty", lambda: agent.choose([])),
            (InvalidParameter, "unknown arm", lambda: agent.choose([agent.arms[0], "nobody"])),
            (InvalidParameter, "already an arm", lambda: agent.add_arm(agent.arms[0])),
            (InvalidParameter, "neighbours names an unknown arm", lambda: agent.add_arm("x", ["nobody"])),
            (InvalidParameter, "no arm", lambda: agent.retire_arm("nobody")),
            (UnknownDecision, "made no decision", lambda: agent.observe(self.made + 1, [0.5])),
        ]
        if self.open:
            decision = min(self.open.values(), key=lambda d: d.id)
            high = dict.fromkeys(decision.observes, 2.0)
            calls.append((InvalidLosses, "expected a number from 0 to 1", lambda: agent.observe(decision, high)))
            calls.append((InvalidLosses, "is missing", lambda: agent.observe(decision, {})))
        for error, sentence, call in calls:
            refused(agent, error, sentence, call)

    @rule(data=st.data(), masked=st.booleans())
    def enumerate_every_draw(self, data, masked):
        """By definition: over all arms that can be drawn, with the reported probabilities."""
        arms = self.agent.arms
        mask = self.some(data, arms) if masked else None
        losses = np.array([0.3 * loss_of(self.made, arm) for arm in arms])
        mean, total, seen = expected_increase(self.agent, losses, mask)
        assert total == pytest.approx(1.0, abs=1e-9)
        shift = baseline_of(self.agent)  # common to all arms that can be seen
        expected = np.where(seen, losses - shift, 0.0)
        if self.unbiased:
            assert shift == 0.0
            assert mean == pytest.approx(expected, rel=1e-7, abs=1e-9)
            return
        held = held_back(self.agent, losses, mask)
        assert held.min() >= -1e-7  # what is held back is in an arm's favour, never against it
        assert mean + held == pytest.approx(expected, rel=1e-6, abs=1e-7)
        if shift > losses.max():  # then nothing rises, and nothing is held back
            assert mean == pytest.approx(expected, rel=1e-6, abs=1e-7)

    @invariant()
    def it_is_sound(self):
        agent = self.agent
        assert agent.distribution.sum() == pytest.approx(1.0, abs=1e-9)
        assert agent.distribution.min() >= 0.0
        for arm, share in agent.minimum_share.items():
            assert agent.distribution[agent.arms.index(arm)] >= share * (1 - 1e-12)
        assert self.residual() < 1e-7
        assert dict(agent.pending) == self.open
        last = {row["decision_id"]: row["status"] for row in self.rows}  # the log says the same
        assert {number for number, status in last.items() if status == "open"} == set(self.open)
        assert sum(status == "observed" for status in last.values()) == self.learnt
        assert agent.round == 1 + self.learnt
        assert len(agent.history) == self.changes
        if self.changes:
            assert agent.regret_bound is None

    def residual(self):
        return self.agent.learner.residual(self.agent._state)


class GuardedMachine(AgentMachine):
    """The default of an agent: estimates from means' draws, and Algorithm 1 as soon as the arms change."""

    def learner_on(self, cover):
        return aw.Guarded(cover)

    def residual(self):
        agent = self.agent
        return 0.0 if agent.handed_over is None else agent.learner.then.residual(agent._state.then)

    @rule()
    def enumerate_every_draw(self):
        """By definition: without a mask or shares, what a round adds to an estimate has the loss as its mean."""
        agent = self.agent
        if agent.handed_over is not None or agent.minimum_share:
            return
        losses = np.array([loss_of(self.made, arm) for arm in agent.arms])
        before, mean, held = agent.learner.estimates(agent._state), np.zeros(len(losses)), 0.0
        for place, p in enumerate(agent.distribution.tolist()):
            if p > 0.0:
                twin, decision = forced(agent, place, list(agent.arms))
                twin.observe(decision, {arm: losses[agent.arms.index(arm)] for arm in decision.observes})
                if twin.handed_over is not None:
                    return
                mean += p * (twin.learner.estimates(twin._state) - before)
                held += twin.held_back - agent.held_back
        assert agent.regret_bound is None or agent.regret_bound >= 0.0
        assert mean == pytest.approx(losses, rel=1e-7, abs=1e-9) if held == 0.0 else (mean <= losses + 1e-9).all()

    @invariant()
    def other_arms_are_left_to_algorithm_1(self):
        if self.changes:
            assert self.agent.handed_over == self.agent.history[0]["round"]
            assert self.agent.report().why_handed_over == "arms came or went"


class DefaultMachine(AgentMachine):
    """The default constants: a baseline is taken off, and what would put a clique too far behind is held back."""

    constants = staticmethod(aw.Constants.practical)
    unbiased = False


class ForgetfulMachine(DefaultMachine):
    """The same with a half-life of ten rounds."""

    half_life = 10

    @rule()
    def enumerate_every_draw(self):
        """Estimates shrink in every round here; what a draw adds is checked in the other machines."""


QUICK = settings(max_examples=15, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck))
TestPaper = AgentMachine.TestCase
TestPaper.settings = QUICK
TestGuarded = GuardedMachine.TestCase
TestGuarded.settings = QUICK
TestDefault = DefaultMachine.TestCase
TestDefault.settings = QUICK
TestForgetful = ForgetfulMachine.TestCase
TestForgetful.settings = QUICK
