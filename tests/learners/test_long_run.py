"""A million hard rounds: the benchmark's own checks, as a slow test."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

import allworlds as aw

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "long_run.py"


@pytest.fixture(scope="module")
def long_run():
    spec = importlib.util.spec_from_file_location("long_run", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["long_run"] = module  # compiled code that is found again on disk is looked up by this name
    spec.loader.exec_module(module)
    return module


def assert_holds(result, n_rounds):
    assert result["rounds"] == n_rounds
    assert result["finite"]
    assert result["largest_residual"] <= result["residual_limit"] <= 1e-7
    assert result["difference_from_solve_ftrl"] <= 1e-9
    assert result["holds"]


@pytest.mark.compiled
@pytest.mark.slow
@pytest.mark.parametrize("name", ["practical", "sharp", "paper", "edge"])
@pytest.mark.parametrize("shape", [(10, 10), (5, 1)], ids=str)
def test_a_million_hard_rounds_leave_a_finite_state_and_an_exact_step(long_run, name, shape):
    cover = aw.clique_cover(aw.graphs.disjoint_cliques(*shape))
    n_rounds = 1_000_000
    assert_holds(long_run.run(long_run.learners(cover, n_rounds)[name], n_rounds), n_rounds)


@pytest.mark.compiled
def test_a_few_thousand_hard_rounds_hold_on_cliques_of_several_sizes(long_run):
    cover = aw.clique_cover(aw.graphs.disjoint_cliques([1, 7, 2, 4]))
    for learner in long_run.learners(cover, 5_000).values():
        assert_holds(long_run.run(learner, 5_000), 5_000)


@pytest.mark.compiled
def test_the_benchmark_notices_a_state_that_is_not_solved(long_run, monkeypatch):
    cover = aw.clique_cover(aw.graphs.disjoint_cliques(3, 2))
    learner = aw.TsallisShannon(cover)
    honest = aw.TsallisShannon.distribution
    monkeypatch.setattr(aw.TsallisShannon, "distribution", lambda self, state: np.roll(honest(self, state), 1))
    assert not long_run.run(learner, 100)["holds"]
