"""The folder of a run: what was asked, which cells are finished, and their rows.

    experiment.json   the resolved configuration with its hash; versions, machine and its math library
    cells.sqlite      a row for each cell: state, attempts, seconds, error, checksum, part; and every start
    parts/*.parquet   rows of finished cells (:mod:`allworlds.experiments.parts`)

Order makes it safe. A part is written beside, synced and renamed; only then does the table say that its cells are
done. A kill between the two leaves a part that the table does not know: the next start takes it over. A part that is
missing, damaged or of other code is noticed, and its cells are done again; what is not of this run is left alone. The
table itself can be lost, too: it is rebuilt from the configuration and the parts. No cell is ever marked as running,
so none gets stuck.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from allworlds.experiments.cells import Cell
from allworlds.experiments.parts import (
    SUFFIX,
    cells_in,
    read_part,
    results_checksum,
    trouble_with,
    write_part,
    written_by_us,
)
from allworlds.experiments.work import Outcome
from allworlds.foundation.errors import InvalidParameter, RunStopped, counted
from allworlds.foundation.files import disk_errors, open_folder, write_atomic
from allworlds.foundation.machine import machine, versions

FOLDER_FORMAT = 1
"""Increase it when this version could not read older folders."""
DAMAGED = ".damaged"
DESCRIPTION = "experiment.json"
DESCRIBED = tuple(field.name for field in fields(Cell))
KINDS = {"int": "INTEGER", "float | None": "REAL", "bool": "INTEGER NOT NULL DEFAULT 0"}
CELLS = ", ".join(f"{field.name} {KINDS.get(str(field.type), 'TEXT')}" for field in fields(Cell))
TABLES = (
    f"CREATE TABLE IF NOT EXISTS cells (number INTEGER PRIMARY KEY, {CELLS}, state TEXT NOT NULL DEFAULT 'waiting', "
    "attempts INTEGER NOT NULL DEFAULT 0, seconds REAL, error TEXT, checksum TEXT, part TEXT, "
    "asked INTEGER NOT NULL DEFAULT 1, UNIQUE (id))",
    "CREATE TABLE IF NOT EXISTS starts (started TEXT, on_what TEXT, versions TEXT, machine TEXT)",
)
ADDED = {"record_masses": "INTEGER NOT NULL DEFAULT 0", "asked": "INTEGER NOT NULL DEFAULT 1"}
"""Columns that tables of earlier versions lack."""


class CellRecord(NamedTuple):
    """A cell and what the table knows of it."""

    cell: Cell
    state: str
    """waiting, done or failed"""
    attempts: int
    seconds: float | None
    error: str | None
    checksum: str | None
    part: str | None


class Store:
    """The open folder of a run, a context manager. A writer holds :func:`~allworlds.foundation.files.exclusive_lock`.

    Errors of the disk are raised as :class:`~allworlds.foundation.errors.RunStopped`.
    """

    def __init__(self, folder: str | Path, *, read_only: bool = False) -> None:
        self.folder = Path(folder)
        self.parts = self.folder / "parts"
        self._path = self.folder / "cells.sqlite"
        if read_only and not self._path.is_file():
            raise InvalidParameter(
                f"'{self.folder}' holds no results; expected a folder made by 'allworlds run' or 'allworlds race'"
            )
        self._read_only = read_only
        attempt = f"{'read' if read_only else 'write to'} '{self.folder}'"
        self._disk_errors = partial(disk_errors, attempt, error=RunStopped)
        with self._disk_errors():
            self._base = self._connect()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self._base.close()

    # --- cells ---

    def add(self, cells: Iterable[Cell]) -> None:
        """Ask for these cells, in their order; known ones keep their state and take over their labels.

        Cells that an earlier configuration asked for and this one does not stay in the table, results included, but
        no longer count.
        """
        places = ", ".join("?" for _ in DESCRIBED)
        labels = ", ".join(f"{name} = excluded.{name}" for name in DESCRIBED if name.endswith("_label"))
        text = (
            f"INSERT INTO cells ({', '.join(DESCRIBED)}) VALUES ({places}) "
            f"ON CONFLICT (id) DO UPDATE SET {labels}, asked = 1"
        )
        with self._disk_errors(), self._base:
            self._base.execute("UPDATE cells SET asked = 0")
            self._base.executemany(text, [tuple(cell.to_dict().values()) for cell in cells])

    def records(self, *, unasked: bool = False) -> list[CellRecord]:
        """The cells that the configuration asks for, in the order of the file; ``unasked``: all there are."""
        with self._disk_errors():
            known = {row[1] for row in self._base.execute("PRAGMA table_info(cells)")}
            names = [name for name in DESCRIBED if name in known]
            wanted = "WHERE asked" if "asked" in known and not unasked else ""
            columns = ", ".join([*names, *CellRecord._fields[1:]])
            found = self._base.execute(f"SELECT {columns} FROM cells {wanted} ORDER BY number").fetchall()
        return [CellRecord(Cell(*row[: len(names)]), *row[len(names) :]) for row in found]

    def keep(self, outcomes: Sequence[Outcome]) -> None:
        """Keep outcomes: one part for the cells that are finished, then the table."""
        good = [o for o in outcomes if o.error is None]
        bad = [(o.attempts, o.error, o.cell.id) for o in outcomes if o.error is not None]
        with self._disk_errors():
            part = write_part(self.parts, good) if good else ""
            done = [(o.attempts, o.seconds, o.checksum, part, o.cell.id) for o in good]
            with self._base:
                self._base.executemany(
                    "UPDATE cells SET state = 'done', attempts = attempts + ?, error = NULL, seconds = ?, "
                    "checksum = ?, part = ? WHERE id = ?",
                    done,
                )
                self._base.executemany(
                    "UPDATE cells SET state = 'failed', attempts = attempts + ?, error = ? WHERE id = ?", bad
                )

    def checksum(self) -> str:
        """The checksum of all finished results, independent of how they lie in parts."""
        return results_checksum((one.cell.id, one.checksum) for one in self.records() if one.checksum)

    # --- repair and starts ---

    def mend(self) -> list[str]:
        """Compare table and parts; cells whose part is damaged or missing will be done again. Returns notices."""
        notices = []
        used = Counter(record.part for record in self.records(unasked=True) if record.part)
        for part, count in used.items():
            with self._disk_errors():
                trouble = trouble_with(self.parts / part)
            if trouble is None:
                continue
            notices.append(f"part {part} is {trouble}: {counted(count, 'cell')} will be done again")
            with self._disk_errors(), self._base:
                self._base.execute(
                    "UPDATE cells SET state = 'waiting', checksum = NULL, part = NULL WHERE part = ?", (part,)
                )
                if trouble == "damaged":
                    (self.parts / part).replace(self.parts / f"{part}{DAMAGED}")
        for path in sorted(self.parts.iterdir()):
            if path.name not in used and path.suffix != DAMAGED:
                notices += self._take_over(path)
        return notices

    def _take_over(self, path: Path) -> list[str]:
        """A file that the table does not know: rows that a kill kept from the table, what a kill left, or not ours."""
        if path.name.startswith("."):
            with self._disk_errors():
                path.unlink(missing_ok=True)  # a temporary file of a write that was killed
            return []
        table = read_part(path) if path.suffix == SUFFIX else None
        states = {record.cell.id: record.state for record in self.records(unasked=True)}
        found = cells_in(table) if table is not None and written_by_us(table.schema) else {}
        fresh = {cell: rows.checksum(cell) for cell, rows in found.items() if states.get(cell, "done") != "done"}
        with self._disk_errors(), self._base:
            if not fresh:
                if found and found.keys() <= states.keys():
                    path.unlink(missing_ok=True)  # other parts hold all its rows
                    return []
                return [f"parts/{path.name} is not of this run; it is left alone and does not count"]
            self._base.executemany(
                "UPDATE cells SET state = 'done', attempts = attempts + 1, error = NULL, checksum = ?, part = ? "
                "WHERE id = ?",
                [(checksum, path.name, cell) for cell, checksum in fresh.items()],
            )
        return [f"part {path.name} was finished but not yet noted: {counted(len(fresh), 'cell')} taken over"]

    def note_start(self, on_what: str) -> None:
        """Record when, where and with what this start runs."""
        values = (
            time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            on_what,
            *map(json.dumps, (versions(), machine())),
        )
        with self._disk_errors(), self._base:
            self._base.execute("INSERT INTO starts VALUES (?, ?, ?, ?)", values)

    def starts(self) -> list[dict[str, Any]]:
        """Every start of this run, the first one first."""
        with self._disk_errors():
            found = self._base.execute("SELECT started, on_what, versions, machine FROM starts").fetchall()
        return [
            {"started": a, "on_what": b, "versions": json.loads(c), "machine": json.loads(d)} for a, b, c, d in found
        ]

    # --- the description ---

    def describe(self, description: dict[str, Any]) -> None:
        """Write ``experiment.json``."""
        with self._disk_errors():
            content = json.dumps({"format": FOLDER_FORMAT} | description, indent=1) + "\n"
            write_atomic(self.folder / DESCRIPTION, content.encode())

    # --- the base ---

    def _connect(self) -> sqlite3.Connection:
        place = f"{self._path.resolve().as_uri()}?mode={'rw' if self._read_only else 'rwc'}"
        base = sqlite3.connect(place, uri=True, timeout=30.0)
        if self._read_only:  # yet able to roll back what a kill left half written
            base.execute("PRAGMA query_only = ON")
            return base
        try:
            base.execute("PRAGMA synchronous = FULL")
            for text in TABLES:
                base.execute(text)
            known = {row[1] for row in base.execute("PRAGMA table_info(cells)")}
            for name in ADDED.keys() - known:
                base.execute(f"ALTER TABLE cells ADD COLUMN {name} {ADDED[name]}")
        except sqlite3.DatabaseError as error:
            base.close()
            if isinstance(error, sqlite3.OperationalError):
                raise
            self._path.replace(self._path.with_suffix(".damaged"))  # the parts hold what it knew
            return self._connect()
        return base


def read_description(folder: str | Path) -> dict[str, Any]:
    """The content of ``experiment.json``; raise InvalidParameter if there is none."""
    path = Path(folder) / DESCRIPTION
    try:
        data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        found = data["format"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = getattr(error, "strerror", None) or "it is damaged"
        raise InvalidParameter(
            f"'{folder}' holds no experiment ({DESCRIPTION}: {reason}); expected a folder made by "
            "'allworlds run' or 'allworlds race'"
        ) from None
    if found != FOLDER_FORMAT:
        raise InvalidParameter(f"'{path}' has format {found}; this version reads {FOLDER_FORMAT}")
    return data


def new_folder(out: str | Path) -> Path:
    """The folder of a run, made if need be and proved to be writable."""
    return open_folder(out, "parts")
