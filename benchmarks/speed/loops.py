"""Rounds of the compiled loop: two floors, the lazy step, the exact step; how they grow; and the memory they take."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from allworlds.covers import clique_cover
from allworlds.graphs import disjoint_cliques
from allworlds.learners import Learner, TsallisShannon
from allworlds.simulation import play
from allworlds.worlds import World, one_good_arm
from speed.child import ask
from speed.config import GAP, Scale, Size
from speed.exact_step import ExactStep
from speed.floors import Null, Toll
from speed.rows import ABOVE_NULL, EXACT, FIRST_FLOOR, LAZY, SECOND_FLOOR, Row, Task, median_row, take_turns

MEGABYTE = 1e6
KINDS: dict[str, Any] = {FIRST_FLOOR: Null, SECOND_FLOOR: Toll, LAZY: TsallisShannon, EXACT: ExactStep}


def meeting(name: str, size: Size) -> tuple[Learner, World]:
    """A learner of the loop and the world of all measurements."""
    cover = clique_cover(disjoint_cliques(size.n_cliques, size.size))
    return KINDS[name](cover), one_good_arm(size.n_arms, gap=GAP)


def time_loops(scale: Scale) -> Iterator[Row]:
    """Seconds a round of the floors and of both steps, at every size."""
    for size in scale.loops:
        yield from _timed("rounds", size, tuple(KINDS), scale.repeats)


def time_growth(scale: Scale) -> Iterator[Row]:
    """The same against N, against K and against the size of a clique, with the bytes of the lazy state."""
    ways = {"by arms": scale.by_arms, "by cliques": scale.by_cliques, "by size": scale.by_size}
    for way, sizes in ways.items():
        for size in sizes:
            yield from _timed(way, size, (SECOND_FLOOR, LAZY, EXACT), min(3, scale.repeats))
            learner, _ = meeting(LAZY, size)
            yield Row(way, LAZY, str(size), "bytes", float(bytes_of(learner.init())))


def bytes_of(state: Any) -> int:
    """The bytes of all arrays of a state, whatever tuples they are in.

    >>> bytes_of((np.zeros(3), (np.zeros(2), 1.0)))
    40
    """
    if isinstance(state, tuple):
        return sum(bytes_of(part) for part in state)
    return int(state.nbytes) if isinstance(state, np.ndarray) else 0


def measure_memory(scale: Scale) -> Iterator[Row]:
    """Peak megabytes of both processes, and how much more the lazy step's has."""
    size = scale.memory
    for name in (FIRST_FLOOR, LAZY):
        meeting_played(name, size, 2)  # compiled here, found on disk there

    def peak(name: str) -> float:
        found = ask("memory", name, size.n_cliques, size.size, size.rounds, patience=600.0)
        return float(found) / MEGABYTE

    peaks = take_turns({name: lambda name=name: peak(name) for name in (FIRST_FLOOR, LAZY)}, min(3, scale.repeats))  # type: ignore[misc]
    for name, values in peaks.items():
        yield median_row("memory", name, str(size), "MB", values, "peak of the process")
    more = [lazy - null for null, lazy in zip(peaks[FIRST_FLOOR], peaks[LAZY], strict=True)]
    yield median_row("memory", ABOVE_NULL, str(size), "MB", more)


def meeting_played(name: str, size: Size, rounds: int) -> None:
    """Let a learner of the loop play."""
    play(*meeting(name, size), rounds)


def own_peak(name: str, n_cliques: str, size: str, rounds: str) -> int:
    """Play, then tell the most bytes that this process ever held."""
    meeting_played(name, Size(int(n_cliques), int(size), int(rounds)), int(rounds))
    return peak_bytes()


def peak_bytes() -> int:
    """The peak of this process's resident memory.

    Linux hands the peak of ``getrusage`` down from the parent that forked, so ``/proc`` is asked where there is one.

    >>> peak_bytes() > 1_000_000
    True
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return 1024 * int(line.split()[1])
    import resource  # which Windows does not have

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def _timed(part: str, size: Size, names: tuple[str, ...], repeats: int) -> Iterator[Row]:
    rounds = {name: size.exact_rounds if name == EXACT else size.rounds for name in names}
    tasks = {name: _task(name, size, rounds[name]) for name in names if rounds[name]}
    for name, values in take_turns(tasks, repeats).items():
        yield median_row(part, name, str(size), "s/round", values, f"{rounds[name]:,} rounds")


def _task(name: str, size: Size, rounds: int) -> Task:
    learner, world = meeting(name, size)
    play(learner, world, 2)  # compiles
    return lambda: play(learner, world, rounds, seed=1).seconds / rounds
