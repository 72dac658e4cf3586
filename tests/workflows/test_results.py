"""The report of a run: finished, half finished, with failures; it stands alone and shows the numbers of the results."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import allworlds as aw
from allworlds.experiments.store import Store
from allworlds.experiments.work import Outcome
from allworlds.foundation.errors import InvalidParameter
from allworlds.reporting.page import number
from allworlds.workflows.experiments import resume_experiment, run_experiment
from allworlds.workflows.results import write_report
from html_pages import Page, assert_stands_alone

pytestmark = pytest.mark.compiled

FILE = """
name = "growing"
question = "How does regret of <uniform> play grow?"
about = "Uniform play & others."

[[grid]]
graphs = ["disjoint-cliques:2x3"]
worlds = ["stochastic:gap=0.5"]
learners = ["uniform", "ucb-n"]
horizons = [50, 100, 200, 400]
seeds = 6

[report]
x = "horizon"
theory_slope = 1.0
claim = "uniform play pays for every round"
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("growing")
    file = folder / "growing.toml"
    file.write_text(FILE, encoding="utf-8")
    run_experiment(file, folder / "out", jobs=1)
    return file, write_report(folder / "out")


def text_of(report):
    return report.report.read_text(encoding="utf-8")


def test_the_page_nests_stands_alone_and_escapes_what_the_file_says(finished):
    text = text_of(finished[1])
    assert Page(text).stack == []
    assert_stands_alone(text)
    assert "<h1>How does regret of &lt;uniform&gt; play grow?</h1>" in text
    assert "Uniform play &amp; others." in text


def test_uniform_play_has_about_slope_one_that_of_least_squares_through_the_means(finished):
    _, report = finished
    table = aw.load_results(report.report.parent, final=True)
    means = table[table["learner"] == "uniform"].groupby("horizon")["pseudo_regret"].mean()
    expected = np.polyfit(np.log(means.index), np.log(means), 1)[0]
    slope = report.to_dict()["panels"][0]["lines"][0]["slope"]
    assert slope["value"] == pytest.approx(expected, rel=1e-9)
    assert slope["value"] == pytest.approx(1.0, abs=0.1)  # the regret is 5/6 times 1/2 in each round, in mean
    assert slope["low"] < slope["value"] < slope["high"]
    (answer,) = report.answers
    assert answer.startswith(f"The regret of uniform grows with T with slope {expected:.2f} (95 % interval ")
    assert answer.endswith("the slope 1 of theory.")
    json.dumps(report.to_dict(), allow_nan=False)


def test_the_tables_have_mean_interval_and_worst_seed_of_the_results(finished):
    _, report = finished
    cells = [data.strip() for data in Page(text_of(report)).texts]
    table = aw.load_results(report.report.parent, final=True)
    for _, group in table.groupby(["learner", "horizon"], observed=True):
        assert number(group["pseudo_regret"].mean()) in cells
        assert number(group["pseudo_regret"].max()) in cells


def test_figures_are_in_the_page_with_words_and_also_files(finished):
    _, report = finished
    figures = re.findall(r"<svg.*?</svg>", text_of(report), flags=re.DOTALL)
    assert len(figures) == 1
    assert "slope 1 of theory" in ET.fromstring(figures[0]).attrib["aria-label"]
    names = {file.name for file in (report.report.parent / "figures").iterdir()}
    assert names == {"1-all.svg", "1-all.pdf"}


def test_the_page_says_versions_machine_checksum_and_how_to_repeat_it(finished):
    file, report = finished
    text = "".join(Page(text_of(report)).texts)
    description = json.loads((report.report.parent / "experiment.json").read_text(encoding="utf-8"))
    flat = " ".join(text.replace("\\\n", " ").split())
    for part in (
        f"allworlds run {file} --out {report.report.parent}",
        f"numba {description['versions']['numba']}",
        description["machine"]["processor"],
        description["hash"],
    ):
        assert part in flat
    with Store(report.report.parent, read_only=True) as store:
        assert store.checksum() in flat


def test_the_same_results_give_the_same_page(finished):
    before = finished[1].report.read_bytes()
    assert write_report(finished[1].report.parent).report.read_bytes() == before


def test_half_a_run_with_failures_says_how_much_is_there_and_what_failed(finished, tmp_path):
    file, _ = finished
    folder = tmp_path / "out"
    run_experiment(file, folder, changes=["grid.horizons=[50, 100]"], jobs=1)
    with Store(folder) as store:
        row = store.records()[0]
        store._base.execute("UPDATE cells SET state = 'waiting', part = NULL, checksum = NULL WHERE number <= 2")
        store._base.commit()
        store.keep([Outcome(row.cell, None, 0.0, "MemoryError: <no room>\nmore", attempts=2)])
    report = write_report(folder)
    text = text_of(report)
    assert Page(text).stack == []
    assert "22 of 24 cells are finished, 1 failed, 1 to go" in text
    assert "So far (22 of 24 cells are finished" in text
    assert "so there is no slope" in report.answers[0]  # two horizons
    assert "<h2>Cells that failed</h2>" in text
    assert "MemoryError: &lt;no room&gt;</td>" in text
    assert row.cell.title in "".join(Page(text).texts)
    assert resume_experiment(folder, jobs=1).complete
    assert "Cells that failed" not in text_of(write_report(folder))


@pytest.mark.parametrize("change", ['report.x="round"', 'report.x="learner"', "report.log=false", 'report.log="x"'])
def test_every_kind_of_figure_makes_a_page(finished, tmp_path, change):
    report_of = run_experiment(finished[0], tmp_path / "out", changes=[change], jobs=1)
    text = text_of(write_report(report_of.folder))
    assert Page(text).stack == []
    assert_stands_alone(text)
    assert "<svg" in text


def test_a_column_that_is_not_there_is_answered_with_those_that_are(finished, tmp_path):
    run_experiment(finished[0], tmp_path / "out", changes=['report.x="horison"'], jobs=1)
    with pytest.raises(InvalidParameter, match=r"\[report\] x = 'horison', but the results have no.*horizon"):
        write_report(tmp_path / "out")
    assert not (tmp_path / "out" / "report.html").exists()


def test_a_file_in_the_way_of_the_figures_is_said(finished, tmp_path):
    run_experiment(finished[0], tmp_path / "out", changes=["grid.seeds=1"], jobs=1)
    (tmp_path / "out" / "figures").write_text("in the way", encoding="utf-8")
    with pytest.raises(InvalidParameter, match="cannot write to "):
        write_report(tmp_path / "out")
