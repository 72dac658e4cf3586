"""The tests of the client share a real service (``service``), and each has a learner of its own."""

from __future__ import annotations

import itertools

import pytest

import allworlds as aw
from client.faulty_proxy import faulty_proxy

NAMES = (f"learner-{number}" for number in itertools.count())


@pytest.fixture
def client(service, monkeypatch):
    monkeypatch.delenv("ALLWORLDS_SERVER", raising=False)
    monkeypatch.delenv("ALLWORLDS_KEY", raising=False)
    with aw.Client(service, timeout=10.0, retry_for=10.0) as client:
        yield client


@pytest.fixture
def name(client):
    """A learner with the arms a and b, which see each other, and c."""
    name = next(NAMES)
    client.create(name, graph={"cliques": [["a", "b"], ["c"]]})
    return name


@pytest.fixture
def proxy(service):
    """A proxy that fails as it is told, in front of the service."""
    with faulty_proxy(service) as proxy:
        yield proxy
