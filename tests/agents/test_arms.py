"""Arms that come and go: what is kept, where a new arm starts, late outcomes, files of the version before."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import allworlds as aw
from agents.agent_runs import everything, make, play, refused, report
from allworlds.foundation.errors import InvalidLosses, InvalidParameter

SAVED = Path(__file__).parent / "saved"


@pytest.mark.parametrize("name", ["version3.json", "version3.npz"])
def test_a_file_of_the_version_before_masks_and_arms_still_loads_and_goes_on(name):
    agent = aw.Agent.load(SAVED / name)
    expected = json.loads((SAVED / "continues.json").read_text())[name]
    assert sorted(agent.pending) == expected["pending"]
    for decision, (number, arm, probability) in zip(play(agent, 20), expected["next"], strict=True):
        assert (decision.id, decision.arm) == (number, arm)
        assert decision.probability == pytest.approx(float.fromhex(probability), rel=1e-9)
    assert agent.history == ()
    assert agent.minimum_share == {}


def test_an_arm_that_sees_a_whole_clique_joins_it_and_starts_from_what_it_knows():
    agent = make()
    play(agent, 60)
    p, losses = agent.distribution, agent.learner.estimates(agent._state)
    agent.add_arm("new", neighbours=[0, 1, 2])
    assert agent.arms == (0, 1, 2, 3, 4, 5, 6, "new")
    assert agent.learner.cover.cliques[0].tolist() == [0, 1, 2, 7]
    after = agent.learner.estimates(agent._state)
    assert after[:7] == pytest.approx(losses, rel=1e-15)
    assert after[7] == pytest.approx(p[:3] @ losses[:3] / p[:3].sum(), rel=1e-12)
    assert agent.distribution.sum() == pytest.approx(1.0, abs=1e-12)
    assert agent.learner.residual(agent._state) < 1e-9


@pytest.mark.parametrize("neighbours", [(), (0, 1), (2, 3)], ids=str)
def test_an_arm_that_sees_no_whole_clique_forms_one_and_starts_where_the_choices_are(neighbours):
    agent = make()
    play(agent, 60)
    p, losses = agent.distribution, agent.learner.estimates(agent._state)
    agent.add_arm("new", neighbours)
    assert agent.learner.cover.cliques[3].tolist() == [7]
    assert agent.learner.graph.sees(7).tolist() == [*neighbours, 7]
    assert agent.learner.estimates(agent._state)[7] == pytest.approx(p @ losses, rel=1e-12)


def test_the_step_after_a_change_is_that_of_a_learner_made_for_the_arms():
    agent = make()
    play(agent, 40)
    agent.add_arm("new", [6])
    agent.retire_arm(1)
    learner, state = agent.learner, agent._state
    assert learner.constants == aw.Constants.practical(learner.cover)
    assert learner.residual(state) < 1e-9


@pytest.mark.parametrize("kind", [aw.learners.Exp3, aw.learners.Exp3IX])
def test_other_learners_without_cliques_take_arms_too(kind):
    agent = aw.Agent(kind(aw.graphs.cycle(5)), seed=1)
    play(agent, 30)
    waiting = [agent.choose() for _ in range(3)]
    losses = agent.learner.estimates(agent._state)
    agent.add_arm(5, [0, 1])
    agent.retire_arm(3)
    assert agent.arms == (0, 1, 2, 4, 5)
    assert agent.learner.estimates(agent._state)[:4] == pytest.approx(losses[[0, 1, 2, 4]])
    for decision in waiting:
        agent.observe(decision, report(decision))
    assert agent.round == 34
    play(agent, 10)


def test_a_retired_arm_is_never_drawn_and_its_late_outcome_counts_for_its_clique():
    agent = make(constants=lambda cover: aw.Constants.paper(cover, 1000))
    play(agent, 20)
    late = next(d for d in (agent.choose() for _ in range(300)) if d.arm == 4)
    losses = agent.learner.estimates(agent._state)
    agent.retire_arm(4)
    agent.observe(late, {3: 0.5, 4: 1.0, 5: 0.25})
    weight = late.details["clique_probability"] + late.details["damping"]
    expected = losses[[0, 1, 2, 3, 5, 6]]
    expected[3] += 0.5 / weight
    expected[4] += 0.25 / weight
    assert agent.learner.estimates(agent._state) == pytest.approx(expected, rel=1e-12)
    assert agent.round == 22
    assert 4 not in {agent.choose().arm for _ in range(300)}


def test_an_open_decision_of_a_clique_that_is_gone_is_still_accepted():
    agent = make()
    late = next(d for d in (agent.choose() for _ in range(300)) if d.arm == 6)
    agent.retire_arm(6)
    losses = agent.learner.estimates(agent._state)
    refused(agent, InvalidLosses, "made before the arms changed", lambda: agent.observe(late, {6: 0.1, 0: 0.3}))
    refused(agent, InvalidLosses, "expected a number from 0 to 1", lambda: agent.observe(late, {6: 1.1}))
    agent.observe(late, 0.5)
    assert agent.learner.estimates(agent._state) == pytest.approx(losses, rel=1e-15)
    assert agent.round == 2


def test_a_share_for_all_is_of_the_arms_that_there_are_and_a_later_one_has_none():
    agent = make(minimum_share=0.1)
    agent.add_arm("new")
    agent.retire_arm(0)
    assert dict(agent.minimum_share) == dict.fromkeys(range(1, 7), 0.1)
    assert (agent.distribution[:-1] >= 0.1 * (1 - 1e-12)).all()


def test_another_graph_keeps_what_was_learnt():
    agent = make(labels=list("abcdefg"), minimum_share={"a": 0.1, "g": 0.1})
    play(agent, 40)
    losses = dict(zip(agent.arms, agent.learner.estimates(agent._state), strict=True))
    agent.update_graph(aw.FeedbackGraph(5, [(0, 1), (1, 2), (0, 2)], labels=["z", "c", "b", "a", "y"]))
    after = dict(zip(agent.arms, agent.learner.estimates(agent._state), strict=True))
    assert agent.arms == ("z", "c", "b", "a", "y")
    assert [after[arm] for arm in "abc"] == pytest.approx([losses[arm] for arm in "abc"])
    assert min(losses["b"], losses["c"]) <= after["z"] <= max(losses["b"], losses["c"])
    assert agent.learner.n_cliques == 3
    assert agent.minimum_share == {"a": 0.1}
    assert dict(agent.history[0]) == {
        "event": "update_graph",
        "added": ["z", "y"],
        "retired": ["d", "e", "f", "g"],
        "decision": 41,
        "round": 41,
    }


@pytest.mark.parametrize("suffix", [".json", ".npz"])
def test_changes_and_open_decisions_survive_saving(tmp_path, suffix):
    agent = make()
    play(agent, 10)
    waiting = [agent.choose(), agent.choose([0, 4]), agent.choose()]
    agent.add_arm("new", [3, 4, 5])
    agent.retire_arm(0)
    waiting.append(agent.choose(["new", 6]))
    agent.save(tmp_path / f"agent{suffix}")
    for again in (aw.Agent.load(tmp_path / f"agent{suffix}"), copy.deepcopy(agent)):
        assert everything(again) == everything(agent)
        here = copy.deepcopy(agent)
        for one in (here, again):
            for decision in waiting[::-1]:
                one.observe(decision.id, report(decision))
        assert everything(again) == everything(here)
        assert play(again, 10) == play(here, 10)


@pytest.mark.parametrize("half_life", [None, 10, 200])
def test_going_on_with_the_same_arms_changes_nothing_also_in_a_learner_that_forgets(half_life):
    """With a half-life of 10, what is stored is brought back to scale every 160 rounds: changes lie on both sides."""
    graph = aw.graphs.disjoint_cliques(3, 2)
    agent = aw.Agent(aw.TsallisShannon(graph, half_life=half_life), seed=2)
    for turn in range(8):
        twin = copy.deepcopy(agent)
        late = [agent.choose(), agent.choose()]
        assert [twin.choose(), twin.choose()] == late
        twin.update_graph(graph)
        assert twin.learner.half_life == half_life
        assert twin.distribution == pytest.approx(agent.distribution, rel=1e-6)
        assert twin.learner.residual(twin._state) < 1e-7
        for one in (agent, twin):
            for decision in late:
                one.observe(decision.id, dict.fromkeys(decision.observes, 0.1 * (turn % 3)))
        assert twin.round == agent.round
        assert twin.distribution == pytest.approx(agent.distribution, rel=1e-6)
        for decision in play(twin, 59):
            assert agent.choose().arm == decision.arm
            agent.observe(decision.id, report(decision))
        assert twin.distribution == pytest.approx(agent.distribution, rel=1e-5)


def test_arms_come_and_go_in_a_learner_that_forgets(tmp_path):
    agent = aw.Agent(aw.TsallisShannon(aw.graphs.disjoint_cliques(2, 2), half_life=10), seed=2)
    play(agent, 158)
    open_ones = [agent.choose() for _ in range(4)]
    losses = agent.learner.estimates(agent._state)
    agent.add_arm("new", [0, 1])
    agent.retire_arm(2)
    assert agent.learner.estimates(agent._state)[:3] == pytest.approx(losses[[0, 1, 3]], rel=1e-9)
    for decision in open_ones:
        agent.observe(decision, report(decision))
    agent.save(tmp_path / "agent.json")
    again = aw.Agent.load(tmp_path / "agent.json")
    assert play(again, 40) == play(agent, 40)
    assert agent.learner.residual(agent._state) < 1e-7
    assert agent.learner.title == "tsallis-shannon (half-life 10)"


def test_disjoint_cliques_are_never_expanded_into_edges():
    agent = aw.Agent(aw.graphs.disjoint_cliques(3, 4), seed=1)
    agent.add_arm("new", range(4))
    agent.add_arm("lone")
    agent.retire_arm(5)
    expected = aw.FeedbackGraph.from_cliques(13, [[0, 1, 2, 3, 11], [4, 5, 6], [7, 8, 9, 10], [12]])
    assert agent.learner.graph.digest() == expected.digest()


def by_hand(cover):
    return aw.Constants.practical(cover).__class__.from_dict(aw.Constants.practical(cover).to_dict() | {"beta": 3.0})


WRONG_CHANGES = [
    (lambda a: a.add_arm(3), "there is already an arm 3; expected a new label"),
    (lambda a: a.add_arm(None), "label is None; expected a string or an integer"),
    (lambda a: a.add_arm(1.5), "label is 1.5; expected a string or an integer"),
    (lambda a: a.add_arm("x", 3), "neighbours is 3; expected a list of arms"),
    (lambda a: a.add_arm("x", "ab"), "neighbours is 'ab'; expected a list of arms"),
    (lambda a: a.add_arm("x", [0, 99]), "neighbours names an unknown arm: no arm"),
    (lambda a: a.retire_arm("x"), "no arm"),
    (lambda a: a.retire_arm(7), "no arm"),
    (lambda a: a.add_arm(6), "arm 6 was retired; expected another label for a new arm"),
    (lambda a: a.update_graph(aw.graphs.bandit(7)), "arm 6 was retired"),
    (lambda a: a.update_graph(3), "graph is a int; expected a FeedbackGraph or a CliqueCover"),
    (lambda a: a.choose([6]), "available names an unknown arm"),
]


@pytest.mark.parametrize(("call", "sentence"), WRONG_CHANGES, ids=[sentence for _, sentence in WRONG_CHANGES])
def test_a_wrong_change_gets_a_sentence_and_changes_nothing(call, sentence):
    agent = make()
    play(agent, 5)
    agent.choose()
    agent.retire_arm(6)
    refused(agent, aw.AllWorldsError, sentence, lambda: call(agent))


def test_the_last_arm_stays_and_learners_that_cannot_change_say_so():
    agent = aw.Agent(aw.graphs.bandit(1), seed=1)
    refused(agent, InvalidParameter, "this is the last arm", lambda: agent.retire_arm(0))
    agent = aw.Agent(aw.learners.UCBN(aw.graphs.bandit(3)), seed=1)
    refused(agent, InvalidParameter, "the arms of ucb-n cannot change while it runs", lambda: agent.add_arm(3))
    agent = make(constants=by_hand)
    refused(agent, InvalidParameter, "expected a setting that can be computed", lambda: agent.retire_arm(0))


def test_an_agent_with_the_default_of_an_earlier_version_keeps_it_as_long_as_it_applies():
    """One clique had a head start of 300 rounds; several had another share of the baseline and another limit."""

    def earlier(cover):
        if cover.n_cliques == 1:
            return replace(aw.Constants.practical(cover), head_start=300.0)
        return replace(aw.Constants.practical(cover), baseline_share=0.75, deficit_limit=0.08, deficit_root=4.0)

    for graph in (aw.graphs.full_information(3), aw.graphs.bandit(3)):
        cover = aw.clique_cover(graph)
        agent = aw.Agent(aw.TsallisShannon(cover, earlier(cover)), seed=1)
        play(agent, 10)
        agent.add_arm("like the others", neighbours=list(range(3)) if cover.n_cliques == 1 else [])
        assert agent.learner.constants == earlier(agent.learner.cover)
        agent.update_graph(aw.graphs.bandit(4) if cover.n_cliques == 1 else aw.graphs.full_information(4))
        assert agent.learner.constants == aw.Constants.practical(agent.learner.cover)


def test_a_better_arm_that_comes_late_is_found():
    agent = aw.Agent(aw.graphs.disjoint_cliques(3, 3), seed=4)
    rng = np.random.default_rng(1)

    def go(n_rounds):
        played = []
        for _ in range(n_rounds):
            decision = agent.choose()
            mean = {arm: 0.2 if arm in ("joined", "lone") else 0.7 for arm in decision.observes}
            agent.observe(decision, {arm: float(rng.random() < m) for arm, m in mean.items()})
            played.append(decision.arm)
        return played

    go(500)
    agent.add_arm("joined", [0, 1, 2])
    assert go(400)[200:].count("joined") > 120
    agent.retire_arm("joined")
    go(300)
    agent.add_arm("lone")
    assert go(400)[200:].count("lone") > 120


def test_labels_with_one_text_are_refused_wherever_an_agent_gets_arms():
    sentence = r"labels 0 and '0' have the same text, .* expected labels whose texts differ"
    mixed = aw.FeedbackGraph(2, [], labels=[0, "0"])
    for make_one in (aw.Agent, aw.Fleet):
        with pytest.raises(InvalidParameter, match=sentence):
            make_one(mixed, seed=1)
    agent = make()
    refused(agent, InvalidParameter, sentence, lambda: agent.add_arm("0"))
    refused(agent, InvalidParameter, sentence, lambda: agent.update_graph(aw.FeedbackGraph(2, [], labels=["x", "0"])))
    agent.retire_arm(0)
    refused(agent, InvalidParameter, sentence, lambda: agent.add_arm("0"))  # they would be one arm in the log
    agent.add_arm("00")
    assert agent.arms == (1, 2, 3, 4, 5, 6, "00")


def test_a_saved_agent_with_labels_of_one_text_says_so(tmp_path, monkeypatch):
    with monkeypatch.context() as earlier:
        earlier.setattr("allworlds.agents.agent.check_texts", lambda names: None)
        aw.Agent(aw.FeedbackGraph(2, [], labels=[0, "0"]), seed=1).save(tmp_path / "agent.json")
    with pytest.raises(
        aw.errors.InvalidState, match=r"cannot restore the agent in .*: the labels 0 and '0' have the same"
    ):
        aw.Agent.load(tmp_path / "agent.json")
