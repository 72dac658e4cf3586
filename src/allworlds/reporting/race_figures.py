"""The figures of a race: the headline, regret over time, and where the learner puts its probability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from allworlds.reporting.canvas import CATEGORIES, blank, house_style
from allworlds.reporting.labels import EndLabel, label_ends
from allworlds.reporting.lines import TheoryLine, theory_lines
from allworlds.reporting.story import RaceSummary, short_titles
from allworlds.reporting.styles import OURS, Style, learner_styles
from allworlds.worlds.losses import ALTERNATING, STATIONARY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from allworlds.analysis.comparison import WorstRatio
    from allworlds.analysis.runs import Runs
    from allworlds.worlds import World

GREYS = ("#C8C8C8", "#DEDEDE")
WIDE = 10.0
"""Inches, of every figure: a page gives all the same width, so that their letters have the same size."""
ZOOM = 1000
"""Logarithmic axes show the last three powers of ten of the rounds; before, all learners look alike."""


def headline_figure(story: RaceSummary) -> Figure:
    """Each learner's worst ratio as a bar, with the world in which it is reached."""
    with house_style():
        figure = blank(WIDE, 1.0 + 0.42 * len(story.ratios))
        ratio_bars(figure.subplots(), story.ratios, story.ours, short_titles(list(story.worlds)))
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
    for name, row in zip(ax.get_yticklabels(), ratios, strict=True):
        name.set_fontweight("bold" if row.learner == ours else "normal")
    ax.set_xscale("log")
    ax.set_xlim(0.99, longest**1.35 * 1.6)
    ticks = [tick for tick in (1, 1.5, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000) if tick <= longest * 1.3]
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    ax.axvline(1.0, color="#222222", linewidth=1.0)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("worst ratio over worlds (1 is best, log scale), and the world where it happens")
    return ax


def regret_figure(story: RaceSummary, world: str) -> Figure:
    """Regret over time in one world: linear left, both axes logarithmic right, names at the ends of the curves.

    Where most regrets are not positive there is nothing to take logarithms of, and only the left panel is drawn.
    """
    styles = learner_styles(story.learners, story.ours, story.rivals)
    runs = story.runs_in(world)
    lines = theory_lines(story, world)
    with house_style():
        figure = blank(WIDE, max(4.0, 0.9 + 0.27 * (len(runs) + len(lines))))
        both = has_logarithms(runs)
        left, *right = figure.subplots(1, 2 if both else 1, squeeze=False)[0]
        regret_curves(left, runs, styles)
        left.set_xlim(0, story.horizon)
        top = max(float(one.pseudo_regret.mean(axis=0).max()) for one in runs)
        bottom = min(0.0, min(float(one.pseudo_regret.mean(axis=0).min()) for one in runs))
        left.set_ylim(1.05 * bottom, 1.08 * max(top, 1.0))
        left.set_xlabel("round")
        left.set_ylabel("pseudo-regret (mean, 10–90 % band)")
        left.ticklabel_format(style="plain")
        if both:
            log_log_regret(right[0], runs, styles, lines)
        else:
            label_ends(left, [EndLabel(float(one.final.mean()), one.learner, styles[one.learner]) for one in runs])
    return figure


def has_logarithms(runs: Sequence[Runs]) -> bool:
    """Whether at least half of the learners end with a mean regret of one or more."""
    return 2 * sum(float(one.final.mean()) >= 1.0 for one in runs) >= len(runs)


def regret_curves(ax: Axes, runs: Sequence[Runs], styles: Mapping[str, Style]) -> Axes:
    """A curve for each learner's mean, and a band from the tenth to the ninetieth percentile of its seeds."""
    for order, one in enumerate(sorted(runs, key=lambda one: styles[one.learner].width)):
        draw_curve(ax, one.rounds, one.pseudo_regret, styles[one.learner], order)
    return plain_axes(ax)


def draw_curve(ax: Axes, rounds: NDArray[np.int64], values: NDArray[np.float64], style: Style, order: int = 0) -> None:
    """The mean of the seeds with its band; ``values`` is (S, R), and a larger ``order`` lies above."""
    if len(values) > 1:
        low, high = np.quantile(values, [0.1, 0.9], axis=0)
        ax.fill_between(rounds, low, high, color=style.colour, alpha=0.14, linewidth=0, zorder=1)
    mean = values.mean(axis=0)
    ax.plot(rounds, mean, color=style.colour, linestyle=style.dashes, linewidth=style.width, zorder=2 + order)


