"""An engine that decides nothing: for tests of what lies in front of it, without a compiler or a journal."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import Future
from typing import Any

import httpx

from allworlds.service.app import App
from allworlds.service.journal import KeyRow, ServiceError, Unavailable
from allworlds.service.keys import KeyRing
from allworlds.service.security import Limits, allowed_hosts


class StandIn:
    """Notes what it was asked, and answers at once; ``never`` does not answer, ``lost`` is unavailable."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []

    def __getattr__(self, verb: str) -> Any:
        def call(*arguments: Any) -> Future[Any]:
            self.asked.append((verb, *arguments))
            future: Future[Any] = Future()
            if "lost" in arguments:
                future.set_exception(Unavailable("the database is away; ask again with the same id"))
            elif "absent" in arguments:
                future.set_exception(ServiceError(404, "there is no such thing"))
            elif "broken" in arguments:
                future.set_exception(ZeroDivisionError("a defect"))
            elif "never" not in arguments:
                future.set_result(self._answer(verb, arguments))
            return future

        return call

    def _answer(self, verb: str, arguments: tuple[Any, ...]) -> Any:
        view = {"name": "prices", "arms": ["a", "b"]}
        if verb == "views":
            return [view, view | {"name": "routes"}]
        if verb == "create":
            return view, True
        if verb == "choose_many":
            return [{"id": str(k)} for k in range(len(arguments[1]))]
        return view


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
