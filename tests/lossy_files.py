"""A file system for SQLite in which only synced bytes survive a power loss.

:class:`LossyFiles` is an APSW virtual file system above the real one. SQLite reads and writes real files; beside them
an image of each file is kept, and a write reaches the image only with the next ``xSync`` of that file. The images are
what a disk holds after the power fails: :meth:`LossyFiles.photograph` copies them at any moment, also in the middle of
a transaction, while the program goes on. So one run is as good as many power losses.

A disk may also have written some of what was not synced, in any order: with ``survivors`` each unsynced write is in the
photograph or not, by a random draw. The file ``-shm`` is a cache that SQLite rebuilds, and is never in the photograph.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw

Change = tuple[int, bytes | None]
"""Bytes written at an offset, or None: cut to that length."""


@dataclass
class Image:
    """A file as it is on the disk, and what has been written since the last sync."""

    durable: bytearray = field(default_factory=bytearray)
    exists: bool = False
    unsynced: list[Change] = field(default_factory=list)

    def sync(self) -> None:
        """All that was written is on the disk."""
        apply(self.durable, self.unsynced)
        self.exists, self.unsynced = True, []


def apply(content: bytearray, changes: list[Change]) -> bytearray:
    """Change ``content`` in place, and return it."""
    for offset, data in changes:
        if data is None:
            del content[offset:]
            continue
        content.extend(bytes(max(0, offset + len(data) - len(content))))
        content[offset : offset + len(data)] = data
    return content


class LossyFiles(apsw.VFS):
    """A virtual file system named ``name``; ``on_change`` is called after each write, sync, cut and deletion.

    While ``full`` is set there is no space left, and nothing can be written.
    """

    def __init__(self, name: str, on_change: Callable[[], None] = lambda: None) -> None:
        self.name, self.on_change = name, on_change
        self.images: dict[str, Image] = {}
        self.full = False
        self.lock = threading.RLock()
        super().__init__(name, "")

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:
        return LossyFile(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        super().xDelete(filename, syncdir)
        with self.lock:
            if syncdir:
                self.images.pop(Path(filename).name, None)
        self.on_change()  # without a sync of the directory the old file may come back

    def photograph(self, survivors: random.Random | None = None) -> dict[str, bytes]:
        """The files as a disk holds them if the power fails now."""
        with self.lock:
            photo = {}
            for name, image in self.images.items():
                kept = [] if survivors is None else [c for c in image.unsynced if survivors.random() < 0.5]
                if image.exists or kept:
                    photo[name] = bytes(apply(bytearray(image.durable), kept))
            return photo


class LossyFile(apsw.VFSFile):
    """A real file that tells its image of each change."""

    def __init__(self, files: LossyFiles, name: Any, flags: list[int]) -> None:
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        self.files = files
        self.image = Image() if path is None else files.images.setdefault(Path(path).name, Image())
        super().__init__("", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:
        if self.files.full:
            raise apsw.FullError("no space left on device")
        super().xWrite(data, offset)
        self._changed((offset, bytes(data)))

    def xTruncate(self, newsize: int) -> None:
        super().xTruncate(newsize)
        self._changed((newsize, None))

    def xSync(self, flags: int) -> None:
        super().xSync(flags)
        with self.files.lock:
            self.image.sync()
        self.files.on_change()

    def _changed(self, change: Change) -> None:
        with self.files.lock:
            self.image.unsynced.append(change)
        self.files.on_change()


def restore(photo: dict[str, bytes], folder: Path) -> None:
    """Write the files of a photograph into a directory."""
    folder.mkdir(parents=True)
    for name, content in photo.items():
        (folder / name).write_bytes(content)
