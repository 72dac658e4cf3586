"""The tables of the journal, in numbered versions, the same for SQLite and PostgreSQL; and which journal a URL means.

Each migration leads from one version to the next; an empty database has version 0. A database that is older than this
package is left alone until ``allworlds db upgrade``, which runs the missing migrations in one transaction. A newer one
is refused: an older program must not write to it.

Two rules of the service are kept by the database itself, whatever a program does: an id is decided once (``UNIQUE
(learner, id)``), and a decision ends once (``events_by_decision``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from urllib.parse import unquote

from allworlds.foundation.checks import shorten
from allworlds.foundation.errors import AllWorldsError, InvalidParameter
from allworlds.service.journal import SchemaTooNew

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allworlds.service.journal import Journal

Dialect: TypeAlias = Literal["sqlite", "postgresql"]
Execute: TypeAlias = Callable[[str], Any]
"""Run one statement outside a transaction of Python's; returns a cursor with ``fetchone``."""
Migration: TypeAlias = Sequence[str]
"""Statements; what is in braces is replaced by what the database calls it (``TYPES``)."""

TYPES: dict[Dialect, dict[str, str]] = {
    "sqlite": {
        "integer": "INTEGER",
        "real": "REAL",
        "blob": "BLOB",
        "number": "INTEGER PRIMARY KEY",
        "decision_numbers": "",
    },
    "postgresql": {
        "integer": "bigint",
        "real": "double precision",
        "blob": "bytea",
        "number": "bigint NOT NULL",
        "decision_numbers": "CREATE SEQUENCE decision_numbers INCREMENT 4096",
    },
}

FIRST: Migration = (
    "{decision_numbers}",
    """CREATE TABLE learners (
        name TEXT PRIMARY KEY, body TEXT NOT NULL, rule TEXT NOT NULL, secret {blob} NOT NULL,
        created_at {real} NOT NULL, archived_at {real}, seq {integer} NOT NULL, epoch {integer} NOT NULL)""",
    """CREATE TABLE decisions (
        number {number},
        learner TEXT NOT NULL, id TEXT NOT NULL, segment TEXT NOT NULL, epoch {integer} NOT NULL,
        round {integer} NOT NULL, arm TEXT NOT NULL, ticket TEXT NOT NULL, probability {real} NOT NULL,
        clique_probability {real}, probabilities {blob}, available TEXT, created_at {real} NOT NULL, deadline {real},
        status TEXT NOT NULL, seq {integer}, UNIQUE (learner, id))""",
    "CREATE INDEX decisions_open ON decisions (learner) WHERE status = 'open'",
    "CREATE INDEX decisions_due ON decisions (deadline) WHERE status = 'open' AND deadline IS NOT NULL",
    """CREATE TABLE events (
        learner TEXT NOT NULL, seq {integer} NOT NULL, kind TEXT NOT NULL, at {real} NOT NULL, decision TEXT,
        losses {blob}, held_back {real} NOT NULL, body TEXT, PRIMARY KEY (learner, seq))""",
    "CREATE UNIQUE INDEX events_by_decision ON events (learner, decision) WHERE decision IS NOT NULL",
    "CREATE INDEX events_of_arms ON events (learner, seq) WHERE kind IN ('add_arm', 'retire_arm')",
    """CREATE TABLE snapshots (
        learner TEXT NOT NULL, base {integer} NOT NULL, seq {integer} NOT NULL, state {blob} NOT NULL,
        PRIMARY KEY (learner, base))""",
    """CREATE TABLE keys (
        id TEXT PRIMARY KEY, hash {blob} NOT NULL, scopes TEXT NOT NULL, learner TEXT, label TEXT NOT NULL,
        created_at {real} NOT NULL, revoked_at {real})""",
)

POSTGRES = ("postgresql://", "postgres://")
MIGRATIONS: tuple[Migration, ...] = (FIRST,)
"""Entry ``i`` leads from version ``i`` to version ``i + 1``. Released entries never change; new ones are added."""

