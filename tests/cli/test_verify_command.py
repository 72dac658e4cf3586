"""The command around the verification, with a verification that is known in advance."""

from __future__ import annotations

import dataclasses
import json
import math
import sys
import types

import pytest
from typer.testing import CliRunner

from allworlds.cli import app
from allworlds.foundation.errors import InvalidParameter


@dataclasses.dataclass(frozen=True)
class Verdict:
    statement: str = "Lemma 2"
    label: str = "lem:strong-convexity-reg"
    group: str = "The regulariser"
    left: float = 0.25
    right: float = 1.5
    slack: float = 1.25
    holds: bool = True
    vacuous: bool = False
    note: str = ""
    instances: int = 1000


GOOD = Verdict()
VACUOUS = Verdict(statement="Theorem 1", group="Regret", right=2.5e9, vacuous=True, note="T = 100")
INFINITE = Verdict(statement="Lemma 9", group="Regret", right=math.inf, slack=math.inf)
FAILING = Verdict(statement="Lemma 5", group="Regret", left=3.0, slack=-1.5, holds=False)


@pytest.fixture
def verification(monkeypatch):
    """Put a stand-in in the workflow's place; it yields ``.answers`` and remembers how it was called."""
    stand_in = types.SimpleNamespace(answers=[GOOD, VACUOUS, INFINITE], calls=[])

    def verify(seed=0, *, scale="full", on_progress=None):
        stand_in.calls.append((seed, scale))
        for done, answer in enumerate(stand_in.answers):
            if isinstance(answer, BaseException):
                raise answer
            if on_progress is not None:
                on_progress(done, len(stand_in.answers), answer.statement)
            yield answer

    module = types.ModuleType("allworlds.workflows.verify")
    module.verify, module.Verdict = verify, Verdict
    monkeypatch.setitem(sys.modules, "allworlds.workflows.verify", module)
    return stand_in


def run(*arguments: str, columns: int = 80):
    return CliRunner().invoke(app, ["verify", *arguments], env={"COLUMNS": str(columns), "TERM": "dumb"})


def test_json_is_one_object_per_statement_with_every_field_and_nothing_else(verification):
    result = run("--json", "--seed", "5")
    objects = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.exit_code == 0
    assert objects[:2] == [dataclasses.asdict(GOOD) | {"seed": 5}, dataclasses.asdict(VACUOUS) | {"seed": 5}]
    assert (objects[2]["right"], objects[2]["slack"], objects[2]["holds"]) == (None, None, True)
    assert result.stderr == ""


def test_numpy_scalars_become_plain_json(verification):
    import numpy as np

    verification.answers = [Verdict(left=np.float64(0.5), right=np.float64("nan"), holds=np.bool_(True))]
    (line,) = run("--json").stdout.splitlines()
    assert (json.loads(line)["left"], json.loads(line)["right"], json.loads(line)["holds"]) == (
        0.5,
        None,
        True,
    )


@pytest.mark.parametrize("arguments", [[], ["--json"]])
def test_one_failing_statement_makes_the_exit_code_1(verification, arguments):
    assert run(*arguments).exit_code == 0
    verification.answers = [GOOD, FAILING]
    assert run(*arguments).exit_code == 1


def test_a_verification_that_checked_nothing_does_not_pass(verification):
    verification.answers = []
    assert run().exit_code == 1


def test_the_table_shows_both_sides_the_slack_and_marks_the_vacuous(verification):
    verification.answers = [GOOD, VACUOUS, FAILING]
    lines = run().stdout.splitlines()
    row = {
        name: next(line for line in lines if line.strip().startswith(name)) for name in ("Lemma 2", "Theo", "Lemma 5")
    }
    assert row["Lemma 2"].split()[2:] == ["0.25", "1.5", "1.25", "✓"]
    assert row["Theo"].split()[-2:] == ["✓", "vacuous"]
    assert row["Lemma 5"].split()[-1] == "✗"
    assert "2 of 3 statements hold on 3,000 instances, 1 vacuous" in " ".join(lines)
    assert "failing: Lemma 5." in " ".join(lines)


@pytest.mark.parametrize("columns", [30, 40, 64, 80, 200])
def test_no_number_is_cut_however_narrow_the_screen(verification, columns):
    text = run(columns=columns).stdout
    assert "2.5e+09" in text
    assert "…" not in text
    assert max(len(line) for line in text.splitlines()) <= columns


def test_a_pipe_gets_no_colour_codes(verification):
    assert "\x1b" not in run().stdout + run("--json").stdout


def test_seed_and_scale_reach_the_workflow(verification):
    run("--seed", "12", "--quick")
    run("--seed", "0")
    assert verification.calls == [(12, "quick"), (0, "full")]


def test_without_a_seed_a_fresh_one_is_drawn_and_said_so_that_the_run_can_be_repeated(verification):
    texts = [" ".join(run("--quick").stdout.split()) for _ in range(3)]
    objects = [json.loads(run("--json").stdout.splitlines()[0]) for _ in range(3)]
    seeds = [seed for seed, _ in verification.calls]
    for text, seed in zip(texts, seeds[:3], strict=True):
        assert text.endswith(f"seed {seed}: allworlds verify --seed {seed} --quick repeats this")
    assert [object["seed"] for object in objects] == seeds[3:]
    assert len(set(seeds)) > 1


def test_a_given_seed_is_said_too_and_repeats_at_the_same_scale(verification):
    text = " ".join(run("--seed", "7").stdout.split())
    assert text.endswith("seed 7: allworlds verify --seed 7 repeats this")


@pytest.mark.parametrize("seed", ["-1", "1.5", "x"])
def test_a_seed_that_is_no_count_is_a_usage_error(verification, seed):
    assert run("--seed", seed).exit_code == 2
    assert verification.calls == []


def test_our_own_errors_become_one_sentence_and_exit_code_2(verification):
    verification.answers = [GOOD, InvalidParameter("seed is a fish; give a number")]
    result = run()
    assert (result.exit_code, result.stderr) == (2, "error: seed is a fish; give a number\n")


def test_control_c_exits_130_with_a_sentence(verification):
    verification.answers = [GOOD, KeyboardInterrupt()]
    result = run("--json")
    assert (result.exit_code, result.stderr) == (130, "interrupted before the end\n")
    assert json.loads(result.stdout)["statement"] == "Lemma 2"
