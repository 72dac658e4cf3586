"""Who does the work: threads of this process, or the workers of a Dask cluster.

Both take bundles of cells and return their outcomes in any order. Both call the same function, so the numbers do not
depend on who did the work. This is the only file that names Dask.
"""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from allworlds.experiments.cells import Cell, SpecCache
from allworlds.experiments.work import Outcome, code_version, outcome_from_elsewhere, play_cell, sample, warm_up
from allworlds.foundation.errors import InvalidParameter, RunStopped, counted, import_extra
from allworlds.foundation.machine import machine, same_kind

T = TypeVar("T")
OnNotice = Callable[[str], None]
Bundle = tuple[Cell, ...]
LOCAL = "local"
"""The address that stands for a cluster of processes on this machine."""
ADDRESS = re.compile(r"(\w+://)?[^\s/]+:\d+")
"""What a scheduler's address looks like."""
PATIENCE = 30.0
"""Seconds to wait for a cluster to answer."""


@dataclass(frozen=True)
class Returned:
    """A bundle that has come back, with its outcomes, or without any where its worker died."""

    bundle: Bundle
    outcomes: list[Outcome]
    lost: str | None = None
    """Why there are no outcomes."""


class Executor(Protocol):
    """What the driver needs from an executor."""

    name: str
    """What it runs on, such as "2 threads", for messages and for the record of the start."""
    goal: float
    """How many seconds of work a bundle should hold."""

    @property
    def width(self) -> int:
        """How many bundles should be under way."""

    def warm_up(self, cells: Sequence[Cell], on_notice: OnNotice) -> None:
        """Check and compile before the first cell."""

    def submit(self, bundle: Bundle) -> None:
        """Begin a bundle."""

    def collect(self, timeout: float) -> list[Returned]:
        """What has come back; waits up to ``timeout`` seconds for the first bundle."""

    def stop(self) -> int:
        """Start no more work; returns how many bundles will not come back."""

    def close(self) -> None:
        """Drop what is under way and release everything."""


class Threads:
    """Threads of this process: play is compiled and releases the GIL."""

    goal = 0.0  # a cell at a time: handing one over takes microseconds

    def __init__(self, jobs: int | None, cache: SpecCache) -> None:
        self.jobs = jobs or os.cpu_count() or 1
        self.name = counted(self.jobs, "thread")
        self._cache = cache
        self._todo: queue.SimpleQueue[Bundle | None] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[Returned] = queue.SimpleQueue()
        for _ in range(self.jobs):
            threading.Thread(target=self._work, daemon=True).start()

    @property
    def width(self) -> int:
        """Enough that no thread waits for the driver while it writes."""
        return 50 * self.jobs

    def warm_up(self, cells: Sequence[Cell], on_notice: OnNotice) -> None:
        """Compile, one learner after the other: compiling in several threads at once would only wait."""
        warm_up(cells, self._cache, on_notice)

    def submit(self, bundle: Bundle) -> None:
        """Put it in the queue."""
        self._todo.put(bundle)

    def collect(self, timeout: float) -> list[Returned]:
        """Whatever the threads have finished."""
        return _drain(self._done, timeout)

    def stop(self) -> int:
        """Drop what no thread has begun."""
        return len(_drain(self._todo))

    def close(self) -> None:
        """Let each thread end after its cell."""
        self.stop()
        for _ in range(self.jobs):
            self._todo.put(None)

    def _work(self) -> None:
        while (bundle := self._todo.get()) is not None:
            self._done.put(Returned(bundle, [play_cell(cell, self._cache) for cell in bundle]))


