"""Decreasing Hedge: the closed form, the classical bound on hard sequences, and that it is no rival."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numba.core import config

from allworlds import graphs
from allworlds.kernels.random import uniform_pair
from allworlds.learners import Hedge
from allworlds.learners.by_name import BY_NAME, LEARNERS

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
