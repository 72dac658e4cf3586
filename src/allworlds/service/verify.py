"""``allworlds db verify``: replay the journal, and check that everything in the database agrees with it.

Each learner's events are folded from nothing with :mod:`allworlds.service.fold`. Compared are: positions without gaps,
up to that of the learner's row; the snapshots, bit for bit; each ended decision with the one event that ended it; what
a decision says twice (its arm, probability and round are also in its ticket, and its probability in the vector); that
values are as many as were to be observed, and in range; when the learner was archived. SQLite's own check of tables
and indexes is part of it, and so are rows of learners that are not there.

What it cannot see: a number that was changed to another possible one after the last snapshot, and open decisions that
are gone. It may run beside a service, and looks at what was there when it began.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from allworlds.foundation.errors import AllWorldsError
from allworlds.service.fold import Fold
from allworlds.service.journal import CHANGES, ENDS, OPEN, DecisionRow, EventRow, Journal, LearnerRow
from allworlds.service.maintenance import events_after, start_of_fold, state_bytes
from allworlds.service.rule import Rule

DATABASE = "(database)"
"""Stands for the learner in a verdict on the whole database."""
DAMAGE = (AllWorldsError, ValueError, LookupError, TypeError, AttributeError)
"""What reading a damaged row may raise."""


class Verdict(NamedTuple):
    """What was found of one learner."""

    learner: str
    decisions: int
    events: int
    """Those that are still there, pruned ones not counted."""
    problems: tuple[str, ...]


def verify(journal: Journal) -> Iterator[Verdict]:
    """Check the database, which is told of only if something is wrong, and every learner."""
    if problems := journal.problems():
        yield Verdict(DATABASE, 0, 0, tuple(problems))
    for row in journal.learners():
        snapshots = {base: journal.snapshot(row.name, base) for base in (True, False)}
        now = journal.learner(row.name)  # read after the snapshots, so that none can be ahead of it
        assert now is not None
        yield _verify(journal, now, snapshots)


def _verify(journal: Journal, row: LearnerRow, snapshots: dict[bool, tuple[int, bytes] | None]) -> Verdict:
    problems = list(_check_learner(row))
    try:
        fold = start_of_fold(journal, row, snapshots[True])
    except DAMAGE as error:
        return Verdict(row.name, 0, 0, (f"its rule or the snapshot of its pruned events cannot be read: {error}",))
    pruned, last = fold.seq, snapshots[False]
    counted, archived = 0, False
    problems += _compare(fold, last)
    for event, decision in events_after(journal, row.name, 0):
        if event.seq > row.seq:  # written since we began
            break
        archived = archived or event.kind == "archive"
        problems += _check_event(event, decision, fold.rules)
        if event.seq <= pruned:
            continue
        try:
            fold.apply(event, decision)
        except DAMAGE as error:
            problems.append(f"event {event.seq} cannot be applied: {error}")
            break
        counted += 1
        problems += _compare(fold, last)
    else:
        if fold.seq != row.seq:
            problems.append(f"its last event is {fold.seq}; its row says {row.seq}")
    if not problems and fold.epoch != row.epoch:
        problems.append(f"its arms changed {fold.epoch} times; its row says {row.epoch}")
    if not problems and archived != (row.archived_at is not None):
        problems.append(f"it was {'' if archived else 'not '}archived by its events; its row says otherwise")
    if last is not None and not pruned <= last[0] <= row.seq:
        problems.append(f"a snapshot is at position {last[0]}; its row says {row.seq}, and {pruned} are pruned")
    n_decisions = 0
    for n_decisions, (decision, ended) in enumerate(journal.stream(row.name), 1):  # noqa: B007 - it is returned
        problems += _check_end(decision, ended, pruned)
        if decision.epoch < len(fold.rules) or decision.epoch > journal.position(row.name).epoch:  # else it is new
            problems += _check_decision(decision, fold.rules, pruned)
    return Verdict(row.name, n_decisions, counted, tuple(problems))


def _compare(fold: Fold, snapshot: tuple[int, bytes] | None) -> Iterator[str]:
    """The snapshot of the position that the fold has reached."""
    if snapshot is not None and snapshot[0] == fold.seq and snapshot[1] != state_bytes(fold):
        yield f"the snapshot at position {fold.seq} differs from the fold of its events"


def _check_learner(row: LearnerRow) -> Iterator[str]:
    try:
        named = json.loads(row.body).get("name")
    except DAMAGE:
        named = None
    if named != row.name:
        yield "the request that created it is not there, or of another name"
    if len(row.secret) != 32:
        yield f"its secret has {len(row.secret)} bytes; expected 32"


def _check_event(event: EventRow, decision: DecisionRow | None, rules: Sequence[Rule]) -> Iterator[str]:
    if event.kind not in (*ENDS, *CHANGES, "archive"):
        yield f"event {event.seq} is of kind {event.kind!r}, which is unknown"
    elif event.kind in ENDS and decision is None:
        yield f"event {event.seq} ends decision {event.decision!r}, which is not there"
    elif decision is not None and (decision.seq, decision.status) != (event.seq, ENDS.get(event.kind)):
        yield (
            f"event {event.seq} ends decision {decision.id!r} ({event.kind}); its row says {decision.status} by event "
            f"{decision.seq}"
        )
    elif decision is not None and 0 <= decision.epoch < len(rules):
        try:
            sound = _is_sound(event, decision, rules[decision.epoch])
        except DAMAGE:
            sound = False
        if not sound:
            yield f"event {event.seq} ({event.kind}) has other values than decision {decision.id!r} can have"


def _is_sound(event: EventRow, decision: DecisionRow, rule: Rule) -> bool:
    """Whether the values are as many as were to be observed, and in range."""
    if event.losses is None:
        return event.kind == "void" or (event.kind == "expire" and rule.default is None)
    values = np.frombuffer(event.losses, "<f8")
    if values.size != len(rule.shown(rule.index[decision.arm])[0]) or not 0.0 <= event.held_back < np.inf:
        return False
    if event.kind == "expire":
        return bool((values == rule.default).all())
    return event.kind == "outcome" and bool(((values >= rule.allowed.low) & (values <= rule.allowed.high)).all())


def _check_end(decision: DecisionRow, event: EventRow | None, pruned: int) -> Iterator[str]:
    if decision.status == OPEN:
        if decision.seq is not None:
            yield f"decision {decision.id!r} is open, but names event {decision.seq}"
    elif decision.status not in ENDS.values():
        yield f"decision {decision.id!r} is {decision.status!r}, which is unknown"
    elif decision.seq is None or (event is None and decision.seq > pruned):
        yield f"decision {decision.id!r} is {decision.status}, but its event {decision.seq} is not there"
    elif event is not None and event.decision != decision.id:
        yield f"decision {decision.id!r} names event {decision.seq}, which ends {event.decision!r}"


def _check_decision(decision: DecisionRow, rules: Sequence[Rule], pruned: int) -> Iterator[str]:
    """What a decision says more than once."""
    try:
        if not 0 <= decision.epoch < len(rules):
            yield f"decision {decision.id!r} is of epoch {decision.epoch}; there are {len(rules)}"
            return
        wrong = _differs(decision, rules[decision.epoch], pruned)
    except DAMAGE as error:
        wrong = f"what cannot be read: {error}"
    if wrong:
        yield f"decision {decision.id!r} has {wrong}"


def _differs(decision: DecisionRow, rule: Rule, pruned: int) -> str:
    """What disagrees within a decision; an empty text if nothing does."""
    arm = rule.index.get(decision.arm)
    if arm is None:
        return f"the arm {decision.arm!r}, which there was not"
    if decision.available is not None and decision.arm not in json.loads(decision.available):
        return f"the arm {decision.arm!r}, which was not available"
    if decision.ticket == "":
        return "" if decision.seq is not None and decision.seq <= pruned else "no ticket, though it is not pruned"
    ticket = rule.ticket(decision.ticket)
    own = (arm, decision.round, decision.probability, decision.clique_probability)
    if (ticket.arm, ticket.round, ticket.probability, getattr(ticket, "clique_probability", None)) != own:
        return "another arm, round or probability than its ticket"
    if decision.probabilities is not None:
        vector = np.frombuffer(decision.probabilities, "<f8")
        if vector.size != len(rule.labels) or not np.isclose(vector[arm], decision.probability, rtol=1e-6, atol=1e-12):
            return "another probability than its vector"
        if not (vector >= 0.0).all() or not np.isclose(vector.sum(), 1.0, atol=1e-6):
            return "probabilities that do not sum to one"
    return ""
