"""``AsyncClient``: the client for ``asyncio``; it may be shared by the tasks of one event loop."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from allworlds.client import requests
from allworlds.client.connection import Connection, Wanted
from allworlds.client.decision import Decision, Losses
from allworlds.client.exchange import Reply, exchange
from allworlds.client.requests import Body, LearnerSettings, Request
from allworlds.client.sink import Sink

if TYPE_CHECKING:
    from types import TracebackType

    import httpx

T = TypeVar("T")


class AsyncClient(Connection):
    """:class:`~allworlds.client.client.Client` for ``asyncio``: the same verbs and parameters, each to be awaited."""

    def __init__(
        self,
        server: str | None = None,
        *,
        key: str | None = None,
        timeout: float = 10.0,
        retry_for: float = 30.0,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        super().__init__(server, key, timeout, retry_for)
        self._owned = http is None
        self._http: httpx.AsyncClient = self._httpx.AsyncClient(**self._options()) if http is None else http

    async def choose(
        self,
        learner: str,
        *,
        id: str | None = None,
        available: Iterable[str] | None = None,
        segment: str | None = None,
    ) -> Decision:
        """As :meth:`Client.choose`."""
        return await self._run(requests.choose(learner, id, available, segment))

    async def choose_many(self, learner: str, decisions: Wanted) -> list[Decision]:
        """As :meth:`Client.choose_many`."""
        return await self._run(requests.choose_many(learner, decisions))

    async def observe(self, decision: Decision | str, losses: Losses, *, learner: str | None = None) -> None:
        """As :meth:`Client.observe`."""
        return await self._run(requests.observe(decision, losses, learner))

    async def void(self, decision: Decision | str, *, learner: str | None = None) -> None:
        """As :meth:`Client.void`."""
        return await self._run(requests.void(decision, learner))

    async def decision(self, learner: str, id: str) -> Body:
        """As :meth:`Client.decision`."""
        return await self._run(requests.decision(learner, id))

    async def create(self, name: str, **settings: Unpack[LearnerSettings]) -> Body:
        """As :meth:`Client.create`."""
        return await self._run(requests.create(name, **settings))

    async def learners(self) -> list[Body]:
        """As :meth:`Client.learners`."""
        return await self._run(requests.learners())

    async def learner(self, name: str) -> Body:
        """As :meth:`Client.learner`."""
        return await self._run(requests.learner(name))

    async def archive(self, name: str) -> Body:
        """As :meth:`Client.archive`."""
        return await self._run(requests.archive(name))

    async def add_arm(self, learner: str, arm: str, neighbours: Iterable[str] = ()) -> Body:
        """As :meth:`Client.add_arm`."""
        return await self._run(requests.add_arm(learner, arm, neighbours))

    async def retire_arm(self, learner: str, arm: str) -> Body:
        """As :meth:`Client.retire_arm`."""
        return await self._run(requests.retire_arm(learner, arm))

    async def export(self, learner: str, file: str | os.PathLike[str], format: str | None = None) -> Path:
        """As :meth:`Client.export`."""
        request = requests.export(learner, os.fspath(file), format)
        with Sink(Path(file)) as sink:
            await self._run(request, sink)
        return Path(file)

    async def evaluate(
        self,
        learner: str,
        policy: str | Mapping[str, float] = "each",
        *,
        level: float = 0.95,
        missing: str = "drop",
    ) -> Body:
        """As :meth:`Client.evaluate`."""
        return await self._run(requests.evaluate(learner, policy, level, missing))

    async def wait_until_ready(self) -> None:
        """As :meth:`Client.wait_until_ready`."""
        await self._run(requests.ready())

    async def close(self) -> None:
        """Close the connections."""
        if self._owned:
            await self._http.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def _run(self, request: Request[T], sink: Sink | None = None) -> T:
        talk = exchange(request, self._settings)
        next(talk)
        while True:
            try:
                wait = talk.send(await self._send(request, sink))
                while wait is not None:
                    await asyncio.sleep(wait)
                    wait = next(talk)
            except StopIteration as end:
                answer: T = end.value
                return answer

    async def _send(self, request: Request[Any], sink: Sink | None) -> Reply | str:
        try:
            async with self._http.stream(**self._arguments(request)) as response:
                if sink is not None and response.status_code == 200:
                    sink.restart()
                    async for chunk in response.aiter_bytes():
                        sink.write(chunk)
                    return Reply(200, b"", response.headers)
                return Reply(response.status_code, await response.aread(), response.headers)
        except self._httpx.RequestError as error:
            return self._sentence(error)
