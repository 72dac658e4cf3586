"""A machine that does anything at any time to the engine, with a plain model beside it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from allworlds.service import schema
from service_stores import Store, ask, bytes_of, make_store, replay, status

SECONDS = 60.0
IDS = st.sampled_from([f"id {k}" for k in range(12)])
SEGMENTS = st.sampled_from([None, "north", "süd"])
LOSSES = st.sampled_from([0.0, 0.25, 0.5, 1.0])


class Machine(RuleBasedStateMachine):
    """Choose, observe, duplicate, conflict, late, void, expire, archive, arms, snapshot, restart, upgrade."""

    kind: ClassVar[str] = "memory"
    request: ClassVar[Any] = None

    @initialize(default=st.sampled_from([None, 0.5]), learner=st.sampled_from(["tsallis-shannon", "exp3", "exp3-ix"]))
    def create(self, default: float | None, learner: str) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.migrations = schema.MIGRATIONS
        self.store: Store = make_store(self.kind, Path(self.folder.name), self.request)
        self.engine = self.store.start(snapshot_every=5)
        self.body = {
            "name": "x",
            "graph": {"cliques": [["a", "b"], ["c", "d"], ["e"]]},
            "learner": learner,
            "deadline": SECONDS,
            "on_timeout": "void" if default is None else {"default": default},
        }
        assert ask(self.engine.create(self.body))[1]
        self.default = default
        self.answers: dict[str, dict[str, Any]] = {}
        self.statuses: dict[str, str] = {}
        self.outcomes: dict[str, dict[str, float]] = {}
        self.segments: dict[str, str | None] = {}
        self.arms, self.retired, self.added = list("abcde"), [], 0
        self.archived = False
        self.events = 0

    def teardown(self) -> None:
        if hasattr(self, "store"):
            try:
                self.check_everything()
            finally:
                schema.MIGRATIONS = self.migrations
                self.store.stop()
                self.folder.cleanup()

    def check_everything(self) -> None:
        """The journal, read by anybody, says what the model says; the live state is its fold."""
        for id, answer in self.answers.items():
            assert ask(self.engine.choose("x", id)) == answer
            assert ask(self.engine.decision("x", id)) == answer | {
                "status": self.statuses[id],
                "segment": self.segments[id],
            }
        live = ask(self.engine.snapshot("x"))
        journal = self.store.journals[-1]
        assert bytes_of(replay(journal, "x")) == live
        assert journal.open_count("x") == ask(self.engine.view("x"))["open"] == self.open
        state = ask(self.engine.state("x"))
        learnt = dict.fromkeys(self.segments.values(), 0)
        for id, how in self.statuses.items():
            learnt[self.segments[id]] += how == "observed" or (how == "expired" and self.default is not None)
        for segment, number in learnt.items():
            row = state if segment is None else state["segments"].get(segment, {"round": 1})
            assert row["round"] == number + 1

    @property
    def open(self) -> int:
        return sum(how == "open" for how in self.statuses.values())

    @property
    def now(self) -> float:
        return self.store.clock.now

    def expire_if_late(self, id: str) -> None:
        """What the engine must find when it looks at a decision."""
        if self.statuses.get(id) == "open" and self.answers[id]["deadline"] < self.now:
            self.end(id, "expired")

    def end(self, id: str, how: str) -> None:
        self.statuses[id] = how
        self.events += 1

    @rule(id=IDS, segment=SEGMENTS, some=st.none() | st.sets(st.sampled_from("abcde"), min_size=1))
    def choose(self, id: str, segment: str | None, some: set[str] | None) -> None:
        future = self.engine.choose("x", id, None if some is None else sorted(some), segment)
        if id in self.answers:
            assert ask(future) == self.answers[id]
        elif self.archived:
            assert status(future) == 410
        elif some is not None and not some <= set(self.arms):
            assert status(future) == 422
        else:
            answer = ask(future)
            assert answer["arm"] in (self.arms if some is None else some)
            assert answer["deadline"] == self.now + SECONDS
            assert answer["arm"] in answer["observe"]
            assert 0.0 < answer["probability"] <= 1.0 + 1e-9
            self.answers[id], self.statuses[id], self.segments[id] = answer, "open", segment

    @rule(id=IDS, loss=LOSSES, extra=st.booleans())
    def observe(self, id: str, loss: float, extra: bool) -> None:
        if id not in self.answers:
            assert status(self.engine.observe("x", id, {"a": loss})) == 404
            return
        answer = self.answers[id]
        losses = dict.fromkeys(answer["observe"] + (answer["also_visible"] if extra else []), loss)
        self.expire_if_late(id)
        expected = {"open": 200, "voided": 409, "expired": 410, "observed": 200}[self.statuses[id]]
        if self.statuses[id] == "observed" and losses != self.outcomes[id]:
            expected = 409
        assert status(self.engine.observe("x", id, losses)) == expected
        if self.statuses[id] == "open":
            self.end(id, "observed")
            self.outcomes[id] = losses

    @precondition(lambda self: self.outcomes)
    @rule(data=st.data())
    def repeat(self, data: st.DataObject) -> None:
        id = data.draw(st.sampled_from(sorted(self.outcomes)))
        assert status(self.engine.observe("x", id, self.outcomes[id])) == 200

    @precondition(lambda self: self.answers)
    @rule(data=st.data(), loss=st.sampled_from([-0.5, 1.5]))
    def observe_nonsense(self, data: st.DataObject, loss: float) -> None:
        id = data.draw(st.sampled_from(sorted(self.answers)))
        self.expire_if_late(id)
        expected = {"open": 422, "observed": 422, "voided": 409, "expired": 410}[self.statuses[id]]
        assert status(self.engine.observe("x", id, dict.fromkeys(self.answers[id]["observe"], loss))) == expected
        assert status(self.engine.observe("x", id, {})) == expected

    @rule(id=IDS)
    def void(self, id: str) -> None:
        self.expire_if_late(id)
        expected = {None: 404, "open": 200, "voided": 200, "observed": 409, "expired": 410}[self.statuses.get(id)]
        assert status(self.engine.void("x", id)) == expected
        if self.statuses.get(id) == "open":
            self.end(id, "voided")

    @rule(seconds=st.sampled_from([1.0, SECONDS, SECONDS + 1.0, -5.0]))
    def wait(self, seconds: float) -> None:
        self.store.clock.now += seconds

    @rule()
    def expire(self) -> None:
        late = [id for id, how in self.statuses.items() if how == "open" and self.answers[id]["deadline"] < self.now]
        assert ask(self.engine.expire()) == len(late)
        for id in late:
            self.end(id, "expired")

    @rule(joins=st.booleans())
    def add_arm(self, joins: bool) -> None:
        label = f"new {self.added}"
        neighbours = [arm for arm in self.arms if arm == "e" or arm == "c"][: int(joins)]
        future = self.engine.add_arm("x", label, neighbours)
        assert status(future) == (410 if self.archived else 200)
        if not self.archived:
            self.arms.append(label)
            self.events += 1
            assert ask(future)["arms"] == self.arms
            assert status(self.engine.add_arm("x", label, neighbours)) == 200
            self.added += 1

    @rule(place=st.integers(0, 4))
    def retire_arm(self, place: int) -> None:
        label = self.arms[place % len(self.arms)]
        future = self.engine.retire_arm("x", label)
        assert status(future) == (410 if self.archived else 422 if len(self.arms) == 1 else 200)
        if status(future) == 200:
            self.arms.remove(label)
            self.retired.append(label)
            self.events += 1
            assert ask(future)["arms"] == self.arms
            assert status(self.engine.retire_arm("x", label)) == 200
            assert status(self.engine.add_arm("x", label, [])) == 409

    @precondition(lambda self: len(self.answers) > 8)
    @rule()
    def archive(self) -> None:
        assert ask(self.engine.archive("x"))["archived_at"] is not None
        self.events += not self.archived
        self.archived = True

    @rule()
    def snapshot(self) -> None:
        ask(self.engine.snapshot("x"))

    @rule(damaged=st.booleans())
    def restart(self, damaged: bool) -> None:
        before = ask(self.engine.snapshot("x"))
        if damaged:
            self.engine.stop()
            journal = self.store.journals[-1]
            with journal.transaction():
                journal.save_snapshot("x", 3, before[:-1])
        self.engine = self.store.restart(snapshot_every=5)
        assert ask(self.engine.create(self.body))[1] is False
        assert ask(self.engine.snapshot("x")) == before

    @precondition(lambda self: self.kind != "memory" and len(schema.MIGRATIONS) < len(self.migrations) + 3)
    @rule()
    def upgrade(self) -> None:
        """A later version of the package takes over: it needs the upgrade, and then goes on as if nothing had been."""
        before, number = ask(self.engine.snapshot("x")), len(schema.MIGRATIONS)
        self.store.stop()
        column, table = (
            f"ALTER TABLE decisions ADD COLUMN later_{number} TEXT",
            f"CREATE TABLE later_{number} (x {{real}})",
        )
        schema.MIGRATIONS = (*schema.MIGRATIONS, (column, table))
        with pytest.raises(schema.SchemaTooOld):
            self.store.open()
        self.store.open(upgrade=True)
        self.engine = self.store.restart(snapshot_every=5)
        assert ask(self.engine.snapshot("x")) == before

    @invariant()
    def every_change_is_one_event(self) -> None:
        if hasattr(self, "engine"):
            assert ask(self.engine.view("x"))["events"] == self.events


def run(kind: str, examples: int, steps: int, request: pytest.FixtureRequest) -> None:
    machine = type("Machine" + kind, (Machine,), {"kind": kind, "request": request})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.explicit, Phase.generate],
            database=None,
        ),
    )


@pytest.mark.parametrize(("kind", "examples"), [("memory", 40), ("sqlite", 8), ("postgresql", 4)])
def test_whatever_is_done_the_journal_and_the_model_agree(
    kind: str, examples: int, request: pytest.FixtureRequest
) -> None:
    run(kind, examples, 40, request)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "examples"), [("memory", 1000), ("sqlite", 200), ("postgresql", 50)])
def test_whatever_is_done_for_long_the_journal_and_the_model_agree(
    kind: str, examples: int, request: pytest.FixtureRequest
) -> None:
    run(kind, examples, 80, request)
