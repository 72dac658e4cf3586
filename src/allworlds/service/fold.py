"""What a learner has learnt, as a fold of its events: sums of journalled numbers, without exp and without a solver.

A segment is two arrays: the cumulative loss estimates in the order of the arms, and the numbers of its clock that are
not computed from others (for Tsallis-Shannon round, mean, variance and highest baseline; for Exp3 the round; for
Exp3-IX round and spent). Everything else in a learner's state is a cache. A new version of a solver can round as it
likes: what it decides is journalled (``held_back``, tickets, starting losses), so it cannot change history.

An outcome adds ``(loss - baseline) / divisor`` to each arm that was seen, as the learner's kernel does, operation by
operation: the two agree bit for bit. One of a decision older than the arms does what :mod:`allworlds.agents.arms` does.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allworlds.agents.kernels import scale_losses
from allworlds.foundation.errors import InvalidParameter, InvalidState
from allworlds.ftrl.clock import HIGHEST, MEAN, MULTIPLIER, ROUND, VARIANCE, new_clock, rates_of, tick
from allworlds.learners import Exp3, Exp3IX, Learner, TsallisShannon
from allworlds.learners.exp3 import RAREST
from allworlds.service.journal import DecisionRow, EventRow
from allworlds.service.rule import Rule

Floats = NDArray[np.float64]

PLACES: dict[type[Learner], list[int]] = {TsallisShannon: [ROUND, MEAN, VARIANCE, HIGHEST], Exp3: [0], Exp3IX: [0, 1]}
"""Which numbers of a learner's clock are kept."""


@dataclass(slots=True)
class Totals:
    """What was learnt of one segment."""

    losses: Floats
    """(N,) cumulative loss estimates, in the order of the arms."""
    clock: Floats
    """The numbers of ``PLACES``; the first is the round."""


@dataclass(slots=True)
class Fold:
    """A learner at one position of its events."""

    rules: list[Rule]
    """One for each epoch."""
    seq: int = 0
    epoch: int = 0
    segments: dict[str, Totals] = field(default_factory=dict)

    @property
    def rule(self) -> Rule:
        """That of the current epoch."""
        return self.rules[self.epoch]

    def apply(self, event: EventRow, decision: DecisionRow | None) -> None:
        """The next event."""
        if event.seq != self.seq + 1:
            raise InvalidState(f"event {event.seq} follows event {self.seq}; the journal has a gap or was pruned")
        if decision is not None and event.losses is not None:
            totals = self.segments.get(decision.segment)
            if totals is None:
                self.segments[decision.segment] = totals = start(self.rule.learner)
            learn(self.rules[decision.epoch], self.rule, totals, decision, event)
        elif event.kind in ("add_arm", "retire_arm"):
            body = json.loads(event.body or "{}")
            for segment, totals in self.segments.items():
                totals.losses = changed(self.rule, totals.losses, event.kind, body, segment)
            if len(self.rules) == self.epoch + 1:  # of a change that was journalled while we read
                self.rules.append(Rule.from_text(body["rule"]))
            self.epoch += 1
        self.seq = event.seq


def start(learner: Learner) -> Totals:
    """Nothing learnt."""
    if isinstance(learner, TsallisShannon):
        clock = new_clock(rates_of(learner.constants))[PLACES[TsallisShannon]]
    else:
        clock = np.array([1.0, 0.0][: len(PLACES[type(learner)])])
    return Totals(np.zeros(learner.n_arms), clock)


def as_losses(rule: Rule, values: Floats) -> Floats:
    """Reported values as losses in [0, 1]; they were checked before they were journalled."""
    losses = values.copy()
    scale_losses(losses, losses.size, rule.allowed.low, rule.allowed.high, rule.allowed.reward)
    return losses


def learn(old: Rule, rule: Rule, totals: Totals, decision: DecisionRow, event: EventRow) -> None:
    """Learn the outcome of a decision that was made under ``old``."""
    assert event.losses is not None
    ticket = old.ticket(decision.ticket)
    losses = as_losses(old, np.frombuffer(event.losses))
    if old is rule:
        add_outcome(rule, totals, ticket, losses, event.held_back)
    else:
        add_late_outcome(old, rule, totals, ticket, losses)


def add_outcome(rule: Rule, totals: Totals, ticket: Any, losses: Floats, held_back: float) -> None:
    """``Lhat_i += (l_i - b) / divisor`` of the arms that were seen, less what was held back; then one round later."""
    learner = rule.learner
    arms = learner.observes(ticket.arm)
    if isinstance(learner, TsallisShannon):
        weight = 1.0 / (ticket.clique_probability + ticket.damping)
        raised = (losses - ticket.baseline) * weight
        totals.losses[arms] += raised
        if held_back > 0.0:
            totals.losses[arms] -= np.minimum(held_back, np.maximum(0.0, raised))
        incurred = float(losses[int(np.searchsorted(arms, ticket.arm))])
        move_clock(rule, totals, incurred)
    elif isinstance(learner, Exp3IX):
        totals.losses[arms] += losses / ticket.divisors
        totals.clock += [1.0, ticket.spread]
    else:
        totals.losses[ticket.arm] += losses[0] / max(ticket.probability, RAREST)
        totals.clock[0] += 1.0


