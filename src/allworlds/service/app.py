"""The application: from a request to the engine and back.

The event loop parses, hands over to the engine's thread and goes on; it never computes a decision and never touches
the journal. There is no web framework: what one offers is a table of routes, which is :data:`routes.ROUTES`, and the
rest costs more than a decision (``benchmarks/service_load/frameworks.py``).

Handlers of verbs that are asked all the time return a :class:`~allworlds.service.calls.Call`, which needs no task: its
answer is sent when the engine has committed it. The others are coroutines.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
import time
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from allworlds import __version__
from allworlds.foundation.errors import AllWorldsError
from allworlds.service.calls import Call
from allworlds.service.journal import Unavailable
from allworlds.service.keys import KeyRing
from allworlds.service.lookup import find_route
from allworlds.service.messages import NewLearner, sentence
from allworlds.service.openapi import document_bytes
from allworlds.service.routes import FORMATS, ROUTES, Answer, Request, Route, Stream
from allworlds.service.security import (
    Bucket,
    Limits,
    Refused,
    check_host,
    check_json,
    check_origin,
    retry_after,
    shown,
)

if TYPE_CHECKING:
    from allworlds.service.engine import Engine
    from allworlds.service.protocol import Connection

LOG = logging.getLogger("allworlds.service")
LOGGED = frozenset({401, 403, 421, 429, 500, 503})
"""Refusals that somebody who runs the service wants to see."""
NO_BODY_BYTES = 1024
"""Of a body where none is expected."""
LATE = "the database did not answer in time; ask again with the same id"


class App:
    """What answers requests; it decides as soon as it is given an engine."""

    def __init__(self, hosts: frozenset[str], keys: KeyRing, limits: Limits | None = None, *, log_all: bool = False):
        self.hosts, self.keys, self.limits = hosts, keys, limits or Limits()
        self.engine: Engine | None = None
        self.state = "starting"
        """What it does while there is no engine, for people."""
        self.openapi = document_bytes()
        self._log_all = log_all
        self._encode = msgspec.json.Encoder(enc_hook=_plain).encode
        self._decoders = {route.name: msgspec.json.Decoder(route.body) for route in ROUTES if route.body is not None}
        self._in_flight = 0
        self._waiting: dict[Call, tuple[float, int, Callable[[Call], object]]] = {}
        """Calls with the engine, oldest first: when it is too late, their weight, and who waits."""
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._refusals, self._unlogged = Bucket(rate=5.0, burst=20.0), 0
        self._downloads = threading.BoundedSemaphore(self.limits.downloads)
        self._creations = threading.BoundedSemaphore(self.limits.creations)

    # --- requests ---------------------------------------------------------------------------------------

    def admit(self, method: str, path: bytes, query: bytes, headers: Mapping[bytes, bytes]) -> Request:
        """The request of a head; raise :class:`Refused` if it is not served."""
        host = check_host(headers.get(b"host"), self.hosts)
        check_origin(headers, host)
        request = find_route(method, path, query)
        request.begin = time.perf_counter() if self._log_all else 0.0
        route = request.route
        if route.scope is not None:
            self.check_ready()
            request.key = self.keys.admit(headers.get(b"authorization"), route.scope, request.name or None)
        if route.body is not None:
            check_json(headers)
            request.limit = self.limits.learner_bytes if route.body is NewLearner else self.limits.body_bytes
        else:
            request.limit = NO_BODY_BYTES
            if method == "POST" and headers.get(b"content-length", b"0") != b"0":
                check_json(headers)
        return request

    def answer(self, request: Request, body: bytes, connection: Connection) -> None:
        """Reply to a request, now or later."""
        try:
            if request.route.body is not None:
                request.body = self._parse(request.route, body)
            elif request.method == "POST" and body.strip() not in (b"", b"{}"):
                raise Refused(422, "the body is not empty; expected none, or {}")
            content = request.route.handler(self, request)
            if type(content) is Call:
                self._submit(content, 1, lambda call: self._reply_call(call, request, connection))
            elif inspect.iscoroutine(content):
                task = asyncio.get_running_loop().create_task(self._reply_task(content, request, connection))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            else:
                self._reply(content, request, connection)
        except Exception as error:
            self.refuse(self._refusal(error, request), connection)

    def _reply_call(self, call: Call, request: Request, connection: Connection) -> None:
        try:
            if call.error is not None:
                raise call.error
            self._reply(call.answer, request, connection)
        except Exception as error:
            self.refuse(self._refusal(error, request), connection)

    async def _reply_task(self, content: Coroutine[Any, Any, Any], request: Request, connection: Connection) -> None:
        try:
            answer = await content
            if not isinstance(answer, Stream):
                self._reply(answer, request, connection)
                return
        except Exception as error:
            self.refuse(self._refusal(error, request), connection)
            return
        try:
            await connection.send_stream(answer)
        except Exception as error:
            why = "the client reads too slowly" if isinstance(error, TimeoutError) else str(error)
            LOG.warning("%s was not sent to its end: %s", answer.filename, why)

    def _reply(self, answer: Any, request: Request, connection: Connection) -> None:
        status, content = answer if type(answer) is Answer else (200, answer)
        if self._log_all:
            spent = 1000.0 * (time.perf_counter() - request.begin)
            LOG.info("%s: %d, %.1f ms", request.what, status, spent)
        connection.reply(status, self._encode(content))

    def refuse(self, refusal: Refused, connection: Connection) -> None:
        """Reply that a request is not served."""
        if refusal.status in LOGGED and self.engine is not None and refusal.status != 500:
            self._log_refusal(refusal)
        elif self._log_all:
            LOG.info("%s: %d", refusal.what, refusal.status)
        body = self._encode({"error": refusal.sentence, "status": refusal.status})
        connection.reply(refusal.status, body, refusal.headers)

    def _refusal(self, error: Exception, request: Request) -> Refused:
        """What a client is told of an error."""
        if isinstance(error, Unavailable):
            refusal = Refused(503, error.public, retry_after())
        elif isinstance(error, AllWorldsError):
            refusal = Refused(getattr(error, "status", 422), str(error))
        elif isinstance(error, Refused):
            refusal = error
        else:
            LOG.error("%s failed", request.what, exc_info=error)
            refusal = Refused(500, "the service made a mistake; its log says more")
        refusal.what = request.what
        return refusal

    def _log_refusal(self, refusal: Refused) -> None:
        """Log a few refusals a second, and count the rest, so that nobody can fill the disk with them."""
        if self._refusals.take() > 0.0:
            self._unlogged += 1
            return
        more = f" ({self._unlogged:,} more refusals were not logged)" if self._unlogged else ""
        self._unlogged = 0
        LOG.warning("%s: %d, %s%s", refusal.what, refusal.status, refusal.sentence, more)

    def _parse(self, route: Route, body: bytes) -> Any:
        if not body:
            raise Refused(400, "the body is empty; expected JSON, such as {}")
        try:
            return self._decoders[route.name].decode(body)
        except msgspec.ValidationError as error:
            raise Refused(422, sentence(error)) from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise Refused(400, f"the body is not JSON: {shown(str(error))[1:-1]}") from None

    # --- the engine -------------------------------------------------------------------------------------

    def _submit(self, call: Call, weight: int, then: Callable[[Call], object]) -> None:
        """Hand a call to the engine; ``then`` is called when it is committed, or too late."""
        engine, limits = self._ready_engine(), self.limits
        if self._in_flight + weight > limits.in_flight:
            raise Refused(429, f"{limits.in_flight:,} requests are in flight; try again later", retry_after())
        self._in_flight += weight
        self._loop = loop = asyncio.get_running_loop()
        self._waiting[call] = loop.time() + limits.answer_seconds, weight, then
        if self._timer is None:
            self._timer = loop.call_later(limits.answer_seconds, self._give_up)
        engine.submit((call,), self._deliver)

    def _deliver(self, calls: list[Call]) -> None:
        """Called by the engine's thread: wake the event loop once for all answers of a batch."""
        self._loop.call_soon_threadsafe(self._settle, calls)

    def _settle(self, calls: list[Call]) -> None:
        for call in calls:
            found = self._waiting.pop(call, None)
            if found is not None:  # somebody waits
                self._in_flight -= found[1]
                found[2](call)

    def _give_up(self) -> None:
        """Answer calls that the engine did not answer in time, and look again when the next one is due."""
        self._timer, now = None, self._loop.time()
        while self._waiting:
            call, (due, _, _) = next(iter(self._waiting.items()))
            if due > now:
                self._timer = self._loop.call_at(due, self._give_up)
                return
            late = Call(call.verb, call.name)  # the engine may still write to the other one
            late.error = Unavailable(LATE)
            self._waiting[late] = self._waiting.pop(call)
            self._settle([late])

    async def ask(self, verb: str, name: str = "", *, weight: int = 1, **arguments: Any) -> Any:
        """What the engine answers; it is committed when this returns."""
        future: asyncio.Future[Call] = asyncio.get_running_loop().create_future()
        self._submit(Call(verb, name, arguments), weight, partial(_resolve, future))
        call = await future
        if call.error is not None:
            raise call.error
        return call.answer

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


def _resolve(future: asyncio.Future[Call], call: Call) -> None:
    if not future.done():
        future.set_result(call)


def _plain(value: Any) -> Any:
    """NumPy's numbers and arrays for msgspec."""
    return value.tolist()
