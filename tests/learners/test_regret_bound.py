"""The bound on the expected regret so far: its formula, that it is a bound, and where there is none."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import allworlds as aw
from allworlds.covers import clique_cover
from allworlds.ftrl.clock import MULTIPLIER, ROUND
from allworlds.ftrl.regret_bound import BIAS, bound_now, bound_terms, kappa_of, new_ledger, stability_of
from allworlds.ftrl.sharp import rebound, sharp_alpha
from allworlds.graphs import disjoint_cliques
from allworlds.kernels.random import STREAM_LEARNER, uniform_pair
from allworlds.learners.by_name import make_learner
from allworlds.worlds.by_name import make_world
from allworlds.worlds.losses import loss_in

KAPPA = 0.25
UNIFORMS = [(0.3, 0.2), (0.8, 0.7), (0.1, 0.9), (0.9, 0.4)]
LOSSES = np.array([[0.1, 0.9, 0.4, 1.0], [0.0, 0.2, 0.7, 0.3], [1.0, 0.5, 0.6, 0.0], [0.3, 0.3, 0.8, 0.9]])


def stability(eta, factors, q, k, beta, estimates, n):
    """The least ``S(c)`` over a fine grid, from the definition of the two growths."""
    low, high = estimates.min(), estimates.max()
    rate, bend = eta * factors[k], n * (high - low)
    taus = np.linspace(0.0, 1.0, 200_001)
    left = 2 * KAPPA * math.sqrt(q[k]) / rate * (1 - taus) + beta * (1 - taus**2)
    tau = taus[left <= max(0.0, q[k] * (bend - low)) + 1e-12].min()
    own = rate * min(1.0, math.sqrt(q[k]) / max(tau, 1e-9)) ** 3
    slack = 1 / math.sqrt(1 - q[k]) - eta * factors.max() * max(0.0, high + bend) / (2 * KAPPA)
    others = eta * factors.max() * min(1.0, 1 / slack if slack > 0 else 1.0) ** 3
    c = np.linspace(-abs(estimates).max(), abs(estimates).max(), 200_001)
    worst = np.maximum((high - c) ** 2, (low - c) ** 2)
    return float((own * worst + others * c**2).min()) / (2 * KAPPA)


def test_the_bound_is_the_formula_round_by_round():
    learner = aw.TsallisShannon(clique_cover(disjoint_cliques(2, 2)))
    c, cover = learner.constants, learner.cover
    alpha, factors, n = np.array(c.alpha), c.rate_factors, rebound(2)
    state = learner.init()
    penalty = stable = last_inverse = 0.0
    for t, (uniforms, losses) in enumerate(zip(UNIFORMS, LOSSES, strict=True), start=1):
        p, now = learner.distribution(state).reshape(2, 2), learner.constants_now(state)
        q = p.sum(axis=1)
        y = p / q[:, None]
        eta = c.learning_rate(t)
        spread = float((np.sqrt(q) * (alpha - (y * np.log(y)).sum(axis=1)) / factors).sum())
        penalty += (1 / eta - last_inverse) * (spread - (alpha / factors).min())
        last_inverse = 1 / eta
        ticket = learner.draw(state, *uniforms)
        before = learner.cumulative_losses(state)
        seen = learner.observes(ticket.arm)
        learner.update(state, ticket, losses[seen])
        estimates = (learner.cumulative_losses(state) - before)[seen]
        stable += stability(eta, factors, q, ticket.clique, now.beta, estimates, n)
        expected = 1 / 2 + now.beta * math.log(t) + penalty + stable  # no estimate is held back in these rounds
        assert learner.regret_bound(state) == pytest.approx(expected, rel=1e-4)
    assert cover.n_cliques == 2


def test_what_the_deficit_limit_takes_off_is_added():
    learner = aw.TsallisShannon(clique_cover(disjoint_cliques(2, 1)))
    tight = aw.TsallisShannon(
        learner.cover,
        dataclasses.replace(learner.constants, deficit_limit=1e-3, deficit_root=0.0, label="tight"),
    )
    states = [rule.init() for rule in (learner, tight)]
    for rule, state in zip((learner, tight), states, strict=True):
        rule.update(state, rule.draw(state, 0.1, 0.5), np.array([1.0]))
    lost = learner.cumulative_losses(states[0]).max() - tight.cumulative_losses(states[1]).max()
    assert lost > 0.0
    assert states[1].ledger[5] == pytest.approx(0.5 * lost)
    assert [learner.held_back(states[0]), tight.held_back(states[1])] == [0.0, states[1].ledger[5]]


def tightly_limited(*sizes: int) -> aw.TsallisShannon:
    """A learner whose deficit limit holds something back in a few dozen rounds."""
    cover = clique_cover(disjoint_cliques(list(sizes)))
    constants = aw.Constants.practical(cover)
    return aw.TsallisShannon(cover, dataclasses.replace(constants, deficit_limit=1e-3, deficit_root=0.0, label="tight"))


def test_a_trace_says_when_the_deficit_limit_held_something_back():
    """What was held back is the sum of ``q z``, recomputed from the same draws and losses."""
    learner, world = tightly_limited(1, 1, 1), make_world("stochastic:gap=0.4", 3)
    trace = aw.play(learner, world, 150, seed=4)
    state, charged, recorded = learner.init(), [0.0], trace.rounds.tolist()
    arrays = world.for_run(4, 150)
    for t in range(1, 151):
        ticket = learner.draw(state, *uniform_pair(4, STREAM_LEARNER, t, 0))
        loss = loss_in(arrays, 4, t, ticket.arm)
        before, multiplier = learner.cumulative_losses(state)[ticket.arm], float(state.clock[MULTIPLIER])
        raised = before + (loss - ticket.baseline) / ticket.probability
        excess = max(0.0, raised - max(before, multiplier + 1e-3 * (t + 300.0)))
        learner.update(state, ticket, np.array([loss]))
        charged.append(charged[-1] + ticket.probability * excess)
    assert trace.held_back.tolist() == pytest.approx([charged[t] for t in recorded], abs=1e-9)
    fired = np.diff(np.array(charged)[recorded]) > 0.0
    assert 5 < fired.sum() < fired.size - 5
    assert ((np.diff(trace.held_back) > 0.0) == fired).all()
    assert (trace.held_back <= trace.regret_bound).all()


@pytest.mark.parametrize("name", ["ucb-n", "tsallis-shannon:setting=unproved", "tsallis-shannon:half_life=100"])
def test_where_nothing_is_counted_a_trace_has_no_column_for_it(name):
    learner = make_learner(name, clique_cover(disjoint_cliques(2, 2)))
    assert aw.play(learner, make_world("random", 4), 20, seed=1).held_back is None
    assert learner.held_back(learner.init()) is None


def test_an_agent_says_what_was_held_back_and_goes_on_after_late_outcomes_and_other_arms(tmp_path):
    small, large = (aw.Agent(tightly_limited(1, 2, 1), seed=3, high=high) for high in (1.0, 8.0))
    assert small.held_back == 0.0
    for _ in range(60):
        for agent, high in ((small, 1.0), (large, 8.0)):
            decision = agent.choose()
            agent.observe(decision, {arm: high * (arm in (1, 3)) for arm in decision.observes})
    assert large.held_back == pytest.approx(8.0 * small.held_back)
    assert small.report().held_back == small.held_back > 0.0
    assert f"held back by the limit on single estimates: {small.held_back:.4g}" in str(small.report())
    small.save(tmp_path / "agent.json")
    assert aw.Agent.load(tmp_path / "agent.json").held_back == small.held_back

    waiting = [small.choose() for _ in range(200)]  # all from one distribution: the first to be learnt is in time
    small.observe(waiting[0], dict.fromkeys(waiting[0].observes, 1.0))
    before = small.held_back
    for decision in waiting[1:]:
        small.observe(decision, dict.fromkeys(decision.observes, 1.0))
    assert small.regret_bound is None
    assert small.held_back > before

    agent = aw.Agent(aw.TsallisShannon(disjoint_cliques([1, 2, 1])), seed=3)  # constants that fit other arms, too
    agent._state.ledger[BIAS] = 2.5
    open_one = agent.choose()
    agent.retire_arm(3)
    assert agent.held_back == 2.5
    agent.observe(open_one, dict.fromkeys(open_one.observes, 1.0))
    assert agent.held_back == 2.5


def test_with_one_clique_the_entropy_is_curved_by_one_and_no_other_clique_can_move():
    """Shannon's entropy is strongly convex with 1 in the local norm, and ``sigma`` of the others is that of none."""
    cover = clique_cover(disjoint_cliques(1, 4))
    terms = bound_terms(aw.Constants.practical(cover), cover)
    assert (terms.holds, terms.kappa, terms.widest, terms.n_cliques) == (True, 1.0, 0.0, 1)
    eta, low, high = 0.4, -0.2, 0.7
    expected = eta * ((high - low) / 2.0) ** 2 / 2.0  # c is free, so it is the middle, and the mass stays 1
    assert stability_of(terms, eta, 1.0, 1.0, 1.0, low, high) == pytest.approx(expected, rel=1e-12)


