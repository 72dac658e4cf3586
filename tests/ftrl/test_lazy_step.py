"""The lazy step against the exact one, in runs short enough for plain Python; long ones are in tests/learners."""

from __future__ import annotations

import numpy as np
import pytest
from numba.core import config

import allworlds as aw
from allworlds.covers import clique_cover
from allworlds.ftrl import solve_ftrl
from allworlds.ftrl.regret_bound import SPREAD
from allworlds.graphs import disjoint_cliques
from allworlds.learners import tsallis_shannon_round

COVERS = {
    "one clique": [5],
    "two cliques": [1, 3],
    "few cliques": [1, 3, 6],
    "five blocks": [1, 2] * 18,
    "one block and one more": [2] * 9,
}


def settings(cover, name):
    if name == "floor":  # high enough that arms, and now and then whole cliques, are pinned to it
        return aw.Constants(aw.Constants.practical(cover).alpha, 0.5, 0.2 / cover.n_arms, 4.0)
    return getattr(aw.Constants, name)(cover)


def entropy(distribution):
    return -sum(y * np.log(y) for y in distribution if y > 0.0)


@pytest.mark.parametrize("shape", COVERS)
@pytest.mark.parametrize("name", ["practical", "sharp", "unproved", "floor"])
def test_every_round_is_the_exact_step_and_takes_few_passes(shape, name, monkeypatch):
    cover = clique_cover(disjoint_cliques(COVERS[shape]))
    learner = aw.TsallisShannon(cover, settings(cover, name))
    kernel = "solve_with_floor" if name == "floor" else "solve_lazily"
    steps, solve = [], getattr(tsallis_shannon_round, kernel)

    def counting(*arguments):
        answer = solve(*arguments)
        steps.append(answer[1])
        return answer

    if config.DISABLE_JIT:
        monkeypatch.setattr(tsallis_shannon_round, kernel, counting)
    rng, state = np.random.default_rng(3), learner.init()
    for t in range(1, 26):
        constants = learner.constants_now(state)
        eta = constants.learning_rate(t)
        exact = solve_ftrl(cover, learner.cumulative_losses(state), eta, constants)
        assert np.abs(learner.clique_mass(state) / exact.clique_mass - 1.0).max() <= 1e-9
        assert np.abs(learner.distribution(state) - exact.distribution).max() <= 1e-9
        if state.terms.holds:
            shares = [
                exact.distribution[arms] / mass for arms, mass in zip(cover.cliques, exact.clique_mass, strict=True)
            ]
            reach = (np.array(constants.alpha) + [entropy(share) for share in shares]) / constants.rate_factors
            assert state.ledger[SPREAD] == pytest.approx(float(np.sqrt(exact.clique_mass) @ reach), rel=1e-3)
        ticket = learner.draw(state, *rng.random(2))
        losses = np.where(np.arange(cover.n_arms) % 4 == 0, 0.1, rng.random(cover.n_arms))
        learner.update(state, ticket, losses[learner.observes(ticket.arm)])
    if config.DISABLE_JIT:
        assert max(steps) <= (3 if name != "floor" else 6)
