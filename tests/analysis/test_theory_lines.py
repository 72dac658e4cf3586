"""Which lines of theory a panel of the race gets, and where they are."""

from __future__ import annotations

import math

import numpy as np
import pytest

from allworlds.analysis.theory_lines import theory_lines
from allworlds.covers import clique_cover
from allworlds.graphs import cycle, disjoint_cliques, first_price_bids
from allworlds.worlds import constrained_adversary, corrupted, one_good_arm, stochastic

ROUNDS = np.array([1, 10, 100, 1000, 10_000])


def line(kind, played_on, world):
    return next((one for one in theory_lines(played_on, world, ROUNDS) if one.kind == kind), None)


def test_on_disjoint_cliques_the_order_of_the_best_worst_case_regret_is_drawn():
    found = line("cliques", clique_cover(disjoint_cliques([3, 2, 1])), constrained_adversary(6))
    total = math.log(4) + math.log(3) + math.log(2)
    np.testing.assert_allclose(found.values[1:], np.sqrt(ROUNDS[1:] * total))
    assert math.isnan(found.values[0])  # above the number of rounds it says nothing
    assert "order" in found.text
    assert "√(t Σ log(m + 1))" in found.sentence


@pytest.mark.parametrize(
    ("played_on", "world"),
    [
        (clique_cover(cycle(6)), constrained_adversary(6)),  # its cover's cliques are joined
        (clique_cover(disjoint_cliques(2, 3)), one_good_arm(6, 0.25)),
        (clique_cover(disjoint_cliques(2, 3)), corrupted(constrained_adversary(6), 10)),
        (first_price_bids(6), constrained_adversary(6)),
    ],
    ids=["joined cliques", "stochastic", "attacked", "directed"],
)
def test_elsewhere_it_is_not(played_on, world):
    assert line("cliques", played_on, world) is None


@pytest.mark.parametrize("played_on", [clique_cover(disjoint_cliques(1, 4)), first_price_bids(4)])
def test_what_finding_the_best_arm_costs_is_drawn_once_the_rounds_could_have_paid_for_it(played_on):
    """Arm 0 sees all arms: with gaps of 1/4, every arm is seen 4^s times for 4^s 2^-s, and s = 3 separates them."""
    found = line("before", played_on, stochastic([0.25, 0.5, 0.5, 0.5]))
    paid = np.isfinite(found.values)
    cost = found.values[paid][0]
    assert (found.values[paid] == cost).all()
    assert paid.tolist() == (cost < 0.25 * ROUNDS).tolist()
    assert f"{cost:.3g}" in found.text


@pytest.mark.parametrize(
    "world", [constrained_adversary(4), stochastic([0.25, 0.5, 0.5, 0.5], "beta"), corrupted(one_good_arm(4, 0.25), 10)]
)
def test_it_is_drawn_for_bernoulli_losses_without_an_attack_alone(world):
    assert line("before", clique_cover(disjoint_cliques(1, 4)), world) is None
