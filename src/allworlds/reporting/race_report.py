"""The page of a race: what was found, in sentences, figures and tables, and how to repeat it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from allworlds.analysis.comparison import LEAST_REGRET, RaceSummary, Standing
from allworlds.covers import CliqueCover
from allworlds.foundation.errors import counted
from allworlds.foundation.specs import parse_spec
from allworlds.ftrl import Constants
from allworlds.graphs import AnyGraph, FeedbackGraph, NoisyGraph
from allworlds.reporting.curves import has_logarithms
from allworlds.reporting.heat_map import MIDDLE, SAFE, heat_table
from allworlds.reporting.heat_map import NEAR as BEST
from allworlds.reporting.page import (
    TableCell,
    between,
    figure_element,
    how_to_repeat,
    number,
    save_figures,
    table,
    table_row,
    whole_page,
    with_interval,
    write_page,
)
from allworlds.reporting.race_figures import headline_figure, mass_figure, regret_figure, short_titles, title_of
from allworlds.worlds.by_name import WORLDS
from allworlds.worlds.corrupted import ATTACKS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NO_RATIO = "The best regret here is about zero or below, so there are no ratios: read the table."
NEAR, FAR = 1.5, 3.0
"""Ratios up to the first are shaded as good, from the second on as bad."""
PAPER = "tsallis-shannon-paper"
ABOUT_REGRET = (
    "<p><b>Regret</b> is how much more a learner lost on average than the best single arm in hindsight; less is "
    "better. All learners meet the same losses with the same seed. Under corruption, regret counts the losses as "
    "they were played; the tables also show it on the clean ones.</p>"
)
ABOUT_RATIOS = (
    f"Mean regret over the best learner's in each world, the safest learner first: blue is near the best, orange far "
    f"from it. Safe: at most {SAFE:g} times the best in every world. Specialist: not safe, but at most {BEST:g} times "
    f"the best in some world where others have more than {MIDDLE:g} times. Worlds in which the best regret is about "
    "zero or below have no ratios and are left out."
)
OVER_TIME = "Regret over time. Mean regret at the end"
MANY = 16
"""With more learners than that, curves could not be told apart: the page has tables alone for each world."""


def write_race_report(summary: RaceSummary, folder: Path) -> Path:
    """Write ``report.html``, and each figure as SVG and PDF in ``figures/``; returns the path of the page."""
    return write_page(make_page(summary, save_figures(draw_figures(summary), folder)), folder)


def draw_figures(summary: RaceSummary) -> dict[str, Figure]:
    """The figures by the name of their files: the headline if there are ratios, each world's regret, the masses."""
    figures = {"headline": headline_figure(summary)} if summary.has_ratios else {}
    for place, world in enumerate(summary.worlds if len(summary.learners) <= MANY else (), start=1):
        figures[world_name(place, world)] = regret_figure(summary, world)
    masses = mass_figure(summary)
    return figures | ({} if masses is None else {"masses": masses})


def world_name(place: int, world: str) -> str:
    """A file name for a world's figure.

    >>> world_name(1, "stochastic:gap=0.125")
    'world-1-stochastic'
    """
    return f"world-{place}-{world.partition(':')[0]}"


def make_page(summary: RaceSummary, svgs: dict[str, str]) -> str:
    """The whole page."""
    graph = summary.graph
    where = (
        f"{counted(len(summary.learners), 'learner')}, {counted(len(summary.worlds), 'world')}, "
        f"{counted(summary.horizon, 'round')}, {counted(len(summary.seeds), 'seed')}; "
        f"graph {describe_graph(graph, summary.played_on)}"
    )
    parts = [
        "<h1>The race: who is good in every world?</h1>",
        f'<p class="where">{escape(where)}</p>',
        f'<p class="finding">{escape(finding(summary))}</p>',
        *([_headline(summary, svgs["headline"])] if "headline" in svgs else []),
        ABOUT_REGRET,
    ]
    for place, world in enumerate(summary.worlds, start=1):
        parts.append(_world(summary, world, place, svgs.get(world_name(place, world))))
    if "masses" in svgs:
        parts.append(_masses(summary, svgs["masses"]))
    cover = summary.cover
    if PAPER in summary.learners and cover is not None and cover.n_cliques > 1:  # with one clique alpha drops out
        parts += ["<h2>Why the paper's constants are slow</h2>", f"<p>{why_the_paper_is_slow(summary, cover)}</p>"]
    parts.append(_repeat(summary))
    return whole_page(f"allworlds race: {graph}", "\n".join(parts))


