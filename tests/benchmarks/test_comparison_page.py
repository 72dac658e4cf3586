"""The page of the comparison says what the table of results says that ships with the package."""

from __future__ import annotations

import tomllib
from dataclasses import replace

import pytest

from allworlds.experiments.reading import as_experiment, read_experiment
from allworlds.workflows.comparison import EXPERIMENTS
from comparison import FROM_ROWS, PAGE, TITLES, stored
from held_back import experiment, hindsight
from pages import marks


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
