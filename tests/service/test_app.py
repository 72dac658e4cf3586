"""Requests and answers: routes, paths, bodies, statuses."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import Future

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allworlds.service.journal import Unavailable
from allworlds.service.lookup import find_route
from allworlds.service.messages import MOST_IN_BATCH
from allworlds.service.protocol import Connection
from allworlds.service.routes import Stream
from allworlds.service.security import Limits, Refused
from stand_in_engine import Transport, make_app, send

DECISIONS = "/v1/learners/prices/decisions"


def quoted(text):
    """Percent-encoded, every byte of it."""
    return "".join(f"%{byte:02x}" for byte in text.encode())


@given(
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=200).filter(lambda t: t not in "...")
)
def test_an_id_in_a_path_is_any_text_slashes_included(text):
    app = make_app()
    answer = send(app, "PUT", f"{DECISIONS}/{quoted(text)}/outcome", json={"a": 0.25})
    assert answer.status_code == 200
    assert app.engine.asked == [("observe", "prices", text, {"a": 0.25})]


def test_an_id_in_a_path_may_come_as_plain_bytes_and_is_never_another_one():
    for text in ("é", "è", "a%2Fb", "plain"):
        request = find_route("GET", f"{DECISIONS}/{text}".encode())
        assert request.rest == text.replace("%2F", "/")
    with pytest.raises(Refused):
        find_route("GET", f"{DECISIONS}/é".encode("latin-1"))


def test_an_answer_of_503_does_not_say_where_the_database_is():
    app = make_app()
    app.engine.submit = lambda calls, deliver: [fail(call, deliver) for call in calls]

    def fail(call, deliver):
        call.error = Unavailable("cannot open the database '/srv/secret.db'", "the database is away")
        deliver([call])

    answer = send(app, "POST", DECISIONS, json={})
    assert (answer.status_code, answer.json()["error"]) == (503, "the database is away")


def test_learners_that_are_being_created_are_limited_also_when_their_clients_gave_up():
    app = make_app(limits=Limits(creations=2, answer_seconds=0.05))
    work = [Future() for _ in range(3)]
    left = iter(work)
    app.engine.create = lambda body: next(left)
    body = {"name": "prices", "graph": {"cliques": [["a"]]}}
    assert [send(app, "POST", "/v1/learners", json=body).status_code for _ in range(4)] == [503, 503, 429, 429]
    work[0].set_result(({}, True))
    assert send(app, "POST", "/v1/learners", json=body).status_code == 503
    assert send(app, "POST", "/v1/learners", json=body).status_code == 429


def test_a_client_that_reads_too_slowly_does_not_keep_others_from_exports():
    app = make_app(limits=Limits(answer_seconds=0.05, downloads=1))
    transport = Transport()

    def pieces():
        yield b"more"

    async def read_slowly():
        connection = Connection(app, set())
        connection.connection_made(transport)
        connection.data_received(b"GET /v1/learners/prices/export HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        while not transport.said:
            await asyncio.sleep(0)
        connection.pause_writing()  # as a transport says when its buffer is full
        await transport.closed.wait()

    app.export = lambda name, format: exported()

    async def exported():
        return Stream(b"first", pieces(), app._begin_download(), "application/jsonl", "prices.jsonl")

    asyncio.run(read_slowly())
    assert b"5\r\nfirst\r\n" in transport.said
    assert not transport.said.endswith(b"0\r\n\r\n")  # no end: the client sees that something is missing
    app._begin_download()


def test_a_batch_is_not_a_decision():
    app = make_app()
    assert send(app, "POST", f"{DECISIONS}:batch", json={"decisions": [{"id": "1"}, {}]}).status_code == 200
    assert app.engine.asked[0][:2] == ("choose_many", "prices")
    assert [item["id"] for item in app.engine.asked[0][2]] == ["1", None]


def test_what_is_malformed_in_a_batch_is_answered_by_itself():
    app = make_app()
    wrong = [{"id": ""}, {"id": 3}, {"segment": ["de"]}, {"id": "a\nb"}, {"ids": "x"}]
    answer = send(app, "POST", f"{DECISIONS}:batch", json={"decisions": [{"id": "1"}, *wrong, {"id": "2"}]})
    assert answer.status_code == 200
    first, *refused, last = answer.json()["decisions"]
    assert (first, last) == ({"id": "0"}, {"id": "1"})  # the stand-in numbers what it is asked
    assert [item["id"] for item in app.engine.asked[0][2]] == ["1", "2"]
    assert [item["status"] for item in refused] == [422] * 5
    sentences = [item["error"] for item in refused]
    assert sentences[1:3] == [
        "id is an integer; expected a string or null",
        "segment is a list; expected a string or null",
    ]
    assert "expected no control characters" in sentences[3]
    assert sentences[4] == "the decision has 'ids', which is not known; see /openapi.json"
    for body in ({"decisions": [{}, 3]}, {"decisions": "x"}, [{}]):
        assert send(app, "POST", f"{DECISIONS}:batch", json=body).status_code == 422


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 404),
        ("GET", "/v2/learners", 404),
        ("GET", "/v1/learners/", 404),
        ("GET", "/v1/learners//decisions/7", 404),
        ("GET", "/v1/learners/a%2Fb", 404),
        ("GET", "/v1/learners/%00", 404),
        ("GET", "/v1/learners/%ff", 400),
        ("GET", f"{DECISIONS}/%00", 422),
        ("GET", f"{DECISIONS}/{'x' * 201}", 422),
        ("GET", "/v1/learners?nmae=x", 422),
        ("GET", "/v1/learners/prices/export?format=exe", 422),
        ("GET", "/v1/learners/absent", 404),
        ("PATCH", "/v1/learners", 405),
        ("GET", DECISIONS, 405),
        ("DELETE", f"{DECISIONS}/7/outcome", 405),
        ("TRACE", "/healthz", 405),
    ],
)
def test_what_is_not_there_is_a_sentence_with_its_status(method, path, status):
    answer = send(make_app(), method, path)
    assert answer.status_code == status
    assert answer.json()["status"] == status
    assert answer.json()["error"]
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == "no-store"
    assert bool(answer.headers.get("allow")) == (status == 405)


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (b"", 400, "the body is empty"),
        (b"{", 400, "not JSON"),
        (b'{"id": "\xff"}', 400, "not JSON"),
        (b'{"id": NaN}', 400, "not JSON"),
        (b"[]", 422, "the body is a list; expected an object"),
        (b'{"id": 3}', 422, "id is an integer; expected a string or null"),
        (b'{"ids": "x"}', 422, "'ids', which is not known"),
        (b'{"available": "a"}', 422, "available is a string; expected a list or null"),
        (b'{"available": ["a", 2]}', 422, "available[1] is an integer; expected a string"),
        (b'{"id": ""}', 422, "id"),
        (b"[" * 100_000, 422, "expected an object"),
    ],
)
def test_a_malformed_body_is_told_what_is_wrong_with_it(body, status, words):
    app = make_app()
    answer = send(app, "POST", DECISIONS, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == status
    assert words in answer.json()["error"]
    assert app.engine.asked == []


def test_a_body_that_is_nested_too_deeply_is_malformed():
    deep = b'{"name": "x", "graph": {}, "arms": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    answer = send(make_app(), "POST", "/v1/learners", content=deep, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422)


@pytest.mark.parametrize("losses", ['{"a": 1e400}', '{"a": "0.5"}', '{"a": true}', '{"a": null}', "[0.5]", "0.5"])
def test_an_outcome_is_a_number_for_each_arm(losses):
    headers = {"Content-Type": "application/json"}
    answer = send(make_app(), "PUT", f"{DECISIONS}/7/outcome", content=losses, headers=headers)
    assert answer.status_code == 422
    assert answer.json()["error"].startswith(("the value of an arm is ", "the body is "))


@pytest.mark.parametrize(("count", "status"), [(0, 422), (1, 200), (MOST_IN_BATCH, 200), (MOST_IN_BATCH + 1, 422)])
def test_a_batch_has_a_limit(count, status):
    assert send(make_app(), "POST", f"{DECISIONS}:batch", json={"decisions": [{}] * count}).status_code == status


@pytest.mark.parametrize(("content", "status"), [(b"", 200), (b"{}", 200), (b'{"id": 1}', 422), (b"{" * 2000, 413)])
def test_void_needs_no_body(content, status):
    headers = {"Content-Type": "application/json"} if content else {}
    assert send(make_app(), "POST", f"{DECISIONS}/7/void", content=content, headers=headers).status_code == status


@pytest.mark.parametrize("name", ["", "a/b", "a b", "-a", ".", "..", "é", "x" * 101])
def test_a_learner_has_a_plain_name(name):
    body = {"name": name, "graph": {"family": "cycle:5"}}
    assert send(make_app(), "POST", "/v1/learners", json=body).status_code == 422


def test_only_what_was_given_is_handed_on_so_that_defaults_may_change():
    app = make_app()
    body = {"name": "prices", "arms": ["a", "b"], "graph": {"edges": [["a", "b"]]}, "cover": None}
    send(app, "POST", "/v1/learners", json=body)
    assert app.engine.asked == [("create", {"name": "prices", "arms": ["a", "b"], "graph": {"edges": [["a", "b"]]}})]


def test_a_lost_database_is_503_and_says_to_ask_again():
    answer = send(make_app(), "POST", DECISIONS, json={"id": "lost"})
    assert answer.status_code == 503
    assert "same id" in answer.json()["error"]
    assert int(answer.headers["retry-after"]) >= 1


def test_an_error_of_the_engine_keeps_its_status_and_a_defect_says_nothing_about_itself():
    assert send(make_app(), "POST", DECISIONS, json={"id": "absent"}).status_code == 404
    answer = send(make_app(), "POST", DECISIONS, json={"id": "broken"})
    assert answer.status_code == 500
    assert "defect" not in answer.text


def test_until_the_engine_is_there_only_probes_are_answered():
    app = make_app(ready=False)
    app.state = "compiling"
    assert send(app, "GET", "/healthz").status_code == 200
    for path in ("/readyz", "/v1/learners", "/v1/learners/prices"):
        answer = send(app, "GET", path)
        assert answer.status_code == 503
        assert "compiling" in answer.json()["error"]
        assert int(answer.headers["retry-after"]) >= 1
    assert send(make_app(), "GET", "/readyz").json()["status"] == "ready"


@pytest.mark.parametrize(("path", "status"), [("/healthz", 200), ("/readyz", 200), ("/v1/learners", 405)])
def test_a_probe_may_ask_for_the_head_alone(path, status):
    assert send(make_app(), "HEAD", path).status_code == status


def test_answers_are_json_whatever_numbers_are_in_them():
    import numpy as np

    app = make_app()
    app.engine._answer = lambda verb, arguments: {"a": np.float64(0.5), "b": np.arange(2), "c": float("nan")}
    assert json.loads(send(app, "GET", "/v1/learners/prices").content) == {"a": 0.5, "b": [0, 1], "c": None}
