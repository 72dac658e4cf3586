"""What goes wrong inside the engine stays where it is: one call, one learner, one batch."""

from __future__ import annotations

import contextlib
import sqlite3
import stat
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from allworlds.foundation.errors import InvalidState
from allworlds.service import batch as batch_module
from allworlds.service import engine as engine_module
from allworlds.service import learner_verbs
from allworlds.service.calls import Call
from allworlds.service.engine import Engine
from allworlds.service.journal import Unavailable
from allworlds.service.live import Segment, load
from allworlds.service.memory import MemoryJournal
from allworlds.service.sqlite import SQLiteJournal
from service_stores import PRICES, Clock, Store, ask, bytes_of, replay, status


def outcome(answer: dict[str, Any], loss: float = 0.25) -> dict[str, float]:
    return dict.fromkeys(answer["observe"], loss)


def test_a_learner_that_is_asked_for_again_is_not_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    computed = []

    def slow(body: dict[str, Any]) -> Any:
        computed.append(body["name"])
        return make(body)

    make = engine_module.rule_from_body
    monkeypatch.setattr(engine_module, "rule_from_body", slow)
    with Engine(MemoryJournal()) as engine:
        # a client that gave up asks again while the first request is still being computed
        answers = [ask(future) for future in [engine.create(PRICES) for _ in range(3)]]
        assert status(engine.create(PRICES | {"deadline": 5})) == 409
    assert [created for _, created in answers] == [True, False, False]
    assert computed == ["prices"]


def test_an_engine_that_was_never_started_refuses_creations_when_it_stops() -> None:
    engine = Engine(MemoryJournal())
    future = engine.create(PRICES)
    engine.stop()
    with pytest.raises(Unavailable):
        ask(future)


def test_a_batch_waits_a_little_for_those_who_came_last_time_and_a_client_that_is_alone_never_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    journal = MemoryJournal()
    journal.waits = True
    engine = Engine(journal)  # its thread does not run: the batches are gathered here

    def gather(*now: str, later: str = "") -> tuple[list[str], float]:
        for name in now:
            engine._queue.put(Call("view", name))
        if later:
            threading.Timer(0.1, engine._queue.put, [Call("view", later)]).start()
        begin = time.monotonic()
        calls, _ = engine._gather(begin + 60.0)
        return [call.name for call in calls], time.monotonic() - begin

    monkeypatch.setattr(engine_module, "LINGER", 20.0)
    calls, seconds = gather("a")
    assert (calls, seconds < 10.0) == (["a"], True)
    calls, seconds = gather("a", "b", "c")
    assert (calls, seconds < 10.0) == (["a", "b", "c"], True)
    calls, seconds = gather("a", "b", later="c")  # and goes on as soon as they are three again
    assert (calls, 0.05 < seconds < 10.0) == (["a", "b", "c"], True)
    monkeypatch.setattr(engine_module, "LINGER", 0.2)
    for waits in (True, True, False):  # fewer and fewer are waited for
        calls, seconds = gather("a")
        assert (calls, seconds > 0.1) == (["a"], waits)
    journal.waits = False  # nothing is gained where a batch costs nothing
    engine._usual = 3
    monkeypatch.setattr(engine_module, "LINGER", 20.0)
    calls, seconds = gather("a")
    assert (calls, seconds < 10.0) == (["a"], True)


