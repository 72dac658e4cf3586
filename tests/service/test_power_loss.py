"""Power loss: the journal runs on a file system in which only synced bytes survive, and the power fails at any moment.

Photographs of the disk are taken between writes, inside transactions, commits and checkpoints, together with what had
been acknowledged by then. Each is restored and opened as after a restart.
"""

from __future__ import annotations

import itertools
import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from allworlds.service.engine import Engine
from allworlds.service.journal import DecisionRow, EventRow, LearnerRow, Unavailable
from allworlds.service.sqlite import Connect, SQLiteJournal
from allworlds.service.verify import verify
from service_stores import PRICES, ask

apsw = pytest.importorskip("apsw", reason="needs apsw; try pip install apsw")
from lossy_files import LossyFiles, restore  # noqa: E402

NAME = "prices"
NUMBERS = itertools.count()
N_STEPS = 120


class Disk(NamedTuple):
    """A photograph of the disk, and what had been acknowledged when it was taken."""

    files: dict[str, bytes]
    learners: int
    decisions: int
    outcomes: int


def photographs(folder: Path, synchronous: str, torn: bool) -> Iterator[Disk]:
    """The disk at random moments while decisions and outcomes are journalled, one transaction each."""
    learners = decisions = outcomes = 0
    chance, photos = random.Random(5), []

    def on_change() -> None:
        if chance.random() < (0.04 if learners else 0.3):
            photo = files.photograph(random.Random(len(photos)) if torn else None)
            photos.append(Disk(photo, learners, decisions, outcomes))

    files = LossyFiles(f"lossy{next(NUMBERS)}", on_change)
    with closing(SQLiteJournal(folder / "service.db", on(files), synchronous=synchronous)) as journal:
        with journal.transaction():
            journal.add_learner(LearnerRow(NAME, "{}", "{}", b"s" * 32, 1.0))
        learners = 1
        for number in range(N_STEPS):
            with journal.transaction():
                journal.add_decisions([decision(number)])
            decisions += 1
            if number % 3:
                with journal.transaction():
                    seq = journal.advance(NAME, 1)
                    journal.add_events([EventRow(NAME, seq, "outcome", 2.0, str(number), b"\0" * 8)])
                outcomes += 1
        files.on_change = lambda: None
    yield from photos


def on(files: LossyFiles) -> Connect:
    """A factory of connections on this file system."""

    def connect(path: str) -> tuple[apsw.Connection, type[Exception]]:
        connection = apsw.Connection(path, vfs=files.name)
        connection.execute("PRAGMA wal_autocheckpoint = 20")  # checkpoints are moments, too
        return connection, apsw.Error

    return connect


def decision(number: int) -> DecisionRow:
    return DecisionRow(NAME, str(number), "", 0, number, "a", "[]", 0.5, None, b"\0" * 800, None, 1.0, None)


def lost(disk: Disk, folder: Path) -> list[str]:
    """What had been acknowledged and is not there after a restart; raises if the file is damaged."""
    restore(disk.files, folder)
    with closing(SQLiteJournal(folder / "service.db")) as journal:
        if journal.learner(NAME) is None:
            return ["learner"] if disk.learners else []
        rows = list(journal.stream(NAME))
        events = journal.events(NAME, 0, 10**6)
        assert [event.seq for event, _ in events] == list(range(1, journal.position(NAME).seq + 1))
    with closing(sqlite3.connect(folder / "service.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert [row.id for row, _ in rows] == [str(number) for number in range(len(rows))]
    missing = [f"decision {number}" for number in range(len(rows), disk.decisions)]
    return missing + [f"outcome {number}" for number in range(len(events), disk.outcomes)]


@pytest.mark.parametrize("torn", [False, True], ids=["unsynced writes are lost", "any of them may survive"])
def test_nothing_acknowledged_is_lost_when_the_power_fails(tmp_path: Path, torn: bool) -> None:
    photos = list(photographs(tmp_path, "FULL", torn))
    assert len(photos) > 30
    for number, disk in enumerate(photos):
        assert lost(disk, tmp_path / str(number)) == []


def test_the_file_system_shows_the_loss_of_a_setting_that_syncs_less(tmp_path: Path) -> None:
    photos = photographs(tmp_path, "NORMAL", torn=False)
    losses = [lost(disk, tmp_path / str(number)) for number, disk in enumerate(photos)]
    assert sum(map(bool, losses)) > len(losses) / 2


def test_what_an_engine_has_answered_is_there_after_a_power_loss_and_the_state_is_its_fold(tmp_path: Path) -> None:
    answered: list[tuple[str, str]] = []
    photos: list[tuple[dict[str, bytes], int]] = []
    chance = random.Random(7)

    def on_change() -> None:
        if chance.random() < 0.05:
            photos.append((files.photograph(random.Random(len(photos))), len(answered)))

    files = LossyFiles(f"lossy{next(NUMBERS)}", on_change)
    journal = SQLiteJournal(tmp_path / "service.db", on(files))
    with closing(journal), Engine(journal, snapshot_every=7) as engine:
        ask(engine.create(PRICES))
        for step in range(25):
            ids = [f"{step}-{k}" for k in range(3)]
            chosen = {id: engine.choose("prices", id) for id in ids}
            for id, future in chosen.items():
                future.add_done_callback(lambda _, id=id: answered.append(("open", id)))
            answers = {id: ask(future) for id, future in chosen.items()}
            for id in ids[:2]:
                future = engine.observe("prices", id, dict.fromkeys(answers[id]["observe"], chance.random()))
                future.add_done_callback(lambda _, id=id: answered.append(("observed", id)))
        ask(engine.ping())
        files.on_change = lambda: None
    assert len(photos) > 10
    assert len(answered) == 25 * 5
    for number, (photo, n_answered) in enumerate(photos):
        restore(photo, tmp_path / str(number))
        with closing(SQLiteJournal(tmp_path / str(number) / "service.db")) as restored:
            assert [problem for verdict in verify(restored) for problem in verdict.problems] == []
            status = {row.id: row.status for row, _ in restored.stream("prices")}
        for what, id in answered[:n_answered]:
            assert status[id] in ("observed", what)


def test_a_full_disk_makes_the_service_unavailable_until_there_is_space_again(tmp_path: Path) -> None:
    files = LossyFiles(f"lossy{next(NUMBERS)}")
    journal = SQLiteJournal(tmp_path / "service.db", on(files))
    with closing(journal), Engine(journal) as engine:
        ask(engine.create(PRICES))
        kept = ask(engine.choose("prices", "before"))
        files.full = True
        for _ in range(2):
            with pytest.raises(Unavailable):
                ask(engine.choose("prices", "during"))
            with pytest.raises(Unavailable):
                ask(engine.observe("prices", "before", dict.fromkeys(kept["observe"], 0.5)))
        files.full = False
        assert ask(engine.choose("prices", "before")) == kept
        ask(engine.observe("prices", "before", dict.fromkeys(kept["observe"], 0.5)))
        assert ask(engine.choose("prices", "during"))["round"] == 2
    with closing(SQLiteJournal(tmp_path / "service.db")) as journal:
        assert list(verify(journal)) == [("prices", 2, 1, ())]
