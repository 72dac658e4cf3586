"""The page of the comparison says what the table of results says that ships with the package."""

from __future__ import annotations

import tomllib
from dataclasses import replace

import pytest

from allworlds.experiments.reading import as_experiment, read_experiment
from allworlds.workflows.comparison import EXPERIMENTS, collect
from allworlds.workflows.experiments import run_experiment
from comparison import FROM_ROWS, PAGE, TITLES, stored
from held_back import chance, experiment, hindsight
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


def test_half_of_the_seeds_choose_and_the_other_half_judge(tmp_path):
    file = tmp_path / "small.toml"
    file.write_text(
        'name = "small"\nquestion = "Who?"\n[[grid]]\ngraphs = ["path:4"]\n'
        'worlds = ["stochastic:gap=0.3", "constrained-adversary", "corrupted:attack=flip,budget=20,gap=0.3"]\n'
        'learners = ["tsallis-inf-rv", "tsallis-inf-graph"]\nhorizons = [200]\nseeds = [4, 5, 6, 7]\n'
    )
    run_experiment(file, tmp_path / "out", jobs=1)
    even, odd, both = (collect("small", tmp_path / "out", parity) for parity in (0, 1, None))
    assert [{row.seeds for row in rows} for rows in (even, odd, both)] == [{2}, {2}, {4}]
    for first, second, whole in zip(even, odd, both, strict=True):
        assert whole.regret == pytest.approx((first.regret + second.regret) / 2, abs=0.02)
        assert first.regret != second.regret
    found = []
    for seen, unseen in ((even, odd), (odd, even)):
        now, later = (
            {row.learner: row.regret for row in rows if row.regime == "stochastic"} for rows in (seen, unseen)
        )
        found.append(later[min(now, key=now.__getitem__)] / min(later.values()))
    line = next(line for line in chance(tmp_path / "out").splitlines() if line.startswith("| stochastic"))
    assert line.split(" | ")[1] == "2"
    assert float(line.rstrip(" |").split(" | ")[-1]) == pytest.approx(max(found), abs=0.006)
