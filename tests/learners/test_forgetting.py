"""The option half_life of the default learner, against its definition with every entry shrunk in every round."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import allworlds as aw
from allworlds.ftrl.clock import ROUND, excess_of, new_clock, rates_of
from allworlds.learners.tsallis_shannon_round import HALVINGS
from contracts.learner_contract import CHECKS, COVERS

HALF_LIFE = 12
SHAPES = ("one arm", "one clique", "unequal cliques", "bridged triangles")


def losses_of(round, n_arms, turn=100):
    """Losses of a world in which the best arms change after ``turn`` rounds."""
    coins = np.random.default_rng([3, round]).random(n_arms)
    means = np.linspace(0.05, 0.95, n_arms)
    return (coins < (means if round <= turn else means[::-1])).astype(float)


def played(learner, n_rounds, turn=100):
    """Yield of each round the state before it, the ticket and the losses seen."""
    state, coins = learner.init(), np.random.default_rng(8)
    for round in range(1, n_rounds + 1):
        ticket = learner.draw(state, *coins.random(2))
        seen = losses_of(round, learner.n_arms, turn)[learner.observes(ticket.arm)]
        yield state, ticket, seen
        learner.update(state, ticket, seen)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_run_is_that_of_the_plain_recursion_whose_entries_all_shrink_in_every_round(shape):
    cover = COVERS[shape]()
    constants = aw.Constants.practical(cover)
    if cover.n_cliques > 1:  # a limit that is met in so few rounds
        constants = replace(constants, deficit_limit=0.05, deficit_root=0.5)
    learner = aw.TsallisShannon(cover, constants, half_life=HALF_LIFE)
    c, keep, n = learner.constants, 2.0 ** (-1.0 / HALF_LIFE), learner.n_arms
    clock, rates = new_clock(rates_of(c)), rates_of(c)
    losses, age, mean, highest, held_back = np.zeros(n), 1.0, 0.0, 0.0, 0
    for state, ticket, seen in played(learner, HALVINGS * HALF_LIFE + 30):  # past one change of scale
        now = replace(c, beta=c.beta + c.barrier_slope * highest, barrier_slope=0.0)
        step = aw.solve_ftrl(learner.cover, losses, c.eta0 / (age + c.head_start) ** c.power, now)
        np.testing.assert_allclose(learner.distribution(state), step.distribution, atol=1e-9)
        np.testing.assert_allclose(learner.cumulative_losses(state), losses, atol=1e-7)
        assert learner.constants_now(state).beta == pytest.approx(now.beta)
        assert learner.residual(state) < 1e-9
        members = learner.observes(ticket.arm)
        estimate = (seen - mean) / step.distribution[members].sum()
        clock[ROUND] = age
        before = losses[members].min()
        excess = excess_of(clock, rates, step.multiplier, before, (losses[members] + estimate).min())
        held_back += excess > 0.0
        losses[members] += estimate - np.minimum(excess, np.maximum(0.0, estimate))
        losses *= keep
        incurred = seen[members.tolist().index(ticket.arm)]
        mean += min(1.0, c.memory / (keep * age + 100.0)) * (c.baseline_share * incurred - mean)
        highest = max(highest, mean)
        age = keep * age + 1.0
    assert age == pytest.approx(1.0 / (1.0 - keep), rel=1e-4)  # it no longer grows
    assert held_back > 0 or shape != "unequal cliques"  # the deficit limit was met


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
def test_a_learner_that_forgets_keeps_the_contract(shape, check):
    check(aw.TsallisShannon(COVERS[shape](), half_life=10))


def test_a_floor_and_the_change_of_scale_go_together():
    cover = COVERS["unequal cliques"]()
    constants = replace(aw.Constants.practical(cover), gamma=0.01)
    learner = aw.TsallisShannon(cover, constants, half_life=10)
    for state, _, _ in played(learner, HALVINGS * 10 + 20):
        assert learner.residual(state) < 1e-9
        assert learner.distribution(state).min() > 0.01 - 1e-9


def test_after_a_change_it_finds_the_new_best_arm_sooner():
    graph = aw.graphs.disjoint_cliques(4, 1)
    last = []
    for half_life in (None, 50):
        learner = aw.TsallisShannon(graph, half_life=half_life)
        *_, (state, _, _) = played(learner, 1100, turn=900)
        last.append(learner.distribution(state)[3])
    assert last[0] < 0.3 < 0.6 < last[1]


def test_no_theorem_covers_it_so_there_is_no_bound_and_the_default_has_one():
    graph = aw.graphs.disjoint_cliques(2, 2)
    for half_life, has_one in ((None, True), (50, False)):
        agent = aw.Agent(aw.TsallisShannon(graph, half_life=half_life), seed=1)
        decision = agent.choose()
        agent.observe(decision, [0.5] * len(decision.observes))
        assert (agent.regret_bound is not None) == has_one


def test_an_agent_that_forgets_survives_saving(tmp_path):
    agent = aw.Agent(aw.make_learner("tsallis-shannon:half_life=10", aw.graphs.disjoint_cliques(2, 2)), seed=1)
    for round in range(1, 200):
        decision = agent.choose()
        agent.observe(decision, losses_of(round, 4)[list(decision.observes)])
    agent.save(tmp_path / "agent.json")
    again = aw.Agent.load(tmp_path / "agent.json")
    assert again.learner.title == agent.learner.title == "tsallis-shannon (half-life 10)"
    assert again.distribution.tolist() == agent.distribution.tolist()
    for _ in range(20):
        one, two = agent.choose(), again.choose()
        assert one == two
        for each in (agent, again):
            each.observe(one.id, [0.25] * len(one.observes))


def test_off_is_the_default_and_a_very_long_half_life_is_nearly_off():
    graph = aw.graphs.disjoint_cliques(3, 2)
    assert aw.TsallisShannon(graph).half_life is None
    constants = aw.Constants.practical(aw.clique_cover(graph))
    runs = [list(played(aw.TsallisShannon(graph, constants, half_life=life), 60)) for life in (None, 10**9)]
    for (_, one, _), (_, two, _) in zip(*runs, strict=True):
        assert one.arm == two.arm
        assert one.probability == pytest.approx(two.probability, rel=1e-5)


def test_by_name_and_by_class_it_has_the_constants_for_moving_worlds_unless_others_are_given():
    graph = aw.graphs.disjoint_cliques(3, 2)
    learner = aw.TsallisShannon(graph, half_life=50)
    assert learner.constants == aw.Constants.forgetting(learner.cover) != aw.Constants.practical(learner.cover)
    assert aw.make_learner("tsallis-shannon:half_life=50", graph) == learner
    for n_cliques in (1, 2):  # with one clique there is nothing to explore, and nothing was tuned
        cover = aw.clique_cover(aw.graphs.disjoint_cliques(n_cliques, 2))
        assert (aw.Constants.forgetting(cover) == aw.Constants.practical(cover)) == (n_cliques == 1)
    settled = aw.make_learner("tsallis-shannon:setting=practical,half_life=50", graph)
    assert settled.constants == aw.Constants.practical(learner.cover)
    assert aw.make_learner("tsallis-shannon", graph).constants == settled.constants


def test_arms_come_and_go_in_a_learner_with_the_constants_of_an_earlier_version():
    cover = aw.clique_cover(aw.graphs.disjoint_cliques(2, 2))
    agent = aw.Agent(aw.TsallisShannon(cover, aw.Constants.practical(cover), half_life=50), seed=1)
    agent.add_arm("new")
    assert agent.learner.constants == aw.Constants.practical(agent.learner.cover)


def test_a_second_clique_in_a_learner_that_forgets_gets_the_constants_for_moving_worlds():
    agent = aw.Agent(aw.TsallisShannon(aw.graphs.disjoint_cliques(1, 2), half_life=50), seed=1)
    agent.add_arm("new")
    assert agent.learner.cover.n_cliques == 2
    assert agent.learner.constants == aw.Constants.forgetting(agent.learner.cover)


@pytest.mark.parametrize("wrong", [0, 9, 2.5, True, "100"])
def test_a_wrong_half_life_gets_a_sentence(wrong):
    with pytest.raises(aw.errors.InvalidParameter, match=r"half_life is .*; expected an integer from 10"):
        aw.TsallisShannon(aw.graphs.bandit(2), half_life=wrong)
