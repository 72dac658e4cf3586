"""How much a search may do: seconds if a time limit was given, otherwise a fixed amount of work.

Without a time limit, the same graph gets the same cover on every machine, because work is counted and not time.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from concurrent.futures import Future
from typing import Any, TypeVar

from allworlds.foundation.checks import real

Answer = TypeVar("Answer")

UNLIMITED = 1 << 60


class Budget:
    """The seconds that are left, if time is limited, and how much work is allowed.

    >>> Budget(60.0).spent(), Budget().spent()
    (False, False)
    """

    TABU_WORK = 1_500_000_000
    """Numbers that tabu search reads for one number of cliques without a time limit: under a second."""
    TABU_STEPS = 100_000
    """Moves of tabu search, at most, for one number of cliques without a time limit."""
    NODE_WORK = 20_000_000
    """Nodes of a search tree times arms without a time limit: about a second."""
    PASSES = 20
    """Passes of iterated greedy without a time limit."""
    CHUNKS = 100
    """How often the clock is read in an amount of work."""

    def __init__(self, seconds: float | None = None, *, counted: bool = False) -> None:
        self.started = time.monotonic()
        self.seconds = seconds
        self.counted = counted or seconds is None

    @property
    def timed(self) -> bool:
        """Whether time is limited."""
        return self.seconds is not None

    def left(self) -> float:
        """Seconds left; infinite where time is not limited."""
        if self.seconds is None:
            return math.inf
        return max(0.0, self.started + self.seconds - time.monotonic())

    def spent(self) -> bool:
        """Whether no time is left."""
        return self.left() <= 0.0

    def share(self, fraction: float) -> Budget:
        """A budget of a fraction of the seconds left; without a time limit, of the same work.

        >>> 9.0 < Budget(20.0).share(0.5).left() <= 10.0
        True
        """
        return Budget(self.left() * fraction if self.timed else None, counted=self.counted)

    def counting(self) -> Budget:
        """The same seconds, with work limited as it is without a time limit.

        >>> Budget(60.0).counting().passes() == Budget().passes() < Budget(60.0).passes()
        True
        """
        return Budget(self.left() if self.timed else None, counted=True)

    def tabu_steps(self, n_arms: int) -> int:
        """The moves that tabu search may make for one number of cliques."""
        return UNLIMITED if not self.counted else min(self.TABU_STEPS, max(1000, self.TABU_WORK // (20 * n_arms)))

    def tabu_chunks(self, n_arms: int) -> Iterator[int]:
        """The same in portions, between which the clock is read."""
        return self._chunks(self.tabu_steps(n_arms), self.TABU_WORK // (20 * n_arms))

    def node_chunks(self, n_arms: int, nodes: int | None = None) -> Iterator[int]:
        """The nodes that a search tree may have, or ``nodes``, in portions."""
        work = self.NODE_WORK // n_arms
        return self._chunks(nodes or (max(1000, work) if self.counted else UNLIMITED), work)

    def _chunks(self, total: int, work: int) -> Iterator[int]:
        """``total`` in portions of a hundredth of ``work``, until no time is left."""
        size = max(100, work // self.CHUNKS)
        while total > 0 and not self.spent():
            yield min(size, total)
            total -= size

    def wait(self, answer: Future[Any]) -> None:
        """Wait until there is an answer or no time is left; Ctrl-C ends the waiting."""
        while not answer.done() and not self.spent():
            futures.wait([answer], min(0.05, self.left()))

    def passes(self) -> int:
        """The passes of iterated greedy."""
        return UNLIMITED if not self.counted else self.PASSES


def check_time_limit(time_limit: Any) -> None:
    """Raise :class:`InvalidParameter` unless ``time_limit`` is None or a positive number of seconds."""
    if time_limit is not None and time_limit != math.inf:
        real("time_limit", time_limit, above=0)


def in_thread(work: Callable[[], Answer]) -> Future[Answer]:
    """The answer of ``work``, which runs in a daemon thread: the program does not wait for it at its end."""
    answer: Future[Answer] = Future()

    def run() -> None:
        try:
            answer.set_result(work())
        except BaseException as error:  # raised by answer.result()
            answer.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return answer
