from __future__ import annotations

import json
import random
import re
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import allworlds as aw
from allworlds.cli import app
from allworlds.experiments.cells import Cell
from allworlds.experiments.work import code_version
from allworlds.foundation.errors import InvalidGraph, InvalidParameter
from allworlds.learners.base import accepts_graph
from allworlds.learners.by_name import LEARNERS
from allworlds.workflows.comparison import (
    ADVICE,
    EXPERIMENTS,
    HELD_BACK,
    read_results,
    stored_results,
    stored_version,
    with_ratios,
    write_results,
)
from allworlds.workflows.experiments import make_plan
from allworlds.workflows.recommend import has_bound, rank, recommend, similar_rows

ROWS = stored_results()


def test_the_stored_table_names_its_version_and_has_every_experiment():
    assert stored_version().startswith(f"{aw.__version__}+")
    assert {row.experiment for row in ROWS} <= {*EXPERIMENTS, HELD_BACK}
    assert {"all-worlds", "alpha-vs-theta", "directed", HELD_BACK} <= {row.experiment for row in ROWS}


def test_the_table_survives_writing_and_reading(tmp_path):
    write_results(ROWS[:50], tmp_path / "t.csv")
    assert read_results((tmp_path / "t.csv").read_text()) == list(ROWS[:50])


def test_rows_that_are_played_alone_are_named_with_their_version_and_the_line_before_stays(tmp_path):
    write_results(ROWS[:5], tmp_path / "t.csv", ["directed", HELD_BACK])
    line = (tmp_path / "t.csv").read_text().splitlines()[0]
    assert line.startswith(f"# made by allworlds {stored_version()} with scripts/bench comparison")
    assert line.endswith(f"; rows of directed and {HELD_BACK} by {code_version()}")


def test_ratios_divide_by_the_least_regret_of_a_rival_in_the_same_cell():
    for row in random.Random(0).sample(ROWS, 200):
        field = [other for other in ROWS if other.cell == row.cell]
        best = min(other.regret for other in field if LEARNERS.find(other.learner).rival)
        expected = None if best < 1.0 else row.regret / best
        assert row.ratio == (None if expected is None else pytest.approx(expected, abs=6e-4))


@pytest.mark.compiled
@pytest.mark.parametrize("ours", [True, False], ids=["default", "rivals"])
@pytest.mark.parametrize("number", range(4))
def test_a_sample_of_the_stored_rows_can_be_made_again(number, ours):
    """The default among them: its rows are the first that a change of its constants makes wrong."""
    names = ("tsallis-shannon",) if ours else ("ucb-n", "exp3-ix", "imed-n", "exp3-g")
    cheap = [row for row in ROWS if row.horizon <= 10_000 and row.learner in names]
    row = random.Random(number).choice(cheap)
    cells: list[Cell] = [
        cell
        for cell in _cells(row.experiment)
        if (cell.graph, cell.world, cell.learner, cell.horizon) == (row.graph, row.world, row.learner, row.horizon)
    ]
    graph = aw.make_graph(row.graph)
    world = aw.make_world(row.world, graph.n_arms)
    learner = aw.make_learner(row.learner, graph, row.horizon)
    finals = [aw.play(learner, world, row.horizon, cell.seed).clean_regret[-1] for cell in cells]
    assert len(finals) == row.seeds
    assert np.mean(finals) == pytest.approx(row.regret, rel=0.02, abs=0.01)  # the last bits may be another machine's
    assert row.above == pytest.approx(np.mean([final > 0.1 * row.horizon for final in finals]), abs=6e-4)


def _cells(experiment, known={}):  # noqa: B006  # plans are made once
    if experiment not in known:
        known[experiment] = make_plan(experiment, small=True).cells
    return known[experiment]


@pytest.mark.parametrize("regime", [None, "stochastic", "corrupted", "adversarial"])
@pytest.mark.parametrize("spec", ["disjoint-cliques:3x5", "lu-gadgets", "first-price-bids:6"])
def test_the_recommended_learner_takes_the_graph_and_has_the_smallest_mean_ratio_of_its_field(spec, regime):
    graph = aw.make_graph(spec)
    advice = recommend(graph, 10_000, regime, name=spec)
    assert accepts_graph(LEARNERS[advice.learner].kind, graph)
    assert regime is not None or LEARNERS[advice.learner].world == "any"
    assert min(one.mean for one in advice.candidates) == advice.candidates[0].mean
    assert f"on average and at most {advice.candidates[0].worst:.2f} times" in advice.sentences[2]
    assert advice.learner == advice.candidates[0].learner
    assert [sentence.endswith(".") for sentence in advice.sentences] == [True] * 4
    stops = re.compile(r"[.?!] +[A-Z]")
    assert not any(stops.search(sentence.replace("et al.", "et al")) for sentence in advice.sentences)
    assert not any(row.experiment == HELD_BACK for row in advice.measured)


def test_the_choice_follows_the_stored_numbers():
    facts = recommend(aw.make_graph("disjoint-cliques:3x5")).facts
    rows = similar_rows(ROWS, facts, None, "stochastic")
    usable = sorted({row.learner for row in rows} & set(LEARNERS))
    (first, second, *_), _ = rank(rows, usable, "stochastic")
    worse = [replace(row, regret=50 * row.regret) if row.learner == first.learner else row for row in rows]
    assert rank(with_ratios(worse), usable, "stochastic")[0][0].learner == second.learner


