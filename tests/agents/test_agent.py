"""Agents: choosing, observing late, out of order or never, from several threads."""

from __future__ import annotations

import dataclasses
import math
import threading

import numpy as np
import pytest

import allworlds as aw
from agents.agent_runs import choose_with, learner_bits, make, play, refused, report
from allworlds.foundation.errors import InvalidParameter, UnknownDecision

# --- choosing -------------------------------------------------------------------------------------------


def test_a_decision_says_all_that_later_work_needs():
    agent = make()
    decision = agent.choose()
    cover = agent.learner.cover
    clique = cover.cliques[cover.owner[decision.arm]]
    assert decision.id == 1
    assert decision.observes == tuple(clique.tolist())
    assert decision.probability == agent.distribution[decision.arm]
    assert decision.clique_probability == pytest.approx(agent.distribution[clique].sum(), rel=1e-12)
    assert (decision.round, decision.baseline) == (1, 0.0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        decision.arm = 3


def test_a_decision_is_made_of_plain_python_values():
    decision = make().choose()
    kinds = [type(value) for value in dataclasses.astuple(decision)]
    assert kinds == [int, int, float, float, int, tuple, float, float]
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
            estimates[arm] += (losses[arm] - decision.baseline) / (decision.clique_probability + decision.damping)
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
    with pytest.raises(InvalidParameter, match=r"the range is .*expected two finite numbers, low < high"):
        make(low=low, high=high)


@pytest.mark.parametrize("reward", [1, 0, None, "yes"])
def test_reward_is_true_or_false(reward):
    with pytest.raises(InvalidParameter, match="expected True or False"):
        make(reward=reward)


@pytest.mark.parametrize("wrong", [None, "tsallis-shannon", aw.TsallisShannon], ids=str)
def test_what_is_no_learner_is_refused(wrong):
    with pytest.raises(InvalidParameter, match=r"expected a learner, such as allworlds.TsallisShannon\(cover\)"):
        aw.Agent(wrong, seed=1)


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
