"""Play a cell and return its rows, on any thread or machine.

Nothing here raises for a cell that fails: the failure is its outcome, so that the cells beside it are not lost.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds import __version__
from allworlds.experiments.cells import Cell, SpecCache
from allworlds.foundation.errors import InvalidParameter
from allworlds.foundation.machine import machine
from allworlds.kernels.jit import source_digest
from allworlds.simulation import play

Floats = NDArray[np.float64]
LINES = 6
"""Lines of a traceback that are stored with a failure."""
SILENCE = 20.0
"""Seconds of compiling without a word."""


class CellRows(NamedTuple):
    """The numbers of one finished cell, at R recorded rounds."""

    rounds: NDArray[np.int64]
    """(R,)"""
    values: Floats
    """(R, 4) pseudo-regret, clean regret, realised regret and corruption."""
    clique_mass: Floats | None = None
    """(R, K) where the experiment asks for masses and the learner has cliques."""
    regret_bound: Floats | None = None
    """(R,) where the experiment asks for masses and the learner has a bound."""

    def checksum(self, cell: str) -> str:
        """SHA-256 of the cell's id and its rows: the same for equal bits on every machine."""
        digest = hashlib.sha256(cell.encode())
        digest.update(np.ascontiguousarray(self.rounds, dtype="<i8").tobytes())
        for numbers in self[1:]:
            if numbers is not None:
                digest.update(np.ascontiguousarray(numbers, dtype="<f8").tobytes())
        return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class Outcome:
    """What playing a cell gave: its rows, or the error in their place."""

    cell: Cell
    rows: CellRows | None
    seconds: float
    error: str | None = None
    attempts: int = 1

    @property
    def checksum(self) -> str | None:
        """SHA-256 of the rows, bit for bit; None where there are none."""
        return None if self.rows is None else self.rows.checksum(self.cell.id)


def play_cell(cell: Cell, cache: SpecCache) -> Outcome:
    """Play one cell; a failure is an outcome too."""
    try:
        _check_same(cell, cache)
        learner = cache.learner(cell.graph, cell.learner, cell.horizon)
        trace = play(learner, cache.world(cell.graph, cell.world), cell.horizon, cell.seed)
    except Exception as error:
        where = "".join(traceback.format_exception(error)[-LINES:])
        return Outcome(cell, None, 0.0, f"{type(error).__name__}: {error}\n{where}")
    columns = (trace.pseudo_regret, trace.clean_regret, trace.realised_regret, trace.corruption)
    extras = (trace.clique_mass, trace.regret_bound) if cell.record_masses else ()
    return Outcome(cell, CellRows(trace.rounds, np.column_stack(columns), *extras), trace.seconds)


def _check_same(cell: Cell, cache: SpecCache) -> None:
    """Raise unless graph and world are those the cell was made from; a file on another machine may differ."""
    expected = cell.graph_digest, cell.world_digest
    found = cache.digests(cell.graph, cell.world)
    for spec, now, before in zip((cell.graph, cell.world), found, expected, strict=True):
        if now != before:
            raise InvalidParameter(f"'{spec}' is not what it was when the experiment began; put the old file back")


def warm_up(cells: Iterable[Cell], cache: SpecCache, on_notice: Callable[[str], None] = lambda sentence: None) -> None:
    """Compile what these cells need, one learner after the other; errors are left to the cells."""
    todo, said = sample(cells), time.monotonic()
    for number, cell in enumerate(todo):
        if time.monotonic() - said > SILENCE:
            on_notice(f"compiling, {number} of {len(todo)} done; next {cell.learner}")
            said = time.monotonic()
        with contextlib.suppress(Exception):
            world = cache.world(cell.graph, cell.world)
            play(cache.learner(cell.graph, cell.learner, cell.horizon), world, min(2, cell.horizon), 0)


def sample(cells: Iterable[Cell]) -> list[Cell]:
    """One cell for each learner on each graph: what must be compiled, and how fast it is."""
    return list({(cell.graph, cell.learner): cell for cell in cells}.values())


def code_version() -> str:
    """The version and a digest of the sources that numbers come from: ``0.1.0+1f3a5b7c9d2e``."""
    return f"{__version__}+{source_digest()[:12]}"


# --- on another machine ---------------------------------------------------------------------------------


def play_elsewhere(expected: str, base: str, cells: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Play a bundle on a worker of a cluster; cells and answers (rows, seconds, error) are plain data."""
    if code_version() != expected:
        raise InvalidParameter(
            f"this worker has allworlds {code_version()}, the run {expected}; install the same on all"
        )
    outcomes = [play_cell(Cell(**cell), _cache_of(base)) for cell in cells]
    return [(one.rows and tuple(one.rows), one.seconds, one.error) for one in outcomes]


def outcome_from_elsewhere(cell: Cell, rows: tuple[Any, ...] | None, seconds: float, error: str | None) -> Outcome:
    """The inverse of one answer of :func:`play_elsewhere`."""
    return Outcome(cell, None if rows is None else CellRows(*rows), seconds, error)


def warm_up_elsewhere(expected: str, base: str, cells: list[dict[str, Any]]) -> dict[str, Any]:
    """Say which version and machine this worker is, and compile what the cells need."""
    if code_version() == expected:
        warm_up([Cell(**cell) for cell in cells], _cache_of(base))
    return {"code": code_version(), "machine": machine()}


@functools.cache
def _cache_of(base: str) -> SpecCache:
    return SpecCache(Path(base))
