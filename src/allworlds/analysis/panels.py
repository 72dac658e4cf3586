"""The results of a run, arranged for its question: panels, lines in them, and the seeds behind each point.

``[report]`` in an experiment's file names columns of the results: what lies along ``x``, what is measured (``y``), what
makes a line, what makes a panel. Cells that would lie on one point although they differ in graph, world or horizon go
to panels of their own. A cell whose world lacks what the panels are about, such as an attack, belongs to all of them:
so a world without corruption is the point ``C = 0`` in each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from allworlds.analysis.comparison import Estimate, mean_interval
from allworlds.analysis.slopes import Slope, doubling_slope, fitted, power_slope
from allworlds.foundation.errors import InvalidParameter

Floats = NDArray[np.float64]
Kind = Literal["power", "doubling", "plain", "names", "curves"]
Record = Mapping[str, Any]
"""What is known of one finished cell: a value for each column of the results at its last round."""
Curve = tuple[NDArray[np.int64], Floats]
"""Recorded rounds (R,), and the values of all seeds there, (S, R)."""


class PanelOptions(Protocol):
    """What to arrange: the table ``[report]`` of an experiment."""

    x: str
    y: str
    lines: str
    panels: str | None
    log: bool | Literal["x"]
    theory_slope: float | dict[str, float] | None


@dataclass(frozen=True, eq=False)
class Point:
    """All seeds of one line at one ``x``."""

    x: float | str
    values: Floats
    """One for each seed."""

    @property
    def mean(self) -> Estimate:
        """With Student's 95 % interval."""
        return mean_interval(self.values)

    @property
    def worst(self) -> float:
        """The largest value of a seed."""
        return float(self.values.max())


@dataclass(frozen=True, eq=False)
class Line:
    """What one learner did, or whatever else makes a line."""

    name: str
    points: tuple[Point, ...]
    """In the order of ``x``; names in the order of the file. One, at the horizon, where there is a curve."""
    slope: Slope | None = None
    """Through all points, on the axes of its panel; of the excess where there is a point at 0."""
    raw: Slope | None = None
    """Without taking the excess, where ``slope`` does."""
    late: Slope | None = None
    """Between the last two points only; None where ``slope`` is of the excess."""
    missed: int | None = None
    """How many points have an interval that misses the fitted line; by chance one of twenty does."""
    theory: float | None = None
    curve: Curve | None = None

    @property
    def base(self) -> Point | None:
        """The point at 0, on top of which the others are an excess."""
        return next((point for point in self.points if point.x == 0.0), None)


@dataclass(frozen=True, eq=False)
class Panel:
    """One picture: lines over the same axis."""

    name: str
    """Empty where there is only one."""
    kind: Kind
    """power: a slope on two logarithmic axes; doubling: on one; curves: over rounds; plain and names: no slope."""
    lines: tuple[Line, ...]

    @property
    def of_excess(self) -> bool:
        """Whether slopes are of the excess over the point at 0."""
        return self.kind == "power" and any(line.base is not None for line in self.lines)


def arrange(records: Sequence[Record], report: PanelOptions, curves: Mapping[str, Curve] | None = None) -> list[Panel]:
    """Panels from the records of finished cells; ``curves`` has each cell's values over rounds, (1, R).

    >>> from types import SimpleNamespace
    >>> facts = {"graph": "g", "world": "w", "learner": "a", "seed_number": 0}
    >>> records = [facts | {"horizon": t, "pseudo_regret": float(t) ** 0.5} for t in (100, 1000, 10_000)]
    >>> options = dict(x="horizon", y="pseudo_regret", lines="learner", panels=None, log=True, theory_slope=None)
    >>> (panel,) = arrange(records, SimpleNamespace(**options))
    >>> panel.kind, round(panel.lines[0].slope.value, 6)
    ('power', 0.5)
    """
    placed = [record for record in records if report.x == "round" or _place(record, report.x) is not None]
    keys = [] if report.panels is None else [report.panels]
    for name in _candidates(placed, report):
        if name not in keys and _differs(placed, name, [*keys, report.lines], report.x):
            keys.append(name)
    panels = []
    for key, members in _split(placed, keys):
        lines: dict[str, list[Record]] = {}
        for record in members:
            lines.setdefault(str(record[report.lines]), []).append(record)
        kind = _kind(members, report)
        made = [_line(name, ours, kind, report, [str(part) for part in key], curves) for name, ours in lines.items()]
        panels.append(Panel(_title(keys, key), kind, tuple(made)))
    return panels


def check_columns(report: PanelOptions, known: Sequence[str], measures: Sequence[str], folder: object) -> None:
    """Raise unless the options name columns of the results, and a measure as ``y``."""
    wanted = {"x": report.x, "lines": report.lines, "panels": report.panels, "y": report.y}
    for key, name in wanted.items():
        choice = measures if key == "y" else known
        if name is not None and name not in choice:
            raise InvalidParameter(
                f"[report] {key} = '{name}', but the results have no such column; expected one of "
                f"{', '.join(choice)}; correct the file, and 'allworlds resume {folder} --extend' takes it over"
            )


