"""Agents for the tests of this room, a fixed world, and everything an agent holds as bytes."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest

import allworlds as aw


def make(seed=7, *, labels=None, constants=None, **options):
    """Two triangles {0, 1, 2} and {3, 4, 5} with the bridge 2-3, and a lone arm 6."""
    edges = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (2, 3)]
    graph = aw.FeedbackGraph(7, edges, labels)
    cover = aw.CliqueCover(graph, [[0, 1, 2], [3, 4, 5], [6]])
    chosen = None if constants is None else constants(cover)
    return aw.Agent(aw.TsallisShannon(cover, chosen), seed=seed, **options)


def loss_of(number, arm):
    """A fixed world: the loss of an arm (its label or number) under a decision's id."""
    return float(np.random.default_rng([number, sum(str(arm).encode())]).uniform())


def report(decision):
    """A full report of that world."""
    return {arm: loss_of(decision.id, arm) for arm in decision.observes}


def play(agent, n_rounds):
    """Choose and observe; the decisions."""
    decisions = []
    for _ in range(n_rounds):
        decision = agent.choose()
        agent.observe(decision, report(decision))
        decisions.append(decision)
    return decisions


def choose_with(agent, wanted):
    """Choose until the condition holds; whatever comes on the way is voided."""
    for _ in range(1000):
        decision = agent.choose()
        if wanted(decision):
            return decision
        agent.void(decision)
    raise AssertionError("no such decision in 1000")


def learner_bits(agent):
    """The learner's whole state as bytes."""
    return {name: array.tobytes() for name, array in agent.learner.pack(agent._state).items()}


def everything(agent):
    """The learner's state, the open decisions, the round and the counts: what a refused call must leave alone."""
    kept = agent._next_id, list(agent.history), dict(agent.minimum_share), agent._without_bound, agent.learner.graph
    kept += (agent._tally.pack().tobytes(),)
    return learner_bits(agent), dict(agent.pending), agent.round, agent.distribution.tobytes(), kept


def refused(agent, error, sentence, call):
    """The call raises our error with this sentence, and the agent is as it was, bit for bit."""
    before = everything(agent)
    with pytest.raises(error, match=sentence) as caught:
        call()
    assert isinstance(caught.value, aw.AllWorldsError)
    assert everything(agent) == before


def resign(path, change):
    """Rewrite a JSON file after ``change`` as someone would who knows the checksum."""
    outer = json.loads(path.read_text())
    change(outer["agent"])
    outer["sha256"] = hashlib.sha256(json.dumps(outer["agent"]).encode()).hexdigest()
    path.write_text(json.dumps(outer))
