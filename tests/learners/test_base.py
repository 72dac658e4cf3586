"""What all learners share: which graphs they take, and how a saved ticket is read."""

from __future__ import annotations

import math

import numpy as np
import pytest

from allworlds import graphs
from allworlds.covers import clique_cover
from allworlds.foundation.errors import InvalidGraph, InvalidParameter
from allworlds.graphs.changing import alternating_cliques
from allworlds.learners import Exp3, Hedge, TsallisShannon
from allworlds.learners.base import _from_plain, accepts_graph, fixed_graph, graph_for
from allworlds.learners.by_name import make_learner


def test_a_graph_that_changes_is_not_a_fixed_one():
    graph = graphs.bandit(3)
    assert fixed_graph(graph) is graph
    with pytest.raises(InvalidParameter, match=r"graph is a .*; expected a FeedbackGraph"):
        fixed_graph(alternating_cliques(3, [1, 2]))


def test_a_learner_that_takes_no_cover_gets_its_graph():
    cover = clique_cover(graphs.disjoint_cliques(2, 3))
    assert graph_for(Exp3, cover) is cover.graph
    assert graph_for(TsallisShannon, cover) is cover
    assert graph_for(TsallisShannon, cover.graph) is cover.graph


def test_a_graph_is_taken_by_learners_that_need_no_more_than_it_shows():
    arrows = graphs.directed_cycle(5)
    assert accepts_graph(Hedge, arrows)  # it sees everything
    assert not accepts_graph(TsallisShannon, arrows)
    assert accepts_graph(TsallisShannon, graphs.cycle(5))


def test_what_json_cannot_say_is_read_back():
    assert math.isnan(_from_plain(None))
    assert _from_plain([1, 2.5]).tolist() == [1.0, 2.5]
    assert _from_plain([1]).dtype == np.float64
    assert _from_plain(3) == 3


def test_who_takes_a_graph_instead_is_said_with_six_names():
    graph = graphs.directed_cycle(5)
    with pytest.raises(InvalidGraph) as caught:
        TsallisShannon(graph)
    listed = str(caught.value).partition("learners that take this graph: ")[2].partition(";")[0].split(", ")
    assert len(listed) == 6
    kinds = [type(make_learner(name, graph, 10)) for name in listed]
    assert all(accepts_graph(kind, graph) and kind.shows == "neighbours" for kind in kinds)  # those that use the graph


def test_the_repr_of_a_learner_on_cliques_names_the_cover_alone():
    shown = repr(TsallisShannon(graphs.cycle(5)))
    assert shown.startswith("TsallisShannon(cover=CliqueCover(5 arms in 3 cliques")
    assert "graph=" not in shown
