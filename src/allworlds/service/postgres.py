"""The journal in PostgreSQL: any number of processes share its learners.

**Positions.** An event's position comes from ``UPDATE learners SET seq = seq + n … RETURNING``, inside the transaction
that writes the event. The row stays locked until the commit, so positions have no gaps and become visible in their
order. (Numbers of a sequence do not: a transaction that took 7 can commit after one that took 8, and whoever read up to
8 in between would never see 7.) Whoever polls ``position`` and reads ``events`` misses nothing.

**Decisions** need no order, only uniqueness: ``INSERT … ON CONFLICT DO NOTHING``, and the loser reads the winner's row.

**Notifications** tell other processes of new learners, changes of the arms and keys, so that they need not wait until
they ask. They are a hint: one can be lost with its connection. Outcomes have none, because PostgreSQL lets only one
transaction with a notification commit at a time.

How statements get to the server, and what a transaction takes for granted: :mod:`allworlds.service.postgres_session`.
"""
# ruff: noqa: D102 - the protocol says what the methods of a journal do

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from allworlds.service.journal import (
    KEYS,
    STRAYS,
    AlreadyThere,
    DecisionRow,
    EventRow,
    KeyRow,
    LearnerRow,
    Outrun,
    Position,
    stray,
)
from allworlds.service.postgres_session import Session
from allworlds.service.postgres_sql import (
    BATCH,
    DECISION,
    END_DECISIONS,
    EVENT,
    INSERT_DECISIONS,
    INSERT_EVENTS,
    KEY,
    LEARNER,
    LOCK,
    POSITION,
    STREAM,
    TELL,
    TIME,
    WITH_DECISION,
    arrays,
    endings,
    moved,
)

if TYPE_CHECKING:
    import psycopg

PAGE = 1000
"""Rows that ``stream`` fetches at a time."""


