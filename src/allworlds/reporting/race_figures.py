"""The figures of a race: the headline, regret over time, and where the learner puts its probability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from allworlds.analysis.comparison import RaceSummary, WorstRatio
from allworlds.foundation.specs import parse_spec
from allworlds.reporting.canvas import CATEGORIES, OURS, blank, house_style, learner_styles
from allworlds.reporting.curves import WIDE, curve_figure
from allworlds.worlds import World
from allworlds.worlds.losses import ALTERNATING, STATIONARY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from allworlds.covers import CliqueCover

GREYS = ("#C8C8C8", "#DEDEDE")


def headline_figure(summary: RaceSummary, width: float = WIDE) -> Figure:
    """Each learner's worst ratio as a bar, with the world in which it is reached."""
    with house_style():
        figure = blank(width, 1.0 + 0.42 * len(summary.ratios))
        ratio_bars(figure.subplots(), summary.ratios, summary.ours, short_titles(list(summary.worlds)))
    return figure


def ratio_bars(ax: Axes, ratios: Sequence[WorstRatio], ours: str, titles: Mapping[str, str]) -> Axes:
    """Bars from 1, the best there is, on a logarithmic axis; the smallest ratio on top.

    >>> from allworlds.analysis.comparison import WorstRatio
    >>> rows = [WorstRatio("a", 1.0, "w", True), WorstRatio("b", 4.0, "w", True)]
    >>> ax = ratio_bars(blank(4, 2).subplots(), rows, "a", {"w": "windy"})
    >>> [text.get_text() for text in ax.texts]
    ['1.00  windy', '4.00  windy']

    A learner without a ratio gets no bar.
    """
    places = np.arange(len(ratios))[::-1]
    longest = max([1.5, *(row.ratio for row in ratios if row.ratio is not None)])
    for place, row in zip(places, ratios, strict=True):
        if row.ratio is None or row.world is None:
            continue
        colour = OURS if row.learner == ours else "#9A9A9A" if row.rival else "#D8D8D8"
        end = max(row.ratio, 1.02)  # a bar that can be seen
        ax.barh(place, end - 1.0, left=1.0, height=0.68, color=colour)
        weight = "bold" if row.learner == ours else "normal"
        ax.text(end * 1.03, place, f"{row.ratio:.2f}  {titles[row.world]}", va="center", fontweight=weight)
    names = [row.learner if row.rival else f"({row.learner})" for row in ratios]
    ax.set_yticks(places, names)
    ax.set_ylim(-0.7, len(ratios) - 0.3)  # a share of the height would leave wide bands where learners are many
    for name, row in zip(ax.get_yticklabels(), ratios, strict=True):
        name.set_fontweight("bold" if row.learner == ours else "normal")
    ax.set_xscale("log")
    ax.set_xlim(0.99, longest**1.35 * 1.6)
    ticks = [tick for tick in (1, 1.5, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000) if tick <= longest * 1.3]
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    ax.axvline(1.0, color="#222222", linewidth=1.0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("worst ratio over worlds (1 is best, log scale), and the world where it happens")
    return ax


def regret_figure(summary: RaceSummary, world: str) -> Figure:
    """Regret over time in one world, with the lines of theory."""
    styles = learner_styles(summary.learners, summary.ours, summary.rivals)
    curves = {one.learner: (one.rounds, one.pseudo_regret) for one in summary.runs_in(world)}
    return curve_figure(curves, styles, "pseudo-regret", summary.theory[world])


def mass_figure(summary: RaceSummary) -> Figure | None:
    """How our learner divides its probability between the cliques, a panel a world; None without cliques."""
    ours = [one for one in summary.runs if one.learner == summary.ours]
    runs = [(one.world, one.rounds, one.clique_mass) for one in ours if one.clique_mass is not None]
    cover = summary.cover
    if not runs or cover is None or cover.n_cliques < 2:
        return None
    titles = short_titles(list(summary.worlds))
    rows, wide = -(-len(runs) // 3), min(3, len(runs))
    with house_style():
        figure = blank(WIDE, 0.4 + 3.2 * rows)
        panels = figure.subplots(rows, wide, sharey=True, squeeze=False)
        for ax, (world, rounds, masses) in zip(panels.flat, runs, strict=False):
            mass_areas(ax, rounds, masses, named_cliques(cover, summary.worlds[world], masses))
            ax.set_title(titles[world])
            ax.set_xlabel("round, log scale")
        for ax in panels.flat[len(runs) :]:
            ax.axis("off")
        for ax in panels[:, 0]:
            ax.set_ylabel("probability, mean of the seeds")
    return figure


def named_cliques(cover: CliqueCover, world: World, masses: NDArray[np.float64]) -> dict[int, str]:
    """The cliques that get a colour and a name: the best arm's, or the largest where the best arm changes."""
    if world.arrays.kind in (STATIONARY, ALTERNATING):
        return {int(cover.owner[world.best_arm]): "best clique"}
    largest = np.argsort(-masses[len(masses) // 4 :].max(axis=0), kind="stable")[:5]
    return {int(k): f"clique {k}" for k in sorted(largest)}


def mass_areas(ax: Axes, rounds: NDArray[np.int64], masses: NDArray[np.float64], named: Mapping[int, str]) -> Axes:
    """Areas that add up to one: named cliques below in colour, the others above in greys; masses are (R, K).

    A legend below the axes names the colours.

    >>> masses = np.array([[0.5, 0.5], [0.1, 0.9]])
    >>> ax = mass_areas(blank(3, 2).subplots(), np.array([1, 10]), masses, {1: "good"})
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['good', 'the other clique']
    """
    others = [k for k in range(masses.shape[1]) if k not in named]
    colours = [CATEGORIES[n % len(CATEGORIES)] for n in range(len(named))]
    colours += [GREYS[n % 2] for n in range(len(others))]
    areas = ax.stackplot(rounds, masses[:, [*named, *others]].T, colors=colours, linewidth=0)
    ax.set_xscale("log")
    ax.set_xlim(rounds[0], rounds[-1] if len(rounds) > 1 else rounds[0] + 1)
    ax.set_ylim(0.0, 1.0)
    names = list(named.values())
    if others:
        names.append("the other clique" if len(others) == 1 else f"the other {len(others)} cliques")
    ax.legend(
        areas[: len(names)],
        names,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.2),
        ncols=2,
        frameon=False,
        handlelength=1.0,
    )
    return ax


def title_of(spec: str) -> str:
    """A spec as a heading.

    >>> title_of("constrained-adversary:gap=0.125,growth=1.6")
    'Constrained adversary (gap 0.125, growth 1.6)'
    >>> title_of("corrupted:attack=best-worst,budget=1000")
    'Corrupted (attack best-worst, budget 1000)'
    """
    parsed = parse_spec(spec)
    name = _spoken(parsed.name).capitalize()
    details = [str(value) for value in parsed.positional]
    for key, value in parsed.options.items():
        listed = "/".join(map(str, value)) if isinstance(value, tuple) else str(value)
        details.append(f"{key.replace('_', ' ')} {listed if len(listed) <= 40 else listed[:37] + '…'}")
    return f"{name} ({', '.join(details)})" if details else name


def short_titles(specs: list[str]) -> dict[str, str]:
    """Short names of worlds for figures, with only the options that tell worlds of one name apart.

    >>> short_titles(["stochastic:gap=0.1", "stochastic:gap=0.2", "switching:gap=0.1"])["stochastic:gap=0.2"]
    'stochastic, gap 0.2'
    >>> short_titles(["stochastic:gap=0.1"])["stochastic:gap=0.1"]
    'stochastic'
    >>> list(short_titles(["lock-in", "constrained-adversary"]).values())
    ['lock-in', 'constrained adversary']
    """
    parsed = {spec: parse_spec(spec) for spec in specs}
    titles = {}
    for spec, one in parsed.items():
        name = _spoken(one.name)
        same = [other for other in parsed.values() if other.name == one.name]
        distinct = [
            f"{key} {value}"
            for key, value in one.options.items()
            if any(other.options.get(key) != value for other in same)
        ]
        titles[spec] = ", ".join([name, *distinct])
    return titles


def _spoken(name: str) -> str:
    return name if name == "lock-in" else name.replace("-", " ")  # a lock-in is one word
