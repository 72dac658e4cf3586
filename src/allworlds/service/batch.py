"""One batch of calls in one transaction: what every verb does, with the statuses of the interface.

Calls of one batch are concurrent, so any order is right. Those that change learners are first (create, archive, arms),
then decisions are drawn, then outcomes are learnt: so the database is asked for many rows at once. Learners are locked
in the order of their names before anything is written, which keeps processes that share a database from waiting for
each other in a circle.

Here are decisions and outcomes; :mod:`allworlds.service.learner_verbs` has the other verbs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from allworlds.foundation.checks import shorten
from allworlds.foundation.errors import AllWorldsError
from allworlds.service.calls import Call, as_service_error, error_item
from allworlds.service.journal import EXPIRED, OBSERVED, OPEN, VOIDED, DecisionRow, ServiceError, Unavailable
from allworlds.service.learner_verbs import LearnerVerbs
from allworlds.service.live import Live
from allworlds.service.rule import check_text
from allworlds.service.transaction import Key

CHANGING = ("archive", "add_arm", "retire_arm")
CHOOSING = ("choose", "choose_many")
ENDING = ("observe", "void")
EXPIRE_AT_ONCE = 500
"""Decisions that expire in one batch."""


class Batch(LearnerVerbs):
    """One transaction on a journal, with the learners that are in memory."""

    def run(self, calls: list[Call], expire: bool = False, optimistic: bool = False) -> int:
        """Answer all calls, durably; return how many decisions expired."""
        try:
            with self.journal.transaction(optimistic=optimistic):
                self.now = self.journal.now()
                overdue = self.journal.overdue(self.now, EXPIRE_AT_ONCE) if expire else []
                self._lock(calls, overdue)
                for call in calls:
                    if call.verb not in (*CHOOSING, *ENDING):
                        self._attempt(call, getattr(self, "do_" + call.verb))
                self._choose([call for call in calls if call.verb in CHOOSING])
                self._end([call for call in calls if call.verb in ENDING])
                overdue = [row for row in overdue if row.learner in self.lives]
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
            with suppress(ServiceError):  # one that cannot be read: each call hears of it
                self.find(name, lock=True, missing_ok=True)

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
                if item.get("id") is None:
                    item["id"] = uuid4().hex  # kept: run again because an answer was lost, it is the same decision
                try:
                    id = check_text("id", item["id"])
                except AllWorldsError as error:
                    call.answer[k] = as_service_error(error)
                    continue
                asked.append((call, k, live, id, item))
        new: dict[Key, DecisionRow] = {}
        failed: list[tuple[Call, int, Key, ServiceError | Unavailable]] = []
        for call, k, live, id, item in asked:  # most ids are new: whether one is not, the journal says when it is added
            key = live.name, id
            recent = live.recent.get(id)
            if recent is not None:
                self.rows[key] = recent
            elif key not in self.rows and key not in new:
                try:
                    new[key] = self._draw(live, id, item)
                except AllWorldsError as error:
                    failed.append((call, k, key, as_service_error(error)))
        self._add_decisions(new)
        self._read(key for _, _, key, _ in failed)  # the answer of an id that is there is the same, for ever
        for call, k, key, problem in failed:
            if key not in self.rows:
                call.answer[k] = problem
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
                call.answer = [error_item(each) if isinstance(each, ServiceError) else each for each in call.answer]

    def _add_decisions(self, new: dict[Key, DecisionRow]) -> None:
        """Journal decisions; where there is one of this id already, that is the one."""
        for key, row in zip(new, self.journal.add_decisions(list(new.values())) if new else (), strict=True):
            self.rows[key] = row
            live = self.lives[row.learner]
            if row is new[key]:
                live.remember(row)
            else:
                live.open -= 1

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
            if segment not in live.segments and len(live.segments) >= self.limits.max_segments:
                raise ServiceError(
                    422,
                    f"segment is {shorten(segment)}, and learner {live.name!r} has {len(live.segments):,} others; "
                    "expected one of these; a segment is for a group of many decisions",
                )
        keeps = live.rule.learner.n_arms <= self.limits.probabilities_up_to
        row = live.draw(id, segment or "", item.get("available"), keeps, self.now)
        live.open += 1
        return row

    def do_decision(self, call: Call) -> dict[str, Any]:
        """A decision, and what became of it."""
        live, id = self.find(call.name), call.arguments["id"]
        self._read([(call.name, id)])
        row = self._row(call.name, id)
        return self._answer(live, row) | {"status": row.status, "segment": row.segment or None}

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
        values, more = live.values(row, call.arguments["losses"])
        if row.status == OBSERVED:
            self._compare(row, values, more)
        else:
            self._finish(live, row, "outcome", values, json.dumps(more) if more else None)
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

    def _compare(self, row: DecisionRow, values: NDArray[np.float64], more: dict[str, Any]) -> None:
        """Raise 409 unless the outcome is the one that was reported."""
        assert row.seq is not None
        new = self.events.get(row.learner, ())
        event = next((event for event in new if event.seq == row.seq), None)
        if event is None:
            found = self.journal.events(row.learner, row.seq - 1, 1)
            event = found[0][0] if found and found[0][0].seq == row.seq else None
        if event is None or event.losses is None:
            raise ServiceError(410, f"the outcome of decision {row.id!r} was pruned from the journal")
        kept = json.loads(event.body) if event.body else {}
        if not np.array_equal(np.frombuffer(event.losses, "<f8"), values) or kept != more:
            raise ServiceError(409, f"another outcome of decision {row.id!r} was reported before; it stays")
