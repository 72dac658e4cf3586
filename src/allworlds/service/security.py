"""What is refused before anything else looks at a request, and how much of everything there may be.

A browser is the danger on a loopback address: any page can send requests to 127.0.0.1. A page of another site is
refused by its ``Origin`` (and ``Sec-Fetch-Site``); one that has its own name point to 127.0.0.1 (DNS rebinding) by the
``Host``. A form cannot send ``application/json``. These checks are always on, with and without keys.
"""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from allworlds.service.messages import CONTROL, MOST_CHARACTERS, NAME

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
JSON = b"application/json"


class Refused(Exception):
    """A request that is not served: status, sentence, and headers that go with it."""

    def __init__(self, status: int, sentence: str, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.headers = status, sentence, tuple(headers)
        self.what = ""
        """The method and path, for the log."""


def retry_after(seconds: int = 1) -> tuple[tuple[bytes, bytes]]:
    """The header that tells a client when to try again."""
    return ((b"retry-after", str(seconds).encode()),)


@dataclass(frozen=True)
class Limits:
    """How much of everything there may be at once; beyond it 408, 413 or 429."""

    body_bytes: int = 1 << 20
    learner_bytes: int = 16 << 20
    """Of a body that creates a learner: it has the whole graph."""
    body_seconds: float = 10.0
    """Within which a body must have arrived."""
    answer_seconds: float = 30.0
    """Within which the engine must have answered; then it is unknown whether something was written."""
    in_flight: int = 2000
    """Decisions and outcomes that wait for the engine."""
    creations: int = 16
    """Learners that are being created; the cover of a large graph takes a while."""
    downloads: int = 2
    """Exports and evaluations at once: each reads a whole journal."""
    rate: float = 5000.0
    """Requests a second of one key, in the long run; an item of a batch counts as one."""
    burst: float = 10_000.0
    """Requests of one key at once."""
    head_bytes: int = 32 << 10
    """Of the request line and all headers."""
    head_seconds: float = 10.0
    """Within which they must have arrived."""
    connections: int = 2000


def is_loopback(host: str) -> bool:
    """Whether an address to listen on can only be reached from this machine.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def allowed_hosts(host: str, more: Iterable[str] = ()) -> frozenset[str]:
    """The names under which the service may be addressed: loopback, where it listens, and those allowed by hand."""
    own = f"[{host}]" if ":" in host and not host.startswith("[") else host
    return LOOPBACK_NAMES | {name.lower().rstrip(".") for name in (own, *more)} - {"0.0.0.0", "[::]", ""}


def host_name(value: str) -> str:
    """The name in a ``Host`` header, without its port.

    >>> host_name("Example.org:8080"), host_name("[::1]:8080")
    ('example.org', '[::1]')
    """
    name, _, port = value.rpartition(":")
    if not name or not port.isdigit():
        name = value
    return name.lower().rstrip(".")


def check_host(value: bytes | None, hosts: frozenset[str]) -> str:
    """The ``Host`` of a request; raise :class:`Refused` unless there is one and it is allowed."""
    if value is None:
        raise Refused(400, "the request has no Host; expected one")
    host = value.decode("latin-1")
    if host_name(host) not in hosts:
        raise Refused(
            421,
            f"the Host is {shown(host)}; expected one of {', '.join(sorted(hosts))}; "
            "try allworlds serve --allow-host NAME to be reached under another name",
        )
    return host


def check_origin(headers: Mapping[bytes, bytes], host: str) -> None:
    """Raise :class:`Refused` for a request that a page of another site sent."""
    origin = headers.get(b"origin")
    if origin is not None:
        text = origin.decode("latin-1")
        scheme, _, place = text.partition("://")
        if scheme not in ("http", "https") or place.lower() != host.lower():
            raise Refused(403, f"the Origin is {shown(text)}; expected none, or the service's own; pages of other "
                               "sites may not use it")  # fmt: skip
    elif headers.get(b"sec-fetch-site", b"none") not in (b"none", b"same-origin"):
        raise Refused(403, "the request comes from a page of another site, which may not use the service")


def check_json(headers: Mapping[bytes, bytes]) -> None:
    """Raise :class:`Refused` unless the body is declared as plain JSON."""
    given = headers.get(b"content-type", b"")
    if given == JSON and b"content-encoding" not in headers:
        return
    kind, _, parameters = given.partition(b";")
    charset = parameters.strip().lower()
    if kind.strip().lower() != JSON or charset not in (b"", b"charset=utf-8", b'charset="utf-8"'):
        raise Refused(415, f"the Content-Type is {shown(given.decode('latin-1'))}; expected application/json")
    if headers.get(b"content-encoding", b"identity").lower() != b"identity":
        raise Refused(415, "the body is compressed; expected plain JSON")


def check_text(what: str, text: str) -> str:
    """A label, an id or a segment; raise :class:`Refused` if it is too long or has control characters."""
    if not 1 <= len(text) <= MOST_CHARACTERS:
        raise Refused(422, f"{what} has {len(text)} characters; expected 1 to {MOST_CHARACTERS}")
    if CONTROL.search(text):
        raise Refused(422, f"{what} is {shown(text)}; expected no control characters")
    if text in (".", ".."):
        raise Refused(422, f"{what} is {text!r}, which paths cannot hold; expected another")
    return text


def check_name(name: str) -> str:
    """The name of a new learner; raise :class:`Refused` if a path could not hold it as it is."""
    if not NAME.fullmatch(name):
        raise Refused(
            422,
            f"name is {shown(name)}; expected 1 to 100 letters, digits, dots, underscores or hyphens, "
            "beginning with a letter or a digit",
        )
    return name


def shown(text: str) -> str:
    """Text of a stranger for a sentence or a log: short, and with everything unusual escaped.

    >>> shown("a" * 200 + chr(27))[-4:]
    "aa…'"
    """
    return ascii(text if len(text) <= 60 else text[:60] + "…").replace("\\u2026", "…")


class Bucket:
    """A rate limit: tokens drip in at ``rate`` a second up to ``burst``, and each request takes one."""

    def __init__(self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._tokens, self._at = burst, clock()

    def take(self, tokens: float = 1.0) -> float:
        """Take tokens and return 0, or, if there are too few, the seconds until there will be enough."""
        now = self._clock()
        self._tokens = min(self._burst, self._tokens + (now - self._at) * self._rate)
        self._at = now
        if self._tokens >= min(tokens, self._burst):
            self._tokens -= tokens
            return 0.0
        return (min(tokens, self._burst) - self._tokens) / self._rate