def test_learners_are_locked_in_one_order_so_that_processes_do_not_wait_for_each_other_in_a_circle(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    journal, names, locked = MemoryJournal(), [f"learner-{number}" for number in range(7)], []
    with Engine(journal) as engine:
        for name in names:
            ask(engine.create(PRICES | {"name": name}))
    journal.shared = True
    lock = journal.lock
    monkeypatch.setattr(journal, "lock", lambda name: locked.append(name) or lock(name))
    Engine(journal)._run([Call("void", name, {"id": "none"}) for name in reversed(names)])
    assert locked == names


def test_each_receiver_of_a_batch_gets_its_own_answers_also_where_another_one_is_gone() -> None:
    journal = MemoryJournal()
    with Engine(journal) as engine:
        ask(engine.create(PRICES))
    engine, seen, done = Engine(journal), [], threading.Event()

    def gone(calls: list[Call]) -> None:
        raise ConnectionError

    engine.submit([Call("choose", "prices", {"id": "a"})], gone)
    engine.submit([Call("choose", "prices", {"id": "b"})], lambda calls: seen.append(calls))
    engine.submit([Call("choose", "prices", {"id": "c"})], lambda calls: (seen.append(calls), done.set()))
    with engine:  # all in the first batch
        assert done.wait(60)
        assert [[call.answer["id"] for call in calls] for calls in seen] == [["b"], ["c"]]


def test_a_caller_who_left_does_not_keep_the_answers_of_others() -> None:
    with Engine(MemoryJournal()) as engine:
        ask(engine.create(PRICES))
        begun, go_on = threading.Event(), threading.Event()
        engine.submit([Call("ping")], lambda _: (begun.set(), go_on.wait()))  # the next two are one batch
        begun.wait()
        left, other = engine.choose("prices", "left"), engine.choose("prices", "other")
        assert left.cancel()
        go_on.set()
        assert ask(other)["id"] == "other"


def test_a_learner_that_is_damaged_does_not_stop_the_others(tmp_path: Path) -> None:
    store = Store(lambda clock: SQLiteJournal(tmp_path / "journal.db", clock=clock))
    engine = store.start()
    for name in ("good", "bad"):
        ask(engine.create(PRICES | {"name": name, "deadline": 10}))
        ask(engine.choose(name, "one"))
    store.stop()
    with contextlib.closing(sqlite3.connect(tmp_path / "journal.db")) as connection, connection:
        connection.execute("""UPDATE learners SET rule = '{}' WHERE name = 'bad'""")
    engine = store.start()
    assert engine.ready.wait(60)
    assert [view["name"] for view in ask(engine.views())] == ["good"]
    calls = [engine.choose("bad", "two"), engine.choose("good", "two"), engine.observe("bad", "one", {"a": 1.0})]
    assert [status(call) for call in calls] == [500, 200, 500]
    store.clock.now += 11
    assert ask(engine.expire()) == 2
    assert ask(engine.decision("good", "one"))["status"] == "expired"
    store.stop()


def test_decisions_expire_a_few_at_a_time_so_that_others_are_answered_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engine_module, "EXPIRE_AT_ONCE", 2)
    monkeypatch.setattr(batch_module, "EXPIRE_AT_ONCE", 2)
    clock = Clock()
    sizes, journal = [], MemoryJournal(clock)
    add_events = journal.add_events
    monkeypatch.setattr(journal, "add_events", lambda rows: (sizes.append(len(rows)), add_events(rows))[1])
    engine = Engine(journal, expire_every=0.02).start()
    ask(engine.create(PRICES | {"deadline": 10}))
    ask(engine.choose_many("prices", [{} for _ in range(7)]))
    clock.now += 11
    while ask(engine.view("prices"))["open"]:
        pass
    engine.stop()
    assert sizes == [2, 2, 2, 1]


