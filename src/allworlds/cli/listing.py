"""``allworlds learners``, ``allworlds worlds`` and ``allworlds graphs``: what there is to choose from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated

import typer

from allworlds.cli.error_boundary import error_boundary

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")]
NARROW = 120
"""Columns; below, a table would squeeze its cells."""
NARROW_FOR_GRAPHS = 190
EXAMPLE = "for example"


def learners(as_json: AsJson = False) -> None:
    """List the learners: the world each is made for, its graphs, what it must be told, what is proved."""
    with error_boundary():
        from allworlds.learners import LEARNERS

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


def print_json(rows: Sequence[dict[str, object]]) -> None:
    """Print one JSON object a line."""
    for row in rows:
        typer.echo(json.dumps(row))


def print_rows(titles: Sequence[str], rows: Sequence[Sequence[str]], narrow: int = NARROW) -> None:
    """Print a table, or a list where the screen is narrow; an example is never broken, so that it can be copied."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    screen = Console(highlight=False)
    if screen.width < narrow:
        _print_list(screen.width, titles, rows)
        return
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for number, title in enumerate(titles):
        table.add_column(title, overflow="fold", no_wrap=number == 0 or title == EXAMPLE)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    screen.print(table)


def _print_list(width: int, titles: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Each name in bold, and below it, indented, what there is to say; examples on lines of their own."""
    import textwrap

    facts = [title for title in titles[1:] if title != EXAMPLE]
    for row in rows:
        cells = dict(zip(titles, row, strict=True))
        typer.secho(row[0], bold=True)
        said = [cells[title] if len(facts) == 1 else f"{title}: {cells[title]}" for title in facts]
        typer.echo(textwrap.fill("; ".join(said), max(width, 30), initial_indent="    ", subsequent_indent="    "))
        if EXAMPLE in cells:
            typer.echo(f"    {cells[EXAMPLE]}")