FOUND: dict[Dialect, str] = {
    "sqlite": "SELECT 1 FROM sqlite_master WHERE name = 'allworlds_schema'",
    # to_regclass would answer from a cache that may be older than the lock below
    "postgresql": "SELECT 1 FROM pg_tables WHERE schemaname = 'allworlds' AND tablename = 'allworlds_schema'",
}
LOCK: dict[Dialect, Sequence[str]] = {
    "sqlite": ("BEGIN IMMEDIATE",),
    "postgresql": ("BEGIN", "SELECT pg_advisory_xact_lock(7308604759847230815)"),
}


class SchemaTooOld(AllWorldsError):
    """The database was written by an earlier version of this package and has not been upgraded."""


def prepare(execute: Execute, dialect: Dialect, *, upgrade: bool = False) -> int:
    """Create the tables in an empty database, else check their version; return the version that was found.

    An older database raises :class:`SchemaTooOld`, unless ``upgrade`` is set; a newer one raises
    :class:`allworlds.service.journal.SchemaTooNew`. Two processes that start at once do not disturb each other.
    """
    found, wanted = version(execute, dialect), len(MIGRATIONS)
    if found == wanted:
        return found
    if found > wanted:
        raise SchemaTooNew(
            f"the database has schema version {found}; expected at most {wanted}, which this version of allworlds "
            "knows; try a newer allworlds"
        )
    if found and not upgrade:
        raise SchemaTooOld(
            f"the database has schema version {found}; expected {wanted}; try `allworlds db upgrade --database URL`, "
            "after `allworlds db backup`"
        )
    if not found and dialect == "sqlite" and execute("SELECT 1 FROM sqlite_master").fetchone() is not None:
        raise InvalidParameter("the database holds tables of something else; expected a new file, or one of allworlds")
    with _alone(execute, dialect):
        found = version(execute, dialect)  # another process may have been quicker
        if not found:
            execute("CREATE TABLE IF NOT EXISTS allworlds_schema (version INTEGER PRIMARY KEY)")
        for number in range(found, wanted):
            for statement in filter(None, (text.format(**TYPES[dialect]) for text in MIGRATIONS[number])):
                execute(statement)
            execute(f"INSERT INTO allworlds_schema VALUES ({number + 1})")
    return found


def version(execute: Execute, dialect: Dialect) -> int:
    """The schema version of a database; 0 if it is empty."""
    if execute(FOUND[dialect]).fetchone() is None:
        return 0
    return int(execute("SELECT coalesce(max(version), 0) FROM allworlds_schema").fetchone()[0])


@contextmanager
def _alone(execute: Execute, dialect: Dialect) -> Iterator[None]:
    """A transaction that only one process can be in."""
    for statement in LOCK[dialect]:
        execute(statement)
    try:
        yield
    except BaseException:
        execute("ROLLBACK")
        raise
    execute("COMMIT")


def open_journal(url: str, *, exclusive: bool = True, upgrade: bool = False) -> Journal:
    """The journal that a URL means: ``sqlite:///FILE``, ``postgresql://…`` or ``memory:``.

    A path that begins with a slash has four: ``sqlite:////srv/allworlds.db``. Without ``exclusive`` a SQLite file can
    be opened beside the process that serves it.
    """
    if url == "memory:":
        from allworlds.service.memory import MemoryJournal

        return MemoryJournal()
    if url.startswith(POSTGRES):
        from allworlds.service.postgres import PostgresJournal

        return PostgresJournal(url, upgrade=upgrade)
    from allworlds.service.sqlite import SQLiteJournal

    return SQLiteJournal(sqlite_file(url), exclusive=exclusive, upgrade=upgrade)


def sqlite_file(url: str) -> str:
    """The file of a URL such as ``sqlite:///allworlds.db``.

    >>> sqlite_file("sqlite:///my%20shop.db"), sqlite_file("sqlite:////srv/shop.db")
    ('my shop.db', '/srv/shop.db')
    """
    scheme, _, path = url.partition(":///")
    if scheme != "sqlite" or not path:
        shown = shorten(url.partition("@")[2] or url)  # what is before the @ may be a password
        raise InvalidParameter(f"database is {shown}; expected sqlite:///FILE, postgresql://… or memory:")
    return unquote(path)
