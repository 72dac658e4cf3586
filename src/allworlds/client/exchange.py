"""One request, tried until there is an answer: which attempts follow which, without a connection.

:func:`exchange` is a generator. It yields None where the request is to be sent and takes the :class:`Reply`, or a
sentence where there was none; it yields a number of seconds where it wants to wait. So the synchronous and the
asynchronous client share every decision, and differ only in how they send and sleep.

Repeating is safe: a decision has the id that the client made, an outcome is a PUT, and whatever the service has done
already it answers again.
"""

from __future__ import annotations

import json
import math
import random
import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from allworlds.client.errors import REPEATED, RequestFailed, Unreachable, failure
from allworlds.client.requests import Again, Request
from allworlds.foundation.errors import InvalidParameter, counted

T = TypeVar("T")
LONGEST_PAUSE = 2.0
"""Seconds between two attempts, unless the service asks for more."""
LONGEST_WISH = 30.0
"""Seconds that a Retry-After of the service may ask for."""


class Reply(NamedTuple):
    """What came back."""

    status: int
    content: bytes
    headers: Mapping[str, str]


@dataclass(frozen=True)
class Settings:
    """Where the service is and how patient the client is."""

    server: str
    key: str | None = field(repr=False)
    timeout: float
    """Seconds that the service may be silent before an attempt has failed."""
    retry_for: float
    """Seconds after the first attempt in which further ones are made."""
    first_pause: float = 0.05
    """Seconds before the second attempt, about; the pause doubles from then on."""

    def __post_init__(self) -> None:
        address = urlsplit(self.server)
        if address.scheme not in ("http", "https") or not address.hostname or address.query or address.fragment:
            raise InvalidParameter(f"server is {self.server!r}; expected an address such as http://127.0.0.1:8080")
        if self.key is not None and not (self.key.isascii() and self.key.isprintable() and " " not in self.key):
            raise InvalidParameter("the key has characters that no key has; expected id.secret, in one piece")
        if not 0.0 < self.timeout < math.inf:
            raise InvalidParameter(f"timeout is {self.timeout!r}; expected a finite number of seconds above 0")
        if not 0.0 <= self.retry_for < math.inf:
            raise InvalidParameter(f"retry_for is {self.retry_for!r}; expected a finite number of seconds, 0 for none")

    @property
    def headers(self) -> dict[str, str]:
        """What every request carries."""
        known = {"Content-Type": "application/json", "Accept": "application/json, */*"}
        return known if self.key is None else known | {"Authorization": f"Bearer {self.key}"}


def exchange(request: Request[T], settings: Settings) -> Generator[float | None, Any, T]:
    """Send a request, again where that may help, and return what the answer says; raise what it complains about."""
    started, pause, attempts = time.monotonic(), settings.first_pause, 0
    while True:
        attempts += 1
        reply = yield None
        problem = _problem(request, reply, settings.server)
        if problem is None:
            try:
                return _read(request, reply, settings.server)
            except Again as again:
                problem = failure(again.status, str(again), request.id)
        if problem.status is not None and problem.status not in REPEATED:
            raise problem
        wait = _asked_for(reply) or pause * random.uniform(0.5, 1.0)  # clients that failed together part here
        spent = time.monotonic() - started
        if spent + wait > settings.retry_for:
            if attempts > 1:
                problem.args = (f"{problem} (after {counted(attempts, 'attempt')} in {spent:.1f} s)",)
            raise problem
        yield wait
        pause = min(2.0 * pause, LONGEST_PAUSE)


def _problem(request: Request[Any], reply: Reply | str, server: str) -> RequestFailed | None:
    """What is wrong with a reply, or None."""
    if isinstance(reply, str):
        return Unreachable(
            f"no answer from {server} ({reply}); expected a running service, such as allworlds serve; a request may be "
            "repeated with the same id",
            None,
            request.id,
        )
    if 200 <= reply.status < 300:
        return None
    try:
        sentence = str(json.loads(reply.content)["error"])
    except (ValueError, KeyError, TypeError):
        sentence = f"{server} answered {reply.status} without a sentence; expected an allworlds service"
    return failure(reply.status, sentence, request.id)


def _read(request: Request[T], reply: Reply, server: str) -> T:
    """What an answer says; it may be empty where nothing is expected."""
    try:
        return request.read(json.loads(reply.content) if reply.content else None)
    except RequestFailed:
        raise  # of one decision in a batch
    except (ValueError, KeyError, TypeError, AttributeError):
        what = reply.content.decode(errors="replace")
        sentence = f"{server} answered {reply.status} with {what!r:.60}; expected an allworlds service"
        raise RequestFailed(sentence, reply.status, request.id) from None


def _asked_for(reply: Reply | str) -> float | None:
    """The seconds of Retry-After, if the service gave any."""
    try:
        seconds = float(reply.headers["retry-after"])  # type: ignore[union-attr]
    except (AttributeError, KeyError, ValueError):
        return None
    return min(seconds, LONGEST_WISH) if seconds > 0.0 else None