def _headline(summary: RaceSummary, svg: str) -> str:
    lines = beside(summary)
    note = f": {', '.join(lines)}, which sees more than the graph shows and does not compete." if lines else ""
    in_brackets, in_italics = (f" In {look}{note}" if lines else "" for look in ("brackets", "italics"))
    caption = (
        "How far each learner falls behind in the world that suits it least. In each world its mean regret is "
        "divided by the smallest mean regret of any learner; the largest of these ratios is drawn. A learner with a "
        f"short bar is a safe choice among these worlds; the figure says nothing about others.{in_brackets}"
    )
    described = "; ".join(f"{row.learner}: {row.ratio:.2f}" for row in summary.ratios if row.ratio is not None)
    bars = figure_element(svg, f"Bar chart of worst ratios over worlds. {described}", escape(caption))
    matrix = ["<h3>Ratios by world</h3>", f"<p>{escape(ABOUT_RATIOS + in_italics)}</p>", ratio_table(summary)]
    many = len(summary.ratios) > MANY  # so many bars are too small to read on a phone, and the matrix has their numbers
    return "\n".join([*matrix, bars] if many else [bars, *matrix])


def beside(summary: RaceSummary) -> list[str]:
    """The learners that see more than the graph shows, and do not compete."""
    return [row.learner for row in summary.ratios if not row.rival]


def _world(summary: RaceSummary, world: str, place: int, svg: str | None) -> str:
    seeds = len(summary.seeds)
    band = ", and a band from the 10th to the 90th percentile" if seeds > 1 else ""
    caption = f"Pseudo-regret over time: mean of {counted(seeds, 'seed')}{band}."
    finals = [float(one.final.mean()) for one in summary.runs_in(world)]
    if has_logarithms(finals):
        caption += " Left: linear. Right: the same on logarithmic axes, where √t has slope one half."
        if min(finals) < 1.0:
            caption += " On the right, what is below 1 is cut off."
        caption = " ".join([caption, *(line.sentence for line in summary.theory[world])])
    described = "; ".join(f"{row.learner}: {row.regret.mean:.0f}" for row in summary.standings_in(world))
    return "\n".join(
        [
            f'<h2 id="world-{place}">{escape(title_of(world))}</h2>',
            f"<p>{escape(about_world(summary, world))} Written <code>{escape(world)}</code>.</p>",
            *([] if svg is None else [figure_element(svg, f"{OVER_TIME}: {described}", escape(caption))]),
            standing_table(summary, world),
        ]
    )


def _masses(summary: RaceSummary, svg: str) -> str:
    caption = (
        f"The probability that {summary.ours} gives to each clique over time, mean of the seeds. The clique of the "
        "best arm takes over where there is one; where the best arm changes, the largest cliques are named."
    )
    described = f"Areas of the clique probabilities of {summary.ours} over time, a panel for each world"
    return f"<h2>Where {escape(summary.ours)} looks</h2>\n{figure_element(svg, described, escape(caption))}"


def _repeat(summary: RaceSummary) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in summary.versions.items())
    seeds = f"{summary.seeds[0]} to {summary.seeds[-1]}" if len(summary.seeds) > 1 else str(summary.seeds[0])
    facts = {"seeds": seeds, "versions": versions, "machine": summary.machine}
    numbers = (
        "; only the speeds differ. The figures are also in <code>figures/</code> as SVG and PDF, all numbers in "
        "<code>result.json</code>. Intervals are Student's, over seeds. Learners are compared seed by seed."
    )
    return how_to_repeat(summary.command, facts, numbers)


