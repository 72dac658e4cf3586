"""What a checked statement looks like: a left side, a right side, and whether left <= right."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """One inequality of a proof, evaluated: the statement claims ``left <= right``.

    Rounding may cost ``tolerance * scale``; ``scale`` is the larger side unless the sides are small
    differences of large numbers, when the function that made the check says how large they were.

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
    def holds(self) -> bool:
        """Is ``left <= right``, up to rounding? False if a side is not a number."""
        size = max(abs(self.left), abs(self.right), self.scale)
        return self.left <= self.right + self.tolerance * size
