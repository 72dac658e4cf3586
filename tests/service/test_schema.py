"""Numbered versions of the tables: created once, upgraded from every earlier version, refused when newer."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from allworlds.foundation.errors import InvalidParameter
from allworlds.service import schema
from allworlds.service.journal import DecisionRow, Journal, LearnerRow, SchemaTooNew
from allworlds.service.memory import MemoryJournal
from allworlds.service.postgres import PostgresJournal
from allworlds.service.schema import SchemaTooOld, open_journal, sqlite_file
from allworlds.service.sqlite import SQLiteJournal
from postgres_server import PostgresServer

NEXT = ("ALTER TABLE learners ADD COLUMN colour TEXT", "CREATE TABLE hats (size {real})")
"""A made-up version after the present one."""
LEARNER = LearnerRow("prices", "{}", "{}", b"s" * 32, 1.5)
DECISION = DecisionRow("prices", "id", "", 0, 1, "a", "[]", 0.5, 0.75, b"\0\1", None, 1.0, None)

Sql = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/service.db"
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.new_database()


@pytest.fixture
def sql(url: str) -> Sql:
    """Statements past our own code."""

    def run(statement: str) -> list[tuple[Any, ...]]:
        if url.startswith("sqlite"):
            connection = sqlite3.connect(sqlite_file(url))
            try:
                rows = connection.execute(statement).fetchall()
                connection.commit()
            finally:
                connection.close()
            return rows
        import psycopg

        with psycopg.connect(url, options="-csearch_path=allworlds") as postgres:
            cursor = postgres.execute(statement)
            return cursor.fetchall() if cursor.description else []

    return run


def fill(journal: Journal) -> None:
    with journal.transaction():
        journal.add_learner(LEARNER)
        journal.add_decisions([DECISION])
    journal.close()


def check_rows(journal: Journal) -> None:
    assert journal.learner("prices") == LEARNER
    assert journal.decisions("prices", ["id"]) == {"id": DECISION}
    journal.close()


def test_a_new_database_gets_the_present_version_and_keeps_it(url: str, sql: Sql) -> None:
    fill(open_journal(url))
    check_rows(open_journal(url))
    assert sql("SELECT version FROM allworlds_schema ORDER BY version") == [
        (number + 1,) for number in range(len(schema.MIGRATIONS))
    ]


@pytest.mark.parametrize("earlier", range(1, len(schema.MIGRATIONS) + 1))
def test_every_earlier_version_is_upgraded_with_its_rows(
    url: str, sql: Sql, earlier: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = schema.MIGRATIONS
    monkeypatch.setattr(schema, "MIGRATIONS", now[:earlier])
    fill(open_journal(url))
    monkeypatch.setattr(schema, "MIGRATIONS", (*now, NEXT))
    with pytest.raises(SchemaTooOld, match=rf"version {earlier}; expected {len(now) + 1}; try `allworlds db upgrade"):
        open_journal(url)
    open_journal(url, upgrade=True).close()
    check_rows(open_journal(url))
    assert sql("SELECT colour FROM learners") == [(None,)]
    assert sql("SELECT * FROM hats") == []


def test_a_newer_schema_is_refused_with_a_sentence(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, NEXT))
        fill(open_journal(url))
    for upgrade in (False, True):
        with pytest.raises(SchemaTooNew, match="try a newer allworlds"):
            open_journal(url, upgrade=upgrade)


def test_a_migration_that_fails_changes_nothing(url: str, sql: Sql, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(open_journal(url))
    before = sql("SELECT * FROM allworlds_schema")
    with monkeypatch.context() as patch:
        patch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, (*NEXT, "CREATE TABLE learners (oops TEXT)")))
        with pytest.raises(Exception, match="learners"):
            open_journal(url, upgrade=True)
    assert sql("SELECT * FROM allworlds_schema") == before
    check_rows(open_journal(url))
    with pytest.raises(Exception, match="hats"):
        sql("SELECT * FROM hats")


def test_processes_that_start_at_once_create_the_tables_once(postgres: PostgresServer) -> None:
    url, problems = postgres.new_database(), []
    ready = threading.Barrier(6)

    def start() -> None:
        ready.wait()
        try:
            PostgresJournal(url).close()
        except Exception as problem:
            problems.append(problem)

    threads = [threading.Thread(target=start) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []


def test_a_url_says_which_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(open_journal("memory:"), MemoryJournal)
    monkeypatch.chdir(tmp_path)
    journal = open_journal("sqlite:///a%20file.db")
    assert isinstance(journal, SQLiteJournal)
    assert (tmp_path / "a file.db").exists()
    beside = open_journal("sqlite:///a%20file.db", exclusive=False)
    beside.close()
    journal.close()


@pytest.mark.parametrize("url", ["", "shop.db", "sqlite://", "sqlite:///", "mysql://me:hush@host/db", "memory"])
def test_another_url_is_refused_with_the_forms_that_are_expected(url: str) -> None:
    with pytest.raises(InvalidParameter, match=r"expected sqlite:///FILE, postgresql://… or memory:") as problem:
        open_journal(url)
    assert "hush" not in str(problem.value)


def test_a_database_of_something_else_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "other.db"
    connection = sqlite3.connect(file)
    connection.execute("CREATE TABLE recipes (title TEXT)")
    connection.close()
    with pytest.raises(InvalidParameter, match="holds tables of something else"):
        open_journal(f"sqlite:///{file}")
