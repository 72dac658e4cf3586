"""Measure part after part in one run; and what such a run found."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from typing import Any

from allworlds.foundation.machine import machine, versions
from allworlds.foundation.specs import check_known
from speed.config import FULL, Scale
from speed.loops import measure_memory, time_growth, time_loops
from speed.processes import measure_threads, time_starts
from speed.rivals import time_rivals
from speed.rows import Goal, Row, judge
from speed.solvers import time_solvers

OnProgress = Callable[[int, int, str], None]
PARTS: dict[str, Callable[[Scale], Iterator[Row]]] = {
    "rounds": time_loops,
    "solvers": time_solvers,
    "rivals": time_rivals,
    "scaling": time_growth,
    "threads": measure_threads,
    "memory": measure_memory,
    "start": time_starts,
}
PEERS = ("scipy", "cvxpy", "SMPyBandits", "river", "mabwiser", "vowpalwabbit")


@dataclasses.dataclass(frozen=True)
class BenchResult:
    """All rows and goals of one run, with the machine that made them."""

    scale: str
    parts: tuple[str, ...]
    rows: tuple[Row, ...]
    goals: tuple[Goal, ...]
    machine: dict[str, Any]
    versions: dict[str, str]
    load: tuple[float | None, float | None]
    """Processes that wanted a core, in the minute before the first and before the last measurement ended."""
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        goals = [dataclasses.asdict(goal) | {"reached": goal.reached, "verdict": goal.verdict} for goal in self.goals]
        return dataclasses.asdict(self) | {"goals": goals, "load": list(self.load)}


def run_bench(
    scale: Scale = FULL, only: Sequence[str] | None = None, on_progress: OnProgress | None = None
) -> BenchResult:
    """Every part, or some by name; ``on_progress(done, total, part)`` is called before each.

    >>> from dataclasses import replace
    >>> from speed.config import Size
    >>> tiny = replace(FULL, name="tiny", repeats=1, loops=(Size(2, 2, 10, 10),))
    >>> [row.name for row in run_bench(tiny, ["rounds"]).rows]
    ['first floor (null)', 'second floor', 'lazy step', 'exact step']
    """
    chosen = list(PARTS) if not only else [check_known(name, PARTS, "part of the benchmark") for name in only]
    say = on_progress or (lambda done, total, what: None)
    load, started = _load(), time.perf_counter()
    rows: list[Row] = []
    for number, part in enumerate(chosen):
        say(number, len(chosen), part)
        rows += PARTS[part](scale)
    say(len(chosen), len(chosen), "done")
    return BenchResult(
        scale=scale.name,
        parts=tuple(chosen),
        rows=tuple(rows),
        goals=judge(rows),
        machine=machine(),
        versions=versions() | peer_versions(),
        load=(load, _load()),
        seconds=time.perf_counter() - started,
    )


def peer_versions() -> dict[str, str]:
    """Of the packages that are measured beside ours, where they are installed."""
    found = {}
    for name in PEERS:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def _load() -> float | None:
    """How many processes wanted a core in the last minute, where the system tells."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None
