"""What a second thread brings, beside what a second process brings that shares nothing."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator

from allworlds.simulation import play, play_many
from speed.child import command, environment
from speed.config import Scale, Size
from speed.loops import FIRST_FLOOR, LAZY, meeting
from speed.rows import Row, median_row, take_turns

THREADS, PROCESSES = "two threads", "two null processes"


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
    with started as process:  # closes its standard input, at whose end it ends, and waits
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
