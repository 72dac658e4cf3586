"""Keys: who may do what.

A key is written ``id.secret``. The secret has 256 random bits and is shown once; the journal keeps its SHA-256, which
is enough for a secret that nobody can guess. A key has scopes and, if wanted, is good for one learner only.

Each process reads all keys again every :data:`REFRESH` seconds, so that a revoked key stops working everywhere within
:data:`STALE`. If they cannot be read for that long, no key is accepted until they can.

Once there is a key, every request needs one, on loopback too; a revoked key counts, so that revoking the last one does
not open the service to everybody.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import secrets
import time
from collections.abc import Callable, Iterable, Sequence

from allworlds.foundation.errors import InvalidParameter
from allworlds.service.journal import Journal, KeyRow
from allworlds.service.security import Bucket, Limits, Refused, retry_after, shown

SCOPES = ("choose", "observe", "read", "admin")
REFRESH = 2.0
STALE = 5.0
_NOBODY = hashlib.sha256(b"").digest()
_ASK = ((b"www-authenticate", b'Bearer realm="allworlds"'),)


def make_key(
    scopes: Iterable[str], learner: str | None = None, label: str = "", now: float | None = None
) -> tuple[KeyRow, str]:
    """A new key as its row and as the text ``id.secret``, which nobody can see again.

    >>> row, text = make_key(["choose", "observe"])
    >>> row.scopes, row.hash == secret_hash(text.partition(".")[2])
    ('choose observe', True)
    """
    wanted = list(scopes)
    if not wanted or not set(wanted) <= set(SCOPES):
        raise InvalidParameter(f"scopes are {wanted}; expected some of {', '.join(SCOPES)}")
    identity, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    ordered = " ".join(scope for scope in SCOPES if scope in wanted)
    created = time.time() if now is None else now
    return KeyRow(identity, secret_hash(secret), ordered, learner, label, created), f"{identity}.{secret}"


def secret_hash(secret: str) -> bytes:
    """What the journal keeps of a secret."""
    return hashlib.sha256(secret.encode()).digest()


def rotate_key(journal: Journal, id: str, *, keep: bool = False) -> tuple[KeyRow, str]:
    """A new key that may do what ``id`` may; the old one is revoked at the same moment, unless ``keep``."""
    old = next((row for row in journal.keys() if row.id == id and row.revoked_at is None), None)  # noqa: SIM118
    if old is None:
        raise _unknown(id)
    row, text = make_key(old.scopes.split(), old.learner, old.label, journal.now())
    with journal.transaction():
        journal.add_key(row)
        if not keep:
            journal.revoke_key(id, row.created_at)
    return row, text


def revoke_key(journal: Journal, id: str) -> None:
    """Make a key useless, for ever."""
    with journal.transaction():
        if not journal.revoke_key(id, journal.now()):
            raise _unknown(id)


def _unknown(id: str) -> InvalidParameter:
    return InvalidParameter(f"the key is {shown(id)}; expected the id of one that is good; try allworlds keys list")


class KeyRing:
    """All keys as they were last read, and a rate limit for each."""

    def __init__(self, limits: Limits, *, required: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits, self._clock = limits, clock
        self._required = required
        self._rows: dict[str, KeyRow] = {}
        self._buckets: dict[str, Bucket] = {}
        self._read_at = -math.inf

    def replace(self, rows: Sequence[KeyRow]) -> None:
        """Take over what the journal says now."""
        self._rows = {row.id: row for row in rows}
        self._buckets = {id: bucket for id, bucket in self._buckets.items() if id in self._rows}
        self._read_at = self._clock()

    @property
    def required(self) -> bool:
        """Whether a request needs a key."""
        return self._required or bool(self._rows)

    def admit(self, authorization: bytes | None, scope: str, learner: str | None) -> KeyRow | None:
        """The key of a request, or None where none is needed; raise :class:`Refused` if it may not do this."""
        if self._clock() - self._read_at > STALE:
            raise Refused(503, "the keys cannot be read from the database just now; try again", retry_after())
        if not self.required:
            return None
        key = self._find(authorization)
        if scope not in key.scopes.split():
            raise Refused(403, f"key {key.id} has the scopes {key.scopes}; expected {scope}")
        if key.learner is not None and learner is not None and key.learner != learner:
            raise Refused(403, f"key {key.id} is for the learner {shown(key.learner)} alone")
        self.charge(key, 1)
        return key

    def charge(self, key: KeyRow | None, requests: int) -> None:
        """Count requests against the rate limit of a key; raise :class:`Refused` if there are too many."""
        if key is None:
            return
        bucket = self._buckets.get(key.id)
        if bucket is None:
            bucket = self._buckets[key.id] = Bucket(self._limits.rate, self._limits.burst, self._clock)
        wait = bucket.take(requests)
        if wait > 0.0:
            raise Refused(
                429,
                f"key {key.id} sent more than {self._limits.rate:g} requests a second; try again later",
                retry_after(math.ceil(wait)),
            )

    def _find(self, authorization: bytes | None) -> KeyRow:
        """The key that the header proves to have; both comparisons take the same time whatever is wrong."""
        if authorization is None:
            raise Refused(401, "the request has no key; expected the header Authorization: Bearer id.secret", _ASK)
        kind, _, text = authorization.decode("latin-1").partition(" ")
        identity, _, secret = text.strip().partition(".")
        row = self._rows.get(identity)
        good = hmac.compare_digest(secret_hash(secret), _NOBODY if row is None else row.hash)
        if kind.lower() != "bearer" or row is None or row.revoked_at is not None or not good:
            raise Refused(401, "the key is not known, or it was revoked; try allworlds keys list", _ASK)
        return row
