"""What was measured, one row each; how measurements take turns; and the goals that the rows are judged by."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

Task = Callable[[], float]

FIRST_FLOOR, SECOND_FLOOR, LAZY, EXACT = "first floor (null)", "second floor", "lazy step", "exact step"
ABOVE_NULL = "lazy step above null"
THREADS, PROCESSES = "two threads", "two null processes"
RACE, SHORT_RACE = "allworlds race, six learners", "allworlds race, the default learner"
"""The names that goals, ratios and the figure find their rows by."""


@dataclass(frozen=True)
class Row:
    """One measurement, or why there is none."""

    part: str
    name: str
    size: str
    unit: str
    value: float | None
    """The median over the repeats; None where nothing could be measured."""
    low: float | None = None
    high: float | None = None
    repeats: int = 1
    note: str = ""


def take_turns(tasks: Mapping[str, Task], repeats: int) -> dict[str, list[float]]:
    """The answers of every task, which take turns: what slows the machine for a while slows all of them.

    >>> numbers = iter(range(4))
    >>> take_turns({"a": lambda: next(numbers), "b": lambda: next(numbers)}, 2)
    {'a': [0, 2], 'b': [1, 3]}
    """
    answers: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(repeats):
        for name, task in tasks.items():
            answers[name].append(task())
    return answers


def median_row(part: str, name: str, size: str, unit: str, values: list[float], note: str = "") -> Row:
    """The median of some repeats, with the least and the largest.

    >>> median_row("rounds", "lazy step", "10x10", "s/round", [3.0, 1.0, 2.0]).value
    2.0
    """
    return Row(part, name, size, unit, statistics.median(values), min(values), max(values), len(values), note)


def value_of(rows: Iterable[Row], part: str, name: str, size: str, unit: str = "s/round") -> float | None:
    """The value of one row, or None where it is not there."""
    found = [row.value for row in rows if (row.part, row.name, row.size, row.unit) == (part, name, size, unit)]
    return found[0] if found else None


def ratio(one: float | None, other: float | None) -> float | None:
    """The first over the second, where both were measured.

    >>> ratio(3.0, 2.0), ratio(None, 2.0)
    (1.5, None)
    """
    return None if one is None or other is None or other == 0.0 else one / other


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
    above = value_of(rows, "memory", ABOVE_NULL, "1000x1000", "MB")
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
            for name in (RACE, SHORT_RACE)
        ),
    )
