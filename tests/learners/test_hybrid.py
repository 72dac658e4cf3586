"""HYBRID against its optimality conditions, Tsallis-INF without the second entropy, and logarithmic regret."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from allworlds import graphs, play_many
from allworlds.foundation.errors import InvalidParameter
from allworlds.kernels.random import uniform_pair
from allworlds.learners import Hybrid, TsallisINF
from allworlds.learners.tsallis_inf import tsallis_weights
from allworlds.worlds import one_good_arm


def losses_of(t, n_arms):
    return (np.random.default_rng([11, t]).uniform(size=n_arms) < np.linspace(0.2, 0.8, n_arms)).astype(float)


def rounds_of(learner, n_rounds):
    """Yield (round, estimates by the printed rule, distribution)."""
    state, n = learner.init(), learner.n_arms
    estimates = np.zeros(n)
    for t in range(1, n_rounds + 1):
        p = learner.distribution(state)
        yield t, estimates, p
        ticket = learner.draw(state, *uniform_pair(2, 9, t, 0))
        o = 2 * losses_of(t, n) - 1
        estimates = estimates - 1
        estimates[ticket.arm] += (o[ticket.arm] + 1) / p[ticket.arm]
        learner.update(state, ticket, losses_of(t, n)[[ticket.arm]])


@pytest.mark.parametrize("gamma", [0.3, 1.0])
@pytest.mark.parametrize("n_arms", [2, 6])
def test_every_round_satisfies_the_optimality_conditions_of_the_printed_problem(n_arms, gamma):
    for t, estimates, p in rounds_of(Hybrid(graphs.bandit(n_arms), gamma), 150):
        slopes = estimates + math.sqrt(t) * (-0.5 / np.sqrt(p) - gamma * (np.log1p(-p) + 1))
        assert p.sum() == pytest.approx(1.0, abs=1e-12)
        assert slopes == pytest.approx(np.full(n_arms, slopes[0]), rel=1e-9, abs=1e-9)


def test_a_general_solver_finds_the_same_minimiser():
    for t, estimates, p in rounds_of(Hybrid(graphs.bandit(4)), 30):
        if t % 7 == 0:
            shift = estimates - estimates.min()

            def objective(x, t=t, shift=shift):
                return shift @ x + math.sqrt(t) * np.sum(-np.sqrt(x) + (1 - x) * np.log1p(-x))

            found = minimize(
                objective,
                np.full(4, 0.25),
                bounds=[(1e-9, 1 - 1e-9)] * 4,
                constraints={"type": "eq", "fun": lambda x: x.sum() - 1},
                method="SLSQP",
                options={"ftol": 1e-14, "maxiter": 500},
            )
            assert p == pytest.approx(found.x, abs=1e-5)


def test_without_the_second_entropy_it_is_the_step_of_tsallis_inf():
    """``sqrt(t) / 2 p^(-1/2)`` is ``2 p^(-1/2) / eta`` with ``eta = 4 / sqrt(t)``."""
    expected = np.empty(5)
    for t, estimates, p in rounds_of(Hybrid(graphs.bandit(5), 0.0), 100):
        tsallis_weights(estimates, 4.0 / math.sqrt(t), 1.0, expected)
        assert p == pytest.approx(expected, rel=1e-9)


@pytest.mark.compiled
def test_regret_is_logarithmic_where_stochastic_and_near_that_of_tsallis_inf():
    graph, world = graphs.bandit(8), one_good_arm(8, gap=0.25)

    def regret(learner, rounds):
        return np.mean([trace.final_regret for trace in play_many(learner, world, rounds, range(8))])

    early, late = regret(Hybrid(graph), 20_000), regret(Hybrid(graph), 80_000)
    assert late < 1.5 * early
    assert 0.4 < early / regret(TsallisINF(graph), 20_000) < 2.5


def test_an_impossible_gamma_raises():
    with pytest.raises(InvalidParameter, match="gamma is -1; expected a finite number of at least 0"):
        Hybrid(graphs.bandit(3), -1)
