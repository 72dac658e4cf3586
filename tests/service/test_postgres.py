"""The journal in PostgreSQL, on a real server: several processes at once, crashes, lost answers, unsafe settings."""

# ruff: noqa: PT012 - a transaction is several statements, and its end raises

from __future__ import annotations

import contextlib
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from allworlds.service import postgres as module
from allworlds.service import postgres_session as session
from allworlds.service import transaction as transaction_module
from allworlds.service.calls import Call
from allworlds.service.journal import KEYS, DecisionRow, EventRow, KeyRow, LearnerRow, Outrun, Position, Unavailable
from allworlds.service.live import Live
from allworlds.service.postgres import PostgresJournal
from allworlds.service.postgres_session import UnsafeServer
from allworlds.service.postgres_sql import SAME_TIME
from cut_wire import wire
from postgres_server import PostgresServer
from service_stores import PRICES, Store, ask, bytes_of, replay, status

psycopg = pytest.importorskip("psycopg", reason="needs psycopg; try pip install 'allworlds[postgres]'")

NAME = "prices"


def decision(id: str, round: int = 1, arm: str = "a") -> DecisionRow:
    return DecisionRow(NAME, id, "", 0, round, arm, "[]", 0.5, None, b"\0\1", None, 1.0, None)


def outcome(seq: int, id: str) -> EventRow:
    return EventRow(NAME, seq, "outcome", 2.0, id, b"\0" * 8, 0.25, None)


def add_learner(journal: PostgresJournal) -> None:
    with journal.transaction():
        journal.add_learner(LearnerRow(NAME, "{}", "{}", b"s" * 32, 1.0))


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    """A new database with one learner."""
    url = postgres.new_database()
    journal = PostgresJournal(url)
    add_learner(journal)
    journal.close()
    return url


@pytest.fixture
def journals(url: str) -> Iterator[list[PostgresJournal]]:
    """Four processes on one learner, as far as PostgreSQL can tell."""
    four = [PostgresJournal(url) for _ in range(4)]
    yield four
    for journal in four:
        journal.close()


def at_once(*work: object) -> None:
    """Run functions in threads of their own, and raise what they raise."""
    problems: list[BaseException] = []

    def run(function: object) -> None:
        try:
            function()  # type: ignore[operator]
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=run, args=(function,)) for function in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise problems[0]


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


def write_and_prune(journal: PostgresJournal) -> None:
    journal.add_events([outcome(journal.advance(NAME, 1), "theirs")])
    journal.forget(NAME, 1)


WRONG = {
    "others wrote": lambda other: other.add_events([outcome(other.advance(NAME, 1), "theirs")]),
    "others wrote and pruned": write_and_prune,
    "archived": lambda other: other.archive(NAME, 3.0),
    "the id is taken": lambda other: other.add_decisions([decision("mine", arm="b")]),
    "nothing": lambda other: None,
    "the clock jumped": lambda other: None,
}


@pytest.mark.parametrize("wrong", WRONG)
def test_an_optimistic_transaction_that_took_the_wrong_for_granted_writes_nothing(url: str, wrong: str) -> None:
    mine, other = PostgresJournal(url, wary=0.0), PostgresJournal(url)
    with other.transaction():
        other.add_decisions([decision("open"), decision("theirs")])
    with mine.transaction():
        mine.lock(NAME)
    mine._ahead += 3600.0 * (wrong == "the clock jumped")
    with other.transaction():
        WRONG[wrong](other)
    before = other.position(NAME)
    good = wrong == "nothing"
    with contextlib.nullcontext() if good else pytest.raises(Outrun), mine.transaction(optimistic=True):
        mine.lock(NAME)
        mine.add_decisions([decision("mine")])
        first = mine.advance(NAME, 1)
        mine.add_events([outcome(first, "open")])
        mine.save_snapshot(NAME, first, b"state")
    rows = other.decisions(NAME, ["open", "mine"])
    assert rows["open"].status == ("observed" if good else "open")
    assert ("mine" in rows) == (good or wrong == "the id is taken")
    assert other.position(NAME) == before._replace(seq=before.seq + good)
    assert other.snapshot(NAME) == ((1, b"state") if good else None)
    with mine.transaction():  # step by step it goes on
        assert mine.lock(NAME) == other.position(NAME)
    mine.close()
    other.close()


