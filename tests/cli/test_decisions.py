"""``allworlds client``: the verbs of a running service, from the shell."""

from __future__ import annotations

import itertools
import json

import pytest
from typer.testing import CliRunner

import allworlds as aw
from allworlds.cli import app

NAMES = (f"shell-{number}" for number in itertools.count())


@pytest.fixture
def run(service, monkeypatch):
    """Run ``allworlds client`` against a real service; the answer's lines as JSON where that was asked for."""
    monkeypatch.setenv("ALLWORLDS_SERVER", service)
    monkeypatch.delenv("ALLWORLDS_KEY", raising=False)

    def run(*words: str, exit_code: int = 0):
        answer = CliRunner().invoke(app, ["client", *words])
        assert answer.exit_code == exit_code, answer.output
        if "--json" in words and exit_code == 0:
            return [json.loads(line) for line in answer.stdout.splitlines()]
        return answer.stderr if exit_code else answer.stdout

    return run


@pytest.fixture
def name(run):
    name = next(NAMES)
    run("create", name, "--clique", "a,b", "--clique", "c")
    return name


def test_a_decision_is_made_reported_and_shown(run, name):
    (made,) = run("choose", name, "--id", "order-17", "--json")
    assert made["id"] == "order-17"
    assert run("choose", name, "--id", "order-17", "--json") == [made]
    run("observe", name, "order-17", *(f"{arm}=0.25" for arm in made["observes"]))
    assert "another outcome" in run(
        "observe", name, "order-17", *(f"{arm}=0.5" for arm in made["observes"]), exit_code=2
    )
    (shown,) = run("decision", name, "order-17", "--json")
    assert (shown["status"], shown["arm"]) == ("observed", made["arm"])


def test_without_json_it_says_what_to_do_and_what_to_report(run, name):
    first, second = run("choose", name, "--available", "c", "--id", "x").splitlines()
    assert first.startswith("c  (probability 1, id x)")
    assert second == "report what was seen of: c"
    assert run("void", name, "x") == "x voided\n"
    assert run("void", name, "x", "--json") == [{"id": "x", "status": "voided"}]


def test_many_decisions_are_made_at_once(run, name):
    made = run("choose", name, "--count", "4", "--segment", "here", "--json")
    assert len({one["id"] for one in made}) == 4
    assert "expected one of the two" in run("choose", name, "--count", "4", "--id", "x", exit_code=2)


def test_learners_are_created_listed_shown_changed_and_archived(run, name):
    assert name in run("learners")
    assert name in {view["name"] for view in run("learners", "--json")}
    run("add-arm", name, "d", "--neighbour", "c")
    (view,) = run("show", name, "--json")
    assert sorted(view["arms"]) == ["a", "b", "c", "d"]
    run("retire-arm", name, "d")
    assert "a" in run("show", name)
    assert run("archive", name) == f"{name} archived\n"
    assert "archived" in run("choose", name, exit_code=2)


def test_a_learner_is_created_from_a_file_as_from_options(run, tmp_path):
    name, file = next(NAMES), tmp_path / "learner.json"
    body = {"name": name, "arms": ["a", "b"], "graph": {"edges": [["a", "b"]]}, "deadline": 60.0}
    file.write_text(json.dumps(body | {"on_timeout": {"default": 1.0}}))
    run("create", "--file", str(file))
    same = ["--arm", "a", "--arm", "b", "--edge", "a,b", "--deadline", "60", "--default", "1"]
    run("create", name, *same)
    assert "expected one of the two" in run("create", "--file", str(file), "--arm", "a", exit_code=2)
    assert f"expected '{name}'" in run("create", "another", "--file", str(file), exit_code=2)
    alone = run("create", "never", "--family", "bandit:3", "--default", "1", exit_code=2)
    assert "expected both: without a deadline no decision expires" in " ".join(alone.split())
    assert "'a' twice" in run("create", "never", "--clique", "a,b,a", exit_code=2)
    assert "no name" in run("create", "--family", "bandit:3", exit_code=2)
    assert "expected one kind" in run("create", name, "--edge", "a,b", "--clique", "a,b", exit_code=2)
    file.write_text('{"nam": 1}')
    assert "is not a request" in run("create", "--file", str(file), exit_code=2)
    assert "cannot read" in run("create", "--file", str(tmp_path / "none.json"), exit_code=2)


def test_an_export_is_a_log_and_evaluate_says_what_each_arm_would_have_cost(run, name, tmp_path):
    for made in run("choose", name, "--count", "20", "--json"):
        run("observe", name, made["id"], *(f"{arm}=0.25" for arm in made["observes"]))
    log = tmp_path / "log.jsonl"
    assert run("export", name, "--out", str(log)) == f"wrote {log}\n"
    assert len(aw.load_log(log)) == 20
    (answer,) = run("evaluate", name, "--json")
    assert answer["n_rounds"] == 20
    table = run("evaluate", name, "--policy", "c")
    assert "20 rounds, mean loss as logged 0.250" in table
    (value,) = run("evaluate", name, "--policy", "c", "--json")[0]["values"]
    assert value["notes"]  # so few rounds are poor overlap
    for note in value["notes"]:
        assert f"c: {note}\n" in table
    assert run("export", name, "--out", str(log), "--json") == [{"files": [str(log)]}]


@pytest.mark.parametrize("text", ["a", "=0.5", "a=", "a=high", "0.5"])
def test_an_outcome_that_is_none_is_refused_before_anything_is_sent(text):
    answer = CliRunner().invoke(app, ["client", "observe", "prices", "x", text, "--server", "http://127.0.0.1:9"])
    assert answer.exit_code == 2
    assert "expected an arm and its loss" in answer.stderr


def test_an_arm_that_is_reported_twice_is_refused():
    answer = CliRunner().invoke(app, ["client", "observe", "prices", "x", "a=0.5", "a=0.6"])
    assert (answer.exit_code, "twice" in answer.stderr) == (2, True)


def test_nobody_at_home_is_a_sentence_and_an_exit_code():
    words = ["client", "learners", "--server", "http://127.0.0.1:9", "--retry-for", "0"]
    answer = CliRunner().invoke(app, words)
    assert answer.exit_code == 2
    assert answer.stderr.startswith("error: no answer from http://127.0.0.1:9")
