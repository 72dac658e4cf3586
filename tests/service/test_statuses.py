"""The promise over HTTP, with the engine behind it: every status of a decision, and the shapes others rely on."""

from __future__ import annotations

import time

import httpx
import pytest

from served import served

__all__ = ["served"]
LEARNER = {"name": "prices", "arms": ["a", "b", "c"], "graph": {"cliques": [["a", "b"], ["c"]]}}


@pytest.fixture(scope="module")
def client(served):
    with httpx.Client(base_url=served.url, timeout=30.0) as client:
        yield client


@pytest.fixture
def learner(client, request):
    """A learner of the test's own; its path."""
    name = request.node.name[:100].replace("[", "-").replace("]", "")
    answer = client.post("/v1/learners", json={**LEARNER, "name": name})
    assert answer.status_code == 201
    return f"/v1/learners/{name}"


def losses_of(answer, value=0.25):
    return dict.fromkeys(answer["observe"], value)


def choose(client, learner, id):
    answer = client.post(f"{learner}/decisions", json={"id": id})
    assert answer.status_code == 200
    return answer.json()


def outcome(client, learner, id, losses):
    return client.put(f"{learner}/decisions/{id}/outcome", json=losses).status_code


def void(client, learner, id):
    return client.post(f"{learner}/decisions/{id}/void").status_code


def test_a_learner_is_created_once_and_shown_with_its_cover_and_certificate(client, learner):
    name = learner.rpartition("/")[2]
    again = client.post("/v1/learners", json={**LEARNER, "name": name})
    assert again.status_code == 200
    assert client.post("/v1/learners", json={**LEARNER, "name": name, "low": -1.0}).status_code == 409
    view = again.json()
    assert view["cover"]["cliques"] == [["a", "b"], ["c"]]
    assert view["cover"]["minimum"] is True
    assert view["cover"]["lower_bound"] == 2
    assert "each arm of its clique" in view["feedback"]
    shown = client.get(learner).json()
    assert {key: shown[key] for key in view} == view
    assert sum(shown["distribution"].values()) == pytest.approx(1.0)
    assert name in [one["name"] for one in client.get("/v1/learners").json()["learners"]]


@pytest.mark.parametrize(
    "graph", [{"edges": [["a", "b"]]}, {"family": "disjoint-cliques:1x3"}, {"cliques": [["a", "b", "c"]]}]
)
def test_a_graph_is_cliques_edges_or_a_family(client, graph):
    name = next(iter(graph))
    answer = client.post("/v1/learners", json={"name": f"by-{name}", "arms": ["a", "b", "c"], "graph": graph})
    assert answer.status_code == 201
    assert answer.json()["arms"] == ["a", "b", "c"]


@pytest.mark.parametrize(
    "body",
    [
        {"graph": {}},
        {"graph": {"edges": [["a", "z"]]}},
        {"graph": {"edges": [], "family": "cycle:5"}},
        {"graph": {"family": "file:/etc/passwd"}},
        {"graph": {"family": "cycle:1000000000"}},
        {"graph": {"cliques": [["a"]]}, "learner": "ucb-n"},
        {"graph": {"cliques": [["a"]]}, "low": 1.0, "high": 0.0},
        {"graph": {"cliques": [["a"]]}, "deadline": 60, "on_timeout": {"default": 7.0}},
        {"graph": {"cliques": [["a"]]}, "on_timeout": {"default": 1.0}},
        {"graph": {"cliques": [["a", "a"]]}},
        {"graph": {"cliques": [["a"]]}, "horizon": 1000},
        {"graph": {"cliques": [["a"]]}, "minimum_share": 2.0},
        {"graph": {"cliques": [["a"]]}, "cover": [["z"]]},
    ],
)
def test_a_body_that_makes_no_learner_is_422_with_a_sentence(client, body):
    answer = client.post("/v1/learners", json={"name": "wrong", "arms": ["a", "b"], **body})
    assert answer.status_code == 422
    assert "expected" in answer.json()["error"] or "not" in answer.json()["error"]


def test_a_decision_has_the_shape_that_others_rely_on(client, learner):
    answer = choose(client, learner, "first")
    assert set(answer) == {
        *("id", "arm", "probability", "clique_probability"),
        *("observe", "also_visible", "round", "deadline"),
    }
    assert answer["id"] == "first"
    assert answer["observe"] == (["c"] if answer["arm"] == "c" else ["a", "b"])
    assert (answer["also_visible"], answer["round"], answer["deadline"]) == ([], 1, None)
    assert 0.0 < answer["probability"] <= answer["clique_probability"] <= 1.0
    assert choose(client, learner, "first") == answer
    made = client.post(f"{learner}/decisions", json={}).json()
    assert client.get(f"{learner}/decisions/{made['id']}").json() == {**made, "status": "open", "segment": None}


