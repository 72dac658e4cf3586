"""A client of the decision service: choose, observe, with retries that are safe. Needs httpx and nothing heavy."""

from allworlds.client.async_client import AsyncClient
from allworlds.client.client import Client
from allworlds.client.decision import Decision
from allworlds.client.errors import (
    Conflict,
    Gone,
    InvalidRequest,
    NotAllowed,
    NotFound,
    PartlyFailed,
    RequestFailed,
    TooManyRequests,
    Unreachable,
)

__all__ = [
    "AsyncClient",
    "Client",
    "Conflict",
    "Decision",
    "Gone",
    "InvalidRequest",
    "NotAllowed",
    "NotFound",
    "PartlyFailed",
    "RequestFailed",
    "TooManyRequests",
    "Unreachable",
]
