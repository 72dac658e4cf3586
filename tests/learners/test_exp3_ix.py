"""Exp3-IX and Exp3-SET against the published formulas, written with dense matrices, and against their lemmas."""

from __future__ import annotations

import math

import networkx
import numpy as np
import pytest
from numba.core import config
from scipy.special import softmax

from allworlds import Agent, graphs, play
from allworlds.covers import clique_cover
from allworlds.foundation.errors import InvalidParameter, InvalidState
from allworlds.kernels.random import uniform_pair
from allworlds.learners.by_name import make_learner
from allworlds.learners.exp3_ix import Exp3IX
from allworlds.worlds import one_good_arm
from estimates import GRAPHS, adjacency, mean_step

N_ROUNDS = 100 if config.DISABLE_JIT else 600
KINDS = pytest.mark.parametrize("implicit", [True, False], ids=["ix", "set"])
SHAPES = pytest.mark.parametrize("shape", list(GRAPHS))


def learner_on(graph, implicit=True):
    return Exp3IX(graphs.FeedbackGraph.from_networkx(graph), implicit)


def losses_of(t, n_arms):
    """Bernoulli losses whose best arm is the last until it is the first."""
    means = np.linspace(0.7, 0.3, n_arms) if t < N_ROUNDS // 2 else np.linspace(0.1, 0.9, n_arms)
    return (np.random.default_rng([2, t]).uniform(size=n_arms) < means).astype(float)


def run(learner, n_rounds=N_ROUNDS):
    """Yield (round, distribution, ticket, losses) and let the learner learn."""
    state = learner.init()
    for t in range(1, n_rounds + 1):
        ticket = learner.draw(state, *uniform_pair(1, 9, t, 0))
        losses = losses_of(t, learner.n_arms)
        yield t, learner.distribution(state), ticket, losses
        learner.update(state, ticket, losses[learner.observes(ticket.arm)])


@KINDS
@SHAPES
def test_every_round_follows_the_published_formulas(shape, implicit):
    graph = GRAPHS[shape]
    sees = adjacency(graph)
    n = len(graph)
    estimates, spent = np.zeros(n), 0.0
    for _, p, ticket, losses in run(learner_on(graph, implicit)):
        rate = math.sqrt(math.log(n) / (n + spent))
        bonus = rate if implicit else 0.0
        expected = softmax(-rate * estimates)
        assert np.allclose(p, expected, rtol=1e-9, atol=1e-300)
        assert ticket.probability == p[ticket.arm]
        chance = sees @ expected
        estimates = estimates + sees[ticket.arm] * losses / (chance + bonus)
        spent += np.sum(expected / (chance + bonus))


@pytest.mark.parametrize("n_arms", [2, 6])
def test_exp3_set_with_full_information_is_hedge_on_the_true_losses(n_arms):
    """Everything is seen for certain, so ``Q_t = 1`` and the rate is ``sqrt(log N / (N + t - 1))``."""
    total = np.zeros(n_arms)
    for t, p, _, losses in run(learner_on(networkx.complete_graph(n_arms), implicit=False)):
        assert np.allclose(p, softmax(-math.sqrt(math.log(n_arms) / (n_arms + t - 1)) * total), rtol=1e-9)
        total += losses


def test_exp3_ix_with_full_information_is_hedge_on_shrunk_losses():
    total, spent = np.zeros(6), 0.0
    for _, p, _, losses in run(learner_on(networkx.complete_graph(6))):
        rate = math.sqrt(math.log(6) / (6 + spent))
        assert np.allclose(p, softmax(-rate * total), rtol=1e-9)
        total += losses / (1.0 + rate)
        spent += 1.0 / (1.0 + rate)


@KINDS
@SHAPES
def test_estimates_have_the_mean_they_should_have(shape, implicit):
    """Enumerating the choices: the loss itself without a bonus, ``l P / (P + gamma)`` with one."""
    graph = GRAPHS[shape]
    learner = learner_on(graph, implicit)
    state = learner.init()
    for t in range(1, 30):
        ticket = learner.draw(state, *uniform_pair(1, 9, t, 0))
        learner.update(state, ticket, losses_of(t, len(graph))[learner.observes(ticket.arm)])
    p = learner.distribution(state)
    packed = learner.pack(state)
    losses = np.random.default_rng(1).uniform(size=len(graph))
    chance = adjacency(graph) @ p
    bonus = math.sqrt(math.log(len(graph)) / (len(graph) + packed["clock"][1])) if implicit else 0.0
    expected = losses * chance / (chance + bonus)
    assert np.allclose(mean_step(learner, packed, losses), expected, rtol=1e-9)


