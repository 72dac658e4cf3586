"""The command ``allworlds``: parse, call a workflow, print.

Nothing heavy is imported here: ``allworlds --help`` answers without NumPy, Numba or Matplotlib. Each command
imports its workflow when it runs, inside :func:`error_boundary`.
"""

from __future__ import annotations

import io
import sys
from typing import Annotated

import typer

from allworlds import __version__
from allworlds.cli.agents import agent, evaluate
from allworlds.cli.cover import cover, recommend
from allworlds.cli.db import COMMANDS as DB
from allworlds.cli.decisions import CLIENT
from allworlds.cli.experiments import experiments, report, resume, run, status, verify_results
from allworlds.cli.listing import figure, graphs, learners, worlds
from allworlds.cli.race import race
from allworlds.cli.serve import KEYS, serve
from allworlds.cli.terminal import error_boundary
from allworlds.cli.verify import verify

app = typer.Typer(
    name="allworlds",
    help="Online decisions with side observations: one learner for friendly, hostile and tampered worlds.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
COMMANDS = (
    *(race, recommend, cover, run, resume, status, report, verify_results, experiments),
    *(learners, worlds, graphs, verify, figure, agent, evaluate, serve),
)
GROUPS = (
    ("client", "Talk to a running service: create learners, choose, observe, export, evaluate.", CLIENT),
    ("db", "The service's database: verify, back up, upgrade, prune.", DB),
    ("keys", "Keys of the service: who may choose, observe, read and administer.", KEYS),
)
"""Commands of two words: the first word, its help, and a function for each second word."""

for command in COMMANDS:
    app.command()(error_boundary()(command))
for word, about, functions in GROUPS:
    group = typer.Typer(name=word, help=about, no_args_is_help=True)
    for function in functions:
        group.command(function.__name__.strip("_").replace("_", "-"))(error_boundary()(function))
    app.add_typer(group)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"allworlds {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Online decisions with side observations: one learner for friendly, hostile and tampered worlds."""


def main() -> None:
    """Run the command line; the exit code is 0, 1 (a check failed), 2 (usage) or 130 (interrupted)."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # without Unicode: question marks, not an error
    app()
