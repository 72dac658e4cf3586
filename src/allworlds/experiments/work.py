"""The work itself: play a cell and give its rows, on whatever thread or machine this runs.

Nothing here raises for a cell that fails: the failure is its outcome, so that the cells beside it are not lost.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allworlds import __version__
from allworlds.experiments.cells import Cell, SpecCache
from allworlds.foundation.errors import InvalidParameter
from allworlds.foundation.machine import machine
from allworlds.kernels.jit import source_digest
from allworlds.simulation import play

Numbers = NDArray[np.float64]
LINES = 6
"""Of a traceback, kept with a failure."""
ANSWER = ("rounds", "values", "seconds", "error")
"""What a worker of a cluster sends back of each outcome."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came of a cell: its rows, or why there are none."""

    cell: Cell
    rounds: NDArray[np.int64] | None
    """(R,) the recorded rounds."""
    values: Numbers | None
    """(R, 4) pseudo-regret, clean regret, realised regret and corruption."""
    seconds: float
    error: str | None = None
    attempts: int = 1
    """How often it was tried."""

    @property
    def checksum(self) -> str:
        """SHA-256 of the rows, bit for bit."""
        assert self.rounds is not None
        assert self.values is not None
        return rows_checksum(self.cell.id, self.rounds, self.values)


def play_cell(cell: Cell, workshop: SpecCache) -> Outcome:
    """Play one cell; a failure is an outcome too."""
    try:
        _check_same(cell, workshop)
        learner = workshop.learner(cell.graph, cell.learner, cell.horizon)
        trace = play(learner, workshop.world(cell.graph, cell.world)[0], cell.horizon, cell.seed)
    except Exception as error:
        where = "".join(traceback.format_exception(error)[-LINES:])
        return Outcome(cell, None, None, 0.0, f"{type(error).__name__}: {error}\n{where}")
    columns = (trace.pseudo_regret, trace.clean_regret, trace.realised_regret, trace.corruption)
    return Outcome(cell, trace.rounds, np.column_stack(columns), trace.seconds)


def _check_same(cell: Cell, workshop: SpecCache) -> None:
    """Refuse a graph or a world that is not the one the cell was made from, as a file on another machine may be."""
    for what, found, expected in (
        (cell.graph, workshop.cover(cell.graph)[1], cell.graph_digest),
        (cell.world, workshop.world(cell.graph, cell.world)[1], cell.world_digest),
    ):
        if found != expected:
            raise InvalidParameter(f"'{what}' is not what it was when the experiment began; put the old file back")


def warm_up(cells: Iterable[Cell], workshop: SpecCache) -> None:
    """Compile what these cells need, or find it on disk, one learner after the other; errors wait for the cells."""
    seen = set()
    for cell in cells:
        key = cell.graph, cell.learner
        if key not in seen:
            seen.add(key)
            with contextlib.suppress(Exception):
                world, _ = workshop.world(cell.graph, cell.world)
                play(workshop.learner(cell.graph, cell.learner, cell.horizon), world, min(2, cell.horizon), 0)


def code() -> str:
    """The version and the sources that numbers come from, as one word: ``0.1.0+1f3a5b7c9d2e``."""
    return f"{__version__}+{source_digest()[:12]}"


def rows_checksum(cell: str, rounds: NDArray[np.int64], values: Numbers) -> str:
    """SHA-256 of one cell's rows in the order of rounds: the same for equal bits on every machine."""
    digest = hashlib.sha256(cell.encode())
    digest.update(np.ascontiguousarray(rounds, dtype="<i8").tobytes())
    digest.update(np.ascontiguousarray(values, dtype="<f8").tobytes())
    return digest.hexdigest()


def results_checksum(checksums: Iterable[tuple[str, str]]) -> str:
    """One checksum for all (cell, checksum): independent of the order of work and of how rows lie in files.

    >>> results_checksum([("b", "1"), ("a", "2")]) == results_checksum([("a", "2"), ("b", "1")])
    True
    """
    digest = hashlib.sha256()
    for cell, checksum in sorted(checksums):
        digest.update(f"{cell} {checksum}\n".encode())
    return digest.hexdigest()


# --- on another machine ---------------------------------------------------------------------------------


def play_elsewhere(expected: str, base: str, cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A bundle that came as plain data, played by a worker of a cluster; the answer is plain data, too."""
    if code() != expected:
        raise InvalidParameter(f"this worker has allworlds {code()}, the run {expected}; install the same on all")
    workshop = _workshop(base)
    outcomes = [play_cell(Cell(**cell), workshop) for cell in cells]
    return [{name: getattr(outcome, name) for name in ANSWER} for outcome in outcomes]


def warm_up_elsewhere(expected: str, base: str, cells: list[dict[str, Any]]) -> dict[str, Any]:
    """Tell who this worker is, and compile once what the cells need."""
    if code() == expected:
        warm_up([Cell(**cell) for cell in cells], _workshop(base))
    return {"code": code(), "machine": machine()}


@functools.cache
def _workshop(base: str) -> SpecCache:
    return SpecCache(Path(base))