def test_only_learners_measured_in_every_cell_are_compared_and_only_in_experiments_with_the_whole_field():
    facts = recommend(aw.make_graph("disjoint-cliques:5x5")).facts  # corruption-slopes has this graph, and few learners
    rows = similar_rows(ROWS, facts, None, "corrupted")
    assert {row.experiment for row in rows} <= set(ADVICE)
    assert "corruption-slopes" not in {row.experiment for row in rows}
    usable = sorted({row.learner for row in rows} & set(LEARNERS))
    first, *_ = rank(rows, usable, "corrupted")[0]
    gone = next(row for row in rows if row.learner == first.learner)
    fewer = [row for row in rows if row is not gone]
    assert first.learner not in {one.learner for one in rank(fewer, usable, "corrupted")[0]}


def test_of_two_measurements_of_a_graph_in_a_world_the_one_with_more_seeds_counts():
    facts = recommend(aw.make_graph("bandit:8")).facts
    more = [
        replace(row, experiment="hostile-worlds", seeds=10, regret=2 * row.regret)
        for row in ROWS
        if (row.experiment, row.graph, row.regime) == ("all-worlds", "bandit:8", "corrupted")
    ]
    without = [row for row in ROWS if row.experiment != "hostile-worlds"]
    found = [row for row in similar_rows([*without, *more], facts, None, "corrupted") if row.graph == "bandit:8"]
    assert found == more


def test_each_graph_counts_the_same_however_many_worlds_it_was_measured_in():
    one = next(row for row in ROWS if row.regime == "stochastic")
    regrets = {("a", "lock-in"): 8.0, ("b", "lock-in"): 1.0, ("b", "stochastic"): 1.0, ("b", "switching"): 1.0}
    rows = [
        replace(one, graph=graph, world=world, learner=learner, regret=10.0 * (times if learner == "ucb-n" else 1.0))
        for (graph, world), times in regrets.items()
        for learner in ("ucb-n", "moss-n")
    ]
    (first, second), _ = rank(rows, ["ucb-n", "moss-n"], "stochastic")
    assert (first.learner, second.learner) == ("moss-n", "ucb-n")
    assert (second.mean, second.worst) == (pytest.approx(8.0**0.5), 8.0)


def test_with_full_information_another_learner_than_the_default_is_advised():
    graph = aw.make_graph("full-information:12")
    for regime in (None, "stochastic", "corrupted", "adversarial"):
        assert recommend(graph, None, regime).learner != "tsallis-shannon"
    assert LEARNERS[recommend(graph, None, "stochastic").learner].world == "stochastic"


def test_a_learner_without_a_bound_is_advised_with_a_word_on_it_and_one_that_has_a_bound_is_named():
    advice = recommend(aw.make_graph("mycielski-complement:6"))
    assert (advice.learner, has_bound(advice.learner, None)) == ("tsallis-shannon-all", False)
    proved = next(one for one in advice.candidates if has_bound(one.learner, None))
    assert proved.learner == "tsallis-shannon"
    said = f"if you need a bound for such losses, use tsallis-shannon, at most {proved.worst:.2f} times the best"
    assert "its bound is: none claimed" in advice.sentences[3]
    assert said in advice.sentences[3]
    assert "if you need a bound" not in recommend(aw.make_graph("directed-cycle:9")).sentences[3]
    assert not has_bound("thompson-n", "stochastic", "directed")  # proved on undirected graphs
    assert "no learner measured has a bound" in recommend(aw.make_graph("loopless-clique:8")).sentences[3]


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        (("star:3",), InvalidParameter, "graph is a str; expected a FeedbackGraph"),
        ((aw.make_graph("star:3"), 0), InvalidParameter, "horizon is 0"),
        ((aw.make_graph("star:3"), None, "stochastics"), InvalidParameter, "stochastic"),
        ((aw.FeedbackGraph(2, [], directed=True, self_loops=[0]),), InvalidGraph, "no arm sees arm 1"),
    ],
)
def test_wrong_requests_get_a_sentence(arguments, error, sentence):
    with pytest.raises(error, match=sentence):
        recommend(*arguments)


def test_a_regret_below_zero_is_explained_only_where_there_is_one():
    said = {spec: recommend(aw.make_graph(spec)).sentences[3] for spec in ("disjoint-cliques:2x3", "bandit:10")}
    for sentence in said.values():
        assert ("there was -" in sentence) == ("below 0 where it beat every single arm" in sentence)
    assert "there was -" in said["disjoint-cliques:2x3"]


def test_the_command_says_it_in_four_sentences_or_as_json(tmp_path):
    file = tmp_path / "graph.txt"
    file.write_text("0 1\n1 2\n2 3\n")
    said = CliRunner().invoke(app, ["recommend", str(file), "--horizon", "10000"])
    assert said.exit_code == 0
    lines = said.stdout.strip().splitlines()
    assert len(lines) == 4
    assert "is undirected, has 4 arms and is strongly observable, with alpha 2 (exact)" in lines[0]
    found = json.loads(CliRunner().invoke(app, ["recommend", str(file), "--json"]).stdout)
    assert found["facts"]["theta"] == {"low": 2, "high": 2}
    assert lines[2].startswith(f"Use {found['learner']}")
    assert CliRunner().invoke(app, ["recommend", "nothing-of-the-kind"]).exit_code == 2
