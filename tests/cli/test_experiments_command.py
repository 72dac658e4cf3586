"""The commands around experiments: sentences, events, exit codes, and disks that refuse."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from allworlds.cli import app
from allworlds.experiments.reading import shipped
from allworlds.workflows.experiments import run_experiment
from experiment_runs import command, write_file

pytestmark = pytest.mark.compiled


def run(*arguments, columns=200):
    return CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": str(columns), "TERM": "dumb"})


def events(result):
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.fixture
def file(tmp_path):
    return write_file(tmp_path)


def test_run_ends_with_a_sentence_and_the_checksum_and_a_second_time_has_nothing_to_do(file, tmp_path):
    out = tmp_path / "out"
    first = run("run", file, "--out", out)
    assert first.exit_code == 0, first.output
    lines = first.stdout.splitlines()
    assert lines[0].startswith(f"12 of 12 cells are finished in '{out}', ")
    assert lines[1].startswith("checksum of the results: ")
    assert lines[2] == f"to see the answer: allworlds report {out}"
    assert first.stderr.splitlines()[0].startswith("12 of 12 cells to do on ")
    second = run("resume", out)
    assert second.exit_code == 0
    assert second.stderr == ""
    assert second.stdout.splitlines()[1] == lines[1]


def test_results_go_to_a_folder_with_the_name_of_the_experiment(file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("run", file).exit_code == 0
    assert (tmp_path / "results" / "small" / "experiment.json").is_file()


def test_json_events_count_to_the_end(file, tmp_path):
    heard = events(run("run", file, "--out", tmp_path / "out", "--json"))
    assert [event["event"] for event in heard][:2] == ["notice", "progress"]
    cells = [event for event in heard if event["event"] == "cell"]
    assert len({event["cell"] for event in cells}) == 12
    assert {event["state"] for event in cells} == {"done"}
    last = [event for event in heard if event["event"] == "progress"][-1]
    assert (last["done"], last["failed"], last["remaining"], last["total"]) == (12, 0, 0, 12)
    assert last["rounds_per_second"] > 0
    assert heard[-1]["event"] == "finished"
    assert heard[-1]["done"] == heard[-1]["total"] == 12


def test_a_dry_run_prints_cells_and_an_estimate_and_writes_nothing(file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("run", file, "--dry-run", "--set", "grid.seeds=1")
    lines = result.stdout.splitlines()
    assert lines[0] == "disjoint-cliques:2x3  stochastic:gap=0.25  200  ucb-n  1 seed"
    assert lines[-1].startswith("small: 4 cells, 800 rounds, about 0 s")
    heard = events(run("run", file, "--dry-run", "--json"))
    assert [event["event"] for event in heard] == ["cell"] * 12 + ["estimate"]
    assert heard[-1]["rounds"] == 12 * 200
    assert heard[-1]["seconds"] > 0
    assert [path.name for path in tmp_path.iterdir()] == ["small.toml"]


def test_a_changed_file_is_refused_and_extended_on_request(file, tmp_path):
    out = tmp_path / "out"
    run("run", file, "--out", out)
    write_file(tmp_path, seeds=4)
    for words in (("run", file, "--out", out), ("resume", out)):
        refused = run(*words)
        assert refused.exit_code == 2
        assert refused.stderr == (
            f"error: {file} has changed since '{out}' was begun (4 new cells); --extend adds what is new and keeps "
            "what is there, --out chooses another folder\n"
        )
    extended = events(run("resume", out, "--extend", "--json"))
    assert next(event["sentence"] for event in extended if event["event"] == "notice") == "extended by 4 cells"
    assert sum(event["event"] == "cell" for event in extended) == 4
    assert extended[-1]["checksum"] == run_experiment(file, tmp_path / "fresh").checksum
    write_file(tmp_path, seeds=2)
    refused = run("run", file, "--out", out, "--extend")
    assert refused.exit_code == 2
    assert "8 of its 16 cells are not in" in refused.stderr


def test_resume_goes_on_with_the_stored_configuration_where_the_file_is_gone(file, tmp_path):
    out = tmp_path / "out"
    run("run", file, "--out", out, "--set", "grid.seeds=2")
    file.unlink()
    for part in (out / "parts").iterdir():
        part.unlink()
    result = run("resume", out)
    assert result.exit_code == 0
    assert "is missing: 8 cells will be done again" in result.stderr
    assert result.stdout.startswith("8 of 8 cells")


def test_status_tells_how_far_it_is_and_what_failed(file, tmp_path, monkeypatch):
    from allworlds.experiments import work

    out = tmp_path / "out"
    play = work.play

    def failing(learner, world, horizon, seed=0):
        if learner.name == "uniform" and horizon > 2:
            raise MemoryError("no room")
        return play(learner, world, horizon, seed)

    with monkeypatch.context() as patch:
        patch.setattr(work, "play", failing)
        result = run("run", file, "--out", out)
    assert result.exit_code == 1
    assert f"6 failed: 'allworlds status {out}' says why" in result.stdout
    lines = run("status", out).stdout.splitlines()
    assert lines[0] == "small: Is it the same every time?"
    assert lines[1].startswith("6 done, 6 failed, 0 to go; ")
    assert lines[2].startswith("failed 2 times: uniform in ")
    assert lines[2].endswith(": MemoryError: no room")
    assert lines[-1] == f"to resume: allworlds resume {out}"
    (said,) = events(run("status", out, "--json"))
    assert (said["done"], len(said["failures"]), said["checksum"]) == (6, 6, None)
    assert run("resume", out).exit_code == 0
    assert "checksum of the results: " in run("status", out).stdout


def test_report_answers_the_question_and_says_where_the_page_is(file, tmp_path):
    out = tmp_path / "out"
    run("run", file, "--out", out)
    result = run("report", out)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    lines = result.stdout.splitlines()
    assert lines[0] == "Is it the same every time?"
    assert "has at most 1.00 times the least mean regret" in lines[1]
    assert lines[-1] == f"report: {out / 'report.html'}"
    (said,) = events(run("report", out, "--json"))
    assert (said["done"], said["failed"], said["total"]) == (12, 0, 12)
    assert said["answers"] == [lines[1]]
    assert {line["line"] for panel in said["panels"] for line in panel["lines"]} == {"ucb-n", "uniform"}


def test_report_of_a_run_without_a_finished_cell_says_so(file, tmp_path):
    from allworlds.experiments.store import Store, new_folder
    from allworlds.workflows.experiments import make_plan

    plan = make_plan(file)
    with Store(new_folder(tmp_path / "out")) as store:
        store.describe(plan.describe())
        store.add(plan.cells)
    result = run("report", tmp_path / "out")
    assert result.exit_code == 0
    assert result.stderr == "0 of 12 cells are finished, 12 to go\n"
    assert "No cell is finished yet, so there is no answer." in result.stdout
    assert "0 of 12 cells are finished, 12 to go" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_report_without_matplotlib_is_one_sentence(file, tmp_path, monkeypatch):
    out = tmp_path / "out"
    run("run", file, "--out", out, "--set", "grid.seeds=1")
    monkeypatch.setitem(sys.modules, "matplotlib.style", None)
    result = run("report", out)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: figures need matplotlib, which is not installed; try pip install")
    assert not (out / "report.html").exists()


def test_verify_results_answers_with_exit_codes(file, tmp_path):
    out = tmp_path / "out"
    run("run", file, "--out", out)
    good = run("verify-results", out, "--all")
    assert good.exit_code == 0
    assert "12 cells were played again, 0 differ; all is well" in good.stdout
    (part,) = (out / "parts").iterdir()
    part.write_bytes(part.read_bytes()[:-1])
    bad = run("verify-results", out, "--json")
    assert bad.exit_code == 1
    assert events(bad)[0]["damaged"] == [f"part {part.name} is missing or damaged"]


def test_experiments_lists_what_is_shipped_with_its_question():
    listed = events(run("experiments", "--json"))
    assert [row["id"] for row in listed] == shipped()
    assert all(row["question"].endswith("?") and row["cells"] > 0 for row in listed)
    assert all(name in run("experiments").stdout for name in shipped())


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("run", "corupted-cliques"), "error: there is no experiment 'corupted-cliques'; the nearest are corrupted-"),
        (("run", "none.toml"), "error: cannot read 'none.toml': No such file or directory; expected a TOML file"),
        (("run", "small.toml", "--set", "grid.seed=1"), "error: "),
        (("run", "small.toml", "--out", "/dev/null/x"), "error: cannot write to '/dev/null/x': Not a directory"),
        (("resume", "."), "error: '.' holds no experiment (experiment.json: No such file or directory)"),
        (("status", "nowhere"), "error: 'nowhere' holds no experiment"),
        (("report", "nowhere"), "error: 'nowhere' holds no experiment"),
        (("report", "."), "error: '.' holds no experiment (experiment.json: No such file or directory)"),
        (("verify-results", "nowhere"), "error: 'nowhere' holds no experiment"),
    ],
)
def test_bad_requests_get_one_sentence_and_exit_code_2(file, tmp_path, monkeypatch, words, sentence):
    monkeypatch.chdir(tmp_path)
    result = run(*words)
    assert result.exit_code == 2
    assert result.stderr.startswith(sentence)
    assert result.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["small.toml"]


@pytest.mark.parametrize("address", ["foo", "tcp://foo", "tcp://host:port"])
def test_what_is_no_address_is_refused_at_once(file, tmp_path, address):
    result = run("run", file, "--out", tmp_path / "out", "--cluster", address)
    assert result.exit_code == 2
    assert f"'{address}' is not a scheduler's address; expected tcp://host:8786" in result.stderr


def test_no_scheduler_at_the_address_is_said_in_a_sentence(file, tmp_path, monkeypatch):
    from allworlds.experiments import executors

    monkeypatch.setattr(executors, "PATIENCE", 0.5)
    result = run("run", file, "--out", tmp_path / "out", "--cluster", "tcp://127.0.0.1:1")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: no scheduler answers at 'tcp://127.0.0.1:1'")


@pytest.mark.skipif(sys.platform == "win32", reason="limits the size of files as POSIX does")
def test_a_run_that_may_not_write_large_files_stops_with_a_sentence_and_is_resumed(tmp_path):
    import resource

    file, out = write_file(tmp_path, horizon=2000, seeds=40), tmp_path / "out"
    limit = 40_000  # the table of these cells needs more
    stopped = subprocess.run(
        command("run", file, "--out", out, "--jobs", 1),
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert stopped.returncode == 1
    sentence = stopped.stderr.splitlines()[-1]
    assert sentence.startswith(f"error: cannot write to '{out}': ")
    assert sentence.endswith(f"what is finished is kept, and 'allworlds resume {out}' resumes the run")
    assert "Traceback" not in stopped.stderr
    checksum = run_experiment(file, tmp_path / "peace").checksum
    assert events(run("resume", out, "--json"))[-1]["checksum"] == checksum


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may mount a small disk")
def test_a_full_disk_ends_with_a_sentence_and_the_run_is_resumed_once_there_is_room(tmp_path):
    file, disk = write_file(tmp_path, horizon=2000, seeds=40), tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=160k", "tmpfs", disk], capture_output=True)
    if mounted.returncode:
        pytest.skip("this machine does not allow mounting a small disk")
    try:
        stopped = subprocess.run(command("run", file, "--out", disk / "out"), capture_output=True, text=True)
        assert stopped.returncode == 1
        assert "No space left on device" in stopped.stderr or "disk is full" in stopped.stderr
        assert "Traceback" not in stopped.stderr
        subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)
        checksum = run_experiment(file, tmp_path / "peace").checksum
        assert events(run("resume", disk / "out", "--json"))[-1]["checksum"] == checksum
    finally:
        subprocess.run(["umount", disk], check=True)
