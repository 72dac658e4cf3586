"""The journal in PostgreSQL, on a real server: several processes at once, crashes, lost answers, unsafe settings."""

# ruff: noqa: PT012 - a transaction is several statements, and its end raises

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from allworlds.service import postgres as module
from allworlds.service import postgres_session as session
from allworlds.service.journal import EventRow, Outrun, Position, Unavailable
from allworlds.service.postgres import PostgresJournal
from allworlds.service.postgres_session import UnsafeServer
from cut_wire import wire
from postgres_server import PostgresServer
from service_stores import NAME, PRICES, Store, ask, at_once, decision, outcome, status

psycopg = pytest.importorskip("psycopg", reason="needs psycopg; try pip install 'allworlds[postgres]'")


@pytest.fixture
def journals(url: str) -> Iterator[list[PostgresJournal]]:
    """Four processes on one learner, as far as PostgreSQL can tell."""
    four = [PostgresJournal(url) for _ in range(4)]
    yield four
    for journal in four:
        journal.close()


def test_positions_have_no_gap_and_a_follower_that_polls_misses_no_event(journals: list[PostgresJournal]) -> None:
    *writers, follower = journals
    each = 40

    def write(journal: PostgresJournal, who: int) -> None:
        for number in range(each):
            id = f"{who}-{number}"
            with journal.transaction():
                journal.add_decisions([decision(id)])
            with journal.transaction():
                if number % 2:
                    journal.lock(NAME)
                first = journal.advance(NAME, 1)
                journal.add_events([outcome(first, id)])

    seen: list[int] = []

    def follow() -> None:
        while len(seen) < each * len(writers):
            after = seen[-1] if seen else 0
            if follower.position(NAME).seq > after:
                seen.extend(event.seq for event, _ in follower.events(NAME, after, 1000))

    at_once(follow, *(lambda j=j, i=i: write(j, i) for i, j in enumerate(writers)))
    assert seen == list(range(1, each * len(writers) + 1))


def test_an_id_is_decided_once_and_the_loser_reads_the_winners_row(journals: list[PostgresJournal]) -> None:
    answers: list[dict[str, str]] = [{} for _ in journals]

    def choose(who: int, journal: PostgresJournal) -> None:
        for start in range(0, 60, 6):
            ids = [f"id{number}" for number in range(start, start + 6)]
            asked = ids if who % 2 else ids[::-1]  # in another order: a deadlock if they were inserted as they come
            with journal.transaction():
                rows = journal.add_decisions([decision(id, arm=f"arm {who}") for id in asked])
            assert [row.id for row in rows] == asked
            answers[who] |= {row.id: row.arm for row in rows}

    at_once(*(lambda j=j, i=i: choose(i, j) for i, j in enumerate(journals)))
    assert len(answers[0]) == 60
    assert all(answer == answers[0] for answer in answers)
    assert {row.id: row.arm for row, _ in journals[0].stream(NAME)} == answers[0]


@pytest.mark.parametrize("optimistic", [False, True])
def test_batches_with_the_same_ids_in_other_orders_do_not_wait_for_each_other_in_a_circle(
    url: str, optimistic: bool
) -> None:
    blocker, one, other, watcher = four = [PostgresJournal(url, wary=0.0) for _ in range(4)]
    stored: list[dict[str, str]] = []
    failures: list[BaseException] = []

    def choose(journal: PostgresJournal, ids: str, arm: str) -> None:
        with journal.transaction():
            journal.position(NAME)
        assert ready.wait(10)
        try:
            with journal.transaction(optimistic=optimistic):
                journal.position(NAME)
                rows = journal.add_decisions([decision(id, arm=arm) for id in ids])
            stored.append({row.id: row.arm for row in rows})
        except Outrun as error:  # its ids were taken
            failures.append(error)

    def hold_the_middle() -> None:
        with blocker.transaction():
            blocker.add_decisions([decision("m")])
            ready.set()
            for _ in range(1000):  # until both wait, each with an id that the other wants
                if watcher._one(WAITING)[0] == 2:
                    return
                time.sleep(0.005)

    ready = threading.Event()
    at_once(hold_the_middle, lambda: choose(one, "amz", "b"), lambda: choose(other, "zma", "c"))
    if optimistic:
        assert [type(failure.__cause__.__cause__) for failure in failures] == [psycopg.errors.DivisionByZero] * 2
    else:
        assert stored[0] == stored[1]
    for journal in four:
        journal.close()


WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


def test_an_id_twice_in_one_batch_is_one_decision_and_the_first_counts(journals: list[PostgresJournal]) -> None:
    journal = journals[0]
    with journal.transaction():
        rows = journal.add_decisions([decision("b", 1), decision("a", 2), decision("b", 3)])
    assert [(row.id, row.round) for row in rows] == [("b", 1), ("a", 2), ("b", 1)]


