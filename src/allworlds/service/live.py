"""A learner at work: what it has learnt, and the solver's caches, which are made when they are needed.

A segment that was only folded has its totals; the first draw or outcome makes a state with compiled kernels from them.
Segments of which nothing was learnt share one state, since drawing changes none. Only the engine's thread uses these
objects; if a transaction fails they are thrown away and read again from the journal.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allworlds.agents.arms import starting_losses
from allworlds.agents.drawing import as_mask, restricted
from allworlds.agents.kernels import bind_distribution, bind_given, scale_losses
from allworlds.agents.reports import Decision, reported_values
from allworlds.foundation.errors import InvalidLosses, InvalidState
from allworlds.learners.sampling import pick
from allworlds.service.fold import Fold, Totals, changed, from_bytes, learn, start, state_of, to_bytes, totals_of
from allworlds.service.journal import CHANGES, DecisionRow, EventRow, Journal, LearnerRow
from allworlds.service.rule import Rule

Floats = NDArray[np.float64]

PAGE = 5000
"""Events read at a time."""


RECENT = 4096
"""Open decisions of a learner that are kept in memory."""


class Segment:
    """What was learnt of one segment: totals, or a state that is at work, or both while they agree."""

    __slots__ = ("_distribution", "_state", "_totals", "draw", "learn", "rule")

    def __init__(self, rule: Rule, totals: Totals) -> None:
        self.rule = rule
        self._totals: Totals | None = totals
        self._state: Any = None

    @property
    def totals(self) -> Totals:
        """What was learnt; from now on a caller may change it, so caches are made again."""
        if self._totals is None:
            self._totals = totals_of(self.rule.learner, self._state)
        self._state = None
        return self._totals

    def peek(self) -> Totals:
        """What was learnt, to look at."""
        return self._totals if self._totals is not None else totals_of(self.rule.learner, self._state)

    @property
    def at_work(self) -> bool:
        """Whether the state is there."""
        return self._state is not None

    @property
    def round(self) -> int:
        """One plus the number of outcomes learnt."""
        return int(self._totals.clock[0] if self._totals is not None else self._state.clock[0])

    @property
    def state(self) -> Any:
        """The learner's state, with kernels bound to it."""
        if self._state is None:
            assert self._totals is not None
            self._state = state_of(self.rule.learner, self._totals)
            self.draw, self.learn = bind_given(self.rule.learner, self._state)
            self._distribution = bind_distribution(self.rule.learner, self._state)
        return self._state

    def distribution(self) -> Floats:
        """(N,) the probabilities of the coming choice, before masks and shares."""
        self.state  # noqa: B018 - makes it
        p = self._distribution()
        assert p is not None
        return p

    def learn_outcome(self, ticket: Any, losses: Floats, excess: float) -> float:
        """Learn losses in [0, 1]; return what was held back."""
        self.state  # noqa: B018 - makes it
        self._totals = None
        return self.learn(ticket, losses, excess)


