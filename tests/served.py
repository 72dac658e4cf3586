"""The service in a thread of the test's process, on a free port of loopback, with a journal in memory."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from allworlds.service.journal import Journal
from allworlds.service.server import Service, Settings


@contextlib.contextmanager
def serving(journal: Journal | None = None, **settings: Any) -> Iterator[Service]:
    """A service that can decide; it is stopped at the end."""
    settings = {"database": "memory:", "port": 0, **settings}
    service = Service(Settings(**settings), journal)
    thread = threading.Thread(target=service.run)
    thread.start()
    try:
        while service.app.engine is None:
            assert thread.is_alive()
            time.sleep(0.01)
        yield service
    finally:
        service.stop()
        thread.join()


@pytest.fixture(scope="module")
def served() -> Iterator[Service]:
    """A service that the tests of a module share."""
    with serving() as service:
        yield service
