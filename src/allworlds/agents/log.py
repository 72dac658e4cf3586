"""A log of decisions: one row for each, with the probabilities that later questions need.

Rows wait in memory and are written in blocks, so that logging costs less than deciding. A block is written when it is
full (:data:`BLOCK_ROWS`), with the first event that is :data:`FLUSH_SECONDS` older than the last writing, when the
program ends, and with :meth:`DecisionLog.flush`. What was written can be read after a kill or a power cut; see
:mod:`allworlds.agents.log_files` for how. What was not is lost: at most the events of the last few seconds.

A decision whose outcome comes before its block is written is one row. Otherwise there are two, of the same
``decision_id``, and :func:`~allworlds.agents.log_files.load_log` joins them.

A log never stands in the way of the agent. If it cannot be written, a warning says so, the rows are kept, and the next
writing tries again.
"""

from __future__ import annotations

import atexit
import contextlib
import math
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
from scipy.sparse import csr_array

from allworlds import __version__
from allworlds.agents.log_files import LogFile, log_file
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
MOST_SIGHTS = 1_000_000
"""A log says who shows whom if these are at most so many pairs."""

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
        """Say whose decisions are logged; rows that wait are those of the old learner, and are written first."""
        self.flush()
        self._learner, self._allowed = learner, allowed
        self._sight = Sight(learner)
        self._block_rows = max(16, min(BLOCK_ROWS, 4_000_000 // max(learner.n_arms, 1)))
        self._keeps_all = learner.n_arms <= self.most_arms
        self._header = {
            "learner": learner.title,
            "n_actions": learner.n_arms,
            "labels": None if learner.graph.labels is None else list(learner.graph.labels),  # type: ignore[union-attr]
            "reward": allowed.reward,
            "low": allowed.low,
            "high": allowed.high,
            "shows": self._sight.lists(),
            "package_version": __version__,
        }

    def chose(
        self, decision: Decision, arm: int, probabilities: NDArray[np.float64] | None = None, available: Any = None
    ) -> None:
        """Note a decision. ``probabilities`` are those with which it was drawn; by default the learner's own.

        ``available`` are the numbers of the arms it was drawn among; None stands for all.
        """
        if probabilities is None:
            probabilities = self.distribution()
        with self._lock:
            self._waiting[decision.id] = [decision, arm, time.time(), probabilities, available, OPEN, None, None]
            self._moved()

    def observed(self, decision: Decision, arm: int, values: NDArray[np.float64]) -> None:
        """Note the outcome of a decision, in the values as they were reported."""
        self._ended(decision, arm, OBSERVED, values.copy())

    def voided(self, decision: Decision, arm: int) -> None:
        """Note that a decision was taken back."""
        self._ended(decision, arm, VOID, None)

    def _ended(self, decision: Decision, arm: int, status: str, values: NDArray[np.float64] | None) -> None:
        with self._lock:
            row = self._waiting.get(decision.id)
            if row is None:
                self._waiting[decision.id] = row = [decision, arm, None, None, None, status, None, None]
            row[5], row[6], row[7] = status, time.time(), values
            self._moved()

    def _moved(self) -> None:
        """After an event: hand it on, or write if it is time to."""
        if len(self._waiting) >= self._block_rows or time.monotonic() - self._written >= self.flush_seconds:
            self._try_to_write()
        elif self._call is not None:
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
            rows = [row for _, row in self._unwritten]
            if self._call is not None:
                self._unwritten.clear()  # a function is called once for each event, whatever it raises
                for row in as_dictionaries(self._columns(rows)):
                    self._call(row)
                return
            assert self._file is not None
            self._file.append(self._columns(rows), self._header)
            self._unwritten.clear()

    def close(self) -> None:
        """Write the rest."""
        self.flush()

    def _columns(self, rows: list[list[Any]]) -> dict[str, list[Any] | NDArray[Any]]:
        """The rows as columns; lists of different lengths are lists of arrays, what is not known is None."""
        decisions: list[Decision] = [row[0] for row in rows]
        made = [row[2] is not None for row in rows]
        arms = np.fromiter((row[1] for row in rows), np.int64, len(rows))
        seeing = self._sight.probabilities_of(arms, rows)
        observed = [self._sight.observed(arm) for arm in arms.tolist()]
        losses = [self._as_losses(row[7]) for row in rows]
        own = [_own(arm, seen, loss) for arm, seen, loss in zip(arms.tolist(), observed, losses, strict=True)]
        known = [row[3] if self._keeps_all else None for row in rows]
        return {
            "decision_id": np.fromiter((decision.id for decision in decisions), np.int64, len(rows)),
            "kind": [
                "outcome" if not new else "both" if row[6] else "decision" for new, row in zip(made, rows, strict=True)
            ],
            "learner": [self._learner.title] * len(rows),
            "round": np.fromiter((decision.round for decision in decisions), np.int64, len(rows)),
            "timestamp": [row[2] for row in rows],
            "action": arms,
            "arm": [str(decision.arm) for decision in decisions],
            "n_actions": np.full(len(rows), self._learner.n_arms),
            "loss": own,
            "reward": [None if loss is None else 1.0 - loss for loss in own],
            "pscore": [self._pscore(row) for row in rows],
            "clique": [decision.details.get("clique") for decision in decisions],
            "clique_pscore": [decision.details.get("clique_probability") for decision in decisions],
            "observed": observed,
            "losses": losses,
            "seeing": seeing,
            "probabilities": known,
            "available": [row[4] for row in rows],
            "status": [row[5] for row in rows],
            "outcome_timestamp": [row[6] for row in rows],
            "package_version": [__version__] * len(rows),
        }

    def _as_losses(self, values: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
        if values is None:
            return None
        low, high = self._allowed.low, self._allowed.high
        return (high - values) / (high - low) if self._allowed.reward else (values - low) / (high - low)

    @staticmethod
    def _pscore(row: list[Any]) -> float | None:
        if not math.isnan(row[0].probability):
            return float(row[0].probability)
        return None if row[3] is None else float(row[3][row[1]])


LogTarget = str | os.PathLike[str] | Callable[[LogRow], object] | DecisionLog


def open_log(target: LogTarget, learner: Learner, allowed: ValueRange) -> DecisionLog:
    """The log of an agent."""
    log = target if isinstance(target, DecisionLog) else DecisionLog(target)
    log.start(learner, allowed)
    return log


def as_dictionaries(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One dictionary of plain values for each row."""
    plain = {name: [_plain(value) for value in values] for name, values in columns.items()}
    return [dict(zip(plain, values, strict=True)) for values in zip(*plain.values(), strict=True)]


class Sight:
    """Which arms a choice shows, and with which probability an arm is seen.

    Arms of one group show the same arms, so with cliques the sums are over groups.
    """

    def __init__(self, learner: Learner) -> None:
        where, starts, order = learner.visibility
        self._where, self._starts, self._order = where, starts, order
        n_arms, n_groups = learner.n_arms, starts.size - 1
        self._groups = csr_array((np.ones(n_arms), (np.arange(n_arms), where)), shape=(n_arms, n_groups))
        self._shows = csr_array((np.ones(order.size), order, starts), shape=(n_groups, n_arms))
        self._lists = [order[starts[g] : starts[g + 1]] for g in range(n_groups)]

    def observed(self, arm: int) -> NDArray[np.int64]:
        """The arms that ``arm`` shows."""
        return self._lists[self._where[arm]]

    def lists(self) -> dict[str, list[int]] | None:
        """As plain data: the group of each arm and the arms that each group shows; None if that is too much."""
        if self._order.size + self._where.size > MOST_SIGHTS:
            return None
        return {"where": self._where.tolist(), "starts": self._starts.tolist(), "order": self._order.tolist()}

    def probabilities_of(self, arms: NDArray[np.int64], rows: list[list[Any]]) -> list[NDArray[np.float64] | None]:
        """For each row, the probability of seeing each arm that was seen; None where it is not known."""
        known = [k for k, row in enumerate(rows) if row[3] is not None]
        found: list[NDArray[np.float64] | None] = [None] * len(rows)
        if not known:
            return found
        by_group = np.array([rows[k][3] for k in known]) @ self._groups
        seen = by_group @ self._shows
        for place, k in enumerate(known):
            found[k] = np.minimum(seen[place][self.observed(arms[k])], 1.0)
        return found


def _own(arm: int, observed: NDArray[np.int64], losses: NDArray[np.float64] | None) -> float | None:
    """The loss of the chosen arm itself, if it was seen."""
    if losses is None:
        return None
    place = int(np.searchsorted(observed, arm))
    return float(losses[place]) if place < observed.size and observed[place] == arm else None


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


_OPEN_LOGS: weakref.WeakSet[DecisionLog] = weakref.WeakSet()


@atexit.register
def _write_rest() -> None:
    """Write what waits when the program ends."""
    for log in list(_OPEN_LOGS):
        with contextlib.suppress(AllWorldsError):
            log.flush()
