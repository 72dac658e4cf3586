"""What can go wrong between a client and a service, by what to do about it.

Every error has the server's sentence, the HTTP ``status`` (None where there was no answer) and the ``id`` of the
decision, if the request was about one. An id never counts twice, so any request may be repeated with the same id.
"""

from __future__ import annotations

from allworlds.foundation.errors import AllWorldsError


class RequestFailed(AllWorldsError):
    """A request that was not fulfilled; the base of what a client raises."""

    def __init__(self, sentence: str, status: int | None = None, id: str | None = None) -> None:
        super().__init__(sentence)
        self.status, self.id = status, id


class Unreachable(RequestFailed):
    """No answer, or 503: it is unknown whether anything happened. Repeat it with the same id."""


class TooManyRequests(RequestFailed):
    """429: a limit of the service was met, such as that of open decisions. Nothing has changed; try later."""


class NotAllowed(RequestFailed):
    """401 or 403: the key is missing, unknown or revoked, or its scopes do not cover the request."""


class NotFound(RequestFailed, LookupError):
    """404: there is no such learner or decision."""


class Conflict(RequestFailed):
    """409: the decision has another outcome already, or the name belongs to another learner."""


class Gone(RequestFailed):
    """410: the decision has expired, or the learner is archived."""


class InvalidRequest(RequestFailed, ValueError):
    """400, 413, 415, 421 or 422: the service cannot take what was sent; its sentence says why. Nothing has changed."""


class PartlyFailed(RequestFailed):
    """A batch of which some decisions were not made; ``answers`` has a decision or an error for each, in order."""

    def __init__(self, sentence: str, answers: list[object]) -> None:
        super().__init__(sentence)
        self.answers = answers


BY_STATUS: dict[int, type[RequestFailed]] = {
    400: InvalidRequest,
    401: NotAllowed,
    403: NotAllowed,
    404: NotFound,
    408: Unreachable,
    409: Conflict,
    410: Gone,
    413: InvalidRequest,
    415: InvalidRequest,
    421: InvalidRequest,
    422: InvalidRequest,
    429: TooManyRequests,
    502: Unreachable,
    503: Unreachable,
    504: Unreachable,
}
REPEATED = frozenset({408, 429, 502, 503, 504})
"""After these the same request is sent again: it had no effect, or that is not known. Proxies answer 502 and 504."""


def failure(status: int, sentence: str, id: str | None = None) -> RequestFailed:
    """The error for a status."""
    return BY_STATUS.get(status, RequestFailed)(sentence, status, id)
