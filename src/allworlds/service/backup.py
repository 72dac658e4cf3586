"""Copies of a whole database: from a SQLite file or PostgreSQL into an empty one of either kind.

A backup is a database like any other: it can be verified and served. Restoring is the same copy in the other direction.
The source is read in one view, so a service may go on writing meanwhile; what is committed later is not in the copy.

It holds the secrets of the learners and the hashes of the keys: a new file can be read by its owner only.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from allworlds.foundation.errors import InvalidParameter, import_extra
from allworlds.service.journal import DecisionRow, EventRow, KeyRow, LearnerRow, Unavailable
from allworlds.service.postgres import PostgresJournal
from allworlds.service.schema import POSTGRES, prepare, sqlite_file

TABLES: dict[str, Sequence[str]] = {
    "learners": LearnerRow._fields,
    "decisions": ("number", *DecisionRow._fields),
    "events": EventRow._fields,
    "snapshots": ("learner", "base", "seq", "state"),
    "keys": KeyRow._fields,
}
PAGE = 1000
"""Rows written at a time."""


def back_up(source: str, target: str) -> dict[str, int]:
    """Copy the database at one URL into an empty one at another; return the number of rows of each table."""
    with _errors(source, target):
        if not source.startswith(POSTGRES) and not target.startswith(POSTGRES):
            return _copy_file(existing_file(source), _new_file(target))
        with _reader(source) as read, _writer(target) as write:
            return {table: write(table, read(table)) for table in TABLES}


def existing_file(url: str) -> Path:
    """The SQLite file of a URL; raise InvalidParameter if there is none."""
    file = Path(sqlite_file(url))
    if not file.is_file():
        raise InvalidParameter(f"the database is {str(file)!r}, which is not there; expected a file of allworlds")
    return file


def _new_file(url: str) -> Path:
    """A new, private file."""
    file = Path(sqlite_file(url))
    try:
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        raise InvalidParameter(f"{str(file)!r} is already there; expected the name of a new file") from None
    except OSError as problem:
        raise InvalidParameter(f"cannot write {str(file)!r}: {problem.strerror}; expected a new file") from None
    return file


def _copy_file(source: Path, target: Path) -> dict[str, int]:
    """All pages, by SQLite's own backup, which waits for no writer."""
    with contextlib.closing(sqlite3.connect(source)) as old, contextlib.closing(sqlite3.connect(target)) as new:
        new.execute("PRAGMA synchronous = EXTRA")
        old.backup(new)
        return {table: new.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in TABLES}


@contextlib.contextmanager
def _reader(url: str) -> Iterator[Any]:
    """A function from a table's name to its rows, all from one view of the database."""
    select = {table: f"SELECT {', '.join(columns)} FROM {table}" for table, columns in TABLES.items()}
    if not url.startswith(POSTGRES):
        with contextlib.closing(sqlite3.connect(existing_file(url), isolation_level=None)) as old:
            prepare(old.execute, "sqlite")
            old.execute("BEGIN")
            yield lambda table: old.execute(select[table])
        return
    journal = PostgresJournal(url)
    with contextlib.closing(journal), journal.view() as postgres:

        def read(table: str) -> Iterator[tuple[Any, ...]]:
            with postgres.cursor(name=table) as cursor:
                yield from cursor.execute(select[table])

        yield read


@contextlib.contextmanager
def _writer(url: str) -> Iterator[Any]:
    """A function that writes all rows of a table and counts them; everything is committed together."""
    if url.startswith(POSTGRES):
        with contextlib.closing(PostgresJournal(url)) as journal, journal.transaction():
            if journal.learners() or journal.keys():
                raise InvalidParameter("the target holds learners or keys; expected an empty database")
            yield lambda table, rows: journal.fill(table, TABLES[table], rows)
        return
    with contextlib.closing(sqlite3.connect(_new_file(url), isolation_level=None)) as new:
        new.execute("PRAGMA synchronous = EXTRA")
        prepare(new.execute, "sqlite")
        new.execute("BEGIN")

        def write(table: str, rows: Iterator[tuple[Any, ...]]) -> int:
            statement = (
                f"INSERT INTO {table} ({', '.join(TABLES[table])}) VALUES ({', '.join('?' * len(TABLES[table]))})"
            )
            count = 0
            while page := list(islice(rows, PAGE)):
                new.executemany(statement, page)
                count += len(page)
            return count

        yield write
        new.execute("COMMIT")


@contextlib.contextmanager
def _errors(source: str, target: str) -> Iterator[None]:
    kinds: tuple[type[Exception], ...] = (sqlite3.Error,)
    if source.startswith(POSTGRES) or target.startswith(POSTGRES):
        kinds = (*kinds, import_extra("psycopg", "postgres", "a database in PostgreSQL needs").Error)
    try:
        yield
    except kinds as problem:
        raise Unavailable(f"the backup failed: {str(problem).strip().splitlines()[0]}; it is not complete") from problem
