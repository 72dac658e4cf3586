"""Reports to an agent: their forms, what is refused in them, labels, rewards and ranges."""

from __future__ import annotations

import math
from collections import defaultdict

import networkx
import numpy as np
import pytest

import allworlds as aw
from agents.agent_runs import choose_with, everything, learner_bits, loss_of, make, play, refused, report
from allworlds.foundation.errors import InvalidLosses


def triangle(decision):
    return len(decision.observes) == 3


# --- the forms of a report ------------------------------------------------------------------------------


def in_form(form, decision):
    losses = [loss_of(decision.id, arm) for arm in decision.observes]
    if form == "scalar" and len(losses) == 1:
        return losses[0]
    if form == "mapping with zeros by default":
        return defaultdict(float, zip(decision.observes, losses, strict=True))
    return {
        "list": losses,
        "tuple": tuple(losses),
        "array": np.array(losses),
        "read-only array": _read_only(losses),
        "strided array": np.repeat(losses, 2)[::2],
        "scalar": losses,
        "numpy scalars": [np.float64(x) for x in losses],
        "numpy keys": {np.int64(arm): x for arm, x in zip(decision.observes, losses, strict=True)},
        "mapping backwards": dict(reversed(list(zip(decision.observes, losses, strict=True)))),
    }[form]


def _read_only(values):
    array = np.array(values)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    "form",
    [
        "list",
        "tuple",
        "array",
        "read-only array",
        "strided array",
        "scalar",
        "numpy scalars",
        "numpy keys",
        "mapping backwards",
        "mapping with zeros by default",
    ],
)
def test_every_form_of_a_report_says_the_same(form):
    plain, other = make(), make()
    play(plain, 15)
    for _ in range(15):
        decision = other.choose()
        other.observe(decision, in_form(form, decision))
    assert everything(other) == everything(plain)


def test_integers_and_booleans_are_losses_too():
    plain, other = make(), make()
    for agent, values in ((plain, (0.0, 1.0)), (other, (False, 1))):
        for t in range(10):
            decision = agent.choose()
            agent.observe(decision, dict.fromkeys(decision.observes, values[t % 2]))
    assert everything(plain) == everything(other)


def test_losses_of_further_neighbours_are_checked_and_not_used():
    plain, other = make(), make()
    for _ in range(30):
        decision, same = plain.choose(), other.choose()
        plain.observe(decision, report(decision))
        seen = other.learner.graph.sees(same.arm).tolist()
        other.observe(same, report(same) | {arm: 0.123 for arm in seen if arm not in same.observes})
    assert everything(plain) == everything(other)


def test_a_further_loss_of_an_arm_that_was_not_seen_is_refused():
    agent = make()
    decision = choose_with(agent, lambda d: d.arm == 0)
    for stranger in (3, 6):
        losses = report(decision) | {stranger: 0.5}
        sentence = f"losses has arm {stranger}, but decision {decision.id} chose arm 0, which does not see it"
        refused(agent, InvalidLosses, sentence, lambda losses=losses: agent.observe(decision, losses))


@pytest.mark.parametrize("value", [math.nan, math.inf, -0.1, 1.1, "x", None, [0.5], [0.1, 0.2]], ids=str)
def test_a_further_loss_must_be_a_loss(value):
    agent = make()
    decision = choose_with(agent, lambda d: d.arm == 2)
    losses = report(decision) | {3: value}
    refused(agent, InvalidLosses, "expected", lambda: agent.observe(decision, losses))


@pytest.mark.parametrize("arm", [7, -1, "a", None, 2.5])
def test_a_loss_of_an_unknown_arm_is_refused(arm):
    agent = make()
    decision = agent.choose()
    losses = report(decision) | {arm: 0.5}
    refused(agent, InvalidLosses, "no arm", lambda: agent.observe(decision, losses))


def test_a_missing_loss_is_refused_whichever_it_is():
    agent = make()
    decision = choose_with(agent, triangle)
    for arm in decision.observes:
        losses = {other: 0.5 for other in decision.observes if other != arm}
        sentence = f"the loss of arm {arm} is missing; decision {decision.id} needs those of"
        refused(agent, InvalidLosses, sentence, lambda losses=losses: agent.observe(decision, losses))
    refused(agent, InvalidLosses, "is missing", lambda: agent.observe(decision, {}))


