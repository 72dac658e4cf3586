"""``allworlds learners``, ``worlds`` and ``graphs``: what there is to choose from; ``figure``: the paper's figure."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from allworlds.cli.terminal import EXAMPLE, AsJson, error_boundary, print_json, print_rows

NARROW_FOR_GRAPHS = 190


def learners(as_json: AsJson = False) -> None:
    """List the learners: the world each is made for, its graphs, what it must be told, what is proved."""
    with error_boundary():
        from allworlds.learners.by_name import LEARNERS

        fields = ("name", "world", "graphs", "told", "bound")
        rows = [{name: getattr(entry, name) for name in fields} for entry in LEARNERS.values()]
        if as_json:
            rivals = [entry.rival for entry in LEARNERS.values()]
            print_json([row | {"rival": rival} for row, rival in zip(rows, rivals, strict=True)])
        else:
            titles = ("learner", "made for", "graphs", "must be told", "bound")
            print_rows(titles, [list(row.values()) for row in rows])


def worlds(as_json: AsJson = False) -> None:
    """List the worlds, each with an example of how it is written."""
    with error_boundary():
        from allworlds.worlds.by_name import WORLDS

        rows: list[dict[str, object]] = [
            {"name": recipe.name, "line": recipe.line, "example": recipe.example, "options": list(recipe.takes)}
            for recipe in WORLDS.values()
        ]
        if as_json:
            print_json(rows)
        else:
            listed = [[str(row["name"]), str(row["line"]), str(row["example"])] for row in rows]
            print_rows(("world", "what it is", EXAMPLE), listed)


def graphs(as_json: AsJson = False) -> None:
    """List the graphs, each with its form and an example; file:PATH reads a file."""
    with error_boundary():
        from allworlds.graphs.by_name import GRAPHS

        if as_json:
            fields = ("name", "form", "line", "example")
            rows = [{name: getattr(recipe, name) for name in fields} for recipe in GRAPHS.values()]
            takes = [list(recipe.takes) for recipe in GRAPHS.values()]
            print_json([row | {"options": options} for row, options in zip(rows, takes, strict=True)])
        else:
            listed = [[recipe.form, recipe.line, recipe.example] for recipe in GRAPHS.values()]
            print_rows(("graph", "what it is", EXAMPLE), listed, narrow=NARROW_FOR_GRAPHS)


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
    with error_boundary():
        from allworlds.reporting.paper_figure import draw_figure

        typer.echo(draw_figure(number, out))