def test_an_outcome_that_fails_half_learnt_is_undone(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = store.start()
    ask(engine.create(PRICES))
    one, two, bad = (ask(engine.choose("prices", id)) for id in ("one", "two", "bad"))
    learn = Segment.learn_outcome

    def half(self: Segment, ticket: Any, losses: Any, excess: float) -> float:
        held_back = learn(self, ticket, losses, excess)
        if losses[0] == 0.875:
            raise InvalidState("a defect, after the estimates have changed")
        return held_back

    monkeypatch.setattr(Segment, "learn_outcome", half)
    begun, go_on = threading.Event(), threading.Event()
    engine.submit([Call("ping")], lambda _: (begun.set(), go_on.wait()))
    begun.wait()
    reports = [engine.observe("prices", each["id"], outcome(each, loss)) for each, loss in ((one, 0.5), (bad, 0.875))]
    reports.append(engine.observe("prices", "two", outcome(two)))
    go_on.set()
    assert [status(report) for report in reports] == [200, 500, 200]
    assert ask(engine.decision("prices", "bad"))["status"] == "open"
    state = ask(engine.snapshot("prices"))
    engine.stop()
    assert state == bytes_of(replay(engine.journal, "prices"))


def test_what_was_seen_beside_is_kept_also_where_an_arm_that_slept_is_left_out(store: Store) -> None:
    engine = store.start()
    ask(engine.create(PRICES))  # b observes a and b, and sees c too
    ask(engine.choose("prices", "one", available=["b"]))
    assert status(engine.observe("prices", "one", {"b": 0.5, "c": 0.25})) == 200
    assert status(engine.observe("prices", "one", {"c": 0.25, "b": 0.5})) == 200
    assert status(engine.observe("prices", "one", {"b": 0.5, "c": 0.75})) == 409
    assert status(engine.observe("prices", "one", {"b": 0.5})) == 409


def test_no_more_decisions_are_open_than_allowed_also_within_a_batch(store: Store) -> None:
    engine = store.start(max_open=3)
    ask(engine.create(PRICES))
    answers = ask(engine.choose_many("prices", [{"id": str(number)} for number in range(5)]))
    assert [answer.get("status") for answer in answers] == [None, None, None, 429, 429]
    assert ask(engine.view("prices"))["open"] == 3
    ask(engine.void("prices", "1"))
    assert status(engine.choose("prices", "new")) == 200
    assert status(engine.choose("prices", "newer")) == 429


def test_a_client_cannot_make_segments_without_end(store: Store) -> None:
    engine = store.start(max_segments=2)
    ask(engine.create(PRICES))
    for segment in ("one", "two"):
        answer = ask(engine.choose("prices", segment, segment=segment))
        ask(engine.observe("prices", segment, outcome(answer)))
    assert status(engine.choose("prices", "again", segment="two")) == 200
    assert status(engine.choose("prices", "none")) == 200
    assert status(engine.choose("prices", "more", segment="three")) == 422


def test_showing_a_learner_makes_few_states_however_many_segments_there_are(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = store.start()
    ask(engine.create(PRICES))
    for number in range(5):
        answer = ask(engine.choose("prices", str(number), segment=f"s{number}"))
        ask(engine.observe("prices", str(number), outcome(answer)))
    at_work = ask(engine.state("prices"))["segments"]
    assert all(row["round"] == 2 and row["likeliest"] in "abcd" for row in at_work.values())
    monkeypatch.setattr(learner_verbs, "MOST_STATES", 2)
    assert ask(engine.state("prices"))["segments"] == at_work  # those that are there are shown
    shown = ask(store.restart().state("prices"))["segments"]
    assert [row["round"] for row in shown.values()] == [2] * 5
    assert sum(row["likeliest"] is not None for row in shown.values()) == 2


def test_an_arm_that_is_added_again_is_the_same_also_after_other_arms_changed(store: Store) -> None:
    engine = store.start()
    ask(engine.create(PRICES))
    ask(engine.add_arm("prices", "e", ["c", "d"]))
    ask(engine.add_arm("prices", "f", ["e"]))
    ask(engine.retire_arm("prices", "c"))
    events = ask(engine.view("prices"))["events"]
    assert ask(engine.add_arm("prices", "e", ["d", "c"]))["events"] == events  # its first answer was lost
    assert status(engine.add_arm("prices", "e", ["d", "f"])) == 409


def test_arms_that_change_while_a_learner_is_read_are_read_too(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = store.start()
    ask(engine.create(PRICES))
    ask(engine.observe("prices", "one", outcome(ask(engine.choose("prices", "one")))))
    ask(engine.add_arm("prices", "e", ["d"]))
    ask(engine.retire_arm("prices", "a"))
    expected = ask(engine.snapshot("prices"))
    engine.stop()
    journal = engine.journal
    row = journal.learner("prices")
    assert row is not None
    monkeypatch.setattr(journal, "changes", lambda name: [])  # as they were when the reading began
    monkeypatch.setattr(journal, "snapshot", lambda name, base=False: None)
    live = load(journal, row)
    assert (live.snapshot, live.retired, live.epoch) == (expected, {"a"}, 2)


def test_a_new_database_can_be_read_by_its_owner_only(tmp_path: Path) -> None:
    file = tmp_path / "journal.db"
    with contextlib.closing(SQLiteJournal(file)) as journal, journal.transaction():
        journal.now()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_clients_are_not_told_where_the_database_is(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with contextlib.closing(SQLiteJournal(tmp_path / "journal.db")) as journal:
        journal.path = tmp_path / "folder"
        with pytest.raises(Unavailable) as caught:
            journal._open()
    assert str(tmp_path) in str(caught.value)
    assert str(tmp_path) not in caught.value.public
