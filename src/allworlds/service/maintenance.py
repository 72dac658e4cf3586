"""The care of a database: check that the journal and everything computed from it agree, and prune what is old.

**Verify** replays each learner's events from nothing with :mod:`allworlds.service.fold`, and compares: positions
without gaps, up to that of the learner's row; the snapshots, bit for bit; each ended decision with the one event that
ended it.
It may run beside a service, and looks at what was there when it began.

**Prune** deletes outcomes, voids and expiries before a date, and leaves the state at that position in their place. Ids
with their answers stay for ever, and so do changes of the arms; an outcome that is repeated after its event was pruned
is answered with 410, since nobody can compare it any more.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Any, NamedTuple

from allworlds.foundation.errors import AllWorldsError, InvalidParameter, InvalidState
from allworlds.service.backup import existing_file
from allworlds.service.fold import Fold, from_bytes, to_bytes
from allworlds.service.journal import CHANGES, ENDS, OPEN, DecisionRow, EventRow, Journal, LearnerRow
from allworlds.service.postgres import PostgresJournal
from allworlds.service.rule import Rule
from allworlds.service.schema import POSTGRES, open_journal
from allworlds.service.sqlite import SQLiteJournal

PAGE = 5000
"""Events read at a time."""


class Verdict(NamedTuple):
    """What was found of one learner."""

    learner: str
    decisions: int
    events: int
    """Those that are still there, pruned ones not counted."""
    problems: tuple[str, ...]


def open_existing(url: str, *, exclusive: bool = False, upgrade: bool = False) -> Journal:
    """The journal at a URL; a SQLite file that is not there is not made."""
    if not url.startswith(POSTGRES) and url != "memory:":
        existing_file(url)
    return open_journal(url, exclusive=exclusive, upgrade=upgrade)


# --- verify ---------------------------------------------------------------------------------------------


def verify(journal: Journal) -> Iterator[Verdict]:
    """Check every learner."""
    for row in journal.learners():
        snapshots = {base: journal.snapshot(row.name, base) for base in (True, False)}
        now = journal.learner(row.name)  # read after the snapshots, so that none can be ahead of it
        assert now is not None
        yield _verify(journal, now, snapshots)


def _verify(journal: Journal, row: LearnerRow, snapshots: dict[bool, tuple[int, bytes] | None]) -> Verdict:
    problems: list[str] = []
    try:
        fold = start_of_fold(journal, row, snapshots[True])
    except (AllWorldsError, ValueError, KeyError, TypeError) as error:
        return Verdict(row.name, 0, 0, (f"its rule or the snapshot of its pruned events cannot be read: {error}",))
    pruned, last = fold.seq, snapshots[False]
    counted = 0
    problems += _compare(fold, last)
    for event, decision in events_after(journal, row.name, pruned):
        if event.seq > row.seq:  # written since we began
            break
        problems += _check_event(event, decision)
        try:
            fold.apply(event, decision)
        except (AllWorldsError, ValueError, KeyError, TypeError, IndexError) as error:
            problems.append(f"event {event.seq} cannot be applied: {error}")
            break
        counted += 1
        problems += _compare(fold, last)
    else:
        if fold.seq != row.seq:
            problems.append(f"its last event is {fold.seq}; its row says {row.seq}")
    if not problems and fold.epoch != row.epoch:
        problems.append(f"its arms changed {fold.epoch} times; its row says {row.epoch}")
    if last is not None and last[0] > row.seq:
        problems.append(f"a snapshot is at position {last[0]}; its row says {row.seq}")
    n_decisions = 0
    for n_decisions, (decision, ended) in enumerate(journal.stream(row.name), 1):  # noqa: B007 - it is returned
        problems += _check_decision(decision, ended, pruned)
    return Verdict(row.name, n_decisions, counted, tuple(problems))


def _compare(fold: Fold, snapshot: tuple[int, bytes] | None) -> Iterator[str]:
    """The snapshot of the position that the fold has reached."""
    if snapshot is not None and snapshot[0] == fold.seq and snapshot[1] != state_bytes(fold):
        yield f"the snapshot at position {fold.seq} differs from the fold of its events"


def _check_event(event: EventRow, decision: DecisionRow | None) -> Iterator[str]:
    if event.kind not in (*ENDS, *CHANGES, "archive"):
        yield f"event {event.seq} is of kind {event.kind!r}, which is unknown"
    elif event.kind in ENDS and decision is None:
        yield f"event {event.seq} ends decision {event.decision!r}, which is not there"
    elif decision is not None and (decision.seq, decision.status) != (event.seq, ENDS.get(event.kind)):
        yield (
            f"event {event.seq} ends decision {decision.id!r} ({event.kind}); its row says {decision.status} by event "
            f"{decision.seq}"
        )


def _check_decision(decision: DecisionRow, event: EventRow | None, pruned: int) -> Iterator[str]:
    if decision.status == OPEN:
        if decision.seq is not None:
            yield f"decision {decision.id!r} is open, but names event {decision.seq}"
    elif decision.seq is None or (event is None and decision.seq > pruned):
        yield f"decision {decision.id!r} is {decision.status}, but its event {decision.seq} is not there"
    elif event is not None and event.decision != decision.id:
        yield f"decision {decision.id!r} names event {decision.seq}, which ends {event.decision!r}"


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
