"""The care of a database: open one that is there, and prune what is old.

**Prune** deletes outcomes, voids and expiries before a date, and leaves the state at that position in their place. Ids
with their answers stay for ever, and so do changes of the arms; an outcome that is repeated after its event was pruned
is answered with 410, since nobody can compare it any more.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Any

from allworlds.foundation.errors import InvalidParameter, InvalidState
from allworlds.service.backup import existing_file
from allworlds.service.fold import Fold, from_bytes, to_bytes
from allworlds.service.journal import DecisionRow, EventRow, Journal, LearnerRow
from allworlds.service.postgres import PostgresJournal
from allworlds.service.rule import Rule
from allworlds.service.schema import POSTGRES, open_journal
from allworlds.service.sqlite import SQLiteJournal

PAGE = 5000
"""Events read at a time."""


def open_existing(url: str, *, exclusive: bool = False, upgrade: bool = False) -> Journal:
    """The journal at a URL; a SQLite file that is not there is not made."""
    if not url.startswith(POSTGRES) and url != "memory:":
        existing_file(url)
    return open_journal(url, exclusive=exclusive, upgrade=upgrade)


# --- the fold -------------------------------------------------------------------------------------------


def start_of_fold(journal: Journal, row: LearnerRow, base: tuple[int, bytes] | None) -> Fold:
    """Nothing, or the state that stands for pruned events."""
    bodies: Iterable[dict[str, Any]] = (json.loads(event.body or "{}") for event in journal.changes(row.name))
    rules = [Rule.from_text(row.rule), *(Rule.from_text(body["rule"]) for body in bodies)]
    if base is None:
        return Fold(rules)
    fold = from_bytes(rules, base[1])
    if fold.seq != base[0]:
        raise InvalidState(f"the snapshot of position {base[0]} says that it is of {fold.seq}")
    return fold


def events_after(journal: Journal, learner: str, after: int) -> Iterator[tuple[EventRow, DecisionRow | None]]:
    """All events beyond a position, read in pages."""
    while page := journal.events(learner, after, PAGE):
        yield from page
        after = page[-1][0].seq


def state_bytes(fold: Fold) -> bytes:
    """The fold as a snapshot."""
    return to_bytes(fold.seq, fold.epoch, fold.segments)


# --- prune ----------------------------------------------------------------------------------------------


def prune(url: str, before: float) -> dict[str, int]:
    """Delete outcomes, voids and expiries before a time; return how many events of each learner went.

    A SQLite file must not be served meanwhile; PostgreSQL may be.
    """
    if url == "memory:":
        raise InvalidParameter("database is memory:; expected sqlite:///FILE or postgresql://…")
    with closing(open_existing(url, exclusive=True)) as journal:
        assert isinstance(journal, SQLiteJournal | PostgresJournal)
        return {row.name: _prune(journal, row, before) for row in journal.learners()}


def _prune(journal: SQLiteJournal | PostgresJournal, row: LearnerRow, before: float) -> int:
    base = journal.snapshot(row.name, base=True)
    fold = start_of_fold(journal, row, base)
    start = fold.seq
    for event, decision in events_after(journal, row.name, start):
        if event.at >= before:
            break
        fold.apply(event, decision)
    if fold.seq == start:
        return 0
    state = state_bytes(fold)
    with journal.transaction():
        journal.lock(row.name)
        if journal.snapshot(row.name, base=True) != base:
            raise InvalidParameter(f"learner {row.name!r} is being pruned by another process; expected one at a time")
        last = journal.snapshot(row.name)
        journal.save_snapshot(row.name, fold.seq, state, base=True)
        if last is None or last[0] < fold.seq:  # the events after it are gone from now on
            journal.save_snapshot(row.name, fold.seq, state)
        return journal.forget(row.name, fold.seq)
