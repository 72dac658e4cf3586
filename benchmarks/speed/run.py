"""Measure part after part in one run."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence

from allworlds.experiments.machine import machine, versions
from allworlds.specs import nearest
from speed.config import FULL, Scale
from speed.goals import judge
from speed.loops import time_growth, time_loops
from speed.memory import measure_memory
from speed.result import BenchResult, peer_versions
from speed.rivals import time_rivals
from speed.rows import Row
from speed.solvers import time_solvers
from speed.start import time_starts
from speed.threads import measure_threads

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
    chosen = list(PARTS) if not only else [nearest(name, PARTS, "part of the benchmark") for name in only]
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


def _load() -> float | None:
    """How many processes wanted a core in the last minute, where the system tells."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None
