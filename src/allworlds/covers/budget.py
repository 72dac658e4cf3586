"""How much a search may do: seconds if a time limit was given, otherwise a fixed amount of work.

Without a time limit, the same graph gets the same cover on every machine, because work is counted and not time.
"""

from __future__ import annotations

import math
import time
from typing import Any

from allworlds.foundation.checks import real

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

    def tabu_chunk(self, n_arms: int) -> int:
        """The moves between two readings of the clock."""
        return max(100, self.TABU_WORK // (20 * n_arms * self.CHUNKS))

    def nodes(self, n_arms: int) -> int:
        """The nodes that a search tree may have."""
        return UNLIMITED if not self.counted else max(1000, self.NODE_WORK // n_arms)

    def node_chunk(self, n_arms: int) -> int:
        """The nodes between two readings of the clock."""
        return max(100, self.NODE_WORK // (n_arms * self.CHUNKS))

    def passes(self) -> int:
        """The passes of iterated greedy."""
        return UNLIMITED if not self.counted else self.PASSES


def check_time_limit(time_limit: Any) -> None:
    """Raise :class:`InvalidParameter` unless ``time_limit`` is None or a positive number of seconds."""
    if time_limit is not None and time_limit != math.inf:
        real("time_limit", time_limit, above=0)