def test_decisions_are_not_made_from_what_was_learnt_before_others_wrote(url: str) -> None:
    mine, other = PostgresJournal(url, wary=0.0), PostgresJournal(url)
    with mine.transaction():
        mine.position(NAME)
    with other.transaction():
        other.add_decisions([decision("theirs")])
        other.add_events([outcome(other.advance(NAME, 1), "theirs")])
    with pytest.raises(Outrun), mine.transaction(optimistic=True):
        assert mine.position(NAME).seq == 0
        mine.add_decisions([decision("mine")])
    assert mine.decisions(NAME, ["mine"]) == {}
    mine.close()
    other.close()


def test_a_decision_that_another_process_ended_is_noticed_when_it_is_read(url: str) -> None:
    mine, other = PostgresJournal(url, wary=0.0), PostgresJournal(url)
    with mine.transaction():
        mine.add_decisions([decision("open")])
        mine.lock(NAME)
    with other.transaction():
        other.add_events([outcome(other.advance(NAME, 1), "open")])
    with pytest.raises(Outrun), mine.transaction(optimistic=True):
        mine.lock(NAME)
        mine.decisions(NAME, ["open"])
    mine.close()
    other.close()


def test_an_optimistic_transaction_after_a_crash_of_the_server_is_done_again(
    postgres: PostgresServer, url: str
) -> None:
    mine = PostgresJournal(url, wary=0.0)
    with mine.transaction():
        mine.lock(NAME)
    postgres.stop("immediate")
    postgres.start()
    with pytest.raises(Outrun), mine.transaction(optimistic=True):
        mine.lock(NAME)
        mine.add_decisions([decision("a")])
    with mine.transaction():
        mine.add_decisions([decision("a")])
    assert mine.open_count(NAME) == 1
    mine.close()


def test_an_optimistic_transaction_that_takes_long_is_not_taken_for_a_jump_of_the_clock(url: str) -> None:
    mine = PostgresJournal(url, wary=0.0)
    with mine.transaction():
        mine.lock(NAME)
    with mine.transaction(optimistic=True):
        mine.lock(NAME)
        mine.add_decisions([decision("a")])
        time.sleep(1.2 * SAME_TIME)
    assert mine.open_count(NAME) == 1
    mine.close()


