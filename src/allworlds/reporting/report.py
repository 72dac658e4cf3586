"""One page that tells a race: it opens from disk, and needs no network and no script."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from allworlds.reporting.lines import theory_lines
from allworlds.reporting.page import (
    broken_lines,
    fact_list,
    figure_element,
    inline_svg,
    save_figures,
    whole_page,
    write_page,
)
from allworlds.reporting.race_figures import has_logarithms, headline_figure, mass_figure, regret_figure
from allworlds.reporting.story import RaceSummary, title_of
from allworlds.reporting.tables import ratio_table, standing_table
from allworlds.reporting.words import about_world, counted, finding, how_read, why_the_paper_is_slow

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAPER = "tsallis-shannon-paper"
ABOUT_REGRET = (
    "<p><b>Regret</b> is what a learner lost in mean beyond the best single arm in hindsight; less is better. "
    "All learners meet the same losses with the same seed. Under corruption, regret counts the losses as "
    "they were played; the tables also show it on the clean ones.</p>"
)


def write_report(story: RaceSummary, folder: Path) -> Path:
    """Write ``report.html``, and each figure as SVG and PDF in ``figures/``; give the path of the page."""
    figures = draw_figures(story)
    save_figures(figures, folder)
    return write_page(make_page(story, {name: inline_svg(figure) for name, figure in figures.items()}), folder)


def draw_figures(story: RaceSummary) -> dict[str, Figure]:
    """The figures by the name of their files: the headline if there are ratios, each world's regret, the masses."""
    figures = {"headline": headline_figure(story)} if story.has_ratios else {}
    for number, world in enumerate(story.worlds, start=1):
        figures[world_name(number, world)] = regret_figure(story, world)
    masses = mass_figure(story)
    return figures | ({} if masses is None else {"masses": masses})


def world_name(number: int, world: str) -> str:
    """A file name for a world's figure.

    >>> world_name(1, "stochastic:gap=0.125")
    'world-1-stochastic'
    """
    return f"world-{number}-{world.partition(':')[0]}"


def make_page(story: RaceSummary, svgs: dict[str, str]) -> str:
    """The whole page."""
    graph, cover = story.graph, story.cover
    where = (
        f"{counted(len(story.learners), 'learner')}, {counted(len(story.worlds), 'world')}, "
        f"{counted(story.horizon, 'round')}, {counted(len(story.seeds), 'seed')}; graph {how_read(graph, cover)}"
    )
    parts = [
        "<h1>The race: who is good in every world?</h1>",
        f'<p class="where">{escape(where)}</p>',
        f'<p class="finding">{escape(finding(story))}</p>',
        *([_headline(story, svgs["headline"])] if "headline" in svgs else []),
        ABOUT_REGRET,
    ]
    for number, world in enumerate(story.worlds, start=1):
        parts.append(_world(story, world, number, svgs[world_name(number, world)]))
    if "masses" in svgs:
        parts.append(_masses(story, svgs["masses"]))
    if PAPER in story.learners and story.cover.n_cliques > 1:  # with one clique alpha drops out
        parts += ["<h2>Why the paper's constants are slow</h2>", f"<p>{why_the_paper_is_slow(story)}</p>"]
    parts.append(_repeat(story))
    return whole_page(f"allworlds race: {graph}", "\n".join(parts))


def _headline(story: RaceSummary, svg: str) -> str:
    lines = [row.learner for row in story.ratios if not row.rival]
    beside = f" In brackets: {', '.join(lines)}, which sees more than the graph shows and is no rival." if lines else ""
    caption = (
        "How far each learner falls behind in the world that suits it least. In each world its mean regret is "
        "divided by the smallest mean regret of any learner; the largest of these ratios is drawn. A learner with a "
        f"short bar is a safe choice among these worlds; the figure says nothing about others.{beside}"
    )
    described = "; ".join(f"{row.learner}: {row.ratio:.2f}" for row in story.ratios if row.ratio is not None)
    return "\n".join(
        [
            figure_element(svg, f"Bar chart of worst ratios over worlds. {described}", escape(caption)),
            "<h3>Ratios by world</h3>",
            ratio_table(story),
        ]
    )


def _world(story: RaceSummary, world: str, number: int, svg: str) -> str:
    seeds = len(story.seeds)
    band = ", and a band from the 10th to the 90th percentile" if seeds > 1 else ""
    caption = f"Pseudo-regret over time: mean of {counted(seeds, 'seed')}{band}."
    runs = story.runs_in(world)
    if has_logarithms(runs):
        caption += " Left: linear. Right: the same on logarithmic axes, where √t has slope one half."
        if any(float(one.final.mean()) < 1.0 for one in runs):
            caption += " On the right, what is below 1 is cut off."
        caption = " ".join([caption, *(line.sentence for line in theory_lines(story, world))])
    described = "; ".join(f"{row.learner}: {row.regret.mean:.0f}" for row in story.standings_in(world))
    return "\n".join(
        [
            f'<h2 id="world-{number}">{escape(title_of(world))}</h2>',
            f"<p>{escape(about_world(story, world))} Written <code>{escape(world)}</code>.</p>",
            figure_element(svg, f"Regret over time. Mean regret at the end: {described}", escape(caption)),
            standing_table(story, world),
        ]
    )


def _masses(story: RaceSummary, svg: str) -> str:
    caption = (
        f"The probability that {story.ours} gives to each clique over time, mean of the seeds. The clique of the best "
        "arm takes over where there is one; where the best arm changes, the largest cliques are named."
    )
    described = f"Areas of the clique probabilities of {story.ours} over time, a panel for each world"
    return f"<h2>Where {escape(story.ours)} looks</h2>\n{figure_element(svg, described, escape(caption))}"


def _repeat(story: RaceSummary) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in story.versions.items())
    seeds = f"{story.seeds[0]} to {story.seeds[-1]}" if len(story.seeds) > 1 else str(story.seeds[0])
    facts = {"seeds": seeds, "versions": versions, "machine": story.machine}
    return (
        "<h2>How to repeat it</h2>\n"
        f"<pre>{escape(broken_lines(story.command))}</pre>\n{fact_list(facts)}\n"
        "<p>The same version on the same kind of machine gives the same numbers, whatever the number of threads; only "
        "the speeds differ. The figures are also in <code>figures/</code> as SVG and PDF, all numbers in "
        "<code>result.json</code>. Intervals are Student's, over seeds. Learners are compared seed by seed.</p>"
    )
