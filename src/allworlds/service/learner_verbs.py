"""The verbs on learners: create, show, archive, change the arms; and those on keys and on the journal as a whole."""

from __future__ import annotations

import secrets
from contextlib import suppress
from typing import Any

from allworlds.agents.arms import graph_of
from allworlds.service.calls import Call
from allworlds.service.journal import AlreadyThere, EventRow, LearnerRow, ServiceError, Unavailable
from allworlds.service.live import Live
from allworlds.service.rule import Rule
from allworlds.service.transaction import Transaction

MOST_STATES = 20
"""States of segments that are made to show a learner; of further ones only the round is told until they are used."""


class LearnerVerbs(Transaction):
    """Each verb is a method ``do_`` and its name, which answers one call."""

    def do_created(self, call: Call) -> dict[str, Any] | None:
        """The learner that this body has made, if it has."""
        row = self.journal.learner(call.name)
        if row is None:
            return None
        if row.body != call.arguments["body"]:
            raise ServiceError(409, f"there is already a learner {call.name!r} with other settings; try another name")
        return self.view(self.find(call.name))

    def do_create(self, call: Call) -> tuple[dict[str, Any], bool]:
        """A new learner; the same body again is the same learner."""
        body, rule = call.arguments["body"], call.arguments["rule"]
        for _ in range(2):
            view = self.do_created(call)
            if view is not None:
                return view, False
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
        """All learners that can be read."""
        views = []
        for row in self.journal.learners():
            with suppress(ServiceError):  # it was logged
                views.append(self.view(self.find(row.name)))
        return views

    def view(self, live: Live) -> dict[str, Any]:
        """A learner in the words of the interface."""
        times = {"created_at": live.created_at, "archived_at": live.archived_at}
        return {"name": live.name, **live.rule.view(), **times, "open": live.open, "events": live.seq}

    def do_state(self, call: Call) -> dict[str, Any]:
        """What the learner would do next: the round and the distribution, and a line for each segment."""
        live, rows, left = self.find(call.name), {}, MOST_STATES
        labels, whole = live.rule.labels, live.segments.get("", live.blank)
        for name, part in live.segments.items():
            left -= not part.at_work
            p = part.distribution() if part.at_work or left >= 0 else None  # a state takes milliseconds to make
            rows[name] = {
                "round": part.round,
                "likeliest": None if p is None else labels[int(p.argmax())],
                "probability": None if p is None else float(p.max()),
            }
        return {
            "name": live.name,
            "round": whole.round,
            "distribution": dict(zip(labels, whole.distribution().tolist(), strict=True)),
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
            with suppress(ServiceError):  # it was logged
                self.find(row.name)

    def do_recount(self, call: Call) -> None:
        """Count open decisions anew and learn what was observed, of which other processes may have done both.

        So a process that nobody asks for a while is a second behind, and the next request need not wait for that.
        """
        for name in list(self.lives):
            with suppress(ServiceError):  # it was logged
                self.find(name).open = self.journal.open_count(name)

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
        if label in live.rule.index:
            rule = next(each for each in live.rules if label in each.index)  # as it was added, whatever came later
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
