"""What a search may spend: seconds if a limit was given, and else a fixed amount of work.

Without a limit the same graph always gets the same cover, on every machine: work is counted, not timed.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from allworlds.foundation.errors import InvalidParameter

UNLIMITED = 1 << 60


class Budget:
    """Counts down the seconds, if they are limited, and says how much work is allowed.

    >>> Budget(60.0).spent(), Budget().spent()
    (False, False)
    """

    TABU_WORK = 1_500_000_000
    """Numbers that tabu search looks at for one number of cliques where time is not limited: under a second."""
    TABU_STEPS = 100_000
    """Moves of tabu search for one number of cliques, at most, where time is not limited."""
    NODE_WORK = 20_000_000
    """Nodes of a search tree times arms where time is not limited: about a second."""
    PASSES = 20
    """Passes of iterated greedy where time is not limited."""
    CHUNKS = 100
    """Looks at the clock a budget of work."""

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
            return float("inf")
        return max(0.0, self.started + self.seconds - time.monotonic())

    def spent(self) -> bool:
        """Whether nothing is left."""
        return self.left() <= 0.0

    def share(self, part: float) -> Budget:
        """A budget of a part of the seconds that are left, or the same work where time is not limited.

        >>> 9.0 < Budget(20.0).share(0.5).left() <= 10.0
        True
        """
        return Budget(self.left() * part if self.timed else None, counted=self.counted)

    def counting(self) -> Budget:
        """The same seconds, but work is limited, too, as it is without a time limit.

        >>> Budget(60.0).counting().passes() == Budget().passes() < Budget(60.0).passes()
        True
        """
        return Budget(self.left() if self.timed else None, counted=True)

    def tabu_steps(self, n_arms: int) -> int:
        """The moves that tabu search may make for one number of cliques."""
        return UNLIMITED if not self.counted else min(self.TABU_STEPS, max(1000, self.TABU_WORK // (20 * n_arms)))

    def tabu_chunk(self, n_arms: int) -> int:
        """The moves between two looks at the clock."""
        return max(100, self.TABU_WORK // (20 * n_arms * self.CHUNKS))

    def nodes(self, n_arms: int) -> int:
        """The nodes that a search tree may have."""
        return UNLIMITED if not self.counted else max(1000, self.NODE_WORK // n_arms)

    def node_chunk(self, n_arms: int) -> int:
        """The nodes between two looks at the clock."""
        return max(100, self.NODE_WORK // (n_arms * self.CHUNKS))

    def passes(self) -> int:
        """The passes of iterated greedy."""
        return UNLIMITED if not self.counted else self.PASSES


def check_time_limit(time_limit: Any) -> None:
    """Refuse what is no positive number of seconds; None stands for no limit."""
    if time_limit is None:
        return
    number = isinstance(time_limit, int | float | np.integer | np.floating) and not isinstance(time_limit, bool)
    if not number or math.isnan(time_limit) or time_limit <= 0:
        raise InvalidParameter(f"time_limit must be None or a positive number of seconds, but {time_limit!r} came")
