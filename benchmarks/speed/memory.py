"""How much memory a process takes that plays a learner, beside one that plays the null learner."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from allworlds.simulation import play
from speed.child import ask
from speed.config import Scale, Size
from speed.loops import FIRST_FLOOR, LAZY, meeting
from speed.rows import Row, median_row, take_turns

MEGABYTE = 1e6


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
    yield median_row("memory", "lazy step above null", str(size), "MB", more)


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
    import resource
    import sys

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak
