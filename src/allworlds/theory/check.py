"""A checked statement: a left side, a right side, and whether left <= right."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """One inequality of a proof, evaluated: the statement claims ``left <= right``.

    The left side may be larger by rounding: by ``tolerance`` times the larger side, or times ``scale`` where the sides
    have a natural size that is larger. Where the sides are small differences of large numbers, ``rounding`` is added.

    >>> check = Check("a square is not negative", "example", left=0.0, right=4.0)
    >>> check.holds, check.slack
    (True, 4.0)
    """

    statement: str
    label: str
    left: float
    right: float
    scale: float = 0.0
    tolerance: float = 1e-9
    rounding: float = 0.0

    @property
    def slack(self) -> float:
        """``right - left``: how much room is left."""
        return self.right - self.left

    @property
    def ratio(self) -> float:
        """``left / right``: how much of the bound is used; 0 if both sides are 0."""
        if self.right == 0.0:
            return 0.0 if self.left <= 0.0 else float("inf")
        return self.left / self.right

    @property
    def size(self) -> float:
        """What to compare the slack with: the larger side, or the scale."""
        return max(abs(self.left), abs(self.right), self.scale)

    @property
    def room(self) -> float:
        """The slack as a share of the size, so that instances compare; infinite for ``0 <= 0``, which says nothing."""
        return (self.slack + self.rounding) / self.size if self.size > 0.0 else float("inf")

    @property
    def holds(self) -> bool:
        """Is ``left <= right``, up to rounding? False if a side is not a number."""
        return self.left <= self.right + self.tolerance * self.size + self.rounding
