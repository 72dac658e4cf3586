"""Agents: choosing, observing late, out of order or never, from several threads."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle
import threading

import numpy as np
import pytest

import allworlds as aw
from agents.agent_runs import choose_with, everything, learner_bits, loss_of, make, play, refused, report
from allworlds.foundation.errors import InvalidParameter, UnknownDecision
from allworlds.kernels.random import STREAM_AGENT, uniform_pair
from allworlds.learners.by_name import LEARNERS

# --- choosing -------------------------------------------------------------------------------------------


def test_a_decision_says_all_that_later_work_needs():
    agent = make()
    decision = agent.choose()
    cover = agent.learner.cover
    clique = cover.cliques[cover.owner[decision.arm]]
    assert decision.id == 1
    assert decision.observes == tuple(clique.tolist())
    assert decision.probability == agent.distribution[decision.arm]
    assert decision.round == 1
    assert list(decision.details) == ["clique", "clique_probability", "baseline", "damping"]
    assert decision.details["clique"] == cover.owner[decision.arm]
    assert decision.details["clique_probability"] == pytest.approx(agent.distribution[clique].sum(), rel=1e-12)
    assert decision.details["baseline"] == 0.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        decision.arm = 3


def test_a_decision_is_made_of_plain_python_values():
    decision = make().choose()
    kinds = [type(value) for value in dataclasses.astuple(decision)]
    assert kinds == [int, int, float, int, tuple, dict, type(None)]
    assert [type(value) for value in decision.details.values()] == [int, float, float, float]
    assert hash(decision) == hash(pickle.loads(pickle.dumps(decision)))
    assert {type(arm) for arm in decision.observes} == {int}


def test_choosing_changes_no_learner_state_and_ids_count_from_one():
    agent = make()
    play(agent, 20)
    before = learner_bits(agent), agent.round, agent.distribution.tobytes()
    decisions = [agent.choose() for _ in range(50)]
    assert (learner_bits(agent), agent.round, agent.distribution.tobytes()) == before
    assert [decision.id for decision in decisions] == list(range(21, 71))
    assert {decision.round for decision in decisions} == {21}
    assert len({decision.arm for decision in decisions}) > 1
    assert agent.pending == {decision.id: decision for decision in decisions}


class Neighbourly(aw.TsallisShannon):
    """Asks for all that the chosen arm sees; only good for choosing."""

    def observes(self, arm):
        return self.graph.sees(arm)


def test_each_decision_asks_for_what_its_own_arm_observes():
    # Arms 1 and 4 of a pentagon see {0, 1, 2} and {0, 3, 4}: the same number of arms, the same first one.
    graph = aw.graphs.cycle(5)
    agent = aw.Agent(Neighbourly(aw.clique_cover(graph)), seed=1)
    decisions = [agent.choose() for _ in range(60)]
    assert {decision.arm for decision in decisions} == set(range(5))
    for decision in decisions:
        assert decision.observes == tuple(graph.sees(decision.arm).tolist())


def test_choices_follow_the_distribution():
    agent = make()
    play(agent, 30)
    counts = np.zeros(7)
    for _ in range(4000):
        counts[agent.choose().arm] += 1
    spread = np.sqrt(agent.distribution * (1 - agent.distribution) / 4000)
    assert np.all(np.abs(counts / 4000 - agent.distribution) <= 5 * spread)


def test_equal_seeds_make_equal_decisions_and_other_seeds_do_not():
    assert play(make(seed=3), 50) == play(make(seed=3), 50)
    assert [d.arm for d in play(make(seed=3), 50)] != [d.arm for d in play(make(seed=4), 50)]
    assert make(seed=3).seed == 3
    assert 0 <= make(seed=None).seed < 2**63


def test_the_round_is_one_plus_the_outcomes_learnt():
    agent = make()
    assert agent.round == 1
    first, second, third = agent.choose(), agent.choose(), agent.choose()
    agent.observe(second, report(second))
    assert agent.round == 2
    agent.void(third)
    assert agent.round == 2
    fourth = agent.choose()
    assert [first.round, second.round, third.round, fourth.round] == [1, 1, 1, 2]


# --- late, out of order, never, twice -------------------------------------------------------------------


def test_outcomes_may_come_in_any_order_and_each_is_weighted_by_its_own_decision():
    agent = make()
    waiting = [agent.choose() for _ in range(8)]
    play(agent, 10)
    estimates = agent.learner.cumulative_losses(agent._state)
    for decision in reversed(waiting):
        losses = report(decision)
        agent.observe(decision, losses)
        for arm in decision.observes:
            weight = decision.details["clique_probability"] + decision.details["damping"]
            estimates[arm] += (losses[arm] - decision.details["baseline"]) / weight
    assert agent.learner.cumulative_losses(agent._state) == pytest.approx(estimates, rel=1e-12, abs=1e-12)
    assert agent.round == 19
    assert not agent.pending


def test_a_decision_that_is_never_observed_leaves_nothing_in_the_learner():
    careful, careless = make(), make()
    for t in range(40):
        decision, same = careful.choose(), careless.choose()
        assert decision == same
        if t % 3 == 0:
            careful.void(decision)
        else:
            careful.observe(decision, report(decision))
            careless.observe(same, report(same))
    assert learner_bits(careful) == learner_bits(careless)
    assert not careful.pending
    assert sorted(careless.pending) == [1 + t for t in range(0, 40, 3)]


def test_a_second_report_is_refused_with_a_sentence():
    agent = make()
    decision = agent.choose()
    agent.observe(decision, report(decision))
    for again in (decision, decision.id):
        sentence = "the outcome of decision 1 was already reported, or it was voided; each is reported once"
        refused(agent, UnknownDecision, sentence, lambda again=again: agent.observe(again, report(decision)))
        refused(agent, UnknownDecision, "already reported", lambda again=again: agent.void(again))


def test_a_voided_decision_cannot_be_reported():
    agent = make()
    decision = agent.choose()
    agent.void(decision.id)
    refused(agent, UnknownDecision, "it was voided", lambda: agent.observe(decision, report(decision)))


@pytest.mark.parametrize("number", [0, -1, 2, 10**30])
def test_an_id_that_was_never_given_is_refused(number):
    agent = make()
    decision = agent.choose()
    refused(agent, UnknownDecision, "made no decision .*its last is 1", lambda: agent.observe(number, report(decision)))
    refused(agent, UnknownDecision, "made no decision", lambda: agent.void(number))


@pytest.mark.parametrize("wrong", [None, "1", 1.0, True, [1], (1, 2)])
def test_what_is_no_decision_is_refused(wrong):
    agent = make()
    decision = agent.choose()
    refused(agent, InvalidParameter, "expected a Decision", lambda: agent.observe(wrong, report(decision)))
    refused(agent, InvalidParameter, "expected a Decision", lambda: agent.void(wrong))


def test_a_decision_of_another_agent_is_refused():
    agent, other = make(seed=1), make(seed=2)
    mine = agent.choose()
    foreign = choose_with(other, lambda d: d.arm != mine.arm)
    foreign = dataclasses.replace(foreign, id=mine.id)
    refused(agent, UnknownDecision, "is of another agent", lambda: agent.observe(foreign, report(foreign)))
    refused(agent, UnknownDecision, "is of another agent", lambda: agent.void(foreign))


def test_an_id_may_be_an_integer_of_numpy():
    agent = make()
    decision = agent.choose()
    agent.observe(np.int64(decision.id), report(decision))
    assert agent.round == 2


def test_pending_is_a_view_that_cannot_be_changed():
    agent = make()
    agent.choose()
    with pytest.raises(TypeError):
        del agent.pending[1]


# --- what an agent is made of --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (1, 1),
        (2, 1),
        (math.nan, 1),
        (0, math.inf),
        (-1.7e308, 1.7e308),
        ("0", 1),
        (None, 1),
        (False, True),
        (0, 10**400),
    ],
    ids=str,
)
def test_what_is_no_range_is_refused(low, high):
    with pytest.raises(
        InvalidParameter,
        match=r"expected (two finite numbers, low < high|a finite number)$",
    ):
        make(low=low, high=high)


@pytest.mark.parametrize("reward", [1, 0, None, "yes"])
def test_reward_is_true_or_false(reward):
    with pytest.raises(InvalidParameter, match="expected True or False"):
        make(reward=reward)


@pytest.mark.parametrize("wrong", [None, "tsallis-shannon", aw.TsallisShannon], ids=str)
def test_what_is_neither_a_learner_nor_a_graph_raises(wrong):
    sentence = r"expected a learner or a graph, such as allworlds.Guarded\(graph\)"
    with pytest.raises(InvalidParameter, match=sentence):
        aw.Agent(wrong, seed=1)


def test_a_graph_or_a_cover_stands_for_the_default_learner_on_it():
    graph = aw.graphs.cycle(5)
    cover = aw.CliqueCover.singletons(graph)
    assert aw.Agent(graph).learner == aw.Guarded(aw.clique_cover(graph))
    assert aw.Agent(cover).learner == aw.Guarded(cover)


class Stubborn(aw.TsallisShannon):
    """Draws and learns in Python: always the first clique, and every loss as 0."""

    def draw(self, state, first, second):
        return super().draw(state, 0.0, second)

    def update(self, state, ticket, losses):
        super().update(state, ticket, 0.0 * losses)


def test_a_learner_that_draws_and_learns_in_python_does_so_in_an_agent_too():
    agent = aw.Agent(Stubborn(aw.graphs.disjoint_cliques(2, 2)), seed=1, low=1.0, high=3.0)
    for _ in range(20):
        decision = agent.choose()
        assert decision.observes == (0, 1)
        with pytest.raises(aw.errors.InvalidLosses, match=r"the loss of arm 1 is 0\.5; expected a number from 1 to 3"):
            agent.observe(decision, [1.0, 0.5])
        agent.observe(decision, [1.5, 3.0])
    assert agent.distribution[0] == agent.distribution[1]
    assert agent.round == 21


def test_the_agent_of_a_class_that_is_not_listed_is_copied_as_it_is_and_not_saved(tmp_path):
    agent = aw.Agent(Stubborn(aw.graphs.disjoint_cliques(2, 2)), seed=1)
    play(agent, 5)
    waiting = agent.choose()
    for same in (pickle.loads(pickle.dumps(agent)), copy.deepcopy(agent)):
        assert type(same.learner) is Stubborn
        assert everything(same) == everything(agent)
        same.observe(waiting, report(waiting))
    with pytest.raises(InvalidParameter, match=r"learner is a Stubborn; expected a class in .*; .* pickle the agent"):
        agent.save(tmp_path / "agent.json")
    assert list(tmp_path.iterdir()) == []


# --- every learner --------------------------------------------------------------------------------------


def bridged():
    graph = aw.FeedbackGraph(6, [(0, 2), (2, 4), (0, 4), (1, 3), (3, 5), (1, 5), (4, 5)], list("abcdef"))
    return aw.CliqueCover(graph, [[0, 2, 4], [1, 3], [5]])


EVERY_LEARNER = pytest.mark.parametrize("name", LEARNERS)


@EVERY_LEARNER
def test_an_agent_does_bit_for_bit_what_its_learner_does_by_hand(name):
    learner = aw.make_learner(name, bridged(), 1000)
    agent, state = aw.Agent(learner, seed=5, reward=True, low=-1.0, high=3.0), learner.init()
    waiting = []
    for t in range(1, 60):
        decision = agent.choose()
        ticket = learner.draw(state, *uniform_pair(5, STREAM_AGENT, t, 0))
        assert "abcdef"[ticket.arm] == decision.arm
        assert decision.details == {field: getattr(ticket, field) for field in learner.logged}
        waiting.append((decision, ticket))
        if t % 3:  # outcomes come late and out of order
            decision, ticket = waiting.pop(t % len(waiting))
            values = np.array([4.0 * loss_of(decision.id, arm) - 1.0 for arm in decision.observes])
            agent.observe(decision, values)
            learner.update(state, ticket, (3.0 - values) / 4.0)
            for name_, array in learner.pack(state).items():
                assert array.tobytes() == learner.pack(agent._state)[name_].tobytes()


@EVERY_LEARNER
def test_a_pickled_or_copied_agent_continues_bit_for_bit_and_on_its_own(name):
    agent = aw.Agent(aw.make_learner(name, bridged(), 1000), seed=5, low=-1.0)
    play(agent, 20)
    waiting = [agent.choose() for _ in range(3)]
    copies = [pickle.loads(pickle.dumps(agent)), copy.deepcopy(agent), copy.copy(agent)]
    before = [everything_but_nan(one) for one in (agent, *copies)]
    assert before == before[:1] * 4
    for one in (agent, *copies):
        one.observe(waiting[1], report(waiting[1]))
        play(one, 20)
    after = [everything_but_nan(one) for one in (agent, *copies)]
    assert after == after[:1] * 4
    play(copies[0], 1)
    assert everything_but_nan(agent) == after[0] != everything_but_nan(copies[0])
    assert copies[1].learner == agent.learner


def everything_but_nan(agent):
    """All that an agent holds; the probabilities of pending decisions as text, since NaN equals nothing."""
    state, pending, *rest = everything(agent)
    return state, repr(pending), rest


@pytest.mark.parametrize("seed", [-1, 2**63, 1.5, True, "7"])
def test_what_is_no_seed_is_refused(seed):
    with pytest.raises(InvalidParameter, match="seed is"):
        make(seed=seed)


# --- threads --------------------------------------------------------------------------------------------


def test_four_threads_lose_no_decision():
    agent = make()
    decisions: list[aw.Decision] = []
    errors: list[BaseException] = []

    def work():
        try:
            for _ in range(500):
                decision = agent.choose()
                decisions.append(decision)
                agent.observe(decision, report(decision))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert agent.round == 2001
    assert not agent.pending
    assert sorted(decision.id for decision in decisions) == list(range(1, 2001))
    assert agent.learner.residual(agent._state) <= 1e-10
