"""The journal in PostgreSQL: any number of processes share its learners.

**Positions.** An event's position comes from ``UPDATE learners SET seq = seq + n … RETURNING``, inside the transaction
that writes the event. The row stays locked until the commit, so positions have no gaps and become visible in their
order. (Numbers of a sequence do not: a transaction that took 7 can commit after one that took 8, and whoever read up to
8 in between would never see 7.) Whoever polls ``position`` and reads ``events`` misses nothing.

**Decisions** need no order, only uniqueness: ``INSERT … ON CONFLICT DO NOTHING``, and the loser reads the winner's row.

**Round trips.** An optimistic transaction takes for granted that no other process has written since this one looked. It
is one statement, :data:`WRITE`, which checks that: positions, the time and that ids are new. If something is not as it
was taken for, nothing is written, it is :class:`Outrun`, and the transaction is done again step by step, as all are for
:data:`WARY` seconds after others were seen to write.

**Durability.** A server with ``fsync`` or ``synchronous_commit`` off is refused at every connect. If the answer to
COMMIT is lost, nobody knows whether it happened: that is :class:`Unavailable`, and the caller asks again with the same
ids.

**Notifications** (:meth:`PostgresJournal.listen`) tell other processes of new learners, changes of the arms and keys,
so that they need not wait until they ask. They are a hint: one can be lost with its connection. Outcomes have none,
because PostgreSQL lets only one transaction with a notification commit at a time.

**Connections.** A broken one is replaced at the next call. A process that freezes or loses its network inside a
transaction would keep the learner's row locked; the server ends such a session after ``PATIENCE`` seconds.
"""
# ruff: noqa: D102 - the protocol says what the methods of a journal do

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from allworlds.foundation.errors import AllWorldsError, import_extra
from allworlds.service.journal import (
    AWAY,
    KEYS,
    STRAYS,
    AlreadyThere,
    Clock,
    DecisionRow,
    EventRow,
    KeyRow,
    LearnerRow,
    Outrun,
    Position,
    SchemaTooNew,
    Unavailable,
    stray,
)
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
    Draft,
    arrays,
    endings,
    moved,
)
from allworlds.service.schema import SchemaTooOld, prepare

if TYPE_CHECKING:
    import psycopg

PATIENCE = 10
"""Seconds: to connect, to wait for a lock, and until an idle session inside a transaction is ended."""
CONNECT = {
    "application_name": "allworlds",
    "connect_timeout": PATIENCE,
    "keepalives_idle": PATIENCE,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 2000 * PATIENCE,
}
SESSION = {
    "search_path": "allworlds",
    "lock_timeout": f"{PATIENCE}s",
    "idle_in_transaction_session_timeout": f"{PATIENCE}s",
    "tcp_keepalives_idle": f"{PATIENCE}",
    "default_transaction_isolation": "read committed",  # so that the loser of a conflict sees the winner's row
}
PLANS = {
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "jit": "off",
    "plan_cache_mode": "force_generic_plan",
}
"""A batch looks up a few rows by their keys. Statistics of a table that has just been filled say that it is empty, and
the plan for that, which reads all of it, would be kept."""
WARY = 1.0
"""Seconds after another process was seen to write."""
PAGE = 1000
"""Rows that ``stream`` fetches at a time."""
ENDED_TWICE = "a decision had ended already when its event was written; nothing was written"


class UnsafeServer(AllWorldsError):
    """A PostgreSQL server whose settings allow it to lose what it has acknowledged."""


