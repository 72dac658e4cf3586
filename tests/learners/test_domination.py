"""The fractional domination: values in closed form, optimality by duality, and no dependence on numbers of arms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from allworlds import graphs
from allworlds.foundation.errors import InvalidParameter
from allworlds.learners import domination
from allworlds.learners.domination import fractional_domination

GRAPHS = {
    "erdos-renyi": lambda: graphs.erdos_renyi(40, 0.1, 1),
    "grid": lambda: graphs.grid(4, 5),
    "gadgets": graphs.lu_gadgets,
    "cliques": lambda: graphs.disjoint_cliques([1, 4, 2]),
    "bridged": lambda: graphs.FeedbackGraph(6, [(0, 2), (2, 4), (0, 4), (1, 3), (3, 5), (1, 5), (4, 5)]),
    "directed": lambda: graphs.FeedbackGraph(5, [(0, 1), (0, 2), (3, 2), (3, 4), (4, 0)], directed=True),
}
SHAPES = pytest.mark.parametrize("shape", list(GRAPHS))


def test_values_in_closed_form():
    assert fractional_domination(graphs.star(7)).tolist() == [1.0] + [0.0] * 6
    assert np.allclose(fractional_domination(graphs.cycle(7)), 1 / 3, rtol=0, atol=1e-9)
    assert fractional_domination(graphs.bandit(3)).tolist() == [1.0] * 3
    expected = [1.0] + [0.25] * 4 + [0.5] * 2  # of all solutions in a clique, the even one
    assert np.allclose(fractional_domination(GRAPHS["cliques"]()), expected, rtol=0, atol=1e-9)


@SHAPES
def test_every_arm_is_seen_at_rate_one_by_as_few_plays_as_the_dual_program_allows(shape):
    graph = GRAPHS[shape]()
    matrix, plays = graph.adjacency().astype(float), fractional_domination(graph)
    assert plays.min() >= 0.0
    assert (matrix.T @ plays).min() >= 1.0 - 1e-9
    packing = linprog(-np.ones(graph.n_arms), A_ub=matrix, b_ub=np.ones(graph.n_arms))  # weights of arms to be seen
    assert plays.sum() == pytest.approx(-packing.fun, rel=1e-9)


@SHAPES
def test_no_other_solution_has_a_smaller_sum_of_squares(shape):
    # Of all solutions, the nearest to zero: none lies in the direction of descent. Checked against every vertex that
    # a solver finds for 30 random objectives on the set of solutions.
    graph = GRAPHS[shape]()
    n, plays = graph.n_arms, fractional_domination(graph)
    rows = np.vstack([-graph.adjacency().T.astype(float), np.ones(n)])
    limits = np.append(-np.ones(n), plays.sum() * (1 + 1e-9))
    rng = np.random.default_rng(2)
    for objective in [plays, *rng.normal(size=(30, n))]:
        other = linprog(objective, A_ub=rows, b_ub=limits, bounds=(0, None)).x
        assert plays @ (other - plays) >= -1e-6


@SHAPES
def test_the_numbers_of_the_arms_do_not_matter(shape):
    graph = GRAPHS[shape]()
    new = np.random.default_rng(3).permutation(graph.n_arms)
    renamed = graphs.FeedbackGraph(
        graph.n_arms, [(int(new[i]), int(new[j])) for i, j in graph.edges()], directed=graph.is_directed
    )
    assert np.allclose(fractional_domination(renamed)[new], fractional_domination(graph), rtol=0, atol=1e-10)


def test_in_a_large_graph_a_solution_of_the_linear_program_is_taken_as_it_comes(monkeypatch):
    graph = graphs.grid(4, 5)
    value = fractional_domination(graph).sum()
    monkeypatch.setattr(domination, "LARGEST", 10)
    taken = fractional_domination(graph)
    assert taken.sum() == pytest.approx(value, rel=1e-9)
    assert (graph.adjacency() @ taken).min() >= 1.0 - 1e-9


def test_a_weight_of_the_squares_that_is_too_large_is_reduced(monkeypatch):
    graph = graphs.FeedbackGraph(6, [(0, 1), (0, 2), (0, 3), (4, 5)])  # a star, and a clique with many solutions
    plays = fractional_domination(graph)
    monkeypatch.setattr(domination, "WEIGHT", 40.0)
    assert domination._with_squares(graph.adjacency().T.astype(float), 40.0).sum() > plays.sum() + 0.1
    assert np.allclose(fractional_domination(graph), plays, rtol=0, atol=1e-9)


def test_a_graph_that_changes_is_refused():
    with pytest.raises(InvalidParameter, match="graph is a ChangingGraph; expected a FeedbackGraph"):
        fractional_domination(graphs.changing([graphs.cycle(3), graphs.bandit(3)]))


def test_only_the_arms_that_are_named_need_be_seen():
    """Three of seven arms in a row: the two at one end share a neighbour, the one at the other end needs its own."""
    row = graphs.FeedbackGraph(7, [(i, i + 1) for i in range(6)])
    plays = fractional_domination(row, [0, 2, 6])
    assert np.allclose(plays, [0, 1, 0, 0, 0, 0.5, 0.5], rtol=0, atol=1e-9)
    assert np.allclose(fractional_domination(row, range(7)), fractional_domination(row), rtol=0, atol=1e-9)
