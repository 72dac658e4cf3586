"""``allworlds agent``: the report of a saved agent."""

from __future__ import annotations

import json

from typer.testing import CliRunner

import allworlds as aw
from agents.agent_runs import make, play
from allworlds.cli import app


def saved(tmp_path):
    agent = make()
    play(agent, 40)
    agent.save(tmp_path / "agent.json")
    return agent, str(tmp_path / "agent.json")


def test_it_prints_what_the_agent_reports(tmp_path):
    agent, path = saved(tmp_path)
    answer = CliRunner().invoke(app, ["agent", path])
    assert answer.exit_code == 0
    assert answer.stdout.strip() == str(agent.report()).strip()


def test_it_prints_json_and_draws(tmp_path):
    agent, path = saved(tmp_path)
    answer = CliRunner().invoke(app, ["agent", path, "--json", "--out", str(tmp_path / "out")])
    data = json.loads(answer.stdout)
    assert data.pop("files") == [str(tmp_path / "out" / f"agent.{kind}") for kind in ("svg", "png", "pdf")]
    assert data == json.loads(agent.report().to_json())
    assert all((tmp_path / "out" / f"agent.{kind}").stat().st_size > 1000 for kind in ("svg", "png", "pdf"))


def test_what_is_not_an_agent_gets_a_sentence(tmp_path):
    aw.Fleet(aw.graphs.bandit(2), seed=1).save(tmp_path / "fleet.json")
    for name, sentence in [
        ("fleet.json", "this is not a saved agent"),
        ("none.json", "cannot read"),
        ("a.txt", "path"),
    ]:
        answer = CliRunner().invoke(app, ["agent", str(tmp_path / name)])
        assert answer.exit_code == 2
        assert sentence in answer.stderr
