"""What is asked of the default learner on the reporting cells, and whether it was reached.

The goals were set before the setting was chosen; those for the worst seed are about 300 seeds. Ratios are
those of ``rows.relative``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from regret_suite.cells import NEVER_NEGATIVE
from regret_suite.drawn import ATTACKS
from regret_suite.rows import Row, geometric_mean


@dataclass(frozen=True)
class Goal:
    """One goal, with what was measured."""

    learner: str
    text: str
    limit: float
    value: float
    """The geometric mean, or the largest number of any cell."""
    where: str
    """The cell of the largest number; empty for a geometric mean."""
    n_above: int
    n_cells: int
    n_seeds: int

    @property
    def reached(self) -> bool:
        """Whether the value is within the limit."""
        return self.value <= self.limit

    @property
    def verdict(self) -> str:
        """``reached (1.05)``, or ``missed by 12 % (1.57 in ...; 2 of 8 cells)``."""
        if self.reached:
            return f"reached ({self.value:.3g})"
        cells = f" in {self.where}; {self.n_above} of {self.n_cells} cells" if self.where else ""
        return f"missed by {100 * (self.value / self.limit - 1):.0f} % ({self.value:.3g}{cells})"


class Demand(NamedTuple):
    """A goal before anything was measured."""

    text: str
    limit: float
    bears_on: Callable[[Row], bool]
    """Which rows it is about, beside those that lack one of the learners in ``against``."""
    against: tuple[str, ...] = ()
    """The learners to compare with; ``best rival`` and ``best`` are the lowest of their kind. Empty: the worst seed."""
    of_mean: bool = False
    """Whether it is about the geometric mean, and not about every cell."""

    def value(self, row: Row) -> float:
        """The number that must not be above the limit, or the largest of several."""
        if not self.against:
            return row.worst_over_mean
        special = {"best": row.best, "best rival": row.best_rival if row.rivals else ""}
        return max(row.against(special.get(name, name)) for name in self.against)

    def measurable(self, row: Row) -> bool:
        """Whether the row has what the demand compares with."""
        has = {"best", *row.means, *(["best rival"] if row.rivals else [])}
        return self.bears_on(row) and has >= set(self.against)


def _gap(row: Row) -> float:
    """The gap of the cell, rounded so that 1/8 as a difference of two means is 1/8; NaN where there is none."""
    return float("nan") if row.cell.gap is None else round(row.cell.gap, 9)


def _in(group: str, low: float = 0.0, high: float = 1.0) -> Callable[[Row], bool]:
    """Rows of a group with a gap in ``[low, high]``."""
    return lambda row: row.cell.group == group and low <= _gap(row) <= high


def _attacked(attack: str) -> Callable[[Row], bool]:
    return lambda row: row.cell.purpose == "named" and row.cell.attack == attack


THOMPSON = ("thompson-n",)
INDEX_RULES = ("thompson-n", "ucb-n")
DEMANDS = (
    Demand(
        "drawn cells, to the best learner, in geometric mean",
        1.25,
        lambda r: r.cell.purpose == "drawn",
        ("best",),
        True,
    ),
    Demand(
        "stochastic, gaps up to 1/8, to thompson-n, in geometric mean", 1.1, _in("stochastic", 0, 1 / 8), THOMPSON, True
    ),
    Demand("stochastic, gaps up to 1/8, to thompson-n", 1.4, _in("stochastic", 0, 1 / 8), THOMPSON),
    Demand("large gaps, 1/4 to 1/2, to thompson-n", 2.0, _in("large gaps", 1 / 4, 1 / 2), THOMPSON),
    Demand("low variance, to thompson-n", 1.7, _in("low variance"), THOMPSON),
    Demand("constrained adversary, to thompson-n and ucb-n", 1 / 4, _in("adversary"), INDEX_RULES),
    Demand(
        "constrained adversary, 10x10, to thompson-n and ucb-n",
        1 / 15,
        lambda row: row.cell.group == "adversary" and row.cell.sizes == (10,) * 10,
        INDEX_RULES,
    ),
    *(
        Demand(f"corruption, 10x10, {name}, to the best rival", 2.0, _attacked(name), ("best rival",))
        for name in ATTACKS
    ),
    Demand("corruption, all cells, to the best rival", 3.0, _in("corruption"), ("best rival",)),
    Demand(
        "worst seed over the mean, gaps from 1/8", 2.5, lambda r: r.cell.group in NEVER_NEGATIVE and _gap(r) >= 1 / 8
    ),
    Demand(
        "worst seed over the mean, gaps from 1/16 to 1/8",
        4.0,
        lambda row: row.cell.group in NEVER_NEGATIVE and 1 / 16 <= _gap(row) < 1 / 8,
    ),
)
"""All goals. Where nothing else is said, a goal is for every cell."""


def check_goals(rows: Sequence[Row], demands: Sequence[Demand] = DEMANDS) -> list[Goal]:
    """Every goal for every learner; those that no row bears on are left out."""
    goals = []
    for learner in dict.fromkeys(row.learner for row in rows):
        for demand in demands:
            measured = [row for row in rows if row.learner == learner and demand.measurable(row)]
            if measured:
                goals.append(_goal(learner, demand, measured))
    return goals


def _goal(learner: str, demand: Demand, rows: Sequence[Row]) -> Goal:
    values = [demand.value(row) for row in rows]
    largest = max(range(len(rows)), key=values.__getitem__)
    n_seeds = min(len(row.regrets) if not demand.against else row.seeds for row in rows)
    return Goal(
        learner,
        demand.text,
        demand.limit,
        geometric_mean(values) if demand.of_mean else values[largest],
        "" if demand.of_mean else rows[largest].cell.name,
        sum(value > demand.limit for value in values),
        len(rows),
        n_seeds,
    )
