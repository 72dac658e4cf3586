"""HTTP/1.1 on one connection: bytes to requests of the application, and its answers back to bytes.

Almost every request arrives in one piece and is answered in one piece, so a request has no task, no event and no timer
of its own: the parser calls the application, which calls :meth:`Connection.reply`, now or when the engine has
committed. HTTP is most of what a decision costs; ``benchmarks/service_load/frameworks.py`` compares this with a general
ASGI server.

Requests of one connection are answered one after the other, in their order. Everything has a limit: the size of a head
and of a body, the time that each may take to arrive, what a client may leave unread, and the time that a connection may
be idle.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Iterable
from email.utils import formatdate
from http import HTTPStatus
from typing import Any, NamedTuple, Protocol

import httptools

from allworlds.service.routes import Request, Stream
from allworlds.service.security import Limits, Refused, shown

LOG = logging.getLogger("allworlds.service")
Header = tuple[bytes, bytes]

FIXED = b"cache-control: no-store\r\nx-content-type-options: nosniff\r\n"
"""Headers of every answer."""
LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus}
CLOSE = b"connection: close\r\n"
IDLE = 75.0
"""Seconds that a connection is kept open between two requests."""
DECIDING = frozenset({b"host", b"origin", b"content-type", b"content-length", b"content-encoding", b"authorization"})
"""Headers that decide something: if one is there twice, others on the way may have read the other one."""


class Arrived(NamedTuple):
    """A request that is there, body and all."""

    request: Request | Refused
    body: bytes = b""
    keep: bool = False
    """Whether the connection stays open after its answer."""
    head_only: bool = False
    """Whether only the head of the answer is wanted."""


class Application(Protocol):
    """What answers requests."""

    limits: Limits

    def admit(self, method: str, path: bytes, query: bytes, headers: dict[bytes, bytes]) -> Request:
        """The request of a head; raise :class:`Refused` if it is not served. The body may be ``request.limit`` long."""

    def answer(self, request: Request, body: bytes, connection: Connection) -> None:
        """Call ``connection.reply`` or ``connection.send_stream``, once, now or later, in the event loop."""

    def refuse(self, refusal: Refused, connection: Connection) -> None:
        """Reply that a request is not served."""


class Connection(asyncio.Protocol):
    """One connection of a client."""

    def __init__(self, app: Application, connections: set[Connection]) -> None:
        self.app, self.limits = app, app.limits
        self.connections = connections
        """All that are open."""
        self._parser = httptools.HttpRequestParser(self)
        self._ready: deque[Arrived] = deque()
        self._answering = self._starting = self._head_only = False
        self._deaf = False  # nothing more is read
        self._last = False  # nothing more is said after the answer that is being made
        self._paused = False  # the socket is not read while earlier requests wait
        self._unread = False  # the client reads more slowly than we write
        self._in_head, self._in_message, self._head_size, self._piece = False, False, 0, 0
        self._ended = False  # a request ended in the current piece
        self._timer: asyncio.TimerHandle | None = None
        self._waits_for = "head"
        self._active = 0.0
        self._can_write: asyncio.Event | None = None
        self.lost = False
        """The client is gone."""

    # --- the connection ---------------------------------------------------------------------------------

    def connection_made(self, transport: Any) -> None:
        """Wait for a request, but not for ever."""
        self.transport = transport
        self.loop = asyncio.get_running_loop()
        self.connections.add(self)
        self._wait_for("head", self.limits.head_seconds)
        if len(self.connections) > self.limits.connections:
            self._fail(503, f"{self.limits.connections:,} connections are open; try again later")

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it; an answer that is being made goes nowhere."""
        self.lost = True
        self.connections.discard(self)
        if self._timer is not None:
            self._timer.cancel()
        if self._can_write is not None:
            self._can_write.set()

    def pause_writing(self) -> None:
        """The client reads more slowly than we write: streams and further requests wait."""
        self._unread = True
        if self._can_write is not None:
            self._can_write.clear()

    def resume_writing(self) -> None:
        """The client has read."""
        self._unread = False
        if self._can_write is not None:
            self._can_write.set()
        self._start()

    def shut_down(self) -> None:
        """Close once what is being answered is answered."""
        self._deaf = self._last = True
        self._ready.clear()
        if not self._answering:
            self._close()

    def data_received(self, data: bytes) -> None:
        """Parse what has arrived and start what is whole."""
        if self._deaf:
            return
        self._piece, self._ended = len(data), False
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:  # answered as if it had not asked, but what follows is not HTTP
            if not self._deaf:
                self._deaf = True
                self._ready.append(self._ready.pop()._replace(keep=False))
        except httptools.HttpParserCallbackError as error:
            LOG.error("a request could not be read", exc_info=error)
            self._fail(500, "the service made a mistake; its log says more")
        except httptools.HttpParserError:
            self._fail(400, "the request is not HTTP")
        if self._ready:
            self._start()
            if self._ready and not self._paused and not self.lost:
                self._paused = True
                self.transport.pause_reading()
        if self._deaf:
            return
        if self._in_head:
            self._head_size += 0 if self._ended else len(data)  # else most of the piece may be an earlier request
            if self._head_size > self.limits.head_bytes:
                self._fail_head()
            elif self._waits_for != "head":
                self._wait_for("head", self.limits.head_seconds)
        elif self._in_message:
            self._body_size += 0 if self._ended else len(data)
            if self._body_size > self.limits.head_bytes + 8 * self._size:  # a chunk of one byte takes six
                self._fail(413, "the body has long trailers or chunk extensions; send none")
            elif self._waits_for != "body":
                self._wait_for("body", self.limits.body_seconds)
        elif not self._in_message and self._waits_for != "nothing":
            self._wait_for("nothing", IDLE)

    # --- what the parser calls --------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        self._in_head = self._in_message = True
        self._head_size, self._body_size, self._url = 0, 0, b""
        self._first_piece = self._piece
        if self._waits_for != "nothing":  # each request has its own time
            self._waits_for = "another"
        self._headers: list[Header] = []
        self._pieces: list[bytes] = []
        self._size = 0

    def on_url(self, url: bytes) -> None:
        """A piece of the target."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header."""
        self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """The head is whole: is such a request served?"""
        self._in_head = False
        if self._deaf:
            return
        if max(self._piece, self._first_piece) > self.limits.head_bytes:  # is it the head that is large?
            size = len(self._url) + sum(len(name) + len(value) for name, value in self._headers)
            if size > self.limits.head_bytes:
                self._fail_head()
                return
        self._body_size -= self._piece  # which counts as the head's
        self._request = self._admitted()
        if self._deaf:  # it is answered already
            return
        headers = self._headers
        if any(name == b"expect" and value.lower() == b"100-continue" for name, value in headers if name[0] == 101):
            if isinstance(self._request, Refused):  # it waits for a word before it sends the body
                self._end(self._request)
            elif not self._answering and not self._ready:
                self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _admitted(self) -> Request | Refused:
        url, path, query = self._url, self._url, b""
        headers, method = dict(self._headers), self._parser.get_method().decode()
        try:
            if len(headers) < len(self._headers):
                _check_once(self._headers)
            if url[:1] != b"/" or b"#" in url:
                parsed = httptools.parse_url(url)
                path, query = parsed.path or b"/", parsed.query or b""
            elif b"?" in url:
                path, _, query = url.partition(b"?")
            request = self.app.admit(method, path, query, headers)
            if int(headers.get(b"content-length", 0)) > request.limit:
                self._end(_too_large(request))
            return request
        except Refused as refusal:
            refusal.what = f"{method} {shown(path.decode('latin-1'))}"
            return refusal
        except httptools.HttpParserInvalidURLError:
            return Refused(400, "the request is not HTTP")

    def on_body(self, body: bytes) -> None:
        """A piece of the body; of a request that is refused it is thrown away."""
        if self._deaf:
            return
        self._size += len(body)
        request = self._request
        if isinstance(request, Refused):
            if self._size > self.limits.body_bytes:
                self._end(request)
            return
        self._pieces.append(body)
        if self._size > request.limit:
            self._end(_too_large(request))

    def on_message_complete(self) -> None:
        """A request is whole."""
        self._in_message, self._ended = False, True
        if not self._deaf:
            pieces, parser = self._pieces, self._parser
            body = pieces[0] if len(pieces) == 1 else b"".join(pieces)
            keep = parser.should_keep_alive() and parser.get_http_version() == "1.1"
            self._ready.append(Arrived(self._request, body, keep, parser.get_method() == b"HEAD"))

    # --- answers ----------------------------------------------------------------------------------------

    def _start(self) -> None:
        """Hand requests to the application, one after the other."""
        if self._starting:  # a reply that was made at once
            return
        self._starting = True
        try:
            while self._ready and not self._answering and not self._unread and not self.lost:
                request, body, keep, self._head_only = self._ready.popleft()
                self._answering, self._last = True, self._last or not keep
                if isinstance(request, Refused):
                    self.app.refuse(request, self)
                else:
                    self.app.answer(request, body, self)
        finally:
            self._starting = False
        if self._paused and not (self._ready or self._last or self._deaf or self.lost):
            self._paused = False
            self.transport.resume_reading()

    def reply(self, status: int, body: bytes, more: Iterable[Header] = ()) -> None:
        """Answer the request that was started last."""
        if self.lost:
            return
        extra = b"".join([b"%b: %b\r\n" % header for header in more])
        if self._last:
            extra += CLOSE
        self.transport.write(
            b"%b%bcontent-type: application/json\r\ncontent-length: %d\r\n%b\r\n%b"
            % (LINES[status], _common(), len(body), extra, b"" if self._head_only else body)
        )
        self._answered()

    def _answered(self) -> None:
        self._answering = False
        if self._last:
            self._close()
            return
        self._active = self.loop.time()
        if self._ready:
            self._start()

    async def send_stream(self, stream: Stream) -> None:
        """Send pieces as they are made, in a thread; stop when nobody listens any more, or reads too slowly.

        Without its end an answer makes the client see that something is missing.
        """
        self._can_write = asyncio.Event()
        self._can_write.set()
        disposition = b'attachment; filename="%b"' % stream.filename.encode()
        close = CLOSE if self._last else b""
        head = b"%b%bcontent-type: %b\r\ncontent-disposition: %b\r\ntransfer-encoding: chunked\r\n%b\r\n"
        whole = False
        try:
            if not self.lost:
                self.transport.write(head % (LINES[200], _common(), stream.content_type.encode(), disposition, close))
            piece: bytes | None = stream.first
            while piece is not None and not self.lost:
                if piece:
                    self.transport.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                async with asyncio.timeout(self.limits.answer_seconds):
                    await self._can_write.wait()
                piece = await asyncio.to_thread(next, stream.pieces, None)
            whole = not self.lost
        finally:
            self._can_write = None
            stream.release()
            if whole:
                self.transport.write(b"0\r\n\r\n")
                self._answered()
            else:
                self.transport.abort()
            await asyncio.to_thread(stream.pieces.close)

    # --- what ends a connection -------------------------------------------------------------------------

    def _close(self) -> None:
        """Hear and say no more; wait until the client has read what was said, but not for ever."""
        self._deaf = True
        self._ready.clear()
        self.transport.close()
        self._wait_for("reading", self.limits.answer_seconds)

    def _wait_for(self, what: str, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._waits_for = what
        self._timer = self.loop.call_later(seconds, self._too_slow)

    def _too_slow(self) -> None:
        self._timer = None
        if self._waits_for == "reading":
            self.transport.abort()
        elif self._deaf or self._paused or self._waits_for == "nothing":  # the client need not send anything
            idle = self.loop.time() - self._active
            if self._answering or idle < IDLE:
                self._wait_for(self._waits_for, IDLE if self._answering else IDLE - idle)
            else:
                self._close()
        elif self._waits_for == "head":
            self._fail(408, f"no request arrived within {self.limits.head_seconds:g} s")
        else:
            self._fail(408, f"the body did not arrive within {self.limits.body_seconds:g} s; try again")

    def _fail_head(self) -> None:
        self._fail(431, f"the headers have more than {self.limits.head_bytes:,} bytes; send less")

    def _fail(self, status: int, sentence: str) -> None:
        self._end(Refused(status, sentence))

    def _end(self, refusal: Refused) -> None:
        """The last word, after the answers that are due."""
        if self._deaf or self.lost:
            return
        self._deaf = True
        if self._timer is None:
            self._wait_for("nothing", IDLE)
        self._ready.append(Arrived(refusal))
        self._start()


def _too_large(request: Request) -> Refused:
    return Refused(413, f"the body has more than {request.limit:,} bytes; send less")


def _check_once(headers: Iterable[Header]) -> None:
    """Raise :class:`Refused` if a header that decides something is there twice."""
    names = [name for name, _ in headers]
    for name in sorted(DECIDING):
        if names.count(name) > 1:
            raise Refused(400, f"the request has {names.count(name)} headers {name.decode()}; expected one")


_second, _head = 0, b""


def _common() -> bytes:
    """Headers of every answer; the date is made once a second."""
    global _second, _head
    now = int(time.time())
    if now != _second:
        _second, _head = now, b"date: %b\r\n%b" % (formatdate(now, usegmt=True).encode(), FIXED)
    return _head
