"""Clients that use a service while its processes are killed: they repeat each request until they have an answer.

They remember all that was acknowledged. What the service then holds can be compared with it: nothing may be missing,
nothing may be there twice, and no answer may change.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import random
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

NAME = "prices"
BODY = {"name": NAME, "graph": {"cliques": [["a", "b", "c"], ["d", "e"], ["f"]]}, "arms": list("abcdef")}
PATIENCE = 120.0
"""Seconds after which a client gives up, which is a failure."""


@dataclass
class Load:
    """Four clients of the services on ``ports``."""

    ports: Sequence[int]
    n_clients: int = 4
    decisions: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The answers, by id."""
    outcomes: dict[str, dict[str, float]] = field(default_factory=dict)
    voids: set[str] = field(default_factory=set)
    repeated: int = 0
    """Requests that were sent again because no answer came."""
    problems: list[str] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)

    @property
    def acknowledged(self) -> int:
        """How many requests had an answer."""
        return len(self.decisions) + len(self.outcomes) + len(self.voids)

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """The clients work meanwhile, and finish what they have begun."""
        with contextlib.closing(Client(self, 0)) as client:
            client.expect(201, "POST", "/v1/learners", BODY)
        threads = [threading.Thread(target=self._work, args=(number,)) for number in range(self.n_clients)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._stop.set()
            for thread in threads:
                thread.join()

    def one_more(self, port: int) -> None:
        """One more decision and its outcome, by the service on this port."""
        id, path = f"last at {port}", f"/v1/learners/{NAME}/decisions"
        with contextlib.closing(Client(Load([port]), 0)) as client:
            answer = client.expect(200, "POST", path, {"id": id})
            self.decisions[id] = answer
            self.outcomes[id] = dict.fromkeys(answer["observe"], 0.25)
            client.expect(200, "PUT", f"{path}/{quote(id)}/outcome", self.outcomes[id])

    def wait_for(self, more: int) -> None:
        """Wait until so many more requests are acknowledged."""
        goal, begin = self.acknowledged + more, time.monotonic()
        while self.acknowledged < goal:
            assert not self.problems, self.problems
            assert time.monotonic() < begin + PATIENCE, "the service does not come back"
            time.sleep(0.005)

    def _work(self, number: int) -> None:
        client, chance, count = Client(self, number), random.Random(number), 0
        try:
            while not self._stop.is_set():
                count += 1
                self._decide(client, chance, f"{number}-{count}")
        except Exception as problem:
            self.problems.append(f"client {number}: {problem!r}")
        finally:
            client.close()

    def _decide(self, client: Client, chance: random.Random, id: str) -> None:
        """One decision and what becomes of it; some requests are repeated, some contradict themselves."""
        asked = {"id": id} | ({"segment": "evening"} if chance.random() < 0.3 else {})
        path = f"/v1/learners/{NAME}/decisions"
        answer = client.expect(200, "POST", path, asked)
        self.decisions[id] = answer
        if chance.random() < 0.2 and client.expect(200, "POST", path, asked) != answer:
            self.problems.append(f"decision {id} was answered differently")
        fate = chance.random()
        if fate < 0.1:
            return
        if fate < 0.2:
            client.expect(200, "POST", f"{path}/{id}/void", {})
            self.voids.add(id)
            client.expect(409, "PUT", f"{path}/{id}/outcome", dict.fromkeys(answer["observe"], 0.5))
            return
        losses = {arm: chance.random() for arm in answer["observe"]}
        client.expect(200, "PUT", f"{path}/{id}/outcome", losses)
        self.outcomes[id] = losses
        if chance.random() < 0.2:
            client.expect(200, "PUT", f"{path}/{id}/outcome", losses)
            client.expect(409, "PUT", f"{path}/{id}/outcome", dict.fromkeys(losses, 0.5))


class Client:
    """One connection, which is made again on the next port when it breaks."""

    def __init__(self, load: Load, number: int) -> None:
        self.load, self.turn = load, number
        self.connection: http.client.HTTPConnection | None = None

    def close(self) -> None:
        """Hang up."""
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def expect(self, status: int, method: str, path: str, body: object = None) -> Any:
        """The answer to a request, repeated until there is one; raise unless it has this status."""
        begin = time.monotonic()
        while time.monotonic() < begin + PATIENCE:
            try:
                found, answer = self._once(method, path, body)
            except (OSError, http.client.HTTPException):
                found, answer = 503, None
                self.close()
            if found == status or (status == 200 and found == 201) or (status == 201 and found == 200):
                return answer
            if found != 503:
                raise AssertionError(f"{method} {path} was answered with {found}: {answer}; expected {status}")
            self.load.repeated += 1
            self.close()  # perhaps the other process is well
            time.sleep(0.01)
        raise AssertionError(f"{method} {path} had no answer in {PATIENCE} s")

    def _once(self, method: str, path: str, body: object) -> tuple[int, Any]:
        if self.connection is None:
            self.turn += 1
            port = self.load.ports[self.turn % len(self.load.ports)]
            self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        data = None if body is None else json.dumps(body)
        self.connection.request(method, path, data, {"Content-Type": "application/json"})
        response = self.connection.getresponse()
        return response.status, json.loads(response.read() or b"null")
