"""``allworlds race``: play the paper's learner and its rivals, print a table, write a report."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from allworlds.cli.experiments import Address, Jobs, listening
from allworlds.cli.terminal import blank_table, print_json, stop
from allworlds.foundation.errors import CellsFailed, InvalidParameter, RunStopped, counted

if TYPE_CHECKING:
    from rich.table import Table

    from allworlds.analysis.comparison import Estimate, RaceSummary, Standing
    from allworlds.workflows.race import RaceResult

Several = list[str] | None
FULL = "The small comparison: every learner, every kind of world, 10000 rounds, 4 seeds; minutes on two cores."


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
        Several, typer.Option(help="A world; repeat for several.", show_default="four of them", metavar="SPEC")
    ] = None,
    learner: Annotated[
        Several,
        typer.Option(
            help="A learner; repeat for several.",
            show_default="nine of them, or as many as take the graph",
            metavar="SPEC",
        ),
    ] = None,
    horizon: Annotated[int | None, typer.Option(min=1, help="Rounds of a run.", show_default="30000")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Runs of a learner in a world.", show_default="20")] = None,
    first_seed: Annotated[int, typer.Option(min=0, help="The first of the seeds.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder of the report and of all finished cells.")] = Path("race"),
    jobs: Jobs = None,
    cluster: Address = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")] = False,
    full: Annotated[bool, typer.Option("--full", help=FULL)] = False,
    report: Annotated[bool, typer.Option(help="Draw figures and write report.html.")] = True,
) -> None:
    """Let learners race in several worlds; print who did how well and write DIR/report.html.

    Specs are names with parameters, such as disjoint-cliques:10x10, stochastic:gap=0.125 or
    tsallis-shannon-sharp:kappa=0.25; file:PATH reads a graph from a file. allworlds graphs, allworlds worlds and
    allworlds learners list the names.

    An interrupted race resumes where it stopped when it is started again with the same options; allworlds status DIR
    says how far it is, allworlds resume DIR finishes it with other threads or on a cluster.
    """
    from allworlds.experiments.driver import Interrupted
    from allworlds.workflows.race import full_race, run_race

    if cover is not None and graph is not None:
        raise InvalidParameter(f"'{cover}' has a graph of its own; give --cover or --graph, not both")
    graph = graph if cover is None else f"cover:{cover}"
    asked = {"graph": graph, "worlds": world, "learners": learner, "horizon": horizon, "seeds": seeds}
    chosen: dict[str, Any] = full_race() if full else {}
    chosen |= {key: value for key, value in asked.items() if value}
    how: dict[str, Any] = {"out": out, "jobs": jobs, "cluster": cluster, "report": report}
    try:
        with listening() as listener:
            result = run_race(**chosen, first_seed=first_seed, **how, listener=listener)
    except Interrupted as interruption:
        kept = f"interrupted: {interruption.done} of {interruption.total} cells are kept in '{out}'"
        stop(f"{kept}; to resume, type: {shlex.join(['allworlds', *sys.argv[1:]])}", 130)
    except (CellsFailed, RunStopped) as error:
        stop(f"error: {error}", 1)
    if as_json:
        print_json(result.to_dict())
    else:
        _print_result(result)


def _print_result(result: RaceResult) -> None:
    from rich.console import Console
    from rich.text import Text

    from allworlds.reporting.race_report import NO_RATIO, describe_graph, finding

    screen, summary = Console(highlight=False), result.summary
    for spec in result.race.worlds:
        screen.print(Text(spec, style="bold"))
        screen.print(world_table(summary, spec))
        if summary.standings_in(spec)[0].ratio is None:
            screen.print(Text(f"{NO_RATIO}\n"))
    if summary.has_ratios:
        title = "Worst ratio over worlds: mean regret over the best learner's, where it is largest"
        screen.print(Text(title, style="bold"))
        screen.print(headline(summary))
    elif len(summary.worlds) > 1:
        screen.print(Text(finding(summary)))
    runs = len(result.standings) * len(summary.seeds)
    played = f"{counted(runs, 'run')} of {counted(summary.horizon, 'round')}"
    screen.print(Text(f"{played} on {describe_graph(summary.graph, summary.played_on)}; {result.seconds:.0f} s."))
    if result.report is not None:
        screen.print(Text(f"report: {result.report}"))


# --- tables for the terminal ---


def world_table(summary: RaceSummary, world: str) -> Table:
    """The learners in one world, the least regret first; a star marks the best, so that no colour is needed."""
    rows = summary.standings_in(world)
    columns: dict[str, Callable[[Standing], str]] = {
        "regret": lambda row: f"{row.regret.mean:z,.0f}",
        "95 % interval": lambda row: interval(row.regret),
        "worst": lambda row: f"{row.worst:z,.0f}",
        "clean": lambda row: f"{row.clean_regret.mean:z,.0f}",
        "ratio": lambda row: ratio(row.ratio),
        "rounds/s": lambda row: f"{row.rounds_per_second / 1000:,.0f}k",
    }
    if not any(row.corruption > 0.0 for row in rows):
        del columns["clean"]
    table = _blank("learner", *columns)
    best = next((row for row in rows if summary.rivals[row.learner]), None)
    for row in rows:
        name = f"{'* ' if row is best else '  '}{_shown(summary, row.learner)}"
        cells = [write(row) for write in columns.values()]
        table.add_row(name, *cells, style="bold" if row is best else None)
    return table


def headline(summary: RaceSummary) -> Table:
    """Each learner's worst ratio, the smallest first."""
    from allworlds.reporting.race_figures import short_titles

    titles = short_titles(list(summary.worlds))
    table = _blank("learner", "worst ratio", "in")
    for row in summary.ratios:
        name, style = f"  {_shown(summary, row.learner)}", "bold" if row.learner == summary.ours else None
        table.add_row(name, ratio(row.ratio), titles.get(row.world or "", ""), style=style)
    table.columns[2].justify = "left"
    return table


def _shown(summary: RaceSummary, learner: str) -> str:
    """In brackets if it sees more than the graph shows."""
    return learner if summary.rivals[learner] else f"({learner})"


def interval(estimate: Estimate) -> str:
    """Both ends, or a dash for a single run."""
    return "-" if estimate.low is None else f"{estimate.low:z,.0f} to {estimate.high:z,.0f}"


def ratio(value: float | None) -> str:
    """Two decimals, or a dash where a ratio says nothing.

    >>> ratio(1.5), ratio(None)
    ('1.50', '-')
    """
    return "-" if value is None else f"{value:.2f}"


def _blank(first: str, *others: str) -> Table:
    table = blank_table(padding=(0, 1, 0, 0))
    table.add_column(f"  {first}", overflow="fold")
    for name in others:
        table.add_column(name, justify="right", overflow="fold")
    return table
