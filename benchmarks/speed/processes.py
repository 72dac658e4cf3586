"""What a second thread brings, beside a second process that shares nothing; and how long a process needs to start.

A process that starts finds compiled code on disk. That a changed kernel file compiles again is not a question of speed:
``tests/kernels/test_jit.py`` checks it.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

from allworlds.simulation import play, play_many
from speed.child import command, environment
from speed.config import Scale, Size
from speed.loops import meeting
from speed.rows import FIRST_FLOOR, LAZY, PROCESSES, RACE, SHORT_RACE, THREADS, Row, median_row, take_turns

PROGRAM = "from allworlds.cli import main; main()"
RACES = {RACE: [], SHORT_RACE: ["--learner", "tsallis-shannon"]}


def measure_threads(scale: Scale) -> Iterator[Row]:
    """The speed-up of two threads with the lazy step, and of two processes with the null learner."""
    size, half = scale.threads, scale.seeds // 2
    learner, world = meeting(LAZY, size)
    play(learner, world, 2)

    def threads(jobs: int) -> float:
        started = time.perf_counter()
        play_many(learner, world, size.rounds, seeds=range(scale.seeds), jobs=jobs)
        return time.perf_counter() - started

    with _null_process(size) as one, _null_process(size) as other:
        tasks = {
            "1 thread": lambda: threads(1),
            "2 threads": lambda: threads(2),
            "1 process": lambda: _wait_for([(one, 2 * half)]),
            "2 processes": lambda: _wait_for([(one, half), (other, half)]),
        }
        spent = take_turns(tasks, scale.repeats)
    for name, (single, double) in {THREADS: ("1 thread", "2 threads"), PROCESSES: ("1 process", "2 processes")}.items():
        faster = [alone / shared for alone, shared in zip(spent[single], spent[double], strict=True)]
        yield median_row("threads", name, str(size), "speed-up", faster, f"{scale.seeds} seeds, {size.rounds:,} rounds")


@contextlib.contextmanager
def _null_process(size: Size) -> Iterator[subprocess.Popen[str]]:
    """A process with the null learner, compiled and waiting for work."""
    started = subprocess.Popen(
        command("loop", FIRST_FLOOR, size.n_cliques, size.size, size.rounds),
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with started as process:  # at the end, closes its standard input, which stops it, and waits
        _hear(process)
        yield process


def _wait_for(work: list[tuple[subprocess.Popen[str], int]]) -> float:
    """Seconds until all processes have played their seeds."""
    started = time.perf_counter()
    for process, seeds in work:
        assert process.stdin is not None
        process.stdin.write(f"{seeds}\n")
        process.stdin.flush()
    for process, _ in work:
        _hear(process)
    return time.perf_counter() - started


def _hear(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    if not process.stdout.readline():
        raise RuntimeError(f"the process that plays the null learner ended with code {process.wait()}")


def serve(name: str, n_cliques: str, size: str, rounds: str) -> None:
    """Play as many seeds as each line of standard input says; a line of answer for each, and one when ready."""
    learner, world = meeting(name, Size(int(n_cliques), int(size), int(rounds)))
    play(learner, world, 2)
    print("ready", flush=True)
    for line in sys.stdin:
        for seed in range(int(line)):
            play(learner, world, int(rounds), seed)
        print("done", flush=True)


def time_starts(scale: Scale) -> Iterator[Row]:
    """Seconds of a whole race of one round with a warm cache, from the start of Python to its end."""
    for options in RACES.values():
        _seconds_of_race(options)  # fills the cache
    spent = take_turns({name: lambda o=options: _seconds_of_race(o) for name, options in RACES.items()}, scale.starts)  # type: ignore[misc]
    for name, values in spent.items():
        yield median_row("start", name, "10x10", "s", values, "one round, one seed, no report, process included")


def _seconds_of_race(options: list[str]) -> float:
    with tempfile.TemporaryDirectory() as folder:
        words = ["race", "--horizon", "1", "--seeds", "1", "--no-report", "--out", folder, *options]
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", PROGRAM, *words], env=environment(), capture_output=True, check=True)
        return time.perf_counter() - started
