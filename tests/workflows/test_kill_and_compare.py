"""Kill and compare: whatever is killed at whatever moment, the resumed run has the checksum of an undisturbed one."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from allworlds.workflows.experiments import make_plan, run_experiment
from allworlds.workflows.results import read_status, verify_results
from experiment_runs import command, dask_scheduler, dask_worker, events_until, finish, start, write_file

pytestmark = pytest.mark.compiled

MANY = {"horizon": 480_000, "seeds": 30}
CELLS = 120


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> tuple[Path, str]:
    """The file of an experiment, and its checksum when one thread runs it in peace."""
    folder = tmp_path_factory.mktemp("undisturbed")
    file = write_file(folder, **MANY)
    return file, run_experiment(file, folder / "out", jobs=1).checksum


def kill_often(file: Path, out: Path, times: int, seed: int, *options: object) -> int:
    """Run, kill after a random moment of work, resume, and so on; returns how often it was killed midway."""
    moments = random.Random(seed)
    killed = 0
    words: tuple[object, ...] = ("run", file, "--out", out)
    for number in range(times):
        process = start(*words, *options)
        events_until(process, lambda event: event["event"] == "progress")
        time.sleep(moments.uniform(0.0, 1.5) if number else 0.0)
        process.kill()
        code, events, _ = finish(process)
        killed += code == -signal.SIGKILL and not any(event["event"] == "finished" for event in events)
        words = ("resume", out)
    return killed


def end_of(out: Path, *options: object) -> dict:
    code, events, said = finish(start("resume", out, *options))
    assert code == 0, said
    return events[-1]


def test_a_run_that_is_killed_again_and_again_ends_with_the_same_checksum(undisturbed, tmp_path):
    file, checksum = undisturbed
    assert kill_often(file, tmp_path / "out", 3, 7, "--jobs", 2) >= 1
    assert end_of(tmp_path / "out", "--jobs", 2)["checksum"] == checksum
    found = verify_results(tmp_path / "out", replay=3)
    assert found.holds
    assert found.checksum == checksum


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_long_run_that_is_killed_a_dozen_times_ends_with_the_same_checksum(jobs, tmp_path):
    file = write_file(tmp_path, horizon=20_000, seeds=400, learners=("ucb-n", "uniform", "tsallis-shannon"))
    checksum = run_experiment(file, tmp_path / "peace").checksum
    assert kill_often(file, tmp_path / "out", 12, jobs, "--jobs", jobs) >= 3
    assert end_of(tmp_path / "out")["checksum"] == checksum
    assert verify_results(tmp_path / "out").holds


def test_control_c_keeps_what_is_finished_says_what_to_type_and_exits_130(undisturbed, tmp_path):
    file, checksum = undisturbed
    out = tmp_path / "out"
    process = start("run", file, "--out", out, "--jobs", 1)
    events_until(process, lambda event: event["event"] == "cell")
    process.send_signal(signal.SIGINT)
    code, events, said = finish(process)
    assert code == 130
    kept = read_status(out).done
    assert events[-1]["event"] == "interrupted"
    assert 0 < events[-1]["done"] == kept < events[-1]["total"]
    assert said == f"interrupted: {kept} of {CELLS} cells are kept; to resume, type: allworlds resume {out}\n"
    assert end_of(out)["checksum"] == checksum


def test_a_second_runner_stops_with_a_sentence_and_a_killed_one_leaves_no_lock(undisturbed, tmp_path):
    file, _ = undisturbed
    process = start("run", file, "--out", tmp_path, "--jobs", 1)
    events_until(process, lambda event: event["event"] == "progress")
    second = subprocess.run(command("run", file, "--out", tmp_path), capture_output=True, text=True)
    assert second.returncode == 2
    assert second.stderr.startswith(f"error: another run is at work in '{tmp_path}'; wait for it")
    assert read_status(tmp_path).name == "small"  # looking is allowed
    process.kill()
    finish(process)
    third = start("resume", tmp_path)
    events_until(third, lambda event: event["event"] == "progress")
    third.kill()
    code, _, said = finish(third)
    assert (code, said) == (-signal.SIGKILL, "")


def test_two_dask_workers_give_the_same_checksum_though_one_is_killed(undisturbed, tmp_path):
    file, checksum = undisturbed
    with ExitStack() as stack:
        _, address = stack.enter_context(dask_scheduler(tmp_path))
        victim = stack.enter_context(dask_worker(address, tmp_path, "one", "--no-nanny"))
        stack.enter_context(dask_worker(address, tmp_path, "two", "--no-nanny"))
        process = start("run", file, "--out", tmp_path / "out", "--cluster", address)
        events_until(process, lambda event: event["event"] == "progress")
        os.kill(victim.pid, signal.SIGKILL)
        code, events, said = finish(process)
    assert code == 0, said
    assert events[-1]["checksum"] == checksum


def test_a_lost_scheduler_is_reported_with_the_way_to_resume_and_threads_go_on(undisturbed, tmp_path):
    file, checksum = undisturbed
    out = tmp_path / "out"
    with ExitStack() as stack:
        scheduler, address = stack.enter_context(dask_scheduler(tmp_path))
        stack.enter_context(dask_worker(address, tmp_path, "one", "--no-nanny"))
        process = start("run", file, "--out", out, "--cluster", address)
        events_until(process, lambda event: event["event"] == "cell")
        os.kill(scheduler.pid, signal.SIGKILL)
        code, events, said = finish(process)
    assert code == 1
    assert events[-1]["event"] == "stopped"
    assert said.startswith(f"error: the scheduler at {address} was lost")
    command = f"allworlds resume {out} --cluster {address}"
    assert said.endswith(f"what is finished is kept, and '{command}' resumes the run\n")
    assert 0 < read_status(out).done < CELLS
    assert end_of(out)["checksum"] == checksum


@pytest.mark.slow
def test_runs_on_a_cluster_survive_kills_of_driver_worker_and_scheduler_in_turn(tmp_path):
    file = write_file(tmp_path, horizon=200_000, seeds=150, learners=("ucb-n", "tsallis-shannon"))
    checksum = run_experiment(file, tmp_path / "peace").checksum
    out, moments = tmp_path / "out", random.Random(3)
    words: tuple[object, ...] = ("run", file, "--out", out)
    for victim in ("driver", "worker", "scheduler", "driver", "scheduler", "worker"):
        with ExitStack() as stack:
            scheduler, address = stack.enter_context(dask_scheduler(tmp_path))
            worker = stack.enter_context(dask_worker(address, tmp_path, "one", "--no-nanny"))
            stack.enter_context(dask_worker(address, tmp_path, "two", "--no-nanny"))
            driver = start(*words, "--cluster", address)
            events_until(driver, lambda event: event["event"] in ("progress", "finished"))
            time.sleep(moments.uniform(0.0, 2.0))
            {"driver": driver, "worker": worker, "scheduler": scheduler}[victim].kill()
            if victim == "worker":
                driver.send_signal(signal.SIGINT)
            finish(driver)
        words = ("resume", out)
    assert end_of(out)["checksum"] == checksum


KILLER = """
import os
from allworlds.experiments import work
from allworlds.simulation import play

