"""The summary of an experiment, and its answer in sentences with numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from allworlds.analysis.comparison import LEAST_REGRET
from allworlds.analysis.panels import Line, Panel
from allworlds.analysis.slopes import LEAST_POINTS, Slope
from allworlds.foundation.errors import counted
from allworlds.reporting.page import number, with_interval

AXES = {"horizon": "horizon T", "n_cliques": "number of cliques K", "budget": "corruption budget C", "n_arms": "arms N"}
LETTERS = {"horizon": "T", "n_cliques": "K", "budget": "C", "n_arms": "N"}
MEASURED = {
    "pseudo_regret": "regret",
    "clean_regret": "regret on clean losses",
    "realised_regret": "realised regret",
    "corruption": "corruption",
}


@dataclass(frozen=True, eq=False)
class ExperimentSummary:
    """A run of an experiment, finished or not, for figures and page."""

    name: str
    question: str
    about: str
    claim: str | None
    x: str
    """The column along the horizontal axis."""
    y: str
    panels: tuple[Panel, ...]
    done: int
    total: int
    failures: tuple[Mapping[str, Any], ...]
    """Title, attempts and error of each cell that failed."""
    command: str
    """The commands that repeat the run and its report."""
    facts: Mapping[str, str]
    """Versions, machine and other facts of the run, by name."""

    @property
    def axis(self) -> str:
        """The name of the horizontal axis in words."""
        return AXES.get(self.x, self.x.replace("_", " ").replace(".", " "))

    @property
    def letter(self) -> str:
        """The same as one letter, or a word where there is none."""
        return LETTERS.get(self.x, self.x.rpartition(".")[2].replace("_", " "))

    @property
    def measured(self) -> str:
        """The name of ``y`` in words."""
        return MEASURED.get(self.y, self.y)


def how_much(summary: ExperimentSummary) -> str:
    """How many cells are finished, how many failed and how many are left."""
    if summary.done == summary.total:
        return f"all {counted(summary.total, 'cell')} are finished"
    left = summary.total - summary.done - len(summary.failures)
    failed = f", {len(summary.failures)} failed" if summary.failures else ""
    return f"{summary.done:,} of {counted(summary.total, 'cell')} are finished{failed}, {left:,} to go"


def answers(summary: ExperimentSummary) -> list[str]:
    """A sentence for each panel and one over all where learners are ranked in several; about what is finished."""
    if not summary.panels:
        return ["No cell is finished yet, so there is no answer."]
    over_all = _over_all(summary.panels) if all(p.kind in ("curves", "names") for p in summary.panels) else None
    ranked = all(panel.kind == "curves" for panel in summary.panels)
    if over_all is not None and (ranked or _one_point_each(summary.panels)):
        return [over_all]
    return [panel_answer(summary, panel) for panel in summary.panels]


def panel_answer(summary: ExperimentSummary, panel: Panel) -> str:
    """What one panel says, first of all about its first line."""
    first = panel.lines[0]
    if panel.kind == "power":
        said = _power(summary, first)
    elif panel.kind == "doubling":
        said = _doubling(summary, first)
    elif panel.kind == "curves" or _one_point_each([panel]):
        said = _ranks(summary, panel)
    else:
        shown = "; ".join(f"{with_interval(point.mean)} at {place_text(point.x)}" for point in first.points)
        said = f"the mean {summary.measured} of {first.name} is {shown}."
    return f"In “{panel.name}”, {said}" if panel.name else said[0].upper() + said[1:]


def slope_text(slope: Slope | None, digits: int = 2, form: str = "{} [{}]", interval: str = "{}, {}") -> str:
    """A slope with its interval, for a table.

    >>> slope_text(Slope(0.5, 0.4, 0.6, 5, 0)), slope_text(Slope(-0.5, None, None, 5, 0))
    ('0.50 [0.40, 0.60]', '−0.50 [no interval]')
    """
    if slope is None:
        return "–"
    value, *ends = (None if n is None else f"{n:.{digits}f}".replace("-", "−") for n in slope[:3])
    return form.format(value, "no interval" if None in ends else interval.format(*ends))


def _slope_said(slope: Slope, digits: int = 2) -> str:
    return slope_text(slope, digits, "{} ({})", "95 % interval {} to {}")


def verdict(slope: Slope, theory: float) -> str:
    """How a measured slope compares with the theory's, to two decimals.

    >>> verdict(Slope(0.44, 0.40, 0.52, 5, 0), 0.5)
    'which agrees with the slope 0.5 of theory'
    """
    if slope.low is None or slope.high is None:
        return f"too uncertain to hold against the slope {theory:g} of theory"
    if round(slope.low, 2) > theory:
        return f"above the slope {theory:g} of theory: not confirmed at this size"
    if round(slope.high, 2) < theory:
        return f"below the slope {theory:g} of theory"
    return f"which agrees with the slope {theory:g} of theory"


def _power(summary: ExperimentSummary, line: Line) -> str:
    of, slope = f"the {summary.measured} of {line.name}", line.slope
    if line.base:
        of = f"the excess of {line.name} over {summary.letter} = 0"
    if slope is None:
        return f"{of} is positive at fewer than {LEAST_POINTS} points, so there is no slope{_raw(line)}."
    said = f"{of} grows with {summary.letter} with slope {_slope_said(slope)} on logarithmic axes"
    if line.theory == 0.0 and line.late is not None:
        low, high = float(line.points[-2].x), float(line.points[-1].x)
        said += f", and {_slope_said(line.late)} from {low:,.0f} to {high:,.0f}; theory says a logarithm, whose slope "
        said += "falls towards 0"
    elif line.theory is not None:
        said += f"; theory says {line.theory:g}" if _bent(line) else f", {verdict(slope, line.theory)}"
    if slope.left_out:
        said += f" ({counted(slope.left_out, 'point')} without a positive excess left out)"
    return f"{said}{_raw(line)}{_bent(line)}."


def _bent(line: Line) -> str:
    """A warning where the points do not lie on a line: two intervals or more miss it."""
    if line.missed is None or line.missed < 2:
        return ""
    return (
        f"; the intervals of {line.missed} of {len(line.points)} points miss the line, so this is not a clean power law"
    )


def _raw(line: Line) -> str:
    if line.base is None or line.raw is None:
        return ""
    return f"; without subtracting the {number(line.base.mean.mean)} at 0, the slope is {_slope_said(line.raw)}"


def _doubling(summary: ExperimentSummary, line: Line) -> str:
    if line.slope is None:
        return f"the {summary.measured} of {line.name} has fewer than {LEAST_POINTS} points, so there is no slope."
    ends = [f"{number(point.mean.mean)} at {place_text(point.x)}" for point in (line.points[0], line.points[-1])]
    missed = (
        "" if line.missed is None else f"; the intervals of {line.missed} of {len(line.points)} points miss the line"
    )
    return (
        f"the {summary.measured} of {line.name} grows by {_slope_said(line.slope, 1)} with every doubling of the "
        f"{summary.letter}, from {ends[0]} to {ends[1]}{missed}."
    )


def place_text(x: float | str) -> str:
    """A place on the axis.

    >>> place_text("a graph"), place_text(1e6), place_text(0.125)
    ('a graph', '1,000,000', '0.125')
    """
    return x if isinstance(x, str) else f"{x:,.0f}" if x == round(x) else f"{x:g}"


def _ranks(summary: ExperimentSummary, panel: Panel) -> str:
    ranked = sorted(panel.lines, key=lambda line: line.points[-1].mean.mean)
    least, most = ranked[0], ranked[-1]
    said = f"{least.name} has the least mean {summary.measured}, {with_interval(least.points[-1].mean)}"
    also = "" if most is least else f"; {most.name} the most, {with_interval(most.points[-1].mean)}"
    return f"{said}{also}."


def _one_point_each(panels: Sequence[Panel]) -> bool:
    return all(len(line.points) == 1 for panel in panels for line in panel.lines)


def _over_all(panels: Sequence[Panel]) -> str | None:
    """Each line's largest ratio to the best of a panel: the smallest of these, the next, and the largest."""
    worst: dict[str, tuple[float, str]] = {}
    compared = 0
    for panel in panels:
        ends = {line.name: line.points[-1].mean.mean for line in panel.lines}
        best = min(ends.values())
        compared += best >= LEAST_REGRET
        for name, end in ends.items() if best >= LEAST_REGRET else ():
            worst[name] = max(worst.get(name, (0.0, "")), (end / best, panel.name))
    if compared < 2:
        return None
    order = sorted(worst, key=lambda name: worst[name][0])
    said = f"Over {compared} settings, {order[0]} has at most {worst[order[0]][0]:.2f} times the least mean regret"
    if len(order) > 2:
        said += f", {order[1]} {worst[order[1]][0]:.2f} times"
    return f"{said}; {order[-1]} has the highest ratio, {worst[order[-1]][0]:.1f} ({worst[order[-1]][1]})."
