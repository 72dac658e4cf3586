"""One batch of calls in one transaction: what every verb does, with the statuses of the interface.

Calls of one batch are concurrent, so any order is right. Those that change learners are first (create, archive, arms),
then decisions are drawn, then outcomes are learnt: so the database is asked for many rows at once. Learners are locked
in the order of their names before anything is written, which keeps processes that share a database from waiting for
each other in a circle.

Learners in memory run ahead of the commit, but nobody sees them: answers are handed out after it. If it fails, the
learners that the batch touched are forgotten and read again.
"""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from allworlds.agents.arms import graph_of
from allworlds.foundation.errors import AllWorldsError, InvalidState
from allworlds.service.journal import (
    ENDS,
    EXPIRED,
    OBSERVED,
    OPEN,
    VOIDED,
    AlreadyThere,
    DecisionRow,
    EventRow,
    Journal,
    LearnerRow,
    Position,
    ServiceError,
    Unavailable,
)
from allworlds.service.live import Live, load
from allworlds.service.rule import Rule, check_text, is_text

LOG = logging.getLogger("allworlds.service")
Key = tuple[str, str]
"""A learner and the id of a decision."""

CHANGING = ("archive", "add_arm", "retire_arm")
ENDING = ("observe", "void")
EXPIRE_AT_ONCE = 500
"""Decisions that expire in one batch."""


class Call:
    """One request, and after its batch the answer or the error."""

    __slots__ = ("answer", "arguments", "deliver", "error", "future", "name", "verb")

    def __init__(self, verb: str, name: str = "", arguments: Mapping[str, Any] | None = None) -> None:
        self.verb, self.name, self.arguments = verb, name, arguments or {}
        self.deliver: Callable[[list[Call]], object] | None = None
        self.answer: Any = None
        self.error: ServiceError | Unavailable | None = None
        self.future: Any = None


@dataclass(frozen=True, slots=True)
class Limits:
    """Settings of an engine."""

    max_open: int = 100_000
    """Open decisions of one learner; further ones are refused (429)."""
    probabilities_up_to: int = 256
    """Up to so many arms a decision stores the probabilities of all of them."""
    snapshot_every: int = 1000
    """Events between two snapshots, at least."""


