"""The pictures of docs/comparison.md: learners by graphs and worlds, from the results that ship with the package.

    scripts/bench matrices

Each picture is drawn twice, wide for desktops and narrow for phones, into docs/pictures. ``scripts/bench comparison``
draws them too, when it has played everything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from allworlds.foundation.specs import parse_spec
from allworlds.reporting.canvas import save
from allworlds.reporting.heat_map import heat_figure
from allworlds.reporting.race_figures import short_titles
from allworlds.workflows.comparison import Result, stored_results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "pictures"
OURS = "tsallis-shannon"
ON_PHONES = "_phone"


@dataclass(frozen=True)
class Matrix:
    """What a picture shows: for each learner and graph, and each kind of world on it, the largest ratio."""

    wanted: Callable[[Result], bool]
    titles: Callable[[Sequence[str]], dict[str, str]]
    """The title of each world; worlds with one title share a column."""
    across: tuple[int, int]
    """Graphs side by side, on desktops and on phones."""

    def ratios(self) -> tuple[dict[str, dict[str, float | None]], dict[str, dict[str, str]]]:
        """Rows by learner, the smallest worst ratio first, and the columns of each graph with their titles."""
        rows = [row for row in stored_results() if self.wanted(row) and row.ratio is not None]
        titles = self.titles(list(dict.fromkeys(row.world for row in rows)))
        found: dict[str, dict[str, float | None]] = {}
        groups: dict[str, dict[str, str]] = {row.graph: {} for row in rows}
        for title in dict.fromkeys(titles.values()):  # columns in one order on every graph
            for row in (row for row in rows if titles[row.world] == title):
                column, mine = f"{row.graph} {title}", found.setdefault(row.learner, {})
                mine[column] = max(row.ratio or 0.0, mine.get(column) or 0.0)
                groups[row.graph][column] = title
        order = sorted(found, key=lambda name: max(value or 0.0 for value in found[name].values()))
        return {name: found[name] for name in order}, groups

    def figures(self) -> tuple[Figure, Figure]:
        """The wide one and the narrow one."""
        ratios, groups = self.ratios()
        wide, narrow = (heat_figure(ratios, groups, across, OURS) for across in self.across)
        return wide, narrow


def kinds(worlds: Sequence[str]) -> dict[str, str]:
    """Hostile worlds by kind; the attacks by their budget.

    >>> list(kinds(["constrained-adversary:gap=0.25", "corrupted:attack=flip,budget=200,gap=0.25"]).values())
    ['constrained adversary', 'corrupted by 200']
    """
    names = {"constrained-adversary": "constrained adversary", "switching": "late switch"}
    parsed = {world: parse_spec(world) for world in worlds}
    return {
        world: f"corrupted by {one.options['budget']}" if one.name == "corrupted" else names.get(one.name, one.name)
        for world, one in parsed.items()
    }


def all_titles(worlds: Sequence[str]) -> dict[str, str]:
    """Every world by itself."""
    return short_titles(list(worlds))


MATRICES = {
    "comparison": Matrix(lambda row: row.experiment == "all-worlds", all_titles, (6, 2)),
    "hostile": Matrix(lambda row: row.experiment == "hostile-worlds" and row.kind == "undirected", kinds, (4, 2)),
    "hostile_directed": Matrix(
        lambda row: row.experiment == "hostile-worlds" and row.kind != "undirected", kinds, (6, 2)
    ),
}
"""The pictures by the names of their files."""


def draw() -> list[Path]:
    """Draw all of them and return their files."""
    return [
        save(figure, FOLDER / f"{name}{ending}.svg")
        for name, matrix in MATRICES.items()
        for figure, ending in zip(matrix.figures(), ("", ON_PHONES), strict=True)
    ]


if __name__ == "__main__":
    print(*draw(), sep="\n")
