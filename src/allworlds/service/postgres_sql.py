"""The statements of the journal in PostgreSQL: a batch of rows travels as one array a column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from allworlds.service.journal import ENDS, DecisionRow, EventRow, KeyRow, LearnerRow, Position

SAME_TIME = 0.25
"""Seconds by which the database's clock may differ from what an optimistic transaction took it for."""
BATCH = 4096
"""Numbers that one statement may give to new decisions; the step of the sequence ``decision_numbers``."""

LEARNER, DECISION, EVENT, KEY = (", ".join(row._fields) for row in (LearnerRow, DecisionRow, EventRow, KeyRow))
TIME = "SELECT extract(epoch FROM clock_timestamp())::float8"
POSITION = "SELECT seq, epoch, archived_at FROM learners WHERE name = %s"
LOCK = " FOR NO KEY UPDATE"


def _parameters(types: str) -> str:
    """Parameters that are arrays: a batch of rows travels as one array a column."""
    return ", ".join(f"%s::{kind}[]" for kind in types.split())


def _of(table: str, row: type[Any]) -> str:
    return ", ".join(f"{table}.{name}" for name in row._fields)


STEP = "step AS MATERIALIZED (SELECT nextval('decision_numbers') AS first)"
INSERT = f"""INSERT INTO decisions (number, {DECISION}) SELECT step.first + new.i, {_of("new", DecisionRow)}
    FROM step, unnest({_parameters("int8 text text text int8 int8 text text float8 float8 bytea text")},
        {_parameters("float8 float8 text int8")}) AS new (i, {DECISION})
    ON CONFLICT (learner, id) DO NOTHING RETURNING learner, id"""
INSERT_DECISIONS = f"WITH {STEP} {INSERT}"
INSERT_EVENTS = f"""INSERT INTO events ({EVENT})
    SELECT * FROM unnest({_parameters("text int8 text float8 text bytea float8 text")})"""
END = f"""UPDATE decisions SET status = new.status, seq = new.seq
    FROM unnest({_parameters("text text text int8")}) AS new (learner, id, status, seq)
    WHERE decisions.learner = new.learner AND decisions.id = new.id AND decisions.status || '' = 'open' RETURNING 1"""
"""Of the indexes it must use that of the ids, not that of all open decisions: hence the ``||``."""
END_DECISIONS = f"WITH ended AS ({END}) SELECT 1 / (count(*) = %s)::int FROM ended"
"""Fails with a division by zero, and the transaction with it, unless all of them were open."""
WRITE = f"""WITH taken AS (SELECT * FROM unnest({_parameters("text int8 int8 float8 int8 int8")})
        AS taken (name, seq, epoch, archived_at, n, epochs)),
    stood AS (SELECT FROM learners JOIN taken USING (name) WHERE taken.n = 0 AND learners.seq = taken.seq
        AND learners.epoch = taken.epoch AND learners.archived_at IS NOT DISTINCT FROM taken.archived_at),
    moved AS (UPDATE learners SET seq = learners.seq + taken.n, epoch = learners.epoch + taken.epochs FROM taken
        WHERE learners.name = taken.name AND taken.n > 0 AND learners.seq = taken.seq AND learners.epoch = taken.epoch
        AND learners.archived_at IS NOT DISTINCT FROM taken.archived_at RETURNING 1),
    {STEP}, added AS ({INSERT}),
    told AS ({INSERT_EVENTS}),
    ended AS ({END})
    SELECT 1 / (abs(extract(epoch FROM clock_timestamp())::float8 - %s) < %s
        AND (SELECT count(*) FROM stood) + (SELECT count(*) FROM moved) = %s
        AND (SELECT count(*) FROM added) = %s AND (SELECT count(*) FROM ended) = %s)::int"""
"""All that an optimistic transaction writes; fails with a division by zero if it has taken the wrong for granted."""
TELL = "SELECT pg_notify('allworlds', %s)"
WITH_DECISION = f"""SELECT {_of("e", EventRow)}, {_of("d", DecisionRow)}
    FROM events e LEFT JOIN decisions d ON d.learner = e.learner AND d.id = e.decision"""
STREAM = f"""SELECT {_of("d", DecisionRow)}, {_of("e", EventRow)}
    FROM decisions d LEFT JOIN events e ON e.learner = d.learner AND e.seq = d.seq
    WHERE d.learner = %s ORDER BY d.number"""


@dataclass
class Draft:
    """What an optimistic transaction will write, and what it takes for granted."""

    began: float
    """The time, by the database's clock."""
    taken: dict[str, Position] = field(default_factory=dict)
    """Where the learners stand that it has asked for."""
    moves: dict[str, tuple[int, int]] = field(default_factory=dict)
    """How many events and epochs each gets."""
    decisions: list[DecisionRow] = field(default_factory=list)
    events: list[EventRow] = field(default_factory=list)

    further: list[tuple[str, Sequence[object]]] = field(default_factory=list)
    """Statements that nobody waits for, such as one that saves a state."""

    def positions(self) -> dict[str, Position]:
        """Where the learners stand at the end."""
        return {name: moved(position, *self.moves.get(name, (0, 0))) for name, position in self.taken.items()}

    def statement(self, now: float | None) -> tuple[str, list[Any]]:
        """:data:`WRITE` with its parameters; ``now`` is what the database's clock should say, None for whatever."""
        learners = [(name, *taken, *self.moves.get(name, (0, 0))) for name, taken in sorted(self.taken.items())]
        ended = endings(self.events)
        numbered = [(i, *row) for i, row in enumerate(self.decisions)]
        numbered.sort(key=lambda row: row[1:3])  # so that two processes with the same ids do not wait in a circle
        parameters: list[Any] = [*arrays(learners, 6), *arrays(numbered, 1 + len(DecisionRow._fields))]
        parameters += [*arrays(self.events, len(EventRow._fields)), *arrays(ended, 4)]
        time = [0.0, 1e18] if now is None else [now, SAME_TIME]
        return WRITE, [*parameters, *time, len(learners), len(self.decisions), len(ended)]


def moved(position: Position, n: int, epochs: int) -> Position:
    """Where a learner stands after further events."""
    return position._replace(seq=position.seq + n, epoch=position.epoch + epochs)


def endings(events: Sequence[EventRow]) -> list[tuple[Any, ...]]:
    """What the events do to decisions: learner, id, status and position."""
    return [(row.learner, row.decision, ENDS[row.kind], row.seq) for row in events if row.decision is not None]


def arrays(rows: Sequence[tuple[Any, ...]], width: int = 0) -> list[str]:
    """The rows as one array a column, each as PostgreSQL reads it; ``width`` is their number where there are no rows.

    The driver writes lists, too, in five times the time.

    >>> arrays([(1, 'a "b"', 0.5), (2, None, None)])
    ['{1,2}', '{"a \\\\"b\\\\"",NULL}', '{0.5,NULL}']
    """
    return ["{" + ",".join(map(_element, column)) + "}" for column in zip(*rows, strict=True)] or ["{}"] * width


def _element(value: str | bytes | float | None) -> str:
    """One element of an array."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return '"\\\\x' + value.hex() + '"' if isinstance(value, bytes) else str(value)
