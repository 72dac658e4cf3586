"""Fixtures of the service: a journal of every kind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from allworlds.service.journal import Journal
from allworlds.service.postgres import PostgresJournal
from postgres_server import PostgresServer, postgres
from service_stores import KINDS, Store, add_learner, make_store

__all__ = ["postgres"]


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A journal of every kind."""
    made = make_store(request.param, tmp_path, request)
    yield made
    made.stop()


@pytest.fixture
def journal(store: Store) -> Journal:
    """An open journal of every kind."""
    return store.open()


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    """A new database in PostgreSQL with one learner."""
    url = postgres.new_database()
    journal = PostgresJournal(url)
    add_learner(journal)
    journal.close()
    return url