def test_the_entropy_is_curved_by_what_its_flattest_clique_allows():
    """``sharp_alpha`` rises with kappa: alphas made for different kappas are enough for the least of them only."""
    for own in ((0.4, 0.1, 0.3), (0.1, 0.4, 0.3), (0.3, 0.4, 0.1)):
        sizes = (2, 10, 3)
        alpha = np.array([sharp_alpha(size, kappa) for size, kappa in zip(sizes, own, strict=True)])
        assert kappa_of(alpha, np.array(sizes)) == pytest.approx(0.1, abs=1e-8)


@pytest.mark.parametrize("n_cliques", [2, 3, 7])
def test_the_bound_now_is_its_sums_and_a_barrier_for_every_other_clique(n_cliques):
    learner = aw.TsallisShannon(clique_cover(disjoint_cliques(n_cliques, 1)))
    ledger, clock = new_ledger(), learner.init().clock.copy()
    clock[ROUND] = 51.0  # 50 rounds were learnt
    ledger[:] = [9.0, 9.0, 0.7, 2.0, 3.0, 0.25, 0.0]
    expected = 1.0 - 1.0 / n_cliques + 0.7 * (n_cliques - 1) * math.log(50.0) + 2.0 + 3.0 + 0.25
    terms = bound_terms(learner.constants, learner.cover)
    assert bound_now(ledger, terms, clock) == pytest.approx(expected, rel=1e-14)


