"""Pictures of the things a user handles, axes in, axes out: a graph with its cover, masses over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allworlds.reporting.canvas import CATEGORIES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

    from allworlds.covers import CliqueCover


def clique_colour(clique: int) -> str:
    """Give each clique its colour, the same in every picture.

    >>> clique_colour(0), clique_colour(8) == clique_colour(0)
    ('#0072B2', True)
    """
    return CATEGORIES[clique % len(CATEGORIES)]


def ring_layout(cover: CliqueCover) -> NDArray[np.float64]:
    """Place arms so that a cover can be seen: cliques on a ring, their arms on small rings of their own.

    Gives an ``(n_arms, 2)`` array of positions.

    >>> import allworlds as aw
    >>> ring_layout(aw.clique_cover(aw.graphs.disjoint_cliques(2, 3))).shape
    (6, 2)
    """
    positions = np.zeros((cover.n_arms, 2))
    ring = 0.0 if cover.n_cliques == 1 else 1.0
    widest = 0.8 * min(1.0, np.sin(np.pi / max(cover.n_cliques, 2)))
    for clique, arms in enumerate(cover.cliques):
        angle = np.pi / 2 - 2 * np.pi * clique / cover.n_cliques
        radius = 0.0 if len(arms) == 1 else widest * min(1.0, 0.45 + 0.1 * len(arms))
        turns = angle + 2 * np.pi * np.arange(len(arms)) / len(arms)
        centre = ring * np.array([np.cos(angle), np.sin(angle)])
        positions[arms] = centre + radius * np.stack([np.cos(turns), np.sin(turns)], axis=1)
    return positions


def feedback_graph(ax: Axes, cover: CliqueCover) -> Axes:
    """Draw who sees whom, one colour a clique of the cover; side observations that it leaves unused are grey.

    For graphs of some dozens of arms; every edge is drawn.

    >>> import allworlds as aw
    >>> from allworlds.reporting.canvas import blank
    >>> ax = feedback_graph(blank(3.0, 3.0).subplots(), aw.clique_cover(aw.graphs.cycle(6)))
    >>> len(ax.lines)
    6
    """
    positions = ring_layout(cover)
    for first, second in cover.graph.edges():
        same = cover.owner[first] == cover.owner[second]
        colour = clique_colour(int(cover.owner[first])) if same else "#BBBBBB"
        x, y = positions[[first, second]].T
        ax.plot(x, y, color=colour, linewidth=2.0 if same else 1.0, zorder=2 if same else 1)
    colours = [clique_colour(int(clique)) for clique in cover.owner]
    ax.scatter(positions[:, 0], positions[:, 1], s=190, c=colours, edgecolors="white", linewidths=1.5, zorder=3)
    names = cover.graph.labels or range(cover.n_arms)
    for name, (x, y) in zip(names, positions, strict=True):
        ax.text(x, y, str(name), color="white", ha="center", va="center", fontsize=8, zorder=4)
    ax.set_aspect("equal")
    ax.margins(0.1)
    ax.axis("off")
    return ax


def clique_masses(ax: Axes, rounds: ArrayLike, masses: ArrayLike, names: Sequence[str]) -> Axes:
    """Draw how a learner divides its probability between cliques over time.

    ``rounds`` has shape ``(n,)``, ``masses`` ``(n, n_cliques)`` with rows that sum to one, and ``names`` one
    name a clique, written in the middle of its best times. A clique that never has a fifth of the whole, the
    first rounds aside, gets no name.

    >>> from allworlds.reporting.canvas import blank
    >>> ax = clique_masses(blank(3.0, 2.0).subplots(), [1, 2], [[0.5, 0.5], [0.1, 0.9]], ["left", "right"])
    >>> [text.get_text() for text in ax.texts]
    ['left', 'right']
    """
    times, shares = np.asarray(rounds), np.asarray(masses, dtype=np.float64)
    areas = ax.stackplot(times, shares.T, colors=[clique_colour(k) for k in range(shares.shape[1])], linewidth=0)
    tops = np.cumsum(shares, axis=1)
    for clique, (name, area) in enumerate(zip(names, areas, strict=True)):
        area.set_edgecolor("face")
        share = np.where(np.arange(len(times)) < len(times) // 12, 0.0, shares[:, clique])  # after a wild start
        best = np.flatnonzero(share >= 0.95 * share.max())
        at = int(best[len(best) // 2])
        if share[at] >= 0.2:
            height = tops[at, clique] - share[at] / 2
            ax.text(times[at], height, name, color="white", ha="center", va="center", fontweight="bold")
    ax.set_xlim(times[0], times[-1])
    ax.set_ylim(0.0, 1.0)
    ax.set_xlabel("round")
    ax.set_ylabel("probability of each clique")
    return ax
