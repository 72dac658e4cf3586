"""The sentences of a report that depend on its numbers."""

from __future__ import annotations

from html import escape

from allworlds.ftrl import Constants
from allworlds.reporting.story import Story, short_titles
from allworlds.specs import parse_spec
from allworlds.worlds.by_name import WORLDS


def finding(story: Story) -> str:
    """The headline in a sentence or two, whoever won."""
    titles = short_titles(list(story.worlds))
    ours = next(row for row in story.ratios if row.learner == story.ours)
    others = [row for row in story.ratios if row.rival and row.learner != story.ours]
    worlds = f"all {len(story.worlds)} worlds" if len(story.worlds) > 1 else "the one world"
    if ours.ratio < 1.005:
        first = f"{story.ours} has the least regret in {worlds} of this race."
    else:
        first = (
            f"In {worlds} of this race, {story.ours} has at most {ours.ratio:.2f} times the regret of the best "
            f"learner there ({titles[ours.world]})."
        )
    if not others:
        return first
    next_best = min(others, key=lambda row: row.ratio)
    if next_best.ratio > ours.ratio:
        return (
            f"{first} Every other learner has somewhere at least {next_best.ratio:.1f} times the regret of the best; "
            f"the next one is {next_best.learner}, in {titles[next_best.world]}."
        )
    return (
        f"{first} {next_best.learner} does better: at most {next_best.ratio:.2f} times, in {titles[next_best.world]}."
    )


def about_world(spec: str) -> str:
    """What kind of world it is, in a sentence."""
    line = WORLDS[parse_spec(spec).name].line
    return line[0].upper() + line[1:] + "."


def why_the_paper_is_slow(story: Story) -> str:
    """One paragraph on the printed constants, with the numbers of this race."""
    paper, practical = Constants.paper(story.cover, story.horizon), Constants.practical(story.cover)
    speed = (practical.eta0 / max(practical.alpha)) / (paper.eta0 / max(paper.alpha))
    return escape(
        f"The paper proves its bound with a weight α = 2(1 + log²(NT)) = {max(paper.alpha):,.0f} of the Tsallis "
        f"entropy, which makes every step {speed:,.0f} times as timid as the practical setting (α = "
        f"{max(practical.alpha):.2f}, rate {practical.eta0:.1f}/√t). The size of α comes from the proof, which "
        f"bounds logarithms of tiny probabilities by log(NT); the exact condition needs far less "
        f"(docs/sharp_constants.md). With the printed value the learner plays almost uniformly for the first "
        f"million rounds, so here it pays nearly what uniform play pays. Nothing is wrong with the algorithm: only "
        f"its constants were chosen for the proof."
    )
