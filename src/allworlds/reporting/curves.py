"""Curves over rounds: the mean of the seeds with a band, names at their ends, on linear and logarithmic axes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from allworlds.analysis.comparison import student_quantile
from allworlds.analysis.panels import Curve
from allworlds.analysis.theory_lines import TheoryLine
from allworlds.foundation.errors import InvalidParameter
from allworlds.reporting.canvas import OURS, EndLabel, Style, blank, house_style, label_ends, learner_styles
from allworlds.simulation import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
WIDE = 10.0
"""The width in inches of every figure of a page: with equal widths, letters have the same size."""
ZOOM = 1000
"""Logarithmic axes show the last three powers of ten of the rounds; before, all learners look alike."""
GREY = "#666666"
THEORY_STYLES = {
    "proved": Style(GREY, (0, (6, 3)), 1.1),
    "so far": Style(OURS, (0, (4, 2)), 1.0),
    "limit": Style(GREY, (0, (1.2, 1.6)), 1.3),
    "before": Style(GREY, (0, (5, 2, 1.2, 2)), 1.1),
    "cliques": Style(GREY, (0, (5, 2, 1.2, 2)), 1.1),
}


def plot_regret(traces: Mapping[str, Sequence[Trace]], ax: Axes | None = None, *, log: bool = True) -> Axes:
    """Draw the mean pseudo-regret of several groups of traces with 95 % bands, each named at the end of its curve.

    ``log`` gives the rounds a logarithmic axis. Without ``ax``, a new figure is made: ``ax.figure`` of the result.

    >>> import allworlds as aw
    >>> learner, world = aw.TsallisShannon(aw.clique_cover(aw.graphs.bandit(3))), aw.worlds.one_good_arm(3, 0.5)
    >>> ax = plot_regret({"ours": aw.play_many(learner, world, 100, seeds=range(3))})
    >>> ax.get_xlabel(), [text.get_text() for text in ax.texts]
    ('round, log scale', ['ours'])
    """
    if not traces or not all(traces.values()):
        raise InvalidParameter("traces is empty; expected a dictionary such as {'ours': play_many(...)}")
    if ax is None:
        with house_style():
            return plot_regret(traces, blank(7.0, 4.2).subplots(), log=log)
    styles = learner_styles(list(traces), next(iter(traces)))
    ends = []
    for order, (name, group) in enumerate(reversed(list(traces.items()))):
        if any(trace.horizon != group[0].horizon for trace in group):
            raise InvalidParameter(f"the traces of {name!r} have different horizons; expected one for all")
        values = np.array([trace.pseudo_regret for trace in group])
        draw_curve(ax, group[0].rounds, values, styles[name], order, interval=True)
        ends.append(EndLabel(float(values[:, -1].mean()), name, styles[name]))
    if log:
        ax.set_xscale("log")
    ax.set_xlim(1.0 if log else 0.0, max(2.0, max(float(group[0].horizon) for group in traces.values())))
    ax.set_xlabel("round, log scale" if log else "round")
    ax.set_ylabel("pseudo-regret (mean, 95 % band)")
    plain_axes(ax)
    label_ends(ax, ends[::-1])
    return ax


def curve_figure(
    curves: Mapping[str, Curve], styles: Mapping[str, Style], measured: str, theory: Sequence[TheoryLine] = ()
) -> Figure:
    """Curves over rounds: linear left, both axes logarithmic right, with what theory says there.

    Where most values are not positive there is nothing to take logarithms of, and only the left panel is drawn.
    """
    means = {name: values.mean(axis=0) for name, (_, values) in curves.items()}
    finals = {name: float(mean[-1]) for name, mean in means.items()}
    both = has_logarithms(finals.values())
    with house_style():
        figure = blank(WIDE, max(4.0, 0.9 + 0.27 * (len(curves) + len(theory))))
        left, *right = figure.subplots(1, 2 if both else 1, squeeze=False)[0]
        for ax in (left, *right):
            for order, name in enumerate(sorted(curves, key=lambda name: styles[name].width)):
                draw_curve(ax, *curves[name], styles[name], order)
            plain_axes(ax)
        rounds = next(iter(curves.values()))[0]
        highest, lowest = (float(extreme(list(means.values()))) for extreme in (np.max, np.min))
        left.set_xlim(0, rounds[-1])
        left.set_ylim(1.05 * min(0.0, lowest), 1.08 * max(highest, 1.0))
        left.set_xlabel("round")
        left.set_ylabel(f"{measured} (mean, 10–90 % band)")
        left.ticklabel_format(style="plain")
        left.locator_params(axis="x", nbins=4)  # more labels of five digits would touch
        ends = [EndLabel(final, name, styles[name]) for name, final in finals.items()]
        if both:
            _zoom_in(right[0], rounds, means, theory)
            ends += [EndLabel(float(line.values[-1]), line.text, THEORY_STYLES[line.kind]) for line in theory]
            ends = [end._replace(height=max(end.height, 1.0)) for end in ends]
        label_ends(right[0] if both else left, ends)
    return figure


def has_logarithms(finals: Iterable[float]) -> bool:
    """Whether at least half of the learners end with a mean of one or more."""
    large = [final >= 1.0 for final in finals]
    return 2 * sum(large) >= len(large)


def draw_curve(
    ax: Axes, rounds: NDArray[np.int64], values: Floats, style: Style, order: int = 0, *, interval: bool = False
) -> None:
    """The mean of the seeds, and a band from the 10th to the 90th percentile; a larger ``order`` lies above.

    With ``interval``, the band is Student's 95 % interval of the mean.
    """
    mean = values.mean(axis=0)
    if len(values) > 1:
        low, high = np.quantile(values, [0.1, 0.9], axis=0)
        if interval:
            half = student_quantile(len(values) - 1) * values.std(axis=0, ddof=1) / math.sqrt(len(values))
            low, high = mean - half, mean + half
        ax.fill_between(rounds, low, high, color=style.colour, alpha=0.14, linewidth=0, zorder=1)
    _plot(ax, rounds, mean, style, zorder=2 + order)


def _plot(ax: Axes, rounds: NDArray[np.int64], values: Floats, style: Style, **more: Any) -> None:
    ax.plot(rounds, values, color=style.colour, linestyle=style.dashes, linewidth=style.width, **more)


def plain_axes(ax: Axes) -> Axes:
    """A faint grid, and no box."""
    ax.grid(color="#E6E6E6", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _zoom_in(ax: Axes, rounds: NDArray[np.int64], means: Mapping[str, Floats], theory: Sequence[TheoryLine]) -> None:
    """Logarithmic axes that show the last rounds, and the lines of theory."""
    for line in theory:
        _plot(ax, rounds, line.values, THEORY_STYLES[line.kind])
    finals = [float(one[-1]) for one in (*means.values(), *(line.values for line in theory))]
    first = int(np.searchsorted(rounds, rounds[-1] / ZOOM))
    early = min(float(mean[first:].min()) for mean in means.values())
    ax.set_xlim(float(rounds[first]), float(rounds[-1]) if first < len(rounds) - 1 else 2.0 * float(rounds[first]))
    ax.set_ylim(max(1.0, 0.7 * early), 1.5 * max([2.0, *(final for final in finals if np.isfinite(final))]))
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("round, log scale")