@pytest.mark.compiled
@pytest.mark.parametrize("world", ["stochastic:gap=0.25", "lock-in", "constrained-adversary"])
@pytest.mark.parametrize("shape", [(2, 3), (5, 1), (4, 4)])
def test_the_mean_bound_is_above_the_mean_regret_and_far_below_the_number_of_rounds(world, shape):
    learner = aw.TsallisShannon(clique_cover(disjoint_cliques(*shape)))
    traces = aw.play_many(learner, make_world(world, learner.n_arms), 5_000, seeds=range(40), jobs=2)
    bounds = np.array([trace.regret_bound for trace in traces])
    regrets = np.array([trace.pseudo_regret for trace in traces])
    assert (regrets.mean(axis=0) <= bounds.mean(axis=0)).all()
    assert (np.diff(bounds, axis=1) >= 0.0).all()
    assert bounds[:, -1].mean() < 0.4 * 5_000
    assert bounds[:, -1].mean() < aw.theory.practical_adversarial_bound(learner.cover.sizes, 5_000).value


@pytest.mark.compiled
def test_with_one_clique_it_is_the_bound_of_exponential_weights():
    learner = aw.TsallisShannon(clique_cover(disjoint_cliques(1, 10)))
    trace = aw.play(learner, make_world("random", 10), 5_000, seed=1)
    eta0 = learner.constants.eta0
    worst = math.log(10) * math.sqrt(5_300) / eta0 + eta0 / 4 * math.sqrt(5_300)
    assert trace.pseudo_regret[-1] <= trace.regret_bound[-1] <= worst


