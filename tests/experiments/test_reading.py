from __future__ import annotations

import re
from pathlib import Path

import pytest

from allworlds.experiments.reading import read_experiment, shipped
from allworlds.foundation.errors import InvalidParameter
from allworlds.workflows.comparison import EXPERIMENTS

HEAD = 'name = "mine"\nquestion = "Is it read?"\n'
GRID = """
[[grid]]
graphs = ["bandit:3"]
worlds = ["stochastic"]
learners = ["ucb-n"]
horizons = [10]
seeds = 2
"""
MOST_ROUNDS = {"hostile-worlds": 200e6}
"""Of a small version, where not 30 million: many seeds of fast learners, still minutes on two cores."""


def write(tmp_path, text):
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


def refusal(tmp_path, text, *changes):
    with pytest.raises(InvalidParameter) as refused:
        read_experiment(write(tmp_path, text), changes)
    return str(refused.value)


def test_a_file_is_read_with_single_values_for_lists_and_a_count_for_seeds(tmp_path):
    text = HEAD + GRID.replace('["bandit:3"]', '"bandit:3"').replace("[10]", "10")
    experiment, source = read_experiment(write(tmp_path, text))
    assert [named.spec for named in experiment.grid[0].graphs] == ["bandit:3"]
    assert experiment.grid[0].horizons == [10]
    assert experiment.grid[0].seeds == [0, 1]
    assert source.base == tmp_path


@pytest.mark.parametrize(
    ("written", "spec", "label"),
    [
        ('"stochastic:gap=0.25"', "stochastic:gap=0.25", "stochastic:gap=0.25"),
        ('"corrupted:gap=0.25,budget=1e3"', "corrupted:budget=1000,gap=0.25", None),
        ('"corrupted:flip,20"', "corrupted:attack=flip,budget=20", None),
        ('{name = "stochastic", gap = 0.25}', "stochastic:gap=0.25", "stochastic:gap=0.25"),
        ('{name = "stochastic", means = [0.25, 0.5, 0.5]}', "stochastic:means=0.25/0.5/0.5", None),
        ('{name = "corrupted", budget = 10, label = "C = 10"}', "corrupted:budget=10", "C = 10"),
        ('{spec = "stochastic:gap=0.25", label = "easy"}', "stochastic:gap=0.25", "easy"),
        ('{name = "recorded", path = "a, b=c.csv"}', "recorded:a, b=c.csv", None),
    ],
)
def test_a_world_is_a_spec_or_a_table_with_a_label(tmp_path, written, spec, label):
    experiment, _ = read_experiment(write(tmp_path, HEAD + GRID.replace('"stochastic"', written)))
    (world,) = experiment.grid[0].worlds
    assert (world.spec, world.label) == (spec, label or spec)


def test_single_cells_stand_beside_grids(tmp_path):
    cell = '[[cell]]\ngraph = "bandit:4"\nworld = "random"\nlearner = "exp3"\nhorizon = 5\nseeds = [7]\n'
    experiment, _ = read_experiment(write(tmp_path, HEAD + cell))
    assert experiment.cell[0].learner.spec == "exp3"
    assert experiment.cell[0].seeds == [7]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (HEAD + GRID.replace("learners", "learnes"), "line 7, grid.0.learnes: there is no key 'learnes'; the nearest"),
        (
            HEAD + GRID + GRID.replace("seeds", "seed"),
            "line 16, grid.1.seed: there is no key 'seed'; the nearest is seeds",
        ),
        ("nam = 1\n" + GRID, "line 1, nam: there is no key 'nam'; the nearest is name"),
        (HEAD + GRID + "[report]\nex = 1\n", "line 11, report.ex: there is no key 'ex'; the nearest is x"),
        (HEAD + GRID.replace("[10]", "[0]"), "line 8, grid.0.horizons.0: got 0; expected greater than or equal to 1"),
        (HEAD + GRID.replace("[10]", '["ten"]'), "line 8, grid.0.horizons.0: got 'ten'; expected a valid integer"),
        (HEAD + GRID.replace("seeds = 2", "seeds = 0"), "line 9, grid.0.seeds: got 0; expected at least one"),
        (HEAD + GRID.replace("seeds = 2", "seeds = -1"), "line 9, grid.0.seeds: got -1; expected a number of seeds"),
        (HEAD, "there is nothing to run; expected a [[grid]] or a [[cell]]"),
        (HEAD.replace("mine", "My thing") + GRID, "line 1, name: 'My thing' is not a name; expected small letters"),
        (HEAD + GRID.replace('"stochastic"', "3"), "line 6, grid.0.worlds.0: got 3; expected a spec such as"),
        (HEAD + GRID.replace('"stochastic"', "{gap = 1}"), "grid.0.worlds.0: the table {'gap': 1} has no name"),
        (HEAD + GRID.replace('"stochastic"', '{name = "a", b = "c,d"}'), "cannot be written as a spec"),
        ("name = ", "is not TOML"),
    ],
)
def test_a_mistake_is_answered_with_its_place_and_what_was_expected(tmp_path, text, sentence):
    said = refusal(tmp_path, text)
    if text != HEAD and "\n[[grid]]" in text:
        assert said.startswith(str(tmp_path / "mine.toml"))
    assert sentence in said