class Live:
    """One learner at work."""

    def __init__(self, row: LearnerRow, fold: Fold, open_count: int, retired: set[str], saved: int) -> None:
        self.name, self.body, self.created_at, self._secret = row.name, row.body, row.created_at, row.secret
        self.archived_at = row.archived_at
        self.rules, self.seq, self.epoch = fold.rules, fold.seq, fold.epoch
        self.open, self.retired = open_count, retired
        self.saved = saved
        """The position of the last snapshot."""
        self.segments = {name: Segment(self.rule, totals) for name, totals in fold.segments.items()}
        self.blank = Segment(self.rule, start(self.rule.learner))
        self.recent: dict[str, DecisionRow] = {}
        """Open decisions that this process has made, the latest :data:`RECENT`, so that they need not be read."""

    @property
    def rule(self) -> Rule:
        """That of the current epoch."""
        return self.rules[self.epoch]

    @property
    def snapshot(self) -> bytes:
        """All that was learnt, at the current position."""
        return to_bytes(self.seq, self.epoch, {name: segment.peek() for name, segment in self.segments.items()})

    def draw(self, id: str, segment: str, available: list[str] | None, keeps_vector: bool, now: float) -> DecisionRow:
        """Draw an arm; nothing changes."""
        rule, part = self.rule, self.segments.get(segment, self.blank)
        first, second = uniforms(self._secret, segment, id)
        if available is None and not rule.shares:
            part.state  # noqa: B018 - makes it
            ticket, text, p = part.draw(first, second), None, part.distribution() if keeps_vector else None
        else:
            graph = rule.learner.graph
            mask = None if available is None else as_mask(available, graph)  # type: ignore[arg-type]
            text = None if mask is None else json.dumps([rule.labels[i] for i in mask.tolist()])
            p = restricted(part.distribution(), mask, rule.floors)
            ticket = rule.learner.ticket_from(part.state, int(pick(p, first)), p)
        deadline = None if rule.deadline is None else now + rule.deadline
        clique = getattr(ticket, "clique_probability", None)
        vector = p.tobytes() if keeps_vector and p is not None else None
        fields = [value.tolist() if isinstance(value, np.ndarray) else value for value in ticket]
        return DecisionRow(
            self.name,
            id,
            segment,
            self.epoch,
            ticket.round,
            rule.labels[ticket.arm],
            json.dumps(fields),
            ticket.probability,
            clique,
            vector,
            text,
            now,
            deadline,
        )

    def remember(self, row: DecisionRow) -> None:
        """Keep an open decision, and forget the oldest one when there are many."""
        self.recent[row.id] = row
        if len(self.recent) > RECENT:
            del self.recent[next(iter(self.recent))]

    def answer(self, row: DecisionRow) -> dict[str, Any]:
        """A decision in the words of the interface; a function of the journal alone."""
        rule = self.rules[row.epoch]
        observe, also_visible = rule.shown(rule.index[row.arm])
        return {
            "id": row.id,
            "arm": row.arm,
            "probability": row.probability,
            "clique_probability": row.clique_probability,
            "observe": observe,
            "also_visible": also_visible,
            "round": row.round,
            "deadline": row.deadline,
        }

    def values(self, row: DecisionRow, losses: dict[str, float]) -> tuple[Floats, dict[str, Any]]:
        """The reported values in the order of ``observe``, and what else to keep; raise InvalidLosses if one is wrong.

        Kept are values of other arms, ``also``, and which arms were ``left_out``, because they were not available: they
        are taken to have the value of the chosen arm.
        """
        rule = self.rules[row.epoch]
        used, _ = rule.shown(rule.index[row.arm])
        more: dict[str, Any] = {}
        plain = len(losses) == len(used) and all(type(losses.get(arm)) is float for arm in used)
        if plain:
            values = np.array([losses[arm] for arm in used])
        else:
            mask = None if row.available is None else tuple(json.loads(row.available))
            decision = Decision(row.id, row.arm, row.probability, row.round, tuple(used), {}, mask)  # type: ignore[arg-type]
            try:
                values = reported_values(decision, losses, rule.learner.graph, rule.allowed)  # type: ignore[arg-type]
            except InvalidLosses as error:
                raise InvalidLosses(str(error).partition("; Agent(")[0]) from None
            known = set(used)
            if others := {arm: float(value) for arm, value in losses.items() if arm not in known}:
                more["also"] = others
            if left_out := [arm for arm in used if arm not in losses]:
                more["left_out"] = left_out
        allowed = rule.allowed
        wrong = int(scale_losses(values.copy(), values.size, allowed.low, allowed.high, allowed.reward))
        if wrong >= 0:
            raise InvalidLosses(str(allowed.complain(used[wrong], float(values[wrong]))).partition("; Agent(")[0])
        return values, more

    def default_values(self, row: DecisionRow) -> Floats | None:
        """What the observed arms are taken to have lost if no outcome came in time; None if nothing is learnt."""
        rule = self.rules[row.epoch]
        if rule.default is None:
            return None
        return np.full(rule.learner.observes(rule.index[row.arm]).size, rule.default)

    def learn(self, row: DecisionRow, values: Floats, held_back: float = -1.0) -> float:
        """Learn reported values; return what was held back, which is found here if it is negative."""
        old, rule = self.rules[row.epoch], self.rule
        part = self.segments.get(row.segment)
        if part is None:
            part = self.segments[row.segment] = Segment(rule, start(rule.learner))
        if old is not rule:
            event = EventRow(self.name, 0, "outcome", 0.0, losses=values.tobytes())
            learn(old, rule, part.totals, row, event)
            return 0.0
        losses, allowed = values.copy(), rule.allowed
        scale_losses(losses, losses.size, allowed.low, allowed.high, allowed.reward)
        return part.learn_outcome(rule.ticket(row.ticket), losses, held_back)

    def follow(self, event: EventRow, row: DecisionRow | None) -> None:
        """An event that was journalled by another process, or a change of the arms of our own."""
        if event.seq != self.seq + 1:
            raise InvalidState(f"event {event.seq} of learner {self.name!r} follows event {self.seq}")
        if row is not None:
            self.open -= 1
            self.recent.pop(row.id, None)
            if event.losses is not None:
                self.learn(row, np.frombuffer(event.losses), event.held_back)
        elif event.kind in CHANGES:
            self._change(event)
        elif event.kind == "archive":
            self.archived_at = event.at
        self.seq = event.seq

    def _change(self, event: EventRow) -> None:
        """Go on with other arms."""
        body = json.loads(event.body or "{}")
        rule, totals = self.rule, {name: segment.totals for name, segment in self.segments.items()}
        for name, each in totals.items():
            each.losses = changed(rule, each.losses, event.kind, body, name)
        if len(self.rules) == self.epoch + 1:
            self.rules.append(Rule.from_text(body["rule"]))
        self.epoch += 1
        self.segments = {name: Segment(self.rule, each) for name, each in totals.items()}
        self.blank = Segment(self.rule, start(self.rule.learner))
        if event.kind == "retire_arm":
            self.retired.add(body["arm"])

    def changed_arms(self, kind: str, label: str, neighbours: list[str]) -> str:
        """The body of an event that changes the arms; raise InvalidParameter if they cannot change so."""
        rule, body = self.rule, {"arm": label}
        if kind == "add_arm":
            where, listed = rule.with_arm(label, neighbours)
            body["neighbours"] = listed  # type: ignore[assignment]
            body["starts"] = {  # type: ignore[assignment]
                name: float(starting_losses(rule.learner, segment.state, where)[-1])
                for name, segment in self.segments.items()
            }
        else:
            where = rule.without_arm(label)
        losses = starting_losses(rule.learner, self.blank.state, where)
        body["rule"] = rule.moved(rule.learner.moved(self.blank.state, where, losses)[0]).to_text()
        return json.dumps(body, allow_nan=False)


