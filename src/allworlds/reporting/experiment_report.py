"""The page of an experiment: the question, the answer with its numbers, figures, tables, how to repeat it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allworlds.analysis.panels import Line, Panel
from allworlds.reporting.experiment_answers import (
    ExperimentSummary,
    answers,
    how_much,
    panel_answer,
    place_text,
    slope_text,
)
from allworlds.reporting.experiment_figures import figure_names, panel_figure
from allworlds.reporting.page import (
    between,
    figure_element,
    how_to_repeat,
    number,
    save_figures,
    table,
    table_row,
    whole_page,
    write_page,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ABOUT_SLOPES = (
    "Slopes are least squares through the means. Their intervals come from drawing the seeds again, 2,000 times "
    "(a percentile bootstrap, widened for few seeds): they know the noise of the seeds, not whether the points lie "
    "on a line."
)
NUMBERS = (
    ", and however often it was stopped. The figures are also in <code>figures/</code> as SVG and PDF; in Python, "
    "<code>allworlds.load_results</code> gives all numbers as one table."
)


def write_experiment_report(summary: ExperimentSummary, folder: Path) -> Path:
    """Write ``report.html``, and each figure as SVG and PDF in ``figures/``; returns the path of the page."""
    return write_page(make_page(summary, list(save_figures(draw_figures(summary), folder).values())), folder)


def draw_figures(summary: ExperimentSummary) -> dict[str, Figure]:
    """A figure for each panel, by the name of its file."""
    names = figure_names(summary.panels)
    return {name: panel_figure(summary, panel) for name, panel in zip(names, summary.panels, strict=True)}


def make_page(summary: ExperimentSummary, svgs: list[str]) -> str:
    """The whole page; ``svgs`` has a figure for each panel."""
    finding = " ".join(answers(summary))
    if summary.panels and summary.done < summary.total:
        finding = f"So far ({how_much(summary)}): {finding}"
    parts = [
        f"<h1>{escape(summary.question)}</h1>",
        f'<p class="where">Experiment {escape(summary.name)}: {escape(how_much(summary))}.</p>',
        f'<p class="finding">{escape(finding)}</p>',
    ]
    if summary.claim is not None:
        parts.append(f"<p><b>Held against:</b> {escape(summary.claim)}.</p>")
    if summary.about:
        parts.append(f"<p>{escape(' '.join(summary.about.split()))}</p>")
    parts += [_panel(summary, panel, svg) for panel, svg in zip(summary.panels, svgs, strict=True)]
    if summary.failures:
        parts += ["<h2>Cells that failed</h2>", failure_table(summary.failures)]
    parts.append(how_to_repeat(summary.command, summary.facts, NUMBERS))
    return whole_page(f"allworlds experiment: {summary.name}", "\n".join(parts))


def _panel(summary: ExperimentSummary, panel: Panel, svg: str) -> str:
    said = panel_answer(summary, panel)
    slopes = panel.kind in ("power", "doubling")
    parts = [
        f"<h2>{escape(panel.name or summary.axis[0].upper() + summary.axis[1:])}</h2>",
        figure_element(svg, f"Figure of {summary.measured}. {said}", escape(_caption(summary, panel))),
        *(["<h3>Slopes</h3>", slope_table(summary, panel)] if slopes else []),
        f"<h3>{escape(summary.measured.capitalize())}</h3>",
        point_table(summary, panel),
    ]
    if len(answers(summary)) < len(summary.panels):
        parts.insert(1, f"<p>{escape(said)}</p>")
    return "\n".join(parts)


def _caption(summary: ExperimentSummary, panel: Panel) -> str:
    if panel.kind == "curves":
        return "Mean over seeds, and a band from the 10th to the 90th percentile. Right: on logarithmic axes."
    if panel.kind not in ("power", "doubling"):
        return "Means over seeds with Student's 95 % intervals."
    caption = (
        "Left: means over seeds with 95 % intervals, and the fitted lines. Right: their slopes with 95 % intervals."
    )
    if panel.kind == "power" and panel.lines[0].theory is not None:
        caption += " Dotted: the slope of theory."
    if panel.of_excess:
        caption += (
            f" Slopes are of the excess over {summary.letter} = 0; hollow: of the mean itself. An excess that is not "
            "positive has no logarithm and is left out; a mark without an interval has too much noise for one."
        )
    return f"{caption} {ABOUT_SLOPES}"


# --- tables ---


def slope_table(summary: ExperimentSummary, panel: Panel) -> str:
    """Each line's slope with its interval, beside the theory's."""
    columns: dict[str, Callable[[Line], str]] = {"": lambda line: line.name}
    if panel.kind == "doubling":
        columns[f"more for each doubling of {summary.letter} [95 %]"] = lambda line: slope_text(line.slope, 1)
    elif panel.of_excess:
        columns[f"slope of the excess over {summary.letter} = 0 [95 %]"] = lambda line: slope_text(line.slope)
        columns["slope of the mean itself [95 %]"] = lambda line: slope_text(line.raw)
    else:
        columns["slope [95 %]"] = lambda line: slope_text(line.slope)
        columns["between the last two points [95 %]"] = lambda line: slope_text(line.late)
    if panel.kind != "doubling":
        columns["theory"] = lambda line: "–" if line.theory is None else f"{line.theory:g}"
    columns["points"] = _count
    return table(
        list(columns), [_row(panel, line, [write(line) for write in columns.values()]) for line in panel.lines]
    )


def point_table(summary: ExperimentSummary, panel: Panel) -> str:
    """Each line at each ``x``: mean, interval, worst seed, runs."""
    over = "horizon" if panel.kind == "curves" else summary.axis
    alone = panel.kind == "names" and all(len(line.points) == 1 for line in panel.lines)
    head = ["", *([] if alone else [over]), f"mean {summary.measured}", "95 % interval", "worst seed", "runs"]
    rows = []
    for line in panel.lines:
        for place, point in enumerate(line.points):
            shown = [line.name if place == 0 else "", *([] if alone else [place_text(point.x)])]
            shown += [number(point.mean.mean), between(point.mean), number(point.worst), f"{point.values.size:,}"]
            rows.append(_row(panel, line, shown))
    return table(head, rows)


def failure_table(failures: Sequence[Mapping[str, Any]]) -> str:
    """Which cells failed, how often they were tried, and why."""
    rows = []
    for failure in failures:
        lines = str(failure["error"]).strip().splitlines() or ["no error was kept"]
        rows.append(table_row([str(failure["title"]), str(failure["attempts"]), lines[0]]))
    return table(["cell", "tries", "error"], rows)


def _count(line: Line) -> str:
    if line.slope is None:
        return "–"
    left = f" ({line.slope.left_out} left out)" if line.slope.left_out else ""
    missed = "" if line.missed is None else f", {line.missed} off the line"
    return f"{line.slope.n_points}{left}{missed}"


def _row(panel: Panel, line: Line, cells: Sequence[str]) -> str:
    return table_row(cells, "ours" if line is panel.lines[0] else "")
