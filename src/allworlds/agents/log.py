"""A log of decisions: one row for each, with the probabilities that later questions need.

Rows wait in memory and are written in blocks, so that logging costs less than deciding. A block is written when it is
full (:data:`BLOCK_ROWS`), with the first event that is :data:`FLUSH_SECONDS` older than the last writing, when the
program ends, and with :meth:`DecisionLog.flush`. What was written can be read after a kill or a power cut; see
:mod:`allworlds.agents.log_files` for how. What was not is lost: at most the events of the last few seconds.

A decision whose outcome comes before its block is written is one row. Otherwise there are two, of the same
``decision_id``, and :func:`~allworlds.agents.log_files.load_log` joins them. When arms come or go, what follows gets a
header of its own. An outcome whose decision is older than that names its arm by its label alone.

A log never stands in the way of the agent. If it cannot be written, a warning says so, the rows are kept, and the next
writing tries again.
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
import os
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allworlds.agents.log_files import LogFile, as_dictionaries, log_file
from allworlds.agents.log_rows import Era, columns_of, older_columns
from allworlds.agents.reports import Decision, ValueRange
from allworlds.foundation.errors import AllWorldsError, InvalidParameter
from allworlds.learners import Learner

LogRow = Mapping[str, Any]
MOST_ARMS = 256
"""Up to this many arms, a row has the probabilities of all arms; above, only those of the arms that were seen."""
BLOCK_ROWS = 4096
"""Rows that wait in memory at most."""
FLUSH_SECONDS = 5.0
"""An event that comes later than this after the last writing is written at once, with those that wait."""
MOST_WAITING = 64 * BLOCK_ROWS
"""Rows that are kept while the log cannot be written; beyond, the oldest are dropped, and a warning says how many."""

VOID = "void"
OPEN = "open"
OBSERVED = "observed"


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
        self._waiting: dict[int, list[Any]] = {}
        self._unwritten: list[tuple[int, list[Any]]] = []
        self._block_rows = BLOCK_ROWS
        self._written = time.monotonic()
        self._lock = threading.RLock()
        _OPEN_LOGS.add(self)

    def __del__(self) -> None:
        with contextlib.suppress(Exception):  # the program may be ending; there is nobody to tell
            self.flush()

    def start(self, learner: Learner, allowed: ValueRange) -> None:
        """Say whose decisions are logged from now on; rows that wait keep what was said before."""
        with self._lock:
            if self._waiting:
                self._try_to_write()
            self._era = Era.of(learner, allowed)
            self._block_rows = max(16, min(BLOCK_ROWS, 4_000_000 // max(learner.n_arms, 1)))

    def chose(
        self, decision: Decision, arm: int, probabilities: NDArray[np.float64] | None = None, available: Any = None
    ) -> None:
        """Note a decision. ``probabilities`` are those with which it was drawn; by default the learner's own.

        ``available`` are the numbers of the arms it was drawn among; None stands for all.
        """
        if probabilities is None:
            probabilities = self.distribution()
        with self._lock:
            row = [decision, arm, time.time(), probabilities, available, OPEN, None, None, self._era]
            self._waiting[decision.id] = row
            self._moved()

    def observed(self, decision: Decision, arm: int | None, values: NDArray[np.float64]) -> None:
        """Note the outcome of a decision, in the values as they were reported; NaN for what was not.

        ``arm`` is None where the decision is older than the arms.
        """
        self._ended(decision, arm, OBSERVED, values.copy())

    def voided(self, decision: Decision, arm: int | None) -> None:
        """Note that a decision was taken back."""
        self._ended(decision, arm, VOID, None)

    def _ended(self, decision: Decision, arm: int | None, status: str, values: NDArray[np.float64] | None) -> None:
        with self._lock:
            row = self._waiting.get(decision.id)
            if row is None:
                row = [decision, arm, None, None, None, status, None, None, self._era]
                self._waiting[decision.id] = row
            row[5], row[6], row[7] = status, time.time(), values
            self._moved()

    def _moved(self) -> None:
        """After an event: hand it on, or write if it is time to."""
        full = len(self._waiting) >= self._block_rows
        if full or self._call is not None or time.monotonic() - self._written >= self.flush_seconds:
            self._try_to_write()

    def _try_to_write(self) -> None:
        try:
            self.flush()
        except Exception as error:  # whatever a user's function raises, too
            kept = len(self._unwritten)
            dropped = max(0, kept - MOST_WAITING)
            del self._unwritten[:dropped]
            lost = f"; the oldest {dropped:,} were dropped" if dropped else ""
            warnings.warn(
                f"the log cannot be written: {error}; {kept - dropped:,} rows wait in memory{lost}",
                RuntimeWarning,
                stacklevel=4,
            )

    def flush(self) -> None:
        """Write all rows that wait in memory; after this they survive a kill."""
        with self._lock:
            self._written = time.monotonic()
            self._unwritten.extend(self._waiting.items())
            self._waiting.clear()
            if not self._unwritten:
                return
            kinds = itertools.groupby((row for _, row in self._unwritten), lambda row: (id(row[8]), row[1] is None))
            for block in [list(rows) for _, rows in kinds]:
                era = block[0][8]
                columns = older_columns(block, era) if block[0][1] is None else columns_of(block, era, self.most_arms)
                if self._call is not None:
                    del self._unwritten[: len(block)]  # a function is called once for each event, whatever it raises
                    for one in as_dictionaries(columns):
                        self._call(one)
                else:
                    assert self._file is not None
                    self._file.append(columns, era.header)
                    del self._unwritten[: len(block)]

    def close(self) -> None:
        """Write the rest."""
        self.flush()


LogTarget = str | os.PathLike[str] | Callable[[LogRow], object] | DecisionLog


def open_log(target: LogTarget, learner: Learner, allowed: ValueRange) -> DecisionLog:
    """The log of an agent."""
    log = target if isinstance(target, DecisionLog) else DecisionLog(target)
    log.start(learner, allowed)
    return log


_OPEN_LOGS: weakref.WeakSet[DecisionLog] = weakref.WeakSet()


@atexit.register
def _write_rest() -> None:
    """Write what waits when the program ends."""
    for log in list(_OPEN_LOGS):
        with contextlib.suppress(AllWorldsError):
            log.flush()
