"""An engine that decides nothing: for tests of what lies in front of it, without a compiler or a journal."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from concurrent.futures import Future
from typing import Any

import httpx

from allworlds.service.app import App
from allworlds.service.calls import Call
from allworlds.service.journal import KeyRow, ServiceError, Unavailable
from allworlds.service.keys import KeyRing
from allworlds.service.protocol import Connection
from allworlds.service.security import Limits, allowed_hosts

VIEW = {"name": "prices", "arms": ["a", "b"]}


class StandIn:
    """Notes what it was asked, and answers at once; ``never`` does not answer, ``lost`` is unavailable."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []

    def submit(self, calls: Iterable[Call], deliver: Callable[[list[Call]], object]) -> None:
        for call in calls:
            self.asked.append((call.verb, call.name, *call.arguments.values()))
            said = {call.name, call.arguments.get("id")}
            if "lost" in said:
                call.error = Unavailable("the database is away; ask again with the same id")
            elif "absent" in said:
                call.error = ServiceError(404, "there is no such thing")
            elif "broken" in said:
                call.error = ZeroDivisionError("a defect")  # type: ignore[assignment]
            elif "never" in said:
                return
            else:
                call.answer = self._answer(call.verb, call.arguments)
        deliver(list(calls))

    def create(self, body: dict[str, Any]) -> Future[Any]:
        self.asked.append(("create", body))
        future: Future[Any] = Future()
        future.set_result((VIEW, True))
        return future

    def _answer(self, verb: str, arguments: Mapping[str, Any]) -> Any:
        if verb == "views":
            return [VIEW, VIEW | {"name": "routes"}]
        if verb == "choose_many":
            return [{"id": str(k)} for k in range(len(arguments["decisions"]))]
        return VIEW


def make_app(
    *keys: KeyRow, host: str = "127.0.0.1", limits: Limits | None = None, ready: bool = True, clock: Any = None
) -> App:
    """An application in front of a stand-in."""
    limits = limits or Limits()
    ring = KeyRing(limits, required=host != "127.0.0.1", clock=clock or time.monotonic)
    ring.replace(keys)
    app = App(allowed_hosts(host), ring, limits)
    if ready:
        app.engine = StandIn()  # type: ignore[assignment]
    return app


class Transport:
    """The server's end of a connection without a network: what is written is kept."""

    def __init__(self) -> None:
        self.said, self.closed = b"", asyncio.Event()

    def write(self, data: bytes) -> None:
        self.said += data

    def close(self) -> None:
        self.closed.set()

    abort = close

    def pause_reading(self) -> None:
        """There is nothing to pause."""

    resume_reading = pause_reading


class Wire(httpx.AsyncBaseTransport):
    """Requests of httpx as bytes to one connection of an application, each on a connection of its own."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        lines = [request.method.encode() + b" " + request.url.raw_path + b" HTTP/1.1", b"Connection: close"]
        lines += [name + b": " + value for name, value in request.headers.raw if name.lower() != b"connection"]
        head, chunked = b"\r\n".join(lines) + b"\r\n\r\n", "transfer-encoding" in request.headers

        async def pieces() -> AsyncIterator[bytes]:
            yield head if chunked else head + await request.aread()
            if chunked:
                async for piece in request.stream:  # type: ignore[union-attr]
                    yield b"%x\r\n%b\r\n" % (len(piece), piece)
                yield b"0\r\n\r\n"

        said = await exchange(self.app, pieces())
        head, _, content = said.partition(b"\r\n\r\n")
        status, *headers = head.split(b"\r\n")
        pairs = [(name, value.strip()) for name, _, value in (line.partition(b":") for line in headers)]
        return httpx.Response(int(status.split()[1]), headers=pairs, content=content)


async def exchange(app: App, pieces: AsyncIterator[bytes]) -> bytes:
    """What an application says to these bytes until it closes the connection."""
    transport = Transport()
    connection = Connection(app, set())
    connection.connection_made(transport)

    async def receive() -> None:
        async for piece in pieces:
            connection.data_received(piece)
            if transport.closed.is_set():
                return

    receiving = asyncio.ensure_future(receive())
    await transport.closed.wait()
    receiving.cancel()
    connection.connection_lost(None)
    return transport.said


def send(app: App, method: str, path: str, *, url: str = "http://127.0.0.1:8080", **more: Any) -> httpx.Response:
    """The answer of an application to one request, without a network."""

    async def ask() -> httpx.Response:
        async with httpx.AsyncClient(transport=Wire(app), base_url=url) as client:
            return await client.request(method, path, **more)

    return asyncio.run(ask())
