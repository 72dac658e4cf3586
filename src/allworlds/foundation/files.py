"""Atomic files, folders that are checked to be writable, and a lock for one run in a folder at a time."""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

from allworlds.foundation.errors import AllWorldsError, InvalidParameter


@contextlib.contextmanager
def disk_errors(attempt: str, advice: str = "", error: type[AllWorldsError] = InvalidParameter) -> Iterator[None]:
    """Raise an error of the disk or of SQLite as ``cannot <attempt>: <reason>; <advice>``."""
    try:
        yield
    except (OSError, sqlite3.Error) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise error("; ".join(filter(None, (f"cannot {attempt}: {reason}", advice)))) from None


def open_folder(out: str | Path, inner: str = "") -> Path:
    """Create the folder ``out`` with ``inner`` inside, and check that files can be written there."""
    folder = Path(out)
    with disk_errors(f"write to '{folder}'", "choose another folder"):
        (folder / inner).mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder / inner) as probe:
            probe.write(b"x")
    return folder


def write_atomic(path: Path, content: bytes) -> None:
    """Replace a file at once: a kill or a power cut leaves the old content or the new, never a part of it.

    Write to a file beside it, sync, rename, sync the folder.
    """
    part = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")  # threads may write the same file
    try:
        with part.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
        _sync_folder(path.parent)
    finally:
        with contextlib.suppress(OSError):
            part.unlink()


@contextlib.contextmanager
def exclusive_lock(folder: Path) -> Iterator[None]:
    """Lock the folder for one run; raise :class:`InvalidParameter` if another run holds it.

    The lock is SQLite's on an empty file: on every platform, the operating system releases it when the process ends.
    """
    lock = sqlite3.connect(folder / ".lock", timeout=0.0, isolation_level=None, check_same_thread=False)
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        lock.close()
        if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
            raise InvalidParameter(f"cannot lock '{folder}': {error}; choose another folder") from None
        raise InvalidParameter(f"another run is at work in '{folder}'; wait for it, or choose another folder") from None
    try:
        yield
    finally:
        lock.close()


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        return  # elsewhere folders cannot be opened, and the journal of the file system makes renames durable
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