def add_late_outcome(old: Rule, rule: Rule, totals: Totals, ticket: Any, losses: Floats) -> None:
    """The outcome of a decision that is older than the arms, as :func:`allworlds.agents.arms.late_outcome`."""
    divisors, baseline = old.learner.weights_of(ticket)
    arms = old.learner.observes(ticket.arm).tolist()
    for arm, loss, divisor in zip(arms, losses.tolist(), divisors.tolist(), strict=True):
        place = rule.index.get(old.labels[arm])
        if place is not None:
            totals.losses[place] += (loss - baseline) / divisor
    shown = dict(zip(arms, losses.tolist(), strict=True))
    incurred = shown.get(ticket.arm, float(losses.mean()) if losses.size else 0.0)
    if isinstance(rule.learner, TsallisShannon):
        move_clock(rule, totals, incurred)
    else:
        totals.clock[0] += 1.0


def move_clock(rule: Rule, totals: Totals, incurred: float) -> None:
    """One round later, with a loss more."""
    clock, places = np.zeros(HIGHEST + 1), PLACES[TsallisShannon]
    clock[places] = totals.clock
    tick(clock, rule.rates, incurred)
    totals.clock[:] = clock[places]


def changed(rule: Rule, losses: Floats, kind: str, body: dict[str, Any], segment: str) -> Floats:
    """The estimates after a change of the arms: a new arm is last, and where it starts is in the event."""
    if kind == "add_arm":
        return np.append(losses, float(body["starts"][segment]))
    return np.delete(losses, rule.index[body["arm"]])


# --- between a fold and a learner's state ---------------------------------------------------------------


def totals_of(learner: Learner, state: Any) -> Totals:
    """What a state holds that is no cache."""
    return Totals(learner.estimates(state), state.clock[PLACES[type(learner)]])


def state_of(learner: Learner, totals: Totals) -> Any:
    """A state with its caches computed anew."""
    if isinstance(learner, TsallisShannon):
        clock = learner.init().clock
        clock[PLACES[TsallisShannon]] = totals.clock
        clock[MULTIPLIER] = float(totals.losses.min())  # where the search starts; any will do
        return learner._started_at(totals.losses, clock)
    clock = learner.pack(learner.init())["clock"]
    clock[PLACES[type(learner)]] = totals.clock
    return learner.unpack({"cumulative_losses": totals.losses, "clock": clock})


def check_foldable(learner: Learner) -> None:
    """Raise InvalidParameter unless the learner's state is a fold of journalled numbers."""
    if type(learner) not in PLACES or not learner.movable:
        raise InvalidParameter(
            f"the learner is {learner.title}; expected one whose state is a sum that can be journalled: "
            "tsallis-shannon, exp3, exp3-ix or exp3-set"
        )
    if getattr(learner, "half_life", None) is not None:
        raise InvalidParameter(
            f"the learner is {learner.title}; expected one without half_life: a service forgets nothing it was told"
        )


# --- snapshots ------------------------------------------------------------------------------------------


def to_bytes(seq: int, epoch: int, segments: dict[str, Totals]) -> bytes:
    """A snapshot: a digest, a line of JSON, and the numbers of all segments as little-endian doubles."""
    names = sorted(segments)
    head = json.dumps({"format": 1, "seq": seq, "epoch": epoch, "segments": names}).encode()
    numbers = b"".join(
        segments[name].losses.astype("<f8").tobytes() + segments[name].clock.astype("<f8").tobytes() for name in names
    )
    content = head + b"\n" + numbers
    return hashlib.blake2b(content, digest_size=16).digest() + content


def from_bytes(rules: list[Rule], content: bytes) -> Fold:
    """The inverse of :func:`to_bytes`; raise InvalidState if it is damaged or of another version."""
    digest, content = content[:16], content[16:]
    if hashlib.blake2b(content, digest_size=16).digest() != digest:
        raise InvalidState("the snapshot is damaged; expected one whose digest is right")
    head, _, numbers = content.partition(b"\n")
    data = json.loads(head)
    if data["format"] != 1 or data["epoch"] >= len(rules):
        raise InvalidState(f"the snapshot has format {data['format']}; expected 1, and events that fit it")
    fold = Fold(rules, data["seq"], data["epoch"])
    empty = start(fold.rule.learner)
    floats, n = np.frombuffer(numbers, "<f8").astype(np.float64), empty.losses.size
    size = n + empty.clock.size
    if floats.size != size * len(data["segments"]):
        raise InvalidState("the snapshot has the wrong size; expected one of the arms of its epoch")
    for k, name in enumerate(data["segments"]):
        part = floats[k * size : (k + 1) * size]
        fold.segments[name] = Totals(part[:n].copy(), part[n:].copy())
    return fold
