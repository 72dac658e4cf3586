"""The tables of an experiment's report, as HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from allworlds.experiments.panels import Line, Panel, Point
from allworlds.reporting.experiment_words import ExperimentSummary, place_text, slope_text
from allworlds.reporting.tables import between, number, table


def slope_table(sweep: ExperimentSummary, panel: Panel) -> str:
    """Each line's slope with its interval, beside the theory's."""
    if panel.kind == "doubling":
        head = ["", f"more for each doubling of {sweep.letter} [95 %]", "points"]
        rows = [[slope_text(line.slope, 1), _count(line)] for line in panel.lines]
    elif panel.of_excess:
        excess, raw = f"slope of the excess over {sweep.letter} = 0 [95 %]", "slope of the mean itself [95 %]"
        head = ["", excess, raw, "theory", "points"]
        rows = [[slope_text(line.slope), slope_text(line.raw), _theory(line), _count(line)] for line in panel.lines]
    else:
        head = ["", "slope [95 %]", "between the last two points [95 %]", "theory", "points"]
        rows = [[slope_text(line.slope), slope_text(line.late), _theory(line), _count(line)] for line in panel.lines]
    return table(head, [_row([line.name, *row], ours=line is panel.lines[0]) for line, row in _with(panel, rows)])


def point_table(sweep: ExperimentSummary, panel: Panel) -> str:
    """Each line at each ``x``: mean, interval, worst seed, runs."""
    over = "horizon" if panel.kind == "curves" else sweep.axis
    alone = panel.kind == "names" and all(len(line.points) == 1 for line in panel.lines)
    middle = [] if alone else [over]
    head = ["", *middle, f"mean {sweep.measured}", "95 % interval", "worst seed", "runs"]
    rows = []
    for line in panel.lines:
        for place, point in enumerate(line.points):
            shown = [] if alone else [place_text(point.x)]
            rows.append(_row([line.name if place == 0 else "", *shown, *_cells(point)], ours=line is panel.lines[0]))
    return table(head, rows)


def failure_table(failures: Sequence[Mapping[str, Any]]) -> str:
    """Which cells failed, how often they were tried, and why."""
    rows = []
    for failure in failures:
        lines = str(failure["error"]).strip().splitlines() or ["no error was kept"]
        rows.append(_row([str(failure["title"]), str(failure["attempts"]), lines[0]], ours=False))
    return table(["cell", "tries", "error"], rows)


def _cells(point: Point) -> list[str]:
    mean = point.mean
    return [number(mean.mean), between(mean), number(point.worst), f"{point.values.size:,}"]


def _with(panel: Panel, rows: list[list[str]]) -> list[tuple[Line, list[str]]]:
    return list(zip(panel.lines, rows, strict=True))


def _theory(line: Line) -> str:
    return "–" if line.theory is None else f"{line.theory:g}"


def _count(line: Line) -> str:
    if line.slope is None:
        return "–"
    left = f" ({line.slope.left_out} left out)" if line.slope.left_out else ""
    missed = "" if line.missed is None else f", {line.missed} off the line"
    return f"{line.slope.n_points}{left}{missed}"


def _row(cells: Sequence[str], *, ours: bool) -> str:
    kind = ' class="ours"' if ours else ""
    return f"<tr{kind}>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"
