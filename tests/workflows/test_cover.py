"""What a cover is worth: the bounds, and that no cover can have a smaller one than is said."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allworlds import graphs
from allworlds.covers import clique_cover
from allworlds.theory import clique_penalty, sharp_adversarial_bound
from allworlds.workflows.cover import cover_graph, what_it_is_worth


def test_the_penalty_is_concave_so_that_uneven_pieces_cost_least():
    costs = np.array([clique_penalty(size) for size in range(1, 3000)])
    assert np.all(np.diff(costs, 2) < 0)


@given(st.lists(st.integers(1, 12), min_size=1, max_size=8), st.sampled_from([100, 10**6]))
def test_no_cut_into_as_many_pieces_has_a_smaller_bound_than_is_said(sizes, horizon):
    cover = clique_cover(graphs.disjoint_cliques(sizes))
    worth = {row.cover: row for row in what_it_is_worth(cover, horizon)}
    here = sharp_adversarial_bound(sizes, horizon).value
    assert worth["this cover"].sharp == pytest.approx(here)
    assert worth["a limit for all covers"].sharp <= here * (1 + 1e-12)
    assert worth["every arm alone"].sharp == pytest.approx(sharp_adversarial_bound([1] * sum(sizes), horizon).value)


def test_more_pieces_cost_more_than_they_save():
    for n_arms in (2, 10, 300):
        cuts = [[1] * (pieces - 1) + [n_arms - pieces + 1] for pieces in range(1, n_arms + 1)]
        values = [sharp_adversarial_bound(cut, 1000).value for cut in cuts]
        assert np.all(np.diff(values) > 0)


def test_the_penalty_objective_does_not_raise_the_penalty():
    def penalty(cover):
        return sum(clique_penalty(int(size)) for size in cover.sizes)

    for spec in ("erdos-renyi:60,p=0.3,seed=1", "erdos-renyi:80,p=0.6,seed=2", "lu-gadgets"):
        few, cheap = (cover_graph(spec, objective=objective).cover for objective in ("cliques", "penalty"))
        assert penalty(cheap) <= penalty(few) + 1e-9


def test_an_independent_set_that_proves_the_cover_is_alpha():
    result = cover_graph("grid:5x6")
    assert (result.alpha.lower, result.alpha.is_exact, result.fractional) == (15, True, 15.0)
    assert result.to_dict()["certificate"] == "independent arms"
