"""A picture of who sees whom: arms on a circle, arrows where an edge goes one way, a ring where an arm sees itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allworlds.foundation.errors import InvalidGraph
from allworlds.graphs import FeedbackGraph
from allworlds.reporting.canvas import OURS, blank, house_style
from allworlds.reporting.curves import GREY

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_ARMS = 60
"""More arms could not be told apart."""
SPOT, RING = 0.075, 0.075
"""The radius of an arm and of the ring beside it, where the circle of the arms has radius 1; for up to 16 arms."""


def plot_graph(graph: FeedbackGraph, ax: Axes | None = None) -> Axes:
    """Draw a graph: a line where two arms see each other, an arrow where one sees the other, a ring for a self-loop.

    An arrow from arm i to arm j says that choosing i shows the loss of j. Rings are left out where every arm sees
    itself and no edge is directed, as in most graphs.

    >>> from allworlds.graphs import apple_tasting
    >>> len(plot_graph(apple_tasting()).patches)  # two arms, an arrow and one ring
    4
    """
    if not isinstance(graph, FeedbackGraph):
        raise InvalidGraph(
            f"graph is a {type(graph).__name__}; expected a FeedbackGraph; try graph.graph_of(round) if it changes"
        )
    if graph.n_arms > MOST_ARMS:
        raise InvalidGraph(f"the graph has {graph.n_arms} arms; expected at most {MOST_ARMS}, which can be told apart")
    with house_style():
        ax = blank(4.2, 4.2).subplots() if ax is None else ax
        _draw(ax, graph)
    return ax


def _draw(ax: Axes, graph: FeedbackGraph) -> None:
    from matplotlib.patches import Circle, FancyArrowPatch

    n_arms, sees = graph.n_arms, graph.adjacency()
    turn = np.pi / 2 - 2 * np.pi * np.arange(n_arms) / n_arms  # the first arm on top, then clockwise
    places = np.column_stack([np.cos(turn), np.sin(turn)])
    size = min(1.0, 16 / n_arms)
    spot, ring = SPOT * size, RING * size
    for i, j in np.argwhere(sees | sees.T).tolist():
        if i < j:
            (one, other), both = ((i, j) if sees[i, j] else (j, i)), bool(sees[i, j] and sees[j, i])
            way = places[other] - places[one]
            start, end = (
                place + sign * spot * way / np.hypot(*way)
                for place, sign in zip((places[one], places[other]), (1, -1), strict=True)
            )
            ax.add_patch(
                FancyArrowPatch(
                    tuple(start),
                    tuple(end),
                    arrowstyle="-" if both else "-|>",
                    mutation_scale=11 * size,
                    shrinkA=0,
                    shrinkB=0,
                    color=GREY,
                    linewidth=1.1 * size,
                    zorder=1,
                )
            )
    for arm, place in enumerate(places):
        if sees[arm, arm] and (graph.is_directed or not graph.self_loops.all()):
            ax.add_patch(
                Circle(tuple(place * (1 + spot + 0.8 * ring)), ring, fill=False, color=GREY, linewidth=1.1 * size)
            )
        ax.add_patch(Circle(tuple(place), spot, facecolor=OURS, edgecolor="white", linewidth=0.8, zorder=3))
        name = str(arm if graph.labels is None else graph.labels[arm])
        inside = len(name) <= 2
        at = place if inside else place * (1 + 2 * spot + 2.2 * ring)
        side = "center" if inside or abs(place[0]) < 0.1 else "left" if place[0] > 0 else "right"
        ax.text(
            float(at[0]),
            float(at[1]),
            name,
            color="white" if inside else "black",
            fontsize=9 * max(size, 0.6),
            ha=side,
            va="center",
            zorder=4,
        )
    ax.set_aspect("equal")
    ax.set_xlim(-1.35, 1.35)
    ax.set_ylim(-1.3, 1.3)
    ax.axis("off")
