"""``allworlds figure``: draw a figure of the paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from allworlds.cli.error_boundary import error_boundary


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
        from allworlds.workflows.figure import draw_figure

        typer.echo(draw_figure(number, out))
