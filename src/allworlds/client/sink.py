"""A file that is written as an answer arrives, and appears under its name only when it is whole."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path
from types import TracebackType

from allworlds.foundation.files import disk_errors


class Sink:
    """Write to a temporary file and rename it at the end; an error leaves nothing behind."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._part = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")

    def __enter__(self) -> Sink:
        with disk_errors(f"write to '{self._path.parent}'", "choose another folder"):
            self._file = self._part.open("wb")
        return self

    def restart(self) -> None:
        """Forget what was written: another attempt begins."""
        self._file.seek(0)
        self._file.truncate()

    def write(self, chunk: bytes) -> None:
        """Add some bytes."""
        with disk_errors(f"write '{self._path}'", "make room or choose another folder"):
            self._file.write(chunk)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            with disk_errors(f"write '{self._path}'", "make room or choose another folder"):
                if kind is None:
                    self._file.flush()
                    os.fsync(self._file.fileno())
                self._file.close()
                if kind is None:
                    self._part.replace(self._path)
        finally:
            with contextlib.suppress(OSError):
                self._part.unlink()