def _place(record: Record, x: str) -> Any:
    value = record.get(x)
    return 0.0 if value is None and x == "budget" else value


def _candidates(records: Sequence[Record], report: PanelOptions) -> list[str]:
    """Columns that may tell apart what would lie on one point."""
    along_world = report.x == "budget" or report.x.startswith("world.")
    options = {name for record in records for name in record if name.startswith("world.")} if along_world else set()
    names = ["graph", "horizon", *sorted(options), "world", "learner"]
    return [name for name in names if name not in (report.x, report.lines)]


def _differs(records: Sequence[Record], name: str, keys: Sequence[str], x: str) -> bool:
    """Whether records that agree in ``keys`` and ``x`` differ in ``name``; a record without it differs from none."""
    seen: dict[tuple[Any, ...], Any] = {}
    for record in records:
        if record.get(name) is None:
            continue
        group = (*(record.get(key) for key in keys), None if x == "round" else _place(record, x))
        if seen.setdefault(group, record[name]) != record[name]:
            return True
    return False


def _split(records: Sequence[Record], keys: Sequence[str]) -> list[tuple[tuple[Any, ...], list[Record]]]:
    """Records by the values of ``keys``; one that lacks a key goes wherever the other keys agree."""
    tuples = [tuple(record.get(key) for key in keys) for record in records]
    whole = list(dict.fromkeys(key for key in tuples if None not in key)) or list(dict.fromkeys(tuples))

    def fits(one: tuple[Any, ...], key: tuple[Any, ...]) -> bool:
        return all(mine is None or mine == other for mine, other in zip(one, key, strict=True))

    return [(key, [r for r, one in zip(records, tuples, strict=True) if fits(one, key)]) for key in whole]


def _title(keys: Sequence[str], values: Sequence[Any]) -> str:
    """A name for people: labels as they are, numbers and options with what they are."""
    words = []
    for key, value in zip(keys, values, strict=True):
        what = "" if key in ("graph", "world", "learner") else f"{key.rpartition('.')[2].replace('_', ' ')} "
        words.append(f"{what}{value:{',' if isinstance(value, int) else 'g' if isinstance(value, float) else ''}}")
    return ", ".join(words)


def _kind(records: Sequence[Record], report: PanelOptions) -> Kind:
    if report.x == "round":
        return "curves"
    places = [_place(record, report.x) for record in records]
    if not all(isinstance(place, int | float) for place in places):
        return "names"
    if report.log is False or min(places) < 0.0 or (report.log == "x" and min(places) == 0.0):
        return "plain"
    return "doubling" if report.log == "x" else "power"


def _line(
    name: str,
    records: Sequence[Record],
    kind: Kind,
    report: PanelOptions,
    panel: Sequence[str],
    curves: Mapping[str, Curve] | None,
) -> Line:
    groups: dict[Any, list[float]] = {}
    for record in records:
        at = record["horizon"] if kind == "curves" else _place(record, report.x)
        groups.setdefault(at if kind == "names" else float(at), []).append(float(record[report.y]))
    order = list(groups) if kind == "names" else sorted(groups)
    points = tuple(Point(at if kind != "names" else str(at), np.array(groups[at])) for at in order)
    theory = report.theory_slope
    if isinstance(theory, dict):
        theory = next((theory[one] for one in (*panel, name) if one in theory), None)
    curve = None
    if curves is not None:
        mine = [curves[record["cell"]] for record in records]
        curve = mine[0][0], np.concatenate([values for _, values in mine])
    slopes = _slopes(points, kind)
    return Line(name, points, missed=_missed(points, slopes["slope"], kind), theory=theory, curve=curve, **slopes)


def heights_of(points: Sequence[Point], *, power: bool) -> tuple[Floats, Floats, Floats, Floats]:
    """Places, means and both ends of the intervals; for a power law those with a logarithm, above the point at 0."""
    floor = next((point.mean.mean for point in points if power and point.x == 0.0), 0.0)
    rows = np.array([(float(point.x), *point.mean.reach) for point in points]).reshape(-1, 4)
    x, y, low, high = rows[(rows[:, 0] > 0.0) & (rows[:, 1] > floor)].T if power else rows.T
    return x, y - floor, low - floor, high - floor


def _missed(points: Sequence[Point], slope: Slope | None, kind: Kind) -> int | None:
    if slope is None or min(point.values.size for point in points) < 2:
        return None
    x, y, low, high = heights_of(points, power=kind == "power")
    line = fitted(slope, x, y, power=kind == "power")
    return int(np.count_nonzero((line < low) | (line > high)))


def _slopes(points: Sequence[Point], kind: Kind) -> dict[str, Slope | None]:
    """The slopes of a line, under their names."""
    above = [point for point in points if kind in ("power", "doubling") and float(point.x) > 0.0]
    x, samples = [float(point.x) for point in above], [point.values for point in above]
    if kind == "doubling":
        return {"slope": doubling_slope(x, samples)}
    raw = power_slope(x, samples)
    if len(above) < len(points) and above:
        return {"slope": power_slope(x, samples, points[0].values), "raw": raw}
    return {"slope": raw, "late": power_slope(x[-2:], samples[-2:], least=2) if raw is not None else None}
