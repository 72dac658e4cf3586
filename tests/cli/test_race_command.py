"""The command around the race: real processes that are killed, interrupted and started again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from allworlds.cli import app
from allworlds.learners import LEARNERS
from allworlds.worlds.by_name import WORLDS

pytestmark = pytest.mark.compiled

TINY = [
    "--graph",
    "bandit:3",
    "--world",
    "stochastic:gap=0.5",
    "--learner",
    "ucb-n",
    "--horizon",
    "300",
    "--seeds",
    "2",
]
GAPS = ("0.5", "0.4", "0.3", "0.2", "0.15", "0.1")
LONG = ["--graph", "disjoint-cliques:2x3", "--learner", "ucb-n", "--horizon", "200000", "--seeds", "5", "--jobs", "1"]
LONG += [word for gap in GAPS for word in ("--world", f"stochastic:gap={gap}")]
LONG += ["--no-report", "--json"]


def run(*arguments: str, columns: int = 100):
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": str(columns), "TERM": "dumb"})


def without_timing(data):
    kept = {key: value for key, value in data.items() if key not in ("timing", "command", "report")}
    rows = [{key: value for key, value in row.items() if key != "rounds_per_second"} for row in kept["standings"]]
    return kept | {"standings": rows}


def start(out: Path) -> subprocess.Popen[str]:
    command = [Path(sys.executable).with_name("allworlds"), "race", *LONG, "--out", str(out)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finished(out: Path) -> list[Path]:
    return sorted((out / "cells").glob("*.npz"))


def stop_midway(out: Path, how: signal.Signals) -> tuple[int, str]:
    """Start a race, send it a signal as soon as its first cell is finished, give its exit code and its words."""
    process = start(out)
    deadline = time.monotonic() + 240
    while not finished(out):
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline, "no cell was finished in time"
        time.sleep(0.002)
    os.kill(process.pid, how)
    _, words = process.communicate(timeout=120)
    return process.returncode, words


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """What the long race says when nobody disturbs it."""
    result = run("race", *LONG, "--out", str(tmp_path_factory.mktemp("whole")))
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_killed_race_goes_on_where_it_stopped_and_ends_with_the_same_numbers(whole, tmp_path):
    code, _ = stop_midway(tmp_path, signal.SIGKILL)
    kept = {file: file.stat().st_mtime_ns for file in finished(tmp_path)}
    assert code == -signal.SIGKILL
    assert 1 <= len(kept) < len(GAPS)
    result = run("race", *LONG, "--out", str(tmp_path))
    assert result.exit_code == 0
    assert without_timing(json.loads(result.stdout)) == without_timing(whole)
    assert {file: file.stat().st_mtime_ns for file in kept} == kept
    assert len(finished(tmp_path)) == len(GAPS)


def test_control_c_keeps_what_is_finished_says_what_to_type_and_exits_130(whole, tmp_path):
    code, words = stop_midway(tmp_path, signal.SIGINT)
    kept = len(finished(tmp_path))
    assert code == 130
    assert 1 <= kept < len(GAPS)
    assert f"interrupted: {kept} of {len(GAPS)} cells are kept in '{tmp_path}/cells'" in words
    assert f"to go on, type: allworlds race {' '.join(LONG)} --out {tmp_path}" in words
    assert "Traceback" not in words
    result = run("race", *LONG, "--out", str(tmp_path))
    assert without_timing(json.loads(result.stdout)) == without_timing(whole)


def test_json_is_one_object_with_the_promised_fields(tmp_path):
    result = run("race", *TINY, "--learner", "uniform", "--no-report", "--json", "--out", str(tmp_path))
    assert result.exit_code == 0
    data = json.loads(result.stdout)
    parts = ("allworlds", "race", "ours", "worst_ratios", "standings", "command", "machine", "versions")
    assert set(data) == {*parts, "report", "timing"}
    assert data["race"] == {
        "graph": "bandit:3",
        "n_arms": 3,
        "n_cliques": 3,
        "worlds": ["stochastic:gap=0.5"],
        "learners": ["ucb-n", "uniform"],
        "horizon": 300,
        "seeds": [0, 1],
    }
    assert data["report"] is None
    assert data["ours"] == "ucb-n"
    assert {row["learner"]: set(row) for row in data["worst_ratios"]} == {
        name: {"learner", "ratio", "world", "rival"} for name in ("ucb-n", "uniform")
    }
    fields = {"world", "learner", "regret", "worst", "quantile_90", "quantile_99", "clean_regret", "corruption"}
    for row in data["standings"]:
        assert set(row) == fields | {"ratio", "difference", "rounds_per_second"}
        assert set(row["regret"]) == set(row["clean_regret"]) == {"mean", "low", "high"}
        assert row["regret"]["low"] <= row["regret"]["mean"] <= row["regret"]["high"]
    assert [row["difference"] is None for row in data["standings"]] == [True, False]
    assert set(data["versions"]) == {"allworlds", "python", "numpy", "numba"}


def test_the_table_marks_the_best_and_ends_with_the_headline(tmp_path):
    result = run("race", *TINY, "--learner", "uniform", "--no-report", "--out", str(tmp_path))
    lines = [line.strip() for line in result.stdout.splitlines() if line.strip()]
    assert lines[0] == "stochastic:gap=0.5"
    assert any(line.startswith("* ucb-n") for line in lines)
    assert not any(line.startswith("* uniform") for line in lines)
    assert any(line.startswith("Worst ratio over worlds") for line in lines)
    assert result.stderr == ""
    assert "\x1b" not in result.stdout


def test_the_report_is_written_and_its_path_printed(tmp_path):
    result = run("race", *TINY, "--out", str(tmp_path), columns=300)
    assert result.exit_code == 0
    assert f"report: {tmp_path}/report.html" in result.stdout
    assert (tmp_path / "report.html").is_file()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--learner", "thomson"], "error: there is no learner 'thomson'; the nearest are thompson-n"),
        (["--world", "stochastik"], "error: there is no world 'stochastik'; the nearest are stochastic"),
        (["--graph", "disjoint-cliques:axb"], "error: 'disjoint-cliques:axb' gives sizes as 'axb'; expected whole"),
        (["--out", "/dev/null/x"], "error: cannot write to '/dev/null/x'"),
    ],
)
def test_bad_requests_get_one_sentence_on_stderr_and_exit_code_2(arguments, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("race", "--horizon", "10", *arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith(sentence)
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("option", [["--horizon", "0"], ["--seeds", "none"], ["--jobs", "0"]])
def test_counts_that_are_none_are_usage_errors(option):
    assert run("race", *option).exit_code == 2


def test_cells_that_fail_exit_with_1(tmp_path, monkeypatch):
    from allworlds.workflows.race import run as running

    def fail(*arguments, **options):
        raise MemoryError("no room")

    monkeypatch.setattr(running, "play_many", fail)
    result = run("race", *TINY, "--no-report", "--out", str(tmp_path))
    assert result.exit_code == 1
    assert result.stderr.startswith("error: 1 of 1 cells failed")


def test_learners_lists_the_whole_registry():
    objects = [json.loads(line) for line in run("learners", "--json").stdout.splitlines()]
    assert [one["name"] for one in objects] == list(LEARNERS)
    assert [one["bound"] for one in objects] == [entry.bound for entry in LEARNERS.values()]
    table = run("learners", columns=160).stdout
    assert all(name in table for name in LEARNERS)


def test_worlds_lists_every_world_with_an_example():
    objects = [json.loads(line) for line in run("worlds", "--json").stdout.splitlines()]
    assert [one["name"] for one in objects] == list(WORLDS)
    table = run("worlds", columns=160).stdout
    assert all(recipe.example in table for recipe in WORLDS.values())
