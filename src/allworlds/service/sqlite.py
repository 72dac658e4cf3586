"""The journal in one SQLite file: the default, which needs no server.

Write-ahead log with ``synchronous=FULL``: when COMMIT returns, the log is synced, so what was acknowledged survives a
power cut. One process owns the file (a lock beside it, which the operating system releases when the process ends), and
file systems over a network are refused, because their locks and syncs cannot be trusted.

All statements go through ``connection.execute`` and ``executemany``, which :mod:`sqlite3` and APSW share; a factory
makes the connection, so that tests can run the journal on a file system of their own. After an error of the database it
is unknown what the connection holds: it is rolled back, and the next transaction opens another one.
"""
# ruff: noqa: D102 - the protocol says what the methods of a journal do

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from allworlds.foundation.errors import InvalidParameter
from allworlds.service.journal import (
    AWAY,
    ENDS,
    OPEN,
    STRAYS,
    AlreadyThere,
    Clock,
    DecisionRow,
    EventRow,
    KeyRow,
    LearnerRow,
    Position,
    Unavailable,
    stray,
)
from allworlds.service.schema import prepare
from allworlds.service.sqlite_file import check_kind, check_local, own

Connect = Callable[[str], tuple[Any, type[Exception]]]
"""From a path to a connection and the class of its errors."""

AT_ONCE = 64
"""Rows in one statement."""
PAGE = 1000
"""Rows read at a time for an export."""
LEARNER = ", ".join(LearnerRow._fields)
DECISION = ", ".join(DecisionRow._fields)
EVENT = ", ".join(EventRow._fields)
KEY = ", ".join(KeyRow._fields)
BOTH = ", ".join([f"e.{name}" for name in EventRow._fields] + [f"d.{name}" for name in DecisionRow._fields])
N_EVENT = len(EventRow._fields)


def connect(path: str) -> tuple[sqlite3.Connection, type[Exception]]:
    """A connection of Python's own SQLite; a new file, which will hold secrets, can be read by its owner only."""
    with contextlib.suppress(OSError):  # it is there already, or SQLite will say what is wrong
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    return sqlite3.connect(path, isolation_level=None, check_same_thread=False), sqlite3.Error