# --- sentences ---


def describe_graph(graph: str, played_on: CliqueCover | AnyGraph) -> str:
    """The graph that a spec names, in a sentence: its size, and what is special about it.

    >>> from allworlds.covers import clique_cover
    >>> from allworlds.graphs import disjoint_cliques, loopy_star
    >>> describe_graph("disjoint-cliques:10x10", clique_cover(disjoint_cliques(10, 10)))
    'disjoint-cliques:10x10: 100 arms in 10 cliques, 450 edges'
    >>> describe_graph("loopy-star:4", loopy_star(4))
    'loopy-star:4: 4 arms, 3 directed edges, strongly observable'
    """
    arms = counted(played_on.n_arms, "arm")
    if isinstance(played_on, CliqueCover):
        cliques = counted(played_on.n_cliques, "clique")
        return f"{graph}: {arms} in {cliques}, {counted(played_on.graph.n_edges, 'edge')}"
    if isinstance(played_on, FeedbackGraph):
        edges = counted(played_on.n_edges, "directed edge")
        return f"{graph}: {arms}, {edges}, {played_on.observability}ly observable"
    if isinstance(played_on, NoisyGraph):
        return f"{graph}: {arms}, noisy"
    return f"{graph}: {arms}, changing, told {played_on.told} the choice"


def finding(summary: RaceSummary) -> str:
    """The headline in a sentence or two, on the learners that compete; ratios are compared as they are printed."""
    titles = short_titles(list(summary.worlds))
    rows = [row for row in summary.ratios if row.rival] or list(summary.ratios)
    ours = next((row for row in rows if row.learner == summary.ours), rows[0])
    other = next((row for row in rows if row is not ours), None)  # the best of them: rows are sorted
    if ours.ratio is None or ours.world is None:
        return "In every world of this race the best regret is about zero or below, so ratios of regret say nothing."
    compared = len({row.world for row in summary.standings if row.ratio is not None})
    every = compared == len(summary.worlds)
    worlds = f"{'all' if every else 'the'} {compared} worlds" if compared > 1 else "the one world"
    worlds += " of this race" if every else " of this race that have ratios"
    mine = round(ours.ratio, 2)
    if mine <= 1.0:
        nearly = ", within half a per cent" if ours.ratio > 1.0 else ""
        first = f"{ours.learner} has the least regret in {worlds}{nearly}."
    else:
        first = (
            f"In {worlds}, {ours.learner} has at most {mine:.2f} times the regret of the best "
            f"learner there (most in {titles[ours.world]})."
        )
    if other is None or other.ratio is None or other.world is None:
        return first
    theirs = round(other.ratio, 2)
    if theirs == mine:
        return f"{first} {other.learner} is as good as {ours.learner} by this measure."
    if theirs < mine:
        return f"{first} {other.learner} does better: at most {theirs:.2f} times (most in {titles[other.world]})."
    return (
        f"{first} Every other learner reaches at least {theirs:.2f} times the best regret in some world; "
        f"the next one is {other.learner}, in {titles[other.world]}."
    )


def about_world(summary: RaceSummary, spec: str) -> str:
    """What kind of world it is, what was tampered with, and whether ratios say anything."""
    parsed, rows = parse_spec(spec), summary.standings_in(spec)
    line = WORLDS[parsed.name].line
    sentences = [line[0].upper() + line[1:] + "."]
    if parsed.name == "corrupted":
        attack = ATTACKS[str(parsed.options.get("attack", "best-worst"))]
        sentences.append(f"{attack.sentence} The corruption spent is {rows[0].corruption:,.0f}.")
        if attack.changes_best:
            sentences.append("Regret stays low for as long as the tampering makes another arm the best in hindsight.")
    if rows[0].ratio is None:
        sentences.append(NO_RATIO)
    return " ".join(sentences)


