"""A small experiment, and real processes that run it: what the tests of sweeps share."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

FILE = """
name = "small"
question = "Is it the same every time?"

[[grid]]
graphs = ["disjoint-cliques:2x3"]
worlds = ["stochastic:gap=0.25", {{name = "corrupted", budget = 20, gap = 0.25, label = "tampered"}}]
learners = {learners}
horizons = [{horizon}]
seeds = {seeds}
"""


def write_file(
    folder: Path, horizon: int = 200, seeds: int = 3, learners: tuple[str, ...] = ("ucb-n", "uniform")
) -> Path:
    path = folder / "small.toml"
    path.write_text(FILE.format(horizon=horizon, seeds=seeds, learners=json.dumps(list(learners))), encoding="utf-8")
    return path


def command(*words: object) -> list[str]:
    return [str(Path(sys.executable).with_name("allworlds")), *map(str, words)]


def start(*words: object, **options) -> subprocess.Popen[str]:
    """Begin ``allworlds ... --json``."""
    return subprocess.Popen(
        command(*words, "--json"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )


def events_until(process: subprocess.Popen[str], wanted) -> list[dict]:
    """Read events until one is wanted, or there are no more."""
    events = []
    for line in process.stdout:
        events.append(json.loads(line))
        if wanted(events[-1]):
            break
    return events


def finish(process: subprocess.Popen[str], timeout: float = 240) -> tuple[int, list[dict], str]:
    """Exit code, the events that are left, and what was said on stderr."""
    # not `communicate`, which passes over what `readline` has already taken from the pipe
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdout, process.stderr:
        out, err = process.stdout.read(), process.stderr.read()
    code = process.wait(timeout=timeout)
    lines = out.splitlines()
    if code < 0 and lines and not out.endswith("\n"):
        lines.pop()  # killed in the middle of it
    return code, [json.loads(line) for line in lines], err


@contextmanager
def dask_process(*words: object, log: Path, **settings: str):
    """A real ``dask scheduler`` or ``dask worker``; ended with the context, if it has not been before."""
    program = [str(Path(sys.executable).with_name("dask")), *map(str, words)]
    with log.open("wb") as file:
        process = subprocess.Popen(program, stdout=file, stderr=file, env=os.environ | settings)
    try:
        yield process
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=10)
        process.kill()
        process.wait()


@contextmanager
def dask_scheduler(folder: Path, **settings: str):
    """A scheduler on a free port of the loopback; gives its process and its address."""
    contact = folder / "scheduler.json"
    contact.unlink(missing_ok=True)
    words = ("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", contact)
    with dask_process(*words, log=folder / "scheduler.log", **settings) as process:
        deadline = time.monotonic() + 60
        while True:
            with suppress(OSError, ValueError):
                address = json.loads(contact.read_text(encoding="utf-8"))["address"]
                break
            assert process.poll() is None, (folder / "scheduler.log").read_text()
            assert time.monotonic() < deadline, "the scheduler did not start in time"
            time.sleep(0.05)
        yield process, address


def dask_worker(address: str, folder: Path, name: str, *words: object):
    """A worker with one thread."""
    log = folder / f"{name}.log"
    settings = ("--nthreads", 1, "--no-dashboard", "--local-directory", folder / name, "--name", name)
    return dask_process("worker", address, *settings, *words, log=log)
