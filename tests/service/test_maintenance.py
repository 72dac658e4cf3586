"""``allworlds db``: verify finds what is wrong, a backup is a database, and pruning keeps ids and what was learnt."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from allworlds.cli import app
from allworlds.foundation.errors import InvalidParameter
from allworlds.service.backup import back_up
from allworlds.service.engine import Engine
from allworlds.service.journal import DecisionRow, EventRow, Journal
from allworlds.service.maintenance import open_existing, prune
from allworlds.service.postgres import PostgresJournal
from allworlds.service.schema import open_journal, sqlite_file
from allworlds.service.sqlite import SQLiteJournal
from allworlds.service.verify import verify
from postgres_server import PostgresServer
from service_stores import PRICES, ask, status

N = 30
Sql = Callable[[str], None]


class Clock:
    """One second passes with each look."""

    now = 1000.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database with one learner whose arms changed, and decisions of every fate."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path}/service.db"
    else:
        server: PostgresServer = request.getfixturevalue("postgres")
        url = server.new_database()
    journal = open_with(url, Clock())
    with contextlib.closing(journal), Engine(journal, expire_every=1e6) as engine:
        ask(engine.create(PRICES))
        for number in range(N):
            choose_and_report(engine, number)
            if number == N // 3:
                ask(engine.add_arm("prices", "e", ["d"]))
            if number == N // 2:
                ask(engine.snapshot("prices"))
            if number == 2 * N // 3:
                ask(engine.retire_arm("prices", "a"))
    return url


def open_with(url: str, clock: Clock) -> Journal:
    if url.startswith("sqlite"):
        return SQLiteJournal(sqlite_file(url), clock=clock)
    return PostgresJournal(url, clock=clock)


def losses_of(answer: dict[str, Any], number: int) -> dict[str, float]:
    return dict.fromkeys(answer["observe"], number * 7 % 10 / 10)


def choose_and_report(engine: Engine, number: int) -> None:
    answer = ask(engine.choose("prices", f"id {number}", segment="evening" if number % 4 == 0 else None))
    if number % 5 == 0:
        ask(engine.void("prices", f"id {number}"))
    elif number % 5 < 4:
        ask(engine.observe("prices", f"id {number}", losses_of(answer, number)))


@pytest.fixture
def sql(url: str) -> Sql:
    """Damage the database past our own code."""

    def run(statement: str) -> None:
        if url.startswith("sqlite"):
            with contextlib.closing(sqlite3.connect(sqlite_file(url))) as connection, connection:
                connection.execute(statement)
        else:
            import psycopg

            with psycopg.connect(url, options="-csearch_path=allworlds") as postgres:
                postgres.execute(statement)

    return run


def problems_of(url: str) -> list[str]:
    with contextlib.closing(open_existing(url)) as journal:
        return [problem for verdict in verify(journal) for problem in verdict.problems]


def content(url: str) -> tuple[list[tuple[DecisionRow, EventRow | None]], list[EventRow], object]:
    with contextlib.closing(open_existing(url)) as journal:
        events = [event for event, _ in journal.events("prices", 0, 10**6)]
        return list(journal.stream("prices")), events, (journal.learners(), journal.snapshot("prices"))


def test_a_sound_database_has_no_problem(url: str) -> None:
    with contextlib.closing(open_existing(url)) as journal:
        (verdict,) = verify(journal)
        events = journal.position("prices").seq
    assert verdict == ("prices", N, events, ())


@pytest.mark.parametrize(
    ("damage", "found"),
    [
        ("DELETE FROM events WHERE seq = 5", "event 6 cannot be applied: event 6 follows event 4"),
        ("DELETE FROM events WHERE seq = (SELECT max(seq) FROM events)", "its last event is"),
        ("UPDATE learners SET seq = seq + 1", "its last event is"),
        ("UPDATE learners SET epoch = epoch + 1", "its arms changed 2 times; its row says 3"),
        ("UPDATE decisions SET status = 'open', seq = NULL WHERE id = 'id 1'", "ends decision 'id 1'"),
        (
            "UPDATE decisions SET status = 'voided', seq = NULL WHERE id = 'id 4'",
            "'id 4' is voided, but",
        ),
        ("UPDATE decisions SET seq = 1 WHERE id = 'id 4'", "'id 4' is open, but names event 1"),
        ("DELETE FROM decisions WHERE id = 'id 2'", "ends decision 'id 2', which is not there"),
        ("UPDATE events SET held_back = held_back + 0.25 WHERE decision = 'id 6'", "differs from the fold"),
        ("UPDATE events SET kind = 'void', losses = NULL WHERE decision = 'id 6'", "its row says observed"),
        ("UPDATE snapshots SET seq = 100000", "a snapshot is at position 100000"),
        ("UPDATE learners SET rule = '{}'", "its rule or the snapshot of its pruned events cannot be read"),
        ("UPDATE learners SET body = '{}'", "the request that created it is not there"),
        ("UPDATE learners SET archived_at = 5.0", "it was not archived by its events"),
        ("UPDATE learners SET name = 'other'", "rows of a learner 'prices', which is not there"),
        ("UPDATE snapshots SET seq = -1", "a snapshot is at position -1"),
        ("UPDATE decisions SET epoch = -1 WHERE id = 'id 4'", "is of epoch -1; there are 3"),
        ("UPDATE decisions SET epoch = 7 WHERE id = 'id 4'", "is of epoch 7; there are 3"),
        ("UPDATE decisions SET arm = 'z' WHERE id = 'id 4'", "the arm 'z', which there was not"),
        ("UPDATE decisions SET round = round + 1 WHERE id = 'id 4'", "another arm, round or probability"),
        ("UPDATE decisions SET probability = probability / 2 WHERE id = 'id 4'", "another arm, round or probability"),
        ("UPDATE decisions SET ticket = '' WHERE id = 'id 4'", "no ticket, though it is not pruned"),
        ("UPDATE decisions SET available = '[]' WHERE id = 'id 4'", "which was not available"),
        ("UPDATE decisions SET status = 'shut' WHERE id = 'id 4'", "is 'shut', which is unknown"),
        (
            "UPDATE decisions SET probabilities = (SELECT secret FROM learners) WHERE id = 'id 4'",
            "another probability than its vector",
        ),
        # after the last snapshot
        ("UPDATE events SET losses = NULL WHERE decision = 'id 28'", "(outcome) has other values than"),
        (
            "UPDATE events SET losses = (SELECT secret FROM learners) WHERE decision = 'id 28'",
            "(outcome) has other values than",
        ),
        ("UPDATE events SET held_back = -1 WHERE decision = 'id 28'", "(outcome) has other values than"),
    ],
)
def test_verify_finds_what_is_wrong(url: str, sql: Sql, damage: str, found: str) -> None:
    sql(damage)
    assert any(found in problem for problem in problems_of(url)), problems_of(url)


def test_verify_asks_the_database_whether_its_tables_are_whole(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/service.db"
    with contextlib.closing(open_journal(url)) as journal, Engine(journal) as engine:
        ask(engine.create(PRICES))
    with contextlib.closing(sqlite3.connect(tmp_path / "service.db")) as connection, connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("DELETE FROM sqlite_master WHERE name = 'decisions_due'")
    assert "SQLite finds" in problems_of(url)[0]
    result = CliRunner().invoke(app, ["db", "verify", "--database", url])
    assert result.exit_code == 1
    assert "1 learner, 1 problem" in result.stdout


def test_verify_finds_a_snapshot_that_is_one_bit_off(url: str) -> None:
    with contextlib.closing(open_journal(url)) as journal:
        saved = journal.snapshot("prices")
        assert saved is not None
        seq, state = saved
        with journal.transaction():
            journal.save_snapshot("prices", seq, state[:-1] + bytes([state[-1] ^ 1]))
    assert problems_of(url) == [f"the snapshot at position {seq} differs from the fold of its events"]


@pytest.mark.parametrize("target", ["sqlite", "postgresql"])
def test_a_backup_holds_everything_and_can_be_served(
    url: str, target: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    copy = f"sqlite:///{tmp_path}/copy.db"
    if target == "postgresql":
        copy = request.getfixturevalue("postgres").new_database(1)
    counts = back_up(url, copy)
    assert counts["decisions"] == N
    assert content(copy) == content(url)
    assert problems_of(copy) == []
    with contextlib.closing(open_journal(copy)) as journal, Engine(journal) as engine:
        answer = ask(engine.choose("prices", "after"))
        ask(engine.observe("prices", "after", losses_of(answer, 1)))
    rows, *_ = content(copy)
    assert rows[-1][0].id == "after"  # decisions are still in the order in which they were made
    with pytest.raises(InvalidParameter):
        back_up(url, copy)


def test_a_backup_beside_a_service_is_of_one_moment_and_private(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/service.db"
    with contextlib.closing(open_journal(url)) as journal, Engine(journal) as engine:
        ask(engine.create(PRICES))
        for number in range(5):
            choose_and_report(engine, number)
        back_up(url, f"sqlite:///{tmp_path}/copy.db")
        for number in range(5, 10):
            choose_and_report(engine, number)
    assert len(content(f"sqlite:///{tmp_path}/copy.db")[0]) == 5
    assert problems_of(f"sqlite:///{tmp_path}/copy.db") == []
    assert stat.S_IMODE((tmp_path / "copy.db").stat().st_mode) == 0o600


def test_a_database_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/typo.db"
    for work in (lambda: open_existing(url), lambda: prune(url, 1.0), lambda: back_up(url, f"{url}2")):
        with pytest.raises(InvalidParameter, match="is not there"):
            work()
    assert list(tmp_path.iterdir()) == []


def snapshots_of(engine: Engine) -> bytes:
    state: bytes = ask(engine.snapshot("prices"))
    return state


@pytest.fixture
def before(url: str) -> Iterator[tuple[bytes, float]]:
    """The state, and a time in the middle of the events."""
    with contextlib.closing(open_journal(url)) as journal, Engine(journal) as engine:
        state = snapshots_of(engine)
        events = [event for event, _ in journal.events("prices", 0, 10**6)]
    return state, events[len(events) // 2].at


def test_pruning_keeps_ids_their_answers_and_what_was_learnt(url: str, before: tuple[bytes, float]) -> None:
    state, middle = before
    rows, events, _ = content(url)
    gone = prune(url, middle)["prices"]
    assert gone == sum(event.at < middle and event.kind in ("outcome", "void") for event in events) > 5
    assert prune(url, middle) == {"prices": 0}
    assert problems_of(url) == []
    kept, left, _ = content(url)
    assert [event for event in events if event.at >= middle or event.decision is None] == left
    assert [row[:6] for row, _ in kept] == [row[:6] for row, _ in rows]
    with contextlib.closing(open_journal(url)) as journal, Engine(journal) as engine:
        assert snapshots_of(engine) == state
        for row, event in rows:
            answer = ask(engine.decision("prices", row.id))
            assert (answer["arm"], answer["probability"], answer["status"]) == (row.arm, row.probability, row.status)
            if row.status == "observed":
                again = engine.observe("prices", row.id, losses_of(answer, int(row.id[3:])))
                assert event is not None
                assert status(again) == (410 if event.at < middle else 200)
        answer = ask(engine.choose("prices", "after"))
        ask(engine.observe("prices", "after", losses_of(answer, 3)))
    assert problems_of(url) == []


def test_a_pruned_database_without_its_cache_is_read_from_what_pruning_left(
    url: str, sql: Sql, before: tuple[bytes, float]
) -> None:
    state, middle = before
    prune(url, middle)
    sql("DELETE FROM snapshots WHERE base = 0")
    with contextlib.closing(open_journal(url)) as journal, Engine(journal) as engine:
        assert snapshots_of(engine) == state


def test_everything_can_be_pruned(url: str, before: tuple[bytes, float]) -> None:
    prune(url, 1e12)
    assert problems_of(url) == []
    with contextlib.closing(open_journal(url)) as journal, Engine(journal) as engine:
        assert snapshots_of(engine) == before[0]


def test_an_idle_process_follows_after_another_one_pruned(postgres: PostgresServer) -> None:
    url = postgres.new_database()
    with contextlib.ExitStack() as stack:
        idle, busy = (
            stack.enter_context(Engine(stack.enter_context(contextlib.closing(open_journal(url))))) for _ in range(2)
        )
        ask(busy.create(PRICES))
        ask(idle.view("prices"))
        for number in range(10):
            choose_and_report(busy, number)
        prune(url, 1e12)
        assert ask(idle.state("prices"))["events"] == ask(busy.state("prices"))["events"]
        choose_and_report(idle, 11)
        assert snapshots_of(idle) == snapshots_of(busy)


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["db", *words])
    return result.exit_code, result.output


def test_the_commands_say_what_they_did_and_fail_with_a_sentence(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/service.db"
    journal = open_with(url, Clock())
    with contextlib.closing(journal), Engine(journal, expire_every=1e6) as engine:
        ask(engine.create(PRICES))
        for number in range(6):
            choose_and_report(engine, number)
        assert run("verify", "--database", url) == (
            0,
            "prices: 6 decisions, 5 events, 0 problems\n1 learner, 0 problems\n",
        )
        assert run("prune", "--before", "2000-01-01", "--database", url)[0] == 2  # it is being served
    assert run("upgrade", "--database", url) == (0, "schema version 1\n")
    code, said = run("backup", str(tmp_path / "copy.db"), "--database", url, "--json")
    assert (code, json.loads(said)["events"]) == (0, 5)
    assert run("prune", "--before", "2000-01-01", "--database", url) == (0, "prices: 5 events pruned\n")
    with contextlib.closing(sqlite3.connect(tmp_path / "copy.db")) as connection, connection:
        connection.execute("DELETE FROM events WHERE seq = 2")
    code, said = run("verify", "--database", f"sqlite:///{tmp_path}/copy.db")
    assert code == 1
    assert "event 3 follows event 1" in said
    code, said = run("verify", "--database", f"sqlite:///{tmp_path}/none.db")
    assert code == 2
    assert "is not there" in said
