"""``scripts/bench``: the table, JSON, files, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from speed.__main__ import app
from speed.config import QUICK, Size

RUNNER = CliRunner()


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    scale = replace(QUICK, repeats=1, loops=(Size(10, 10, 30, 10),))
    monkeypatch.setattr("speed.QUICK", scale)


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
        (["--only", "round"], "there is no part of the benchmark 'round'; the nearest are rounds"),
        (["--page", "speed.md"], "give --out too"),
        (["--page", "no/such.md", "--out", "."], "cannot read 'no/such.md'"),
    ],
)
def test_what_cannot_be_done_is_refused_in_a_sentence(options, sentence):
    answer = RUNNER.invoke(app, ["--quick", *options])
    assert answer.exit_code == 2
    assert sentence in answer.stderr
