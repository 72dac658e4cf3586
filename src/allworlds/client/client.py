"""``Client``: the agent's two verbs, spoken to a service.

Requests are built in :mod:`allworlds.client.requests` and repeated as :mod:`allworlds.client.exchange` says; here is
only the connection. A client may be shared by threads and keeps its connections open.
"""

from __future__ import annotations

import os
import time
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


class Client(Connection):
    """A service's client: ``choose`` and ``observe``, and what else a service does.

    Parameters
    ----------
    server:
        The address; by default that in the variable ``ALLWORLDS_SERVER``, or ``http://127.0.0.1:8080``.
    key:
        ``id.secret`` as ``allworlds keys`` made it; by default that in ``ALLWORLDS_KEY``, or none.
    timeout:
        Seconds that the service may be silent before an attempt has failed.
    retry_for:
        Seconds in which attempts are repeated where there was no answer, or 429 or 503; 0 for one attempt. Repeating is
        safe: a decision has one id, made before the first attempt.
    http:
        An ``httpx.Client`` of your own, for proxies or certificates; it is not closed by this one.

    Examples
    --------
    >>> client = Client("http://127.0.0.1:8080")  # nothing is sent before the first verb
    >>> client
    Client('http://127.0.0.1:8080')
    >>> client.close()
    """

    def __init__(
        self,
        server: str | None = None,
        *,
        key: str | None = None,
        timeout: float = 10.0,
        retry_for: float = 30.0,
        http: httpx.Client | None = None,
    ) -> None:
        super().__init__(server, key, timeout, retry_for)
        self._owned = http is None
        self._http: httpx.Client = self._httpx.Client(**self._options()) if http is None else http

    def choose(
        self,
        learner: str,
        *,
        id: str | None = None,
        available: Iterable[str] | None = None,
        segment: str | None = None,
    ) -> Decision:
        """Choose an arm, among ``available`` if given; the same ``id`` always gives the same decision.

        A ``segment``, such as a country, learns on its own. Without an id, one is made.
        """
        return self._run(requests.choose(learner, id, available, segment))

    def choose_many(self, learner: str, decisions: Wanted) -> list[Decision]:
        """Make many decisions in one request: so many, or one for each id, or for each mapping of options."""
        return self._run(requests.choose_many(learner, decisions))

    def observe(self, decision: Decision | str, losses: Losses, *, learner: str | None = None) -> None:
        """Report the outcome of a decision, or of its id and its learner's name: a loss for each arm of ``observes``.

        The same outcome may be reported again; another one raises ``Conflict``.
        """
        return self._run(requests.observe(decision, losses, learner))

    def void(self, decision: Decision | str, *, learner: str | None = None) -> None:
        """Withdraw a decision that nobody saw."""
        return self._run(requests.void(decision, learner))

    def decision(self, learner: str, id: str) -> Body:
        """What the service knows of a decision, such as its ``status``."""
        return self._run(requests.decision(learner, id))

    def create(self, name: str, **settings: Unpack[LearnerSettings]) -> Body:
        """Create a learner; the same settings again are fine, others under the same name raise ``Conflict``.

        The settings are those of :class:`~allworlds.client.requests.LearnerSettings`: ``arms``, ``graph``, ``cover``,
        ``learner``, ``constants``, ``horizon``, ``reward``, ``low``, ``high``, ``minimum_share``, ``deadline`` and
        ``on_timeout``. ``graph`` is ``{"cliques": [...]}``, ``{"edges": [...]}``, ``{"family": "..."}`` or a
        ``FeedbackGraph``; ``deadline`` is in seconds, and ``on_timeout``, which needs a deadline, is ``"void"`` or
        ``{"default": loss}``.
        """
        return self._run(requests.create(name, **settings))

    def learners(self) -> list[Body]:
        """All learners of the service."""
        return self._run(requests.learners())

    def learner(self, name: str) -> Body:
        """One learner: its arms, cover and where it stands."""
        return self._run(requests.learner(name))

    def archive(self, name: str) -> Body:
        """Make no new decisions; open ones may still be observed, and the journal is kept."""
        return self._run(requests.archive(name))

    def add_arm(self, learner: str, arm: str, neighbours: Iterable[str] = ()) -> Body:
        """Add an arm, which sees its neighbours and is seen by them."""
        return self._run(requests.add_arm(learner, arm, neighbours))

    def retire_arm(self, learner: str, arm: str) -> Body:
        """Take an arm away; outcomes of its open decisions are still accepted."""
        return self._run(requests.retire_arm(learner, arm))

    def export(self, learner: str, file: str | os.PathLike[str], format: str | None = None) -> Path:
        """Write the log of a learner to a file, whole or not at all; by its suffix ``.jsonl`` or ``.parquet``.

        ``aw.load_log`` and ``aw.evaluate`` read these two; ``format`` may also be obp, vw, dsjson or coba.
        """
        request = requests.export(learner, os.fspath(file), format)
        with Sink(Path(file)) as sink:
            self._run(request, sink)
        return Path(file)

    def evaluate(
        self,
        learner: str,
        policy: str | Mapping[str, float] = "each",
        *,
        level: float = 0.95,
        missing: str = "drop",
    ) -> Body:
        """What each arm, or another policy, would have cost, with intervals, by the service's journal.

        ``policy`` is ``"each"``, an arm, or a mapping from arms to probabilities.
        """
        return self._run(requests.evaluate(learner, policy, level, missing))

    def wait_until_ready(self) -> None:
        """Return once the service can decide; raise ``Unreachable`` if that is not within ``retry_for`` seconds."""
        self._run(requests.ready())

    def close(self) -> None:
        """Close the connections."""
        if self._owned:
            self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _run(self, request: Request[T], sink: Sink | None = None) -> T:
        talk = exchange(request, self._settings)
        next(talk)
        while True:
            try:
                wait = talk.send(self._send(request, sink))
                while wait is not None:
                    time.sleep(wait)
                    wait = next(talk)
            except StopIteration as end:
                answer: T = end.value
                return answer

    def _send(self, request: Request[Any], sink: Sink | None) -> Reply | str:
        try:
            with self._http.stream(**self._arguments(request)) as response:
                if sink is not None and response.status_code == 200:
                    sink.restart()
                    for chunk in response.iter_bytes():
                        sink.write(chunk)
                    return Reply(200, b"", response.headers)
                return Reply(response.status_code, response.read(), response.headers)
        except self._httpx.RequestError as error:
            return self._sentence(error)
