"""``allworlds agent`` and ``allworlds evaluate``: a saved agent, and what other policies would have lost by its log."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from allworlds.cli.terminal import print_json, progress


def agent(
    file: Annotated[Path, typer.Argument(help="A file that agent.save wrote.", show_default=False)],
    out: Annotated[
        Path | None, typer.Option(help="Folder for a picture as SVG, PNG and PDF.", show_default="none")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as one JSON object.")] = False,
) -> None:
    """Report on a saved agent: its arms, open and missing outcomes, whether draws are sound, its regret so far."""
    from allworlds.workflows.agents import report_agent

    report, files = report_agent(file, out)
    if as_json:
        print_json(report.to_dict() | {"files": [str(path) for path in files]})
        return
    typer.echo(str(report))
    for path in files:
        typer.echo(f"wrote {path}")


def evaluate(
    log: Annotated[
        Path, typer.Argument(help="A log that an agent wrote: a .parquet folder or a .jsonl file.", show_default=False)
    ],
    policy: Annotated[str, typer.Option(help="each, an arm, or a distribution such as a=0.5,b=0.5.")] = "each",
    learner: Annotated[
        str | None, typer.Option(help="A learner to replay, such as thompson-n.", show_default="none")
    ] = None,
    graph: Annotated[
        str | None, typer.Option(help="The learner's graph, a spec.", show_default="who shows whom in the log")
    ] = None,
    level: Annotated[float, typer.Option(help="Of each interval.")] = 0.95,
    missing: Annotated[
        str, typer.Option(help="drop: leave decisions without an outcome out. worst: allow for any outcome.")
    ] = "drop",
    out: Annotated[Path | None, typer.Option(help="Folder for a picture and a CSV table.", show_default="none")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")] = False,
) -> None:
    """Say what a fixed arm, each arm, a distribution or another learner would have lost.

    Estimates use every arm that was seen, weighted by the probability of seeing it; the ordinary ones, by the
    probability of playing, are beside them. Intervals hold at any time, also for logs of adaptive agents.
    """
    from allworlds.workflows.agents import evaluate_log, evaluation_data

    with progress(hidden=as_json) as on_progress:
        result, files = evaluate_log(
            log,
            policy,
            learner=learner,
            graph=graph,
            level=level,
            missing=missing,
            out=out,
            on_progress=on_progress,
        )
    if as_json:
        print_json(evaluation_data(result) | {"files": [str(file) for file in files]})
        return
    typer.echo(str(result))
    for file in files:
        typer.echo(f"wrote {file}")
