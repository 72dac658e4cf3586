"""The command around covers: files, standard input, JSON, pictures, and Ctrl-C in a real process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import networkx
import pytest
from typer.testing import CliRunner

import verifiers
from allworlds import graphs
from allworlds.cli import app

pytestmark = pytest.mark.compiled


def run(*arguments: str, text: str | None = None):
    return CliRunner().invoke(app, list(arguments), input=text, env={"COLUMNS": "120", "TERM": "dumb"})


def test_the_numbers_of_a_graph_are_printed_in_order():
    result = run("cover", "lu-gadgets")
    assert result.exit_code == 0, result.output
    for words in ("30 arms, 66 edges", "14, proved to be the fewest", "alpha 10 <= fractional 12 <= theta 14"):
        assert words in result.stdout


def test_json_is_one_object_and_its_cliques_are_a_cover():
    result = run("cover", "lu-gadgets", "--json", "--explain", "--horizon", "1000000")
    data = json.loads(result.stdout)
    assert verifiers.is_clique_cover(graphs.lu_gadgets().adjacency(), data["cliques"])
    assert (data["n_cliques"], data["lower_bound"], data["is_minimum"]) == (14, 14, True)
    assert data["alpha"] == {"lower": 10, "upper": 10}
    assert data["horizon"] == 1_000_000
    mine, alone, best = data["worth"]
    assert [mine["n_cliques"], alone["n_cliques"], best["n_cliques"]] == [14, 30, 14]
    assert best["sharp"] <= mine["sharp"] < alone["sharp"]


def test_files_and_standard_input_give_the_same_cover(tmp_path):
    graph = networkx.convert_node_labels_to_integers(networkx.karate_club_graph())
    networkx.write_edgelist(graph, tmp_path / "karate.txt", data=False)
    networkx.write_graphml(networkx.Graph(graph.edges), tmp_path / "karate.graphml")
    text = (tmp_path / "karate.txt").read_text()
    runs = [run("cover", str(tmp_path / f"karate.{end}"), "--json") for end in ("txt", "graphml")]
    runs.append(run("cover", "-", "--json", text=text))
    assert {json.loads(result.stdout)["n_cliques"] for result in runs} == {20}


def test_a_cover_is_written_and_raced_on(tmp_path):
    result = run("cover", "cycle:5", "--out", str(tmp_path))
    assert result.exit_code == 0
    assert {file.name for file in tmp_path.iterdir()} == {"cover.json", "cover.svg", "cover.png", "cover.pdf"}
    options = ["--world", "stochastic:gap=0.5", "--learner", "ucb-n", "--horizon", "100", "--seeds", "1"]
    options += ["--no-report", "--json", "--out", str(tmp_path / "race")]
    race = run("race", "--cover", str(tmp_path / "cover.json"), *options)
    assert race.exit_code == 0, race.output
    assert (json.loads(race.stdout)["race"]["n_arms"], json.loads(race.stdout)["race"]["n_cliques"]) == (5, 3)
    both = run("race", "--cover", str(tmp_path / "cover.json"), "--graph", "cycle:5", *options)
    assert both.exit_code == 2
    assert "give --cover or --graph, not both" in both.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nowhere/graph.txt"], "there is no file 'nowhere/graph.txt'"),
        (["./"], "'.' is a folder; expected an edge list"),
        (["bandti:3"], "there is no file or graph 'bandti'; the nearest are bandit"),
        (["cycle:5", "--method", "magic"], "there is no method 'magic'"),
        (["cycle:5", "--objective", "gold"], "there is no objective 'gold'; there are cliques, penalty"),
        (["cycle:5", "--time-limit", "-1"], "time_limit is -1.0; expected a finite number above 0"),
        (["lu-gadgets", "--method", "sat"], "time_limit is None; expected a number of seconds for method 'sat'"),
    ],
)
def test_a_mistake_is_answered_with_a_sentence(arguments, sentence):
    result = run("cover", *arguments)
    assert result.exit_code == 2
    assert sentence in result.stderr


def test_control_c_prints_the_best_cover_so_far():
    code = "from allworlds.cli import main; main()"
    command = [sys.executable, "-c", code, "cover", "mycielski-complement:8", "--time-limit", "500", "--json"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": environment}
    process = subprocess.Popen(command, **pipes)
    try:
        assert "Ctrl-C gives the best cover until then" in process.stderr.readline()
        time.sleep(1.0)  # past the greedy start, which takes milliseconds
        os.kill(process.pid, signal.SIGINT)
        out, words = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "interrupted: this is the best cover until then" in words
    data = json.loads(out)
    assert data["interrupted"]
    assert verifiers.is_clique_cover(graphs.mycielski_complement(8).adjacency(), data["cliques"])