class Batch:
    """One transaction on a journal, with the learners that are in memory."""

    def __init__(self, journal: Journal, lives: dict[str, Live], limits: Limits) -> None:
        self.journal, self.lives, self.limits = journal, lives, limits
        self.now = 0.0
        self.touched: set[str] = set()
        self.rows: dict[Key, DecisionRow] = {}
        """Decisions that were read or made, as they are at this point of the transaction."""
        self.events: dict[str, list[EventRow]] = {}

    def run(self, calls: list[Call], expire: bool = False) -> int:
        """Answer all calls, durably; return how many decisions expired."""
        try:
            with self.journal.transaction():
                self.now = self.journal.now()
                overdue = self.journal.overdue(self.now, EXPIRE_AT_ONCE) if expire else []
                self._lock(calls, overdue)
                for call in calls:
                    if call.verb not in ("choose", "choose_many", "observe", "void"):
                        self._attempt(call, getattr(self, "do_" + call.verb))
                self._choose([call for call in calls if call.verb in ("choose", "choose_many")])
                self._end([call for call in calls if call.verb in ENDING])
                self._read(row[:2] for row in overdue)  # as they are under the lock
                for row in overdue:
                    self._expire(row)
                self._write()
        except BaseException:
            for name in self.touched:
                self.lives.pop(name, None)
            raise
        return len(overdue)

    def _attempt(self, call: Call, work: Callable[[Call], Any]) -> None:
        """Run one call; what is wrong with it is its answer."""
        try:
            call.answer = work(call)
        except (ServiceError, AllWorldsError) as error:
            call.error = as_service_error(error)

    def _lock(self, calls: list[Call], overdue: list[DecisionRow]) -> None:
        """Lock all learners that may get events, by name, and bring them up to date."""
        names = {call.name for call in calls if call.verb in CHANGING or call.verb in ENDING}
        for name in sorted(names.union(row.learner for row in overdue)):
            self.find(name, lock=True, missing_ok=True)

    def find(self, name: str, *, lock: bool = False, missing_ok: bool = False) -> Live:
        """The learner of this name, up to date."""
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
            live = self.lives[name] = load(self.journal, row)
        return live if position is None else self._follow(live, position)

    def _follow(self, live: Live, position: Position) -> Live:
        """Learn what other processes have journalled since."""
        live.archived_at = position.archived_at
        try:
            while live.seq < position.seq:
                page = self.journal.events(live.name, live.seq, EXPIRE_AT_ONCE)
                if not page:
                    raise InvalidState(f"the events of learner {live.name!r} after {live.seq} are gone")
                for event, decision in page:
                    live.follow(event, decision)
        except InvalidState:  # what this process had not seen yet was pruned by another
            row = self.journal.learner(live.name)
            assert row is not None
            live = self.lives[live.name] = load(self.journal, row)
        return live

    # --- learners ---------------------------------------------------------------------------------------

    def do_create(self, call: Call) -> tuple[dict[str, Any], bool]:
        """A new learner; the same body again is the same learner."""
        body, rule = call.arguments["body"], call.arguments["rule"]
        for _ in range(2):
            row = self.journal.learner(call.name)
            if row is not None:
                if row.body != body:
                    raise ServiceError(
                        409, f"there is already a learner {call.name!r} with other settings; try another name"
                    )
                return self.view(self.find(call.name)), False
            try:
                secret = secrets.token_bytes(32)
                self.journal.add_learner(LearnerRow(call.name, body, rule.to_text(), secret, self.now))
            except AlreadyThere:
                continue  # another process was quicker: look at its body
            return self.view(self.find(call.name)), True
        raise Unavailable(f"learner {call.name!r} came and went; try again")

    def do_view(self, call: Call) -> dict[str, Any]:
        """One learner."""
        return self.view(self.find(call.name))

    def do_views(self, call: Call) -> list[dict[str, Any]]:
        """All learners."""
        return [self.view(self.find(row.name)) for row in self.journal.learners()]

    def view(self, live: Live) -> dict[str, Any]:
        """A learner in the words of the interface."""
        times = {"created_at": live.created_at, "archived_at": live.archived_at}
        return {"name": live.name, **live.rule.view(), **times, "open": live.open, "events": live.seq}

    def do_state(self, call: Call) -> dict[str, Any]:
        """What the learner would do next: the round and the distribution, and a line for each segment."""
        live = self.find(call.name)
        labels, parts = live.rule.labels, {"": live.segments.get("", live.blank), **live.segments}
        rows = {}
        for name, part in parts.items():
            p = part.distribution()
            best = int(p.argmax())
            rows[name] = {"round": live.rule.learner.round(part.state), "likeliest": labels[best]}
            rows[name]["probability"] = float(p[best])
        p = parts[""].distribution()
        return {
            "name": live.name,
            "round": rows[""]["round"],
            "distribution": dict(zip(labels, p.tolist(), strict=True)),
            "segments": {name: row for name, row in rows.items() if name},
            "open": live.open,
            "events": live.seq,
        }

    def do_rules(self, call: Call) -> list[Rule]:
        """The rule of every epoch."""
        return list(self.find(call.name).rules)

    def do_snapshot(self, call: Call) -> bytes:
        """What was learnt, as bytes; saved too."""
        live = self.find(call.name)
        self._save(live)
        return live.snapshot

    def do_save(self, call: Call) -> None:
        """Save the states of all learners that changed since they were last saved."""
        for live in self.lives.values():
            if live.seq > live.saved:
                self._save(live)

    def do_load(self, call: Call) -> None:
        """Bring all learners into memory."""
        for row in self.journal.learners():
            try:
                self.find(row.name)
            except (AllWorldsError, KeyError, ValueError) as error:
                if isinstance(error, Unavailable):
                    raise
                LOG.error("learner %r cannot be read: %s; `allworlds db verify` says more", row.name, error)

    def do_recount(self, call: Call) -> None:
        """Count open decisions anew, which other processes may have made."""
        for live in self.lives.values():
            live.open = self.journal.open_count(live.name)

    def do_archive(self, call: Call) -> dict[str, Any]:
        """No new decisions from now on; again it is the same."""
        live = self.find(call.name)
        if live.archived_at is None:
            self.journal.archive(live.name, self.now)
            self._add(live, EventRow(live.name, live.seq + 1, "archive", self.now))
        return self.view(live)

    def do_add_arm(self, call: Call) -> dict[str, Any]:
        """One arm more; again it is the same, if the neighbours are."""
        label, neighbours = call.arguments["label"], list(call.arguments.get("neighbours") or ())
        live = self._changeable(call.name)
        rule = live.rule
        if label in rule.index:
            arm = rule.index[label]
            seen = {rule.labels[i] for i in graph_of(rule.learner).sees(arm).tolist() if i != arm}
            if seen != set(neighbours) - {label}:
                raise ServiceError(409, f"there is already an arm {label!r}, with other neighbours")
            return self.view(live)
        if label in live.retired:
            raise ServiceError(409, f"arm {label!r} was retired; expected another label for a new arm")
        return self._change(live, "add_arm", label, neighbours)

    def do_retire_arm(self, call: Call) -> dict[str, Any]:
        """One arm less; again it is the same."""
        label, live = call.arguments["label"], self._changeable(call.name)
        if label in live.retired:
            return self.view(live)
        if label not in live.rule.index:
            raise ServiceError(404, f"learner {live.name!r} has no arm {label!r}")
        return self._change(live, "retire_arm", label, [])

    def _changeable(self, name: str) -> Live:
        live = self.find(name)
        if live.archived_at is not None:
            raise ServiceError(410, f"learner {name!r} is archived; its arms cannot change any more")
        return live

    def _change(self, live: Live, kind: str, label: str, neighbours: list[str]) -> dict[str, Any]:
        body = live.changed_arms(kind, label, neighbours)
        self._add(live, EventRow(live.name, live.seq + 1, kind, self.now, body=body))
        return self.view(live)

    def _add(self, live: Live, event: EventRow) -> None:
        """An event without a decision."""
        live.follow(event, None)
        self.events.setdefault(live.name, []).append(event)

    # --- decisions --------------------------------------------------------------------------------------

    def _choose(self, calls: list[Call]) -> None:
        """Draw decisions that are new, and look up those that are not."""
        asked: list[tuple[Call, int, Live, str, Mapping[str, Any]]] = []
        for call in calls:
            many = call.verb == "choose_many"
            items = call.arguments["decisions"] if many else [call.arguments]
            call.answer = [None] * len(items)
            try:
                live = self.find(call.name)
            except ServiceError as error:
                call.error = error
                continue
            for k, item in enumerate(items):
                given = item.get("id")
                try:
                    id = uuid4().hex if given is None else check_text("id", given)
                except AllWorldsError as error:
                    call.answer[k] = as_service_error(error)
                    continue
                asked.append((call, k, live, id, item))
        self._read(((live.name, id) for _, _, live, id, item in asked if item.get("id") is not None))
        new: dict[Key, DecisionRow] = {}
        for call, k, live, id, item in asked:
            key = live.name, id
            if key not in self.rows and key not in new:
                try:
                    new[key] = self._draw(live, id, item)
                except AllWorldsError as error:
                    call.answer[k] = as_service_error(error)
        for key, row in zip(new, self.journal.add_decisions(list(new.values())) if new else (), strict=True):
            self.rows[key] = row
            if row is new[key] or row == new[key]:
                self.lives[row.learner].open += 1
        for call, k, live, id, _ in asked:
            if call.answer[k] is None:
                call.answer[k] = self._answer(live, self.rows[live.name, id])
        for call in calls:
            if call.error is None and call.verb == "choose":
                (answer,) = call.answer
                if isinstance(answer, ServiceError):
                    call.answer, call.error = None, answer
                else:
                    call.answer = answer
            elif call.error is None:
                call.answer = [_error_item(each) if isinstance(each, ServiceError) else each for each in call.answer]

    def _answer(self, live: Live, row: DecisionRow) -> dict[str, Any]:
        """The answer, also of a decision that another process made after a change of the arms just now."""
        if row.epoch >= len(live.rules):
            live = self._follow(live, self.journal.position(live.name))
        return live.answer(row)

    def _draw(self, live: Live, id: str, item: Mapping[str, Any]) -> DecisionRow:
        """A new decision."""
        if live.archived_at is not None:
            raise ServiceError(410, f"learner {live.name!r} is archived; it makes no new decisions")
        if live.open >= self.limits.max_open:
            raise ServiceError(
                429, f"learner {live.name!r} has {live.open:,} open decisions; report or void some of them first"
            )
        segment = item.get("segment")
        if segment:
            check_text("segment", segment)
        keeps = live.rule.learner.n_arms <= self.limits.probabilities_up_to
        return live.draw(id, segment or "", item.get("available"), keeps, self.now)

    def _read(self, keys: Any) -> None:
        """Read decisions that are not known yet, many at once."""
        wanted: dict[str, set[str]] = {}
        for name, id in keys:
            if (name, id) not in self.rows and is_text(id):
                wanted.setdefault(name, set()).add(id)
        for name, ids in wanted.items():
            for id, row in self.journal.decisions(name, ids).items():
                self.rows[name, id] = row

    def do_decision(self, call: Call) -> dict[str, Any]:
        """A decision, and what became of it."""
        live, id = self.find(call.name), call.arguments["id"]
        self._read([(call.name, id)])
        row = self._row(call.name, id)
        return self._answer(live, row) | {"status": row.status, "segment": row.segment or None}

    def _row(self, name: str, id: str) -> DecisionRow:
        row = self.rows.get((name, id))
        if row is None:
            raise ServiceError(404, f"learner {name!r} has made no decision {id!r}")
        return row

    # --- outcomes ---------------------------------------------------------------------------------------

    def _end(self, calls: list[Call]) -> None:
        """Outcomes and voids."""
        self._read((call.name, call.arguments["id"]) for call in calls if call.name in self.lives)
        for call in calls:
            self._attempt(call, self._observe if call.verb == "observe" else self._void)

    def _observe(self, call: Call) -> dict[str, Any]:
        """Learn an outcome, or compare it with the one that was learnt."""
        live = self.find(call.name)
        row = self._expired_now(self._row(call.name, call.arguments["id"]))
        if row.status == EXPIRED:
            raise ServiceError(410, f"decision {row.id!r} has expired; its outcome came too late")
        if row.status == VOIDED:
            raise ServiceError(409, f"decision {row.id!r} was voided; it takes no outcome")
        values, others = live.values(row, call.arguments["losses"])
        if row.status == OBSERVED:
            self._compare(row, values, others)
        else:
            body = json.dumps({"also": others}) if others else None
            self._finish(live, row, "outcome", values, body)
        return {"id": row.id, "status": OBSERVED}

    def _void(self, call: Call) -> dict[str, Any]:
        """Forget a decision that nobody saw."""
        live = self.find(call.name)
        row = self._expired_now(self._row(call.name, call.arguments["id"]))
        if row.status == EXPIRED:
            raise ServiceError(410, f"decision {row.id!r} has expired")
        if row.status == OBSERVED:
            raise ServiceError(409, f"the outcome of decision {row.id!r} was reported; it cannot be voided")
        if row.status == OPEN:
            self._finish(live, row, "void", None)
        return {"id": row.id, "status": VOIDED}

    def _expired_now(self, row: DecisionRow) -> DecisionRow:
        """The decision, which expires if it is past its deadline."""
        if row.status == OPEN and row.deadline is not None and row.deadline < self.now:
            self._expire(row)
        return self.rows[row[:2]]

    def _expire(self, row: DecisionRow) -> None:
        """A decision that is past its deadline, unless this batch has ended it."""
        live = self.find(row.learner)
        if self.rows[row[:2]].status == OPEN:
            self._finish(live, row, "expire", live.default_values(row))

    def _finish(
        self, live: Live, row: DecisionRow, kind: str, values: NDArray[np.float64] | None, body: str | None = None
    ) -> None:
        """End a decision: learn the values, if there are any, and journal the event."""
        held_back = 0.0 if values is None else live.learn(row, values)
        losses = None if values is None else values.astype("<f8").tobytes()
        event = EventRow(live.name, live.seq + 1, kind, self.now, row.id, losses, held_back, body)
        live.seq += 1
        live.open -= 1
        self.events.setdefault(live.name, []).append(event)
        self.rows[row[:2]] = row._replace(status=ENDS[kind], seq=event.seq)

    def _compare(self, row: DecisionRow, values: NDArray[np.float64], others: dict[str, float]) -> None:
        """Raise 409 unless the outcome is the one that was reported."""
        assert row.seq is not None
        new = self.events.get(row.learner, ())
        event = next((event for event in new if event.seq == row.seq), None)
        if event is None:
            found = self.journal.events(row.learner, row.seq - 1, 1)
            event = found[0][0] if found and found[0][0].seq == row.seq else None
        if event is None or event.losses is None:
            raise ServiceError(410, f"the outcome of decision {row.id!r} was pruned from the journal")
        also = json.loads(event.body)["also"] if event.body else {}
        if not np.array_equal(np.frombuffer(event.losses, "<f8"), values) or also != others:
            raise ServiceError(409, f"another outcome of decision {row.id!r} was reported before; it stays")

    # --- the end of the transaction ---------------------------------------------------------------------

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

    # --- keys -------------------------------------------------------------------------------------------

    def do_keys(self, call: Call) -> Any:
        """All keys."""
        return self.journal.keys()

    def do_add_key(self, call: Call) -> None:
        """Add a key."""
        self.journal.add_key(call.arguments["row"])

    def do_revoke_key(self, call: Call) -> bool:
        """Revoke a key."""
        return self.journal.revoke_key(call.arguments["id"], self.now)

    def do_ping(self, call: Call) -> float:
        """The journal answers; its time."""
        return self.now


def as_service_error(error: AllWorldsError) -> ServiceError | Unavailable:
    """The error as the interface says it; :class:`Unavailable` ends the whole batch."""
    if isinstance(error, Unavailable):
        raise error
    if isinstance(error, InvalidState):
        return ServiceError(500, str(error))
    return error if isinstance(error, ServiceError) else ServiceError(422, str(error))


def _error_item(error: ServiceError) -> dict[str, Any]:
    return {"error": str(error), "status": error.status}