@pytest.mark.parametrize(
    "losses",
    [[], [0.5], [0.5] * 2, [0.5] * 4, 0.5, [[0.5] * 3], [[0.5]] * 3, np.float64(0.5), np.array(0.5), np.zeros((3, 1))],
    ids=repr,
)
def test_a_sequence_of_another_length_or_shape_is_refused(losses):
    agent = make()
    decision = choose_with(agent, triangle)
    refused(agent, InvalidLosses, r"losses have shape .* needs 3 of them", lambda: agent.observe(decision, losses))


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -1e-9, 1.0000001, 7.0], ids=str)
def test_a_loss_that_is_not_finite_or_out_of_range_is_refused(place, value):
    agent = make()
    play(agent, 5)
    decision = choose_with(agent, triangle)
    losses = [0.5] * 3
    losses[place] = value
    sentence = f"the loss of arm {decision.observes[place]} is {value}; expected a number from 0 to 1"
    for form in (losses, dict(zip(decision.observes, losses, strict=True)), np.array(losses)):
        refused(agent, InvalidLosses, sentence, lambda form=form: agent.observe(decision, form))
    agent.observe(decision, [0.5] * 3)  # the decision is still open


@pytest.mark.parametrize("value", ["0.5", None, 1j, [0.5, 0.1], {}, object(), 10**400], ids=lambda v: type(v).__name__)
def test_a_loss_that_is_no_number_is_refused(value):
    agent = make()
    decision = choose_with(agent, triangle)
    for form in ([0.5, value, 0.5], dict.fromkeys(decision.observes, value), value):
        refused(agent, InvalidLosses, "expected|needs|missing", lambda form=form: agent.observe(decision, form))


# --- labels, rewards, ranges ----------------------------------------------------------------------------


@pytest.mark.parametrize("labels", [list("abcdefg"), [10, 20, 30, 40, 50, 60, 70], [6, 5, 4, 3, 2, 1, 0]], ids=str)
def test_an_agent_speaks_labels(labels):
    plain, labelled = make(), make(labels=labels)
    for _ in range(20):
        decision, same = plain.choose(), labelled.choose()
        assert same.arm == labels[decision.arm]
        assert same.observes == tuple(labels[arm] for arm in decision.observes)
        losses = report(decision)
        plain.observe(decision, losses)
        labelled.observe(same, {labels[arm]: loss for arm, loss in losses.items()})
    assert learner_bits(plain) == learner_bits(labelled)


def test_a_number_is_no_name_where_arms_have_labels():
    agent = make(labels=list("abcdefg"))
    decision = agent.choose()
    losses = {"abcdefg".index(arm): 0.5 for arm in decision.observes}
    refused(agent, InvalidLosses, "the loss of arm '.' is missing", lambda: agent.observe(decision, losses))
    more = report(decision) | {0: 0.5}
    refused(agent, InvalidLosses, "no arm is labelled 0", lambda: agent.observe(decision, more))


def test_a_graph_of_networkx_gives_its_names():
    graph = networkx.Graph([("red", "crimson"), ("blue", "navy"), ("navy", "azure"), ("blue", "azure")])
    learner = aw.TsallisShannon(aw.clique_cover(aw.FeedbackGraph.from_networkx(graph)))
    agent = aw.Agent(learner, seed=1)
    seen = set()
    for decision in play(agent, 30):
        seen.add(decision.arm)
        assert set(decision.observes) in ({"red", "crimson"}, {"blue", "navy", "azure"})
        assert decision.arm in decision.observes
    assert len(seen) > 2


@pytest.mark.parametrize(
    ("options", "value"),
    [
        ({"low": -2.0, "high": 6.0}, lambda loss: -2.0 + 8.0 * loss),
        ({"reward": True}, lambda loss: 1.0 - loss),
        ({"reward": True, "low": 0, "high": 256}, lambda loss: 256.0 * (1.0 - loss)),
        ({"reward": np.bool_(True), "low": np.float32(-1), "high": np.int64(1)}, lambda loss: 1.0 - 2.0 * loss),
    ],
    ids=["range", "reward", "reward and range", "numpy"],
)
def test_rewards_and_other_ranges_equal_the_same_run_in_losses(options, value):
    plain, other = make(), make(**options)
    for t in range(30):
        decision, same = plain.choose(), other.choose()
        assert decision == same
        losses = {arm: (t * 7 + arm * 5) % 17 / 16 for arm in decision.observes}  # dyadic: the change is exact
        plain.observe(decision, losses)
        other.observe(same, {arm: value(loss) for arm, loss in losses.items()})
    assert everything(plain) == everything(other)


def test_a_reward_out_of_its_range_is_refused_by_name():
    agent = make(reward=True, low=0, high=250)
    decision = agent.choose()
    for value in (-0.01, 250.01, math.nan):
        sentence = rf"the reward of arm .* is {value}; expected a number from 0 to 250; Agent\(..., low=..., high=...\)"
        losses = dict.fromkeys(decision.observes, value)
        refused(agent, InvalidLosses, sentence, lambda losses=losses: agent.observe(decision, losses))


def test_a_missing_reward_is_called_a_reward():
    agent = make(reward=True, low=0, high=250)
    decision = agent.choose()
    refused(agent, InvalidLosses, "the reward of arm .* is missing", lambda: agent.observe(decision, {}))
