"""What the tests of the service share."""

from __future__ import annotations

from postgres_server import postgres

__all__ = ["postgres"]