class Cluster:
    """Workers of a Dask cluster, reached through its scheduler; ``local`` starts one of processes on this machine.

    Functions travel by value and cells as plain data, so the scheduler need not have allworlds installed.
    """

    goal = 1.5  # so that most bundles hold a second or more

    def __init__(self, address: str, base: Path, jobs: int | None = None) -> None:
        import_extra("distributed", "cluster", "a cluster needs")
        import distributed

        self.address, self._base = address, str(base)
        self._done: queue.SimpleQueue[Returned] = queue.SimpleQueue()
        self._fatal: str | None = None
        self._notice: OnNotice = lambda sentence: None
        self._counted = (-1e9, 1)
        self._own: Any = None
        self._distributed: Any = distributed
        for name in ("batched", "client", "comm", "core"):  # what goes wrong is said in a sentence, not in a log
            logging.getLogger(f"distributed.{name}").setLevel(logging.CRITICAL)
        if address != LOCAL and not ADDRESS.fullmatch(address):
            raise InvalidParameter(f"{address!r} is not a scheduler's address; expected tcp://host:8786, or '{LOCAL}'")
        try:
            if address == LOCAL:
                with _ignoring_interrupts():
                    self._own = self._distributed.LocalCluster(
                        n_workers=jobs or os.cpu_count() or 1,
                        threads_per_worker=1,
                        dashboard_address=None,
                        silence_logs=logging.CRITICAL,
                    )
            self._client: Any = self._distributed.Client(self._own or address, timeout=PATIENCE, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise InvalidParameter(
                f"no scheduler answers at {address!r} ({error}); start one with 'dask scheduler' or use 'local'"
            ) from None
        self.name = f"the cluster at {address}"

    @property
    def width(self) -> int:
        """Two bundles for each thread of the workers that are there now."""
        asked, threads = self._counted
        if time.monotonic() - asked > 2.0:
            before, threads = threads, sum(self._ask(self._client.nthreads).values())
            if before and not threads:
                self._notice(f"{self.name} has no worker left; waiting for one")
            self._counted = time.monotonic(), threads
        return max(2, 2 * threads)

    def warm_up(self, cells: Sequence[Cell], on_notice: OnNotice) -> None:
        """Raise if a worker lacks the package or has another version; compile once on each of the others."""
        self._notice = on_notice
        try:
            self._client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError:
            raise InvalidParameter(
                f"the cluster at {self.address} has no worker; start some with 'dask worker {self.address}'"
            ) from None
        samples = [cell.to_dict() for cell in sample(cells)]
        workers = list(self._ask(self._client.nthreads))
        first = list({worker.rpartition(":")[0]: worker for worker in workers}.values())
        others = [worker for worker in workers if worker not in first]
        answers = self._warm_up(first, samples)  # one on each host fills the compiler's cache, the others find it
        answers |= self._warm_up(others, samples) if others else {}
        for worker, answer in answers.items():
            if isinstance(answer, BaseException):
                raise InvalidParameter(
                    f"worker {worker} cannot run allworlds ({type(answer).__name__}: {answer}); install "
                    f"{code_version()} there, or stop it"
                )
            if answer["code"] != code_version():
                raise InvalidParameter(
                    f"worker {worker} has allworlds {answer['code']}, this is {code_version()}; install the same on all"
                )
            if not same_kind(answer["machine"], machine()):
                on_notice(f"worker {worker} is another kind of machine; the last bits of its numbers may differ")

    def _warm_up(self, workers: list[str], samples: list[dict[str, Any]]) -> dict[str, Any]:
        call, arguments = _by_value("warm_up_elsewhere"), (code_version(), self._base, samples)
        answers: dict[str, Any] = self._ask(self._client.run, call, *arguments, workers=workers, on_error="return")
        return answers

    def submit(self, bundle: Bundle) -> None:
        """Hand it to the scheduler."""
        cells = [cell.to_dict() for cell in bundle]
        future = self._ask(
            self._client.submit, _by_value("play_elsewhere"), code_version(), self._base, cells, pure=False
        )
        future.add_done_callback(lambda ended: self._done.put(self._read(bundle, ended)))

    def collect(self, timeout: float) -> list[Returned]:
        """Whatever workers have sent; a scheduler that is gone stops the run."""
        returned = _drain(self._done, timeout)
        if self._fatal is not None:
            returned = [one for one in returned if one.lost is None]  # no cell caused the other losses
            if not returned:
                raise RunStopped(self._fatal)
        if not returned and self._client.status != "running":
            raise self._lost()
        return returned

    def stop(self) -> int:
        """Nothing is dropped: all that was handed over may still come back."""
        return 0

    def close(self) -> None:
        """Leave; a cluster of our own ends with us."""
        self._client.close(timeout=2.0)
        if self._own is not None:
            self._own.close(timeout=5.0)

    def _read(self, bundle: Bundle, future: Any) -> Returned:
        """Outcomes from what a worker sent; runs in a thread of the client."""
        try:
            answers = future.result(timeout=PATIENCE)
            return Returned(
                bundle, [outcome_from_elsewhere(cell, *one) for cell, one in zip(bundle, answers, strict=True)]
            )
        except self._distributed.KilledWorker as error:
            return Returned(bundle, [], f"the workers that had it died: {error}")
        except (ImportError, InvalidParameter) as error:  # a worker that joined late and cannot do it
            self._fatal = f"a worker of {self.name} cannot run allworlds: {error}"
        except BaseException as error:
            if future.cancelled():  # by the scheduler: this class cancels nothing
                self._fatal = str(self._lost())
            return Returned(bundle, [], f"{type(error).__name__}: {error}")
        return Returned(bundle, [], self._fatal)

    def _ask(self, question: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        try:
            return question(*arguments, **options)
        except (OSError, TimeoutError) as error:
            raise self._lost(error) from None

    def _lost(self, error: BaseException | str = "") -> RunStopped:
        return RunStopped(f"the scheduler at {self.address} was lost" + (f" ({error})" if str(error) else ""))


@contextlib.contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    """Processes started here ignore Ctrl-C: their parent handles it and ends them in order."""
    with contextlib.ExitStack() as undo:
        if threading.current_thread() is threading.main_thread():  # elsewhere it cannot be set
            undo.callback(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.SIG_IGN))
        yield


def _by_value(name: str) -> Callable[..., Any]:
    """A function of ``experiments/work.py`` that is looked up where it runs."""

    def call(*arguments: Any) -> Any:
        from allworlds.experiments import work

        return getattr(work, name)(*arguments)

    return call


def _drain(pending: queue.SimpleQueue[T], timeout: float | None = None) -> list[T]:
    """Everything in a queue; with ``timeout``, wait that many seconds for the first."""
    found: list[T] = []
    with contextlib.suppress(queue.Empty):
        found.append(pending.get(block=timeout is not None, timeout=timeout))
        while True:
            found.append(pending.get_nowait())
    return found
