"""Against coba itself: a real experiment."""

from __future__ import annotations

import copy
import pickle

import coba
import pytest

import allworlds as aw
from allworlds.adapters.coba import CobaLearner


def environment(rounds=600):
    """Three actions whose rewards are 0.2, 0.8 and 0.5, coins."""
    return coba.Environments.from_lambda(
        rounds,
        context=lambda index, rng: None,
        actions=lambda index, context, rng: ["a", "b", "c"],
        reward=lambda index, context, action, rng: float(rng.random() < {"a": 0.2, "b": 0.8, "c": 0.5}[action]),
        seed=1,
    )


def test_an_experiment_runs_it_beside_cobas_own_learners_and_it_wins_over_chance():
    learners = [CobaLearner(seed=2), coba.RandomLearner()]
    result = coba.Experiment(environment(), learners).run(quiet=True)
    rows = result.interactions.to_pandas()
    means = rows.groupby("learner_id")["reward"].mean()
    assert len(rows) == 2 * 600
    assert means[0] > 0.65
    assert means[1] < 0.6
    names = result.learners.to_pandas()["family"].tolist()
    assert "allworlds" in names


def test_it_plays_exactly_as_an_agent_that_is_told_the_same_rewards():
    learner = CobaLearner("exp3", low=0.0, high=5.0, seed=3)
    agent = aw.Agent(aw.make_learner("exp3", aw.graphs.bandit(2)), 3, reward=True, low=0.0, high=5.0)
    for _ in range(40):
        decision = agent.choose()
        expected = agent.distribution
        assert [learner.score(None, ["x", "y"], name) for name in "xy"] == expected.tolist()
        action, probability, extra = learner.predict(None, ["x", "y"])
        assert (action, probability) == ("xy"[decision.arm], decision.probability)
        reward = 4.0 if action == "y" else 1.0
        learner.learn(None, action, reward, probability, **extra)
        agent.observe(decision, reward)


def test_outcomes_may_come_in_any_order():
    learner = CobaLearner(seed=1)
    first, second = learner.predict(None, [1, 2, 3]), learner.predict(None, [3, 1, 2])
    for action, probability, extra in (second, first):
        learner.learn(None, action, 1.0, probability, **extra)
    assert not learner._agent.agent.pending


def test_a_reward_out_of_range_names_the_action_and_the_option():
    learner = CobaLearner(seed=1, high=5.0)
    action, probability, extra = learner.predict(None, [["a"], ["b"]])  # coba's actions need not be hashable
    with pytest.raises(aw.errors.InvalidLosses) as refused:
        learner.learn(None, action, 7, probability, **extra)
    assert str(refused.value) == (
        f"the reward of arm {action!r} is 7.0; expected a number from 0 to 5; "
        "CobaLearner(..., low=..., high=...) sets the range"
    )
    learner.learn(None, action, 5, probability, **extra)


def test_it_can_be_pickled_and_copied():
    learner = CobaLearner(seed=1)
    for twin in (pickle.loads(pickle.dumps(learner)), copy.deepcopy(learner)):
        assert twin.predict(None, ["a", "b"]) == CobaLearner(seed=1).predict(None, ["a", "b"])


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: CobaLearner(aw.graphs.star(3)), "has edges.*expected a graph without edges"),
        (lambda: CobaLearner("best-ever"), "best-ever"),
        (lambda: CobaLearner(aw.graphs.bandit(2)).predict(None, [1, 2, 3]), "there are 3 arms; expected 2"),
    ],
)
def test_wrong_input_gets_a_sentence(make, sentence):
    with pytest.raises(aw.AllWorldsError, match=sentence):
        make()
