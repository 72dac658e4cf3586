from __future__ import annotations

import sys

import numpy as np
import pyarrow as pa
import pytest

import allworlds as aw
from allworlds.foundation.errors import InvalidParameter, MissingExtra
from allworlds.workflows.experiments import make_plan, run_experiment
from experiment_runs import write_file

pytestmark = pytest.mark.compiled

MEASURES = ["pseudo_regret", "clean_regret", "realised_regret", "corruption"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("load")
    file = write_file(folder, learners=("ucb-n", "tsallis-shannon:beta=1"))
    run_experiment(file, folder / "out")
    return make_plan(file), folder / "out"


def test_there_is_a_row_for_each_cell_and_recorded_round_with_the_bits_of_play(finished):
    plan, folder = finished
    table = aw.load_results(folder)
    assert list(dict.fromkeys(table["cell"])) == [cell.id for cell in plan.cells]
    graph = aw.graphs.disjoint_cliques(2, 3)
    for cell in plan.cells:
        learner = aw.make_learner(cell.learner, graph)
        world = aw.worlds.one_good_arm(6, 0.25, 3)
        if cell.budget is not None:
            world = aw.worlds.corrupted(world, 20.0, "best-worst")
        trace = aw.play(learner, world, 200, cell.seed)
        rows = table[table["cell"] == cell.id]
        assert rows["round"].tolist() == trace.rounds.tolist()
        for measure in MEASURES:
            assert np.array_equal(rows[measure].to_numpy(), getattr(trace, measure))


def test_columns_say_what_a_cell_is_with_labels_and_options(finished):
    table = aw.load_results(finished[1], final=True)
    assert set(table["world"]) == {"stochastic:gap=0.25", "tampered"}
    assert set(table["round"]) == set(table["horizon"]) == {200}
    assert (table["n_arms"].iloc[0], table["n_cliques"].iloc[0]) == (6, 2)
    tampered = table["world"] == "tampered"
    assert set(table["budget"][tampered]) == {20.0}
    assert table["budget"][~tampered].isna().all()
    assert set(table["world.gap"]) == {0.25}
    beta = table["learner"] == "tsallis-shannon:beta=1"
    assert set(table["learner.beta"][beta]) == {1.0}
    assert table["learner.beta"][~beta].isna().all()
    assert set(table["seed_number"]) == {0, 1, 2}


def test_arrow_and_xarray_hold_the_same_numbers(finished):
    frame = aw.load_results(finished[1], final=True)
    table = aw.load_results(finished[1], "arrow", final=True)
    assert isinstance(table, pa.Table)
    assert table.column("pseudo_regret").to_pylist() == frame["pseudo_regret"].tolist()
    view = aw.load_results(finished[1], "xarray", final=True)
    assert dict(view.sizes) == {"graph": 1, "world": 2, "learner": 2, "horizon": 1, "seed_number": 3}
    for row in frame.itertuples():
        place = {"graph": row.graph, "world": row.world, "learner": row.learner, "horizon": 200}
        assert float(view["clean_regret"].sel(place | {"seed_number": row.seed_number}).item()) == row.clean_regret
    whole = aw.load_results(finished[1], "xarray")
    assert set(whole.sizes) == {*view.sizes, "round"}


def test_without_pandas_there_is_an_arrow_table_and_what_needs_it_says_so(finished, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert isinstance(aw.load_results(finished[1]), pa.Table)
    with pytest.raises(MissingExtra, match=r"allworlds\[tables\]"):
        aw.load_results(finished[1], "pandas")


def test_a_folder_without_results_and_a_form_that_is_none_are_refused(finished, tmp_path):
    with pytest.raises(InvalidParameter, match="holds no results"):
        aw.load_results(tmp_path)
    with pytest.raises(InvalidParameter, match="as_ is 'polars'; expected one of pandas, arrow, xarray"):
        aw.load_results(finished[1], "polars")
