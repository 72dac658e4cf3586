"""The SQLite journal: its settings, its owner, where it may be, and what happens when the database fails."""

# ruff: noqa: PT012 - a transaction is several statements, and its end raises

from __future__ import annotations

import sqlite3
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from allworlds.foundation.errors import InvalidParameter
from allworlds.service.calls import Call
from allworlds.service.engine import Engine
from allworlds.service.journal import Position, ServiceError, Unavailable
from allworlds.service.memory import MemoryJournal
from allworlds.service.sqlite import SQLiteJournal, connect
from allworlds.service.sqlite_file import check_local
from service_stores import NAME, PRICES, Clock, Store, add_learner, ask, bytes_of, decision, outcome, replay


def test_commits_are_synced_to_a_write_ahead_log(tmp_path: Path) -> None:
    journal = SQLiteJournal(tmp_path / "a.db")
    assert journal._run("PRAGMA journal_mode") == [("wal",)]
    assert journal._run("PRAGMA synchronous") == [(2,)]  # FULL
    journal.close()


def test_a_second_process_stops_with_a_sentence_until_the_first_ends(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    code = (
        "import sys\nfrom allworlds.service.sqlite import SQLiteJournal\n"
        "journal = SQLiteJournal(sys.argv[1])\nprint('mine', flush=True)\nsys.stdin.read()"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "mine\n"
    with pytest.raises(InvalidParameter, match="another process serves the database"):
        SQLiteJournal(path)
    beside = SQLiteJournal(path, exclusive=False)
    assert beside.keys() == []
    beside.close()
    child.kill()
    child.communicate()
    SQLiteJournal(path).close()


def test_an_id_twice_in_one_batch_is_one_decision_and_the_first_counts(tmp_path: Path) -> None:
    journal = SQLiteJournal(tmp_path / "a.db")
    add_learner(journal)
    with journal.transaction():
        rows = journal.add_decisions([decision("b", 1), decision("a", 2), decision("b", 3)])
    assert [(row.id, row.round) for row in rows] == [("b", 1), ("a", 2), ("b", 1)]
    journal.close()


@pytest.mark.parametrize("pruned", [False, True])
def test_the_database_itself_refuses_to_end_a_decision_twice(tmp_path: Path, pruned: bool) -> None:
    journal = SQLiteJournal(tmp_path / "a.db")
    add_learner(journal)
    with journal.transaction():
        journal.add_decisions([decision("a")])
        journal.add_events([outcome(journal.advance(NAME, 1), "a")])
        if pruned:
            assert journal.forget(NAME, 1) == 1
    for second in (outcome(2, "a"), outcome(2, "unknown")):
        with pytest.raises(Unavailable), journal.transaction():
            assert journal.advance(NAME, 1) == 2
            journal.add_events([second])
    assert journal.position(NAME) == Position(1, 0, None)
    journal.close()


@pytest.mark.parametrize(
    ("kind", "mount", "refused"),
    [
        ("nfs4", "/srv", True),
        ("cifs", "/srv/data", True),
        ("fuse.sshfs", "/srv/data", True),
        ("9p", "/srv", True),
        ("ext4", "/srv", False),
        ("nfs4", "/srv/other", False),
        ("nfs4", "/srv/da", False),
    ],
)
def test_network_file_systems_are_refused(kind: str, mount: str, refused: bool, tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/sda / ext4 rw 0 0\nserver:/x {mount} {kind} rw 0 0\n")
    if refused:
        with pytest.raises(InvalidParameter, match=f"network file system .{kind}"):
            check_local(Path("/srv/data/a.db"), str(mounts))
    else:
        check_local(Path("/srv/data/a.db"), str(mounts))


def test_a_mount_with_a_space_is_found_and_the_nearest_mount_counts(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text("s:/x /srv nfs4 rw 0 0\n/dev/sda /srv/my\\040disk ext4 rw 0 0\n")
    check_local(Path("/srv/my disk/a.db"), str(mounts))
    with pytest.raises(InvalidParameter):
        check_local(Path("/srv/mydisk/a.db"), str(mounts))


def test_what_is_not_a_database_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "passwd"
    file.write_text("root:x:0:0:root:/root:/bin/bash\n")
    with pytest.raises(InvalidParameter, match="is not a SQLite database"):
        SQLiteJournal(file)
    with pytest.raises(InvalidParameter, match="folder"):
        SQLiteJournal(tmp_path / "nowhere" / "a.db")
    assert [each.name for each in tmp_path.iterdir()] == ["passwd"]


class Breaking:
    """A connection that fails when it is told to, before or after a statement was done."""

    def __init__(self, path: str, plan: list[tuple[str, str]]) -> None:
        self.inner, self.plan = connect(path)[0], plan

    def execute(self, statement: str, values: Any = ()) -> Any:
        return self._do(statement, lambda: self.inner.execute(statement, values))

    def executemany(self, statement: str, rows: Any) -> Any:
        return self._do(statement, lambda: self.inner.executemany(statement, rows))

    def _do(self, statement: str, work: Any) -> Any:
        for k, (start, when) in enumerate(self.plan):
            if statement.startswith(start):
                del self.plan[k]
                if when == "after":
                    work()
                raise sqlite3.OperationalError("disk I/O error")
        return work()

    def close(self) -> None:
        self.inner.close()


PLACES = ["BEGIN", "INSERT INTO decisions", "INSERT INTO events", "UPDATE decisions", "UPDATE learners", "COMMIT"]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("place", PLACES)
def test_after_a_failure_the_same_call_is_safe_and_nothing_is_lost_or_done_twice(
    place: str, when: str, tmp_path: Path
) -> None:
    plan: list[tuple[str, str]] = []
    made: list[Breaking] = []

    def connection(path: str) -> tuple[Breaking, type[Exception]]:
        made.append(Breaking(path, plan))
        return made[-1], sqlite3.Error

    store = Store(lambda clock: SQLiteJournal(tmp_path / "a.db", connection, clock=clock))
    engine = store.start()
    ask(engine.create(PRICES))
    failures = []

    def persist(verb: Any) -> Any:
        while True:
            try:
                return ask(verb())
            except Unavailable as error:
                failures.append(str(error))

    for k in range(6):
        if k % 2:
            plan.append((place, when))
        answer = persist(partial(engine.choose, "prices", f"{k}"))
        persist(partial(engine.observe, "prices", f"{k}", dict.fromkeys(answer["observe"], 0.1 * k)))
        assert ask(engine.choose("prices", f"{k}")) == answer
    assert failures == ["the database failed: disk I/O error; try again with the same id"] * 3
    assert not plan
    assert len(made) == 1 + 3  # what a connection holds after a failure is unknown
    assert ask(engine.view("prices"))["events"] == 6
    assert ask(engine.view("prices"))["open"] == 0
    live = ask(engine.snapshot("prices"))
    assert bytes_of(replay(store.journals[-1], "prices")) == live
    assert ask(store.restart().snapshot("prices")) == live
    store.stop()


def test_a_failure_of_one_batch_leaves_no_trace_in_memory(tmp_path: Path) -> None:
    plan: list[tuple[str, str]] = []
    store = Store(
        lambda clock: SQLiteJournal(tmp_path / "a.db", lambda path: (Breaking(path, plan), sqlite3.Error), clock=clock)
    )
    engine = store.start()
    ask(engine.create(PRICES))
    answers = ask(engine.choose_many("prices", [{"id": f"{k}"} for k in range(5)]))
    before = ask(engine.state("prices"))
    plan.append(("COMMIT", "before"))
    for answer in answers[:1]:
        with pytest.raises(Unavailable):
            ask(engine.observe("prices", answer["id"], dict.fromkeys(answer["observe"], 1.0)))
    assert ask(engine.state("prices")) == before
    plan.append(("COMMIT", "before"))
    with pytest.raises(Unavailable):
        ask(engine.add_arm("prices", "e", []))
    assert ask(engine.state("prices")) == before
    store.stop()


def test_nobody_is_told_what_was_true_only_in_a_batch_that_failed(tmp_path: Path) -> None:
    plan: list[tuple[str, str]] = []
    store = Store(
        lambda clock: SQLiteJournal(tmp_path / "a.db", lambda path: (Breaking(path, plan), sqlite3.Error), clock=clock)
    )
    engine = store.start()
    ask(engine.create(PRICES))
    ask(engine.choose("prices", "one", available=["d"]))
    calls = [Call("observe", "prices", {"id": "one", "losses": {"d": loss}}) for loss in (0.5, 0.25)]
    plan.append(("COMMIT", "before"))
    engine._run(calls)
    assert [(call.answer, type(call.error)) for call in calls] == [(None, Unavailable)] * 2
    assert ask(engine.decision("prices", "one"))["status"] == "open"
    store.stop()


def test_a_mistake_in_one_call_spares_the_others_of_its_batch(caplog: pytest.LogCaptureFixture) -> None:
    journal = MemoryJournal()
    with Engine(journal) as engine:
        ask(engine.create(PRICES))
    engine = Engine(journal)
    futures = [engine.choose("prices", f"{k}", available=["a"]) for k in range(5)]
    broken = engine._ask("choose_many", "prices", decisions=None)
    with engine:  # all in the first batch
        with pytest.raises(ServiceError, match="TypeError") as caught:
            ask(broken)
        assert caught.value.status == 500
        assert [ask(future)["arm"] for future in futures] == ["a"] * 5
        assert ask(engine.view("prices"))["open"] == 5
    assert "Traceback" in caplog.text


def test_a_rolled_back_transaction_leaves_the_memory_journal_as_it_was() -> None:
    journal = MemoryJournal(Clock())
    store = Store(lambda clock: journal)
    engine = store.start()
    ask(engine.create(PRICES))
    answer = ask(engine.choose("prices", "one"))
    before = journal.decisions("prices", ["one"]), journal.position("prices"), journal.open_count("prices")
    add_events = journal.add_events

    def fail(rows: Any) -> None:
        add_events(rows)
        raise Unavailable("the disk is full")

    journal.add_events = fail  # type: ignore[method-assign]
    with pytest.raises(Unavailable):
        ask(engine.observe("prices", "one", dict.fromkeys(answer["observe"], 1.0)))
    journal.add_events = add_events  # type: ignore[method-assign]
    assert (journal.decisions("prices", ["one"]), journal.position("prices"), journal.open_count("prices")) == before
    ask(engine.observe("prices", "one", dict.fromkeys(answer["observe"], 1.0)))
    store.stop()


def test_decisions_past_their_deadline_expire_by_themselves(tmp_path: Path) -> None:
    import time

    store = Store(lambda clock: SQLiteJournal(tmp_path / "a.db", clock=clock))
    engine = store.start(expire_every=0.05)
    ask(engine.create(PRICES | {"deadline": 60}))
    ask(engine.choose_many("prices", [{"id": f"{k}"} for k in range(1200)]))  # more than expire at once
    store.clock.now += 61
    for _ in range(600):
        if ask(engine.view("prices"))["open"] == 0:
            break
        time.sleep(0.05)
    assert ask(engine.view("prices"))["events"] == 1200
    store.stop()


def test_a_call_that_comes_while_the_engine_stops_is_answered() -> None:
    engine = Engine(MemoryJournal()).start()
    ask(engine.create(PRICES))
    engine.stop()
    for future in (engine.choose("prices", "one"), engine.create(PRICES), engine.ping()):
        with pytest.raises(Unavailable, match="stopping"):
            ask(future)


def test_an_engine_is_ready_once_its_journal_answers(tmp_path: Path) -> None:
    plan = [("SELECT name", "before"), ("SELECT name", "before")]
    journal = SQLiteJournal(tmp_path / "a.db", lambda path: (Breaking(path, plan), sqlite3.Error))
    with Engine(journal, expire_every=0.05) as engine:
        assert engine.ready.wait(60)
        assert not plan
        assert ask(engine.views()) == []
    journal.close()
