"""Which attempts follow which: the exchange, spoken to by hand and with a clock of its own."""

from __future__ import annotations

import json

import pytest

from allworlds.client import (
    Conflict,
    Gone,
    InvalidRequest,
    NotAllowed,
    NotFound,
    RequestFailed,
    TooManyRequests,
    Unreachable,
    requests,
)
from allworlds.client import exchange as room
from allworlds.client.exchange import Reply, Settings, exchange
from allworlds.foundation.errors import InvalidParameter

SERVER = "http://127.0.0.1:8080"
ANSWER = {"id": "x", "arm": "a", "probability": 0.5, "round": 1, "observe": ["a"], "also_visible": [], "deadline": None}


def reply(status: int, data: object, **headers: str) -> Reply:
    return Reply(status, json.dumps(data).encode(), {name.replace("_", "-"): text for name, text in headers.items()})


def refusal(status: int, **headers: str) -> Reply:
    return reply(status, {"error": f"the sentence of {status}", "status": status}, **headers)


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test moves, and pauses without luck."""

    class Clock:
        now = 0.0

    monkeypatch.setattr(room.time, "monotonic", lambda: Clock.now)
    monkeypatch.setattr(room.random, "uniform", lambda low, high: high)
    return Clock


def settings(retry_for: float = 30.0) -> Settings:
    return Settings(SERVER, None, 1.0, retry_for)


def talk(request, answers, clock, retry_for: float = 30.0):
    """Give these answers, one an attempt; return the result and the pauses."""
    talking, pauses = exchange(request, settings(retry_for)), []
    assert next(talking) is None
    for answer in answers:
        try:
            wait = talking.send(answer)
        except StopIteration as end:
            return end.value, pauses
        pauses.append(wait)
        clock.now += wait
        assert next(talking) is None
    raise AssertionError("it wants more answers")


@pytest.mark.parametrize("trouble", ["connection refused", *map(refusal, (408, 429, 502, 503, 504))], ids=str)
def test_no_answer_and_answers_that_leave_it_open_are_tried_again(trouble, clock):
    request = requests.choose("prices", None, None, None)
    decision, pauses = talk(request, [trouble, trouble, reply(200, ANSWER)], clock)
    assert decision.arm == "a"
    assert pauses == [0.05, 0.1]


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, InvalidRequest),
        (401, NotAllowed),
        (403, NotAllowed),
        (404, NotFound),
        (409, Conflict),
        (410, Gone),
        (413, InvalidRequest),
        (415, InvalidRequest),
        (422, InvalidRequest),
        (500, RequestFailed),
    ],
)
def test_a_final_answer_raises_at_once_with_the_sentence_the_status_and_the_id(status, kind, clock):
    request = requests.observe("order-17", {"a": 0.5}, "prices")
    with pytest.raises(kind, match=f"the sentence of {status}") as caught:
        talk(request, [refusal(status)], clock)
    assert type(caught.value) is kind
    assert (caught.value.status, caught.value.id) == (status, "order-17")


def test_the_pause_doubles_up_to_two_seconds(clock):
    _, pauses = talk(requests.learners(), ["gone"] * 9 + [reply(200, {"learners": []})], clock)
    assert pauses == [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0, 2.0]


def test_the_wish_of_the_service_is_obeyed_within_reason(clock):
    busy = [refusal(429, retry_after="3"), refusal(503, retry_after="1e9"), refusal(503, retry_after="soon")]
    _, pauses = talk(requests.learners(), [*busy, reply(200, {"learners": []})], clock, retry_for=100.0)
    assert pauses == [3.0, 30.0, 0.2]


def test_patience_ends_with_the_last_sentence_and_the_number_of_attempts(clock):
    with pytest.raises(Unreachable, match=r"the sentence of 503 \(after 5 attempts in 0\.[78] s\)") as caught:
        talk(requests.learners(), [refusal(503)] * 99, clock, retry_for=1.0)
    assert caught.value.status == 503
    with pytest.raises(TooManyRequests, match=r"the sentence of 429$"):
        talk(requests.learners(), [refusal(429)] * 99, clock, retry_for=0.0)


def test_without_an_answer_the_error_names_the_server_and_the_id_to_repeat(clock):
    request = requests.choose("prices", None, None, None)
    with pytest.raises(Unreachable, match=f"no answer from {SERVER} .connection refused.") as caught:
        talk(request, ["connection refused"], clock, retry_for=0.0)
    assert caught.value.status is None
    assert caught.value.id == request.id == request.body["id"]


def test_every_attempt_sends_the_same_bytes():
    request = requests.choose("prices", None, None, None)
    assert request.content == request.content
    assert request.id != requests.choose("prices", None, None, None).id


def test_a_batch_is_repeated_if_any_of_its_decisions_was_left_open(clock):
    request = requests.choose_many("prices", ["x", "y"])
    half = reply(200, {"decisions": [ANSWER, {"error": "the disk is full", "status": 503}]})
    both = reply(200, {"decisions": [ANSWER, ANSWER | {"id": "y"}]})
    made, pauses = talk(request, [half, both], clock)
    assert [one.id for one in made] == ["x", "y"]
    assert pauses == [0.05]


@pytest.mark.parametrize("content", [b"<html>Bad gateway</html>", b'["error"]', b"\xff"])
def test_what_is_no_service_gets_a_sentence(content, clock):
    for status in (200, 404):
        with pytest.raises(RequestFailed, match="expected an allworlds service"):
            talk(requests.learners(), [Reply(status, content, {})], clock)


@pytest.mark.parametrize("server", ["127.0.0.1:8080", "ftp://host", "http://", "http://host?a=b", "http://host#a", ""])
def test_an_address_that_is_none_is_refused(server):
    with pytest.raises(InvalidParameter, match="expected an address"):
        Settings(server, None, 1.0, 1.0)


def test_a_key_must_fit_into_a_header_and_is_never_shown():
    with pytest.raises(InvalidParameter, match=r"expected id\.secret") as caught:
        Settings(SERVER, "id.sec\r\nHost: elsewhere", 1.0, 1.0)
    assert "sec\r" not in str(caught.value)
    assert "s3cret" not in repr(Settings(SERVER, "id.s3cret", 1.0, 1.0))


@pytest.mark.parametrize(("timeout", "retry_for"), [(0.0, 1.0), (float("nan"), 1.0), (1.0, -1.0), (1.0, float("inf"))])
def test_times_must_be_finite(timeout, retry_for):
    with pytest.raises(InvalidParameter, match="expected a finite number of seconds"):
        Settings(SERVER, None, timeout, retry_for)