class PostgresJournal(Session):
    """The journal at ``url``.

    Parameters
    ----------
    clock:
        The time in seconds since 1970; by default that of the database.
    upgrade:
        Whether to bring an older database up to date: see :mod:`allworlds.service.schema`.
    wary:
        Seconds after another process has written in which nothing is taken for granted.
    """

    shared = waits = True

    # -- learners ------------------------------------------------------------------------------------------------------

    def add_learner(self, row: LearnerRow) -> None:
        values = ", ".join(["%s"] * len(row))
        statement = f"INSERT INTO learners ({LEARNER}) VALUES ({values}) ON CONFLICT (name) DO NOTHING"
        if not self._rows(statement + " RETURNING 1", row):
            raise AlreadyThere(f"there is already a learner {row.name!r}")
        self._execute(TELL, (row.name,))

    def learner(self, name: str) -> LearnerRow | None:
        rows = self._rows(f"SELECT {LEARNER} FROM learners WHERE name = %s", (name,))
        return LearnerRow._make(rows[0]) if rows else None

    def learners(self) -> list[LearnerRow]:
        rows = self._rows(f'SELECT {LEARNER} FROM learners ORDER BY name COLLATE "C"')
        return [LearnerRow._make(row) for row in rows]

    def archive(self, name: str, at: float) -> None:
        if name in self._seen:
            self._seen[name] = self._seen[name]._replace(archived_at=at)
        self._known.pop(name, None)
        self._execute("UPDATE learners SET archived_at = %s WHERE name = %s", (at, name))

    def lock(self, name: str) -> Position:
        position = self._stands(name, LOCK)
        if self._inside:
            self._locked.add(name)
        return position

    def position(self, name: str) -> Position:
        return self._stands(name, "")

    def _stands(self, name: str, lock: str) -> Position:
        """Where a learner stands: as it did, to be checked by the server, or as the server says."""
        known = self._known.get(name)
        if self._draft is not None:
            if name not in self._draft.taken:
                self._draft.taken[name] = known or Position._make(self._one(POSITION, (name,)))
            return self._draft.positions()[name]
        position = Position._make(self._one(POSITION + lock, (name,)))
        if known is not None and position != known:
            self._wary_until = time.monotonic() + self._wary
        if self._inside:
            self._seen[name] = position
        return position

    def advance(self, name: str, n: int, epochs: int = 0) -> int:
        if self._draft is not None:
            self._draft.moves[name] = n, epochs
            return self._draft.taken[name].seq + 1
        statement = "UPDATE learners SET seq = seq + %s, epoch = epoch + %s WHERE name = %s RETURNING seq"
        if name not in self._locked:
            self._seen.pop(name, None)
            self._known.pop(name, None)
            return int(self._one(statement, (n, epochs, name))[0]) - n + 1
        self._execute(statement, (n, epochs, name))  # nobody else can move it: no need to wait for the answer
        self._seen[name] = moved(self._seen[name], n, epochs)
        return self._seen[name].seq - n + 1

    # -- decisions -----------------------------------------------------------------------------------------------------

    def add_decisions(self, rows: Sequence[DecisionRow]) -> list[DecisionRow]:
        if self._draft is not None:
            if len(self._draft.decisions) + len(rows) > BATCH:
                raise Outrun("more decisions than one statement can number")
            self._draft.decisions += rows
            return list(rows)
        stored: dict[tuple[str, str], DecisionRow] = {}
        for first in range(0, len(rows), BATCH):
            batch = list(enumerate(rows[first : first + BATCH]))
            # in one order, so that two processes that insert the same ids cannot wait for each other
            batch.sort(key=lambda new: (new[1].learner, new[1].id, -new[0]))
            part = {(row.learner, row.id): (i, row) for i, row in batch}
            columns = arrays([(i, *row) for i, row in part.values()])
            added = set(self._rows(INSERT_DECISIONS, columns))
            stored |= {key: row for key, (_, row) in part.items() if key in added}
            for learner in {learner for learner, _ in part.keys() - added}:
                lost = [id for name, id in part.keys() - added if name == learner]
                stored |= {(learner, id): row for id, row in self.decisions(learner, lost).items()}
        return [stored[row.learner, row.id] for row in rows]

    def decisions(self, learner: str, ids: Iterable[str]) -> dict[str, DecisionRow]:
        statement = f"SELECT {DECISION} FROM decisions WHERE learner = %s AND id = ANY(%s)"
        rows = [DecisionRow._make(row) for row in self._rows(statement, (learner, list(ids)))]
        taken = None if self._draft is None else self._draft.taken.get(learner)
        if taken is not None and any(row.epoch > taken.epoch or (row.seq or 0) > taken.seq for row in rows):
            raise Outrun("another process has written")
        return {row.id: row for row in rows}

    def open_count(self, learner: str) -> int:
        statement = "SELECT count(*) FROM decisions WHERE learner = %s AND status = 'open'"
        return int(self._one(statement, (learner,))[0])

    def overdue(self, now: float, limit: int) -> list[DecisionRow]:
        statement = f"""SELECT {DECISION} FROM decisions
            WHERE status = 'open' AND deadline IS NOT NULL AND deadline < %s ORDER BY deadline LIMIT %s"""
        rows = [DecisionRow._make(row) for row in self._rows(statement, (now, limit))]
        return sorted(rows, key=lambda row: (row.learner, row.deadline, row.id))

    # -- events --------------------------------------------------------------------------------------------------------

    def add_events(self, rows: Sequence[EventRow]) -> None:
        if self._draft is not None:
            self._draft.events += rows
            return
        self._execute(INSERT_EVENTS, arrays(rows))
        for name in {row.learner for row in rows if row.decision is None}:
            self._execute(TELL, (name,))
        ended = endings(rows)
        if ended:
            self._execute(END_DECISIONS, [*arrays(ended), len(ended)])

    def events(self, learner: str, after: int, limit: int) -> list[tuple[EventRow, DecisionRow | None]]:
        statement = f"{WITH_DECISION} WHERE e.learner = %s AND e.seq > %s ORDER BY e.seq LIMIT %s"
        return [_pair(row) for row in self._rows(statement, (learner, after, limit))]

    def changes(self, learner: str) -> list[EventRow]:
        statement = f"""SELECT {EVENT} FROM events
            WHERE learner = %s AND kind IN ('add_arm', 'retire_arm') ORDER BY seq"""
        return [EventRow._make(row) for row in self._rows(statement, (learner,))]

    @contextmanager
    def view(self) -> Iterator[psycopg.Connection[Any]]:
        """A connection that sees the database as it is now, however long it reads; from any thread."""
        with self._lost(), contextlib.closing(self._connect()) as connection:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            connection.execute("SELECT set_config('idle_in_transaction_session_timeout', '0', true)")
            yield connection

    def stream(self, learner: str) -> Iterator[tuple[DecisionRow, EventRow | None]]:
        with self.view() as connection, connection.cursor(name="stream") as cursor:
            cursor.itersize = PAGE  # the rest waits on the server
            for row in cursor.execute(STREAM, (learner,)):
                decision, event = row[: len(DecisionRow._fields)], row[len(DecisionRow._fields) :]
                yield DecisionRow._make(decision), None if event[0] is None else EventRow._make(event)

    def forget(self, learner: str, seq: int) -> int:
        ended = "DELETE FROM events WHERE learner = %s AND seq <= %s AND kind IN ('outcome', 'void', 'expire')"
        emptied = """UPDATE decisions SET ticket = '', probabilities = NULL
            WHERE learner = %s AND seq <= %s AND ticket <> ''"""
        self._execute(emptied, (learner, seq))
        return len(self._rows(ended + " RETURNING 1", (learner, seq)))

    def fill(self, table: str, columns: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> int:
        """Write rows into an empty table, as a backup is read back, inside a transaction; return their number."""
        assert self._connection is not None
        if self._waiting:
            self._one(TIME)
        count = 0
        with self._lost(), self._connection.cursor() as cursor:
            with cursor.copy(f"COPY {table} ({', '.join(columns)}) FROM STDIN") as copy:
                for count, row in enumerate(rows, 1):  # noqa: B007 - it is returned
                    copy.write_row(row)
            if table == "decisions":
                cursor.execute(f"SELECT setval('decision_numbers', (SELECT max(number) + {BATCH} FROM decisions))")
        return count

    # -- snapshots and keys --------------------------------------------------------------------------------------------

    def snapshot(self, learner: str, base: bool = False) -> tuple[int, bytes] | None:
        statement = "SELECT seq, state FROM snapshots WHERE learner = %s AND base = %s"
        rows = self._rows(statement, (learner, int(base)))
        return (rows[0][0], rows[0][1]) if rows else None

    def save_snapshot(self, learner: str, seq: int, state: bytes, base: bool = False) -> None:
        statement = """INSERT INTO snapshots (learner, base, seq, state) VALUES (%s, %s, %s, %s)
            ON CONFLICT (learner, base) DO UPDATE SET seq = excluded.seq, state = excluded.state
            WHERE excluded.seq >= snapshots.seq"""
        self._execute(statement, (learner, int(base), seq, state))

    def problems(self) -> list[str]:
        return [stray(name) for (name,) in self._rows(STRAYS)]

    def keys(self) -> list[KeyRow]:
        return [KeyRow._make(row) for row in self._rows(f"SELECT {KEY} FROM keys ORDER BY created_at, id")]

    def add_key(self, row: KeyRow) -> None:
        self._execute(f"INSERT INTO keys ({KEY}) VALUES ({', '.join(['%s'] * len(row))})", row)
        self._execute(TELL, (KEYS,))

    def revoke_key(self, id: str, at: float) -> bool:
        statement = "UPDATE keys SET revoked_at = %s WHERE id = %s AND revoked_at IS NULL RETURNING 1"
        done = bool(self._rows(statement, (at, id)))
        self._execute(TELL, (KEYS,))
        return done


def _pair(row: tuple[Any, ...]) -> tuple[EventRow, DecisionRow | None]:
    event, decision = row[: len(EventRow._fields)], row[len(EventRow._fields) :]
    return EventRow._make(event), None if decision[0] is None else DecisionRow._make(decision)
