"""One page that tells an experiment: the question, the answer with its numbers, figures, tables, how to repeat it."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from allworlds.experiments.panels import Panel
from allworlds.reporting.experiment_figures import figure_names, panel_figure
from allworlds.reporting.experiment_tables import failure_table, point_table, slope_table
from allworlds.reporting.experiment_words import ExperimentSummary, answers, how_much, panel_answer, which_slope
from allworlds.reporting.page import (
    broken_lines,
    fact_list,
    figure_element,
    inline_svg,
    save_figures,
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


def write_experiment_report(sweep: ExperimentSummary, folder: Path) -> Path:
    """Write ``report.html``, and each figure as SVG and PDF in ``figures/``; give the path of the page."""
    figures = draw_figures(sweep)
    save_figures(figures, folder)
    return write_page(make_page(sweep, [inline_svg(figure) for figure in figures.values()]), folder)


def draw_figures(sweep: ExperimentSummary) -> dict[str, Figure]:
    """A figure for each panel, by the name of its file."""
    names = figure_names(sweep.panels)
    return {name: panel_figure(sweep, panel) for name, panel in zip(names, sweep.panels, strict=True)}


def make_page(sweep: ExperimentSummary, svgs: list[str]) -> str:
    """The whole page; ``svgs`` has a figure for each panel."""
    finding = " ".join(answers(sweep))
    if sweep.panels and sweep.done < sweep.total:
        finding = f"So far ({how_much(sweep)}): {finding}"
    parts = [
        f"<h1>{escape(sweep.question)}</h1>",
        f'<p class="where">Experiment {escape(sweep.name)}: {escape(how_much(sweep))}.</p>',
        f'<p class="finding">{escape(finding)}</p>',
    ]
    if sweep.claim is not None:
        parts.append(f"<p><b>Held against:</b> {escape(sweep.claim)}.</p>")
    if sweep.about:
        parts.append(f"<p>{escape(' '.join(sweep.about.split()))}</p>")
    parts += [_panel(sweep, panel, svg) for panel, svg in zip(sweep.panels, svgs, strict=True)]
    if sweep.failures:
        parts += ["<h2>Cells that failed</h2>", failure_table(sweep.failures)]
    parts.append(_repeat(sweep))
    return whole_page(f"allworlds experiment: {sweep.name}", "\n".join(parts))


def _panel(sweep: ExperimentSummary, panel: Panel, svg: str) -> str:
    said = panel_answer(sweep, panel)
    slopes = panel.kind in ("power", "doubling")
    parts = [
        f"<h2>{escape(panel.name or sweep.axis[0].upper() + sweep.axis[1:])}</h2>",
        figure_element(svg, f"Figure of {sweep.measured}. {said}", escape(_caption(sweep, panel))),
        *(["<h3>Slopes</h3>", slope_table(sweep, panel)] if slopes else []),
        f"<h3>{escape(sweep.measured.capitalize())}</h3>",
        point_table(sweep, panel),
    ]
    if len(answers(sweep)) < len(sweep.panels):
        parts.insert(1, f"<p>{escape(said)}</p>")
    return "\n".join(parts)


def _caption(sweep: ExperimentSummary, panel: Panel) -> str:
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
            f" Slopes are of {which_slope(panel, sweep.letter)}; hollow: of the mean itself. An excess that is not "
            "positive has no logarithm and is left out; a mark without an interval has too much noise for one."
        )
    return f"{caption} {ABOUT_SLOPES}"


def _repeat(sweep: ExperimentSummary) -> str:
    return (
        "<h2>How to repeat it</h2>\n"
        f"<pre>{escape(broken_lines(sweep.command))}</pre>\n{fact_list(sweep.facts)}\n"
        "<p>The same version on the same kind of machine gives the same numbers, whatever the number of threads, and "
        "however often it was stopped. The figures are also in <code>figures/</code> as SVG and PDF; in Python, "
        "<code>allworlds.load_results</code> gives all numbers as one table.</p>"
    )
