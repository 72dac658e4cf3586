"""A connection without a network: what it hands to the application, what it says, and when it stops listening."""

from __future__ import annotations

import asyncio
import inspect
import re
from functools import wraps

import pytest

from allworlds.service.lookup import find_route
from allworlds.service.protocol import Connection
from allworlds.service.routes import Stream
from allworlds.service.security import Limits


class Wire:
    """A transport that keeps what is written."""

    def __init__(self):
        self.said, self.closed, self.aborted, self.reads, self.breaks = b"", False, False, True, False

    def write(self, data):
        if self.breaks:
            raise RuntimeError("the handler is closed")
        self.said += data

    def close(self):
        self.closed = True

    def abort(self):
        self.aborted = True

    def pause_reading(self):
        self.reads = False

    def resume_reading(self):
        self.reads = True

    @property
    def statuses(self):
        return [int(status) for status in re.findall(rb"HTTP/1.1 (\d+) ", self.said)]


class Echo:
    """An application that answers at once, or when it is told to."""

    def __init__(self, limits, waits=False):
        self.limits, self.waits = limits, waits
        self.asked = []

    def admit(self, method, path, query, headers):
        request = find_route(method, path, query)
        request.limit = self.limits.body_bytes
        return request

    def answer(self, request, body, connection):
        self.asked.append(body)
        if not self.waits:
            connection.reply(200, b"{}")

    def refuse(self, refusal, connection):
        connection.reply(refusal.status, b"{}")


def connect(waits=False, **limits):
    connection = Connection(Echo(Limits(**limits), waits), set())
    connection.connection_made(Wire())
    return connection, connection.app, connection.transport


def in_a_loop(test):
    @wraps(test)
    def run(*arguments, **named):
        asyncio.run(test(*arguments, **named))

    run.__signature__ = inspect.signature(test)
    return run


async def aborted(wire):
    for _ in range(1000):
        if wire.aborted:
            break
        await asyncio.sleep(0.01)
    return wire.aborted


GET = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
POST = b"POST /v1/learners HTTP/1.1\r\nHost: a\r\n"


@in_a_loop
async def test_many_requests_in_one_piece_are_not_one_large_head():
    connection, _, wire = connect(head_bytes=200)
    connection.data_received(20 * GET + GET[:9])
    connection.data_received(GET[9:])
    assert wire.statuses == 21 * [200]
    connection.data_received(20 * GET + GET[:-2] + b"X: " + 400 * b"x")
    connection.data_received(b"\r\n\r\n")
    assert wire.statuses == 41 * [200] + [431]  # this one is


@in_a_loop
async def test_a_client_that_does_not_read_is_asked_for_nothing_more():
    connection, app, wire = connect()
    connection.data_received(GET)
    connection.pause_writing()
    connection.data_received(10 * GET)
    assert (len(app.asked), wire.reads) == (1, False)
    connection.resume_writing()
    assert (wire.statuses, wire.reads) == (11 * [200], True)


@in_a_loop
async def test_a_client_that_never_reads_is_cut_off(monkeypatch):
    monkeypatch.setattr("allworlds.service.protocol.IDLE", 0.01)
    connection, app, wire = connect(answer_seconds=0.02)
    connection.data_received(GET)
    connection.pause_writing()
    connection.data_received(GET)
    assert await aborted(wire)
    assert (len(app.asked), wire.closed) == (1, True)


@in_a_loop
async def test_a_wrong_request_of_a_client_that_does_not_read_is_cut_off_too(monkeypatch):
    monkeypatch.setattr("allworlds.service.protocol.IDLE", 0.01)
    connection, _, wire = connect(answer_seconds=0.02, head_seconds=0.01)
    connection.data_received(GET)
    connection.pause_writing()
    connection.data_received(GET[:9])
    assert await aborted(wire)


@in_a_loop
async def test_after_the_last_answer_nothing_is_done():
    connection, app, wire = connect()
    connection.data_received(GET.replace(b"1.1", b"1.0").replace(b"Host", b"Connection: keep-alive\r\nHost") + GET)
    assert (len(app.asked), wire.statuses, wire.closed) == (1, [200], True)


@in_a_loop
async def test_requests_that_straddle_pieces_have_each_their_own_time():
    connection, _, wire = connect()
    connection.data_received(GET[:9])
    for _ in range(3):
        until = connection._timer.when()
        await asyncio.sleep(0.01)
        connection.data_received(GET[9:] + GET[:9])
        assert connection._timer.when() > until
    until = connection._timer.when()
    connection.data_received(GET[9:12])
    assert connection._timer.when() == until  # one that drips has no more
    assert wire.statuses == 3 * [200]


@in_a_loop
async def test_time_in_which_nothing_is_read_is_not_the_clients():
    connection, _, wire = connect(waits=True, head_seconds=0.05)
    connection.data_received(2 * GET + GET[:9])
    assert not wire.reads
    await asyncio.sleep(0.3)
    connection.reply(200, b"{}")
    assert wire.reads
    connection.data_received(GET[9:])
    connection.reply(200, b"{}")
    connection.reply(200, b"{}")
    assert wire.statuses == 3 * [200]


@in_a_loop
async def test_a_body_that_is_too_large_is_refused_once_and_not_asked_for():
    connection, _, wire = connect(body_bytes=10)
    connection.data_received(POST + b"Expect: 100-continue\r\nContent-Length: 11\r\n\r\n")
    assert (wire.statuses, wire.closed) == ([413], True)


@in_a_loop
async def test_a_large_head_that_asks_for_another_protocol_is_refused():
    connection, _, wire = connect(head_bytes=100)
    connection.data_received(GET[:-2] + b"Connection: upgrade\r\nUpgrade: x\r\nX: " + 200 * b"x" + b"\r\n\r\n")
    assert (wire.statuses, wire.closed) == ([431], True)


@pytest.mark.parametrize("more", [b"X: " + 500 * b"x", 500 * b"x"], ids=["trailer", "extension"])
@in_a_loop
async def test_what_a_chunked_body_has_beside_its_chunks_has_a_limit(more):
    connection, _, wire = connect(head_bytes=200)
    connection.data_received(POST + b"Transfer-Encoding: chunked\r\n\r\n")
    connection.data_received(b"1\r\n{\r\n1\r\n}\r\n0" + (b"\r\n" if more[:1] == b"X" else b";"))
    for _ in range(3):
        connection.data_received(more)
    assert wire.statuses == [413]


@in_a_loop
async def test_small_chunks_are_fine():
    connection, app, wire = connect(head_bytes=200)
    connection.data_received(POST + b"Transfer-Encoding: chunked\r\n\r\n")
    for _ in range(1000):
        connection.data_received(b"1\r\n{\r\n")
    connection.data_received(b"0\r\n\r\n")
    assert (app.asked, wire.statuses) == ([1000 * b"{"], [200])


@in_a_loop
async def test_a_stream_to_a_client_that_is_gone_gives_back_its_place():
    connection, _, wire = connect(waits=True)
    connection.data_received(GET)
    connection.connection_lost(None)
    wire.breaks = True
    released = []
    pieces = (piece for piece in [b"b"])
    await connection.send_stream(Stream(b"a", pieces, lambda: released.append(True), "text/plain", "a.txt"))
    assert released == [True]
    assert wire.said == b""


@in_a_loop
async def test_a_mistake_of_ours_is_500_and_logged(caplog, monkeypatch):
    connection, app, wire = connect()
    monkeypatch.setattr(app, "admit", lambda *_: 1 / 0)
    connection.data_received(GET)
    assert (wire.statuses, wire.closed) == ([500], True)
    assert "could not be read" in caplog.text
