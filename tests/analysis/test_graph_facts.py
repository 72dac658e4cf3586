"""The facts of a graph: intervals that hold what brute force finds, and agree with each other."""

from __future__ import annotations

import itertools

import pytest

import allworlds as aw
from allworlds.analysis.graph_facts import graph_facts


@pytest.mark.parametrize("spec", ["cycle:7", "erdos-renyi:11,p=0.4,seed=3", "mycielski-complement:4", "star:6"])
def test_small_graphs_have_the_numbers_that_brute_force_finds(spec):
    graph = aw.make_graph(spec)
    facts, sees = graph_facts(graph), graph.adjacency()

    def apart(arms):
        return not any(sees[i, j] for i, j in itertools.combinations(arms, 2))

    arms = range(graph.n_arms)
    largest = max(size for size in arms if any(apart(some) for some in itertools.combinations(arms, size)))
    assert (facts.alpha.low, facts.alpha.high) == (largest, largest)
    assert facts.alpha.high <= facts.fractional.high <= facts.theta.high
    assert facts.alpha.low <= facts.fractional.low <= facts.theta.low


@pytest.mark.parametrize("spec", ["erdos-renyi:300,p=0.05,seed=1", "erdos-renyi:600,p=0.02,seed=1"])
def test_what_is_known_of_one_number_narrows_the_others(spec):
    """Without a proof alpha alone is known up to twice its lower end, above the cover that was found."""
    facts = graph_facts(aw.make_graph(spec))
    assert not facts.alpha.is_exact
    assert facts.alpha.high <= facts.fractional.high <= facts.theta.high
    assert facts.alpha.low <= facts.fractional.low <= facts.theta.low
