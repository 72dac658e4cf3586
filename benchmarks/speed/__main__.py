"""How fast a round is, beside floors, solvers and other packages: options, and the tables on the terminal.

    scripts/bench                  everything, into benchmarks/results/ and docs/speed.md; options may follow
    scripts/bench speed --quick    a quick look that writes nothing
    scripts/bench speed --against PATH    this tree beside another one

Without the script: ``PYTHONPATH=benchmarks python -m speed --quick``.
"""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from allworlds.cli.terminal import error_boundary, progress
from allworlds.foundation.errors import InvalidParameter
from allworlds.reporting.canvas import house_style
from speed.against import compare
from speed.config import FULL, QUICK
from speed.page import TITLES, amount, compared, number, read_page, write_result
from speed.rows import Goal
from speed.run import BenchResult, run_bench

app = typer.Typer(
    add_completion=False, pretty_exceptions_enable=False, context_settings={"help_option_names": ["-h", "--help"]}
)


@app.command()
def bench(
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer sizes, rounds and repeats: a few minutes instead of many.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Folder for bench.md, bench.json and bench.svg.", show_default="none")
    ] = None,
    page: Annotated[
        Path | None, typer.Option(help="With --out: a Markdown page whose marked part becomes the table.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(help="A part: rounds, solvers, rivals, scaling, threads, memory or start; repeat for several."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")] = False,
    against: Annotated[
        Path | None,
        typer.Option(help="Only compare rounds with another source tree, such as a worktree of the commit before."),
    ] = None,
) -> None:
    """Measure the lazy step against two floors, the exact step, general solvers and other packages, in one run.

    Prints every goal with what was measured. A missed goal is reported; it is not an error.
    """
    with error_boundary():
        if against is not None:
            for size, ours, theirs in compare(against):
                typer.echo(
                    f"{size:>9}  {amount(ours, 's/round')} a round, there {amount(theirs, 's/round')}: "
                    f"{theirs / ours:.2f} times as fast"
                )
            return
        if page is not None and out is None:
            raise InvalidParameter(
                f"--page is '{page}' and --out is missing; expected both, since the page shows the folder's figure; "
                "try --out benchmarks/results"
            )
        if page is not None:
            read_page(page)  # refuses one without a place for the table, before anything is measured
        if out is not None:
            with house_style():  # refuses where figures cannot be drawn
                pass
        with progress(plainly="parts") as on_progress:
            result = run_bench(QUICK if quick else FULL, only, on_progress)
        files = () if out is None else write_result(result, out, page)
        if as_json:
            typer.echo(json.dumps(result.to_dict(), allow_nan=False))
            return
        _print_result(result, all_goals=not only)
        for file in files:
            typer.echo(f"wrote {file}")


def _print_result(result: BenchResult, *, all_goals: bool) -> None:
    screen = Console(highlight=False)
    screen.print(_rows(result))
    goals = [goal for goal in result.goals if all_goals or goal.measured is not None]
    if goals:
        screen.print(_goals(goals))


def _rows(result: BenchResult) -> Table:
    table = Table("what", "K x size", box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for name in ("median", "ratio"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", ratio=1, overflow="fold")
    part = None
    for row in result.rows:
        if row.part != part:
            part = row.part
            table.add_section()
            table.add_row(Text(TITLES[part], style="bold"))
        cells = (row.name, row.size, amount(row.value, row.unit), number(compared(result, row)), row.note)
        table.add_row(*map(Text, cells))
    return table


def _goals(goals: list[Goal]) -> Table:
    table = Table("goal", "wanted", box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    table.add_column("measured", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    styles = {True: "green", False: "bold red", None: "yellow"}
    for goal in goals:
        verdict = Text(goal.verdict, style=styles[goal.reached])
        table.add_row(Text(goal.work), Text(goal.wanted), number(goal.measured), verdict)
    return table


if __name__ == "__main__":
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Unicode gets question marks, not an error
    app()