def why_the_paper_is_slow(summary: RaceSummary, cover: CliqueCover) -> str:
    """One paragraph on the printed constants, with the numbers of this race."""
    paper, practical = Constants.paper(cover, summary.horizon), Constants.practical(cover)
    rate = practical.eta0 * float(practical.rate_factors.max())
    rounds = f"√(t + {practical.head_start:.0f})" if practical.head_start else "√t"
    speed = (rate / max(practical.alpha)) / (paper.eta0 / max(paper.alpha))
    regret = {(row.world, row.learner): row.regret.mean for row in summary.standings}
    uniform = {world: regret.get((world, "uniform"), 0.0) for world in summary.worlds}
    ratios = [regret[world, PAPER] / value for world, value in uniform.items() if value >= LEAST_REGRET]
    measured = (
        f"In this race it has {min(ratios):.2f} to {max(ratios):.2f} times the regret of uniform play. "
        if ratios
        else ""
    )
    return escape(
        f"The paper proves its bound with a weight α = 2(1 + log²(NT)) = {max(paper.alpha):,.0f} of the Tsallis "
        f"entropy, which makes every step {speed:,.0f} times smaller than in the practical setting (α = "
        f"{max(practical.alpha):.2f}, rate {rate:.1f}/{rounds}). The size of α "
        f"comes from the proof, which bounds logarithms of tiny probabilities by log(NT); the exact condition needs "
        f"far less (docs/sharp_constants.md). {measured}Nothing is wrong with the algorithm: only its constants were "
        f"chosen for the proof."
    )


# --- tables ---


def ratio_table(summary: RaceSummary) -> str:
    """Learner by world as a heat map, the smallest worst ratio first."""
    ratios: dict[str, dict[str, float | None]] = {row.learner: {} for row in summary.ratios}
    for row in summary.standings:
        ratios[row.learner][row.world] = row.ratio
    shown = [world for world in summary.worlds if any(row.get(world) is not None for row in ratios.values())]
    titles = short_titles(list(summary.worlds))
    looks = {row.learner: _look(summary, row.learner, best=False) for row in summary.ratios}
    return heat_table(ratios, {world: titles[world] for world in shown}, looks, beside(summary))


def standing_table(summary: RaceSummary, world: str) -> str:
    """One world: every number that the race knows about each learner, the least regret first."""
    rows = summary.standings_in(world)
    columns: dict[str, Callable[[Standing], TableCell]] = {
        "mean regret": lambda row: number(row.regret.mean),
        "95 % interval": lambda row: between(row.regret),
        "90 % and 99 % quantile": lambda row: f"{number(row.quantile_90)}, {number(row.quantile_99)}",
        "worst seed": lambda row: number(row.worst),
        "on clean losses": lambda row: number(row.clean_regret.mean),
        "ratio": lambda row: _shaded(row.ratio),
        f"more than {summary.ours} (95 % interval)": lambda row: (
            with_interval(row.difference) if row.difference else ""
        ),
        "rounds/s": lambda row: f"{row.rounds_per_second / 1000:,.0f}k",
    }
    if not any(row.corruption > 0.0 for row in rows):
        del columns["on clean losses"]
    leader = next((row for row in rows if summary.rivals[row.learner]), None)
    cells = [[write(row) for write in columns.values()] for row in rows]
    body = [_row(summary, row.learner, some, best=row is leader) for row, some in zip(rows, cells, strict=True)]
    return table(["learner", *columns], body)


def _shaded(ratio: float | None) -> TableCell:
    return "–" if ratio is None else (f"{ratio:.2f}", "near" if ratio <= NEAR else "far" if ratio >= FAR else "")


def _row(summary: RaceSummary, learner: str, cells: Iterable[TableCell], *, best: bool) -> str:
    return table_row([learner, *cells], _look(summary, learner, best=best))


def _look(summary: RaceSummary, learner: str, *, best: bool) -> str:
    marks = [("best", best), ("ours", learner == summary.ours), ("line", not summary.rivals[learner])]
    return " ".join(name for name, holds in marks if holds)
