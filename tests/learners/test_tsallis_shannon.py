"""The paper's learner: special cases as whole trajectories, estimators by enumeration, the step along a run."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from numba.core import config

from allworlds import graphs
from allworlds.covers import CliqueCover, clique_cover
from allworlds.foundation.errors import InvalidConstants, InvalidParameter, InvalidState
from allworlds.ftrl import Constants, solve_ftrl
from allworlds.ftrl.clock import BARRIER, MULTIPLIER
from allworlds.kernels.random import uniform_pair
from allworlds.learners import TsallisShannon
from allworlds.learners.dispatch import write_clique_masses
from allworlds.learners.tsallis_shannon import constants_like
from allworlds.learners.tsallis_shannon_round import hold_back, resolve, write_distribution

N_ROUNDS = 100 if config.DISABLE_JIT else 2000


def interleaved_cover():
    """Eleven arms in four cliques whose members are not consecutive."""
    owner = np.array([0, 1, 2, 0, 3, 1, 2, 3, 3, 0, 3])
    graph = graphs.FeedbackGraph.from_cliques(11, [np.flatnonzero(owner == k).tolist() for k in range(4)])
    return CliqueCover.from_owner(graph, owner)


def settings(cover):
    return {
        "paper": Constants.paper(cover, 5000),
        "sharp": Constants.sharp(cover),
        "practical": Constants.practical(cover),
        "unproved": Constants.unproved(cover),
        "floor": Constants((6.0,) * cover.n_cliques, 1.0, 0.5 / cover.n_arms, 2.0, power=0.4, estimator="baseline"),
    }


def losses_of(t, n_arms, seed=0):
    """Bernoulli losses with means from 0.2 to 0.8, whose best arm changes half way."""
    means = np.linspace(0.2, 0.8, n_arms)
    if t > N_ROUNDS // 2:
        means = means[::-1]
    return (np.random.default_rng([seed, t]).uniform(size=n_arms) < means).astype(float)


def play(learner, n_rounds, seed=1):
    state = learner.init()
    for t in range(1, n_rounds + 1):
        ticket = learner.draw(state, *uniform_pair(seed, 9, t, 0))
        learner.update(state, ticket, losses_of(t, learner.n_arms)[learner.observes(ticket.arm)])
    return state


def ticket_of(learner, state, arm):
    """Aim both uniforms at one arm, by the distribution itself."""
    p, cover = learner.distribution(state), learner.cover
    mass = np.array([p[clique].sum() for clique in cover.cliques])
    k = cover.owner[arm]
    clique = cover.cliques[k]
    place = int(np.searchsorted(clique, arm))
    y = p[clique] / mass[k]
    ticket = learner.draw(state, mass[:k].sum() + mass[k] / 2, y[:place].sum() + y[place] / 2)
    assert ticket.arm == arm
    return ticket


def tsallis_inf(losses, t):
    """Weights 4 (eta (L - x))^-2 that sum to one, eta = 2/sqrt(t), by bisection on x (Zimmert and Seldin 2021)."""
    eta = 2.0 / math.sqrt(t)
    below = losses - losses.min()
    low, high = -2.0 * math.sqrt(len(losses)) / eta, -2.0 / eta  # all weights equal; the best has everything
    for _ in range(200):
        x = (low + high) / 2.0
        if np.sum(4.0 / (eta * (below - x)) ** 2) < 1.0:
            low = x
        else:
            high = x
    return 4.0 / (eta * (below - x)) ** 2


def test_with_singletons_it_is_tsallis_inf():
    n_arms = 6
    cover = clique_cover(graphs.bandit(n_arms))
    learner = TsallisShannon(cover, Constants((2.0,) * n_arms, 0.0, 0.0, 1.0))
    state = learner.init()
    estimates = np.zeros(n_arms)
    for t in range(1, 301):
        p = tsallis_inf(estimates, t)
        assert p.sum() == pytest.approx(1.0, abs=1e-13)
        assert learner.distribution(state) == pytest.approx(p, rel=1e-8)
        first, second = uniform_pair(11, 9, t, 0)
        arm = int(np.searchsorted(np.cumsum(p), first, side="right"))
        ticket = learner.draw(state, first, second)
        assert ticket.arm == arm
        loss = losses_of(t, n_arms)[arm]
        estimates[arm] += loss / p[arm]
        learner.update(state, ticket, np.array([loss]))
        assert learner.cumulative_losses(state) == pytest.approx(estimates, rel=1e-8)


@pytest.mark.parametrize("estimator", ["importance", "baseline"])
@pytest.mark.parametrize(("alpha", "beta"), [(0.0, 0.0), (7.0, 9.0)])
def test_with_one_clique_it_is_exponential_weights_whatever_alpha_and_beta(estimator, alpha, beta):
    n_arms, eta0 = 5, 0.7
    cover = clique_cover(graphs.full_information(n_arms))
    learner = TsallisShannon(cover, Constants((alpha,), beta, 0.0, eta0, estimator=estimator))
    state = learner.init()
    total = np.zeros(n_arms)
    for t in range(1, 301):
        weights = np.exp(-eta0 / math.sqrt(t) * (total - total.min()))
        assert learner.distribution(state) == pytest.approx(weights / weights.sum(), rel=1e-13)
        losses = losses_of(t, n_arms)
        ticket = learner.draw(state, *uniform_pair(2, 9, t, 0))
        assert ticket.clique_probability == 1.0
        learner.update(state, ticket, losses)
        total += losses


@pytest.mark.parametrize("kind", ["random", "alternating", "late"])
def test_with_one_clique_the_default_is_decreasing_hedge_and_keeps_its_bound_in_every_round(kind):
    """``p_t`` is proportional to ``exp(-2 sqrt(log d / t) L)``, and its regret is at most ``sqrt(T log d)``."""
    n_arms = 6
    learner = TsallisShannon(clique_cover(graphs.full_information(n_arms)))
    state = learner.init()
    total, expected = np.zeros(n_arms), 0.0
    for t in range(1, 801):
        weights = np.exp(-2.0 * math.sqrt(math.log(n_arms) / t) * (total - total.min()))
        distribution = learner.distribution(state)
        assert distribution == pytest.approx(weights / weights.sum(), rel=1e-11)
        if kind == "random":
            losses = losses_of(t, n_arms)
        elif kind == "alternating":  # what ruins follow the leader
            losses = (np.arange(n_arms) == (t % 2)).astype(float) * (0.5 if t == 1 else 1.0)
        else:
            losses = (np.arange(n_arms) == (0 if t > 400 else 1)).astype(float)
        expected += float(distribution @ losses)
        learner.update(state, learner.draw(state, *uniform_pair(2, 9, t, 0)), losses)
        total += losses
        assert expected - total.min() <= math.sqrt(t * math.log(n_arms)) + 1e-9


def test_a_constant_added_to_all_losses_of_a_round_changes_nothing_in_one_clique():
    learner = TsallisShannon(clique_cover(graphs.full_information(4)))
    one, other = learner.init(), learner.init()
    for t in range(1, 101):
        losses = np.random.default_rng(t).integers(0, 8, 4) / 16
        pair = uniform_pair(3, 9, t, 0)
        learner.update(one, learner.draw(one, *pair), losses)
        learner.update(other, learner.draw(other, *pair), losses + (0.5 if t % 3 else 0.25))
        assert learner.distribution(other) == pytest.approx(learner.distribution(one), rel=1e-11)


@pytest.mark.parametrize("shift", [-1e3, 0.5, 1e6])
@pytest.mark.parametrize("name", ["paper", "sharp", "practical", "floor"])
def test_a_constant_added_to_all_cumulative_losses_changes_nothing(name, shift):
    cover = interleaved_cover()
    learner = TsallisShannon(cover, settings(cover)[name])
    packed = learner.pack(play(learner, 60))
    one = learner.unpack(packed)
    packed["cumulative_losses"] = packed["cumulative_losses"] + shift
    other = learner.unpack(packed)
    resolve(other, 0)
    rounding = 1e-10 + 1e-15 * abs(shift)
    assert learner.distribution(other) == pytest.approx(learner.distribution(one), rel=rounding)


def test_a_loss_on_a_rare_arm_may_raise_its_cliques_mass_and_one_on_a_usual_arm_lowers_it():
    # dV'/dL_i = y_i (1 + (log y_i + H)/2) is negative where log y_i < -2 - H: the algorithm, not a defect.
    cover = clique_cover(graphs.disjoint_cliques(2, 2))
    learner = TsallisShannon(cover, Constants.sharp(cover))
    packed = learner.pack(learner.init())
    packed["cumulative_losses"] = np.array([0.0, 9.0, 0.0, 9.0])
    start = learner.unpack(packed)
    resolve(start, 0)
    p = learner.distribution(start)
    y = p[:2] / p[:2].sum()
    entropy = -y @ np.log(y)
    assert y[0] * (1 + (math.log(y[0]) + entropy) / 2) > 0 > y[1] * (1 + (math.log(y[1]) + entropy) / 2)
    ticket = ticket_of(learner, start, 0)

    def mass_after(losses):
        state = learner.unpack(learner.pack(start))
        learner.update(state, ticket, np.array(losses))
        return learner.clique_mass(state)[0]

    assert mass_after([0.0, 1.0]) > mass_after([0.0, 0.0])
    assert mass_after([1.0, 0.0]) < mass_after([0.0, 0.0])


@pytest.mark.parametrize("name", ["paper", "sharp", "practical", "unproved", "floor"])
def test_estimates_are_unbiased_up_to_one_shift_for_all_arms_and_what_damping_takes(name):
    cover = interleaved_cover()
    learner = TsallisShannon(cover, settings(cover)[name])
    state = play(learner, 37)
    p = learner.distribution(state)
    before = learner.cumulative_losses(state)
    losses = np.random.default_rng(4).uniform(size=11)
    expected = np.zeros(11)
    baselines, kept = set(), np.zeros(11)
    for arm in range(11):
        after = learner.unpack(learner.pack(state))
        ticket = ticket_of(learner, after, arm)
        baselines.add(ticket.baseline)
        kept[arm] = ticket.clique_probability / (ticket.clique_probability + ticket.damping)
        learner.update(after, ticket, losses[learner.observes(arm)])
        change = learner.cumulative_losses(after) - before
        assert np.flatnonzero(change).tolist() == learner.observes(arm).tolist()
        expected += p[arm] * change
    (baseline,) = baselines
    assert expected == pytest.approx(kept * (losses - baseline), abs=1e-12)
    assert (kept < 1.0).all() if name == "unproved" else (kept == 1.0).all()
    if learner.constants.estimator == "importance":
        assert baseline == 0.0
    else:
        assert 0.0 < baseline < 1.0


def without_head_start(cover):
    return dataclasses.replace(Constants.unproved(cover), head_start=0.0)


def test_a_head_start_slows_rate_and_running_mean_as_if_so_many_rounds_had_been_played():
    cover = interleaved_cover()
    constants = dataclasses.replace(without_head_start(cover), head_start=99.0)
    learner = TsallisShannon(cover, constants)
    assert constants.learning_rate(1) == pytest.approx(constants.eta0 / 10.0)
    state = learner.init()
    ticket = learner.draw(state, 0.3, 0.6)
    learner.update(state, ticket, np.ones(learner.observes(ticket.arm).size))
    again = learner.draw(state, 0.3, 0.6)
    assert again.baseline == pytest.approx(0.5 + 0.5 / 20.0)
    assert (ticket.damping, again.damping) == pytest.approx((constants.implicit_exploration / 100.0,) * 2, rel=0.02)
    now = learner.constants_now(state)
    exact = solve_ftrl(cover, learner.cumulative_losses(state), constants.eta0 / math.sqrt(101.0), now)
    assert learner.distribution(state) == pytest.approx(exact.distribution, rel=1e-9)


def test_the_baseline_is_the_mean_loss_and_follows_the_last_twenty():
    learner = TsallisShannon(interleaved_cover(), without_head_start(interleaved_cover()))
    state = learner.init()
    baseline, incurred = 0.5, []
    for t in range(1, 101):
        ticket = learner.draw(state, *uniform_pair(5, 9, t, 0))
        assert ticket.baseline == pytest.approx(baseline, abs=1e-13)
        if t <= 20:
            assert baseline == pytest.approx((0.5 + sum(incurred)) / t, abs=1e-12)
        losses = np.random.default_rng(t).uniform(size=11)
        incurred.append(losses[ticket.arm])
        baseline += (losses[ticket.arm] - baseline) / min(t + 1, 20)
        learner.update(state, ticket, losses[learner.observes(ticket.arm)])


def test_barrier_and_damping_follow_the_variance_of_the_losses_down_to_its_floor():
    learner = TsallisShannon(interleaved_cover(), without_head_start(interleaved_cover()))
    beta, floor = learner.constants.beta, learner.constants.variance_floor
    state = learner.init()
    assert learner.constants_now(state).beta == beta
    mean, variance = 0.5, 0.25
    for t in range(1, 900):
        share = min(1.0, max(floor, 4.0 * variance))
        assert learner.constants_now(state).beta == pytest.approx(beta * share, rel=1e-12)
        ticket = learner.draw(state, *uniform_pair(5, 9, t, 0))
        assert ticket.damping == pytest.approx(learner.constants.implicit_exploration * share / t, rel=1e-12)
        draws = np.random.default_rng(t).uniform(size=11)
        losses = draws * 0.3 if t < 200 else (draws < 0.2).astype(float)  # variances 0.0075, then 0.16
        old = mean
        mean += (losses[ticket.arm] - mean) / min(t + 1, 20)
        variance += 1.0 / min(t + 1, 200) * ((losses[ticket.arm] - old) * (losses[ticket.arm] - mean) - variance)
        learner.update(state, ticket, losses[learner.observes(ticket.arm)])
    assert floor * beta < learner.constants_now(state).beta < beta


def test_implicit_exploration_as_it_is_now_is_that_of_the_constants_by_the_same_share():
    cover = interleaved_cover()
    learner = TsallisShannon(cover, Constants.unproved(cover))
    state = play(learner, 60)
    now, share = learner.constants_now(state), state.clock[BARRIER] / learner.constants.beta
    assert now.implicit_exploration == pytest.approx(learner.constants.implicit_exploration * share, rel=1e-12)
    assert 0.25 <= share < 1.0


@pytest.mark.parametrize("name", ["paper", "sharp"])
def test_the_barrier_of_the_proofs_stays_what_it_is(name):
    cover = interleaved_cover()
    learner = TsallisShannon(cover, settings(cover)[name])
    assert learner.constants_now(play(learner, 50)).beta == 9.0


def test_a_late_outcome_is_weighted_by_what_held_when_it_was_drawn():
    cover = clique_cover(graphs.disjoint_cliques(4, 3))
    learner = TsallisShannon(cover, Constants.unproved(cover))
    state = learner.init()
    late = learner.draw(state, 0.1, 0.1)
    for t in range(1, 30):
        ticket = learner.draw(state, *uniform_pair(6, 9, t, 0))
        learner.update(state, ticket, np.full(learner.observes(ticket.arm).size, 0.9))
    before = learner.cumulative_losses(state)
    arms = learner.observes(late.arm)
    assert learner.clique_mass(state)[late.clique] != pytest.approx(late.clique_probability, rel=1e-3)
    learner.update(state, late, np.full(arms.size, 0.75))
    change = learner.cumulative_losses(state)[arms] - before[arms]
    damping = learner.constants.implicit_exploration / 301.0  # round 1: q = 1/4, b = 1/2, a head start of 300
    assert change == pytest.approx(np.full(arms.size, (0.75 - 0.5) / (0.25 + damping)), rel=1e-12)


def test_a_baseline_with_growing_memory_moves_by_its_share_of_the_way_and_the_barrier_follows_its_highest():
    cover = interleaved_cover()
    learner = TsallisShannon(cover)
    constants = learner.constants
    state = learner.init()
    baseline, highest = 0.0, 0.0
    for t in range(1, 400):
        ticket = learner.draw(state, *uniform_pair(5, 9, t, 0))
        assert ticket.baseline == pytest.approx(baseline, abs=1e-13)
        beta = constants.beta + constants.barrier_slope * highest
        assert learner.constants_now(state).beta == pytest.approx(beta, rel=1e-12)
        losses = np.random.default_rng(t).uniform(size=11) * (1.0 if t < 100 else 0.2)
        baseline += (0.85 * losses[ticket.arm] - baseline) * min(1.0, 20.0 / (t + 100.0))
        highest = max(highest, baseline)
        learner.update(state, ticket, losses[learner.observes(ticket.arm)])
    assert 0.0 < baseline < 0.5 * highest


@pytest.mark.parametrize("share", [0.0, 0.3, 0.75, 1.0])
@pytest.mark.parametrize("memory", [3.0, 20.0, 150.0])  # the last one moves all the way in the first rounds
def test_the_baseline_is_its_share_of_what_it_is_with_share_one_along_the_same_losses(share, memory):
    cover = interleaved_cover()
    whole = dataclasses.replace(Constants.practical(cover), memory=memory, baseline_share=1.0)
    learners = [TsallisShannon(cover, dataclasses.replace(whole, baseline_share=part)) for part in (share, 1.0)]
    states = [learner.init() for learner in learners]
    mean, highest = 0.0, 0.0
    for t in range(1, 300):
        loss = np.random.default_rng(t).uniform() * (1.0 if t < 100 else 0.2)  # of every arm: both incur the same
        tickets = [
            learner.draw(state, *uniform_pair(5, 9, t, 0)) for learner, state in zip(learners, states, strict=True)
        ]
        assert tickets[0].baseline == pytest.approx(share * mean, rel=1e-12, abs=1e-15)
        assert tickets[1].baseline == pytest.approx(mean, rel=1e-12)
        assert tickets[0].baseline == pytest.approx(share * tickets[1].baseline, rel=1e-12, abs=1e-15)
        beta = learners[0].constants_now(states[0]).beta
        assert beta == pytest.approx(whole.beta + whole.barrier_slope * share * highest, rel=1e-12)
        for learner, state, ticket in zip(learners, states, tickets, strict=True):
            learner.update(state, ticket, np.full(learner.observes(ticket.arm).size, loss))
        mean += (loss - mean) * min(1.0, memory / (t + 100.0))
        highest = max(highest, mean)
    assert 0.0 < mean < highest


def test_without_a_memory_the_share_changes_nothing():
    cover = interleaved_cover()
    one = Constants.unproved(cover)
    states = [
        play(TsallisShannon(cover, constants), 60) for constants in (one, dataclasses.replace(one, baseline_share=0.5))
    ]
    assert states[0].clock.tobytes() == states[1].clock.tobytes()
    assert states[0].cumulative_losses.tobytes() == states[1].cumulative_losses.tobytes()


def test_no_estimate_puts_a_clique_further_behind_than_the_deficit_limit():
    cover = interleaved_cover()
    limit, root = 0.001, 0.02
    constants = dataclasses.replace(Constants.practical(cover), deficit_limit=limit, deficit_root=root)
    learner = TsallisShannon(cover, constants)
    held_back, charged = 0, 0.0
    state = learner.init()
    for t in range(1, 600):
        before = learner.cumulative_losses(state)
        multiplier = float(state.clock[MULTIPLIER])
        ticket = learner.draw(state, *uniform_pair(8, 9, t, 0))
        arms = learner.observes(ticket.arm)
        losses = (np.random.default_rng(t).uniform(size=11) < 0.5).astype(float)
        plain = (losses[arms] - ticket.baseline) / ticket.clique_probability
        learner.update(state, ticket, losses[arms])
        top = max(before[arms].min(), multiplier + limit * (t + 300.0) + root * math.sqrt(t + 300.0))
        excess = max(0.0, (before[arms] + plain).min() - top)
        expected = before[arms] + plain - np.minimum(excess, np.maximum(plain, 0.0))
        assert learner.cumulative_losses(state)[arms] == pytest.approx(expected, abs=1e-9)
        held_back += excess > 0.0
        charged += ticket.clique_probability * excess
        assert learner.held_back(state) == pytest.approx(charged, rel=1e-6, abs=1e-9)
    assert held_back > 20


def test_each_clique_has_the_rate_of_its_own_factor():
    cover = clique_cover(graphs.disjoint_cliques([1, 4]))
    constants = Constants((2.0, 3.0), 1.0, 0.0, 1.0, rate_factor=(1.0, 2.5))
    losses = [3.0, 1.0, 2.0, 2.5, 4.0]
    p = solve_ftrl(cover, losses, 0.3, constants).distribution
    inside = np.exp(-0.3 * 2.5 * math.sqrt(p[1:].sum()) * np.array(losses[1:]))
    assert p[1:] / p[1:].sum() == pytest.approx(inside / inside.sum(), rel=1e-10)


@pytest.mark.parametrize("name", ["paper", "sharp", "practical", "unproved", "floor"])
def test_along_a_run_every_step_is_solved_and_equals_the_step_solved_afresh(name):
    cover = interleaved_cover()
    constants = settings(cover)[name]
    learner = TsallisShannon(cover, constants)
    state = learner.init()
    for t in range(1, N_ROUNDS + 1):
        assert learner.residual(state) <= 1e-10
        if t % 20 == 1:
            now = learner.constants_now(state)
            afresh = solve_ftrl(cover, learner.cumulative_losses(state), constants.learning_rate(t), now)
            assert learner.distribution(state) == pytest.approx(afresh.distribution, rel=1e-9)
            assert learner.clique_mass(state) == pytest.approx(afresh.clique_mass, rel=1e-9)
        ticket = learner.draw(state, *uniform_pair(7, 9, t, 0))
        learner.update(state, ticket, losses_of(t, 11)[learner.observes(ticket.arm)])
    assert learner.round(state) == N_ROUNDS + 1
    assert learner.distribution(state).min() >= constants.gamma


def test_what_rounding_leaves_over_goes_to_the_likeliest_clique():
    learner = TsallisShannon(interleaved_cover())
    packed = learner.pack(learner.init())
    packed["temperature"] = np.array([4.0, 1.1, 4.0, 1e6])  # masses 1/16, 0.83, 1/16, 1e-12: not quite one
    state = learner.unpack(packed)
    ticket = learner.draw(state, np.nextafter(1.0, 0.0), 0.5)
    assert ticket.clique == 1
    assert learner.draw(state, 0.03, 0.5).clique == 0
    full = TsallisShannon(graphs.bandit(8))  # a whole block of the table: there is nothing behind the last clique
    packed = full.pack(full.init())
    packed["temperature"] = np.array([9.0, 9.0, 9.0, 9.0, 9.0, 1.05, 9.0, 9.0])  # masses of 0.993 in all
    assert full.draw(full.unpack(packed), np.nextafter(1.0, 0.0), 0.5).clique == 5


def test_with_a_floor_draws_have_the_probabilities_that_are_reported_and_written():
    cover = interleaved_cover()
    constants = dataclasses.replace(Constants.practical(cover), gamma=0.03, head_start=0.0)
    learner = TsallisShannon(cover, constants)
    state = play(learner, N_ROUNDS)
    p = learner.distribution(state)
    assert np.isclose(p, 0.03).sum() >= 5
    assert p.max() > 0.1
    assert [ticket_of(learner, state, arm).probability for arm in range(11)] == pytest.approx(p, rel=1e-9)
    written = np.zeros(11)
    write_distribution(state, written)
    assert written == pytest.approx(p, rel=1e-9)


def test_what_rounding_leaves_over_in_a_clique_goes_to_its_likeliest_arm():
    """A uniform a little above one passes all arms, as one just below it does if the weights sum to less."""
    learner = TsallisShannon(interleaved_cover())
    state = play(learner, 60)
    p, cover = learner.distribution(state), learner.cover
    mass = np.array([p[clique].sum() for clique in cover.cliques])
    places = []
    for k, clique in enumerate(cover.cliques):
        ticket = learner.draw(state, mass[:k].sum() + mass[k] / 2, 1.0 + 1e-9)
        places.append(int(p[clique].argmax()))
        assert ticket.arm == clique[places[-1]]
        assert ticket.probability == pytest.approx(p[ticket.arm], rel=1e-9)
    assert max(places) > 0


def test_the_masses_of_a_trace_are_those_of_all_cliques():
    learner = TsallisShannon(interleaved_cover())
    state, masses = play(learner, 40), np.zeros(4)
    write_clique_masses(state, masses)
    assert masses == pytest.approx(learner.clique_mass(state), rel=1e-15)
    assert masses.sum() == pytest.approx(1.0, abs=1e-9)


def test_a_saved_state_that_does_not_fit_is_refused():
    learner = TsallisShannon(interleaved_cover())
    good = learner.pack(learner.init())
    for name, array in good.items():
        for wrong in (array[:-1], np.full_like(array, np.nan), np.float64(1.0)):
            with pytest.raises(InvalidState, match=f"^{name} .*; expected"):
                learner.unpack(good | {name: wrong})


def test_constants_that_do_not_fit_the_cover_are_refused():
    cover = interleaved_cover()
    with pytest.raises(InvalidConstants, match="alpha has 2 numbers but the cover has 4 cliques"):
        TsallisShannon(cover, Constants((5.0, 5.0), 1.0, 0.0, 1.0))
    with pytest.raises(InvalidConstants, match="not convex"):
        TsallisShannon(cover, Constants((0.1,) * 4, 1.0, 0.0, 1.0))
    with pytest.raises(InvalidParameter, match="constants is a dict; expected Constants"):
        TsallisShannon(cover, {"beta": 1.0})


@pytest.mark.parametrize("wrong", [None, [[0, 1]], 3], ids=lambda wrong: type(wrong).__name__)
def test_what_is_neither_a_graph_nor_a_cover_raises(wrong):
    sentence = f"graph is a {type(wrong).__name__}; expected a FeedbackGraph or a CliqueCover of one"
    with pytest.raises(InvalidParameter, match=sentence):
        TsallisShannon(wrong)


def test_a_graph_is_covered_and_a_cover_is_kept():
    graph = graphs.cycle(5)
    assert TsallisShannon(graph) == TsallisShannon(clique_cover(graph))
    assert TsallisShannon(graph).graph is graph
    cover = interleaved_cover()
    assert TsallisShannon(cover).cover is cover


def test_what_is_held_back_is_at_most_what_raised_an_arm():
    """By hand: weight 1 / (0.15 + 0.05) = 5, so losses of 0.1, 0.3, 0.4 and 0.9 raised the arms by -1, 0, 0.5 and 3."""
    cumulative = np.array([7.0, 7.0, 7.5, 9.0])
    lowest = hold_back(cumulative, np.array([0.1, 0.3, 0.4, 0.9]), 0.3, 5.0, 0.8)
    assert cumulative == pytest.approx([7.0, 7.0, 7.0, 8.2], rel=1e-12)
    assert lowest == pytest.approx(7.0, rel=1e-12)
    assert hold_back(cumulative[2:], np.array([0.4, 0.9]), 0.3, 5.0, 0.25) == pytest.approx(6.75, rel=1e-12)


def test_one_cliques_constants_that_were_chosen_by_hand_are_not_taken_for_an_earlier_default():
    one, three = (clique_cover(graphs.disjoint_cliques(k, 2)) for k in (1, 3))
    by_hand = dataclasses.replace(Constants.practical(one), baseline_share=0.5)
    for old, new in ((one, three), (one, one)):
        with pytest.raises(InvalidParameter, match="made for 1 cliques; expected a setting"):
            constants_like(by_hand, old, new)
    assert constants_like(Constants.practical(one), one, three) == Constants.practical(three)
    assert constants_like(Constants.practical(one), one, three, forgets=True) == Constants.forgetting(three)
    earlier = dataclasses.replace(Constants.practical(three), baseline_share=0.75, deficit_limit=0.08, deficit_root=4.0)
    assert constants_like(earlier, three, clique_cover(graphs.disjoint_cliques(2, 2))).deficit_limit == 0.08


def test_a_ticket_for_an_arm_drawn_elsewhere_has_the_mass_of_its_clique():
    learner = TsallisShannon(interleaved_cover())
    state = play(learner, 30)
    p = learner.distribution(state)
    for arm in range(11):
        ticket, drawn = learner.ticket_from(state, arm, p), ticket_of(learner, state, arm)
        assert ticket.clique_probability == pytest.approx(drawn.clique_probability, rel=1e-9)
        assert ticket.clique_probability < 1.0
