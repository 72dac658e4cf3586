"""How long a second process needs until it plays: compiled code is found on disk again.

That a changed kernel file compiles again is no matter of speed: ``tests/kernels/test_jit.py`` checks it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

from speed.child import environment
from speed.config import Scale
from speed.rows import Row, median_row, take_turns

PROGRAM = "from allworlds.cli import main; main()"
RACES = {"allworlds race, six learners": [], "allworlds race, the default learner": ["--learner", "tsallis-shannon"]}


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
