"""``allworlds agent``: where a saved agent stands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from allworlds.cli.terminal import print_json


def agent(
    file: Annotated[Path, typer.Argument(help="A file that agent.save wrote.", show_default=False)],
    out: Annotated[
        Path | None, typer.Option(help="Folder for a picture as SVG, PNG and PDF.", show_default="none")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as one JSON object.")] = False,
) -> None:
    """Report on a saved agent: its arms, open and missing outcomes, whether draws are sound, its regret so far."""
    from allworlds.workflows.agent import report_agent

    report, files = report_agent(file, out)
    if as_json:
        print_json(report.to_dict() | {"files": [str(path) for path in files]})
        return
    typer.echo(str(report))
    for path in files:
        typer.echo(f"wrote {path}")
