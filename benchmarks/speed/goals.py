"""What the lazy step must reach, and whether this run did."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from speed.loops import EXACT, LAZY, SECOND_FLOOR
from speed.rows import Row, ratio, value_of
from speed.start import RACES
from speed.threads import PROCESSES, THREADS


@dataclass(frozen=True)
class Goal:
    """A bound on one number of a run."""

    work: str
    bound: float
    at_most: bool
    unit: str
    measured: float | None

    @property
    def reached(self) -> bool | None:
        """None where it was not measured."""
        if self.measured is None:
            return None
        return self.measured <= self.bound if self.at_most else self.measured >= self.bound

    @property
    def verdict(self) -> str:
        """Reached, or by how much it was missed.

        >>> Goal("work", 1.5, True, "times", 1.8).verdict
        'missed by 20 %'
        """
        if self.measured is None:
            return "not measured"
        if self.reached:
            return "reached"
        by = self.measured / self.bound if self.at_most else self.bound / self.measured
        return f"missed by {100.0 * (by - 1.0):.0f} %"

    @property
    def wanted(self) -> str:
        """The bound in words.

        >>> Goal("work", 50_000, False, "times", None).wanted
        'at least 50,000 times'
        """
        return f"at {'most' if self.at_most else 'least'} {self.bound:,g} {self.unit}".rstrip()


def judge(rows: Sequence[Row]) -> tuple[Goal, ...]:
    """Every goal against the rows of a run."""

    def lazy_over(name: str, size: str) -> float | None:
        return ratio(value_of(rows, "rounds", LAZY, size), value_of(rows, "rounds", name, size))

    def exact_over_lazy(size: str) -> float | None:
        return ratio(value_of(rows, "rounds", EXACT, size), value_of(rows, "rounds", LAZY, size))

    grown = (ratio(*(value_of(rows, part, LAZY, f"{k}x{k}") for k in (1000, 100))) for part in ("rounds", "by arms"))
    growth = next((found for found in grown if found is not None), None)
    slsqp = ratio(value_of(rows, "solvers", "SciPy SLSQP", "10x10"), value_of(rows, "rounds", LAZY, "10x10"))
    threads = [row.value for name in (THREADS, PROCESSES) for row in rows if (row.part, row.name) == ("threads", name)]
    above = value_of(rows, "memory", "lazy step above null", "1000x1000", "MB")
    floor, faster = "lazy step over the second floor, ", "lazy step against the exact step, "
    return (
        *(Goal(floor + size, 1.5, True, "times", lazy_over(SECOND_FLOOR, size)) for size in ("10x10", "100x100")),
        Goal(floor + "1000x1000", 2.0, True, "times", lazy_over(SECOND_FLOOR, "1000x1000")),
        Goal(faster + "10x10", 5.0, False, "times faster", exact_over_lazy("10x10")),
        Goal(faster + "100x100", 20.0, False, "times faster", exact_over_lazy("100x100")),
        Goal("memory above the null learner's process, 1000x1000", 60.0, True, "MB", above),
        Goal(
            "growth of a round from N = 1e4 to 1e6 at K = sqrt(N)",
            0.55,
            True,
            "as exponent of N",
            None if growth is None else math.log(growth) / math.log(100.0),
        ),
        Goal("against SciPy's SLSQP on the same step, 10x10", 50_000.0, False, "times faster", slsqp),
        Goal(
            "two threads, 8 seeds, over what two null processes bring",
            0.95,
            False,
            "of their speed-up",
            ratio(*threads) if len(threads) == 2 else None,
        ),
        *(
            Goal(f"a second process, {name}", 2.0, True, "s", value_of(rows, "start", name, "10x10", "s"))
            for name in RACES
        ),
    )
