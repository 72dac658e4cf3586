"""The picture of the benchmark: what a round costs, how that grows, and what else one would do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from allworlds.reporting.canvas import BESIDE, DASHES, OTHERS, OURS, Style, blank, house_style
from speed.rows import EXACT, FIRST_FLOOR, LAZY, SECOND_FLOOR

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from speed.run import BenchResult

Bars = Mapping[str, Mapping[str, float]]
Curve = Sequence[tuple[float, float]]
Curves = Mapping[str, Mapping[str, Curve]]
STYLES = {
    FIRST_FLOOR: Style("#BBBBBB", DASHES[3], 1.4),
    SECOND_FLOOR: Style(BESIDE, DASHES[1], 1.6),
    LAZY: Style(OURS, "solid", 2.6),
    EXACT: Style(OTHERS[0], DASHES[2], 1.6),
}
AXES = {
    "by arms": "arms N, in sqrt(N) cliques",
    "by cliques": "cliques K, of 10 arms each",
    "by size": "arms of a clique, in 10 cliques",
}
TITLES = {
    "by arms": "More cliques of more arms",
    "by cliques": "More cliques",
    "by size": "Larger cliques",
}


def draw_result(result: BenchResult) -> Figure:
    """The figure of a run."""
    return bench_figure(_bars(result), _curves(result), _others(result))


def bench_figure(bars: Bars, curves: Curves, others: Mapping[str, float]) -> Figure:
    """Two panels a row, those without numbers left out: bars by size, growth, and everything else at 10 x 10.

    ``bars[size][learner]`` and ``curves[way][learner] = [(x, y), ...]`` are seconds a round, as is ``others[name]``.

    >>> figure = bench_figure({"10x10": {"lazy step": 1e-6}}, {}, {})
    >>> [ax.get_title(loc="left") for ax in figure.axes]
    ['A round of the compiled loop']
    """
    with house_style():
        panels: list[Callable[[Axes], Axes]] = [partial(draw_bars, bars=bars)] if bars else []
        panels += [partial(draw_growth, way=way, lines=lines) for way, lines in curves.items()]
        panels += [partial(draw_others, others=others)] if others else []
        rows = max(1, -(-len(panels) // 2))
        figure = blank(10.8, 3.6 * rows)
        grid = figure.add_gridspec(rows, 2)
        for place, draw in enumerate(panels):
            row, column = divmod(place, 2)
            alone = column == 0 and place == len(panels) - 1
            draw(figure.add_subplot(grid[row, :] if alone else grid[row, column]))
    return figure


def _bars(result: BenchResult) -> dict[str, dict[str, float]]:
    """Seconds a round, by size and learner."""
    bars: dict[str, dict[str, float]] = {}
    for row in result.rows:
        if row.part == "rounds" and row.value is not None:
            bars.setdefault(row.size, {})[row.name] = row.value
    return bars


def _curves(result: BenchResult) -> dict[str, dict[str, list[tuple[float, float]]]]:
    """Seconds a round against what grows, by way and learner."""
    growing = {"by arms": lambda k, d: k * d, "by cliques": lambda k, d: k, "by size": lambda k, d: d}
    curves: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for row in result.rows:
        if row.part in growing and row.unit == "s/round" and row.value is not None:
            at = growing[row.part](*map(float, row.size.split("x")))
            curves.setdefault(row.part, {}).setdefault(row.name, []).append((at, row.value))
    return curves


def _others(result: BenchResult) -> dict[str, float]:
    """Seconds a round of what else there is at 10 x 10, ours among them."""
    ours = {LAZY, EXACT, SECOND_FLOOR}
    chosen = [row for row in result.rows if row.part in ("solvers", "rivals") or row.name in ours]
    chosen = [row for row in chosen if row.part in ("solvers", "rivals") or (row.part, row.size) == ("rounds", "10x10")]
    named = {f"{row.name} ({row.size})" if row.size != "10x10" else row.name: row.value for row in chosen}
    return {name: value for name, value in named.items() if value is not None}


def draw_bars(ax: Axes, bars: Bars) -> Axes:
    """Seconds a round, a group of bars for each size."""
    names = [name for name in STYLES if any(name in group for group in bars.values())]
    width = 0.8 / max(1, len(names))
    for place, name in enumerate(names):
        at = [
            (x + (place - (len(names) - 1) / 2) * width, group[name])
            for x, group in enumerate(bars.values())
            if name in group
        ]
        ax.bar([x for x, _ in at], [y for _, y in at], width=0.92 * width, color=STYLES[name].colour, label=name)
    ax.set_xticks(range(len(bars)), list(bars))
    ax.set_xlabel("cliques x arms of each")
    _finish(ax, "A round of the compiled loop")
    ax.legend(frameon=False, fontsize=8.5)
    return ax


def draw_growth(ax: Axes, way: str, lines: Mapping[str, Curve]) -> Axes:
    """Seconds a round against what grows, both on logarithmic axes."""
    for name, points in lines.items():
        look = STYLES.get(name, STYLES[SECOND_FLOOR])
        x, y = zip(*sorted(points), strict=True)
        ax.plot(
            x, y, color=look.colour, linestyle=look.dashes, linewidth=look.width, marker="o", markersize=4, label=name
        )
    ax.set_xscale("log")
    ax.set_xlabel(AXES.get(way, way))
    _finish(ax, TITLES.get(way, way))
    ax.legend(frameon=False, fontsize=8.5)
    return ax


def draw_others(ax: Axes, others: Mapping[str, float]) -> Axes:
    """Seconds a round of everything that was measured at one size, the fastest on top."""
    ranked = sorted(others.items(), key=lambda item: -item[1])
    colours = [
        STYLES[name].colour if name in STYLES else OURS if name.startswith("allworlds") else "#56B4E9"
        for name, _ in ranked
    ]
    ax.barh(
        [name.replace(" --", "\n--") for name, _ in ranked], [value for _, value in ranked], color=colours, height=0.7
    )
    for place, (_, value) in enumerate(ranked):
        ax.text(value, place, f"  {_seconds(value)}", va="center", fontsize=8)
    ax.set_xscale("log")
    ax.set_xlim(min(others.values()) / 3.0, max(others.values()) * 30.0)
    ax.set_xlabel("seconds a round")
    ax.tick_params(axis="y", labelsize=8.5)
    ax.set_title("What else one would do, 10 cliques of 10 arms", loc="left")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _finish(ax: Axes, title: str) -> None:
    ax.set_yscale("log")
    ax.set_ylabel("seconds a round")
    ax.set_title(title, loc="left")
    ax.spines[["top", "right"]].set_visible(False)


def _seconds(value: float) -> str:
    scale, unit = next((step for step in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")) if value >= step[0]), (1e-9, "ns"))
    return f"{value / scale:.3g} {unit}"