def test_decisions_are_streamed_in_the_order_in_which_they_were_made(
    journals: list[PostgresJournal], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PAGE", 2)
    monkeypatch.setattr(module, "BATCH", 3)
    journal = journals[0]
    ids = ["z", "b", "y", "a", "x", "c", "w", "d"]
    with journal.transaction():
        journal.add_decisions([decision(id) for id in ids[:7]])
    with journal.transaction():
        journal.add_decisions([decision(ids[7])])
        journal.add_events([outcome(journal.advance(NAME, 1), "y")])
    streamed = list(journal.stream(NAME))
    assert [row.id for row, _ in streamed] == ids
    assert [(row.status, event and event.seq) for row, event in streamed if row.id in "yz"] == [
        ("open", None),
        ("observed", 1),
    ]


@pytest.mark.parametrize("pruned", [False, True])
def test_the_database_itself_refuses_to_end_a_decision_twice(journals: list[PostgresJournal], pruned: bool) -> None:
    one, other, *_ = journals
    with one.transaction():
        one.add_decisions([decision("a")])
        one.add_events([outcome(one.advance(NAME, 1), "a")])
        if pruned:
            assert one.forget(NAME, 1) == 1
    for second in (outcome(2, "a"), outcome(2, "unknown")):
        with pytest.raises(Unavailable), other.transaction():
            assert other.advance(NAME, 1) == 2
            other.add_events([second])
    assert other.position(NAME) == Position(1, 0, None)


def test_a_crash_of_the_server_undoes_the_open_transaction_and_the_journal_connects_again(
    postgres: PostgresServer, journals: list[PostgresJournal]
) -> None:
    journal, other, *_ = journals
    with journal.transaction():
        journal.add_decisions([decision("before")])
    with pytest.raises(Unavailable, match="ask again with the same id"), journal.transaction():
        journal.add_decisions([decision("inside")])
        postgres.stop("immediate")
        try:
            journal.add_decisions([decision("later")])
        finally:
            postgres.start()
    assert journal.decisions(NAME, ["before", "inside", "later"]).keys() == {"before"}
    with other.transaction():  # was idle during the crash, and does not notice
        other.add_decisions([decision("inside")])
    assert journal.open_count(NAME) == 2


def test_a_server_that_is_down_is_unavailable_until_it_is_back(postgres: PostgresServer, url: str) -> None:
    journal = PostgresJournal(url)
    postgres.stop()
    try:
        for _ in range(2):
            with pytest.raises(Unavailable):
                journal.position(NAME)
            with pytest.raises(Unavailable), journal.transaction():
                raise AssertionError("a transaction began without a server")
        with pytest.raises(Unavailable):
            PostgresJournal(url)
    finally:
        postgres.start()
    assert journal.position(NAME) == Position(0, 0, None)
    journal.close()


@pytest.mark.parametrize(("cut", "written"), [("before", False), ("after", True)])
def test_a_commit_whose_answer_is_lost_is_unknown_and_safe_to_repeat(
    postgres: PostgresServer, url: str, cut: str, written: bool
) -> None:
    with tempfile.TemporaryDirectory(prefix="wire-") as folder, wire(postgres.folder, Path(folder)) as line:
        journal = PostgresJournal(url.replace(str(postgres.folder), folder))
        line.cut = cut  # type: ignore[assignment]
        with pytest.raises(Unavailable), journal.transaction():
            journal.add_decisions([decision("a", arm="first")])
        assert bool(journal.decisions(NAME, ["a"])) is written
        with journal.transaction():
            (row,) = journal.add_decisions([decision("a", arm="second")])
        assert row.arm == ("first" if written else "second")
        journal.close()


def test_a_swallowed_error_inside_a_transaction_is_not_taken_for_a_commit(journals: list[PostgresJournal]) -> None:
    journal = journals[0]
    with pytest.raises(Unavailable, match=r"ROLLBACK|pipeline aborted"), journal.transaction():
        journal.add_decisions([decision("a")])
        with pytest.raises(Unavailable):
            journal.add_events([outcome(1, "a"), outcome(2, "a")])
            journal.position(NAME)  # what needs no answer is not waited for
    assert journal.decisions(NAME, ["a"]) == {}


def test_a_frozen_process_does_not_keep_the_learner_locked(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(session.SESSION, "idle_in_transaction_session_timeout", "300ms")
    frozen, other = PostgresJournal(url), PostgresJournal(url)
    with pytest.raises(Unavailable), frozen.transaction():
        first = frozen.advance(NAME, 1)
        frozen.add_events([EventRow(NAME, first, "archive", 1.0)])
        with other.transaction():  # waits for the lock until the server ends the frozen session
            assert other.lock(NAME).seq == 0
            assert other.advance(NAME, 1) == 1
            other.add_events([EventRow(NAME, 1, "archive", 1.0)])
    assert frozen.position(NAME).seq == 1
    frozen.close()
    other.close()


def test_the_clock_is_that_of_the_database_unless_a_test_brings_one(url: str) -> None:
    journal = PostgresJournal(url)
    with psycopg.connect(url) as connection:
        (before,) = connection.execute("SELECT extract(epoch FROM clock_timestamp())::float8").fetchone()
        now = journal.now()
        (after,) = connection.execute("SELECT extract(epoch FROM clock_timestamp())::float8").fetchone()
    assert before <= now <= after
    journal.close()
    other = PostgresJournal(url, clock=lambda: 5.0)
    assert other.now() == 5.0
    other.close()


def test_a_server_that_may_forget_commits_is_refused(postgres: PostgresServer, url: str) -> None:
    with pytest.raises(UnsafeServer, match="synchronous_commit is off; expected on"):
        PostgresJournal(f"{url}&options=-csynchronous_commit%3Doff")
    try:
        reload(postgres, "fsync", "off")
        with pytest.raises(UnsafeServer, match="fsync is off; expected on"):
            PostgresJournal(url)
    finally:
        reload(postgres, "fsync", "on")
    PostgresJournal(url).close()


def test_a_reload_cannot_make_a_running_journal_forgetful(postgres: PostgresServer, url: str) -> None:
    journal = PostgresJournal(url)
    try:
        reload(postgres, "synchronous_commit", "off")
        with pytest.raises(UnsafeServer):
            PostgresJournal(url)
        assert journal._one("SELECT current_setting('synchronous_commit')") == ("on",)
    finally:
        reload(postgres, "synchronous_commit", "on")
        journal.close()


def test_a_server_that_comes_back_forgetful_is_unavailable(postgres: PostgresServer, url: str) -> None:
    journal = PostgresJournal(url)
    try:
        reload(postgres, "fsync", "off")
        postgres.stop("immediate")
        postgres.start()
        with pytest.raises(Unavailable, match="fsync is off"):
            journal.position(NAME)
    finally:
        reload(postgres, "fsync", "on")
    assert journal.position(NAME).seq == 0
    journal.close()


def reload(server: PostgresServer, name: str, value: str) -> None:
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute(f"ALTER SYSTEM SET {name} = {value}")
        connection.execute("SELECT pg_reload_conf()")
    for _ in range(500):
        with psycopg.connect(server.url()) as connection:
            if connection.execute("SELECT current_setting(%s)", (name,)).fetchone() == (value,):
                return
        time.sleep(0.01)
    raise AssertionError(f"the server did not take {name} = {value}")


def test_a_password_is_never_in_a_message() -> None:
    with pytest.raises(Unavailable, match="is the server running") as problem:
        PostgresJournal("postgresql://me:hush@127.0.0.1:1/none")
    assert "hush" not in str(problem.value)


@pytest.fixture
def processes(postgres: PostgresServer) -> Iterator[Store]:
    """Several processes with an engine each."""
    url = postgres.new_database()
    store = Store(lambda clock: PostgresJournal(url, clock=clock))
    yield store
    store.stop()


def test_a_process_that_nobody_asks_follows_the_others(processes: Store) -> None:
    first, idle = processes.start(), processes.start()
    ask(first.create(PRICES))
    ask(idle.view("prices"))
    answer = ask(first.choose("prices"))
    ask(first.observe("prices", answer["id"], dict.fromkeys(answer["observe"], 0.5)))
    assert idle._lives["prices"].seq == 0
    ask(idle._ask("recount"))  # what it does every second
    assert idle._lives["prices"].seq == 1


def test_a_decision_that_another_process_ended_is_not_taken_for_open(processes: Store) -> None:
    first, second = processes.start(), processes.start()
    ask(first.create(PRICES))
    answer = ask(first.choose("prices", "1"))
    losses = dict.fromkeys(answer["observe"], 0.5)
    assert ask(second.choose("prices", "1")) == answer
    ask(second.observe("prices", "1", losses))
    assert ask(first.choose("prices", "1")) == answer
    assert ask(first.decision("prices", "1"))["status"] == "observed"
    assert status(first.observe("prices", "1", losses)) == 200
    assert status(first.observe("prices", "1", dict.fromkeys(losses, 0.25))) == 409
    assert status(first.void("prices", "1")) == 409
    assert ask(first.snapshot("prices")) == ask(second.snapshot("prices"))


def test_a_decision_that_another_process_expired_meanwhile_is_not_expired_again(
    processes: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = processes.start(), processes.start()
    ask(first.create(PRICES | {"deadline": 10}))
    ask(first.choose("prices", "1"))
    ask(second.view("prices"))
    processes.clock.now += 11
    journal = processes.journals[1]
    lock = journal.lock
    monkeypatch.setattr(journal, "lock", lambda name: ask(first.expire()) and lock(name))
    ask(second.expire())
    assert ask(second.decision("prices", "1"))["status"] == "expired"
    assert ask(second.view("prices"))["events"] == 1
