"""The service as users run it: ``allworlds serve`` in a process of its own, on a free port of loopback."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import allworlds as aw

SECONDS = 300.0
"""For a start in which everything is compiled."""


@contextlib.contextmanager
def running_service(folder: Path, *options: str) -> Iterator[str]:
    """The address of a service that can decide, with its database in a folder; it is stopped at the end."""
    command = [sys.executable, "-m", "allworlds", "serve", "--port", "0"]
    if "--database" not in options:
        command += ["--database", f"sqlite:///{folder / 'decisions.db'}"]
    with (
        (folder / "serve.log").open("ab") as log,
        subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line.startswith("serving on "), f"{line}{(folder / 'serve.log').read_text()}"
            address = line.split()[2]
            with aw.Client(address, retry_for=SECONDS) as client:
                client.wait_until_ready()
            yield address
        finally:
            process.terminate()
            process.wait(30.0)


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a service that all tests share."""
    with running_service(tmp_path_factory.mktemp("service")) as address:
        yield address