def test_set_changes_one_grid_or_all_and_takes_toml_values(tmp_path):
    path = write(tmp_path, HEAD + GRID + GRID.replace("bandit:3", "bandit:4"))
    changes = ["grid.seeds=[5]", "grid.1.horizons=[7, 8]", 'grid.0.learners=["exp3", "hedge"]', 'question="Really?"']
    experiment, source = read_experiment(path, [*changes, 'report.x="horizon"'])
    assert [grid.seeds for grid in experiment.grid] == [[5], [5]]
    assert [grid.horizons for grid in experiment.grid] == [[10], [7, 8]]
    assert [named.spec for named in experiment.grid[0].learners] == ["exp3", "hedge"]
    assert (experiment.question, experiment.report.x) == ("Really?", "horizon")
    assert source.changes[:1] == ("grid.seeds=[5]",)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("grid.seeds", "expected a key, '=' and a value"),
        ("=3", "expected a key, '=' and a value"),
        ("name=mine", "'mine' is not a TOML value"),
        ("grid.5.seeds=1", "there is no number 5; there are 1, from 0"),
        ("grid.sedes=1", "there is no key 'sedes'; the nearest are seeds"),
        ("name.first=1", "'mine' has no keys; expected the name of a table or of a list"),
        ("grid.worlds.gap=0.1", "'stochastic' has no keys"),
        ("grid.worlds.gap.low=0.1", "'stochastic' has no keys"),
        ("grid.0.horizons.1=5", "there is no number 1; there are 1, from 0"),
        (f"grid.0.horizons.0={2**62}", "grid.0.horizons.0: got 4611686018427387904; expected less than"),
        (f"grid.seeds=[{2**62}]", "grid.0.seeds.0: got 4611686018427387904; expected less than"),
        ("grid.seeds=1_000_000_000_000", "expected a number of seeds, at most 1000000, or a list of them"),
        ('grid.graphs="my.txt"', "'my.txt' looks like a path; file:my.txt reads a graph from a file"),
        ('grid.learners="ucb"', "grid.0.learners.0: there is no learner 'ucb'; the nearest are ucb-n"),
        ('grid.graphs={name="file", path="a.txt", foo=3}', "names a file; expected a name, a path and at most a label"),
    ],
)
def test_a_change_that_means_nothing_is_an_error(tmp_path, change, sentence):
    assert sentence in refusal(tmp_path, HEAD + GRID, change)


def test_a_counted_member_of_a_list_can_be_set_and_changes_are_a_list(tmp_path):
    path = write(tmp_path, HEAD + GRID)
    assert read_experiment(path, ["grid.0.horizons.0=5"])[0].grid[0].horizons == [5]
    with pytest.raises(InvalidParameter, match=r"changes is 'grid\.seeds=1'; expected a list"):
        read_experiment(path, "grid.seeds=1")


def test_an_unknown_id_gets_the_nearest_and_a_missing_file_a_sentence(tmp_path):
    with pytest.raises(
        InvalidParameter, match="there is no experiment 'corupted-cliques'; the nearest are corrupted-cl"
    ):
        read_experiment("corupted-cliques")
    with pytest.raises(InvalidParameter, match=r"cannot read .*; expected a TOML file, or an id that"):
        read_experiment(tmp_path / "none.toml")


def test_the_promised_experiments_are_shipped():
    promised = {
        "corrupted-cliques",
        "regret-against-time",
        "regret-against-cliques",
        "regret-against-corruption",
        "zimmert-seldin",
        "zimmert-seldin-full",
        "hu-two-cliques",
        "alpha-against-theta",
        "constants-ablation",
        "honda-ito-tsuchiya",
        "mourtada-gaiffas",
        "seldin-slivkins",
        "seldin-slivkins-full",
        "hard-gaps",
        *EXPERIMENTS,
    }
    assert promised <= set(shipped())


def test_the_example_of_the_documentation_is_an_experiment(tmp_path):
    page = (Path(__file__).resolve().parents[2] / "docs" / "experiments.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```toml\n(.*?)```", page, flags=re.DOTALL)
    experiment, _ = read_experiment(write(tmp_path, example))
    assert [named.label for named in experiment.grid[0].graphs] == ["disjoint-cliques:10x10", "twenty"]
    assert experiment.n_cells == 2 * 2 * 3 * 2 * 20 + 2
    assert experiment.n_rounds == 2 * 2 * 3 * 110_000 * 20 + 2 * 10_000


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_comparison_has_a_small_version_of_each_experiment_with_every_graph_world_and_learner(name):
    full, small = read_experiment(name)[0], read_experiment(name, small=True)[0]
    assert small.n_rounds < MOST_ROUNDS.get(name, 30e6) < full.n_rounds
    for one, other in zip(full.grid, small.grid, strict=True):
        assert (one.graphs, one.worlds, one.learners) == (other.graphs, other.worlds, other.learners)


def test_the_small_version_comes_before_changes_from_the_command_line_and_is_remembered(tmp_path):
    path = write(tmp_path, 'small = ["grid.seeds=1", "grid.horizons=[5]"]\n' + HEAD + GRID)
    assert read_experiment(path)[0].grid[0].seeds == [0, 1]
    experiment, source = read_experiment(path, ["grid.seeds=[7]"], small=True)
    assert (experiment.grid[0].seeds, experiment.grid[0].horizons) == ([7], [5])
    assert read_experiment(path, source.changes)[0] == experiment


@pytest.mark.parametrize(
    ("head", "sentence"),
    [
        ("", "has no small version; run it whole, or change it with --set grid.seeds=3"),
        ("small = 3\n", "small: got 3; expected a list of changes, such as ['grid.seeds=3']"),
    ],
)
def test_a_small_version_that_is_missing_or_malformed_is_refused(tmp_path, head, sentence):
    with pytest.raises(InvalidParameter, match=re.escape(sentence)):
        read_experiment(write(tmp_path, head + HEAD + GRID), small=True)