def load(journal: Journal, row: LearnerRow) -> Live:
    """A learner from its snapshot and the events since; from all events if the snapshot is damaged."""
    bodies = [json.loads(event.body or "{}") for event in journal.changes(row.name)]
    rules = [Rule.from_text(row.rule), *(Rule.from_text(body["rule"]) for body in bodies)]
    fold, saved = _start_of_fold(journal, row.name, rules)
    while True:
        page = journal.events(row.name, fold.seq, PAGE)
        for event, decision in page:
            fold.apply(event, decision)
        if len(page) < PAGE:
            break
    retired = {label for rule in fold.rules for label in rule.labels}.difference(fold.rule.labels)
    return Live(row, fold, journal.open_count(row.name), retired, saved)


def _start_of_fold(journal: Journal, name: str, rules: list[Rule]) -> tuple[Fold, int]:
    """The last snapshot, or the one that replaces pruned events, or nothing."""
    for base in (False, True):
        found = journal.snapshot(name, base)
        if found is not None:
            try:
                fold = from_bytes(rules, found[1])
            except (InvalidState, ValueError, KeyError, TypeError):
                continue
            return fold, fold.seq
    return Fold(rules), 0


def uniforms(secret: bytes, segment: str, id: str) -> tuple[float, float]:
    """Two numbers in [0, 1) that follow from a decision's id and that nobody can foretell without the secret."""
    digest = hashlib.blake2b(f"{segment}\0{id}".encode(), key=secret, digest_size=16).digest()
    number = int.from_bytes(digest, "little")
    return (number >> 75) * 2.0**-53, (number >> 11 & 0x1FFFFFFFFFFFFF) * 2.0**-53
