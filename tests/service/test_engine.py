"""The engine keeps the contract of the interface, on every journal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from allworlds.service import live
from allworlds.service.calls import Call
from allworlds.service.engine import Engine
from allworlds.service.journal import ServiceError
from service_stores import PRICES, Store, ask, bytes_of, replay, status


def outcome(answer: dict[str, Any], loss: float = 0.25) -> dict[str, float]:
    return dict.fromkeys(answer["observe"], loss)


def sentence(future: Any) -> str:
    with pytest.raises(ServiceError) as caught:
        ask(future)
    return str(caught.value)


def test_creation_answers_with_cover_and_certificate_and_is_idempotent(store: Store) -> None:
    engine = store.start()
    view, created = ask(engine.create(PRICES))
    assert created
    assert view["arms"] == ["a", "b", "c", "d"]
    assert view["cover"]["cliques"] == [["a", "b"], ["c"], ["d"]]
    again, created = ask(engine.create(dict(reversed(PRICES.items()))))
    assert (again, created) == (view, False)
    assert status(engine.create(PRICES | {"deadline": 5})) == 409
    assert ask(engine.view("prices")) == view == ask(engine.views())[0]
    assert status(engine.view("nobody")) == 404
    paper, _ = ask(engine.create(PRICES | {"name": "paper", "constants": "paper", "horizon": 1000}))
    assert paper["n_cliques"] == 3
    computed, _ = ask(engine.create({"name": "other", "graph": {"cliques": [["a", "b"], ["c"]]}}))
    assert computed["cover"]["minimum"]
    assert computed["cover"]["lower_bound"] == computed["n_cliques"] == 2


def test_what_the_service_answers_without_a_deadline_makes_the_learner_again() -> None:
    from allworlds.service.memory import MemoryJournal

    with Engine(MemoryJournal()) as engine:
        view, _ = ask(engine.create(PRICES))
        assert (view["deadline"], view["on_timeout"]) == (None, "void")
        other = PRICES | {"name": "again", "deadline": None, "on_timeout": "void"}
        assert ask(engine.create(other))[0]["on_timeout"] == "void"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"graph": {}}, "expected one of cliques, edges and family"),
        ({"graph": {"edges": [["a", "z"]]}}, "'z', which is not an arm"),
        ({"graph": {"family": "file:/etc/passwd"}, "arms": None}, "not a file"),
        ({"graph": {"family": "disjoint-cliques:1000x1000"}, "arms": None, "cover": None}, "at most 10000 arms"),
        ({"arms": ["a", "a"]}, "twice"),
        ({"arms": ["a", "b", "c", "d\0"]}, "without NUL"),
        (
            {"cover": [["c", "a"], ["b"], ["d"]]},
            "arms 'a' and 'c' share clique 0 of cover, but they are not neighbours in the graph; expected arms that "
            "all see each other; leave cover out, and the service computes one",
        ),
        ({"cover": [["a"], ["d", "b"], ["c"]]}, "arms 'b' and 'd' share clique 1"),
        ({"cover": [["a", "b"], ["d"]]}, "arm 'c' is in no clique of cover; expected each arm in one; leave cover out"),
        ({"cover": [["a", "b"], ["c", "b"], ["d"]]}, "arm 'b' is in cliques 0 and 1 of cover"),
        ({"cover": [["a", "b"], ["c", "d", "c"]]}, "clique 1 of cover has 'c' twice"),
        ({"cover": [["a", "b"], [], ["c"], ["d"]]}, "clique 1 of cover is empty"),
        ({"cover": [["a", "b"], ["c"], ["d"], ["e"]]}, "'e', which is not an arm"),
        ({"graph": {"cliques": [["a"], ["b", "c", "b"], ["d"]]}, "cover": None}, "clique 1 of graph has 'b' twice"),
        ({"learner": "ucb-n"}, "expected one whose state is a sum"),
        ({"learner": "tsallis-shannon:half_life=100"}, "without half_life"),
        ({"low": 1, "high": 0}, "low < high"),
        ({"deadline": -1}, "above 0"),
        ({"deadline": 5, "on_timeout": "wait"}, "expected 'void'"),
        ({"deadline": 5, "on_timeout": {"default": 7}}, "from 0 to 1"),
        (
            {"on_timeout": {"default": 1}},
            "there is no deadline, so no decision expires; expected a deadline in seconds",
        ),
        ({"horizon": 1000}, "horizon is 1000, but tsallis-shannon does not use it; expected none; leave it out, or"),
        ({"horizon": 1000, "constants": "sharp"}, "tsallis-shannon with sharp constants does not use it"),
        ({"horizon": 1000, "learner": "exp3"}, "horizon is 1000, but exp3 does not use it"),
        ({"minimum_share": {"a": 0.7, "b": 0.7}}, "sum to 1.4"),
        ({"constants": "paper"}, "needs the horizon"),
        ({"constants": {"alpha": 1}}, "expected one of practical"),
        ({"color": "red"}, "'color'"),
    ],
)
def test_a_body_that_makes_no_learner_is_refused_with_a_sentence(change: dict[str, Any], words: str) -> None:
    from allworlds.service.memory import MemoryJournal

    with Engine(MemoryJournal()) as engine:
        future = engine.create(PRICES | change)
        assert words in sentence(future)
        assert status(future) == 422
        assert ask(engine.views()) == []


def test_the_same_id_gives_the_same_answer_for_ever(store: Store) -> None:
    engine = store.start()
    ask(engine.create(PRICES))
    answers = {id: ask(engine.choose("prices", id)) for id in ("one", "two", "three")}
    assert answers["one"].keys() == {
        "id", "arm", "probability", "clique_probability", "observe", "also_visible", "round", "deadline",
    }  # fmt: skip
    ask(engine.observe("prices", "one", outcome(answers["one"])))
    ask(engine.void("prices", "two"))
    ask(engine.add_arm("prices", "e", ["d"]))
    ask(engine.retire_arm("prices", answers["three"]["arm"]))
    ask(engine.archive("prices"))
    engine = store.restart()
    for id, answer in answers.items():
        assert ask(engine.choose("prices", id)) == answer
        assert ask(engine.choose("prices", id, segment="another")) == answer
    assert status(engine.choose("prices", "four")) == 410
    assert status(engine.choose("nobody", "one")) == 404
    assert ask(engine.decision("prices", "two"))["status"] == "voided"
    assert status(engine.decision("prices", "four")) == 404


def test_what_can_be_seen_is_the_clique_and_beside_it_the_neighbours(store: Store) -> None:
    engine = store.start()
    ask(engine.create(PRICES))
    neighbours = {"a": {"a", "b"}, "b": {"a", "b", "c"}, "c": {"b", "c"}, "d": {"d"}}
    for answer in ask(engine.choose_many("prices", [{} for _ in range(40)])):
        seen = answer["observe"] + answer["also_visible"]
        assert set(seen) == neighbours[answer["arm"]]
        assert len(seen) == len(set(seen))
        assert answer["observe"] == {"a": ["a", "b"], "b": ["a", "b"], "c": ["c"], "d": ["d"]}[answer["arm"]]


def test_probabilities_are_those_of_the_draw(store: Store) -> None:
    engine = store.start()
    ask(engine.create(PRICES))
    ask(engine.create(PRICES | {"name": "many", "minimum_share": {"d": 0.4}}))
    for name in ("prices", "many"):
        answers = ask(engine.choose_many(name, [{} for _ in range(1000)]))
        for arm in "abcd":
            p = {answer["probability"] for answer in answers if answer["arm"] == arm}
            assert len(p) == 1
            share = sum(answer["arm"] == arm for answer in answers) / 1000
            assert abs(share - p.pop()) < 5 * 0.5 / np.sqrt(1000)
        for row, _ in engine.stream(name):
            assert row.probabilities is not None
            vector = dict(zip("abcd", np.frombuffer(row.probabilities).tolist(), strict=True))
            assert vector[row.arm] == pytest.approx(row.probability, rel=1e-12)
            assert sum(vector.values()) == pytest.approx(1.0)


@pytest.mark.parametrize("up_to", [3, 4])
def test_the_whole_vector_is_kept_up_to_a_number_of_arms_and_nothing_that_is_learnt_depends_on_it(
    store: Store, up_to: int
) -> None:
    engine = store.start(probabilities_up_to=up_to)
    ask(engine.create(PRICES))
    for k in range(5):
        answer = ask(engine.choose("prices", f"{k}"))
        ask(engine.observe("prices", f"{k}", outcome(answer)))
    assert [row.probabilities is None for row, _ in engine.stream("prices")] == [up_to == 3] * 5
    assert bytes_of(replay(engine.journal, "prices")) == ask(engine.snapshot("prices"))
    assert ask(engine.state("prices"))["round"] == 6


def test_a_decision_is_made_among_the_available_arms(store: Store) -> None:
    engine = store.start()
    ask(engine.create(PRICES))
    answers = [ask(engine.choose("prices", f"{k}", available=["c", "a"])) for k in range(60)]
    assert {answer["arm"] for answer in answers} == {"a", "c"}
    assert status(engine.choose("prices", "x", available=["nobody"])) == 422
    assert status(engine.choose("prices", "x", available=[])) == 422
    assert status(engine.decision("prices", "x")) == 404
    first = next(answer for answer in answers if answer["arm"] == "a")
    assert status(engine.observe("prices", first["id"], {"a": 0.5})) == 200  # b was asleep
    assert status(engine.observe("prices", first["id"], {"a": 0.5})) == 200
    assert status(engine.observe("prices", first["id"], {"a": 0.5, "b": 0.5})) == 409  # of b nothing was said


def test_outcomes_of_every_status(store: Store) -> None:
    engine = store.start()
    ask(engine.create(PRICES | {"deadline": 60}))
    ids = ["observed", "voided", "expired"]
    answers = {id: ask(engine.choose("prices", id)) for id in ids}
    assert answers["observed"]["deadline"] == store.clock.now + 60
    good = {id: outcome(answer) for id, answer in answers.items()}
    other = {id: outcome(answer, 0.75) for id, answer in answers.items()}
    assert ask(engine.observe("prices", "observed", good["observed"])) == {"id": "observed", "status": "observed"}
    assert status(engine.void("prices", "voided")) == 200
    store.clock.now += 61
    for _ in range(2):
        assert status(engine.observe("prices", "observed", good["observed"])) == 200
        assert status(engine.observe("prices", "observed", other["observed"])) == 409
        assert status(engine.void("prices", "observed")) == 409
        assert status(engine.void("prices", "voided")) == 200
        assert status(engine.observe("prices", "voided", good["voided"])) == 409
        assert status(engine.observe("prices", "expired", good["expired"])) == 410
        assert status(engine.void("prices", "expired")) == 410
        assert status(engine.observe("prices", "unknown", {"a": 0.5})) == 404
        assert status(engine.void("prices", "unknown")) == 404
        assert status(engine.observe("nobody", "observed", {"a": 0.5})) == 404
        assert status(engine.observe("prices", "\0", {"a": 0.5})) == 404
        for id in ids:
            assert ask(engine.decision("prices", id))["status"] == id
        engine = store.restart()
    assert ask(engine.view("prices"))["events"] == 3


def test_an_outcome_that_cannot_be_is_refused_with_a_sentence_and_changes_nothing(store: Store) -> None:
    engine = store.start()
    ask(engine.create(PRICES | {"low": -1, "high": 3}))
    answers = ask(engine.choose_many("prices", [{"id": f"{k}"} for k in range(200)]))
    b = next(answer for answer in answers if answer["arm"] == "b")["id"]
    before = ask(engine.snapshot("prices"))
    for losses, words in [
        ({"a": 0.5}, "the loss of arm 'b' is missing"),
        ({"a": 0.5, "b": 0.5, "d": 0.5}, "does not see it"),
        ({"a": 0.5, "b": 0.5, "z": 0.5}, "not an arm"),
        ({"a": 0.5, "b": 3.5}, "the loss of arm 'b' is 3.5; expected a number from -1 to 3"),
        ({"a": 0.5, "b": 0.5, "c": 4.0}, "the loss of arm 'c' is 4.0"),
        ({"a": float("nan"), "b": 0.5}, "nan"),
        ({"a": "0.5", "b": 0.5}, "not numbers"),
    ]:
        future = engine.observe("prices", b, losses)  # type: ignore[arg-type]
        assert words in sentence(future)
        assert "Agent(" not in sentence(future)
        assert status(future) == 422
    assert ask(engine.snapshot("prices")) == before
    assert ask(engine.decision("prices", b))["status"] == "open"


def test_losses_of_further_neighbours_are_kept_and_compared_but_not_used(store: Store) -> None:
    engine = store.start()
    ask(engine.create(PRICES))
    answers = ask(engine.choose_many("prices", [{"id": f"{k}"} for k in range(200)]))
    b = next(answer for answer in answers if answer["arm"] == "b")
    assert b["also_visible"] == ["c"]
    assert status(engine.observe("prices", b["id"], {"a": 0.1, "b": 0.2, "c": 0.3})) == 200
    assert status(engine.observe("prices", b["id"], {"c": 0.3, "b": 0.2, "a": 0.1})) == 200
    assert status(engine.observe("prices", b["id"], {"a": 0.1, "b": 0.2})) == 409
    assert status(engine.observe("prices", b["id"], {"a": 0.1, "b": 0.2, "c": 0.4})) == 409
    event = next(event for row, event in engine.stream("prices") if row.id == b["id"])
    assert event is not None
    assert event.body == '{"also": {"c": 0.3}}'


def test_a_default_is_the_loss_of_every_observed_arm_that_nobody_reported(store: Store) -> None:
    engine = store.start()
    late = PRICES | {"deadline": 10, "on_timeout": {"default": 4.0}, "low": 0, "high": 8, "reward": True}
    ask(engine.create(late))
    ask(engine.create(late | {"name": "told"}))
    answers = [ask(engine.choose("prices", f"{k}", available=["c"])) for k in range(3)]  # secrets differ: one arm
    for k in range(3):
        ask(engine.choose("told", f"{k}", available=["c"]))
    for k in range(3):
        ask(engine.observe("told", f"{k}", {"c": 4.0}))
    store.clock.now += 11
    assert ask(engine.expire()) == 3
    assert ask(engine.expire()) == 0
    assert ask(engine.state("prices"))["distribution"] == ask(engine.state("told"))["distribution"]
    assert ask(engine.state("prices"))["round"] == 4
    assert [ask(engine.decision("prices", answer["id"]))["status"] for answer in answers] == ["expired"] * 3


def test_an_archived_learner_takes_open_outcomes_and_no_changes(store: Store) -> None:
    engine = store.start()
    ask(engine.create(PRICES))
    answer = ask(engine.choose("prices", "open"))
    view = ask(engine.archive("prices"))
    assert view["archived_at"] == store.clock.now
    store.clock.now += 5
    assert ask(engine.archive("prices")) == view
    assert status(engine.choose("prices", "new")) == 410
    assert ask(engine.choose_many("prices", [{"id": "open"}, {"id": "new"}]))[1]["status"] == 410
    assert status(engine.add_arm("prices", "e")) == 410
    assert status(engine.retire_arm("prices", "a")) == 410
    assert status(engine.observe("prices", "open", outcome(answer))) == 200
    assert ask(engine.create(PRICES))[1] is False


def test_arms_come_and_go_and_asking_again_is_the_same(store: Store) -> None:
    engine = store.start()
    ask(engine.create(PRICES))
    old = ask(engine.choose("prices", "old"))
    assert ask(engine.add_arm("prices", "e", ["d"]))["cover"]["cliques"] == [["a", "b"], ["c"], ["d", "e"]]
    events = ask(engine.view("prices"))["events"]
    assert status(engine.add_arm("prices", "e", ["d"])) == 200
    assert status(engine.add_arm("prices", "e", ["a"])) == 409
    assert status(engine.add_arm("prices", "f", ["nobody"])) == 422
    assert ask(engine.retire_arm("prices", "a"))["arms"] == ["b", "c", "d", "e"]
    assert status(engine.retire_arm("prices", "a")) == 200
    assert status(engine.retire_arm("prices", "z")) == 404
    assert status(engine.add_arm("prices", "a", [])) == 409
    assert ask(engine.view("prices"))["events"] == events + 1
    engine = store.restart()
    assert status(engine.retire_arm("prices", "a")) == 200
    assert status(engine.observe("prices", "old", outcome(old))) == 200
    assert ask(engine.state("prices"))["round"] == 2
    for label in ("b", "c", "d"):
        ask(engine.retire_arm("prices", label))
    assert status(engine.retire_arm("prices", "e")) == 422
    assert ask(engine.choose("prices", "last"))["arm"] == "e"


def test_segments_learn_by_themselves(store: Store) -> None:
    engine = store.start()
    ask(engine.create(PRICES))
    for k in range(30):
        for segment, best in (("north", "a"), ("south", "d")):
            answer = ask(engine.choose("prices", f"{segment}{k}", segment=segment))
            losses = {arm: float(arm != best) for arm in answer["observe"]}
            ask(engine.observe("prices", answer["id"], losses))
    state = ask(engine.state("prices"))
    assert {name: row["likeliest"] for name, row in state["segments"].items()} == {"north": "a", "south": "d"}
    assert state["round"] == 1
    assert status(engine.choose("prices", "x", segment="\0")) == 422
    assert status(engine.choose("prices", "x", segment="n" * 201)) == 422


def test_too_many_open_decisions_are_refused_until_some_end(store: Store) -> None:
    engine = store.start(max_open=3)
    ask(engine.create(PRICES))
    answers = ask(engine.choose_many("prices", [{"id": f"{k}"} for k in range(3)]))
    assert status(engine.choose("prices", "4")) == 429
    assert status(engine.choose("prices", "2")) == 200
    engine = store.restart(max_open=3)
    assert status(engine.choose("prices", "4")) == 429
    ask(engine.void("prices", answers[0]["id"]))
    assert status(engine.choose("prices", "4")) == 200


def test_calls_of_one_batch_are_answered_as_if_one_after_the_other(store: Store) -> None:
    engine = store.start()
    ask(engine.create(PRICES))
    same = [engine.choose("prices", "same") for _ in range(20)]
    assert len({str(ask(future)) for future in same}) == 1
    losses = outcome(ask(same[0]))
    ends = [engine.observe("prices", "same", losses) for _ in range(20)]
    other = [engine.observe("prices", "same", dict.fromkeys(losses, 0.5)) for _ in range(20)]
    assert [status(future) for future in ends] == [200] * 20
    assert [status(future) for future in other] == [409] * 20
    assert ask(engine.view("prices"))["events"] == 1


def test_answers_of_a_batch_are_delivered_together(store: Store) -> None:
    import threading

    engine = store.start()
    ask(engine.create(PRICES))
    seen: list[Call] = []
    done = threading.Event()

    def deliver(calls: list[Call]) -> None:
        seen.extend(calls)
        if len(seen) == 50:
            done.set()

    engine.submit([Call("choose", "prices", {"id": f"{k}"}) for k in range(50)], deliver)
    assert done.wait(60)
    assert {call.answer["id"] for call in seen} == {f"{k}" for k in range(50)}


@pytest.mark.parametrize("learner", ["exp3", "exp3-ix", "exp3-set", "tsallis-shannon-sharp"])
def test_other_learners_serve_too(store: Store, learner: str) -> None:
    engine = store.start()
    ask(engine.create({"name": "x", "graph": PRICES["graph"], "arms": PRICES["arms"], "learner": learner}))
    for k in range(20):
        answer = ask(engine.choose("x", f"{k}"))
        ask(engine.observe("x", f"{k}", {arm: float(arm != "c") for arm in answer["observe"]}))
    state = ask(engine.state("x"))
    assert (state["round"], max(state["distribution"], key=state["distribution"].get)) == (21, "c")
    engine = store.restart()
    assert ask(engine.state("x"))["distribution"] == pytest.approx(state["distribution"], rel=1e-9)


def test_keys_are_kept(store: Store) -> None:
    from allworlds.service.journal import KeyRow

    engine = store.start()
    ask(engine.add_key(KeyRow("k", b"hash", "choose read", None, "shop", 1.0)))
    engine = store.restart()
    assert ask(engine.keys()) == [KeyRow("k", b"hash", "choose read", None, "shop", 1.0)]
    assert ask(engine.revoke_key("k"))
    assert not ask(engine.revoke_key("k"))
    assert not ask(engine.revoke_key("nobody"))
    assert ask(engine.keys())[0].revoked_at == store.clock.now


def test_open_decisions_in_memory_are_few_and_older_ones_are_read(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "RECENT", 3)
    engine = store.start()
    ask(engine.create(PRICES))
    answers = [ask(engine.choose("prices", str(k))) for k in range(10)]
    assert list(engine._lives["prices"].recent) == ["7", "8", "9"]
    assert [ask(engine.choose("prices", str(k))) for k in range(10)] == answers
    for answer in answers:
        ask(engine.observe("prices", answer["id"], outcome(answer)))
        assert status(engine.void("prices", answer["id"])) == 409
    assert engine._lives["prices"].recent == {}
    assert ask(engine.view("prices"))["open"] == 0


def test_an_id_that_comes_again_is_not_counted_as_open_again(store: Store) -> None:
    engine = store.start()
    ask(engine.create(PRICES))
    answer = ask(engine.choose("prices", "user"))
    ask(engine.observe("prices", "user", outcome(answer)))
    assert [ask(engine.choose("prices", "user")) for _ in range(3)] == [answer] * 3
    assert engine._lives["prices"].open == 0


def test_an_id_that_was_decided_is_answered_also_where_a_new_one_would_be_refused(store: Store) -> None:
    engine = store.start(max_open=1)
    ask(engine.create(PRICES))
    answer = ask(engine.choose("prices", "1"))
    engine = store.restart(max_open=1)
    assert status(engine.choose("prices", "2")) == 429
    assert ask(engine.choose("prices", "1")) == answer
    assert ask(engine.choose("prices", "1", ["not an arm"])) == answer
    ask(engine.archive("prices"))
    assert status(engine.choose("prices", "2")) == 410
    assert ask(engine.choose_many("prices", [{"id": "1"}, {"id": "2"}]))[0] == answer
    assert ask(engine.view("prices"))["open"] == 1