@SHAPES
def test_the_spread_is_at_most_the_independence_number(shape):
    """``sum_i p_i / P(i) <= alpha`` in undirected graphs with loops (Mannor and Shamir 2011)."""
    graph = GRAPHS[shape]
    largest, _ = networkx.max_weight_clique(networkx.complement(graph), weight=None)
    for implicit in (True, False):
        for _, _, ticket, _ in run(learner_on(graph, implicit), 100):
            assert 0.0 < ticket.spread <= len(largest) + 1e-9


@KINDS
def test_a_late_outcome_is_weighted_as_when_it_was_drawn(implicit):
    graph = GRAPHS["star"]
    learner = learner_on(graph, implicit)
    state = learner.init()
    early = learner.draw(state, 0.5, 0.0)
    for t in range(1, 40):
        ticket = learner.draw(state, *uniform_pair(1, 9, t, 0))
        learner.update(state, ticket, losses_of(t, 6)[learner.observes(ticket.arm)])
    before, spent = state.cumulative_losses.copy(), state.clock[1]
    learner.update(state, early, np.ones(learner.observes(early.arm).size))
    bonus = math.sqrt(math.log(6) / 6) if implicit else 0.0
    sees = adjacency(graph)
    chance = sees.sum(axis=0) / 6.0  # the first distribution is uniform
    assert np.allclose(state.cumulative_losses - before, sees[early.arm] / (chance + bonus), rtol=1e-9, atol=1e-12)
    assert state.clock[1] - spent == pytest.approx(np.sum(1.0 / 6.0 / (chance + bonus)))


def test_an_agent_saves_a_pending_decision_with_its_divisors(tmp_path):
    agent = Agent(learner_on(GRAPHS["cycle"]), seed=3)
    for _ in range(20):
        decision = agent.choose()
        agent.observe(decision, {arm: 0.5 * (arm % 2) for arm in decision.observes})
    pending = agent.choose()
    agent.save(tmp_path / "agent.json")
    copy = Agent.load(tmp_path / "agent.json")
    for each in (agent, copy):
        each.observe(pending.id, dict.fromkeys(pending.observes, 1.0))
    assert copy.distribution.tobytes() == agent.distribution.tobytes()


@pytest.mark.compiled
def test_seeing_more_costs_less():
    """Regret grows with the independence number: one clique, then a cycle, then a bandit."""
    world = one_good_arm(12, gap=0.25)

    def mean_regret(name, graph):
        learner = make_learner(name, graph)
        return np.mean([play(learner, world, 10_000, seed).final_regret for seed in range(5)])

    for name in ("exp3-ix", "exp3-set"):
        regrets = [mean_regret(name, g) for g in (graphs.full_information(12), graphs.cycle(12), graphs.bandit(12))]
        assert regrets == sorted(regrets)
        assert regrets[0] < regrets[2] / 3


def test_the_registry_knows_both_kinds():
    cover = clique_cover(graphs.cycle(5))
    assert make_learner("exp3-ix", cover) == Exp3IX(cover.graph)
    assert make_learner("exp3-set", cover) == Exp3IX(cover.graph, implicit=False)
    assert make_learner("exp3-set", cover).title == "exp3-set"


def test_what_is_not_a_graph_or_not_a_flag_raises():
    with pytest.raises(InvalidParameter, match="graph is a CliqueCover; expected a FeedbackGraph"):
        Exp3IX(clique_cover(graphs.cycle(5)))
    with pytest.raises(InvalidParameter, match="implicit is 2; expected True or False"):
        Exp3IX(graphs.cycle(5), implicit=2)


@pytest.mark.parametrize("divisors", [[], [0.5], [0.5] * 4, 0.5])
def test_a_ticket_with_another_number_of_divisors_is_not_restored(divisors):
    learner = Exp3IX(graphs.cycle(5))
    fields = learner.draw(learner.init(), 0.5, 0.5)._asdict()
    with pytest.raises(InvalidState, match=r"a ticket's divisors have shape \(.*\); expected \(3,\)"):
        learner.ticket(list((fields | {"divisors": divisors}).values()))
