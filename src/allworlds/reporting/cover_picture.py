"""Pictures of covers: cliques as coloured islands, clique sizes for large graphs."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from allworlds.foundation.errors import counted
from allworlds.reporting.canvas import CATEGORIES, blank, house_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from allworlds.covers import CliqueCover

MOST_ARMS = 400
"""Beyond that, arms cannot be told apart, and the sizes of the cliques are drawn instead."""
MOST_EDGES = 20_000
COLOURS = tuple(colour for colour in CATEGORIES if colour != "#F0E442")
"""Without yellow, on which a white name cannot be read."""
MOST_NAMES = 80
NAME_LENGTH = 4
STEPS = 300


def cover_picture(cover: CliqueCover) -> Figure:
    """A figure of a cover, whatever its size.

    >>> import allworlds as aw
    >>> cover_picture(aw.clique_cover(aw.graphs.cycle(6))).axes[0].get_title()
    '6 arms in 3 cliques, proved to be the fewest'
    """
    with house_style():
        height, draw = (8.0, draw_islands) if drawable(cover) else (4.5, draw_sizes)
        figure = blank(8.0, height)
        ax = draw(figure.subplots(), cover)
        ax.set_title(_title(cover))
        if drawable(cover):  # flat islands need no square
            width, depth = (float(np.ptp(limits)) for limits in (ax.get_xlim(), ax.get_ylim()))
            figure.set_figheight(float(np.clip(8.0 * depth / width + 0.6, 2.5, 8.0)))
    return figure


def drawable(cover: CliqueCover) -> bool:
    """Whether arms and edges are few enough to be seen."""
    return cover.n_arms <= MOST_ARMS and cover.graph.n_edges <= MOST_EDGES


def draw_islands(ax: Axes, cover: CliqueCover) -> Axes:
    """Draw every clique as an island with its arms on a ring; edges that the cover leaves unused are grey."""
    from matplotlib.collections import LineCollection, PatchCollection
    from matplotlib.patches import Circle

    centres, radii = island_layout(cover)
    colours = np.array(COLOURS)[_clique_colours(cover)]
    places = _arm_places(cover, centres, radii)
    edges = cover.graph.edges()
    same = cover.owner[edges[:, 0]] == cover.owner[edges[:, 1]]
    faint = min(0.9, max(0.3, 120.0 / (1 + int(np.count_nonzero(~same)))))
    ax.add_collection(
        LineCollection(places[edges[~same]].tolist(), colors="#AAAAAA", linewidths=0.7, alpha=faint, zorder=1)
    )
    islands = [Circle((float(x), float(y)), float(r)) for (x, y), r in zip(centres, radii, strict=True)]
    ax.add_collection(PatchCollection(islands, facecolors=colours.tolist(), alpha=0.16, linewidths=0, zorder=2))
    inside = colours[cover.owner[edges[same, 0]]].tolist()
    ax.add_collection(LineCollection(places[edges[same]].tolist(), colors=inside, linewidths=1.0, alpha=0.8, zorder=3))
    span = float(np.ptp(np.concatenate([places, centres]), axis=0).max()) + 2.0
    spot = float(np.clip(230.0 / span, 4.0, 15.0))
    arms: dict[str, Any] = {"color": colours[cover.owner].tolist(), "edgecolors": "white", "linewidths": 0.05 * spot}
    ax.scatter(places[:, 0], places[:, 1], s=spot**2, zorder=4, **arms)
    names = [str(name) for name in cover.graph.labels or range(cover.n_arms)]
    if cover.n_arms <= MOST_NAMES:
        _write_names(ax, places, names, spot)
    ax.set_aspect("equal")
    ax.margins(0.06)
    ax.axis("off")
    return ax


def draw_sizes(ax: Axes, cover: CliqueCover) -> Axes:
    """Draw how many cliques have each size."""
    counts = np.bincount(cover.sizes)
    sizes = np.flatnonzero(counts)
    ax.bar(sizes, counts[sizes], width=max(0.6, 0.004 * float(sizes.max())), color=COLOURS[0])
    if counts.max() > 50 * counts[sizes].min():
        ax.set_yscale("log")
    if np.ptp(sizes) <= 12:
        ax.set_xticks(range(int(sizes.min()), int(sizes.max()) + 1))
        ax.set_xlim(float(sizes.min()) - 1.0, float(sizes.max()) + 1.0)
    ax.set_xlabel("arms in a clique (the graph is too large to draw)")
    ax.set_ylabel("cliques of that size")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def island_layout(cover: CliqueCover) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Centres (n_cliques, 2) and radii (n_cliques,) of islands that do not overlap; linked cliques lie near each other.

    Springs pull cliques with edges between them together and push all apart [Fruchterman and Reingold 1991], from a
    spiral start that is always the same; then islands that overlap are pushed apart.

    >>> import allworlds as aw
    >>> centres, radii = island_layout(aw.clique_cover(aw.graphs.disjoint_cliques(2, 3)))
    >>> bool(np.linalg.norm(centres[0] - centres[1]) >= radii.sum())
    True
    """
    n_cliques = cover.n_cliques
    radii = 0.55 + 0.33 * np.maximum(0.0, cover.sizes - 1.0) / np.pi + 0.35 * (cover.sizes > 1)
    turns = np.arange(n_cliques) * np.pi * (3.0 - np.sqrt(5.0))
    spread = 1.3 * np.sqrt(float((radii**2).sum()) / max(1, n_cliques))
    centres = spread * np.sqrt(np.arange(n_cliques) + 0.5)[:, None] * np.column_stack([np.cos(turns), np.sin(turns)])
    pull = np.minimum(_links(cover), 3.0)
    for step in range(STEPS):
        centres = _spring_step(centres, radii, pull, spread * (1.0 - step / STEPS), last=step > 0.6 * STEPS)
    for _ in range(500):
        moved, centres = _push_apart(centres, radii)
        if not moved:
            break
    return centres - centres.mean(axis=0), radii


