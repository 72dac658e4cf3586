"""Intervals against SciPy; ratios and differences by hand on made-up runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from allworlds.analysis.comparison import Runs, mean_interval, standings, student_quantile, worst_ratios


def made_up(learner, world, finals, masses=None):
    """Runs whose regret rises in a straight line to ``finals``."""
    rounds = np.array([1, 2])
    regret = np.outer(finals, [0.5, 1.0])
    shape = regret.shape
    seeds = tuple(range(len(finals)))
    zeros = np.zeros(shape)
    return Runs(learner, world, seeds, rounds, regret, regret + 1, zeros + 3, masses, None, np.full(len(finals), 0.5))


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 9, 30, 1000])
def test_the_quantile_is_students(freedom):
    assert student_quantile(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=1e-12)


def test_the_interval_is_that_of_scipy():
    values = np.random.default_rng(1).normal(size=12)
    low, high = stats.t.interval(0.95, 11, values.mean(), stats.sem(values))
    assert mean_interval(values) == pytest.approx((values.mean(), low, high), rel=1e-4)


def test_one_run_has_no_interval():
    assert mean_interval([3.0]) == (3.0, None, None)


RUNS = [
    made_up("ours", "calm", [10.0, 20.0]),
    made_up("rival", "calm", [30.0, 60.0]),
    made_up("seer", "calm", [1.0, 2.0]),
    made_up("ours", "wild", [40.0, 60.0]),
    made_up("rival", "wild", [20.0, 20.0]),
    made_up("seer", "wild", [2.0, 2.0]),
]
RIVALS = {"ours": True, "rival": True, "seer": False}


def test_ratios_are_to_the_best_rival_and_who_sees_more_is_none():
    ratios = {(row.learner, row.world): row.ratio for row in standings(RUNS, "ours", RIVALS)}
    assert ratios["ours", "calm"] == 1.0
    assert ratios["rival", "calm"] == pytest.approx(3.0)
    assert ratios["ours", "wild"] == pytest.approx(2.5)
    assert ratios["seer", "calm"] == pytest.approx(0.1)


def test_the_worst_ratio_names_its_world_and_those_beside_come_last():
    rows = worst_ratios(standings(RUNS, "ours", RIVALS), RIVALS)
    assert [(row.learner, row.world, row.rival) for row in rows] == [
        ("ours", "wild", True),
        ("rival", "calm", True),
        ("seer", "calm", False),
    ]
    assert rows[0].ratio == pytest.approx(2.5)


def test_differences_are_taken_seed_by_seed():
    row = next(row for row in standings(RUNS, "ours", RIVALS) if (row.learner, row.world) == ("rival", "calm"))
    assert row.difference == mean_interval([30.0 - 10.0, 60.0 - 20.0])
    mine = next(row for row in standings(RUNS, "ours", RIVALS) if (row.learner, row.world) == ("ours", "calm"))
    assert mine.difference is None


@pytest.mark.parametrize("best", [-50.0, 0.0, 0.9])
def test_where_the_best_regret_is_not_a_regret_there_is_no_ratio(best):
    runs = [made_up("ours", "moving", [best, best]), made_up("rival", "moving", [40.0, 40.0])]
    rows = standings(runs, "ours", RIVALS)
    assert [row.ratio for row in rows] == [None, None]
    assert [(row.ratio, row.world) for row in worst_ratios(rows, RIVALS)] == [(None, None), (None, None)]


def test_a_world_without_ratios_leaves_the_worst_to_the_others():
    runs = [*RUNS, made_up("ours", "moving", [-5.0, -5.0]), made_up("rival", "moving", [900.0, 900.0])]
    rows = worst_ratios(standings(runs, "ours", RIVALS), RIVALS)
    assert {row.world for row in rows} == {"calm", "wild"}


def test_a_standing_carries_quantiles_worst_seed_clean_regret_and_corruption():
    finals = np.arange(100.0, 201.0)
    (row,) = standings([made_up("ours", "calm", finals)], "ours", RIVALS)
    assert (row.quantile_90, row.quantile_99, row.worst) == (190.0, 199.0, 200.0)
    assert row.clean_regret.mean == pytest.approx(row.regret.mean + 1.0)
    assert row.corruption == 3.0
    assert row.rounds_per_second == pytest.approx(2 / 0.5)


def test_a_run_whose_time_a_kill_has_lost_does_not_count_in_the_speed():
    runs = made_up("ours", "calm", [1.0, 2.0])
    lost = replace(runs, seconds=np.array([0.5, np.nan]))
    assert lost.rounds_per_second == runs.rounds_per_second == pytest.approx(2 / 0.5)
