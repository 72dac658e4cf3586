"""Ratios, summaries, goals and tables of the regret suite, on numbers made up here."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

import allworlds as aw
from regret_suite import Cell, Row, check_goals, relative, summarise, summary_lines
from regret_suite.goals import DEMANDS
from regret_suite.rows import LEAST, geometric_mean
from regret_suite.tables import as_data, as_markdown, goal_lines, row_lines

ROOT = Path(__file__).resolve().parents[2]


def cell(name="stochastic", group="stochastic", gap=0.125, purpose="drawn", attack=None, sizes=(1, 1), horizon=10_000):
    return Cell(name, group, sizes, aw.worlds.one_good_arm(sum(sizes), 0.125), horizon, gap, attack, purpose)


def row(where, ours, *, regrets=None, learner="ours", **others):
    means = {name.replace("_", "-"): value for name, value in others.items()} | {learner: ours}
    rivals = tuple(name for name in means if name != learner)
    return Row(where, learner, means, means, rivals, tuple(regrets or [ours]), 1)


def goals_of(*rows):
    return {goal.text: goal for goal in check_goals(rows)}


def test_above_the_floor_it_is_the_plain_ratio():
    assert relative(30.0, 20.0, 1.0) == pytest.approx(1.5)
    assert relative(10.0, 40.0, 1.0) == pytest.approx(0.25)


def test_negative_regrets_are_compared_by_their_difference():
    assert relative(-50.0, -100.0, 1.0) == pytest.approx(1.5)
    assert relative(50.0, -100.0, 1.0) == pytest.approx(2.5)
    assert relative(3.0, 0.0, 2.0) == pytest.approx(2.5)
    assert relative(-500.0, -100.0, 1.0) == LEAST
    for ours, other in ((5.0, 5.0), (0.0, 0.0), (-3.0, -3.0)):
        assert relative(ours, other, 1.0) == 1.0


def test_the_best_learner_may_be_ours():
    better = row(cell(), 10.0, thompson_n=20.0, ucb_n=40.0)
    assert better.ratio == 1.0
    assert (better.best, better.best_rival) == ("ours", "thompson-n")
    assert better.against("ucb-n") == pytest.approx(0.25)
    assert row(cell(), 30.0, thompson_n=20.0, ucb_n=40.0).ratio == pytest.approx(1.5)


def test_worst_over_mean_is_a_plain_ratio_where_the_mean_is_above_the_floor():
    assert row(cell(), 3.0, regrets=[1.0, 3.0, 5.0]).worst_over_mean == pytest.approx(5.0 / 3.0)
    moving = cell(group="moving", gap=None)
    assert row(moving, 0.0, regrets=[-100.0, 100.0]).worst_over_mean == pytest.approx(1.0 + 100.0 / moving.floor)
    assert row(moving, 0.0, regrets=[-300.0, -100.0]).worst_over_mean == pytest.approx(1.5)


def test_runs_above_a_tenth_of_the_horizon_are_counted():
    assert row(cell(horizon=100), 0.0, regrets=[1.0, 11.0, 10.0, 50.0]).linear == 0.5


def test_a_summary_has_the_geometric_mean_and_the_largest_with_its_cell():
    rows = [
        row(cell("a"), 20.0, thompson_n=20.0),
        row(cell("b"), 80.0, thompson_n=20.0, regrets=[80.0, 160.0]),
        row(cell("c", group="moving", gap=None), 300.0, thompson_n=100.0),
    ]
    stochastic, moving, everything = summarise(rows)
    assert (stochastic.group, moving.group, everything.group) == ("stochastic", "moving", "all")
    assert stochastic.geometric_mean == pytest.approx(2.0)
    assert (stochastic.largest, stochastic.largest_in) == (pytest.approx(4.0), "b")
    assert (stochastic.tail, stochastic.tail_in) == (pytest.approx(160.0 / 120.0), "b")
    assert everything.geometric_mean == pytest.approx((1.0 * 4.0 * 3.0) ** (1 / 3))
    assert everything.n_cells == 3
    assert geometric_mean([2.0, 8.0]) == pytest.approx(4.0)
    text = "\n".join(summary_lines([stochastic, moving, everything]))
    assert "largest   4.00 (b)" in text


def test_a_goal_says_by_how_much_it_was_missed_and_where():
    rows = [row(cell("a"), 20.0, thompson_n=20.0), row(cell("b"), 42.0, thompson_n=20.0)]
    goals = goals_of(*rows)
    each, mean = (
        goals["stochastic, gaps up to 1/8, to thompson-n"],
        goals["stochastic, gaps up to 1/8, to thompson-n, in geometric mean"],
    )
    assert not each.reached
    assert each.verdict == "missed by 50 % (2.1 in b; 1 of 2 cells)"
    assert mean.value == pytest.approx(2.1**0.5)
    assert not mean.reached
    assert goals_of(rows[0])["stochastic, gaps up to 1/8, to thompson-n"].verdict == "reached (1)"


def test_goals_look_only_at_the_cells_that_they_are_about():
    wide_gap = row(cell("c", gap=0.2), 100.0, thompson_n=20.0)
    assert "stochastic, gaps up to 1/8, to thompson-n" not in goals_of(wide_gap)
    computed = row(cell("d", gap=0.55 - 0.425), 20.0, thompson_n=20.0)
    assert "stochastic, gaps up to 1/8, to thompson-n" in goals_of(computed)
    without_thompson = row(cell("e"), 100.0, ucb_n=20.0)
    assert "stochastic, gaps up to 1/8, to thompson-n" not in goals_of(without_thompson)


def test_the_adversary_goal_is_for_the_better_of_both_index_rules():
    where = cell("x", group="adversary")
    text = "constrained adversary, to thompson-n and ucb-n"
    assert goals_of(row(where, 20.0, thompson_n=100.0, ucb_n=90.0))[text].reached
    assert not goals_of(row(where, 20.0, thompson_n=100.0, ucb_n=70.0))[text].reached
    ten = cell("y", group="adversary", sizes=(10,) * 10, purpose="named")
    found = goals_of(row(ten, 20.0, thompson_n=290.0, ucb_n=400.0))
    assert not found["constrained adversary, 10x10, to thompson-n and ucb-n"].reached


def test_corruption_is_judged_against_the_best_rival():
    named = cell("flip", group="corruption", attack="flip", purpose="named")
    drawn = replace(named, name="drawn flip", purpose="drawn")
    rows = [row(named, 180.0, thompson_n=100.0, ucb_n=300.0), row(drawn, 310.0, thompson_n=100.0, ucb_n=300.0)]
    goals = goals_of(*rows)
    assert goals["corruption, 10x10, flip, to the best rival"].value == pytest.approx(1.8)
    everything = goals["corruption, all cells, to the best rival"]
    assert everything.value == pytest.approx(3.1)
    assert not everything.reached


def test_the_worst_seed_has_its_own_limit_for_small_gaps():
    regrets = [10.0] * 9 + [60.0]
    small = row(cell("small", gap=1 / 16), 15.0, regrets=regrets)
    large = row(cell("large", gap=1 / 8), 15.0, regrets=regrets)
    goals = goals_of(small, large)
    assert goals["worst seed over the mean, gaps from 1/16 to 1/8"].reached
    assert not goals["worst seed over the mean, gaps from 1/8"].reached
    assert goals["worst seed over the mean, gaps from 1/8"].n_seeds == 10


def test_every_goal_of_the_issue_is_there():
    limits = sorted(demand.limit for demand in DEMANDS)
    assert limits == pytest.approx(sorted([1.25, 1.1, 1.4, 2.0, 1.7, 1 / 4, 1 / 15, *[2.0] * 6, 3.0, 2.5, 4.0]))


def test_tables_name_every_cell_and_every_goal():
    rows = [row(cell("a"), 20.0, thompson_n=20.0), row(cell("b"), 42.0, thompson_n=20.0)]
    summaries, goals = summarise(rows), check_goals(rows)
    text = as_markdown(rows, summaries, goals)
    tables = [part.splitlines() for part in text.strip().split("\n\n")]
    assert [len(table) for table in tables] == [2 + len(summaries), 2 + len(goals), 2 + len(rows)]
    assert all(line.count("|") == table[0].count("|") for table in tables for line in table)
    assert len(goal_lines(goals)) == len(goals)
    assert len(row_lines(rows)) == 2
    data = as_data(rows, summaries, goals)
    assert [entry["ratio"] for entry in data["rows"]] == pytest.approx([1.0, 2.1])


@pytest.mark.parametrize("arguments", [["--tuning", "--docs"], ["--tuning", "--out", "x.md"], ["--seeds", "0"]])
def test_the_command_refuses_to_publish_tuning_cells(arguments, monkeypatch, capsys):
    import regret

    monkeypatch.setattr(sys, "argv", ["regret", *arguments])
    with pytest.raises(SystemExit):
        regret.parse()
    assert "error:" in capsys.readouterr().err
