"""``kill -9`` of serving processes under load, and crashes of PostgreSQL: nothing acknowledged is lost or done twice.

Four clients decide and report, and repeat what has no answer. Meanwhile a process is killed as soon as it has done some
work, and started again. At the end the journal holds exactly what the clients were told, and the state is its fold.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from allworlds.service.journal import OBSERVED, OPEN, VOIDED
from allworlds.service.maintenance import open_existing
from allworlds.service.verify import verify
from nursery import Commands, Nursery, free_port
from postgres_server import PostgresServer
from retrying_load import NAME, Client, Load

pytest.importorskip("httptools", reason="needs the service; try pip install 'allworlds[service]'")

BETWEEN = 12
"""Requests that are acknowledged between two kills."""


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    """Serving processes, which start at once."""
    it = Nursery()
    yield it
    it.close()


@pytest.fixture
def ports(nursery: Nursery) -> Iterator[list[int]]:
    """Two ports for this test; what serves them is killed at the end."""
    two = [free_port(), free_port()]
    yield two
    for port in set(two) & set(nursery.running):
        nursery.end(port)


def kill_again_and_again(nursery: Nursery | Commands, url: str, ports: list[int], load: Load, kills: int) -> None:
    """Kill the process on the last port; those on the others go on."""
    chance = random.Random(0)
    for port in ports:
        nursery.start(port, url)
    with load.running():
        for _ in range(kills):
            load.wait_for(BETWEEN + chance.randrange(BETWEEN))
            nursery.end(ports[-1])
            nursery.start(ports[-1], url)
        load.wait_for(BETWEEN)


def check_answers(load: Load, port: int) -> dict[str, Any]:
    """What the process on a port says now, against what the clients were told; returns the learner's state."""
    client = Client(Load([port]), 0)
    with contextlib.closing(client):
        for id, told in load.decisions.items():
            answer = client.expect(200, "GET", f"/v1/learners/{NAME}/decisions/{id}")
            status = OBSERVED if id in load.outcomes else VOIDED if id in load.voids else OPEN
            assert answer["status"] == status
            assert {name: answer[name] for name in told} == told
        state: dict[str, Any] = client.expect(200, "GET", f"/v1/learners/{NAME}")
        return state


def check_journal(load: Load, url: str) -> None:
    """The journal holds what the clients were told and nothing else, and the saved state is its fold."""
    with contextlib.closing(open_existing(url)) as journal:
        (verdict,) = verify(journal)
        assert verdict.problems == ()
        rows = {row.id: (row, event) for row, event in journal.stream(NAME)}
        saved = journal.snapshot(NAME)
        assert saved is not None
        assert saved[0] == journal.position(NAME).seq  # verify has compared it with the fold
        assert verdict.events == len(load.outcomes) + len(load.voids)
    assert rows.keys() == load.decisions.keys()
    for id, losses in load.outcomes.items():
        row, event = rows[id]
        assert event is not None
        assert event.kind == "outcome"
        assert np.frombuffer(event.losses or b"").tolist() == [losses[arm] for arm in load.decisions[id]["observe"]]
        assert row.arm == load.decisions[id]["arm"]
    for id in load.voids:
        assert rows[id][0].status == VOIDED


def check_all(nursery: Nursery | Commands, load: Load, url: str) -> None:
    """Each process knows all that the clients were told, and what it has in memory is the fold of the journal."""
    assert load.problems == []
    states = [check_answers(load, port) for port in load.ports]
    for state in states:
        assert state["round"] == states[0]["round"]
        assert state["distribution"] == pytest.approx(states[0]["distribution"], abs=1e-9)  # a solver's last digits
    for port in load.ports:
        load.one_more(port)
        nursery.end(port, "SIGTERM")  # saves the state it has in memory
        check_journal(load, url)


def survive(nursery: Nursery | Commands, url: str, ports: list[int], kills: int) -> None:
    load = Load(ports)
    kill_again_and_again(nursery, url, ports, load, kills)
    assert load.repeated > 0
    check_all(nursery, load, url)


def test_a_process_on_sqlite_that_is_killed_ten_times_loses_nothing(
    nursery: Nursery, ports: list[int], tmp_path: Path
) -> None:
    survive(nursery, f"sqlite:///{tmp_path}/service.db", ports[:1], 10)


@pytest.mark.slow
def test_a_process_on_sqlite_that_is_killed_two_hundred_times_loses_nothing(
    nursery: Nursery, ports: list[int], tmp_path: Path
) -> None:
    survive(nursery, f"sqlite:///{tmp_path}/service.db", ports[:1], 200)


@pytest.mark.slow
def test_the_command_serve_survives_kills_as_well(ports: list[int], tmp_path: Path) -> None:
    commands = Commands()
    try:
        survive(commands, f"sqlite:///{tmp_path}/service.db", ports[:1], 3)
    finally:
        for port in list(commands.running):
            commands.end(port)


def test_two_processes_on_postgresql_share_a_learner_while_one_is_killed(
    nursery: Nursery, ports: list[int], postgres: PostgresServer
) -> None:
    survive(nursery, postgres.new_database(), ports, 5)


@pytest.mark.slow
def test_two_processes_on_postgresql_share_a_learner_while_one_is_killed_a_hundred_times(
    nursery: Nursery, ports: list[int], postgres: PostgresServer
) -> None:
    survive(nursery, postgres.new_database(), ports, 100)


def crash(nursery: Nursery, ports: list[int], postgres: PostgresServer, crashes: int) -> None:
    url, load = postgres.new_database(), Load(ports)
    for port in ports:
        nursery.start(port, url)
    with load.running():
        for _ in range(crashes):
            load.wait_for(BETWEEN)
            postgres.stop("immediate")
            postgres.start()
        load.wait_for(BETWEEN)
    check_all(nursery, load, url)


def test_two_processes_survive_crashes_of_postgresql_without_hands(
    nursery: Nursery, ports: list[int], postgres: PostgresServer
) -> None:
    crash(nursery, ports, postgres, 2)


@pytest.mark.slow
def test_two_processes_survive_twenty_crashes_of_postgresql_without_hands(
    nursery: Nursery, ports: list[int], postgres: PostgresServer
) -> None:
    crash(nursery, ports, postgres, 20)
