"""What the service remembers: rows, and the journal that keeps them.

The journal is the truth. A decision is a row that is written once and later ended once; every change of a learner is
an event with a position, ``seq``, which counts from 1 without gaps, in the order of commits. What a learner has learnt
is a fold of its events (:mod:`allworlds.service.fold`), so nothing else has to be kept.

A journal is used by one thread, except for ``stream`` and ``now``. It checks nothing: the engine does. An error inside
a ``transaction`` rolls everything back; if it is unknown whether something was written, it is :class:`Unavailable`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from allworlds.foundation.errors import AllWorldsError

Clock = Callable[[], float]

OPEN, OBSERVED, VOIDED, EXPIRED = "open", "observed", "voided", "expired"
ENDS = {"outcome": OBSERVED, "void": VOIDED, "expire": EXPIRED}
"""The status of a decision after an event of each kind that ends one."""
CHANGES = ("add_arm", "retire_arm")
"""The kinds of events that make the next epoch."""


class Unavailable(AllWorldsError):
    """The journal did not answer, or it is unknown whether something was written; ask again with the same id.

    ``public`` is the sentence for clients, who need not know where the database is; by default it is the same.
    """

    def __init__(self, sentence: str, public: str | None = None) -> None:
        super().__init__(sentence)
        self.public = public or sentence


class Outrun(Unavailable):
    """Another process has written, though an optimistic transaction took for granted that none had."""


AWAY = "the database cannot be reached just now; ask again with the same id"
"""What clients are told of a database that cannot be opened; the log says why."""


class ServiceError(AllWorldsError):
    """A request that cannot be granted: an HTTP status and a sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class AlreadyThere(AllWorldsError):
    """There is already a learner of this name; the transaction goes on as if nothing had been asked."""


class SchemaTooNew(AllWorldsError):
    """The database was written by a later version of this package."""


class LearnerRow(NamedTuple):
    """One learner: how it was created, and where its events stand."""

    name: str
    body: str
    """Canonical JSON of the creation request: the same body again is the same learner."""
    rule: str
    """JSON: the learner with its graph or cover, and how values are reported; see ``service.rule.Rule``."""
    secret: bytes
    """32 random bytes; the uniforms of a decision follow from them and its id. Never exported, never logged."""
    created_at: float
    archived_at: float | None = None
    seq: int = 0
    """The position of the last event."""
    epoch: int = 0
    """How often the arms changed."""


class DecisionRow(NamedTuple):
    """One decision: the answer, and what the estimate will need."""

    learner: str
    id: str
    segment: str
    epoch: int
    round: int
    arm: str
    ticket: str
    """JSON list of the fields of the learner's ticket; "" once pruned."""
    probability: float
    clique_probability: float | None
    probabilities: bytes | None
    """The whole distribution as little-endian doubles, where it is kept."""
    available: str | None
    """JSON list of the arms it was drawn among; None for all."""
    created_at: float
    deadline: float | None
    status: str = OPEN
    seq: int | None = None
    """The position of the event that ended it."""


class EventRow(NamedTuple):
    """One change of a learner."""

    learner: str
    seq: int
    kind: str
    """outcome, void, expire, add_arm, retire_arm or archive."""
    at: float
    decision: str | None = None
    losses: bytes | None = None
    """Little-endian doubles as reported (in the learner's own range), in the order of ``observe``."""
    held_back: float = 0.0
    """What the learner held back of the estimate of this outcome; it depends on the solver, so it is journalled."""
    body: str | None = None
    """JSON: for an outcome, further values that were reported; for a change of the arms, all that the fold needs."""


class KeyRow(NamedTuple):
    """One key: the hash of its secret, and what it may do."""

    id: str
    hash: bytes
    scopes: str
    learner: str | None
    label: str
    created_at: float
    revoked_at: float | None = None


class Position(NamedTuple):
    """Where a learner's events stand."""

    seq: int
    epoch: int
    archived_at: float | None


