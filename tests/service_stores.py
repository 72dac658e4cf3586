"""Stores for tests of the service: journals of every kind, which can be opened again, a clock that moves, and rows."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from allworlds.service.engine import Engine
from allworlds.service.fold import Fold, to_bytes
from allworlds.service.journal import DecisionRow, EventRow, Journal, LearnerRow, ServiceError
from allworlds.service.memory import MemoryJournal
from allworlds.service.rule import Rule
from allworlds.service.sqlite import SQLiteJournal

PRICES: dict[str, Any] = {
    "name": "prices",
    "arms": ["a", "b", "c", "d"],
    "graph": {"edges": [["a", "b"], ["b", "c"]]},
    "cover": [["a", "b"], ["c"], ["d"]],
}


@dataclass
class Clock:
    """The time, which only a test moves."""

    now: float = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Store:
    """A place for a journal: opening it again is what a restart does."""

    make: Callable[..., Journal]
    """From the clock, and settings of the journal."""
    clock: Clock = field(default_factory=Clock)
    journals: list[Journal] = field(default_factory=list)
    engines: list[Engine] = field(default_factory=list)

    def open(self, **settings: Any) -> Journal:
        self.journals.append(self.make(self.clock, **settings))
        return self.journals[-1]

    def start(self, **settings: Any) -> Engine:
        """An engine on the journal, which looks for overdue decisions only when it is told to."""
        self.engines.append(Engine(self.open(), **{"expire_every": 1e6} | settings).start())
        return self.engines[-1]

    def stop(self) -> None:
        for engine in self.engines:
            engine.stop()
        for journal in self.journals:
            journal.close()
        self.engines.clear()
        self.journals.clear()

    def restart(self, **settings: Any) -> Engine:
        self.stop()
        return self.start(**settings)


KINDS = ("memory", "sqlite", "postgresql")


def make_store(kind: str, folder: Path, request: pytest.FixtureRequest) -> Store:
    if kind == "memory":
        kept: list[Journal] = []

        def same(clock: Clock) -> Journal:
            kept[:] = kept or [MemoryJournal(clock)]
            return kept[0]

        return Store(same)
    if kind == "sqlite":
        return Store(lambda clock, **more: SQLiteJournal(folder / "journal.db", clock=clock, **more))
    from allworlds.service.postgres import PostgresJournal

    url = request.getfixturevalue("postgres").new_database()
    return Store(lambda clock, **more: PostgresJournal(url, clock=clock, **{"wary": 0.0} | more))


def ask(future: Any) -> Any:
    """What a verb answers, or the error it raises."""
    return future.result(timeout=120)


def status(future: Any) -> int:
    """The status that a verb answers with."""
    try:
        future.result(timeout=120)
    except ServiceError as error:
        return error.status
    return 200


def replay(journal: Journal, name: str) -> Fold:
    """All events from the first, without snapshots."""
    row = journal.learner(name)
    assert row is not None
    texts = [row.rule, *(json.loads(event.body or "")["rule"] for event in journal.changes(name))]
    fold = Fold([Rule.from_text(text) for text in texts])
    for event, decision in journal.events(name, 0, 10**9):
        fold.apply(event, decision)
    return fold


def bytes_of(fold: Fold) -> bytes:
    return to_bytes(fold.seq, fold.epoch, fold.segments)


# --- rows, for tests of a journal without an engine -----------------------------------------------------

NAME = "prices"


def decision(id: str, round: int = 1, arm: str = "a") -> DecisionRow:
    return DecisionRow(NAME, id, "", 0, round, arm, "[]", 0.5, None, b"\0\1", None, 1.0, None)


def outcome(seq: int, id: str) -> EventRow:
    return EventRow(NAME, seq, "outcome", 2.0, id, b"\0" * 8, 0.25, None)


def add_learner(journal: Journal) -> None:
    with journal.transaction():
        journal.add_learner(LearnerRow(NAME, "{}", "{}", b"s" * 32, 1.0))


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