def deadly(learner, world, horizon, seed=0):
    if seed == {seed} and horizon > 2:
        os.kill(os.getpid(), 9)
    return play(learner, world, horizon, seed)

work.play = deadly
"""


@pytest.mark.slow
def test_a_cell_that_kills_every_worker_is_given_up_and_the_others_are_finished(tmp_path):
    file = write_file(tmp_path, horizon=2000, seeds=10, learners=("ucb-n",))
    seed = make_plan(file).cells[5].seed
    preload = tmp_path / "deadly.py"
    preload.write_text(KILLER.format(seed=seed), encoding="utf-8")
    with ExitStack() as stack:
        settings = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}
        _, address = stack.enter_context(dask_scheduler(tmp_path, **settings))
        stack.enter_context(dask_worker(address, tmp_path, "one", "--preload", preload))
        code, events, said = finish(start("run", file, "--out", tmp_path / "out", "--cluster", address))
    assert code == 1, said
    assert (events[-1]["done"], events[-1]["failed"]) == (19, 1)
    (failure,) = read_status(tmp_path / "out").failures
    assert "the workers that had it died" in failure["error"]
    assert end_of(tmp_path / "out")["done"] == 20  # threads of another process have no deadly play


OLD = """
from allworlds.experiments import work

work.code_version = lambda: "0.0.1+old"
"""


@pytest.mark.slow
def test_workers_of_another_version_are_refused_at_the_start_and_when_they_join_late(tmp_path):
    file, preload = write_file(tmp_path, horizon=400_000, seeds=200, learners=("ucb-n",)), tmp_path / "old.py"
    preload.write_text(OLD, encoding="utf-8")
    with ExitStack() as stack:
        _, address = stack.enter_context(dask_scheduler(tmp_path))
        with dask_worker(address, tmp_path, "old", "--no-nanny", "--preload", preload):
            code, _, said = finish(start("run", file, "--out", tmp_path / "one", "--cluster", address))
            assert code == 2
            assert "has allworlds 0.0.1+old, this is " in said
        stack.enter_context(dask_worker(address, tmp_path, "good", "--no-nanny"))
        process = start("run", file, "--out", tmp_path / "two", "--cluster", address)
        events_until(process, lambda event: event["event"] == "progress")
        stack.enter_context(dask_worker(address, tmp_path, "late", "--no-nanny", "--preload", preload))
        code, events, said = finish(process)
    assert code == 1
    assert "cannot run allworlds: this worker has allworlds 0.0.1+old" in said
    assert events[-1]["event"] == "stopped"
    assert read_status(tmp_path / "two").failed == 0
    assert end_of(tmp_path / "two")["done"] == 400