class SQLiteJournal:
    """A journal in the file at ``path``.

    Parameters
    ----------
    connect:
        Makes a connection from a path: see :data:`Connect`.
    clock:
        The time in seconds since 1970.
    exclusive:
        Whether to own the file. Keys can be changed, and rows read, beside a process that owns it.
    upgrade:
        Whether to bring an older database up to date: see :mod:`allworlds.service.schema`.
    synchronous:
        SQLite's setting; less than FULL loses acknowledged rows in a power cut.
    """

    shared, waits = False, True

    def __init__(
        self,
        path: str | os.PathLike[str],
        connect: Connect = connect,
        *,
        clock: Clock = time.time,
        exclusive: bool = True,
        upgrade: bool = False,
        synchronous: str = "FULL",
    ) -> None:
        self.path = Path(path)
        self._connect, self._clock, self._synchronous = connect, clock, synchronous
        check_local(self.path)
        check_kind(self.path)
        self._lock = own(self.path) if exclusive else None
        self._broken = False
        try:
            self._connection, self._error = self._open()
            with self._errors():
                prepare(self._connection.execute, "sqlite", upgrade=upgrade)
        except BaseException:
            if self._lock is not None:
                os.close(self._lock)
            raise

    def _open(self) -> tuple[Any, type[Exception]]:
        """A connection with our settings."""
        try:
            connection, error = self._connect(str(self.path))
        except Exception as problem:
            raise Unavailable(
                f"cannot open the database {str(self.path)!r}: {problem}; is its folder there?", AWAY
            ) from None
        try:
            # Sync the folder too when the rollback journal of the switch to WAL is deleted: it must not come back.
            connection.execute("PRAGMA synchronous = EXTRA")
            (mode,) = next(iter(connection.execute("PRAGMA journal_mode = WAL")))
            connection.execute(f"PRAGMA synchronous = {self._synchronous}")
            connection.execute("PRAGMA busy_timeout = 5000")
            connection.execute("PRAGMA cache_size = -65536")
        except error as problem:
            connection.close()
            raise Unavailable(f"cannot open the database {str(self.path)!r}: {problem}", AWAY) from None
        if mode != "wal":
            connection.close()
            raise InvalidParameter(
                f"the journal mode of {str(self.path)!r} is {mode!r}; expected a file system on which SQLite can keep "
                "a write-ahead log; choose a local disk"
            )
        return connection, error

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        """Raise an error of the database as :class:`Unavailable`."""
        try:
            yield
        except self._error as problem:
            raise failed(problem) from None

    def _run(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows that a statement returns."""
        try:
            return list(self._connection.execute(statement, values))
        except self._error as problem:
            raise failed(problem) from None

    def _run_many(self, statement: str, rows: Sequence[Sequence[Any]]) -> int:
        """Run a statement for each row; return how many rows changed."""
        with self._errors():
            ((before,),) = self._connection.execute("SELECT total_changes()")
            self._connection.executemany(statement, rows)
            ((after,),) = self._connection.execute("SELECT total_changes()")
            return int(after - before)

    def now(self) -> float:
        return self._clock()

    @contextlib.contextmanager
    def transaction(self, *, optimistic: bool = False) -> Iterator[None]:
        if self._broken:
            with contextlib.suppress(self._error):
                self._connection.close()
            self._connection, self._error = self._open()
            self._broken = False
        try:
            self._run("BEGIN IMMEDIATE")
            yield
            self._run("COMMIT")
        except BaseException as problem:
            self._broken = isinstance(problem, Unavailable)
            with contextlib.suppress(self._error):  # where SQLite has rolled back itself
                self._connection.execute("ROLLBACK")
            raise

    def add_learner(self, row: LearnerRow) -> None:
        marks = ", ".join("?" * len(row))
        if not self._run_many(f"INSERT INTO learners ({LEARNER}) VALUES ({marks}) ON CONFLICT DO NOTHING", [row]):
            raise AlreadyThere(f"there is already a learner {row.name!r}")

    def learner(self, name: str) -> LearnerRow | None:
        rows = self._run(f"SELECT {LEARNER} FROM learners WHERE name = ?", (name,))
        return LearnerRow(*rows[0]) if rows else None

    def learners(self) -> list[LearnerRow]:
        return [LearnerRow(*row) for row in self._run(f"SELECT {LEARNER} FROM learners ORDER BY name")]

    def archive(self, name: str, at: float) -> None:
        self._run("UPDATE learners SET archived_at = ? WHERE name = ?", (at, name))

    def lock(self, name: str) -> Position:
        return self.position(name)  # BEGIN IMMEDIATE has locked the whole database

    def position(self, name: str) -> Position:
        (row,) = self._run("SELECT seq, epoch, archived_at FROM learners WHERE name = ?", (name,))
        return Position(*row)

    def advance(self, name: str, n: int, epochs: int = 0) -> int:
        ((seq,),) = self._run(
            "UPDATE learners SET seq = seq + ?, epoch = epoch + ? WHERE name = ? RETURNING seq", (n, epochs, name)
        )
        return int(seq) - n + 1

    def add_decisions(self, rows: Sequence[DecisionRow]) -> list[DecisionRow]:
        stored: list[DecisionRow] = []
        marks = f"({', '.join('?' * len(DecisionRow._fields))})"
        for first in range(0, len(rows), AT_ONCE):  # many rows a statement: each lets go of the interpreter once
            part = rows[first : first + AT_ONCE]
            added = self._run(
                f"INSERT INTO decisions ({DECISION}) VALUES {', '.join([marks] * len(part))} "
                "ON CONFLICT DO NOTHING RETURNING learner, id",
                list(chain.from_iterable(part)),
            )
            if len(added) == len(part):
                stored += part
            else:
                missing = set(added)  # of two rows of one id the first was added
                for row in part:
                    if row[:2] in missing:
                        missing.remove(row[:2])
                        stored.append(row)
                    else:
                        stored.append(self.decisions(row.learner, [row.id])[row.id])
        return stored

    def decisions(self, learner: str, ids: Iterable[str]) -> dict[str, DecisionRow]:
        statement, found = f"SELECT {DECISION} FROM decisions WHERE learner = ? AND id = ?", {}
        for id in ids:
            for row in self._run(statement, (learner, id)):
                found[id] = DecisionRow(*row)
        return found

    def open_count(self, learner: str) -> int:
        ((count,),) = self._run("SELECT count(*) FROM decisions WHERE learner = ? AND status = 'open'", (learner,))
        return int(count)

    def overdue(self, now: float, limit: int) -> list[DecisionRow]:
        rows = self._run(
            f"SELECT {DECISION} FROM decisions INDEXED BY decisions_due "
            "WHERE status = 'open' AND deadline IS NOT NULL AND deadline < ? ORDER BY deadline LIMIT ?",
            (now, limit),
        )
        return sorted((DecisionRow(*row) for row in rows), key=lambda row: (row.learner, row.deadline, row.id))

    def add_events(self, rows: Sequence[EventRow]) -> None:
        marks = ", ".join("?" * N_EVENT)
        self._run_many(f"INSERT INTO events ({EVENT}) VALUES ({marks})", rows)
        ends = [(ENDS[row.kind], row.seq, row.learner, row.decision, OPEN) for row in rows if row.decision is not None]
        # "+" keeps SQLite from walking the index of open decisions
        statement = "UPDATE decisions SET status = ?, seq = ? WHERE learner = ? AND id = ? AND +status = ?"
        if self._run_many(statement, ends) != len(ends):
            raise Unavailable("a decision had ended already when its event was written; nothing was written")

    def events(self, learner: str, after: int, limit: int) -> list[tuple[EventRow, DecisionRow | None]]:
        rows = self._run(
            f"SELECT {BOTH} FROM events e LEFT JOIN decisions d ON d.learner = e.learner AND d.id = e.decision "
            "WHERE e.learner = ? AND e.seq > ? ORDER BY e.seq LIMIT ?",
            (learner, after, limit),
        )
        return [
            (EventRow(*row[:N_EVENT]), None if row[N_EVENT] is None else DecisionRow(*row[N_EVENT:])) for row in rows
        ]

    def changes(self, learner: str) -> list[EventRow]:
        rows = self._run(
            f"SELECT {EVENT} FROM events WHERE learner = ? AND kind IN ('add_arm', 'retire_arm') ORDER BY seq",
            (learner,),
        )
        return [EventRow(*row) for row in rows]

    def snapshot(self, learner: str, base: bool = False) -> tuple[int, bytes] | None:
        rows = self._run("SELECT seq, state FROM snapshots WHERE learner = ? AND base = ?", (learner, int(base)))
        return (rows[0][0], rows[0][1]) if rows else None

    def save_snapshot(self, learner: str, seq: int, state: bytes, base: bool = False) -> None:
        self._run(
            "INSERT INTO snapshots (learner, base, seq, state) VALUES (?, ?, ?, ?) ON CONFLICT (learner, base) "
            "DO UPDATE SET seq = excluded.seq, state = excluded.state",
            (learner, int(base), seq, state),
        )

    def forget(self, learner: str, seq: int) -> int:
        """Delete the events of decisions up to a position, and what their estimates needed; how many events."""
        kinds = "kind IN ('outcome', 'void', 'expire')"
        gone = self._run_many(f"DELETE FROM events WHERE learner = ? AND seq <= ? AND {kinds}", [(learner, seq)])
        self._run(
            "UPDATE decisions SET ticket = '', probabilities = NULL WHERE learner = ? AND seq <= ? AND ticket <> ''",
            (learner, seq),
        )
        return gone

    def stream(self, learner: str) -> Iterator[tuple[DecisionRow, EventRow | None]]:
        connection, error = self._open()
        last = 0
        try:
            while True:
                rows = list(
                    connection.execute(
                        f"SELECT d.number, {BOTH} FROM decisions d LEFT JOIN events e "
                        "ON e.learner = d.learner AND e.seq = d.seq "
                        "WHERE +d.learner = ? AND d.number > ? ORDER BY d.number LIMIT ?",
                        (learner, last, PAGE),
                    )
                )
                for number, *row in rows:
                    event = None if row[0] is None else EventRow(*row[:N_EVENT])
                    yield DecisionRow(*row[N_EVENT:]), event
                    last = number
                if len(rows) < PAGE:
                    return
        except error as problem:
            raise failed(problem) from None
        finally:
            connection.close()

    def problems(self) -> list[str]:
        found = [f"SQLite finds: {line}" for (line,) in self._run("PRAGMA integrity_check(10)") if line != "ok"]
        return found + [stray(name) for (name,) in self._run(STRAYS)]

    def listen(self, hint: Callable[[str], object]) -> None:
        """No other process makes or changes learners; keys are asked for often."""

    def keys(self) -> list[KeyRow]:
        return [KeyRow(*row) for row in self._run(f"SELECT {KEY} FROM keys ORDER BY created_at, id")]

    def add_key(self, row: KeyRow) -> None:
        self._run(f"INSERT INTO keys ({KEY}) VALUES ({', '.join('?' * len(row))})", row)

    def revoke_key(self, id: str, at: float) -> bool:
        statement = "UPDATE keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL RETURNING id"
        return bool(self._run(statement, (at, id)))

    def close(self) -> None:
        with contextlib.suppress(self._error):
            self._connection.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def failed(problem: Exception) -> Unavailable:
    """The error for clients, who need not know where the file is."""
    return Unavailable(f"the database failed: {problem}; try again with the same id")
