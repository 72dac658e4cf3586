"""One transaction on the journal, with the learners that are in memory: find, read, change, write.

Learners in memory run ahead of the commit, but nobody sees them: answers are handed out after it. If it fails, the
learners that it touched are forgotten and read again.
"""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allworlds.foundation.errors import AllWorldsError, InvalidState
from allworlds.service.calls import Limits
from allworlds.service.journal import (
    ENDS,
    DecisionRow,
    EventRow,
    Journal,
    LearnerRow,
    Position,
    ServiceError,
    Unavailable,
)
from allworlds.service.live import Live, load
from allworlds.service.rule import is_text

LOG = logging.getLogger("allworlds.service")
Key = tuple[str, str]
"""A learner and the id of a decision."""
PAGE = 500
"""Events of other processes that are read at a time."""


class Transaction:
    """What all verbs share: learners, decisions and events, as they are at this point of a transaction."""

    def __init__(self, journal: Journal, lives: dict[str, Live], limits: Limits) -> None:
        self.journal, self.lives, self.limits = journal, lives, limits
        self.now = 0.0
        self.touched: set[str] = set()
        self.broken: dict[str, ServiceError] = {}
        """Learners that could not be read; they are not read again for every call of the batch."""
        self.rows: dict[Key, DecisionRow] = {}
        """Decisions that were read or made, as they are at this point of the transaction."""
        self.events: dict[str, list[EventRow]] = {}

    def find(self, name: str, *, lock: bool = False, missing_ok: bool = False) -> Live:
        """The learner of this name, up to date."""
        if name in self.broken:
            raise self.broken[name]
        live, shared = self.lives.get(name), self.journal.shared
        if live is not None and (not shared or name in self.touched):
            self.touched.add(name)
            return live
        row = self.journal.learner(name) if live is None and is_text(name) else None
        if live is None and row is None:
            if missing_ok:
                return None  # type: ignore[return-value]
            raise ServiceError(404, f"there is no learner {name!r}; GET /v1/learners lists them")
        self.touched.add(name)
        position = None
        if shared:
            position = self.journal.lock(name) if lock else self.journal.position(name)
        if live is None:
            assert row is not None
            live = self.lives[name] = self._load(row)
        return live if position is None else self._follow(live, position)

    def _load(self, row: LearnerRow) -> Live:
        """A learner from the journal; one that is damaged must not stop the others."""
        try:
            return load(self.journal, row)
        except Unavailable:
            raise
        except Exception as error:
            LOG.error("learner %r cannot be read: %s; `allworlds db verify` says more", row.name, error)
            sentence = f"learner {row.name!r} cannot be read from the journal; the service's log says more"
            self.broken[row.name] = ServiceError(500, sentence)
            raise self.broken[row.name] from None

    def _follow(self, live: Live, position: Position) -> Live:
        """Learn what other processes have journalled since."""
        live.archived_at = position.archived_at
        try:
            while live.seq < position.seq:
                page = self.journal.events(live.name, live.seq, PAGE)
                if not page:
                    raise InvalidState(f"the events of learner {live.name!r} after {live.seq} are gone")
                for event, decision in page:
                    live.follow(event, decision)
        except InvalidState:  # what this process had not seen yet was pruned by another
            row = self.journal.learner(live.name)
            assert row is not None
            live = self.lives[live.name] = self._load(row)
        return live

    def _read(self, keys: Any) -> None:
        """Read decisions that are not known yet, many at once."""
        wanted: dict[str, set[str]] = {}
        for key in keys:
            if key not in self.rows and is_text(key[1]):
                name, id = key
                live = self.lives.get(name)
                row = None if live is None else live.recent.get(id)
                if row is None:
                    wanted.setdefault(name, set()).add(id)
                else:
                    self.rows[key] = row
        for name, ids in wanted.items():
            for id, row in self.journal.decisions(name, ids).items():
                self.rows[name, id] = row

    def _row(self, name: str, id: str) -> DecisionRow:
        row = self.rows.get((name, id))
        if row is None:
            raise ServiceError(404, f"learner {name!r} has made no decision {id!r}")
        return row

    def _add(self, live: Live, event: EventRow) -> None:
        """An event without a decision."""
        live.follow(event, None)
        self.events.setdefault(live.name, []).append(event)

    def _finish(
        self, live: Live, row: DecisionRow, kind: str, values: NDArray[np.float64] | None, body: str | None = None
    ) -> None:
        """End a decision: learn the values, if there are any, and journal the event."""
        try:
            held_back = 0.0 if values is None else live.learn(row, values)
        except AllWorldsError as error:  # the learner may be half changed: undo the batch, not this call alone
            raise RuntimeError(f"an outcome could not be learnt: {error}") from error
        losses = None if values is None else values.astype("<f8").tobytes()
        event = EventRow(live.name, live.seq + 1, kind, self.now, row.id, losses, held_back, body)
        live.seq += 1
        live.open -= 1
        live.recent.pop(row.id, None)
        self.events.setdefault(live.name, []).append(event)
        self.rows[row[:2]] = row._replace(status=ENDS[kind], seq=event.seq)

    def _write(self) -> None:
        """Journal all events, and now and then a snapshot."""
        for name, events in self.events.items():
            epochs = sum(event.kind in ("add_arm", "retire_arm") for event in events)
            first = self.journal.advance(name, len(events), epochs)
            if first != events[0].seq:
                raise Unavailable(f"learner {name!r} moved while it was locked; nothing was written")
            self.journal.add_events(events)
            live = self.lives[name]
            size = len(live.segments) * live.rule.learner.n_arms // 10
            if live.seq - live.saved >= max(self.limits.snapshot_every, size):
                self._save(live)

    def _save(self, live: Live) -> None:
        self.touched.add(live.name)
        self.journal.save_snapshot(live.name, live.seq, live.snapshot)
        live.saved = live.seq
