"""``allworlds recommend``: what a graph is, and which learner to use on it."""

from __future__ import annotations

from typing import Annotated

import typer

from allworlds.cli.cover import FILE
from allworlds.cli.terminal import print_json


def recommend(
    file: Annotated[str, typer.Argument(help=FILE, show_default=False)],
    horizon: Annotated[int | None, typer.Option(min=1, help="Rounds to be played.", show_default="unknown")] = None,
    regime: Annotated[
        str | None,
        typer.Option(help="What is known of the losses: stochastic, corrupted or adversarial.", show_default="nothing"),
    ] = None,
    form: Annotated[
        str, typer.Option("--format", help="auto, edges, graphml, metis or matrix; auto goes by the file's suffix.")
    ] = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")] = False,
) -> None:
    """Say in four sentences what a graph is, which learners take it, which one to use and why, and what it costs.

    The advice comes from the measured results that ship with the package (docs/comparison.md).
    """
    from allworlds.workflows.cover import find_graph
    from allworlds.workflows.recommend import recommend as advise

    found = advise(find_graph(file, form), horizon, regime, name=file)
    if as_json:
        print_json(found.to_dict())
    else:
        for sentence in found.sentences:
            typer.echo(sentence)
