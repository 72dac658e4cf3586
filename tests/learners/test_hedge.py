"""Hedge: the closed form of each schedule, bounds on hard sequences, a published sequence, and that it is no rival."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numba.core import config
from scipy.special import logsumexp, softmax

from allworlds import graphs
from allworlds.foundation.errors import InvalidParameter
from allworlds.kernels.random import uniform_pair
from allworlds.learners import Hedge
from allworlds.learners.by_name import BY_NAME, LEARNERS, make_learner

N_ROUNDS = 200 if config.DISABLE_JIT else 1000


def test_its_weights_are_exponential_in_the_total_losses_at_the_rate_of_the_round():
    n_arms = 5
    learner = Hedge(graphs.bandit(n_arms))
    state = learner.init()
    table = np.random.default_rng(1).uniform(size=(300, n_arms))
    for t in range(1, 301):
        weights = np.exp(-math.sqrt(math.log(n_arms) / t) * table[: t - 1].sum(axis=0))
        ticket = learner.draw(state, *uniform_pair(2, 9, t, 0))
        assert learner.distribution(state) == pytest.approx(weights / weights.sum(), rel=1e-12)
        assert ticket.probability == learner.distribution(state)[ticket.arm]
        learner.update(state, ticket, table[t - 1])


def hard_sequences(n_arms):
    rng = np.random.default_rng(3)
    t = np.arange(N_ROUNDS)
    yield rng.integers(0, 2, (N_ROUNDS, n_arms)).astype(float)
    yield (t[:, None] % n_arms != np.arange(n_arms)).astype(float)  # the best arm is the one of the last round
    yield np.where(t[:, None] < N_ROUNDS // 2, np.arange(n_arms) > 0, np.arange(n_arms) < n_arms - 1).astype(float)


@pytest.mark.parametrize("n_arms", [2, 8])
def test_its_expected_regret_stays_below_five_quarters_of_sqrt_t_log_n_on_hard_sequences(n_arms):
    learner = Hedge(graphs.bandit(n_arms))
    for table in hard_sequences(n_arms):
        state = learner.init()
        incurred = 0.0
        for t, losses in enumerate(table, start=1):
            incurred += learner.distribution(state) @ losses
            learner.update(state, learner.draw(state, 0.5, 0.5), losses)
            regret = incurred - table[:t].sum(axis=0).min()
            assert regret <= 1.25 * math.sqrt(t * math.log(n_arms)) + 1e-9


def expected_regret(learner, table):
    """Of the mean loss under the weights, against the best arm of the whole table."""
    state, incurred = learner.init(), 0.0
    for losses in table:
        incurred += learner.distribution(state) @ losses
        learner.update(state, learner.draw(state, 0.5, 0.5), losses)
    return incurred - table.sum(axis=0).min()


@pytest.mark.parametrize("n_arms", [2, 8])
def test_a_constant_rate_of_sqrt_8_keeps_the_classical_bound_on_hard_sequences(n_arms):
    learner = make_learner(f"hedge:rate={math.sqrt(8)},schedule=constant", graphs.bandit(n_arms), N_ROUNDS)
    for table in hard_sequences(n_arms):
        assert 0.0 < expected_regret(learner, table) <= math.sqrt(0.5 * N_ROUNDS * math.log(n_arms)) + 1e-9


def deterministic_losses():
    """Mourtada and Gaïffas (2019), Figure 1 (d): the first two arms take turns until round 80, the third loses 3/4."""
    rows = [(0.5, 0.0, 0.75)]
    for t in range(2, 1001):
        rows.append((0.0, 1.0, 0.75) if t >= 80 or t % 2 == 0 else (1.0, 0.0, 0.75))
    return np.array(rows)


def direct_regret(table, rate, rounds, begins):
    """The rule in its plainest form: weights from the sum of the rows since ``begins(t)``."""
    incurred = 0.0
    for t in range(1, len(table) + 1):
        eta = rate * np.sqrt(np.log(table.shape[1]) / rounds(t))
        behind = table[begins(t) - 1 : t - 1].sum(axis=0)
        weights = np.exp(-eta * (behind - behind.min()))
        incurred += (weights / weights.sum()) @ table[t - 1]
    return incurred - table.sum(axis=0).min()


def epoch(t):
    return max(2**k for k in range(11) if 2**k <= t)


@pytest.mark.parametrize(
    ("spec", "rate", "rounds", "begins"),
    [
        ("hedge", 1.0, lambda t: t, lambda t: 1),
        ("hedge:rate=2", 2.0, lambda t: t, lambda t: 1),
        ("hedge:rate=1.5,schedule=constant", 1.5, lambda t: 1000, lambda t: 1),
        ("hedge:rate=1.5,schedule=doubling", 1.5, epoch, epoch),
    ],
)
def test_on_the_published_sequence_its_regret_is_that_of_the_rule_simulated_directly(spec, rate, rounds, begins):
    table = deterministic_losses()
    learner = make_learner(spec, graphs.bandit(3), len(table))
    assert expected_regret(learner, table) == pytest.approx(direct_regret(table, rate, rounds, begins), rel=1e-10)


def adahedge_regret(table):
    """AdaHedge in its plainest form, which follows the leader while hedging has cost nothing."""
    totals, incurred, cost = np.zeros(table.shape[1]), 0.0, 0.0
    for losses in table:
        after = totals + losses
        if cost > 0.0:
            eta = np.log(totals.size) / cost
            weights, mixed = softmax(-eta * totals), (logsumexp(-eta * totals) - logsumexp(-eta * after)) / eta
        else:
            weights, mixed = (totals == totals.min()) / np.sum(totals == totals.min()), after.min() - totals.min()
        incurred, cost, totals = incurred + weights @ losses, cost + max(0.0, weights @ losses - mixed), after
    return incurred - totals.min()


def test_the_adaptive_schedule_is_adahedge_simulated_directly():
    random = np.random.default_rng(5).uniform(size=(200, 4))
    for table in (deterministic_losses(), random, np.round(random)):
        learner = make_learner("hedge:schedule=adaptive", graphs.bandit(table.shape[1]))
        assert expected_regret(learner, table) == pytest.approx(adahedge_regret(table), rel=1e-9)


@pytest.mark.parametrize("n_arms", [2, 8])
def test_the_adaptive_schedule_keeps_its_bound_on_hard_sequences(n_arms):
    learner = make_learner("hedge:schedule=adaptive", graphs.bandit(n_arms))
    for table in hard_sequences(n_arms):
        best = table.sum(axis=0).min()  # de Rooij et al. (2014), Corollary 9 with losses in [0, 1], from memory
        bound = 2 * math.sqrt(best * (N_ROUNDS - best) / N_ROUNDS * math.log(n_arms)) + 16 / 3 * math.log(n_arms) + 2
        assert 0.0 < expected_regret(learner, table) <= bound


def test_the_adaptive_schedule_follows_the_leader_until_hedging_has_cost_something():
    learner = make_learner("hedge:schedule=adaptive", graphs.bandit(3))
    state = learner.init()
    learner.update(state, learner.draw(state, 0.1, 0.0), np.array([0.5, 0.5, 0.5]))
    assert learner.distribution(state) == pytest.approx([1 / 3, 1 / 3, 1 / 3])
    learner.update(state, learner.draw(state, 0.1, 0.0), np.array([0.5, 0.0, 0.75]))
    assert learner.distribution(state)[1] == max(learner.distribution(state)) < 1.0


def test_a_huge_rate_follows_the_leader():
    # Uniform in round 1 (a loss of 5/12). The leader is always the arm that loses next, in rounds 2 to 80; from then
    # on it is the first arm, which loses nothing more and has lost 39.5.
    learner = make_learner("hedge:rate=1e9", graphs.bandit(3))
    assert expected_regret(learner, deterministic_losses()) == pytest.approx(5 / 12 + 79 - 39.5, rel=1e-12)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"rate": 0.0}, "rate is 0.0; expected a finite number above 0"),
        ({"schedule": "falling"}, "schedule is 'falling'; expected one of decreasing, constant, doubling, adaptive"),
        ({"schedule": "constant"}, "horizon is none; expected one with the constant schedule, and only with it"),
        ({"horizon": 100}, "horizon is 100; expected one with the constant schedule, and only with it"),
        ({"schedule": "constant", "horizon": 0}, "horizon is 0; expected"),
    ],
)
def test_a_rate_that_is_not_one_and_a_horizon_out_of_place_are_refused(options, sentence):
    with pytest.raises(InvalidParameter, match=sentence):
        Hedge(graphs.bandit(3), **options)


def test_it_does_not_multiply_old_weights():
    # With a falling rate the two differ: here all losses but the first are equal, which forgets nothing when weights
    # are multiplied, and evens the weights out when they are computed from totals.
    learner = Hedge(graphs.bandit(2))
    state = learner.init()
    learner.update(state, learner.draw(state, 0.1, 0.0), np.array([1.0, 0.0]))
    after_one = learner.distribution(state)[0]
    for _ in range(99):
        learner.update(state, learner.draw(state, 0.1, 0.0), np.array([0.5, 0.5]))
    rate = math.sqrt(math.log(2) / 101)
    assert learner.distribution(state)[0] == pytest.approx(1 / (1 + math.exp(rate)), rel=1e-12)
    assert after_one < learner.distribution(state)[0] < 0.5


def test_it_alone_sees_everything_and_is_therefore_no_rival():
    learner = Hedge(graphs.disjoint_cliques(2, 2))
    assert learner.observes(3).tolist() == [0, 1, 2, 3]
    assert [name for name, kind in BY_NAME.items() if kind.shows == "everything"] == ["hedge"]
    assert [name for name, entry in LEARNERS.items() if not entry.rival] == ["hedge"]
