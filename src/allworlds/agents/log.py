"""A log of decisions: one row for each, with the probabilities that later questions need.

Rows wait in memory and are written in blocks, so that logging costs less than deciding. A block is written when it is
full (:data:`BLOCK_ROWS`), with the first event that is :data:`FLUSH_SECONDS` older than the last writing, when the
agent is saved, when the program ends, also by Ctrl-C, and with :meth:`DecisionLog.flush`. A full block is written by
another thread while the agent goes on; if the disk cannot keep up, the agent waits for it with the next full one. What
was written can be read after a kill or a power cut; see :mod:`allworlds.agents.log_files` for how. What was not is
lost: at most the events of the last few seconds.

A decision whose outcome comes before its block is written is one row. Otherwise there are two, of the same
``decision_id``, and :func:`~allworlds.agents.log_reading.load_log` joins them. When arms come or go, what follows gets
a header of its own. An outcome whose decision is older than that names its arm by its label alone.

A log never stands in the way of the agent. If it cannot be written, a warning says so, the rows are kept, and the next
writing tries again.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allworlds.agents.log_files import LogFile, as_dictionaries, log_file
from allworlds.agents.log_rows import OBSERVED, OPEN, VOID, Block, Era, older_columns, row_of_event
from allworlds.agents.reports import Decision, ValueRange
from allworlds.foundation.errors import InvalidParameter
from allworlds.learners import Learner

LogRow = Mapping[str, Any]
MOST_ARMS = 256
"""Up to this many arms, a row has the probabilities of all arms; above, only those of the arms that were seen."""
BLOCK_ROWS = 4096
"""Rows that are written together; while they are, so many others gather."""
FLUSH_SECONDS = 5.0
"""An event that comes later than this after the last writing is written at once, with those that wait."""
MOST_WAITING = 64 * BLOCK_ROWS
"""Rows that are kept while the log cannot be written; beyond, the oldest are dropped, and a warning says how many."""


class DecisionLog:
    """Collect what an agent does and write it to a file or hand it to a function.

    Parameters
    ----------
    target:
        A name ending in ``.parquet`` or ``.jsonl``, or a function that takes a row, a dictionary. An existing log is
        continued.
    most_arms:
        Up to this many arms, rows have the probabilities of all arms.
    flush_seconds:
        The most recent events that a kill may cost, in seconds; 0 writes every event at once.
    """

    distribution: Callable[[], NDArray[np.float64] | None]
    """The probabilities of the coming choice; the agent sets it."""

    def __init__(
        self,
        target: str | os.PathLike[str] | Callable[[LogRow], object],
        *,
        most_arms: int = MOST_ARMS,
        flush_seconds: float = FLUSH_SECONDS,
    ) -> None:
        self._file: LogFile | None = None
        self._call: Callable[[LogRow], object] | None = None
        if isinstance(target, str | os.PathLike):
            self._file = log_file(Path(target))
        elif callable(target):
            self._call = target
        else:
            raise InvalidParameter(
                f"log is {target!r}; expected a name ending in .parquet or .jsonl, or a function that takes a row"
            )
        self.most_arms, self.flush_seconds = most_arms, flush_seconds
        self._blocks: list[Block] = []
        self._block_rows = BLOCK_ROWS
        self._written = time.monotonic()
        self._lock = threading.RLock()
        self._writer: ThreadPoolExecutor | None = None
        self._writing: tuple[Future[None], Block] | None = None
        """What the other thread writes; the block stands in ``_blocks`` until it is known to be written."""
        self._spare: Block | None = None
        """An empty block with room."""
        _OPEN_LOGS.add(self)

    def __del__(self) -> None:
        with contextlib.suppress(Exception):  # the program may be ending
            if not sys.is_finalizing():  # else it was done at exit
                self._try(self.flush, "are lost")

    @property
    def in_use(self) -> bool:
        """Whether an agent writes to it: what waits is told apart by the ids of its decisions."""
        return bool(self._blocks)

    def start(self, learner: Learner, allowed: ValueRange) -> None:
        """Say whose decisions are logged from now on; rows that wait keep what was said before."""
        with self._lock:
            self._block_rows = max(16, min(BLOCK_ROWS, 4_000_000 // max(learner.n_arms, 1)))
            self._next_block(Era.of(learner, allowed))

    def chose(
        self, decision: Decision, arm: int, probabilities: NDArray[np.float64] | None = None, available: Any = None
    ) -> None:
        """Note a decision. ``probabilities`` are those with which it was drawn; by default the learner's own.

        ``available`` are the numbers of the arms it was drawn among; None stands for all.
        """
        with self._lock:
            if probabilities is None:
                probabilities = self.distribution()
            if self._call is not None:
                self._tell(decision, arm, OPEN, vector=probabilities, available=available)
                return
            self._block.chose(decision, arm, time.time(), probabilities, available)
            self._moved()

    def observed(self, decision: Decision, arm: int | None, values: NDArray[np.float64]) -> None:
        """Note the outcome of a decision, in the values as they were reported; NaN for what was not.

        ``arm`` is None where the decision is older than the arms.
        """
        self._ended(decision, arm, OBSERVED, values)

    def voided(self, decision: Decision, arm: int | None) -> None:
        """Note that a decision was taken back."""
        self._ended(decision, arm, VOID, None)

    def _ended(self, decision: Decision, arm: int | None, status: int, values: NDArray[np.float64] | None) -> None:
        with self._lock:
            if self._call is not None and arm is not None:
                self._tell(decision, arm, status, values=values)
                return
            self._block.ended(decision, arm, status, time.time(), values)
            self._moved()

    def _tell(self, decision: Decision, arm: int, status: int, **known: Any) -> None:
        """Call the function with one event; it is called once, whatever it raises."""
        row = row_of_event(self._block.era, decision, arm, time.time(), status, most_arms=self.most_arms, **known)
        assert self._call is not None
        try:
            self._call(row)
        except Exception as error:
            _warn(f"the log cannot be written: {error}; 0 rows wait in memory")

    def _next_block(self, era: Era) -> None:
        spare, self._spare = self._spare, None
        self._block = spare if spare is not None and spare.era is era else Block(era)
        self._blocks.append(self._block)

    def _n_waiting(self) -> int:
        return sum(map(len, self._blocks))

    def _moved(self) -> None:
        """After an event: write if it is time to."""
        full = len(self._block) >= self._block_rows
        if full and self._call is None and not self._block.older:
            self._try(self._hand_over)
        elif full or self._call is not None or time.monotonic() - self._written >= self.flush_seconds:
            self.try_to_flush()
        if full and len(self._block):  # it could not be written
            self._next_block(self._block.era)

    def _hand_over(self) -> None:
        """Let the other thread write all that waits, when it has written what it was given before."""
        self._finish_writing()
        while self._blocks[:-1]:  # what could not be written before, and what was said of other arms
            _append(self._file, self._blocks[0], self.most_arms)
            del self._blocks[0]
        if self._writer is None:
            self._writer = ThreadPoolExecutor(1, thread_name_prefix="allworlds-log")
        self._written = time.monotonic()
        assert self._file is not None
        block = self._block
        write = self._file.prepare(block.columns(self.most_arms), block.era.header)
        self._next_block(block.era)  # first: an interrupt must not leave one that is written and still grows
        try:
            self._writing = self._writer.submit(write), block
        except RuntimeError:  # no thread to be had, as when the program is ending: the next writing has it
            self._writer = None

    def _finish_writing(self) -> None:
        """Wait for the other thread; raise what it could not do."""
        if self._writing is not None:
            future, block = self._writing
            wait([future])  # an interrupt here changes nothing, and one below costs no row
            if future.exception() is None and self._blocks[:1] == [block]:
                del self._blocks[0]
            self._writing = None
            future.result()
            block.clear_rows()
            self._spare = block

    def try_to_flush(self) -> None:
        """Write all rows that wait in memory, or warn that it cannot be done; they wait on then."""
        self._try(self.flush)

    def _try(self, write: Callable[[], None], fate: str = "wait in memory") -> None:
        try:
            write()
        except Exception as error:  # whatever a user's function raises, too
            dropped = 0
            while self._n_waiting() > MOST_WAITING:
                dropped += len(self._blocks.pop(0))
            lost = f"; the oldest {dropped:,} were dropped" if dropped else ""
            _warn(f"the log cannot be written: {error}; {self._n_waiting():,} rows {fate}{lost}")

    def flush(self) -> None:
        """Write all rows that wait in memory; after this they survive a kill."""
        with self._lock:
            self._written = time.monotonic()
            self._finish_writing()
            while self._n_waiting():
                block = self._blocks[0]
                if self._call is not None:
                    made = as_dictionaries(older_columns(block)) if block.older else []
                    block.older.clear()  # a function is called once for each event, whatever it raises
                    block.clear_rows()  # none wait: a function is told at once
                    for one in made:
                        self._call(one)
                else:
                    _append(self._file, block, self.most_arms)
                if block is not self._block:
                    del self._blocks[0]

    def close(self) -> None:
        """Write the rest."""
        self.flush()


def _append(file: LogFile | None, block: Block, most_arms: int) -> None:
    """Write a block to the file; what is in there waits no longer."""
    assert file is not None
    if block.has_rows:
        file.prepare(block.columns(most_arms), block.era.header)()
        block.clear_rows()
    if block.older:
        file.prepare(older_columns(block), block.era.header)()
        block.older.clear()


def _warn(sentence: str) -> None:
    """At the line that asked the agent."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(__package__):
        frame, level = frame.f_back, level + 1
    warnings.warn(sentence, RuntimeWarning, stacklevel=level)


LogTarget = str | os.PathLike[str] | Callable[[LogRow], object] | DecisionLog


def open_log(target: LogTarget, learner: Learner, allowed: ValueRange) -> DecisionLog:
    """The log of an agent."""
    log = target if isinstance(target, DecisionLog) else DecisionLog(target)
    if log.in_use:
        raise InvalidParameter(
            "log is the log of another agent; expected one of its own, with a file of its own while both decide"
        )
    log.start(learner, allowed)
    return log


_OPEN_LOGS: weakref.WeakSet[DecisionLog] = weakref.WeakSet()


@atexit.register
def _write_rest() -> None:
    """Write what waits when the program ends."""
    for log in list(_OPEN_LOGS):
        log._try(log.flush, "are lost")


def _leave_to_parent() -> None:
    """After a fork, in the child: what waits is written by the parent, whose thread is not here."""
    for log in list(_OPEN_LOGS):
        log._lock, log._writer, log._writing = threading.RLock(), None, None
        if log._blocks:
            log._blocks.clear()
            log._next_block(log._block.era)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)