@pytest.mark.parametrize(("cut", "written"), [("before", 0), ("after", 1)])
def test_a_batch_of_a_process_that_is_alone_whose_answer_is_lost_is_done_again_and_counts_once(
    postgres: PostgresServer, cut: str, written: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgres.new_database()
    with tempfile.TemporaryDirectory(prefix="wire-") as folder, wire(postgres.folder, Path(folder)) as line:
        near = url.replace(str(postgres.folder), folder)
        store = Store(lambda clock: PostgresJournal(near, clock=clock, wary=0.0))
        engine = store.start(snapshot_every=1)  # so that each outcome has a COMMIT, where the wire is cut
        ask(engine.create(PRICES))
        answer = ask(engine.choose("prices", "a"))
        journal, outside = store.journals[0], PostgresJournal(url)
        begin, found = journal._begin, []
        monkeypatch.setattr(journal, "_begin", lambda: found.append(outside.position("prices").seq) or begin())
        line.cut = cut  # type: ignore[assignment]
        assert status(engine.observe("prices", "a", dict.fromkeys(answer["observe"], 0.5))) == 200
        assert found == [written]  # when it was done again
        assert status(engine.observe("prices", "a", dict.fromkeys(answer["observe"], 0.25))) == 409
        replayed = replay(outside, "prices")
        assert replayed.seq == 1
        assert bytes_of(replayed) == ask(engine.snapshot("prices"))
        store.stop()
        outside.close()


@pytest.fixture
def processes(postgres: PostgresServer) -> Iterator[Store]:
    """Several processes with an engine each."""
    url = postgres.new_database()
    store = Store(lambda clock: PostgresJournal(url, clock=clock))
    yield store
    store.stop()


def test_a_batch_of_decisions_and_outcomes_is_four_round_trips(
    processes: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = processes.start()
    ask(first.create(PRICES))
    earlier = [ask(first.choose("prices", f"earlier {k}")) for k in range(5)]
    journal, sent = processes.journals[0], []
    send = journal._send
    monkeypatch.setattr(journal, "_send", lambda statement, *more: sent.append(statement) or send(statement, *more))
    calls = [Call("choose", "prices", {"id": str(k)}) for k in range(5)]
    calls += [
        Call("observe", "prices", {"id": answer["id"], "losses": dict.fromkeys(answer["observe"], 0.5)})
        for answer in earlier
    ]
    first._run(calls)
    assert [call.error for call in calls] == [None] * 10
    assert [statement.split()[0] for statement in sent] == ["SELECT", "SELECT", "WITH", "COMMIT"]
    replayed = replay(journal, "prices")
    assert bytes_of(replayed) == ask(first.snapshot("prices"))
    assert replayed.seq == 5


def test_a_batch_of_a_process_that_is_alone_is_one_round_trip(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgres.new_database()
    store = Store(lambda clock: PostgresJournal(url, clock=clock, wary=0.0))
    engine = store.start()
    ask(engine.create(PRICES))
    answers = [ask(engine.choose("prices", f"earlier {k}")) for k in range(10)]
    journal, sent = store.journals[0], []
    send = journal._send
    monkeypatch.setattr(journal, "_send", lambda statement, *more: sent.append(statement) or send(statement, *more))
    for batch in (answers[:5], answers[5:]):
        calls = [Call("choose", "prices", {"id": f"after {answer['id']}"}) for answer in batch]
        calls += [
            Call("observe", "prices", {"id": answer["id"], "losses": dict.fromkeys(answer["observe"], 0.5)})
            for answer in batch
        ]
        engine._run(calls)
        assert [call.error for call in calls] == [None] * 10
    assert [statement.split()[:2] for statement in sent] == [["WITH", "taken"]] * 2
    assert bytes_of(replay(journal, "prices")) == ask(engine.snapshot("prices"))
    store.stop()


def test_a_decision_may_be_made_and_observed_in_one_batch(postgres: PostgresServer) -> None:
    url = postgres.new_database()
    store = Store(lambda clock: PostgresJournal(url, clock=clock, wary=0.0))
    engine = store.start()
    ask(engine.create(PRICES))
    calls = [
        Call("choose", "prices", {"id": "1", "available": ["d"]}),
        Call("observe", "prices", {"id": "1", "losses": {"d": 0.5}}),
    ]
    engine._run(calls)
    assert [call.error for call in calls] == [None] * 2
    assert ask(engine.decision("prices", "1"))["status"] == "observed"
    assert bytes_of(replay(store.journals[0], "prices")) == ask(engine.snapshot("prices"))
    store.stop()


def test_a_process_that_saw_others_write_takes_nothing_for_granted_for_a_while(url: str) -> None:
    mine, other = PostgresJournal(url, wary=0.0), PostgresJournal(url)

    def write(id: str) -> None:
        with other.transaction():
            other.add_decisions([decision(id)])
            other.add_events([outcome(other.advance(NAME, 1), id)])

    def is_wary() -> bool:
        with mine.transaction(optimistic=True):
            mine.lock(NAME)
            return mine._draft is None

    with mine.transaction():
        mine.lock(NAME)
    assert not is_wary()
    mine._wary = 60.0
    write("a")
    with pytest.raises(Outrun):
        is_wary()
    assert is_wary()
    mine._wary_until = 0.0
    assert not is_wary()
    write("b")
    with mine.transaction():
        mine.lock(NAME)
    assert is_wary()
    mine.close()
    other.close()


@pytest.mark.parametrize("wary", [0.0, 1e9])
def test_no_statement_of_a_batch_reads_a_whole_table_whatever_the_statistics_say(
    postgres: PostgresServer, wary: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgres.new_database()
    store = Store(lambda clock: PostgresJournal(url, clock=clock, wary=wary))
    engine = store.start(snapshot_every=1)
    ask(engine.create(PRICES))
    answer = ask(engine.choose("prices", "first"))
    journal, sent = store.journals[0], []
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET search_path = allworlds")
        connection.execute("ANALYZE")  # the tables are nearly empty, it says from now on
    send = journal._send
    monkeypatch.setattr(journal, "_send", lambda *what: sent.extend([*journal._waiting, what]) or send(*what))
    ask(engine.choose("prices", "second"))
    ask(engine.observe("prices", "first", dict.fromkeys(answer["observe"], 0.5)))
    ask(engine.choose("prices", "first"))
    assert journal._connection is not None
    for statement, *parameters in sent:
        if statement.startswith(("SELECT", "WITH", "INSERT", "UPDATE")):
            plan = "\n".join(line for (line,) in journal._connection.execute(f"EXPLAIN {statement}", *parameters))
            assert "Seq Scan" not in plan, plan
    statements = {statement.split()[0] for statement, *_ in sent}
    assert statements >= {"WITH", "INSERT", "COMMIT"} | ({"UPDATE"} if wary else set())
    store.stop()


def test_a_learner_that_moves_while_a_process_reads_it_for_the_first_time_is_read_again(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgres.new_database()
    store = Store(lambda clock: PostgresJournal(url, clock=clock, wary=0.0))
    first, second = store.start(), store.start()
    assert second.ready.wait(60)
    ask(first.create(PRICES))
    one, two = (ask(first.choose("prices", id)) for id in ("one", "two"))
    read, times = transaction_module.load, []

    def slowly(journal: PostgresJournal, row: LearnerRow) -> Live:
        if not times:
            ask(first.observe("prices", "one", dict.fromkeys(one["observe"], 0.5)))
        times.append(row.name)
        return read(journal, row)

    monkeypatch.setattr(transaction_module, "load", slowly)
    assert status(second.observe("prices", "two", dict.fromkeys(two["observe"], 0.5))) == 200
    assert times == ["prices"] * 2
    assert bytes_of(replay(store.journals[0], "prices")) == ask(second.snapshot("prices"))
    store.stop()


def test_a_decision_under_arms_that_a_process_does_not_know_yet_can_be_observed_there(
    postgres: PostgresServer,
) -> None:
    url = postgres.new_database()
    store = Store(lambda clock: PostgresJournal(url, clock=clock, wary=0.0))
    first, second = store.start(), store.start()
    ask(first.create(PRICES))
    ask(second.choose("prices", "old"))
    ask(first.add_arm("prices", "e", ["d"]))
    answer = ask(first.choose("prices", "new", available=["e"]))
    assert status(second.observe("prices", "new", dict.fromkeys(answer["observe"], 0.5))) == 200
    assert bytes_of(replay(store.journals[0], "prices")) == ask(second.snapshot("prices"))
    store.stop()


@pytest.mark.parametrize("wary", [0.0, 0.02])
def test_processes_that_outrun_each_other_lose_nothing_and_agree(postgres: PostgresServer, wary: float) -> None:
    url = postgres.new_database()
    store = Store(lambda clock: PostgresJournal(url, clock=clock, wary=wary))
    engines = [store.start(snapshot_every=20) for _ in range(3)]
    ask(engines[0].create(PRICES))

    def work(who: int) -> None:
        for k in range(40):
            id = f"{k}" if k % 4 == 0 else f"{who}-{k}"  # every fourth is everybody's
            mine, other = engines[who], engines[(who + k) % 3]
            answer = ask(mine.choose("prices", id))
            assert ask(other.choose("prices", id)) == answer
            losses = dict.fromkeys(answer["observe"], 0.25 * (k % 4))
            assert status(other.observe("prices", id, losses)) == 200
            assert status(mine.observe("prices", id, losses)) == 200
            assert status(mine.observe("prices", id, dict.fromkeys(losses, 0.875))) == 409

    at_once(*(lambda who=who: work(who) for who in range(3)))
    replayed = replay(store.journals[0], "prices")
    assert replayed.seq == 10 + 3 * 30
    for engine in engines:
        ask(engine._ask("recount"))
        assert ask(engine.snapshot("prices")) == bytes_of(replayed)
    store.stop()


def test_a_hint_comes_of_learners_arms_and_keys_also_after_its_connection_broke(url: str) -> None:
    listener, other = PostgresJournal(url), PostgresJournal(url)
    heard: list[str] = []
    listener.listen(heard.append)

    def hears(what: str, change: Callable[[], object]) -> bool:
        wait_for(lambda: other._one("SELECT count(*) FROM pg_stat_activity WHERE query = 'LISTEN allworlds'")[0])
        heard.clear()
        with other.transaction():
            change()
        return wait_for(lambda: what in heard)

    add = LearnerRow("new", "{}", "{}", b"s" * 32, 1.0)
    assert hears("new", lambda: other.add_learner(add))
    other._rows(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = 'LISTEN allworlds' "
        "AND datname = current_database()"
    )
    assert wait_for(lambda: not other._one("SELECT count(*) FROM pg_stat_activity WHERE query = 'LISTEN allworlds'")[0])
    assert hears(NAME, lambda: other.add_events([EventRow(NAME, other.advance(NAME, 1), "archive", 1.0)]))
    assert hears(KEYS, lambda: other.add_key(KeyRow("k", b"h", "read", None, "", 1.0)))
    assert hears(KEYS, lambda: other.revoke_key("k", 2.0))
    listener.close()
    other.close()


def wait_for(true: Callable[[], object], seconds: float = 20.0) -> bool:
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.01)
    return bool(true())


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
