"""Agents on directed graphs, where an arm may not show itself, or nothing at all."""

from __future__ import annotations

import copy
import pickle
from typing import ClassVar

import numpy as np
import pytest

from allworlds import graphs
from allworlds.agents import Agent
from allworlds.foundation.errors import InvalidGraph, InvalidLosses, InvalidParameter
from allworlds.graphs import FeedbackGraph
from allworlds.graphs.features import FEATURES
from allworlds.learners import UCBN, Exp3IX
from allworlds.learners.by_name import BY_NAME


class OpenIX(Exp3IX):
    """Takes any graph, so that agents can be tested on graphs that Exp3-IX is not made for."""

    name: ClassVar[str] = "open-ix"
    accepts: ClassVar[frozenset[str]] = frozenset(FEATURES)


GRAPHS = {
    "bids": graphs.first_price_bids(5),
    "labelled": FeedbackGraph(3, [(0, 1), (2, 1)], ["low", "middle", "high"], directed=True, self_loops=[0, 2]),
    "without loops": graphs.loopless_clique(4),
    "revealing": graphs.revealing_action(4),
}
SHAPES = pytest.mark.parametrize("shape", list(GRAPHS))


def report(agent, decision, t):
    losses = np.random.default_rng([3, t]).random(agent.learner.n_arms)
    names = agent.learner.graph.labels or range(agent.learner.n_arms)
    table = dict(zip(names, losses.tolist(), strict=True))
    agent.observe(decision, {arm: table[arm] for arm in decision.observes})


def play(agent, first, last):
    decisions = []
    for t in range(first, last):
        decisions.append(agent.choose())
        report(agent, decisions[-1], t)
    return decisions


@SHAPES
def test_a_decision_observes_what_the_graph_shows(shape):
    graph, agent = GRAPHS[shape], Agent(OpenIX(GRAPHS[shape]), seed=1)
    names = graph.labels or tuple(range(graph.n_arms))
    seen = {}
    for decision in play(agent, 0, 60):
        arm = graph.index_of(decision.arm)
        seen[arm] = decision.observes
        assert decision.observes == tuple(names[i] for i in np.flatnonzero(graph.adjacency()[arm]))
    assert len(seen) == graph.n_arms
    assert agent.round == 61


@SHAPES
@pytest.mark.parametrize("suffix", [".json", ".npz"])
def test_an_agent_that_was_saved_goes_on_bit_for_bit(shape, suffix, tmp_path, monkeypatch):
    monkeypatch.setitem(BY_NAME, OpenIX.name, OpenIX)
    agent = Agent(OpenIX(GRAPHS[shape]), seed=4)
    play(agent, 0, 20)
    waiting = agent.choose()
    agent.save(tmp_path / f"agent{suffix}")
    others = [Agent.load(tmp_path / f"agent{suffix}"), pickle.loads(pickle.dumps(agent)), copy.deepcopy(agent)]
    for one in (agent, *others):
        assert one.learner.graph == GRAPHS[shape]
        assert list(one.pending) == [waiting.id]
        report(one, waiting, 20)
    expected = play(agent, 21, 40)
    for other in others:
        assert play(other, 21, 40) == expected
        assert other.distribution.tobytes() == agent.distribution.tobytes()


def test_an_arm_that_shows_nothing_is_reported_with_nothing():
    agent = Agent(OpenIX(graphs.revealing_action(3)), seed=2)
    decision = next(d for d in iter(agent.choose, None) if d.arm != 0)
    assert decision.observes == ()
    before = agent.distribution
    with pytest.raises(InvalidLosses, match=r"losses has arm 0, but .* which does not see it"):
        agent.observe(decision, {0: 0.5})
    with pytest.raises(InvalidLosses, match=r"losses have shape \(1,\); decision \d+ needs 0 of them"):
        agent.observe(decision, 0.5)
    agent.observe(decision, {})
    assert agent.round == 2
    assert np.argsort(agent.distribution).tolist() == np.argsort(before).tolist()


def test_losses_of_arms_that_only_see_the_chosen_one_are_refused():
    agent = Agent(UCBN(graphs.first_price_bids(3)), seed=0)
    decision = next(d for d in iter(agent.choose, None) if d.arm == 1)
    with pytest.raises(InvalidLosses, match=r"losses has arm 0, but decision \d+ chose arm 1, which does not see it"):
        agent.observe(decision, {0: 0.5, 1: 0.5, 2: 0.5})
    agent.observe(decision, {1: 0.5, 2: 0.5})


def test_an_agent_refuses_graphs_that_its_learner_does_not_take_and_graphs_that_change():
    with pytest.raises(InvalidGraph, match="arm 0 sees arm 1 but not the other way round, which guarded does not"):
        Agent(graphs.first_price_bids(3))
    with pytest.raises(InvalidParameter, match="the learner's graph changes or is noisy; expected a fixed graph"):
        Agent(Exp3IX(graphs.random_edges(3, 0.5)))
