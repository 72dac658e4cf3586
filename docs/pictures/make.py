"""Draw the pictures of the README: ``python docs/pictures/make.py`` (needs ``allworlds[figures]``).

Two pictures, each also as a narrow one for phones (``idea_phone.png``). ``idea.png``, the idea of the library: left, a
feedback graph with its clique cover; right, how the learner divides its probability between the cliques while it
plays, as the mean of twenty runs: the best clique takes over, then the world turns hostile (the best arm becomes the
worst) and another one does. Single runs differ in how fast they turn, so no single one is shown. ``race.png``, the
headline of the default race.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import allworlds as aw
from allworlds.analysis.comparison import RaceSummary
from allworlds.reporting.canvas import CATEGORIES, blank, house_style, save
from allworlds.reporting.cover_picture import draw_islands
from allworlds.reporting.race_figures import headline_figure

HERE = Path(__file__).resolve().parent
CLIQUES = [[0, 1, 2, 3, 4], [5, 6, 7], [8, 9, 10, 11], [12, 13]]
ACROSS = [(3, 6), (4, 6), (7, 9), (7, 10), (10, 13), (11, 12), (2, 13)]
HORIZON = 6000
TURN = HORIZON // 2
SEEDS = range(20)
NARROW = 5.0
"""Inches: a point is then about a pixel of a phone."""


def graph_and_cover() -> aw.CliqueCover:
    """Four groups of arms that see each other, and a few side observations across."""
    inside = [(i, j) for arms in CLIQUES for i in arms for j in arms if i < j]
    return aw.CliqueCover(aw.FeedbackGraph(14, inside + ACROSS), CLIQUES)


def mean_losses(round: int) -> np.ndarray:
    """Arm 6 is best, then, from the turn on, it is worst and arm 9 is best."""
    means = np.full(14, 0.5)
    means[6] = 0.25 if round <= TURN else 0.9
    means[9] = 0.5 if round <= TURN else 0.1
    return means


def play(cover: aw.CliqueCover, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Let an agent play and note the mass of each clique every ten rounds."""
    agent = aw.Agent(aw.TsallisShannon(cover), seed=seed)
    world = np.random.default_rng([2021, seed])
    rounds, masses = [], []
    for round in range(1, HORIZON + 1):
        if round % 10 == 1:
            distribution = np.asarray(agent.distribution)
            rounds.append(round)
            masses.append([distribution[arms].sum() for arms in CLIQUES])
        decision = agent.choose()
        losses = world.random(cover.n_arms) < mean_losses(round)
        agent.observe(decision, {arm: float(losses[arm]) for arm in decision.observes})
    return np.array(rounds), np.array(masses)


def clique_masses(ax: Axes, rounds: np.ndarray, masses: np.ndarray, names: list[str]) -> None:
    """Draw how the learner divides its probability between cliques over time; ``masses`` has a row for each round.

    A name stands in the middle of the clique's best times; one that never has a fifth, the start aside, has none.
    """
    areas = ax.stackplot(
        rounds, masses.T, colors=[CATEGORIES[k % len(CATEGORIES)] for k in range(masses.shape[1])], linewidth=0
    )
    tops = np.cumsum(masses, axis=1)
    for clique, (name, area) in enumerate(zip(names, areas, strict=True)):
        area.set_edgecolor("face")
        share = np.where(np.arange(len(rounds)) < len(rounds) // 12, 0.0, masses[:, clique])  # after a wild start
        best = np.flatnonzero(share >= 0.95 * share.max())
        at = int(best[len(best) // 2])
        if share[at] >= 0.2:
            height = tops[at, clique] - share[at] / 2
            ax.text(rounds[at], height, name, color="white", ha="center", va="center", fontweight="bold")
    ax.set_xlim(rounds[0], rounds[-1])
    ax.set_ylim(0.0, 1.0)
    ax.set_xlabel("round")


def idea() -> list[Path]:
    """Draw both halves side by side, and one above the other for phones."""
    cover = graph_and_cover()
    runs = [play(cover, seed) for seed in SEEDS]
    rounds, masses = runs[0][0], np.mean([masses for _, masses in runs], axis=0)
    with house_style():
        wide, narrow = blank(10.0, 3.9), blank(NARROW, 6.6)
        sides, floors = wide.subplots(1, 2, width_ratios=[1.0, 1.7]), narrow.subplots(2, 1, height_ratios=[1.0, 1.1])
        for (graph, shares), between in ((sides, " "), (floors, "\n")):
            draw_islands(graph, cover).set_title("who sees whom, grouped into cliques")
            clique_masses(shares, rounds, masses, ["0–4", "5–7", "8–11", "12–13"])
            shares.axvline(TURN, color="white", linestyle=(0, (4, 3)), linewidth=1.5)
            shares.set_title(f"the best clique takes over,{between}until its best arm turns bad (dashed)")
            shares.set_ylabel(f"probability of each clique, mean of {len(SEEDS)} runs")
    return [save(wide, HERE / "idea.png"), save(narrow, HERE / "idea_phone.png")]


def race() -> list[Path]:
    """Run the default race and draw its headline."""
    with tempfile.TemporaryDirectory() as folder:
        summary = aw.run_race(out=folder, report=False).summary
    return [save(headline_figure(summary), HERE / "race.png"), save(narrow_headline(summary), HERE / "race_phone.png")]


def narrow_headline(summary: RaceSummary) -> Figure:
    """The headline with short bars, so that the words beside them have room."""
    figure = headline_figure(summary, NARROW)
    (ax,) = figure.axes
    ax.set_xlim(0.99, 500.0)
    ax.set_xticks([1, 2, 5, 10, 20], ["1", "2", "5", "10", "20"])
    ax.set_xlabel("worst ratio over worlds (1 is best, log scale),\nand the world where it happens")
    for text in (*ax.texts, *ax.get_yticklabels()):
        text.set_fontsize(9)
    return figure


if __name__ == "__main__":
    print(*idea(), *race(), sep="\n")
