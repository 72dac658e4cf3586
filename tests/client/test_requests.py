"""What is sent: paths, bodies, and what is refused before anything is sent."""

from __future__ import annotations

import json
import uuid
from urllib.parse import unquote

import numpy as np
import pytest

import allworlds as aw
from allworlds.client import Conflict, Decision, PartlyFailed, requests
from allworlds.foundation.errors import InvalidLosses, InvalidParameter

MADE = Decision("order-17", "b", 0.25, 1, ("a", "b"), "prices")
ALONE = Decision("order-18", "c", 0.5, 1, ("c",), "prices")


def test_a_decision_without_an_id_gets_a_fresh_one():
    bodies = [requests.choose("prices", None, None, None).body for _ in range(2)]
    assert len({uuid.UUID(body["id"]) for body in bodies}) == 2
    assert all(set(body) == {"id"} for body in bodies)


def test_options_of_a_decision_are_sent_as_they_are_given():
    request = requests.choose("prices", "order-17", ("a", 3), "de")
    assert request.body == {"id": "order-17", "available": ["a", "3"], "segment": "de"}
    assert (request.method, request.path) == ("POST", "/v1/learners/prices/decisions")


@pytest.mark.parametrize("id", ["a/b", "50%", "a?b#c", "ü 1", "a.b", ".", "..", "../../keys", "decisions:batch"])
def test_any_id_is_one_piece_of_the_path(id):
    path = requests.void(id, "prices").path
    pieces = path.split("/")
    assert [unquote(piece) for piece in pieces] == ["", "v1", "learners", "prices", "decisions", id, "void"]
    assert path.isascii()
    assert "?" not in path
    assert not {".", ".."} & set(pieces)


@pytest.mark.parametrize(
    ("decision", "losses", "sent"),
    [
        (MADE, {"b": 1, "a": np.float64(0.5)}, {"b": 1.0, "a": 0.5}),
        (MADE, [0.25, 0.75], {"a": 0.25, "b": 0.75}),
        (MADE, np.array([0.25, 0.75]), {"a": 0.25, "b": 0.75}),
        (ALONE, 0.25, {"c": 0.25}),
        (ALONE, np.float32(0.25), {"c": 0.25}),
        ("order-19", {3: 0.5}, {"3": 0.5}),
    ],
)
def test_losses_are_sent_by_arm_as_plain_numbers(decision, losses, sent):
    learner = "prices" if isinstance(decision, str) else None
    request = requests.observe(decision, losses, learner)
    assert json.loads(request.content) == sent
    assert request.method == "PUT"


@pytest.mark.parametrize(
    ("decision", "losses", "sentence"),
    [
        (MADE, [0.5], "got 1 losses; expected 2, one for each of a, b"),
        (MADE, 0.5, "got 1 losses; expected 2"),
        ("order-17", [0.5], "expected a mapping"),
        (MADE, {"a": float("nan"), "b": 0.5}, "the loss of arm 'a' is nan; expected a finite number"),
        (MADE, {"a": "0.5", "b": 0.5}, "expected a finite number"),
        (MADE, {"a": True, "b": 0.5}, "expected a finite number"),
        (MADE, {"a": None, "b": 0.5}, "expected a finite number"),
    ],
)
def test_losses_that_are_none_are_refused_before_they_are_sent(decision, losses, sentence):
    with pytest.raises(InvalidLosses, match=sentence):
        requests.observe(decision, losses, "prices")


def test_an_id_alone_needs_the_name_of_its_learner():
    with pytest.raises(InvalidParameter, match="expected learner="):
        requests.void("order-17", None)
    with pytest.raises(InvalidParameter, match="expected 'prices', which made the decision"):
        requests.void(MADE, "colours")
    with pytest.raises(InvalidParameter, match="expected a string that is not empty"):
        requests.void("", "prices")


