"""``allworlds learners`` and ``allworlds worlds``: what there is to choose from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated

import typer

from allworlds.cli.sentences import sentences

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")]


def learners(as_json: AsJson = False) -> None:
    """List the learners: the world each is made for, its graphs, what it must be told, what is proved."""
    with sentences():
        from allworlds.learners import LEARNERS

        fields = ("name", "world", "graphs", "told", "bound")
        rows = [{name: getattr(entry, name) for name in fields} for entry in LEARNERS.values()]
        if as_json:
            rivals = [entry.rival for entry in LEARNERS.values()]
            _print_json([row | {"rival": rival} for row, rival in zip(rows, rivals, strict=True)])
        else:
            _print_table(
                ("learner", "made for", "graphs", "must be told", "bound"), [list(row.values()) for row in rows]
            )


def worlds(as_json: AsJson = False) -> None:
    """List the worlds, each with an example of how it is written."""
    with sentences():
        from allworlds.worlds.by_name import WORLDS

        rows: list[dict[str, object]] = [
            {"name": recipe.name, "line": recipe.line, "example": recipe.example, "options": list(recipe.takes)}
            for recipe in WORLDS.values()
        ]
        if as_json:
            _print_json(rows)
        else:
            listed = [[str(row["name"]), str(row["line"]), str(row["example"])] for row in rows]
            _print_table(("world", "what it is", "for example"), listed)


def _print_json(rows: Sequence[dict[str, object]]) -> None:
    for row in rows:
        typer.echo(json.dumps(row))


def _print_table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for number, title in enumerate(titles):
        table.add_column(title, overflow="fold", no_wrap=number == 0)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console(highlight=False).print(table)
