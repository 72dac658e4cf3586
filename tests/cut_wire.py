"""A wire between a PostgreSQL client and its server that can be cut at the worst moment: around COMMIT."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

NAME = ".s.PGSQL.5432"


class Wire:
    """Passes bytes on, until ``cut`` says when to stop: before the server gets COMMIT, or before its answer.

    Each cut hits one connection; the next one goes through.
    """

    def __init__(self, server: Path, folder: Path) -> None:
        self.server = server / NAME
        self.cut: Literal["before", "after"] | None = None
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(folder / NAME))
        self.listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(str(self.server))
                threading.Thread(target=self._forward, args=(client, server), daemon=True).start()
                threading.Thread(target=self._back, args=(client, server), daemon=True).start()

    def _forward(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := client.recv(65536):
                if self.cut == "before" and b"COMMIT" in data:
                    self.cut = None
                    break
                server.sendall(data)
        _hang_up(client, server)

    def _back(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := server.recv(65536):
                if self.cut == "after" and b"COMMIT" in data:  # the tag of a commit that is done
                    self.cut = None
                    break
                client.sendall(data)
        _hang_up(client, server)

    def close(self) -> None:
        """Accept no more clients."""
        self.listener.close()


def _hang_up(*ends: socket.socket) -> None:
    for end in ends:
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()


@contextlib.contextmanager
def wire(server: Path, folder: Path) -> Iterator[Wire]:
    """A wire whose near end is a socket in ``folder``."""
    it = Wire(server, folder)
    try:
        yield it
    finally:
        it.close()