KEYS = "/keys"
"""Stands for all keys among names of learners, none of which has a slash."""
STRAYS = """SELECT learner FROM
    (SELECT learner FROM decisions UNION SELECT learner FROM events UNION SELECT learner FROM snapshots) AS named
    WHERE learner NOT IN (SELECT name FROM learners) ORDER BY learner"""
"""Learners that rows name and that are not there."""


def stray(name: str) -> str:
    """What is wrong with such rows."""
    return f"there are rows of a learner {name!r}, which is not there"


class Journal(Protocol):
    """Where rows are kept: in memory, in SQLite or in PostgreSQL, with the same contract."""

    waits: bool
    """Whether each transaction waits for a disk or a server, however little it writes."""
    shared: bool
    """Whether other processes may write to it at the same time: then the engine follows ``position`` and ``events``."""

    def now(self) -> float:
        """The time by the database's clock, in seconds since 1970."""

    def transaction(self, *, optimistic: bool = False) -> AbstractContextManager[None]:
        """All or nothing: committed and synced when it ends, rolled back on an error.

        An optimistic one may take for granted that no other process has written since the last transaction, and that
        ids of decisions are new; if that was wrong, it raises :class:`Outrun` at its end, and nothing was written.
        """

    def add_learner(self, row: LearnerRow) -> None:
        """Add a learner; raise :class:`AlreadyThere` if there is one of this name."""

    def learner(self, name: str) -> LearnerRow | None:
        """The learner of this name."""

    def learners(self) -> list[LearnerRow]:
        """All learners, by name."""

    def archive(self, name: str, at: float) -> None:
        """Set when the learner was archived."""

    def lock(self, name: str) -> Position:
        """Where the learner stands; until the transaction ends nobody else can advance it."""

    def position(self, name: str) -> Position:
        """Where the learner stands, without waiting for anybody."""

    def advance(self, name: str, n: int, epochs: int = 0) -> int:
        """Take the next ``n`` positions, and count changes of the arms; return the first position."""

    def add_decisions(self, rows: Sequence[DecisionRow]) -> list[DecisionRow]:
        """Add open decisions; for each, the row that is there now: the very one, or an earlier one of the same id."""

    def decisions(self, learner: str, ids: Iterable[str]) -> dict[str, DecisionRow]:
        """The decisions of these ids, as far as there are any."""

    def open_count(self, learner: str) -> int:
        """The number of open decisions."""

    def overdue(self, now: float, limit: int) -> list[DecisionRow]:
        """Open decisions of all learners whose deadline is before ``now``, by learner, then by deadline."""

    def add_events(self, rows: Sequence[EventRow]) -> None:
        """Add events, and set ``status`` and ``seq`` of the decisions that they end."""

    def events(self, learner: str, after: int, limit: int) -> list[tuple[EventRow, DecisionRow | None]]:
        """Events beyond position ``after``, in order, each with its decision."""

    def changes(self, learner: str) -> list[EventRow]:
        """The events that changed the arms, in order."""

    def snapshot(self, learner: str, base: bool = False) -> tuple[int, bytes] | None:
        """The last saved state and its position; ``base``: the one that replaces pruned events."""

    def save_snapshot(self, learner: str, seq: int, state: bytes, base: bool = False) -> None:
        """Save the state at a position, instead of the one before."""

    def stream(self, learner: str) -> Iterator[tuple[DecisionRow, EventRow | None]]:
        """All decisions in the order in which they were made, each with the event that ended it; from any thread."""

    def problems(self) -> list[str]:
        """What the database itself finds wrong, and rows that belong to no learner."""

    def listen(self, hint: Callable[[str], object]) -> None:
        """Call ``hint``, in another thread, soon after any process made or changed a learner, with its name, or a key.

        For a key it is called with :data:`KEYS`. A hint may be lost, so the listener has to ask as well.
        """

    def keys(self) -> list[KeyRow]:
        """All keys, revoked ones included, oldest first."""

    def add_key(self, row: KeyRow) -> None:
        """Add a key."""

    def revoke_key(self, id: str, at: float) -> bool:
        """Revoke a key; False if there is no such key, or it is revoked already."""

    def close(self) -> None:
        """Let go of everything."""
