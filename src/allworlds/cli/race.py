"""``allworlds race``: play the paper's learner and its rivals, print a table, write a report."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from allworlds.cli.error_boundary import error_boundary
from allworlds.cli.progress import progress
from allworlds.foundation.errors import InvalidParameter

if TYPE_CHECKING:
    from allworlds.workflows.race import RaceResult

Several = list[str] | None
FULL = "Every learner, every kind of world, 100000 rounds, 20 seeds: 780 cells, on the order of an hour on two cores."


def race(
    graph: Annotated[
        str | None,
        typer.Option(
            help="Who sees whom; allworlds graphs lists the forms.",
            show_default="disjoint-cliques:10x10",
            metavar="SPEC",
        ),
    ] = None,
    cover: Annotated[
        Path | None,
        typer.Option(help="A cover that allworlds cover wrote, in the place of a graph: its graph, in its cliques."),
    ] = None,
    world: Annotated[
        Several, typer.Option(help="A world; repeat for several.", show_default="three of them", metavar="SPEC")
    ] = None,
    learner: Annotated[
        Several, typer.Option(help="A learner; repeat for several.", show_default="six of them", metavar="SPEC")
    ] = None,
    horizon: Annotated[int | None, typer.Option(min=1, help="Rounds of a run.", show_default="30000")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Runs of a learner in a world.", show_default="10")] = None,
    first_seed: Annotated[int, typer.Option(min=0, help="The first of the seeds.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder of the report and of all finished cells.")] = Path("race"),
    jobs: Annotated[int | None, typer.Option(min=1, help="Threads.", show_default="all cores")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")] = False,
    full: Annotated[bool, typer.Option("--full", help=FULL)] = False,
    report: Annotated[bool, typer.Option(help="Draw figures and write report.html.")] = True,
) -> None:
    """Let learners race in several worlds; print who did how well and write DIR/report.html.

    Specs are names with parameters, such as disjoint-cliques:10x10, stochastic:gap=0.125 or
    tsallis-shannon-sharp:kappa=0.25; file:PATH reads a graph from a file. allworlds graphs, allworlds worlds and
    allworlds learners list the names.

    An interrupted race goes on where it stopped when it is started again with the same options.
    """
    with error_boundary():
        from allworlds.workflows.race import CellsFailed, Race, RaceInterrupted, full_race, run_race

        if cover is not None and graph is not None:
            raise InvalidParameter(f"'{cover}' has a graph of its own; give --cover or --graph, not both")
        graph = graph if cover is None else f"cover:{cover}"
        asked = {"graph": graph, "worlds": world, "learners": learner, "horizon": horizon, "seeds": seeds}
        chosen: dict[str, Any] = full_race() if full else {}
        chosen |= {key: tuple(value) if isinstance(value, list) else value for key, value in asked.items() if value}
        config = Race(**chosen, first_seed=first_seed, jobs=jobs)
        try:
            with progress(plainly="cells") as on_progress:
                result = run_race(config, out, on_progress, report=report, on_notice=_notice)
        except RaceInterrupted as interruption:
            typer.echo(
                f"interrupted: {interruption.kept} of {interruption.total} cells are kept in '{out / 'cells'}'; "
                f"to go on, type: {_typed()}",
                err=True,
            )
            raise typer.Exit(130) from None
        except CellsFailed as failure:
            typer.echo(f"error: {failure}", err=True)
            raise typer.Exit(1) from None
        if as_json:
            typer.echo(json.dumps(result.to_dict(), allow_nan=False))
        else:
            _print_result(result)


def _typed() -> str:
    """The command as it was typed."""
    return shlex.join(["allworlds", *sys.argv[1:]])


def _notice(sentence: str) -> None:
    typer.echo(sentence, err=True)


def _print_result(result: RaceResult) -> None:
    from rich.console import Console
    from rich.text import Text

    from allworlds.cli.race_table import headline, world_table
    from allworlds.reporting.words import NO_RATIO, counted, finding, how_read

    screen = Console(highlight=False)
    for spec in result.race.worlds:
        screen.print(Text(spec, style="bold"))
        screen.print(world_table(result, spec))
        if result.story.standings_in(spec)[0].ratio is None:
            screen.print(Text(f"{NO_RATIO}\n"))
    story, seconds = result.story, result.seconds
    if story.has_ratios:
        title = "Worst ratio over worlds: mean regret over the best learner's, where it is largest"
        screen.print(Text(title, style="bold"))
        screen.print(headline(result))
    elif len(story.worlds) > 1:
        screen.print(Text(finding(story)))
    runs = len(result.standings) * len(story.seeds)
    played = f"{counted(runs, 'run')} of {counted(story.horizon, 'round')}"
    screen.print(Text(f"{played} on {how_read(story.graph, story.cover)}; {seconds:.0f} s."))
    if result.report is not None:
        screen.print(Text(f"report: {result.report}"))
