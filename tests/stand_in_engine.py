"""An engine that decides nothing: for tests of what lies in front of it, without a compiler or a journal."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from typing import Any

import httpx

from allworlds.service.app import App
from allworlds.service.calls import Call
from allworlds.service.journal import KeyRow, ServiceError, Unavailable
from allworlds.service.keys import KeyRing
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


def send(app: App, method: str, path: str, *, url: str = "http://127.0.0.1:8080", **more: Any) -> httpx.Response:
    """The answer of an application to one request, without a network."""

    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(app=app)  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=transport, base_url=url) as client:
            return await client.request(method, path, **more)

    return asyncio.run(ask())
