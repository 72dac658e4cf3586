"""A session with a PostgreSQL server: transactions in as few round trips as can be, and hints from other processes.

**Round trips.** An optimistic transaction takes for granted that no other process has written since this one looked. It
is one statement, :data:`~allworlds.service.postgres_sql.WRITE`, which checks that: positions, the time and that ids are
new. If something is not as it was taken for, nothing is written, it is :class:`~allworlds.service.journal.Outrun`, and
the transaction is done again step by step, as all are for :data:`WARY` seconds.

**Durability.** A server with ``fsync`` or ``synchronous_commit`` off is refused at every connect. If the answer to
COMMIT is lost, nobody knows whether it happened: that is :class:`~allworlds.service.journal.Unavailable`, and the
caller asks again with the same ids.

**Connections.** A broken one is replaced at the next call. A process that freezes or loses its network inside a
transaction would keep the learner's row locked; the server ends such a session after ``PATIENCE`` seconds.
"""
# ruff: noqa: D102 - the protocol says what the methods of a journal do

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from allworlds.foundation.errors import AllWorldsError, import_extra
from allworlds.service.journal import AWAY, Clock, Outrun, Position, SchemaTooNew, Unavailable
from allworlds.service.postgres_sql import TIME, Draft
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
ENDED_TWICE = "a decision had ended already when its event was written; nothing was written"


class UnsafeServer(AllWorldsError):
    """A PostgreSQL server whose settings allow it to lose what it has acknowledged."""


class Session:
    """What every statement of a :class:`~allworlds.service.postgres.PostgresJournal` goes through."""

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
            raise Outrun("another process may have written; this is to be done again") from error
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

    def _one(self, statement: str, parameters: Sequence[object] = ()) -> tuple[Any, ...]:
        rows = self._rows(statement, parameters)
        if not rows:
            raise KeyError(*parameters[-1:])
        return rows[0]

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


def _sentence(error: Exception) -> str:
    """The first line of the driver's message; it never holds the password."""
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__
