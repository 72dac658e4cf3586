"""What the engine is asked: calls, their limits, and their errors in the words of the interface."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from allworlds.foundation.errors import AllWorldsError, InvalidState
from allworlds.service.journal import ServiceError, Unavailable


class Call:
    """One request, and after its batch the answer or the error."""

    __slots__ = ("answer", "arguments", "deliver", "error", "future", "name", "verb")

    def __init__(self, verb: str, name: str = "", arguments: dict[str, Any] | None = None) -> None:
        self.verb, self.name, self.arguments = verb, name, arguments or {}
        self.deliver: Callable[[list[Call]], object] | None = None
        self.answer: Any = None
        self.error: ServiceError | Unavailable | None = None
        self.future: Any = None


@dataclass(frozen=True, slots=True)
class Limits:
    """Settings of an engine."""

    max_open: int = 100_000
    """Open decisions of one learner; further ones are refused (429)."""
    max_segments: int = 10_000
    """Segments of one learner, each of which is a state in memory; decisions in further ones are refused (422)."""
    probabilities_up_to: int = 256
    """Up to so many arms a decision stores the probabilities of all of them."""
    snapshot_every: int = 1000
    """Events between two snapshots, at least."""


def as_service_error(error: AllWorldsError) -> ServiceError | Unavailable:
    """The error as the interface says it; :class:`Unavailable` ends the whole batch."""
    if isinstance(error, Unavailable):
        raise error
    if isinstance(error, InvalidState):
        return ServiceError(500, str(error))
    return error if isinstance(error, ServiceError) else ServiceError(422, str(error))


def error_item(error: ServiceError) -> dict[str, Any]:
    """An error as an item of a batch of decisions."""
    return {"error": str(error), "status": error.status}
