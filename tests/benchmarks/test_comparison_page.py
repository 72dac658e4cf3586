"""The page of the comparison says what the table of results says that ships with the package."""

from __future__ import annotations

import tomllib
from dataclasses import replace

import numpy as np
import pytest

import allworlds as aw
from allworlds.experiments.reading import as_experiment, read_experiment
from allworlds.workflows.comparison import EXPERIMENTS, REGIMES
from allworlds.workflows.recommend import recommend
from comparison import FROM_ROWS, PAGE, TITLES, stored
from held_back import again, experiment, hindsight, intervals, per_cent
from pages import marks
from rules_of_advice import body, judged_rows


@pytest.mark.parametrize("title", FROM_ROWS)
def test_a_table_of_the_page_is_the_one_made_from_the_shipped_results(title):
    name, write = FROM_ROWS[title]
    begin, end = marks(title)
    shown = PAGE.read_text(encoding="utf-8").partition(begin)[2].partition(end)[0]
    assert shown.strip() == f"{write(stored(name))}\n\n```sh\nscripts/bench comparison --table {title}\n```"


@pytest.mark.parametrize("title", TITLES)
def test_the_page_names_the_command_of_each_table(title):
    text = PAGE.read_text(encoding="utf-8")
    assert f"scripts/bench comparison --table {title}\n" in text


RULES = {
    "**five graphs, mean ratio**": "5, mean ratio",
    "the same, safe first": "5, mean ratio, safe first",
    "the same, worst ratio": "5, worst ratio",
    "five graphs, fewest cells above 1.5 and 2.5": "5, shares above 1.5 and 2.5",
    "five graphs, squared logarithms": "5, squared logarithm",
    "all graphs, mean ratio": "100, mean ratio",
    "one learner for each graph, in hindsight": "in hindsight",
}
"""The lines of the page's table of rules, and what the command calls them."""


def test_the_table_of_rules_is_the_one_made_from_the_shipped_results():
    text = PAGE.read_text(encoding="utf-8")
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]
    head = next(line for line in lines if line[0] == "rule")
    shown = {line[0]: line[1:] for line in lines if line[0] in RULES}
    assert list(shown) == list(RULES)
    rows = judged_rows()
    for place, regime in enumerate((None, *REGIMES)):
        found = {name: (cells, *shares) for name, cells, *shares, _ in body(rows, regime, (5, 100))}
        assert head[1 + place].startswith(regime or "untold")
        assert f"({found['in hindsight'][0]}" in head[1 + place]
        for name, rule in RULES.items():
            assert shown[name][place] == ", ".join(found[rule][1:])


def test_drawn_cells_are_new_and_the_same_for_the_same_seed():
    data = tomllib.loads(experiment(13))
    assert experiment(13) == experiment(13) != experiment(14)
    small = data.pop("small")
    assert as_experiment(data, "drawn").n_cells > 0
    assert any("grid.seeds" in change for change in small)
    drawn = {graph for grid in data["grid"] for graph in grid["graphs"]}
    known = {graph.spec for name in EXPERIMENTS for grid in read_experiment(name)[0].grid for graph in grid.graphs}
    assert drawn.isdisjoint(known)


def test_in_hindsight_the_best_single_learner_of_each_graph_counts():
    one = next(row for row in stored("held-back") if row.kind == "undirected" and row.ratio is not None)
    ratios = {("ucb-n", "a"): 1.0, ("ucb-n", "b"): 2.0, ("moss-n", "a"): 3.0, ("moss-n", "b"): 3.0}
    rows = [replace(one, learner=name, world=world, ratio=ratio) for (name, world), ratio in ratios.items()]
    assert [hindsight(rows, most) for most in (0.5, 1.5, 2.5)] == [0.0, 0.5, 1.0]


def test_what_half_of_the_runs_choose_is_judged_by_the_other_half():
    sure = {("g", world, 100): {"a": np.full(4, 10.0), "b": np.full(4, 30.0)} for world in ("u", "v")}
    assert [again(sure, 1.5, by_graph=by_graph) for by_graph in (True, False)] == ["100%", "100%"]
    luck = {("g", "u", 100): {"a": np.array([10.0, 40.0, 10.0, 40.0]), "b": np.array([40.0, 10.0, 40.0, 10.0])}}
    assert [again(luck, most, by_graph=False) for most in (1.5, 2.5, 4.0)] == ["0%", "0%", "100%"]
    split = {
        ("g", "u", 100): {"a": np.full(4, 10.0), "b": np.full(4, 40.0), "c": np.full(4, 20.0)},
        ("g", "v", 100): {"a": np.full(4, 40.0), "b": np.full(4, 10.0), "c": np.full(4, 20.0)},
    }
    assert [again(split, most, by_graph=True) for most in (1.5, 2.5)] == ["50%", "100%"]
    assert again(split, 1.5, by_graph=False) == "100%"


def test_the_interval_of_a_share_is_a_point_where_all_runs_are_alike_and_wide_where_they_are_not():
    advised = recommend(aw.make_graph("star:9"), 10_000, "stochastic").learner
    rng = np.random.default_rng(1)
    alike = {("star:9", f"w{k}", 10_000): {advised: np.full(10, 5.0), "uniform": np.full(10, 9.0)} for k in range(9)}
    assert intervals(alike, "stochastic") == ["100% [100%, 100%]"] * 2
    wild = {place: {advised: rng.exponential(30.0, 10), "uniform": np.full(10, 20.0)} for place in alike}
    low, high = (float(end) for end in intervals(wild, "stochastic")[0].partition("[")[2].strip("%]").split("%, "))
    assert low + 20 < high


def test_a_share_below_a_goal_is_not_rounded_to_it():
    assert [per_cent(part) for part in (0.9, 161 / 179, 1.0, 0.998, 0.84)] == ["90%", "89.9%", "100%", "99.8%", "84%"]
