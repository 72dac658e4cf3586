"""Against river itself: its evaluation loops and its model selection."""

from __future__ import annotations

import copy
from collections import Counter

import gymnasium
import pytest
from river import bandit, datasets, linear_model, metrics, model_selection, optim, preprocessing, stats

import allworlds as aw
import allworlds.adapters.gymnasium
from allworlds.adapters.river import RiverPolicy

ARMS = ["a", "b", "c"]


def world_env(horizon):
    return gymnasium.make("allworlds/World-v0", world="stochastic:gap=0.5", graph="bandit:4", horizon=horizon)


def test_evaluate_runs_it_beside_rivers_own_policies_and_it_finds_the_best_arm():
    policies = [RiverPolicy(seed=1), bandit.RandomPolicy(seed=1)]
    rows = list(bandit.evaluate(policies, world_env(600), n_episodes=2, seed=3))
    assert len(rows) == 2 * 2 * 600
    late = [Counter(row["arm"] for row in rows if row["policy_idx"] == k and row["step"] >= 300) for k in (0, 1)]
    assert late[0][2] > 0.8 * 600  # arm 2 is the best of four
    assert late[1][2] < 0.4 * 600


def test_it_plays_exactly_as_an_agent_that_is_told_the_same_rewards():
    policy = RiverPolicy("exp3", low=-1.0, high=3.0, seed=5)
    agent = aw.Agent(aw.make_learner("exp3", aw.graphs.bandit(3)), 5, reward=True, low=-1.0, high=3.0)
    rewards = {"a": -1.0, "b": 0.5, "c": 3.0}
    for _ in range(50):
        arm, decision = policy.pull(ARMS), agent.choose()
        assert arm == ARMS[decision.arm]
        policy.update(arm, rewards[arm])
        agent.observe(decision, rewards[arm])
    assert policy.ranking[0] == "c"
    assert policy._n == 50


def test_it_selects_the_model_that_learns_in_a_bandit_classifier():
    models = [linear_model.LogisticRegression(optimizer=optim.SGD(rate)) for rate in (1e-9, 0.05, 1e-8)]
    model = model_selection.BanditClassifier(models, metrics.Accuracy(), RiverPolicy(seed=1, burn_in=10))
    scaler = preprocessing.StandardScaler()
    for x, y in datasets.Phishing().take(800):
        scaler.learn_one(x)
        model.learn_one(scaler.transform_one(x), y)
    pulls = model.policy._counts
    assert isinstance(model.policy, RiverPolicy)
    assert sum(pulls.values()) == 800 + 2 * 10  # the burn-in pulls all three at once
    assert model.best_model is model[1]
    assert pulls[1] > max(pulls[0], pulls[2])
    assert model.policy._agent.agent.round == 1 + 800 - 10  # what was not drawn is not learnt


@pytest.mark.parametrize(("metric", "better"), [(metrics.Accuracy(), 1), (metrics.MAE(), 0)])
def test_a_metric_that_is_better_when_smaller_is_a_loss(metric, better):
    policy = RiverPolicy(seed=2, reward_obj=metric)
    for _ in range(400):
        arm = policy.pull([0, 1])
        policy.update(arm, 1, 1 if arm == 1 else 0)  # arm 1 predicts right: accuracy 1, error 0
    assert policy._counts[1] > 300
    assert policy._rewards[1].get() == better


def test_replay_learns_matching_rounds_only():
    policy = RiverPolicy(seed=3)
    log = [(ARMS, None, ARMS[t % 3], float(t % 3 == 1)) for t in range(900)]
    total, used = bandit.evaluate_offline(policy, log, reward_stat=stats.Sum())
    assert policy._agent.agent.round == 1 + used
    assert len(policy._agent.agent.pending) <= 1
    assert total.get() > 0.5 * used


def test_side_observations_are_told_by_seen_and_asked_for_when_missing():
    graph = aw.FeedbackGraph(3, [(0, 1)], labels=ARMS)
    policy = RiverPolicy(graph, seed=1)
    while (arm := policy.pull(ARMS)) == "c":
        policy.update("c", 0.0)
    other = "b" if arm == "a" else "a"
    before = policy._agent.agent.distribution.tolist()
    with pytest.raises(aw.errors.InvalidLosses, match=rf"reward of arm '{other}' is missing.*seen="):
        policy.update(arm, 1.0)
    assert policy._agent.agent.distribution.tolist() == before
    policy.update(arm, 1.0, seen={other: 0.0})
    ranked = dict(zip(ARMS, policy._agent.agent.distribution, strict=True))
    assert ranked[arm] > ranked[other]


def test_side_observations_go_by_the_names_of_the_arms_where_the_graph_has_none():
    policy = RiverPolicy(aw.graphs.disjoint_cliques(1, 2), seed=1)
    arm = policy.pull(["x", "y"])
    other = "y" if arm == "x" else "x"
    with pytest.raises(aw.errors.InvalidLosses, match=f"reward of arm '{other}' is missing, which arm '{arm}' shows"):
        policy.update(arm, 1.0)
    with pytest.raises(aw.errors.InvalidLosses, match=f"reward of arm '{other}' is -1.0; .*; RiverPolicy"):
        policy.update(arm, 1.0, seen={other: -1})
    with pytest.raises(aw.errors.InvalidLosses, match="there is a reward of 'z'; expected arms of the first choice"):
        policy.update(arm, 1.0, seen={other: 0.0, "z": 0.0})
    policy.update(arm, 1.0, seen={other: 0.0})
    assert policy._agent.agent.round == 2


def test_a_clone_is_fresh_and_a_copy_continues():
    policy = RiverPolicy(seed=4)
    for _ in range(20):
        policy.update(policy.pull(ARMS), 0.3)
    assert policy.clone().pull(ARMS) == RiverPolicy(seed=4).pull(ARMS)
    assert policy.clone()._agent.agent.round == 1
    assert copy.deepcopy(policy).pull(ARMS) == policy.pull(ARMS)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: RiverPolicy("best-ever"), "best-ever"),
        (lambda: RiverPolicy(7), "learner is a int; expected a learner"),
        (lambda: RiverPolicy(low=1.0, high=0.0), "expected two finite numbers, low < high"),
        (lambda: RiverPolicy(aw.graphs.bandit(2)).pull(ARMS), "there are 3 arms; expected 2"),
        (lambda: RiverPolicy(aw.FeedbackGraph(3, [], labels=[*"xyz"])).pull(ARMS), "'a'; expected the labels"),
    ],
)
def test_wrong_input_gets_a_sentence(make, sentence):
    with pytest.raises(aw.AllWorldsError, match=sentence):
        make()


def test_a_reward_out_of_range_and_other_arms_are_refused_and_change_nothing():
    policy = RiverPolicy(seed=1)
    arm = policy.pull(ARMS)
    sentence = rf"the reward of arm '{arm}' is 2\.0; .* from 0 to 1; RiverPolicy\(\.\.\., low=\.\.\., high=\.\.\.\)"
    with pytest.raises(aw.errors.InvalidLosses, match=sentence):
        policy.update(arm, 2.0)
    with pytest.raises(aw.errors.InvalidParameter, match="expected the same arms"):
        policy.pull(["a", "b"])
    assert policy._n == 0
    policy.update(arm, 1.0)
    assert policy._agent.agent.round == 2
