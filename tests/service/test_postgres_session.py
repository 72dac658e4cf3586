"""What a process takes for granted while it is alone with a learner, in how few round trips, and hints from others."""

# ruff: noqa: PT012 - a transaction is several statements, and its end raises

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from allworlds.service import postgres as postgres_module
from allworlds.service import transaction as transaction_module
from allworlds.service.calls import Call
from allworlds.service.journal import KEYS, DecisionRow, EventRow, KeyRow, LearnerRow, Outrun
from allworlds.service.live import Live
from allworlds.service.postgres import PostgresJournal
from allworlds.service.postgres_sql import SAME_TIME
from cut_wire import wire
from postgres_server import PostgresServer
from service_stores import NAME, PRICES, Store, ask, at_once, bytes_of, decision, outcome, replay, status

psycopg = pytest.importorskip("psycopg", reason="needs psycopg; try pip install 'allworlds[postgres]'")


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


def test_more_decisions_than_one_statement_can_number_are_written_step_by_step(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_module, "BATCH", 3)
    mine = PostgresJournal(url, wary=0.0)
    with mine.transaction():
        mine.lock(NAME)
    with mine.transaction(optimistic=True):
        mine.lock(NAME)
        mine.add_decisions([decision(id) for id in "abc"])
    with pytest.raises(Outrun), mine.transaction(optimistic=True):
        mine.lock(NAME)
        mine.add_decisions([decision(id) for id in "defg"])
    assert mine.open_count(NAME) == 3
    mine.close()


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


@pytest.mark.parametrize(("cut", "written"), [("before", 0), ("after", 1)])
def test_a_decision_without_an_id_whose_answer_is_lost_is_made_once(
    postgres: PostgresServer, cut: str, written: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgres.new_database()
    with tempfile.TemporaryDirectory(prefix="wire-") as folder, wire(postgres.folder, Path(folder)) as line:
        near = url.replace(str(postgres.folder), folder)
        store = Store(lambda clock: PostgresJournal(near, clock=clock, wary=0.0))
        engine = store.start(snapshot_every=1)
        ask(engine.create(PRICES))
        first = ask(engine.choose("prices", "a"))
        journal, outside = store.journals[0], PostgresJournal(url)
        begin, found = journal._begin, []
        monkeypatch.setattr(journal, "_begin", lambda: found.append(outside.position("prices").seq) or begin())
        losses = dict.fromkeys(first["observe"], 0.5)
        calls = [Call("choose", "prices", {}), Call("observe", "prices", {"id": "a", "losses": losses})]
        line.cut = cut  # type: ignore[assignment]
        engine._run(calls)
        assert [call.error for call in calls] == [None, None]
        assert found == [written]  # when it was done again
        made = calls[0].answer["id"]
        assert list(outside.decisions("prices", [made])) == [made]
        assert outside.open_count("prices") == 1  # no second one that nobody knows
        store.stop()
        outside.close()


def test_a_batch_of_decisions_and_outcomes_is_four_round_trips(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgres.new_database()
    store = Store(lambda clock: PostgresJournal(url, clock=clock))
    first = store.start()
    ask(first.create(PRICES))
    earlier = [ask(first.choose("prices", f"earlier {k}")) for k in range(5)]
    journal, sent = store.journals[0], []
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
    store.stop()


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


def test_what_was_found_wrong_before_a_batch_was_done_again_is_forgotten(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgres.new_database()
    store = Store(lambda clock: PostgresJournal(url, clock=clock, wary=0.0))
    first, second = store.start(), store.start()
    ask(first.create(PRICES))
    ask(second.choose("prices", "old"))
    answer = ask(first.choose("prices", "new"))
    journal = store.journals[1]
    read = journal.decisions

    def too_early(learner: str, ids: list[str]) -> dict[str, DecisionRow]:
        if journal._draft is None:
            return read(learner, ids)
        ask(first.void("prices", "old"))
        return {}

    monkeypatch.setattr(journal, "decisions", too_early)
    assert status(second.observe("prices", "new", dict.fromkeys(answer["observe"], 0.5))) == 200
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
