"""What was learnt is a sum of journalled numbers: by definition, bit for bit the live state, and the agent's."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allworlds.agents.arms import carry, late_outcome
from allworlds.foundation.errors import InvalidState
from allworlds.service.fold import Fold, Totals, from_bytes, start, state_of, to_bytes, totals_of
from allworlds.service.memory import MemoryJournal
from allworlds.service.rule_body import rule_from_body
from service_stores import Store, ask, bytes_of, replay

ARMS = [f"arm {k}" for k in range(12)]
CLIQUES = [ARMS[:5], ARMS[5:9], ARMS[9:]]
LEARNERS = [
    "tsallis-shannon",
    "tsallis-shannon-sharp",
    "tsallis-shannon:setting=unproved",
    "exp3",
    "exp3-ix",
    "exp3-set",
]


def play(engine: Any, name: str, rounds: int, seed: int) -> None:
    """Decisions in three segments, some with masks, whose outcomes come late and out of order; arms come and go."""
    rng = np.random.default_rng(seed)
    waiting: list[dict[str, Any]] = []
    for t in range(rounds):
        segment = ["", "north", "south"][rng.integers(3)]
        arms = ask(engine.view(name))["arms"]
        some = rng.choice(arms, rng.integers(1, len(arms)), replace=False).tolist() if rng.random() < 0.2 else None
        waiting.append(ask(engine.choose(name, f"{name} {t}", some, segment)))
        while waiting and rng.random() < 0.5:
            answer = waiting.pop(rng.integers(len(waiting)))
            good = {arm: float(rng.random() ** (1 + len(arm) % 3)) for arm in answer["observe"]}
            ask(engine.observe(name, answer["id"], good))
        if t % 37 == 36:
            clique = ask(engine.view(name))["cover"]
            mates = clique["cliques"][0] if clique else arms[:2]
            ask(engine.add_arm(name, f"new {t}", mates if rng.random() < 0.5 else []))
        if t % 50 == 49:
            ask(engine.retire_arm(name, arms[rng.integers(len(arms))]))


@pytest.mark.parametrize("learner", LEARNERS)
def test_the_live_state_is_the_fold_of_the_journal_bit_for_bit(learner: str, tmp_path: Path) -> None:
    journal = MemoryJournal()
    store = Store(lambda clock: journal)
    engine = store.start(snapshot_every=10**9)
    graph = {"cliques": CLIQUES} if "ix" not in learner else {"edges": [[a, b] for a, b in pairwise(ARMS)]}
    ask(engine.create({"name": "x", "graph": graph, "arms": ARMS, "learner": learner, "low": -2, "high": 5}))
    play(engine, "x", 160, seed=7)
    live = ask(engine.snapshot("x"))
    assert bytes_of(replay(journal, "x")) == live
    journal.save_snapshot("x", 0, b"damaged")
    assert ask(store.restart().snapshot("x")) == live
    store.stop()


def test_what_is_held_back_is_journalled_and_folded() -> None:
    journal = MemoryJournal()
    store = Store(lambda clock: journal)
    engine = store.start()
    ask(engine.create({"name": "x", "graph": {"family": "disjoint-cliques:8x2"}, "minimum_share": {"0": 0.005}}))
    many = ask(engine.choose_many("x", [{} for _ in range(100)]))
    for answer in many:  # arms 0 and 1 always lose, so they are hardly drawn
        ask(engine.observe("x", answer["id"], {arm: float(arm in ("0", "1")) for arm in answer["observe"]}))
    many = ask(engine.choose_many("x", [{} for _ in range(4000)]))
    rare = [answer for answer in many if answer["arm"] == "0"]
    for answer in rare:  # an estimate of about 1 / 0.005 is beyond the limit
        ask(engine.observe("x", answer["id"], {"0": 1.0, "1": 0.9}))
    held = [event.held_back for event, _ in journal.events("x", 0, 10_000)]
    live = ask(engine.snapshot("x"))
    store.stop()
    assert bytes_of(replay(journal, "x")) == live
    assert max(held) > min(held) == 0.0


@pytest.mark.parametrize("held_back", [0.0, 0.3, 1e9])
def test_an_outcome_adds_the_importance_weighted_loss_by_definition(held_back: float) -> None:
    from allworlds.service.fold import add_outcome

    rule = rule_from_body({"name": "x", "graph": {"cliques": CLIQUES}})
    state = rule.learner.init()
    ticket = rule.learner.draw(state, 0.9, 0.3)
    losses = np.linspace(0.0, 1.0, rule.learner.observes(ticket.arm).size)
    totals = start(rule.learner)
    add_outcome(rule, totals, ticket, losses, held_back)
    for arm, loss in zip(rule.learner.observes(ticket.arm), losses, strict=True):
        raised = (loss - ticket.baseline) / (ticket.clique_probability + ticket.damping)
        assert totals.losses[arm] == pytest.approx(raised - min(held_back, max(0.0, raised)), rel=1e-12, abs=1e-12)
    assert np.count_nonzero(totals.losses) <= losses.size
    assert totals.clock[0] == 2.0


@pytest.mark.parametrize("learner", ["tsallis-shannon", "exp3", "exp3-ix"])
def test_a_late_outcome_is_learnt_as_by_an_agent_whose_arms_changed(learner: str) -> None:
    from allworlds.service.fold import add_late_outcome

    body = {"name": "x", "graph": {"cliques": CLIQUES}, "learner": learner}
    old = rule_from_body(body)
    state = old.learner.init()
    ticket = old.learner.draw(state, 0.1, 0.7)
    where, _ = old.with_arm("new", CLIQUES[1])
    totals = Totals(np.arange(13.0), start(old.learner).clock)
    new = old.moved(old.learner.moved(state, where, totals.losses)[0])
    losses = np.linspace(0.2, 0.9, old.learner.observes(ticket.arm).size)
    agents = late_outcome(new.learner, state_of(new.learner, totals), carry(old.learner, ticket), losses)
    add_late_outcome(old, new, totals, ticket, losses)
    expected = totals_of(new.learner, agents)
    assert totals.losses.tolist() == expected.losses.tolist()
    assert totals.clock.tolist() == expected.clock.tolist()


@pytest.mark.parametrize("learner", LEARNERS)
@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.floats(0.1, 1e6))
def test_a_state_made_from_totals_has_these_totals(learner: str, seed: int, scale: float) -> None:
    rule = rule_from_body({"name": "x", "graph": {"cliques": CLIQUES}, "learner": learner})
    totals = start(rule.learner)
    totals.losses[:] = np.random.default_rng(seed).random(12) * scale
    totals.clock[0] = 1.0 + seed % 10_000
    state = state_of(rule.learner, totals)
    again = totals_of(rule.learner, state)
    assert again.losses.tolist() == totals.losses.tolist()
    assert again.clock.tolist() == totals.clock.tolist()
    p = rule.learner.distribution(state)
    assert p.sum() == pytest.approx(1.0)
    assert p.min() >= 0.0
    assert p[totals.losses.argmin()] >= 0.999 * p.max() or learner.startswith("tsallis")


def test_a_snapshot_says_when_it_is_damaged() -> None:
    rule = rule_from_body({"name": "x", "graph": {"cliques": CLIQUES}})
    totals = start(rule.learner)
    totals.losses[3] = 0.1
    content = to_bytes(5, 0, {"": totals, "ü": start(rule.learner)})
    fold = from_bytes([rule], content)
    assert (fold.seq, fold.epoch, list(fold.segments)) == (5, 0, ["", "ü"])
    assert bytes_of(fold) == content
    for place in range(0, len(content), 7):
        wrong = bytearray(content)
        wrong[place] ^= 1
        with pytest.raises(InvalidState, match="damaged"):
            from_bytes([rule], bytes(wrong))


def test_a_gap_in_the_journal_is_seen() -> None:
    from allworlds.service.journal import EventRow

    fold = Fold([rule_from_body({"name": "x", "graph": {"cliques": CLIQUES}})])
    with pytest.raises(InvalidState, match="event 2 follows event 0"):
        fold.apply(EventRow("x", 2, "void", 0.0), None)


@pytest.mark.parametrize("joins", [True, False])
def test_a_new_arm_starts_at_the_mean_estimate_of_its_clique_or_of_all(joins: bool) -> None:
    journal = MemoryJournal()
    store = Store(lambda clock: journal)
    engine = store.start()
    ask(engine.create({"name": "x", "graph": {"cliques": CLIQUES}}))
    for k, answer in enumerate(ask(engine.choose_many("x", [{} for _ in range(30)]))):
        losses = {arm: (7 * k + 3 * int(arm[4:])) % 10 / 10 for arm in answer["observe"]}
        ask(engine.observe("x", answer["id"], losses))
    before = replay(journal, "x").segments[""].losses
    p = np.array(list(ask(engine.state("x"))["distribution"].values()))
    ask(engine.add_arm("x", "new", CLIQUES[1] if joins else []))
    after = replay(journal, "x").segments[""].losses
    mates = [ARMS.index(arm) for arm in CLIQUES[1]] if joins else list(range(12))
    assert after[:-1].tolist() == before.tolist()
    assert after[-1] == pytest.approx(p[mates] @ before[mates] / p[mates].sum(), rel=1e-9)
    store.stop()