def test_observed_the_same_again_200_for_ever_and_anything_else_409(client, learner):
    answer = choose(client, learner, "1")
    assert outcome(client, learner, "1", losses_of(answer)) == 200
    assert outcome(client, learner, "1", losses_of(answer)) == 200
    content = "{" + ",".join(f'"{arm}": 25e-2' for arm in answer["observe"]) + "}"  # the same number, in other digits
    headers = {"Content-Type": "application/json"}
    assert client.put(f"{learner}/decisions/1/outcome", content=content, headers=headers).status_code == 200
    assert outcome(client, learner, "1", losses_of(answer, 0.5)) == 409
    assert void(client, learner, "1") == 409
    assert choose(client, learner, "1") == answer
    assert client.get(learner).json()["round"] == 2


def test_voided_void_again_200_outcome_409(client, learner):
    answer = choose(client, learner, "1")
    assert void(client, learner, "1") == 200
    assert void(client, learner, "1") == 200
    assert outcome(client, learner, "1", losses_of(answer)) == 409
    assert client.get(f"{learner}/decisions/1").json()["status"] == "voided"


@pytest.mark.parametrize("default", [None, 0.75])
def test_expired_is_410(client, default):
    name = f"hasty-{default}"
    late = "void" if default is None else {"default": default}
    body = {**LEARNER, "name": name, "deadline": 0.2, "on_timeout": late}
    assert client.post("/v1/learners", json=body).status_code == 201
    learner = f"/v1/learners/{name}"
    begin = time.time()
    answer = choose(client, learner, "1")
    assert answer["deadline"] == pytest.approx(begin + 0.2, abs=5.0)
    while time.time() <= answer["deadline"] + 0.05:
        time.sleep(0.05)
    assert outcome(client, learner, "1", losses_of(answer)) == 410
    assert void(client, learner, "1") == 410
    assert client.get(f"{learner}/decisions/1").json()["status"] == "expired"
    assert choose(client, learner, "1") == answer
    assert client.get(learner).json()["round"] == (1 if default is None else 2)


def test_unknown_is_404(client, learner):
    assert outcome(client, learner, "absent", {"a": 0.5}) == 404
    assert void(client, learner, "absent") == 404
    assert client.get(f"{learner}/decisions/absent").status_code == 404
    assert client.get("/v1/learners/absent").status_code == 404
    assert client.delete("/v1/learners/absent").status_code == 404
    assert client.post("/v1/learners/absent/decisions", json={}).status_code == 404
    assert client.get("/v1/learners/absent/export").status_code == 404
    assert client.get("/v1/learners/absent/evaluate").status_code == 404


def test_an_outcome_that_cannot_be_is_422_with_a_sentence_and_changes_nothing(client, learner):
    answer = choose(client, learner, "1")
    good = losses_of(answer)
    others = {arm: 0.5 for arm in "abc" if arm not in good}
    wrong = [{}, {**good, **others}, {**good, "z": 0.5}, dict.fromkeys(good, 1.5), dict.fromkeys(good, -0.1)]
    if len(good) > 1:
        wrong.append({answer["arm"]: 0.25})
    for losses in wrong:
        refused = client.put(f"{learner}/decisions/1/outcome", json=losses)
        assert refused.status_code == 422, losses
        assert len(refused.json()["error"]) > 20
    assert client.get(f"{learner}/decisions/1").json()["status"] == "open"
    assert outcome(client, learner, "1", good) == 200


def test_an_archived_learner_decides_nothing_new_and_takes_open_outcomes(client, learner):
    answer = choose(client, learner, "1")
    choose(client, learner, "2")
    assert client.delete(learner).status_code == 200
    assert client.delete(learner).status_code == 200
    assert client.post(f"{learner}/decisions", json={"id": "3"}).status_code == 410
    assert choose(client, learner, "1") == answer  # an old id still has its answer
    assert outcome(client, learner, "1", losses_of(answer)) == 200
    assert void(client, learner, "2") == 200
    assert client.post(f"{learner}/arms", json={"label": "d"}).status_code == 410


def test_a_batch_answers_each_decision_by_itself(client, learner):
    first = choose(client, learner, "1")
    asked = [{"id": "1"}, {"id": "2", "available": ["c"]}, {"id": "3", "available": ["z"]}, {"segment": "north"}]
    answers = client.post(f"{learner}/decisions:batch", json={"decisions": asked}).json()["decisions"]
    assert answers[0] == first
    assert answers[1]["arm"] == "c"
    assert answers[2]["status"] == 422
    assert answers[3]["id"]
    assert client.get(f"{learner}/decisions/{answers[3]['id']}").json()["segment"] == "north"


def test_arms_come_and_go_and_open_outcomes_are_still_taken(client, learner):
    answer = choose(client, learner, "1")
    assert client.post(f"{learner}/arms", json={"label": "d/e", "neighbours": ["c"]}).json()["arms"][-1] == "d/e"
    assert client.post(f"{learner}/arms", json={"label": "d/e", "neighbours": ["c"]}).status_code == 200
    assert client.post(f"{learner}/arms", json={"label": "d/e", "neighbours": ["a"]}).status_code == 409
    assert outcome(client, learner, "1", losses_of(answer)) == 200
    assert client.delete(f"{learner}/arms/d%2Fe").json()["arms"] == ["a", "b", "c"]
    assert client.delete(f"{learner}/arms/d%2Fe").status_code == 200
    assert client.delete(f"{learner}/arms/z").status_code == 404
