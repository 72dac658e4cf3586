"""The learners that others are measured against: they keep the contract, and the exact step is exact."""

from __future__ import annotations

import numpy as np
import pytest

from allworlds.covers import clique_cover
from allworlds.ftrl.constants import Constants
from allworlds.ftrl.solve import solve_ftrl
from allworlds.graphs import disjoint_cliques
from allworlds.simulation import play
from allworlds.worlds import one_good_arm
from contracts.learner_contract import CHECKS, COVERS, losses_of
from contracts.learner_contract import play as play_rounds
from speed.exact_step import ExactStep
from speed.floors import Null, Toll

YARDSTICKS = pytest.mark.parametrize("kind", [Null, Toll, ExactStep], ids=lambda kind: kind.name)


@YARDSTICKS
@pytest.mark.parametrize("shape", ["one arm", "unequal cliques", "bridged triangles"])
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
def test_a_yardstick_keeps_the_contract_of_learners(kind, shape, check):
    check(kind(COVERS[shape]()))


def test_the_first_floor_draws_cliques_evenly_and_their_arms_evenly_and_adds_up_the_feedback():
    learner = Null(clique_cover(disjoint_cliques([1, 3])))
    state = learner.init()
    assert learner.distribution(state).tolist() == pytest.approx([1 / 2, 1 / 6, 1 / 6, 1 / 6])
    sums = np.zeros(4)
    for t in range(1, 30):
        ticket = learner.draw(state, t / 30, (7 * t % 30) / 30)
        seen = learner.observes(ticket.arm)
        sums[seen] += losses_of(t, 4)[seen]
        learner.update(state, ticket, losses_of(t, 4)[seen])
    assert state.sums[learner.cover.order.argsort()] == pytest.approx(sums)


def test_the_second_floor_weighs_the_arms_of_the_drawn_clique_by_the_exp_of_what_they_lost():
    learner = Toll(clique_cover(disjoint_cliques([2, 2])))
    state = learner.init()
    ticket = learner.draw(state, 0.9, 0.1)
    assert ticket.clique == 1
    learner.update(state, ticket, np.array([1.0, 0.0]))
    inside = np.array([np.exp(-0.5), 1.0]) / (1.0 + np.exp(-0.5))
    assert learner.distribution(state) == pytest.approx([0.25, 0.25, *(0.5 * inside)], rel=1e-14)


@pytest.mark.parametrize(
    "constants",
    [Constants.practical, Constants.sharp, lambda cover: Constants.paper(cover, horizon=300)],
    ids=["practical", "sharp", "paper, with a floor"],
)
def test_the_exact_step_has_the_masses_and_probabilities_of_the_solver_in_every_round(constants):
    cover = clique_cover(disjoint_cliques([4, 1, 7, 3]))
    learner = ExactStep(cover, constants(cover))
    state = learner.init()
    for t in range(1, 300):
        answer = solve_ftrl(
            cover, learner.cumulative_losses(state), learner.constants.learning_rate(t), learner.constants_now(state)
        )
        assert np.allclose(learner.clique_mass(state), answer.clique_mass, rtol=1e-10, atol=0.0)
        assert np.allclose(learner.distribution(state), answer.distribution, rtol=1e-9, atol=1e-300)
        assert learner.residual(state) <= 1e-12
        play_rounds(learner, 1, state=state, first=t)


def test_the_exact_step_plays_what_the_lazy_step_plays():
    from allworlds.learners import TsallisShannon

    cover, world = clique_cover(disjoint_cliques(5, 6)), one_good_arm(30, 0.25)
    exact, lazy = (play(kind(cover), world, 500, seed=3) for kind in (ExactStep, TsallisShannon))
    assert np.array_equal(exact.counts, lazy.counts)
    assert np.allclose(exact.clique_mass, lazy.clique_mass, rtol=1e-8)
