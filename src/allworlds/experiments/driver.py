"""The driver: hand out cells, store what comes back, and give up only on cells that fail every attempt.

It runs in one thread and is the only writer. Cells are handed out in bundles; independently of these, a part with
everything that has come back is written about once a second, less often in a long run.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from allworlds.experiments.cells import Cell
from allworlds.experiments.executors import Bundle, Executor, Returned
from allworlds.experiments.store import Store
from allworlds.experiments.work import Outcome
from allworlds.foundation.errors import RunStopped

ATTEMPTS = 2
"""Attempts at a cell in one start; cells are pure, so a third attempt would fail too."""
KEEP_FIRST, KEEP_LATER = 1.0, 10.0
"""Seconds between two parts, at the beginning of a run and later at most."""
PUBLISH_EVERY = 0.5
"""Seconds between progress messages."""
GRACE = 2.0
"""Seconds that an interrupted run waits for what is nearly finished."""
ROUND_SECONDS = 1e-5
"""Assumed time of a round until one has been measured."""
MAX_BUNDLE = 2000
"""The largest number of cells in a bundle."""


@dataclass(frozen=True)
class Progress:
    """How much of a run is finished."""

    done: int
    failed: int
    total: int
    rounds_per_second: float | None
    seconds_left: float | None

    @property
    def remaining(self) -> int:
        """Cells that are neither finished nor given up."""
        return self.total - self.done - self.failed


@dataclass(frozen=True)
class Listener:
    """Callbacks for what happens in a run; each does nothing by default."""

    on_notice: Callable[[str], None] = lambda sentence: None
    on_progress: Callable[[Progress], None] = lambda progress: None
    on_kept: Callable[[Outcome], None] = lambda outcome: None
    """Called once an outcome is on disk."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C: ``done`` of ``total`` cells are finished and on disk in ``folder``."""

    def __init__(self, done: int, total: int, folder: Path) -> None:
        super().__init__(f"{done} of {total} cells are kept in '{folder}'")
        self.done, self.total, self.folder = done, total, folder


@dataclass
class Driver:
    """One start of a run."""

    store: Store
    executor: Executor
    listener: Listener
    total: int
    done: int
    """Finished cells, at first those of earlier starts."""
    fail_fast: bool = False
    failed: int = 0
    _todo: deque[Cell] = field(default_factory=deque)
    _alone: deque[Cell] = field(default_factory=deque)
    """Cells whose bundle was lost: each is submitted by itself, to find the one to blame."""
    _suspects: deque[Cell] = field(default_factory=deque)
    """Cells that were lost even when submitted alone: each is submitted when nothing else is under way."""
    _under_way: int = 0
    _tried: Counter[str] = field(default_factory=Counter)
    _unkept: list[Outcome] = field(default_factory=list)
    _started: float = 0.0
    _kept: float = 0.0
    _published: float = 0.0
    _rounds: int = 0
    _rounds_left: int = 0
    _speed: dict[tuple[str, str], float] = field(default_factory=dict)
    """Seconds a round took, for each graph and learner."""

    def run(self, cells: Iterable[Cell]) -> None:
        """Play ``cells``, the longest first; an early end keeps everything that has come back."""
        self._todo.extend(sorted(cells, key=lambda cell: -cell.horizon))
        self._rounds_left = sum(cell.horizon for cell in self._todo)
        self._started = self._kept = time.monotonic()
        try:
            self._publish()
            self._loop()
        except (KeyboardInterrupt, RunStopped):
            self._hurry()
            raise

    def _loop(self) -> None:
        while self._todo or self._alone or self._suspects or self._under_way:
            while (self._todo or self._alone) and self._under_way < self.executor.width:
                self.executor.submit(self._next_bundle())
                self._under_way += 1
            if self._suspects and not self._under_way:  # nothing else runs: a worker that dies now dies of this cell
                self.executor.submit((self._suspects[0],))
                self._under_way += 1
            for returned in self.executor.collect(timeout=0.1):
                self._take(returned)
            elapsed = time.monotonic() - self._started
            if time.monotonic() - self._kept >= min(max(KEEP_FIRST, elapsed / 50), KEEP_LATER):
                self._keep()
            elif time.monotonic() - self._published >= PUBLISH_EVERY:
                self._publish()
            if self.fail_fast and self.failed:
                break
        self._keep()

    def _next_bundle(self) -> Bundle:
        """Cells for about as many seconds as the executor wants."""
        if self._alone:
            return (self._alone.popleft(),)
        bundle: list[Cell] = []
        seconds = 0.0
        while self._todo and not (bundle and (seconds >= self.executor.goal or len(bundle) >= MAX_BUNDLE)):
            cell = self._todo.popleft()
            bundle.append(cell)
            seconds += cell.horizon * self._speed.get((cell.graph, cell.learner), ROUND_SECONDS)
        return tuple(bundle)

    def _take(self, returned: Returned) -> None:
        self._under_way -= 1
        for outcome in returned.outcomes:
            self._end(outcome)
        if returned.lost is None:
            return
        if len(returned.bundle) > 1:
            self._alone.extend(returned.bundle)
            return
        (cell,) = returned.bundle
        if cell not in self._suspects:  # perhaps a neighbour killed the worker that had both
            self._suspects.append(cell)
            self._tried[cell.id] += 1
            return
        self._end(Outcome(cell, None, 0.0, returned.lost))

    def _end(self, outcome: Outcome) -> None:
        cell = outcome.cell
        self._tried[cell.id] += 1
        suspect = cell in self._suspects
        if outcome.error is not None and self._tried[cell.id] < ATTEMPTS:
            if not suspect:
                self._alone.append(cell)
            return
        if suspect:
            self._suspects.remove(cell)
        self._unkept.append(replace(outcome, attempts=self._tried[cell.id]))
        self._rounds_left -= cell.horizon
        if outcome.error is None:
            self.done += 1
            self._rounds += cell.horizon
            self._speed[cell.graph, cell.learner] = outcome.seconds / cell.horizon
        else:
            self.failed += 1

    def _keep(self) -> None:
        """Write the outcomes since the last time, and report them."""
        outcomes, self._unkept = self._unkept, []
        if outcomes:
            self.store.keep(outcomes)
        for outcome in outcomes:
            self.listener.on_kept(outcome)
        self._kept = time.monotonic()
        self._publish()

    def _hurry(self) -> None:
        """Before an early end, also store what finishes within :data:`GRACE` seconds."""
        until = time.monotonic() + GRACE
        self._todo.clear()
        self._alone.clear()
        self._suspects.clear()
        self._under_way -= self.executor.stop()
        with suppress(RunStopped):  # the first one says why
            while self._under_way and time.monotonic() < until:
                for returned in self.executor.collect(timeout=0.1):
                    self._take(returned)
        with suppress(RunStopped):
            self._keep()

    def _publish(self) -> None:
        self._published = time.monotonic()
        elapsed = time.monotonic() - self._started
        speed = self._rounds / elapsed if self._rounds else None
        left = self._rounds_left / speed if speed else None
        self.listener.on_progress(Progress(self.done, self.failed, self.total, speed, left))
