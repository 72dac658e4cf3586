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
from allworlds.agents.log_files import Lists, LogFile, as_dictionaries, log_file
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
            "labels": None if learner.graph.labels is None else list(learner.graph.labels),
            "reward": allowed.reward,
            "low": allowed.low,
            "high": allowed.high,
            "shows": self._sight.as_data(),
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

    def _columns(self, rows: list[list[Any]]) -> dict[str, Any]:
        """The rows as columns; what is not known is None, and lists of different lengths are :class:`Lists`."""
        count, sight = len(rows), self._sight
        decisions: list[Decision] = [row[0] for row in rows]
        arms = np.fromiter((row[1] for row in rows), np.int64, count)
        seen_by = sight.sizes[sight.where[arms]]
        learnt = np.fromiter((row[7] is not None for row in rows), bool, count)
        values = np.concatenate([np.zeros(0), *(row[7] for row in rows if row[7] is not None)])
        low, high = self._allowed.low, self._allowed.high
        values = (high - values) / (high - low) if self._allowed.reward else (values - low) / (high - low)
        losses = Lists(values, np.where(learnt, seen_by, 0), ~learnt)
        own = np.full(count, np.nan)
        place = sight.own_place[arms]
        shown = learnt & (place >= 0)
        own[shown] = values[(losses.starts[:-1] + place)[shown]]
        known = np.fromiter((row[3] is not None for row in rows), bool, count)
        vectors = np.array([row[3] for row in rows if row[3] is not None]).reshape(-1, self._learner.n_arms)
        keeps = known & self._keeps_all
        kept = (vectors.ravel() if self._keeps_all else np.zeros(0)).astype(np.float32)
        seeing = np.concatenate([np.zeros(0), *sight.probabilities(arms[known], vectors)])
        details = [decision.details for decision in decisions]
        ended = [row[6] for row in rows]
        made = [row[2] for row in rows]
        return {
            "decision_id": np.fromiter((decision.id for decision in decisions), np.int64, count),
            "kind": [
                "outcome" if begin is None else "both" if end is not None else "decision"
                for begin, end in zip(made, ended, strict=True)
            ],
            "learner": [self._learner.title] * count,
            "round": np.fromiter((decision.round for decision in decisions), np.int64, count),
            "timestamp": made,
            "action": arms,
            "arm": [str(decision.arm) for decision in decisions],
            "n_actions": np.full(count, self._learner.n_arms),
            "loss": own,
            "reward": 1.0 - own,
            "pscore": np.fromiter((_pscore(row) for row in rows), np.float64, count),
            "clique": [detail.get("clique") for detail in details],
            "clique_pscore": [detail.get("clique_probability") for detail in details],
            "observed": Lists(sight.observed(arms), seen_by, np.zeros(count, bool)),
            "losses": losses,
            "seeing": Lists(seeing, np.where(known, seen_by, 0), ~known),
            "probabilities": Lists(kept, np.where(keeps, self._learner.n_arms, 0), ~keeps),
            "available": Lists.of([row[4] for row in rows]),
            "status": [row[5] for row in rows],
            "outcome_timestamp": ended,
            "package_version": [__version__] * count,
        }


LogTarget = str | os.PathLike[str] | Callable[[LogRow], object] | DecisionLog


def open_log(target: LogTarget, learner: Learner, allowed: ValueRange) -> DecisionLog:
    """The log of an agent."""
    log = target if isinstance(target, DecisionLog) else DecisionLog(target)
    log.start(learner, allowed)
    return log


class Sight:
    """Which arms a choice shows, and with which probability an arm is seen.

    Arms of one group show the same arms. Where the groups are a partition, as with cliques, an arm is seen with the
    probability of its group; elsewhere that of all groups that show it is added up.
    """

    def __init__(self, learner: Learner) -> None:
        self.where, self._starts, self._order = learner.visibility
        n_arms, n_groups = learner.n_arms, self._starts.size - 1
        self.sizes = np.diff(self._starts)
        self._lists = [self._order[self._starts[g] : self._starts[g + 1]] for g in range(n_groups)]
        self.own_place = np.array([_place(arm, self._lists[self.where[arm]]) for arm in range(n_arms)])
        self._is_partition = self._order.size == n_arms and bool(
            (self.where[self._order] == np.repeat(np.arange(n_groups), self.sizes)).all()
        )
        self._groups = csr_array((np.ones(n_arms), (np.arange(n_arms), self.where)), shape=(n_arms, n_groups))
        self._shows = csr_array((np.ones(self._order.size), self._order, self._starts), shape=(n_groups, n_arms))

    def observed(self, arms: NDArray[np.int64]) -> NDArray[np.int64]:
        """The arms that each of ``arms`` shows, one list after the other."""
        return np.concatenate([np.zeros(0, np.int64), *(self._lists[group] for group in self.where[arms].tolist())])

    def as_data(self) -> dict[str, list[int]] | None:
        """The group of each arm and the arms that each group shows; None if that is too much for a header."""
        if self._order.size + self.where.size > MOST_SIGHTS:
            return None
        return {"where": self.where.tolist(), "starts": self._starts.tolist(), "order": self._order.tolist()}

    def probabilities(self, arms: NDArray[np.int64], vectors: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """For each choice, the probability of seeing each arm that it shows."""
        groups = self.where[arms]
        if self._is_partition:
            by_group = np.add.reduceat(vectors[:, self._order], self._starts[:-1], axis=1)
            own = np.minimum(by_group[np.arange(arms.size), groups], 1.0)
            return [np.repeat(own, self.sizes[groups])]
        seen = np.minimum((vectors @ self._groups) @ self._shows, 1.0)
        return [seen[k][self._lists[group]] for k, group in enumerate(groups.tolist())]


def _place(arm: int, observed: NDArray[np.int64]) -> int:
    """Where ``arm`` stands in a sorted list, or -1."""
    place = int(np.searchsorted(observed, arm))
    return place if place < observed.size and observed[place] == arm else -1


def _pscore(row: list[Any]) -> float:
    """The probability of the choice, from the vector where the learner does not say it; NaN if it is not known."""
    known: float = row[0].probability
    return float(row[3][row[1]]) if math.isnan(known) and row[3] is not None else known


_OPEN_LOGS: weakref.WeakSet[DecisionLog] = weakref.WeakSet()


@atexit.register
def _write_rest() -> None:
    """Write what waits when the program ends."""
    for log in list(_OPEN_LOGS):
        with contextlib.suppress(AllWorldsError):
            log.flush()