class PostgresJournal:
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

    def __init__(self, url: str, *, clock: Clock | None = None, upgrade: bool = False, wary: float = WARY) -> None:
        self._psycopg = import_extra("psycopg", "postgres", "a database in PostgreSQL needs")
        self._url, self._clock, self._upgrade, self._wary = url, clock, upgrade, wary
        self._guard, self._closed = threading.RLock(), threading.Event()
        self._inside = False
        self._waiting: list[tuple[str, Sequence[object]]] = []
        """Statements of this transaction that travel with the next one whose answer is needed."""
        self._draft: Draft | None = None
        """What an optimistic transaction will write."""
        self._began = self._ahead = 0.0
        """When this transaction began, and what the database's clock says beyond ours, both in seconds."""
        self._locked: set[str] = set()
        self._seen: dict[str, Position] = {}
        """Learners that this transaction has locked; where those stand that it has looked at."""
        self._known: dict[str, Position] = {}
        """Where learners stood at the end of the last transaction that looked at them."""
        self._wary_until = math.inf
        """When to begin to take things for granted, on our clock."""
        self._connection: psycopg.Connection[Any] | None = None
        with self._lost("is the server running, and is the URL right?"):
            self._connection = self._connect(PLANS)

    # -- connection ----------------------------------------------------------------------------------------------------

    def _connect(self, more: Mapping[str, str] = MappingProxyType({})) -> psycopg.Connection[Any]:
        """A new connection to a server that keeps its word, with our tables in it."""
        connection: psycopg.Connection[Any] = self._psycopg.connect(self._url, autocommit=True, **CONNECT)
        try:
            check_settings(connection)
            for name, value in {**SESSION, **more}.items():
                connection.execute("SELECT set_config(%s, %s, false)", (name, value))
            if connection.execute("SELECT to_regnamespace('allworlds')").fetchone() == (None,):
                with contextlib.suppress(self._psycopg.errors.UniqueViolation, self._psycopg.errors.DuplicateSchema):
                    connection.execute("CREATE SCHEMA allworlds")
            prepare(connection.execute, "postgresql", upgrade=self._upgrade)
        except BaseException:
            connection.close()
            raise
        return connection

    @contextmanager
    def _lost(self, advice: str = "ask again with the same id") -> Iterator[None]:
        """Turn what the driver raises into :class:`Unavailable`."""
        try:
            yield
        except self._psycopg.errors.DivisionByZero as error:
            raise Unavailable(ENDED_TWICE) from error
        except self._psycopg.Error as error:
            raise Unavailable(f"PostgreSQL failed: {_sentence(error)}; {advice}", AWAY) from error

    def _reconnect(self) -> psycopg.Connection[Any]:
        """A new connection for a service that is running: a server that became unsafe is one that is not there."""
        try:
            return self._connect(PLANS)
        except (UnsafeServer, SchemaTooNew, SchemaTooOld) as error:
            raise Unavailable(str(error), AWAY) from error

    def _execute(self, statement: str, parameters: Sequence[object] = ()) -> None:
        """A statement whose answer is not needed: inside a transaction it is sent with the next one."""
        if self._draft is not None:
            self._draft.further.append((statement, parameters))
        elif self._inside:
            self._waiting.append((statement, parameters))
        else:
            self._rows(statement, parameters)

    def _rows(self, statement: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """What a statement returns; outside a transaction, reading is tried again on a new connection."""
        with self._guard, self._lost():
            if not self._inside and (self._connection is None or self._connection.closed):
                self._connection = self._reconnect()
            assert self._connection is not None
            try:
                cursor = self._send(statement, parameters)
            except self._psycopg.OperationalError:
                if self._inside or not self._connection.closed or not statement.startswith("SELECT"):
                    raise
                self._connection = self._reconnect()  # the server was restarted since the last call
                cursor = self._send(statement, parameters)
            return cursor.fetchall() if cursor.description else []

    def _send(self, statement: str, parameters: Sequence[object] = ()) -> psycopg.Cursor[Any]:
        """Send a statement and those that wait before it, all at once, and wait for their answers.

        Nothing is sent before: a server in the middle of a group of statements does not count the session as idle, so
        it would not end that of a process that freezes there.
        """
        assert self._connection is not None
        waiting, self._waiting = self._waiting, []
        together = waiting and self._psycopg.Pipeline.is_supported()
        with self._connection.pipeline() if together else contextlib.nullcontext():
            for each in waiting:
                self._connection.execute(*each)
            return self._connection.execute(statement, parameters)

    @contextmanager
    def transaction(self, *, optimistic: bool = False) -> Iterator[None]:
        """Statements whose answer is not needed travel with the next one, and the last ones with COMMIT."""
        with self._guard:
            alive = self._connection is not None and not self._connection.closed
            if optimistic and alive and time.monotonic() > self._wary_until:
                with self._drafting():
                    yield
                return
            self._begin()
            try:
                yield
                self._commit()
                self._known |= self._seen
            except BaseException:
                self._roll_back()
                self._known.clear()
                raise
            finally:
                self._inside = False
                self._locked.clear()
                self._seen.clear()

    @contextmanager
    def _drafting(self) -> Iterator[None]:
        """A transaction that is written at its end, by one statement; meanwhile rows are read as they are.

        That is as good as reading them under a lock, since whatever ends a decision moves its learner. Whatever goes
        wrong, even if nobody knows whether it was written, is :class:`Outrun`: what has an id may be done twice.
        """
        draft = self._draft = Draft(time.monotonic() + self._ahead)
        try:
            yield
            write = draft.statement(None if self._clock else time.monotonic() + self._ahead)
            if draft.further:
                self._waiting = [("BEGIN", ()), write, *draft.further]
                self._commit()
            else:
                with self._lost():
                    self._send(*write)
            self._known |= draft.positions()
        except BaseException as error:
            self._roll_back()
            self._known.clear()
            if not isinstance(error, Unavailable):
                raise
            self._wary_until = time.monotonic() + self._wary
            raise Outrun(str(error)) from error
        finally:
            self._draft = None

    def _begin(self) -> None:
        """BEGIN and the time, in one round trip; on a new connection if the server was restarted since."""
        for attempt in (1, 2):
            if self._connection is None or self._connection.closed:
                with self._lost():
                    self._connection = self._reconnect()
            try:
                self._inside, self._waiting = True, [("BEGIN", ())]
                self._began = float(self._one(TIME)[0])
                self._ahead = self._began - time.monotonic()
                self._wary_until = min(self._wary_until, time.monotonic() + self._wary)
                return
            except Unavailable:
                self._roll_back()
                self._inside = False
                if attempt == 2 or not self._connection.closed:
                    raise

    def _commit(self) -> None:
        with self._lost():
            done = self._send("COMMIT").statusmessage
        if done != "COMMIT":  # an error in the transaction was swallowed
            raise Unavailable(f"PostgreSQL answered COMMIT with {done}; ask again with the same id")

    def _roll_back(self) -> None:
        """Leave the transaction; a connection that cannot is dropped, and then the server rolls back."""
        assert self._connection is not None
        self._waiting = []
        try:
            self._connection.execute("ROLLBACK")
        except self._psycopg.Error:
            self._connection.close()

    def close(self) -> None:
        self._closed.set()
        with self._guard:
            if self._connection is not None:
                self._connection.close()

    def now(self) -> float:
        if self._clock is not None:
            return self._clock()
        if self._draft is not None:
            return self._draft.began
        return self._began if self._inside else float(self._one(TIME)[0])

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

    def _one(self, statement: str, parameters: Sequence[object] = ()) -> tuple[Any, ...]:
        rows = self._rows(statement, parameters)
        if not rows:
            raise KeyError(*parameters[-1:])
        return rows[0]

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

    # -- notifications -------------------------------------------------------------------------------------------------

    def listen(self, hint: Callable[[str], object]) -> None:
        threading.Thread(target=self._listen, args=(hint,), name="allworlds-hints", daemon=True).start()

    def _listen(self, hint: Callable[[str], object]) -> None:
        """Pass on notifications until the journal is closed; without a server, try again every second."""
        while not self._closed.is_set():
            try:
                with self._psycopg.connect(self._url, autocommit=True, **CONNECT) as connection:
                    connection.execute("LISTEN allworlds")
                    while not self._closed.is_set():
                        for told in connection.notifies(timeout=1.0):
                            hint(told.payload)
            except self._psycopg.Error:
                self._closed.wait(1.0)


def check_settings(connection: psycopg.Connection[Any]) -> None:
    """Raise :class:`UnsafeServer` if the server may forget what it has acknowledged."""
    for name in ("fsync", "synchronous_commit"):
        (value,) = connection.execute("SELECT current_setting(%s)", (name,)).fetchone() or ("off",)
        if value == "off":
            raise UnsafeServer(
                f"PostgreSQL's setting {name} is off; expected on, because a power loss may otherwise undo what was "
                f"acknowledged; try `ALTER SYSTEM SET {name} = on` and `SELECT pg_reload_conf()`"
            )
        if name == "synchronous_commit":  # for this session, whatever a reload of the configuration says
            connection.execute("SELECT set_config(%s, %s, false)", (name, value))


def _pair(row: tuple[Any, ...]) -> tuple[EventRow, DecisionRow | None]:
    event, decision = row[: len(EventRow._fields)], row[len(EventRow._fields) :]
    return EventRow._make(event), None if decision[0] is None else DecisionRow._make(decision)


def _sentence(error: Exception) -> str:
    """The first line of the driver's message; it never holds the password."""
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__
