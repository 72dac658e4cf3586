"""``allworlds learners``, ``worlds`` and ``graphs``: what there is to choose from; ``figure``: the paper's figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from allworlds.cli.terminal import EXAMPLE, NARROW, AsJson, print_json, print_rows

if TYPE_CHECKING:
    from allworlds.foundation.specs import Recipe

NARROW_FOR_GRAPHS = 190


def learners(as_json: AsJson = False) -> None:
    """List the learners: the world each is made for, its graphs, what it must be told, what is proved."""
    from allworlds.learners.by_name import LEARNERS

    titles = {"name": "learner", "world": "made for", "graphs": "graphs", "told": "must be told", "bound": "bound"}
    _list(LEARNERS, titles, (*titles, "rival"), as_json=as_json)


def worlds(as_json: AsJson = False) -> None:
    """List the worlds, each with an example of how it is written."""
    from allworlds.worlds.by_name import WORLDS

    titles = {"name": "world", "line": "what it is", "example": EXAMPLE}
    _list(WORLDS, titles, (*titles, "takes"), as_json=as_json)


def graphs(as_json: AsJson = False) -> None:
    """List the graphs, each with its form and an example; file:PATH reads a file."""
    from allworlds.graphs.by_name import GRAPHS

    titles = {"form": "graph", "line": "what it is", "example": EXAMPLE}
    _list(GRAPHS, titles, ("name", *titles, "takes"), as_json=as_json, narrow=NARROW_FOR_GRAPHS)


def _list(
    recipes: Mapping[str, Recipe],
    titles: Mapping[str, str],
    fields: Sequence[str],
    *,
    as_json: bool,
    narrow: int = NARROW,
) -> None:
    """The ``titles`` of all recipes as a table, or their ``fields`` as JSON."""
    if not as_json:
        print_rows(list(titles.values()), map(attrgetter(*titles), recipes.values()), narrow)
        return
    for recipe in recipes.values():
        row = {name: getattr(recipe, name) for name in fields if name != "takes"}
        print_json(row | ({"options": list(recipe.takes)} if "takes" in fields else {}))


def figure(
    number: Annotated[int, typer.Argument(help="The figure's number in the paper: 1.", show_default=False)],
    out: Annotated[
        Path | None,
        typer.Option(help="The file: .png, .svg or .pdf.", show_default="figure<NUMBER>.png"),
    ] = None,
) -> None:
    """Draw a figure of the paper as PNG, SVG or PDF and print the file's path.

    Figure 1 shows where the regulariser is convex: the smallest Hessian eigenvalue, zero level dashed red.
    """
    from allworlds.reporting.paper_figure import draw_figure

    typer.echo(draw_figure(number, out))