def plain_axes(ax: Axes) -> Axes:
    """A faint grid, and no box."""
    ax.grid(color="#E6E6E6", linewidth=0.6)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax


def log_log_regret(ax: Axes, runs: Sequence[Runs], styles: Mapping[str, Style], lines: Sequence[TheoryLine]) -> Axes:
    """The same curves on logarithmic axes, with what theory says and names at the right."""
    regret_curves(ax, runs, styles)
    rounds = runs[0].rounds
    for line in lines:
        ax.plot(rounds, line.values, color=line.style.colour, linestyle=line.style.dashes, linewidth=line.style.width)
    finals = [float(one.final.mean()) for one in runs] + [float(line.values[-1]) for line in lines]
    top = max([2.0, *(final for final in finals if np.isfinite(final))])
    first = int(np.searchsorted(rounds, rounds[-1] / ZOOM))
    early = [float(one.pseudo_regret.mean(axis=0)[first:].min()) for one in runs]
    ax.set_xlim(float(rounds[first]), float(rounds[-1]) if first < len(rounds) - 1 else 2.0 * float(rounds[first]))
    ax.set_ylim(max(1.0, 0.7 * min(early)), 1.5 * top)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("round, log scale")
    ends = [EndLabel(max(float(one.final.mean()), 1.0), one.learner, styles[one.learner]) for one in runs]
    ends += [EndLabel(max(float(line.values[-1]), 1.0), line.text, line.style) for line in lines]
    label_ends(ax, ends)
    return ax


def mass_figure(story: RaceSummary, columns: int = 3) -> Figure | None:
    """How our learner divides its probability between the cliques, a panel a world; None without cliques."""
    runs = [one for one in story.runs if one.learner == story.ours and one.clique_mass is not None]
    if not runs or story.cover.n_cliques < 2:
        return None
    titles = short_titles(list(story.worlds))
    rows = -(-len(runs) // columns)
    wide = min(columns, len(runs))
    with house_style():
        figure = blank(WIDE, 0.4 + 3.2 * rows)
        panels = figure.subplots(rows, wide, sharey=True, squeeze=False)
        for number, ax in enumerate(panels.flat):
            if number >= len(runs):
                ax.axis("off")
                continue
            one = runs[number]
            assert one.clique_mass is not None
            told = told_cliques(story, story.worlds[one.world], one.clique_mass)
            mass_areas(ax, one.rounds, one.clique_mass, told)
            ax.set_title(titles[one.world])
            ax.set_xlabel("round, log scale")
            if number % wide == 0:
                ax.set_ylabel("probability, mean of the seeds")
    return figure


def told_cliques(story: RaceSummary, world: World, masses: NDArray[np.float64]) -> dict[int, str]:
    """The cliques that get a colour and a name: the best arm's, or the largest where the best arm changes."""
    if world.nature.kind in (STATIONARY, ALTERNATING):
        return {int(story.cover.owner[world.best_arm]): "best clique"}
    largest = np.argsort(-masses[len(masses) // 4 :].max(axis=0), kind="stable")[:5]
    return {int(k): f"clique {k}" for k in sorted(largest)}


def mass_areas(ax: Axes, rounds: NDArray[np.int64], masses: NDArray[np.float64], told: Mapping[int, str]) -> Axes:
    """Areas that add up to one: named cliques below in colour, the others above in greys; masses are (R, K).

    A legend below the axes names the colours.

    >>> masses = np.array([[0.5, 0.5], [0.1, 0.9]])
    >>> ax = mass_areas(blank(3, 2).subplots(), np.array([1, 10]), masses, {1: "good"})
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['good', 'the other clique']
    """
    others = [k for k in range(masses.shape[1]) if k not in told]
    colours = [CATEGORIES[n % len(CATEGORIES)] for n in range(len(told))]
    colours += [GREYS[n % 2] for n in range(len(others))]
    areas = ax.stackplot(rounds, masses[:, [*told, *others]].T, colors=colours, linewidth=0)
    ax.set_xscale("log")
    ax.set_xlim(rounds[0], rounds[-1] if len(rounds) > 1 else rounds[0] + 1)
    ax.set_ylim(0.0, 1.0)
    names = list(told.values())
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
