"""``allworlds learners``, ``worlds`` and ``graphs``: what there is to choose from; ``figure``: the paper's figure."""

from __future__ import annotations

from operator import attrgetter
from pathlib import Path
from typing import Annotated

import typer

from allworlds.cli.terminal import EXAMPLE, AsJson, print_json, print_rows

NARROW_FOR_GRAPHS = 190


def learners(as_json: AsJson = False) -> None:
    """List the learners: the world each is made for, its graphs, what it must be told, what is proved."""
    from allworlds.learners.by_name import LEARNERS

    fields = ("name", "world", "graphs", "told", "bound")
    if as_json:
        print_json(*({name: getattr(one, name) for name in (*fields, "rival")} for one in LEARNERS.values()))
    else:
        titles = ("learner", "made for", "graphs", "must be told", "bound")
        print_rows(titles, map(attrgetter(*fields), LEARNERS.values()))


def worlds(as_json: AsJson = False) -> None:
    """List the worlds, each with an example of how it is written."""
    from allworlds.worlds.by_name import WORLDS

    fields = ("name", "line", "example")
    if as_json:
        rows = ({name: getattr(one, name) for name in fields} | {"options": [*one.takes]} for one in WORLDS.values())
        print_json(*rows)
    else:
        print_rows(("world", "what it is", EXAMPLE), map(attrgetter(*fields), WORLDS.values()))


def graphs(as_json: AsJson = False) -> None:
    """List the graphs, each with its form and an example; file:PATH reads a file."""
    from allworlds.graphs.by_name import GRAPHS

    fields = ("name", "form", "line", "example")
    if as_json:
        rows = ({name: getattr(one, name) for name in fields} | {"options": [*one.takes]} for one in GRAPHS.values())
        print_json(*rows)
    else:
        listed = map(attrgetter(*fields[1:]), GRAPHS.values())
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
    from allworlds.reporting.paper_figure import draw_figure

    typer.echo(draw_figure(number, out))
