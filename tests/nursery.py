"""A process that has compiled everything and forks a serving process whenever it is asked: a restart takes no time.

It is run as a program. Each line on its standard input is a command: ``start PORT URL`` forks a process that serves,
and answers with its number; ``SIGKILL NUMBER`` or ``SIGTERM NUMBER`` ends one and answers when it is gone.
:class:`Nursery` talks to it.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import NoReturn


class Nursery:
    """Starts and kills serving processes."""

    def __init__(self) -> None:
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUNBUFFERED": "1"}
        self.process = subprocess.Popen(
            [sys.executable, Path(__file__)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            env=environment,
        )
        self.lock = threading.Lock()
        self.running: dict[int, int] = {}
        assert self._read() == "ready"

    def _read(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def _ask(self, command: str) -> str:
        assert self.process.stdin is not None
        with self.lock:
            self.process.stdin.write(command + "\n")
            return self._read()

    def start(self, port: int, url: str) -> None:
        """Serve a database on a port; returns before it is ready."""
        self.running[port] = int(self._ask(f"start {port} {url}"))

    def end(self, port: int, how: str = "SIGKILL") -> None:
        """End the process that serves a port, with SIGKILL or SIGTERM."""
        pid = self.running.pop(port)
        assert self._ask(f"{how} {pid}") == f"ended {pid}"

    def close(self) -> None:
        """Kill all, and end."""
        for port in list(self.running):
            self.end(port)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class Commands:
    """The same with the command ``allworlds serve``, as a person starts it."""

    def __init__(self) -> None:
        self.running: dict[int, subprocess.Popen[bytes]] = {}

    def start(self, port: int, url: str) -> None:
        """Serve a database on a port; returns before it is ready."""
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-m", "allworlds", "serve", "--port", str(port), "--database", url]
        self.running[port] = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)

    def end(self, port: int, how: str = "SIGKILL") -> None:
        """End the process that serves a port, with SIGKILL or SIGTERM."""
        process = self.running.pop(port)
        process.send_signal(signal.Signals[how])
        process.wait()


def free_port() -> int:
    """A port that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def serve(port: int, url: str) -> NoReturn:
    """What a forked process does, until it is killed."""
    from allworlds.foundation.errors import AllWorldsError
    from allworlds.service.server import Service, Settings

    try:
        Service(Settings(database=url, port=port)).run()
        os._exit(0)
    except AllWorldsError as error:
        print(error, file=sys.stderr)
    finally:
        os._exit(1)


def main() -> None:
    """Read commands until the end of the input."""
    from allworlds.service.server import LEARNERS, warm_up

    warm_up(LEARNERS)
    print("ready")
    for line in sys.stdin:
        command, *words = line.split(maxsplit=2)
        if command == "start":
            pid = os.fork()
            if pid == 0:
                os.close(0)
                serve(int(words[0]), words[1].strip())
            print(pid)
        else:
            pid = int(words[0])
            os.kill(pid, signal.Signals[command])
            os.waitpid(pid, 0)
            print(f"ended {pid}")


if __name__ == "__main__":
    main()
