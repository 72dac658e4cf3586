"""A process that serves: it binds first, compiles in the background, and stops without losing anything.

``/healthz`` answers as soon as the socket is bound; the engine is loaded by a thread meanwhile, because kernels are
compiled on the first start on a machine, which takes about a minute. Until then ``/readyz`` and ``/v1`` answer 503.

On SIGTERM and Ctrl-C no new connections are accepted, requests in flight are answered, then the engine writes what
waits and the journal is closed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from allworlds.foundation.errors import AllWorldsError, InvalidParameter
from allworlds.service.app import LOG, App
from allworlds.service.journal import KEYS, Journal
from allworlds.service.keys import REFRESH, KeyRing
from allworlds.service.memory import MemoryJournal
from allworlds.service.protocol import Connection
from allworlds.service.schema import open_journal
from allworlds.service.security import Limits, allowed_hosts, is_loopback

PATIENCE = 3.0
"""Seconds after which it says that it compiles."""
GRACE = 10
"""Seconds for requests in flight when it stops."""
BACKLOG = 2048
"""Connections that wait until they are taken."""
EXAMPLE = {"name": "warm-up", "arms": ["a", "b", "c"], "graph": {"cliques": [["a", "b"], ["c"]]}}
LEARNERS = ("tsallis-shannon", "exp3", "exp3-ix")
"""Those whose kernels are compiled before the service is ready."""


@dataclass(frozen=True)
class Settings:
    """Where to serve, and what."""

    database: str = "sqlite:///allworlds.db"
    host: str = "127.0.0.1"
    port: int = 8080
    allow_hosts: tuple[str, ...] = ()
    create: tuple[Path, ...] = ()
    """Files with bodies of learners, which are created at the start unless they are there."""
    log_requests: bool = False
    limits: Limits = field(default_factory=Limits)
    probabilities_up_to: int = 256
    """Up to so many arms a decision stores the probabilities of all of them."""


class Service:
    """One serving process."""

    def __init__(self, settings: Settings, journal: Journal | None = None) -> None:
        self.settings = settings
        self._failure: Exception | None = None
        self._bodies = [_read_body(path) for path in settings.create]
        self.journal = open_journal(settings.database) if journal is None else journal
        try:
            open_to_others = not is_loopback(settings.host)
            keys = KeyRing(settings.limits, required=open_to_others)
            rows = self.journal.keys()
            if open_to_others and all(row.revoked_at is not None for row in rows):
                raise InvalidParameter(
                    f"host is {settings.host!r}, which other machines can reach, and there is no key; expected at "
                    "least one; try allworlds keys make, or the host 127.0.0.1"
                )
            keys.replace(rows)
            self._socket = _bind(settings.host, settings.port)
        except BaseException:
            self.journal.close()
            raise
        hosts = allowed_hosts(settings.host, settings.allow_hosts)
        self.app = App(hosts, keys, settings.limits, log_all=settings.log_requests)
        self.needs_key = keys.required
        self._engine: Any = None
        self._stopping = threading.Event()
        self._stop: Callable[[], object] | None = None

    @property
    def url(self) -> str:
        """Where it listens."""
        host, port = self._socket.getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    def run(self) -> None:
        """Serve until a signal comes; raise what stopped it otherwise."""
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(self._run())
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """Stop as a signal would, from any thread."""
        self._stopping.set()
        with contextlib.suppress(RuntimeError):  # it has stopped
            if self._stop is not None:
                self._stop()

    async def _run(self) -> None:
        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        self._stop = partial(loop.call_soon_threadsafe, stop.set)
        if self._stopping.is_set():
            stop.set()
        starter = threading.Thread(target=self._start_engine, name="starter", daemon=True)
        starter.start()
        reader = asyncio.create_task(self._read_keys())
        try:
            with _signals(stop.set):
                await self._accept(stop)
        finally:
            self._stopping.set()
            reader.cancel()
            if self._engine is not None:
                await asyncio.to_thread(self._engine.stop)
            if self._engine is not None or not starter.is_alive():
                self.journal.close()
            LOG.info("stopped")

    async def _accept(self, stop: asyncio.Event) -> None:
        """Take connections until it is told to stop; then answer what is in flight, and close them."""
        open_now: set[Connection] = set()
        loop = asyncio.get_running_loop()
        server = await loop.create_server(partial(Connection, self.app, open_now), sock=self._socket, backlog=BACKLOG)
        await stop.wait()
        server.close()
        for connection in list(open_now):
            connection.shut_down()
        patience = loop.time() + GRACE
        while open_now and loop.time() < patience:
            await asyncio.sleep(0.02)
        for connection in list(open_now):
            connection.transport.abort()

    def _start_engine(self) -> None:
        """Load, compile, replay; then the application may decide."""
        begin = time.monotonic()
        patience = threading.Timer(PATIENCE, self._say_compiling)
        patience.daemon = True
        patience.start()
        try:
            self.app.state = "compiling"
            from allworlds.service.engine import Engine

            warm_up(LEARNERS)
            if self._stopping.is_set():
                return
            self.app.state = "reading the journal"
            engine = self._engine = Engine(self.journal, probabilities_up_to=self.settings.probabilities_up_to)
            engine.start()
            engine.ready.wait()
            for body in self._bodies:
                engine.create(body).result()
            self.app.keys.replace(engine.keys().result())
            self.app.engine = engine
            LOG.info("ready after %.1f s", time.monotonic() - begin)
        except AllWorldsError as error:
            self._failure = error
            self.stop()
        except Exception as error:
            LOG.exception("the engine did not start")
            self._failure = error
            self.stop()
        finally:
            patience.cancel()

    def _say_compiling(self) -> None:
        LOG.info("%s; the first start on a machine takes about a minute", self.app.state)

    async def _read_keys(self) -> None:
        """Read the keys again and again, and at a hint, so that a revoked one stops working."""
        loop, told = asyncio.get_running_loop(), asyncio.Event()

        def hint(what: str) -> None:
            if what == KEYS:
                with contextlib.suppress(RuntimeError):  # the loop has ended
                    loop.call_soon_threadsafe(told.set)
            elif self._engine is not None:
                self._engine.hint(what)

        self.journal.listen(hint)
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(told.wait(), REFRESH)
            told.clear()
            if self.app.engine is not None:
                try:
                    rows = await asyncio.wrap_future(self.app.engine.keys())
                    self.app.keys.replace(rows)
                except Exception as error:  # whatever it is, the next attempt may succeed; until then no key is good
                    LOG.warning("the keys cannot be read: %s", error)


def warm_up(learners: tuple[str, ...]) -> None:
    """Compile the kernels of a decision and its outcome, or find them on disk."""
    from allworlds.service.engine import Engine

    engine = Engine(MemoryJournal())
    engine.start()
    try:
        for learner in learners:
            name = f"warm-up-{learner}"
            engine.create({**EXAMPLE, "name": name, "learner": learner}).result()
            for _ in range(2):
                decision = engine.choose(name).result()
                engine.observe(name, decision["id"], dict.fromkeys(decision["observe"], 0.5)).result()
    finally:
        engine.stop()


def _read_body(path: Path) -> Any:
    import msgspec

    from allworlds.service.messages import NewLearner, sentence

    try:
        return msgspec.to_builtins(msgspec.json.decode(path.read_bytes(), type=NewLearner))
    except OSError as error:
        raise InvalidParameter(f"{path} cannot be read: {error.strerror}; expected a learner as JSON") from None
    except msgspec.ValidationError as error:
        raise InvalidParameter(f"{path} is not a learner: {sentence(error)}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidParameter(f"{path} is not JSON: {error}") from None


def _bind(host: str, port: int) -> socket.socket:
    """A socket that listens, so that clients queue from now on."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        made = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError, OverflowError) as error:
        raise InvalidParameter(
            f"host is {host!r} and port {port}; expected an address of this machine: {error}"
        ) from None
    try:
        if os.name == "posix":
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(BACKLOG)
    except OSError as error:
        made.close()
        raise InvalidParameter(
            f"cannot listen on {host} port {port}: {error.strerror}; try another --port, or 0 for a free one"
        ) from None
    return made


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:  # there is none for Windows
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


@contextlib.contextmanager
def _signals(stop: Callable[[], object]) -> Iterator[None]:
    """Stop on SIGTERM and Ctrl-C, where signals arrive at all."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    before = {name: signal.getsignal(name) for name in (signal.SIGINT, signal.SIGTERM)}
    for name in before:
        try:
            loop.add_signal_handler(name, stop)
        except NotImplementedError:  # Windows
            signal.signal(name, lambda *_: loop.call_soon_threadsafe(stop))
    try:
        yield
    finally:
        for name, handler in before.items():
            with contextlib.suppress(NotImplementedError):
                loop.remove_signal_handler(name)
            signal.signal(name, handler)
