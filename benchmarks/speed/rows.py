"""What was measured, one row each; and measurements that take turns."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

Task = Callable[[], float]


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
