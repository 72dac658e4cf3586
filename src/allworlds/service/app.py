"""The application: from a request to the engine and back.

A bare ASGI function. The event loop parses, hands over to the engine's thread and waits; it never computes a decision
and never touches the journal. In a stub with the same bodies this answered 1.3 times as many requests as Starlette
(``benchmarks/service_load/frameworks.py``), and what is lost, a table of routes, is in :mod:`routes` anyway.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote_to_bytes

import msgspec

from allworlds import __version__
from allworlds.foundation.errors import AllWorldsError
from allworlds.service.calls import Call
from allworlds.service.journal import Unavailable
from allworlds.service.keys import KeyRing
from allworlds.service.messages import NAME, NewLearner, sentence
from allworlds.service.openapi import document_bytes
from allworlds.service.routes import FORMATS, ROUTES, Answer, Request, Route, Stream
from allworlds.service.security import (
    Bucket,
    Limits,
    Refused,
    check_host,
    check_json,
    check_origin,
    check_text,
    retry_after,
    shown,
)

if TYPE_CHECKING:
    from allworlds.service.engine import Engine

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Headers = tuple[tuple[bytes, bytes], ...]

LOG = logging.getLogger("allworlds.service")
HEADERS = [
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
]
JSON_HEADERS = [(b"content-type", b"application/json"), *HEADERS]
CLOSE = ((b"connection", b"close"),)
DECIDING = (b"host", b"origin", b"content-type", b"content-length", b"content-encoding", b"authorization")
LOGGED = frozenset({401, 403, 421, 429, 500, 503})
"""Refusals that somebody who runs the service wants to see."""


class App:
    """The service as an ASGI application; it decides as soon as it is given an engine."""

    def __init__(self, hosts: frozenset[str], keys: KeyRing, limits: Limits | None = None, *, log_all: bool = False):
        self.hosts, self.keys, self.limits = hosts, keys, limits or Limits()
        self.engine: Engine | None = None
        self.state = "starting"
        """What it does while there is no engine, for people."""
        self.openapi = document_bytes()
        self._log_all = log_all
        self._routes = _table()
        self._encode = msgspec.json.Encoder(enc_hook=_plain).encode
        self._decoders = {route.name: msgspec.json.Decoder(route.body) for route in ROUTES if route.body is not None}
        self._in_flight = 0
        self._refusals, self._unlogged = Bucket(rate=5.0, burst=20.0), 0
        self._downloads = threading.BoundedSemaphore(self.limits.downloads)
        self._creations = threading.BoundedSemaphore(self.limits.creations)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            raise NotImplementedError(f"the service speaks HTTP; got {scope['type']}")
        begin = time.perf_counter()
        more: Headers = ()
        try:
            answer = await self._handle(scope, receive)
            if isinstance(answer, Stream):
                await self._send_stream(answer, receive, send)
                return
            status, content = answer if isinstance(answer, Answer) else (200, answer)
            body = self._encode(content)
        except Refused as error:
            status, more = error.status, error.headers
            body = self._encode({"error": error.sentence, "status": status})
            if status in LOGGED and self.engine is not None:
                self._log_refusal(scope, error)
        except Exception:
            LOG.exception("%s %s failed", scope["method"], shown(scope["path"]))
            status = 500
            body = self._encode({"error": "the service made a mistake; its log says more", "status": status})
        if self._log_all:
            spent = 1000.0 * (time.perf_counter() - begin)
            LOG.info("%s %s: %d, %.1f ms", scope["method"], shown(scope["path"]), status, spent)
        headers = [*JSON_HEADERS, (b"content-length", b"%d" % len(body)), *more]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _log_refusal(self, scope: Scope, error: Refused) -> None:
        """Log a few refusals a second, and count the rest, so that nobody can fill the disk with them."""
        if self._refusals.take() > 0.0:
            self._unlogged += 1
            return
        more = f" ({self._unlogged:,} more refusals were not logged)" if self._unlogged else ""
        self._unlogged = 0
        LOG.warning("%s %s: %d, %s%s", scope["method"], shown(scope["path"]), error.status, error.sentence, more)

    async def _handle(self, scope: Scope, receive: Receive) -> Any:
        headers = dict(scope["headers"])
        if len(headers) < len(scope["headers"]):
            _check_once(scope["headers"])
        host = check_host(headers.get(b"host"), self.hosts)
        check_origin(headers, host)
        route, request = self._find(scope)
        if route.scope is not None:
            self.check_ready()
            learner = request.name or None
            request.key = self.keys.admit(headers.get(b"authorization"), route.scope, learner)
        if route.body is not None:
            check_json(headers)
            limit = self.limits.learner_bytes if route.body is NewLearner else self.limits.body_bytes
            request.body = self._parse(route, await self._read(headers, receive, limit))
        elif scope["method"] == "POST" and (body := await self._read(headers, receive, 1024)):
            check_json(headers)
            if body.strip() != b"{}":
                raise Refused(422, "the body is not empty; expected none, or {}")
        try:
            return await route.handler(self, request)
        except Unavailable as error:
            raise Refused(503, error.public, retry_after()) from None
        except AllWorldsError as error:
            raise Refused(getattr(error, "status", 422), str(error)) from None

    def _find(self, scope: Scope) -> tuple[Route, Request]:
        """The route of a path: its parts are decoded one by one, so a label may contain a slash."""
        parts = (scope.get("raw_path") or scope["path"].encode()).decode("latin-1").split("/")
        routes = self._routes.get(_literals(parts))
        if routes is None:
            raise Refused(404, f"there is nothing at {shown(scope['path'])}; see /openapi.json")
        method = scope["method"]
        route = routes.get(method) or (routes.get("GET") if method == "HEAD" else None)
        if route is None or (method == "HEAD" and route.scope is not None):
            allow = sorted(routes)
            raise Refused(
                405,
                f"the method is {method}; expected {' or '.join(allow)}",
                [(b"allow", ", ".join(allow).encode())],
            )
        name = rest = ""
        if len(parts) > 3:
            name = _decode(parts[3])
            if not NAME.fullmatch(name):
                raise Refused(404, f"there is no learner {shown(name)}; GET /v1/learners lists them")
        if len(parts) > 5:
            rest = check_text("id" if "{id}" in route.path else "label", _decode(parts[5]))
        query = scope["query_string"]
        return route, Request(name, rest, _query(query, route) if query else {})

    async def _read(self, headers: Mapping[bytes, bytes], receive: Receive, limit: int) -> bytes:
        too_large = Refused(413, f"the body has more than {limit:,} bytes; send less", CLOSE)
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > limit:
            raise too_large
        pieces, size, more = [], 0, True
        try:
            async with asyncio.timeout(self.limits.body_seconds):
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Refused(400, "the connection was closed before the body had arrived", CLOSE)
                    pieces.append(message.get("body", b""))
                    size += len(pieces[-1])
                    if size > limit:
                        raise too_large
                    more = message.get("more_body", False)
        except TimeoutError:
            seconds = self.limits.body_seconds
            raise Refused(408, f"the body did not arrive within {seconds:g} s; try again", CLOSE) from None
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _parse(self, route: Route, body: bytes) -> Any:
        if not body:
            raise Refused(400, "the body is empty; expected JSON, such as {}")
        try:
            return self._decoders[route.name].decode(body)
        except msgspec.ValidationError as error:
            raise Refused(422, sentence(error)) from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise Refused(400, f"the body is not JSON: {shown(str(error))[1:-1]}") from None

    async def ask(self, verb: str, name: str = "", *, weight: int = 1, **arguments: Any) -> Any:
        """What the engine answers; it is committed when this returns."""
        engine = self._ready_engine()
        self._begin_flight(weight)
        call = Call(verb, name, arguments)
        loop = asyncio.get_running_loop()
        call.future = loop.create_future()
        timer = loop.call_later(self.limits.answer_seconds, _give_up, call.future)
        try:
            engine.submit((call,), _deliver)
            return await call.future
        finally:
            timer.cancel()
            self._in_flight -= weight

    async def create(self, body: Mapping[str, Any]) -> Any:
        """Create a learner: a thread of its own computes the cover, which may take a while."""
        engine = self._ready_engine()
        if not self._creations.acquire(blocking=False):
            raise Refused(429, f"{self.limits.creations} learners are being created; try again later", retry_after(5))
        future = engine.create(body)
        future.add_done_callback(lambda _: self._creations.release())  # not when a client gives up: the work goes on
        try:
            async with asyncio.timeout(self.limits.answer_seconds):
                return await asyncio.shield(asyncio.wrap_future(future))
        except TimeoutError:
            raise Refused(503, "the learner is not created yet; ask again with the same body", retry_after(5)) from None

    def _begin_flight(self, weight: int) -> None:
        if self._in_flight + weight > self.limits.in_flight:
            raise Refused(429, f"{self.limits.in_flight:,} requests are in flight; try again later", retry_after())
        self._in_flight += weight

    def check_ready(self) -> None:
        """Raise :class:`Refused` while the service cannot decide."""
        if self.engine is None:
            raise Refused(503, f"the service is {self.state}; try again once /readyz answers 200", retry_after())

    def health(self, status: str) -> dict[str, str]:
        """The answer of a probe."""
        return {"status": status, "version": __version__}

    async def export(self, name: str, format: str) -> Stream:
        """The journal of a learner as a file; the first piece is made before anything is promised."""
        from allworlds.service.export import ENDINGS, export

        release = self._begin_download()
        try:
            pieces = await asyncio.to_thread(export, self._ready_engine(), name, format)
            first = await asyncio.to_thread(next, pieces, b"")
        except BaseException:
            release()
            raise
        return Stream(first, pieces, release, FORMATS[format], f"{name}.{ENDINGS[format]}")

    async def evaluate(self, name: str, query: Mapping[str, str]) -> Any:
        """What policies would have cost."""
        from allworlds.service.export import evaluate_journal

        release = self._begin_download()
        try:
            return await asyncio.to_thread(evaluate_journal, self._ready_engine(), name, query)
        finally:
            release()

    def _begin_download(self) -> Callable[[], None]:
        if not self._downloads.acquire(blocking=False):
            raise Refused(429, f"{self.limits.downloads} journals are being read; try again later", retry_after(5))
        return self._downloads.release

    def _ready_engine(self) -> Engine:
        self.check_ready()
        assert self.engine is not None
        return self.engine

    async def _send_stream(self, stream: Stream, receive: Receive, send: Send) -> None:
        """Send pieces as they are made, in a thread; stop when nobody listens any more."""
        disposition = f'attachment; filename="{stream.filename}"'.encode()
        headers = [(b"content-type", stream.content_type.encode()), (b"content-disposition", disposition), *HEADERS]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        gone = asyncio.ensure_future(_disconnected(receive))
        try:
            piece: bytes | None = stream.first
            while piece is not None and not gone.done():
                async with asyncio.timeout(self.limits.answer_seconds):
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                piece = await asyncio.to_thread(next, stream.pieces, None)
            await send({"type": "http.response.body", "body": b""})
        except (TimeoutError, AllWorldsError) as error:  # without its end, an answer makes the server hang up
            why = "the client reads too slowly" if isinstance(error, TimeoutError) else str(error)
            LOG.warning("%s was not sent to its end: %s", stream.filename, why)
        finally:
            stream.release()
            gone.cancel()
            await asyncio.to_thread(stream.pieces.close)


def _check_once(headers: Iterable[tuple[bytes, bytes]]) -> None:
    """Raise :class:`Refused` if a header that decides something is there twice: others may read the other one."""
    names = [name for name, _ in headers]
    for name in DECIDING:
        if names.count(name) > 1:
            raise Refused(400, f"the request has {names.count(name)} headers {name.decode()}; expected one")


def _literals(parts: Sequence[str]) -> tuple[str | int, ...]:
    """The parts of a path that are not parameters, which stand at places 3 and 5 of every path, and how many there are.

    >>> _literals("/v1/learners/prices/decisions/7/outcome".split("/"))
    (7, 'v1', 'learners', 'decisions', 'outcome')
    """
    return (len(parts), *parts[1:3], *parts[4:5], *parts[6:])


def _table() -> dict[tuple[str | int, ...], dict[str, Route]]:
    """Routes by their literal parts and their method."""
    found: dict[tuple[str | int, ...], dict[str, Route]] = {}
    for route in ROUTES:
        found.setdefault(_literals(route.path.split("/")), {})[route.method] = route
    return found


def _decode(part: str) -> str:
    try:
        return part if part.isascii() and "%" not in part else unquote_to_bytes(part.encode("latin-1")).decode()
    except UnicodeDecodeError:
        raise Refused(400, f"the path has {shown(part)}; expected UTF-8") from None


def _query(text: bytes, route: Route) -> dict[str, str]:
    pairs = parse_qsl(text.decode("latin-1"), keep_blank_values=True)
    for name, _ in pairs:
        if name not in route.query:
            raise Refused(422, f"the query has {shown(name)}; expected {' or '.join(route.query) or 'none'}")
    return dict(pairs)


def _plain(value: Any) -> Any:
    """NumPy's numbers and arrays for msgspec."""
    return value.tolist()


def _deliver(calls: list[Call]) -> None:
    """Called by the engine's thread: wake the event loop once for all answers of a batch."""
    calls[0].future.get_loop().call_soon_threadsafe(_settle, calls)


def _give_up(future: asyncio.Future[Any]) -> None:
    if not future.done():
        sentence = "the database did not answer in time; ask again with the same id"
        future.set_exception(Unavailable(sentence))


def _settle(calls: list[Call]) -> None:
    for call in calls:
        if call.future.done():
            continue  # nobody waits any more
        if call.error is None:
            call.future.set_result(call.answer)
        else:
            call.future.set_exception(call.error)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