def test_a_creation_sends_what_was_given_and_nothing_else():
    request = requests.create("prices", graph={"cliques": [["a", "b"], ["c"]]}, low=None, deadline=60.0)
    assert request.body == {
        "name": "prices",
        "arms": ["a", "b", "c"],
        "graph": {"cliques": [["a", "b"], ["c"]]},
        "deadline": 60.0,
    }


def test_an_arm_of_two_cliques_is_one_arm():
    body = requests.create("prices", graph={"cliques": [["a", "b"], ["b", "c"]]}).body
    assert body["arms"] == ["a", "b", "c"]


def test_a_string_is_no_list_of_arms_or_ids():
    for call, what in [
        (lambda: requests.choose("prices", None, "abc", None), "available is 'abc'; expected a list of arms"),
        (lambda: requests.choose("prices", None, 3, None), "available is 3; expected a list of arms"),
        (lambda: requests.add_arm("prices", "d", "abc"), "neighbours is 'abc'; expected a list of arms"),
        (
            lambda: requests.choose_many("prices", "abc"),
            "the decisions are 'abc'; expected a number of them, or a list",
        ),
    ]:
        with pytest.raises(InvalidParameter, match=what):
            call()


def test_a_policy_is_an_arm_or_a_mapping_from_arms():
    assert "policy=each&" in requests.evaluate("prices", "each", 0.95, "drop").path
    path = requests.evaluate("prices", {"a": 0.25, 3: np.float64(0.75)}, 0.95, "drop").path
    assert "policy=a=0.25,3=0.75&" in unquote(path)


def test_a_graph_of_the_library_is_sent_by_its_labels_and_edges():
    graph = aw.FeedbackGraph(n_arms=3, edges=[(0, 2)], labels=["a", "b", "c"])
    body = requests.create("prices", graph=graph).body
    assert body == {"name": "prices", "arms": ["a", "b", "c"], "graph": {"edges": [["a", "c"]]}}
    assert requests.create("numbers", graph=aw.graphs.bandit(2)).body["arms"] == ["0", "1"]
    with pytest.raises(InvalidParameter, match="expected an undirected one"):
        requests.create("prices", graph=aw.FeedbackGraph(n_arms=2, edges=[(0, 1)], directed=True))
    with pytest.raises(InvalidParameter, match="got 1 arms; expected 3"):
        requests.create("prices", graph=graph, arms=["a"])
    with pytest.raises(InvalidParameter, match="graph is a str; expected a FeedbackGraph"):
        requests.create("prices", graph="star:10")


def test_a_batch_is_a_number_or_ids_or_options():
    assert len({one["id"] for one in requests.choose_many("prices", 3).body["decisions"]}) == 3
    body = requests.choose_many("prices", ["x", {"id": "y", "segment": "de"}]).body
    assert body == {"decisions": [{"id": "x"}, {"id": "y", "segment": "de"}]}
    with pytest.raises(InvalidParameter, match="expected at least one"):
        requests.choose_many("prices", 0)
    with pytest.raises(InvalidParameter, match="a decision has 'segmnt'"):
        requests.choose_many("prices", [{"segmnt": "de"}])


def test_a_batch_that_failed_in_part_says_which_decisions_were_made():
    request = requests.choose_many("prices", ["x", "y"])
    made = {"id": "x", "arm": "a", "probability": 0.5, "round": 1, "observe": ["a"]}
    with pytest.raises(PartlyFailed, match="1 of 2 decisions failed; taken already") as caught:
        request.read({"decisions": [made, {"error": "taken already", "status": 409}]})
    first, second = caught.value.answers
    assert isinstance(first, Decision)
    assert isinstance(second, Conflict)
    assert second.id == "y"


def test_an_export_knows_its_format_by_the_suffix():
    assert requests.export("prices", "a.b/log.jsonl", None).path == "/v1/learners/prices/export?format=jsonl"
    assert requests.export("prices", "log.txt", "vw").path.endswith("format=vw")
    with pytest.raises(InvalidParameter, match=r"expected a name ending in \.jsonl"):
        requests.export("prices", "log.csv", None)
