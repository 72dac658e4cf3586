"""What an agent counts along the way, for its report: draws, outcomes and losses by arm.

Drawn frequencies are compared with the probabilities that were reported on *audited* decisions: every one whose whole
distribution is computed anyway, and of the others one in ``max(32, N)``, so that counting costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allworlds.foundation.errors import InvalidState

FIELDS = ("drawn", "voided", "seen", "losses", "audited", "expected", "variance", "audits")
AUDIT = 32
"""At most one in so many decisions is audited for the report alone."""


class Tally:
    """Counts by arm, in the order of the arms."""

    __slots__ = ("audited", "audits", "drawn", "every", "expected", "losses", "seen", "variance", "voided")

    drawn: NDArray[np.float64]
    """(N,) how often it was chosen."""
    voided: NDArray[np.float64]
    """(N,) how many of these were voided."""
    seen: NDArray[np.float64]
    """(N,) how often its loss was reported, side observations included."""
    losses: NDArray[np.float64]
    """(N,) their sum, in [0, 1] each."""
    audited: NDArray[np.float64]
    """(N,) how often it was chosen in audited decisions."""
    expected: NDArray[np.float64]
    """(N,) the sum of its probabilities there."""
    variance: NDArray[np.float64]
    """(N,) the sum of ``p (1 - p)`` there."""
    audits: NDArray[np.float64]
    """(N,) how many decisions were audited while the arm was there."""

    def __init__(self, n_arms: int) -> None:
        for name in FIELDS:
            setattr(self, name, np.zeros(n_arms))
        self.every = max(AUDIT, n_arms)

    def audit(self, arm: int, distribution: NDArray[np.float64]) -> None:
        """Count a draw from a distribution."""
        self.audited[arm] += 1.0
        self.expected += distribution
        self.variance += distribution * (1.0 - distribution)
        self.audits += 1.0

    def learn(self, arms: Any, losses: NDArray[np.float64]) -> None:
        """Count reported losses, in [0, 1], of different arms."""
        self.seen[arms] += 1.0
        self.losses[arms] += losses

    def moved(self, old: Sequence[Any], new: Sequence[Any]) -> Tally:
        """The counts of the arms that are left, and zeros for new ones."""
        tally, place = Tally(len(new)), {name: i for i, name in enumerate(old)}
        kept = [(i, place[name]) for i, name in enumerate(new) if name in place]
        for name in FIELDS:
            for i, j in kept:
                getattr(tally, name)[i] = getattr(self, name)[j]
        return tally

    def pack(self) -> NDArray[np.float64]:
        """All counts as one array, (fields, N)."""
        return np.array([getattr(self, name) for name in FIELDS])

    @classmethod
    def unpack(cls, data: Any, n_arms: int) -> Tally:
        """The inverse of :meth:`pack`; None, from a file without counts, gives zeros.

        Files of earlier versions do not have ``audits``: there an arm is taken to have been there all the time.
        """
        tally = cls(n_arms)
        if data is None:
            return tally
        array = np.asarray(data, dtype=np.float64)
        if array.shape == (len(FIELDS) - 1, n_arms):
            array = np.vstack([array, np.full(n_arms, array[FIELDS.index("audited")].sum())])
        if array.shape != (len(FIELDS), n_arms) or not np.isfinite(array).all():
            raise InvalidState(f"the counts have shape {array.shape}; expected {(len(FIELDS), n_arms)}, finite")
        for name, row in zip(FIELDS, array, strict=True):
            getattr(tally, name)[:] = row
        return tally
