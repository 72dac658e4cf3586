"""``scripts/bench``: the table, JSON, files, and what is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from allworlds import cli
from speed.__main__ import app
from speed.against import compare
from speed.config import QUICK, Size

RUNNER = CliRunner()
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    scale = replace(QUICK, repeats=1, loops=(Size(10, 10, 30, 10),))
    monkeypatch.setattr("speed.__main__.QUICK", scale)


def test_the_table_shows_every_row_and_the_goals_that_were_measured():
    answer = RUNNER.invoke(app, ["--quick", "--only", "rounds"], env={"COLUMNS": "120"})
    assert answer.exit_code == 0, answer.output
    for words in ("second floor", "lazy step", "exact step", "at most 1.5 times"):
        assert words in answer.output
    assert "not measured" not in answer.output


def test_json_is_one_object_and_files_are_written(tmp_path):
    out = tmp_path / "out"
    answer = RUNNER.invoke(app, ["--quick", "--only", "rounds", "--json", "--out", str(out)])
    assert answer.exit_code == 0, answer.output
    found = json.loads(answer.stdout)
    assert {row["size"] for row in found["rows"]} == {"10x10"}
    assert {goal["verdict"] for goal in found["goals"]} >= {"not measured"}
    assert sorted(file.name for file in out.iterdir()) == ["bench.json", "bench.md", "bench.svg"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--only", "round"], "there is no part of the benchmark 'round'; the nearest is rounds"),
        (["--page", "speed.md"], "--page is 'speed.md' and --out is missing; expected both"),
        (["--page", "no/such.md", "--out", "."], "cannot read 'no/such.md'"),
    ],
)
def test_what_cannot_be_done_is_refused_in_a_sentence(options, sentence):
    answer = RUNNER.invoke(app, ["--quick", *options])
    assert answer.exit_code == 2
    assert sentence in answer.stderr


def test_the_script_lists_the_benchmark_and_refuses_a_name_that_it_does_not_list():
    listed = subprocess.run([ROOT / "scripts/bench", "--list"], capture_output=True, text=True, check=True)
    assert {"speed", "agent", "regret"} <= {line.strip() for line in listed.stdout.splitlines()}
    refused = subprocess.run([ROOT / "scripts/bench", "regret_suite"], capture_output=True, text=True)
    assert refused.returncode == 2
    assert refused.stderr.startswith("error: the benchmark is 'regret_suite'; expected one of agent")


def test_python_runs_the_benchmark_by_its_name():
    paths = os.pathsep.join(part for part in (str(ROOT / "benchmarks"), os.environ.get("PYTHONPATH", "")) if part)
    command = [sys.executable, "-m", "speed", "--page", "speed.md"]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("error: --page is 'speed.md' and --out is missing")


def test_the_package_has_no_such_command():
    answer = RUNNER.invoke(cli.app, ["bench"])
    assert answer.exit_code == 2
    assert "No such command 'bench'" in answer.stderr


def test_another_source_tree_is_played_beside_this_one(monkeypatch):
    told = {str(ROOT / "src"): [1e-6, 5e-6], "here": [2e-6, 4e-6]}
    monkeypatch.setattr("speed.against.environment", lambda: {"PYTHONPATH": "here"})
    monkeypatch.setattr("speed.against._seconds", lambda size, variables: told[variables["PYTHONPATH"]].pop())
    compared = list(compare(ROOT, (Size(2, 2, 10),), turns=2))
    assert compared == [("2x2", 2e-6, 1e-6)]
    monkeypatch.setattr("speed.__main__.compare", lambda other: [("2x2", 1e-6, 2e-6)])
    answer = RUNNER.invoke(app, ["--against", str(ROOT)])
    assert answer.exit_code == 0, answer.output
    assert "1.00 µs a round, there 2.00 µs: 2.00 times as fast" in answer.output


def test_a_folder_without_the_package_is_an_error(tmp_path):
    answer = RUNNER.invoke(app, ["--against", str(tmp_path)])
    assert answer.exit_code != 0
    assert "expected a source tree of allworlds" in answer.output + getattr(answer, "stderr", "")
