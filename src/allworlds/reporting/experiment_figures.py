"""The figures of an experiment: growth with its slopes, values by name, curves over rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from allworlds.analysis.panels import Panel, heights_of
from allworlds.analysis.slopes import Slope, fitted
from allworlds.reporting.canvas import OURS, EndLabel, Style, blank, house_style, label_ends, learner_styles
from allworlds.reporting.curves import WIDE, curve_figure, plain_axes
from allworlds.reporting.experiment_answers import ExperimentSummary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
THEORY = "#555555"


def panel_figure(summary: ExperimentSummary, panel: Panel) -> Figure:
    """The figure of one panel, by its kind."""
    styles = _styles(summary)
    with house_style():
        if panel.kind in ("power", "doubling"):
            return _growth_figure(summary, panel, styles)
        if panel.kind == "curves":
            curves = {line.name: line.curve for line in panel.lines if line.curve is not None}
            return curve_figure(curves, styles, summary.measured)
        if panel.kind == "names":
            figure = blank(WIDE, 0.9 + 0.3 * max(3, _height(panel)))
            values_by_name(figure.subplots(), panel, styles)
        else:
            figure = blank(WIDE, 4.2)
            growth(figure.subplots(), panel, styles)
            figure.axes[0].set_xlabel(summary.axis)
        ax = figure.axes[0]
        (ax.set_xlabel if panel.kind == "names" else ax.set_ylabel)(f"{summary.measured} (mean, 95 % interval)")
    return figure


def growth(ax: Axes, panel: Panel, styles: Mapping[str, Style]) -> Axes:
    """Means with intervals against ``x`` and the fitted lines; the theory's slope starts at the end of the first line.

    Where there is a point at 0, the excess over it is drawn: what the slope is fitted to.
    """
    power = panel.kind == "power"
    if panel.kind != "plain":
        ax.set_xscale("log", base=10 if power else 2)
    if power:
        ax.set_yscale("log")
    if panel.kind == "doubling":
        ax.xaxis.set_major_formatter("{x:g}")
    ends = []
    for order, line in enumerate(reversed(panel.lines)):
        x, y, low, high = heights_of(line.points, power=power)
        if not x.size:
            continue
        style = styles[line.name]
        low = np.maximum(low, y / 10.0) if power else low  # an interval that reaches 0 ends a power of ten below
        lengths = np.array([y - low, high - y])
        look: dict[str, Any] = {"color": style.colour, "zorder": 3 + order}
        ax.errorbar(x, y, yerr=lengths, fmt="o", markersize=5, capsize=2.5, elinewidth=1.0, **look)
        if line.slope is not None or panel.kind == "plain":
            fit = y if line.slope is None else fitted(line.slope, x, y, power=power)
            ax.plot(x, fit, linewidth=0.7 * style.width, linestyle=style.dashes, **look)
        ends.append(EndLabel(float(y[-1]), line.name, style))
    theory = _theory_line(panel)
    if theory is not None:
        at, heights, slope = theory
        style = Style(THEORY, (0, (1.2, 1.6)), 1.4)
        ax.plot(at, heights, color=style.colour, linestyle=style.dashes, linewidth=style.width, zorder=2)
        words: dict[str, Any] = {"textcoords": "offset points", "ha": "left", "va": "top", "fontsize": 9}
        middle = len(at) // 2
        ax.annotate(f"slope {slope:g}", (at[middle], heights[middle]), (6, -6), color=style.colour, **words)
    plain_axes(ax)
    ax.margins(x=0.04)
    if power and ax.get_ylim()[1] / ax.get_ylim()[0] < 5.0:  # at least a labelled power of ten or two
        bottom, top = ax.get_ylim()
        ax.set_ylim(bottom / 2.0, top * 2.0)
    label_ends(ax, ends[::-1])
    return ax


def slopes_beside(ax: Axes, panel: Panel, styles: Mapping[str, Style]) -> Axes:
    """Each line's slope with its interval under its name, hollow for the mean's; theory is a vertical line."""
    places = np.arange(len(panel.lines))[::-1]
    for place, line in zip(places, panel.lines, strict=True):
        raised = 0.14 if line.raw is not None else 0.0
        _interval_mark(ax, line.slope, place + raised, styles[line.name].colour, hollow=False)
        _interval_mark(ax, line.raw, place - raised, styles[line.name].colour, hollow=True)
        look: dict[str, Any] = {"fontsize": 9, "va": "center", "fontweight": "bold" if place == places[0] else "normal"}
        look |= {"bbox": {"facecolor": "white", "linewidth": 0, "pad": 1.0}, "transform": ax.get_yaxis_transform()}
        ax.text(0.02, place + 0.36, line.name, **look)
    for theory in dict.fromkeys(line.theory for line in panel.lines if line.theory is not None):
        ax.axvline(theory, color=THEORY, linestyle=(0, (1.2, 1.6)), linewidth=1.4)
    ax.margins(x=0.12)
    ax.locator_params(axis="x", nbins=5)
    return _rows(ax, [""] * len(panel.lines))


def values_by_name(ax: Axes, panel: Panel, styles: Mapping[str, Style]) -> Axes:
    """Means with intervals: a row for each name, the first on top, with all lines beside each other in it."""
    names = list(dict.fromkeys(str(point.x) for line in panel.lines for point in line.points))
    alone = all(len(line.points) == 1 for line in panel.lines)
    step = 0.0 if alone else 0.8 / len(panel.lines)
    for number, line in enumerate(panel.lines):
        style = styles[line.name]
        for point in line.points:
            place = len(names) - 1 - names.index(str(point.x)) + step * ((len(panel.lines) - 1) / 2 - number)
            mean, low, high = point.mean.reach
            look: dict[str, Any] = {"color": OURS if alone else style.colour, "markersize": 5, "capsize": 2.5}
            look["label"] = line.name if point is line.points[0] else None
            ax.errorbar(mean, place, xerr=[[mean - low], [high - mean]], fmt="o", **look)
    _rows(ax, names)
    for between in range(1, len(names)) if not alone else ():
        ax.axhline(between - 0.5, color="#CCCCCC", linewidth=0.8)
    ax.set_xlim(left=min(0.0, ax.get_xlim()[0]))
    if not alone:
        ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    return ax


def _rows(ax: Axes, names: Sequence[str]) -> Axes:
    """A row for each name, the first on top."""
    ax.set_yticks(range(len(names)), names[::-1])
    ax.set_ylim(-0.6, len(names) - 0.4)
    plain_axes(ax).grid(visible=False, axis="y")
    ax.tick_params(axis="y", length=0)
    return ax


def _growth_figure(summary: ExperimentSummary, panel: Panel, styles: Mapping[str, Style]) -> Figure:
    figure = blank(WIDE, max(4.0, 1.2 + 0.5 * len(panel.lines)))
    left, right = figure.subplots(1, 2, width_ratios=(1.5, 1.0))
    growth(left, panel, styles)
    slopes_beside(right, panel, styles)
    excess = f", excess over {summary.letter} = 0" if panel.of_excess else ""
    left.set_xlabel(f"{summary.axis}, log scale")
    left.set_ylabel(f"{summary.measured}{excess} (mean, 95 % interval)")
    right.set_xlabel(
        "slope (95 % interval)" if panel.kind == "power" else f"more for each doubling of {summary.letter}"
    )
    return figure


def _styles(summary: ExperimentSummary) -> dict[str, Style]:
    """One look for each line in all figures."""
    names = list(dict.fromkeys(line.name for panel in summary.panels for line in panel.lines))
    return learner_styles(names, names[0])


def _height(panel: Panel) -> int:
    """How many rows of marks a figure by name has."""
    names = {point.x for line in panel.lines for point in line.points}
    return max(len(names), sum(len(line.points) for line in panel.lines))


def _theory_line(panel: Panel) -> tuple[Floats, Floats, float] | None:
    """The theory's slope below the first line, a factor of 1.5 under its fit."""
    first = panel.lines[0]
    if panel.kind != "power" or first.theory is None:
        return None
    x, y, _, _ = heights_of(first.points, power=True)
    if x.size < 2:
        return None
    heights: Floats = np.exp(np.log(y).mean()) / 1.5 * (x / np.exp(np.log(x).mean())) ** first.theory
    return x, heights, first.theory


def _interval_mark(ax: Axes, slope: Slope | None, place: float, colour: str, *, hollow: bool) -> None:
    if slope is None:
        return
    lengths = None
    if slope.low is not None and slope.high is not None:
        lengths = [[max(0.0, slope.value - slope.low)], [max(0.0, slope.high - slope.value)]]
    face = "white" if hollow else colour
    ax.errorbar(slope.value, place, xerr=lengths, fmt="o", color=colour, markerfacecolor=face, markersize=6, capsize=3)


def figure_names(panels: Sequence[Panel]) -> list[str]:
    """A file name for the figure of each panel.

    >>> figure_names([Panel("attack best-worst", "power", ()), Panel("", "names", ())])
    ['1-attack-best-worst', '2-all']
    """
    plain = ["".join(sign if sign.isascii() and sign.isalnum() else "-" for sign in panel.name) for panel in panels]
    words = ["-".join(part for part in name.split("-") if part)[:60] or "all" for name in plain]
    return [f"{count}-{word}" for count, word in enumerate(words, start=1)]