def _spring_step(
    centres: NDArray[np.float64], radii: NDArray[np.float64], pull: NDArray[np.float64], heat: float, *, last: bool
) -> NDArray[np.float64]:
    """One step of the springs, no longer than ``heat``; in the last steps islands make room for each other."""
    apart = centres[:, None] - centres[None]
    distance = np.maximum(np.linalg.norm(apart, axis=2), 1e-3)
    touch = radii[:, None] + radii[None] + 0.3
    push = touch**2 / distance**2
    np.fill_diagonal(push, 0.0)
    pulled = pull * distance / touch
    force = ((push - pulled) / distance)[:, :, None] * apart
    step = force.sum(axis=1) - 0.05 * centres
    length = np.maximum(np.linalg.norm(step, axis=1), 1e-9)
    moved: NDArray[np.float64] = centres + step / length[:, None] * np.minimum(length, heat)[:, None]
    return _push_apart(moved, radii)[1] if last else moved


def _push_apart(centres: NDArray[np.float64], radii: NDArray[np.float64]) -> tuple[bool, NDArray[np.float64]]:
    """Push islands that overlap apart by half of what they overlap; says whether any did."""
    apart = centres[:, None] - centres[None]
    distance = np.linalg.norm(apart, axis=2)
    over = radii[:, None] + radii[None] + 0.15 - distance
    np.fill_diagonal(over, 0.0)
    over = np.maximum(over, 0.0)
    if over.max(initial=0.0) < 1e-3:
        return False, centres
    way = apart / np.maximum(distance, 1e-9)[:, :, None]
    return True, centres + (0.3 * over[:, :, None] * way).sum(axis=1)


def _links(cover: CliqueCover) -> NDArray[np.float64]:
    """The number of edges between every two cliques, (n_cliques, n_cliques)."""
    links = np.zeros((cover.n_cliques, cover.n_cliques))
    edges = cover.owner[cover.graph.edges()]
    np.add.at(links, (edges[:, 0], edges[:, 1]), 1.0)
    links += links.T
    np.fill_diagonal(links, 0.0)
    return links


def _clique_colours(cover: CliqueCover) -> list[int]:
    """A colour for each clique that its linked cliques do not have, as far as colours go."""
    links = _links(cover) > 0
    chosen: list[int] = []
    for clique in range(cover.n_cliques):
        near, used = Counter(chosen[other] for other in np.flatnonzero(links[clique, :clique])), Counter(chosen)
        ranks = [(near[colour], used[colour], colour) for colour in range(len(COLOURS))]
        chosen.append(min(ranks)[-1])
    return chosen


def _arm_places(cover: CliqueCover, centres: NDArray[np.float64], radii: NDArray[np.float64]) -> NDArray[np.float64]:
    """Arms on a ring inside their island, turned such that arms lie towards what they see elsewhere, (n_arms, 2)."""
    places = centres[cover.owner].copy()
    edges = cover.graph.edges()
    outside = edges[cover.owner[edges[:, 0]] != cover.owner[edges[:, 1]]]
    wish = np.zeros((cover.n_arms, 2))
    for one, other in ((outside[:, 0], outside[:, 1]), (outside[:, 1], outside[:, 0])):
        np.add.at(wish, one, centres[cover.owner[other]] - centres[cover.owner[one]])
    for clique, arms in enumerate(cover.cliques):
        if len(arms) == 1:
            continue
        angles = np.arctan2(wish[arms, 1], wish[arms, 0])
        order = np.argsort(angles, kind="stable")
        slots = 2.0 * np.pi * np.arange(len(arms)) / len(arms)
        turn = np.angle(np.exp(1j * (angles[order] - slots)).sum())
        ring = 0.72 * radii[clique] if len(arms) > 2 else 0.55 * radii[clique]
        places[arms[order]] += ring * np.column_stack([np.cos(slots + turn), np.sin(slots + turn)])
    return places


def _write_names(ax: Axes, places: NDArray[np.float64], names: list[str], spot: float) -> None:
    """Short names on the arms, longer ones below them."""
    short = max(len(name) for name in names) <= NAME_LENGTH and spot >= 8.0
    look: dict[str, Any] = {"color": "#222222", "va": "top", "fontsize": 6.0, "xytext": (0.0, -0.55 * spot)}
    if short:
        look = {"color": "white", "va": "center", "fontsize": min(8.0, 0.55 * spot), "xytext": (0.0, 0.0)}
    for name, place in zip(names, places.tolist(), strict=True):
        ax.annotate(name, place, textcoords="offset points", ha="center", zorder=5, **look)


def _title(cover: CliqueCover) -> str:
    held = f"{counted(cover.n_arms, 'arm')} in {counted(cover.n_cliques, 'clique')}"
    if cover.is_minimum:
        return f"{held}, proved to be the fewest"
    return held if cover.lower_bound is None else f"{held}, at least {cover.lower_bound:,} are needed"
