from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest

import allworlds as aw
from allworlds.experiments.cells import SpecCache, make_cells
from allworlds.experiments.reading import read_experiment, shipped
from allworlds.experiments.work import play_cell
from allworlds.foundation.errors import InvalidParameter
from experiment_runs import write_file


def cells_of(path, *changes):
    experiment, source = read_experiment(path, changes)
    return make_cells(experiment, SpecCache(source.base))


def test_a_seed_is_the_hash_of_the_names_of_graph_world_horizon_and_number(tmp_path):
    for cell in cells_of(write_file(tmp_path)):
        names = json.dumps(["seed", cell.graph, cell.world, cell.horizon, cell.seed_number])
        number = int.from_bytes(hashlib.sha256(names.encode()).digest()[:8], "big")
        assert cell.seed == number // 2


def test_learners_share_worlds_and_nothing_else_shares_a_seed(tmp_path):
    cells = cells_of(write_file(tmp_path), "grid.horizons=[100, 200]")
    by_seed = {}
    for cell in cells:
        by_seed.setdefault(cell.seed, set()).add((cell.graph, cell.world, cell.horizon, cell.seed_number))
        assert sum(other.seed == cell.seed for other in cells) == 2  # two learners
    assert all(len(names) == 1 for names in by_seed.values())
    assert len({cell.id for cell in cells}) == len(cells) == 2 * 2 * 2 * 3


def test_adding_a_learner_a_world_or_a_seed_and_changing_the_order_leaves_all_other_cells_alone(tmp_path):
    path = write_file(tmp_path)
    before = {cell.id: cell for cell in cells_of(path)}
    for change in (
        'grid.learners=["exp3", "uniform", "ucb-n"]',
        "grid.seeds=[9, 2, 1, 0]",
        'name="renamed"',
        'grid.graphs=["bandit:6", {spec="disjoint-cliques:2x3", label="two"}]',
    ):
        after = {cell.id: replace(cell, graph_label=cell.graph) for cell in cells_of(path, change)}
        assert before.items() <= after.items()


def test_a_cell_that_two_grids_name_is_one_cell(tmp_path):
    path = write_file(tmp_path)
    text = path.read_text(encoding="utf-8")
    twice = text + text[text.index("[[grid]]") :]
    path.write_text(twice, encoding="utf-8")
    assert len(cells_of(path)) == 12


def test_a_changed_file_of_losses_or_edges_changes_the_id_but_not_the_seed(tmp_path):
    path = write_file(tmp_path)
    change = ['grid.graphs="file:my.edges"', 'grid.worlds="recorded:my.csv"', "grid.horizons=2"]
    (tmp_path / "my.edges").write_text("0 1\n2 1\n", encoding="utf-8")
    (tmp_path / "my.csv").write_text("0.1,0.2,0.3\n0.3,0.2,0.1\n", encoding="utf-8")
    first = cells_of(path, *change)
    assert cells_of(path, *change) == first
    (tmp_path / "my.csv").write_text("0.1,0.2,0.3\n0.3,0.2,0.2\n", encoding="utf-8")
    second = cells_of(path, *change)
    assert [cell.seed for cell in first] == [cell.seed for cell in second]
    assert not {cell.id for cell in first} & {cell.id for cell in second}
    outcome = play_cell(first[0], SpecCache(tmp_path))
    assert "'recorded:my.csv' is not what it was when the experiment began" in outcome.error


def test_the_graph_of_a_stored_cover_comes_with_that_cover(tmp_path):
    poor = aw.CliqueCover(aw.graphs.full_information(6), [[0, 1], [2, 3, 4, 5]])
    aw.covers.write_cover(poor, tmp_path / "mine.json")
    (cell, *_) = cells_of(write_file(tmp_path), 'grid.graphs="cover:mine.json"', 'grid.learners="tsallis-shannon"')
    assert (cell.n_cliques, cell.graph_digest) == (2, poor.digest())
    assert SpecCache(tmp_path).graph(cell.graph) == poor


def test_masses_are_recorded_only_on_request_and_make_another_cell(tmp_path):
    path, change = write_file(tmp_path), 'grid.learners="tsallis-shannon"'
    plain, recorded = cells_of(path, change), cells_of(path, change, "record_masses=true")
    assert not {cell.id for cell in plain} & {cell.id for cell in recorded}
    assert [cell.seed for cell in plain] == [cell.seed for cell in recorded]
    one, other = (play_cell(replace(cells[0], horizon=20), SpecCache(tmp_path)).rows for cells in (plain, recorded))
    assert (one.clique_mass, one.regret_bound) == (None, None)
    assert other.clique_mass.shape == (20, 2)
    assert other.values.tolist() == one.values.tolist()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ('grid.graphs="bandit:x"', "grid.0: 'bandit:x' gives n as 'x'"),
        ('grid.graphs="file"', "grid.0: 'file' lacks path; expected graphs such as"),
        ('grid.graphs="cover"', "grid.0: 'cover' lacks path; expected graphs such as"),
        ('grid.worlds="recorded"', "grid.0: 'recorded' lacks path; expected worlds such as"),
        ('grid.worlds="stochastic:gapp=1"', "there is no option of stochastic: 'gapp'"),
        ('grid.worlds="recorded:my.csv"', "'recorded:my.csv' has 2 rounds, but the horizon is 200"),
        (
            'grid.worlds=[{name="stochastic", gap=0.1, label="a"}, {name="stochastic", gap=0.2, label="a"}]',
            "two cells would have the same name",
        ),
    ],
)
def test_what_does_not_fit_together_is_refused_before_the_first_round(tmp_path, change, sentence):
    rows = "0.1,0.2,0.3,0.1,0.2,0.3\n" * 2
    (tmp_path / "my.csv").write_text(rows, encoding="utf-8")
    with pytest.raises(InvalidParameter) as refused:
        cells_of(write_file(tmp_path), change)
    assert sentence in str(refused.value)


WITH_ALL_LEARNERS = ("all-worlds", "changing-graphs", "directed", "hostile-worlds")
"""To compile their learners takes minutes."""


@pytest.mark.compiled
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in WITH_ALL_LEARNERS else ()) for name in shipped()]
)
def test_every_shipped_experiment_resolves_and_each_of_its_combinations_plays(name):
    experiment, source = read_experiment(name, ["grid.seeds=1"])
    cache = SpecCache(source.base)
    cells = make_cells(experiment, cache)
    assert experiment.question.endswith("?")
    assert experiment.report.claim
    for cell in cells:
        outcome = play_cell(replace(cell, horizon=20), cache)
        assert outcome.error is None
        assert outcome.rows.values.shape == (20, 4)


def test_the_last_world_of_mourtada_and_gaiffas_has_the_published_losses():
    experiment, source = read_experiment("mourtada-gaiffas")
    world = SpecCache(source.base).world("bandit:3", experiment.grid[3].worlds[0].spec)
    losses = np.array([[world.loss(0, t, arm, horizon=1000) for arm in range(3)] for t in range(1, 1001)])
    expected = [(0.5, 0.0) if t == 1 else (0.0, 1.0) if t >= 80 or t % 2 == 0 else (1.0, 0.0) for t in range(1, 1001)]
    assert losses[:, :2].tolist() == [list(pair) for pair in expected]
    assert set(losses[:, 2]) == {0.75}
