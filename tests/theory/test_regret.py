from __future__ import annotations

import numpy as np
import pytest

import allworlds as aw
from allworlds.foundation.errors import InvalidParameter
from allworlds.theory import arm_gaps, clique_gaps, corruption_level, pseudo_regret, realised_regret


def test_corruption_is_the_sum_of_the_largest_change_of_each_round() -> None:
    clean = np.array([[0.2, 0.8, 0.5], [0.0, 1.0, 0.5], [0.3, 0.3, 0.3]])
    played = np.array([[0.2, 0.3, 0.9], [0.0, 1.0, 0.5], [1.0, 0.3, 0.0]])
    assert corruption_level(played, clean) == pytest.approx(0.5 + 0.0 + 0.7)


def test_corruption_of_several_runs_is_their_mean() -> None:
    clean = np.zeros((2, 3, 2))
    played = clean.copy()
    played[1, :, 0] = 1.0
    assert corruption_level(played, clean) == 1.5


def test_pseudo_regret_in_a_stochastic_world_is_the_mean_gap_that_was_played() -> None:
    """Section 2: with l = mu in every round the regret is sum_t sum_i p_ti delta_i."""
    rng = np.random.default_rng(0)
    means = np.array([0.3, 0.1, 0.7])
    p = rng.dirichlet(np.ones(3), size=50)
    assert pseudo_regret(p, np.tile(means, (50, 1))) == pytest.approx(float((p @ arm_gaps(means)).sum()))


def test_the_comparator_of_pseudo_regret_is_one_arm_for_all_runs() -> None:
    """min over arms of the expectation, not the expectation of the minimum."""
    losses = np.array([[[0.0, 1.0]], [[1.0, 0.0]]])
    p = np.full((2, 1, 2), 0.5)
    assert pseudo_regret(p, losses) == 0.0


def test_realised_regret_counts_what_the_drawn_arms_cost() -> None:
    losses = np.array([[0.0, 1.0], [1.0, 0.5], [0.0, 1.0]])
    assert realised_regret([1, 1, 0], losses) == pytest.approx(1.5 - 1.0)


def test_the_gap_of_a_clique_leaves_out_the_best_arm() -> None:
    cover = aw.clique_cover(aw.graphs.disjoint_cliques([3, 2, 1]))
    means = [0.5, 0.1, 0.3, 0.6, 0.4, 0.9]
    np.testing.assert_allclose(clique_gaps(means, cover), [0.2, 0.3, 0.8])


def test_a_best_clique_of_one_arm_has_gap_zero() -> None:
    cover = aw.clique_cover(aw.graphs.disjoint_cliques([1, 2]))
    np.testing.assert_allclose(clique_gaps([0.1, 0.3, 0.2], cover), [0.0, 0.1])


def test_the_gap_of_a_clique_follows_the_cover_and_not_the_order_of_the_arms() -> None:
    graph = aw.FeedbackGraph(4, [(0, 2), (1, 3)])
    cover = aw.CliqueCover(graph, [[1, 3], [0, 2]])
    np.testing.assert_allclose(clique_gaps([0.0, 0.5, 0.25, 0.75], cover), [0.5, 0.25])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: corruption_level([[0.0]], [[0.0, 1.0]]), "shape"),
        (lambda: pseudo_regret([0.5, 0.5], [0.0, 1.0]), "shape"),
        (lambda: realised_regret([0.5], [[0.0, 1.0]]), "arm numbers"),
        (lambda: arm_gaps([0.0, float("nan")]), "finite"),
        (lambda: arm_gaps([]), "one finite number"),
        (lambda: arm_gaps(["a"]), "expected numbers in a regular shape"),
        (lambda: pseudo_regret("a", "b"), "expected numbers in a regular shape"),
        (lambda: pseudo_regret([[float("nan")]], [[0.5]]), "not finite"),
        (lambda: pseudo_regret(np.zeros((0, 3)), np.zeros((0, 3))), "none of them 0"),
        (lambda: realised_regret([5], [[0.0, 1.0]]), "expected 0 to 1"),
        (lambda: clique_gaps([0.1, 0.2], aw.clique_cover(aw.graphs.bandit(3))), "got 2 means for 3 arms"),
        (lambda: clique_gaps([0.1, 0.1, 0.3], aw.clique_cover(aw.graphs.bandit(3))), "unique best arm"),
    ],
)
def test_arrays_that_do_not_fit_are_refused_in_a_sentence(call, words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        call()
