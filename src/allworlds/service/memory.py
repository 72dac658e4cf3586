"""A journal in memory, for tests, for trials, and to measure what keeping a journal costs."""
# ruff: noqa: D102 - the protocol says what the methods of a journal do

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from allworlds.service.journal import (
    CHANGES,
    ENDS,
    AlreadyThere,
    Clock,
    DecisionRow,
    EventRow,
    KeyRow,
    LearnerRow,
    Position,
)


class MemoryJournal:
    """A journal for tests and trials: it keeps its word until the process ends."""

    shared = waits = False

    def __init__(self, clock: Clock = time.time) -> None:
        self._clock = clock
        self._learners: dict[str, LearnerRow] = {}
        self._decisions: dict[str, dict[str, DecisionRow]] = {}
        self._open: dict[tuple[str, str], DecisionRow] = {}
        self._events: dict[str, list[EventRow]] = {}
        self._snapshots: dict[tuple[str, bool], tuple[int, bytes]] = {}
        self._keys: dict[str, KeyRow] = {}
        self._undo: list[Callable[[], object]] = []
        self._lock = threading.Lock()

    def now(self) -> float:
        return self._clock()

    @contextmanager
    def transaction(self, *, optimistic: bool = False) -> Iterator[None]:
        self._undo.clear()
        with self._lock:
            try:
                yield
            except BaseException:
                for undo in reversed(self._undo):
                    undo()
                raise
            finally:
                self._undo.clear()

    def _set(self, table: dict[Any, Any], key: Any, value: Any) -> None:
        """Write one entry, so that it can be taken back."""
        if key in table:
            self._undo.append(lambda old=table[key]: table.__setitem__(key, old))  # type: ignore[misc]
        else:
            self._undo.append(lambda: table.pop(key))
        table[key] = value

    def add_learner(self, row: LearnerRow) -> None:
        if row.name in self._learners:
            raise AlreadyThere(f"there is already a learner {row.name!r}")
        self._set(self._learners, row.name, row)
        self._set(self._decisions, row.name, {})
        self._set(self._events, row.name, [])

    def learner(self, name: str) -> LearnerRow | None:
        return self._learners.get(name)

    def learners(self) -> list[LearnerRow]:
        return sorted(self._learners.values())

    def archive(self, name: str, at: float) -> None:
        self._set(self._learners, name, self._learners[name]._replace(archived_at=at))

    def lock(self, name: str) -> Position:
        return self.position(name)

    def position(self, name: str) -> Position:
        row = self._learners[name]
        return Position(row.seq, row.epoch, row.archived_at)

    def advance(self, name: str, n: int, epochs: int = 0) -> int:
        row = self._learners[name]
        self._set(self._learners, name, row._replace(seq=row.seq + n, epoch=row.epoch + epochs))
        return row.seq + 1

    def add_decisions(self, rows: Sequence[DecisionRow]) -> list[DecisionRow]:
        stored = []
        for row in rows:
            there = self._decisions[row.learner]
            if row.id not in there:
                self._set(there, row.id, row)
                self._set(self._open, row[:2], row)
            stored.append(there[row.id])
        return stored

    def decisions(self, learner: str, ids: Iterable[str]) -> dict[str, DecisionRow]:
        there = self._decisions.get(learner, {})
        return {id: there[id] for id in ids if id in there}

    def open_count(self, learner: str) -> int:
        return sum(name == learner for name, _ in self._open)

    def overdue(self, now: float, limit: int) -> list[DecisionRow]:
        late = [row for row in self._open.values() if row.deadline is not None and row.deadline < now]
        return sorted(late, key=lambda row: (row.learner, row.deadline))[:limit]

    def add_events(self, rows: Sequence[EventRow]) -> None:
        for row in rows:
            events = self._events[row.learner]
            events.append(row)
            self._undo.append(events.pop)
            if row.decision is not None:
                decision = self._open[row.learner, row.decision]
                ended = decision._replace(status=ENDS[row.kind], seq=row.seq)
                self._set(self._decisions[row.learner], row.decision, ended)
                self._take(self._open, (row.learner, row.decision))

    def _take(self, table: dict[Any, Any], key: Any) -> None:
        """Delete one entry, so that it can be put back."""
        value = table.pop(key)
        self._undo.append(lambda: table.__setitem__(key, value))

    def events(self, learner: str, after: int, limit: int) -> list[tuple[EventRow, DecisionRow | None]]:
        decisions, rows = self._decisions[learner], self._events[learner][after : after + limit]
        return [(row, None if row.decision is None else decisions[row.decision]) for row in rows]

    def changes(self, learner: str) -> list[EventRow]:
        return [row for row in self._events[learner] if row.kind in CHANGES]

    def snapshot(self, learner: str, base: bool = False) -> tuple[int, bytes] | None:
        return self._snapshots.get((learner, base))

    def save_snapshot(self, learner: str, seq: int, state: bytes, base: bool = False) -> None:
        self._set(self._snapshots, (learner, base), (seq, state))

    def stream(self, learner: str) -> Iterator[tuple[DecisionRow, EventRow | None]]:
        with self._lock:
            rows, events = list(self._decisions[learner].values()), self._events[learner][:]
        return ((row, None if row.seq is None else events[row.seq - 1]) for row in rows)

    def problems(self) -> list[str]:
        return []

    def listen(self, hint: Callable[[str], object]) -> None:
        """Nobody else writes."""

    def keys(self) -> list[KeyRow]:
        return sorted(self._keys.values(), key=lambda key: (key.created_at, key.id))

    def add_key(self, row: KeyRow) -> None:
        self._set(self._keys, row.id, row)

    def revoke_key(self, id: str, at: float) -> bool:
        key = self._keys.get(id)
        if key is None or key.revoked_at is not None:
            return False
        self._set(self._keys, id, key._replace(revoked_at=at))
        return True

    def close(self) -> None:
        """Nothing to let go of."""
