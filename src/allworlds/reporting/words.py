"""The sentences of a report that depend on its numbers."""

from __future__ import annotations

from html import escape

from allworlds.covers import CliqueCover
from allworlds.foundation.specs import parse_spec
from allworlds.ftrl import Constants
from allworlds.reporting.story import RaceSummary, short_titles
from allworlds.worlds.by_name import WORLDS

ATTACKS = {
    "flip": "All losses of the first rounds are turned round.",
    "best-worst": "The best arm loses 1 in every round until the budget is spent.",
    "decoy-best": "A bad arm loses 0 in every round until the budget is spent.",
    "spread": "The best arm loses 1 in some rounds, evenly over the whole run.",
    "periodic": "The best arm loses 1 in every second stretch of rounds until the budget is spent.",
    "all-worst": "Every arm loses 1 until the budget is spent: it misleads rules that trust averages.",
}


NO_RATIO = "The best regret here is about zero or below, so there are no ratios: read the table."


def counted(number: int, thing: str) -> str:
    """A number and its noun.

    >>> counted(1, "world"), counted(1200, "run")
    ('1 world', '1,200 runs')
    """
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def how_read(graph: str, cover: CliqueCover) -> str:
    """What a graph's spec was taken for.

    >>> from allworlds.covers import clique_cover
    >>> from allworlds.graphs import disjoint_cliques
    >>> how_read("disjoint-cliques:10x10", clique_cover(disjoint_cliques(10, 10)))
    'disjoint-cliques:10x10: 100 arms in 10 cliques, 450 edges'
    """
    arms, cliques = counted(cover.n_arms, "arm"), counted(cover.n_cliques, "clique")
    return f"{graph}: {arms} in {cliques}, {counted(cover.graph.n_edges, 'edge')}"


def finding(story: RaceSummary) -> str:
    """The headline in a sentence or two, whoever won."""
    titles = short_titles(list(story.worlds))
    ours = next(row for row in story.ratios if row.learner == story.ours)
    if ours.ratio is None or ours.world is None:
        return "In every world of this race the best regret is about zero or below, so ratios of regret say nothing."
    others = [row for row in story.ratios if row.rival and row.learner != story.ours]
    compared = len({row.world for row in story.standings if row.ratio is not None})
    every = compared == len(story.worlds)
    worlds = f"{'all' if every else 'the'} {compared} worlds" if compared > 1 else "the one world"
    worlds += " of this race" if every else " of this race that have ratios"
    if ours.ratio < 1.005:
        first = f"{story.ours} has the least regret in {worlds}."
    else:
        first = (
            f"In {worlds}, {story.ours} has at most {ours.ratio:.2f} times the regret of the best "
            f"learner there (most in {titles[ours.world]})."
        )
    if not others:
        return first
    next_best = others[0]  # they are sorted
    if next_best.ratio is None or next_best.world is None:
        return first
    if next_best.ratio > ours.ratio:
        return (
            f"{first} Every other learner has somewhere at least {next_best.ratio:.1f} times the regret of the best; "
            f"the next one is {next_best.learner}, in {titles[next_best.world]}."
        )
    return (
        f"{first} {next_best.learner} does better: at most {next_best.ratio:.2f} times, in {titles[next_best.world]}."
    )


def about_world(story: RaceSummary, spec: str) -> str:
    """What kind of world it is, what was tampered with, and whether ratios say anything."""
    parsed, rows = parse_spec(spec), story.standings_in(spec)
    line = WORLDS[parsed.name].line
    sentences = [line[0].upper() + line[1:] + "."]
    if parsed.name == "corrupted":
        attack = str(parsed.options.get("attack", "best-worst"))
        sentences.append(f"{ATTACKS[attack]} The corruption spent is {rows[0].corruption:,.0f}.")
        if attack != "all-worst":
            sentences.append("Regret stays low for as long as the tampering makes another arm the best in hindsight.")
    if rows[0].ratio is None:
        sentences.append(NO_RATIO)
    return " ".join(sentences)


def why_the_paper_is_slow(story: RaceSummary) -> str:
    """One paragraph on the printed constants, with the numbers of this race."""
    paper, practical = Constants.paper(story.cover, story.horizon), Constants.practical(story.cover)
    rate = practical.eta0 * float(practical.rate_factors.max())
    speed = (rate / max(practical.alpha)) / (paper.eta0 / max(paper.alpha))
    return escape(
        f"The paper proves its bound with a weight α = 2(1 + log²(NT)) = {max(paper.alpha):,.0f} of the Tsallis "
        f"entropy, which makes every step {speed:,.0f} times as timid as the practical setting (α = "
        f"{max(practical.alpha):.2f}, rate {rate:.1f}/√(t + {practical.head_start:.0f})). The size of α "
        f"comes from the proof, which bounds logarithms of tiny probabilities by log(NT); the exact condition needs "
        f"far less (docs/sharp_constants.md). With the printed value the learner plays almost uniformly for the first "
        f"million rounds, so here it pays nearly what uniform play pays. Nothing is wrong with the algorithm: only "
        f"its constants were chosen for the proof."
    )
