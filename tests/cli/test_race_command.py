"""The command around the race: real processes that are killed, interrupted and started again."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from allworlds.analysis.comparison import Estimate
from allworlds.cli import app
from allworlds.cli.race import interval
from allworlds.cli.terminal import plain_lines
from allworlds.experiments import work
from allworlds.graphs.by_name import GRAPHS
from allworlds.learners.by_name import LEARNERS
from allworlds.learners.recipe import GROUPS
from allworlds.workflows.race import Race, full_race
from allworlds.workflows.results import read_status
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
LONG = ["--graph", "disjoint-cliques:2x3", "--learner", "ucb-n", "--horizon", "1000000", "--seeds", "5", "--jobs", "1"]
LONG += [word for gap in GAPS for word in ("--world", f"stochastic:gap={gap}")]
LONG += ["--no-report", "--json"]
CELLS = 5 * len(GAPS)


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
    return sorted((out / "parts").glob("*.parquet"))


def stop_midway(out: Path, how: signal.Signals) -> tuple[int, str]:
    """Start a race, send it a signal as soon as its first part is written, give its exit code and its words."""
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
    assert kept
    assert 0 <= read_status(tmp_path).done < CELLS
    result = run("race", *LONG, "--out", str(tmp_path))
    assert result.exit_code == 0
    assert without_timing(json.loads(result.stdout)) == without_timing(whole)
    assert {file: file.stat().st_mtime_ns for file in kept} == kept
    assert len(finished(tmp_path)) > len(kept)


def test_a_killed_race_is_looked_at_resumed_verified_and_reported_like_any_experiment(whole, tmp_path):
    stop_midway(tmp_path, signal.SIGKILL)
    assert run("status", str(tmp_path)).stdout.startswith("race: Who is good in every world?\n")
    early = run("report", str(tmp_path))
    assert early.exit_code == 2
    assert f"cells finished; 'allworlds resume {tmp_path}' plays the others" in early.stderr
    assert run("resume", str(tmp_path), "--jobs", "2").stdout.startswith(f"{CELLS} of {CELLS} cells are finished in")
    verified = run("verify-results", str(tmp_path), "--replay", "3")
    assert verified.exit_code == 0, verified.output
    reported = run("report", str(tmp_path), "--json")
    assert reported.exit_code == 0, reported.output
    assert without_timing(json.loads(reported.stdout)) == without_timing(whole)
    assert (tmp_path / "report.html").is_file()


def test_a_race_on_a_cluster_gives_the_same_numbers(tmp_path):
    words = [*TINY, "--no-report", "--json", "--out"]
    here = run("race", *words, str(tmp_path / "here"))
    there = run("race", *words, str(tmp_path / "there"), "--cluster", "local", "--jobs", "1")
    assert there.exit_code == 0, there.output
    assert without_timing(json.loads(there.stdout)) == without_timing(json.loads(here.stdout))


def test_control_c_keeps_what_is_finished_says_what_to_type_and_exits_130(whole, tmp_path):
    code, words = stop_midway(tmp_path, signal.SIGINT)
    kept = read_status(tmp_path).done
    assert code == 130
    assert 1 <= kept < CELLS
    assert f"interrupted: {kept} of {CELLS} cells are kept in '{tmp_path}'" in words
    assert f"to resume, type: allworlds race {' '.join(LONG)} --out {tmp_path}" in words
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
    assert "\x1b" not in result.output
    assert "4 runs of 300 rounds on bandit:3: 3 arms in 3 cliques, 0 edges" in result.stdout


def test_a_regret_that_rounds_to_zero_has_no_minus():
    assert interval(Estimate(0.1, -0.2, 0.5)) == "0 to 0"
    assert interval(Estimate(-1.0, -1.6, -0.4)) == "-2 to 0"


def test_stderr_says_how_the_graph_was_read_that_it_compiles_and_how_far_it_is(tmp_path):
    lines = run("race", *TINY, "--no-report", "--out", str(tmp_path)).stderr.splitlines()
    assert lines[0] == "bandit:3: 3 arms in 3 cliques, 0 edges"
    assert re.fullmatch(r"2 of 2 cells to do on \d+ threads?; compiling first where needed", lines[1])
    assert lines[2].startswith("2 of 2 cells, ")
    again = run("race", *TINY, "--no-report", "--out", str(tmp_path)).stderr.splitlines()
    assert again == lines[:1]


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_on_a_terminal_the_first_sentence_stands_on_a_line_of_its_own(tmp_path):
    import pty

    ours, theirs = pty.openpty()
    command = [Path(sys.executable).with_name("allworlds"), "race", *TINY, "--no-report", "--out", str(tmp_path)]
    settings = os.environ | {"TERM": "xterm", "COLUMNS": "100"}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs, env=settings)
    os.close(theirs)
    heard = b""
    try:
        while piece := os.read(ours, 4096):
            heard += piece
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    assert process.wait(timeout=120) == 0
    lines = heard.decode().splitlines()
    assert lines[0] == "bandit:3: 3 arms in 3 cliques, 0 edges"
    assert "2/2" in heard.decode()


def test_plain_progress_is_a_line_a_tenth(capsys):
    listen = plain_lines("cells")
    for done in (0, 0, *range(1, 361), 360):
        listen(done, 360, "something")
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(",")[0] for line in lines] == [f"{done} of 360 cells" for done in range(36, 361, 36)]


def test_the_report_of_another_race_is_not_replaced_without_a_word(tmp_path):
    out = ["--out", str(tmp_path)]
    assert "replaces" not in run("race", *TINY, *out).stderr
    assert "replaces" not in run("race", *TINY, *out).stderr
    other = run("race", *TINY, "--graph", "bandit:4", *out)
    assert f"replaces the report of another race (graph bandit:3) in '{tmp_path}'" in other.stderr
    (tmp_path / "experiment.json").unlink()
    assert f"replaces '{tmp_path}/report.html', the report of another race" in run("race", *TINY, *out).stderr


def test_without_ratios_the_terminal_says_why_and_prints_no_headline(tmp_path):
    # a single round loses at most the gap of 0.5, which is too little to divide by
    words = [*TINY, "--horizon", "1", "--seeds", "1", "--no-report", "--out", str(tmp_path)]
    result = run("race", *words)
    assert "The best regret here is about zero or below, so there are no ratios" in result.stdout
    assert "Worst ratio" not in result.stdout
    assert "1 run of 1 round on" in result.stdout


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
        (["--graph", "zzz"], "error: there is no graph 'zzz'; the nearest are "),
        (["--graph", "g.json"], "error: 'g.json' looks like a path; file:g.json reads a graph from a file"),
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


def test_the_help_shows_the_defaults_of_a_race():
    words = " ".join(run("race", "--help", columns=200).stdout.split())
    for value in (Race.graph, Race.horizon, Race.seeds):
        assert f"[default: ({value})]" in words
    assert (len(Race.worlds), len(Race.learners)) == (4, 9)
    assert f"{full_race()['horizon']} rounds" in words
    assert "allworlds graphs" in words


@pytest.mark.parametrize("option", [["--horizon", "0"], ["--seeds", "none"], ["--jobs", "0"]])
def test_counts_that_are_none_are_usage_errors(option):
    assert run("race", *option).exit_code == 2


def test_cells_that_fail_exit_with_1(tmp_path, monkeypatch):
    def fail(*arguments, **options):
        raise MemoryError("no room")

    monkeypatch.setattr(work, "play", fail)
    result = run("race", *TINY, "--no-report", "--out", str(tmp_path))
    assert result.exit_code == 1
    assert "\nerror: 2 of 2 cells failed" in result.stderr


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


def test_graphs_lists_every_graph_with_its_form_and_an_example():
    objects = [json.loads(line) for line in run("graphs", "--json").stdout.splitlines()]
    assert [one["name"] for one in objects] == list(GRAPHS)
    assert all(one["form"].startswith(one["name"]) for one in objects)
    for columns in (80, 200):
        text = run("graphs", columns=columns).stdout
        assert all(recipe.form in text and recipe.example in text for recipe in GRAPHS.values())
        assert "file:PATH" in text
        assert ".graphml" in text


def test_learners_are_listed_in_groups_on_wide_and_narrow_screens():
    for columns in (80, 160):
        lines = run("learners", columns=columns).stdout.splitlines()
        assert max(map(len, lines)) <= columns
        names = [line.split()[0] for line in lines if line.split() and line.split()[0] in LEARNERS]
        assert names == list(LEARNERS)
        headings = [text[0].upper() + text[1:] for text in GROUPS.values()]
        assert [line for line in lines if line in headings] == headings


def test_a_narrow_screen_has_a_learner_a_line_and_says_which_must_be_told_something():
    text = run("learners", columns=80).stdout.partition("\nGraphs:")[0]
    lines = [line for line in text.splitlines() if line.startswith(" ")]
    assert [line.split()[0] for line in lines] == list(LEARNERS)
    for line, recipe in zip(lines, LEARNERS.values(), strict=True):
        assert (" * " in line) == (not recipe.told.startswith("nothing"))
        assert line.endswith(recipe.cited)


def test_a_narrow_screen_gets_the_graphs_of_a_learner_in_letters():
    lines = {line.split()[0]: line for line in run("learners", columns=80).stdout.splitlines() if line.strip()}
    assert lines["exp3-wix"].split()[2] == "dcn"  # directed, changing, noisy
    assert lines["exp3-g"].split()[1] == "dlw"  # directed, loopless, weakly observable
    assert lines["tsallis-shannon"].split()[1] == "-"
    assert lines["exp3"].split()[1] == "ignored"


@pytest.mark.parametrize("name", list(LEARNERS))
def test_a_learner_by_name_tells_its_rule_its_bound_and_its_options(name):
    text = run("learners", name).stdout
    flat = " ".join(text.split())
    recipe = LEARNERS[name]
    assert " ".join(recipe.bound.split()) in flat
    assert " ".join(recipe.source.split()) in flat
    assert " ".join(recipe.rule.split()) in flat
    assert all(f"{key} ({kind})" in flat for key, kind in recipe.takes.items())


def test_an_unknown_learner_is_answered_with_the_nearest():
    result = run("learners", "spm")
    assert result.exit_code == 2
    assert "there is no learner 'spm'; the nearest are spm-ftrl" in result.stderr
    (data,) = [json.loads(line) for line in run("learners", "ucb-n", "--json").stdout.splitlines()]
    assert (data["name"], data["options"], data["rendering"]) == ("ucb-n", ["width"], "as printed")
    assert "mean_i" in data["rule"]


@pytest.mark.parametrize("command", ["worlds", "graphs"])
def test_a_narrow_screen_gets_a_list_whose_examples_stand_on_one_line(command):
    lines = run(command, columns=80).stdout.splitlines()
    assert max(map(len, lines)) <= 80
    heads = [line for line in lines if not line.startswith(" ")]
    registry = {"worlds": WORLDS, "graphs": GRAPHS}[command]
    assert [head.partition(":")[0] for head in heads] == list(registry)
    assert {f"    {recipe.example}" for recipe in registry.values()} <= set(lines)
