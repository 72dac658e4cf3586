"""What the synchronous and the asynchronous client share: where the service is, and what is sent."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from allworlds.client.exchange import Settings
from allworlds.client.requests import Request
from allworlds.foundation.errors import import_extra

SERVER = "http://127.0.0.1:8080"
Wanted = int | Iterable[str | Mapping[str, Any]]


class Connection:
    """What both clients hold: settings, and the class of httpx's errors."""

    def __init__(self, server: str | None, key: str | None, timeout: float, retry_for: float) -> None:
        self._httpx = import_extra("httpx", "service", "a client needs")
        server = server or os.environ.get("ALLWORLDS_SERVER") or SERVER
        self._settings = Settings(
            server.rstrip("/"), key or os.environ.get("ALLWORLDS_KEY") or None, timeout, retry_for
        )

    @property
    def server(self) -> str:
        """The address of the service."""
        return self._settings.server

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.server!r})"

    def _options(self) -> dict[str, Any]:
        """No proxies or passwords from the environment: the key goes to the server and nowhere else."""
        return {"timeout": self._settings.timeout, "trust_env": False, "follow_redirects": False}

    def _arguments(self, request: Request[Any]) -> dict[str, Any]:
        address = f"{self.server}{request.path}"
        headers = self._settings.headers
        return {"method": request.method, "url": address, "content": request.content, "headers": headers}

    def _sentence(self, error: Exception) -> str:
        return str(error) or type(error).__name__
