"""Against gymnasium's own checker, and against the world by definition."""

from __future__ import annotations

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

import allworlds as aw
from allworlds.adapters.gymnasium import ENVIRONMENT_ID, WorldEnv

SPECS = ["stochastic:gap=0.25", "switching:gap=0.25", "drifting", "corrupted:attack=flip,budget=5,gap=0.25", "lock-in"]


@pytest.mark.parametrize("world", SPECS)
def test_the_checker_of_gymnasium_passes(world):
    env = gymnasium.make(ENVIRONMENT_ID, world=world, graph="disjoint-cliques:2x3", horizon=20)
    check_env(env.unwrapped)


@pytest.mark.parametrize("spec", SPECS)
def test_rewards_and_side_observations_are_those_of_the_world(spec):
    graph = aw.graphs.cycle(5)
    world = aw.make_world(spec, 5)
    env = gymnasium.make(ENVIRONMENT_ID, world=world, graph=graph, horizon=30)
    env.reset(seed=11)
    for t in range(1, 31):
        arm = (3 * t) % 5
        _, reward, terminated, truncated, info = env.step(arm)
        losses = [world.loss(11, t, i, horizon=30) for i in range(5)]
        assert reward == 1.0 - losses[arm]
        neighbours = {arm, (arm + 1) % 5, (arm - 1) % 5}
        assert info["seen"].tolist() == [int(i in neighbours) for i in range(5)]
        assert info["losses"].tolist() == [losses[i] if i in neighbours else 0.0 for i in range(5)]
        assert (terminated, truncated, info["round"]) == (False, t == 30, t)


def test_an_agent_that_reads_the_side_observations_meets_the_losses_of_play():
    graph, world = aw.graphs.disjoint_cliques(2, 2), aw.make_world("stochastic:gap=0.5", 4)
    env, agent = WorldEnv(world, graph, horizon=300), aw.Agent(graph, seed=1)
    env.reset(seed=1)
    total, truncated = 0.0, False
    while not truncated:
        decision = agent.choose()
        _, reward, _, truncated, info = env.step(decision.arm)
        agent.observe(decision, info["losses"][list(decision.observes)])
        total += reward
    assert agent.distribution.argmax() == world.best_arm
    assert total > 0.6 * 300


def test_episodes_without_a_seed_differ_and_with_one_repeat():
    env = WorldEnv("stochastic:gap=0.1", "bandit:3", horizon=40)

    def episode(**options):
        env.reset(**options)
        return [env.step(0)[1] for _ in range(40)]

    first = episode(seed=3)
    assert episode() != first
    assert episode(seed=3) == first


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: WorldEnv(horizon=0), "horizon is 0"),
        (lambda: WorldEnv(aw.make_world("drifting", 3), "bandit:4"), "expected a world with 4 arms"),
        (lambda: WorldEnv(graph="random-edges:5,p=0.5"), "expected a FeedbackGraph"),
        (lambda: WorldEnv().step(0), r"expected env.reset\(\) before step"),
        (lambda: WorldEnv().step(12), "action is 12; expected"),
    ],
)
def test_wrong_input_gets_a_sentence(make, sentence):
    with pytest.raises(aw.AllWorldsError, match=sentence):
        make()