@pytest.mark.parametrize("suffix", [".json", ".npz"])
def test_a_saved_agent_keeps_its_bound_bit_for_bit(tmp_path, suffix):
    agent = aw.Agent(aw.TsallisShannon(clique_cover(disjoint_cliques(3, 2))), seed=3)
    other = agent
    for t in range(60):
        if t == 30:
            agent.save(tmp_path / f"agent{suffix}")
            other = aw.Agent.load(tmp_path / f"agent{suffix}")
            assert other.regret_bound == agent.regret_bound > 0.0
        for one in {id(agent): agent, id(other): other}.values():
            decision = one.choose()
            one.observe(decision, {arm: (arm * t % 5) / 4 for arm in decision.observes})
    assert other.regret_bound == agent.regret_bound


def test_an_agents_bound_is_in_the_units_of_its_values():
    agents = [aw.Agent(aw.TsallisShannon(clique_cover(disjoint_cliques(2, 1))), seed=1, high=h) for h in (1.0, 10.0)]
    for agent, high in zip(agents, (1.0, 10.0), strict=True):
        assert agent.regret_bound == 0.0
        agent.observe(agent.choose(), high / 2)
    assert agents[1].regret_bound == pytest.approx(10.0 * agents[0].regret_bound)


def test_an_outcome_that_is_learnt_late_ends_the_bound():
    agent = aw.Agent(aw.TsallisShannon(clique_cover(disjoint_cliques(2, 1))), seed=1)
    first, second = agent.choose(), agent.choose()
    agent.observe(first, 0.5)
    assert agent.regret_bound is not None
    agent.observe(second, 0.5)
    assert agent.regret_bound is None


def test_there_is_a_bound_only_where_the_theorem_covers_the_constants():
    cover = clique_cover(disjoint_cliques(2, 2))
    constants = aw.Constants
    covered = [constants.practical(cover), constants.sharp(cover), constants.sharp(cover, kappa=0.3)]
    others = [constants.paper(cover, 100), constants.unproved(cover), constants.sharp(cover, kappa=0.0)]
    for settings, expected in ((covered, True), (others, False)):
        for setting in settings:
            trace = aw.play(aw.TsallisShannon(cover, setting), make_world("random", 4), 20)
            assert (trace.regret_bound is not None) == expected, setting.label


@pytest.mark.parametrize("name", ["exp3", "tsallis-inf", "hedge", "ucb-n"])
def test_other_learners_have_none(name):
    learner = aw.make_learner(name, disjoint_cliques(2, 2))
    assert aw.play(learner, make_world("random", 4), 20).regret_bound is None
    assert learner.regret_bound(learner.init()) is None


def test_a_missing_outcome_ends_the_bound_because_what_is_reported_may_depend_on_the_arm():
    agent = aw.Agent(disjoint_cliques(2, 1), seed=1)
    agent.observe(agent.choose(), 0.5)
    assert agent.regret_bound > 0.0
    waiting = agent.choose()  # open, and nothing later is learnt
    assert agent.regret_bound > 0.0
    agent.observe(agent.choose(), 0.5)
    assert agent.regret_bound is None
    agent.observe(waiting, 0.5)
    assert agent.regret_bound is None  # it was late
    voiding = aw.Agent(disjoint_cliques(2, 1), seed=1)
    voiding.void(voiding.choose())
    assert voiding.regret_bound is None


@pytest.mark.parametrize("seed", range(12))
def test_the_stability_of_a_round_is_the_least_over_all_shifts(seed):
    rng = np.random.default_rng(seed)
    cover = clique_cover(disjoint_cliques([30, 1, 12]))
    terms, factors = bound_terms(aw.Constants.practical(cover), cover), aw.Constants.practical(cover).rate_factors
    assert terms.rebound > 0.1
    q = rng.dirichlet([1.0, 1.0, 1.0])
    eta, beta, k = 10.0 ** rng.uniform(-3.0, -0.5), rng.uniform(0.2, 2.0), int(rng.integers(3))
    estimates = (rng.random(5) - rng.choice([0.0, 0.5, 0.75])) / q[k]
    found = stability_of(terms, eta, beta, factors[k], math.sqrt(q[k]), estimates.min(), estimates.max())
    assert found == pytest.approx(stability(eta, factors, q, k, beta, estimates, terms.rebound), rel=1e-4)
