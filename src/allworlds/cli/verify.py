"""``allworlds verify``: check every statement of the paper and of our own proofs, as a table or as JSON lines."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Annotated

import typer

from allworlds.cli.terminal import blank_table, print_json, progress

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from allworlds.workflows.verify import Verdict

SEEDS = 10**9  # short enough for a person to copy
NARROW = 64  # columns; a narrower table would truncate its numbers


def verify(
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of the random instances; by default a new one, which is printed.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per statement.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer and smaller instances.")] = False,
) -> None:
    """Check every lemma and theorem, of the paper and our own, on new random instances and real runs.

    Theorems A to D, about the sharp and the practical constants and the guarded learner, are among them, with each
    step of their proofs.
    Prints each statement with its left side, right side and slack. The exit code is 1 if one fails.
    """
    from rich.console import Console
    from rich.text import Text

    from allworlds.workflows import plain_data
    from allworlds.workflows.verify import verify as verdicts

    chosen = secrets.randbelow(SEEDS) if seed is None else seed
    screen = Console(highlight=False)
    collected: list[Verdict] = []
    with progress(hidden=as_json and screen.is_terminal) as on_progress:
        for verdict in verdicts(chosen, scale="quick" if quick else "full", on_progress=on_progress):
            collected.append(verdict)
            if as_json:
                print_json(plain_data(verdict) | {"seed": chosen})
    if not as_json:
        _print_verdicts(screen, collected)
        again = f"allworlds verify --seed {chosen}{' --quick' if quick else ''}"
        screen.print(Text(f"seed {chosen}: {again} repeats this"))
    if not collected or not all(verdict.holds for verdict in collected):
        raise typer.Exit(1)


def _print_verdicts(screen: Console, verdicts: list[Verdict]) -> None:
    """Print a table and a closing sentence; on a narrow screen, plain lines instead of the table."""
    from rich.text import Text

    if screen.width < NARROW:
        for verdict in verdicts:
            left, right, _ = _numbers(verdict)
            screen.print(_mark(screen, verdict), Text(f"{_name(verdict)}: {left} <= {right}"))
    else:
        screen.print(_table(screen, verdicts))
    screen.print(Text(_summary(verdicts)))


def _table(screen: Console, verdicts: list[Verdict]) -> Table:
    from rich.text import Text

    table = blank_table()
    table.add_column("statement", overflow="fold", ratio=1)
    for name in ("left", "right", "slack"):
        table.add_column(name, justify="right", no_wrap=True, min_width=9)
    table.add_column("holds", no_wrap=True, min_width=9)
    group = None
    for verdict in verdicts:
        if verdict.group != group:
            group = verdict.group
            table.add_section()
            table.add_row(Text(group, style="bold"))
        table.add_row(Text(_name(verdict)), *_numbers(verdict), _mark(screen, verdict))
    return table


def _mark(screen: Console, verdict: Verdict) -> Text:
    """Whether a statement holds, in words or signs, so that colour is not needed."""
    from rich.text import Text

    yes, no = ("✓", "✗") if "utf" in screen.encoding.lower() else ("yes", "NO")
    mark = Text(yes if verdict.holds else no, style="green" if verdict.holds else "bold red")
    return mark.append(" vacuous" if verdict.vacuous else "", style="yellow")


def _numbers(verdict: Verdict) -> list[str]:
    return [f"{number:.3g}" for number in (verdict.left, verdict.right, verdict.slack)]


def _name(verdict: Verdict) -> str:
    return f"{verdict.statement} ({verdict.note})" if verdict.note else verdict.statement


def _summary(verdicts: list[Verdict]) -> str:
    """One closing sentence: how many statements hold, how many are vacuous, which fail."""
    if not verdicts:
        return "No statement was checked."
    failing = [verdict.statement for verdict in verdicts if not verdict.holds]
    vacuous = sum(verdict.vacuous for verdict in verdicts)
    instances = sum(verdict.instances for verdict in verdicts)
    sentence = f"{len(verdicts) - len(failing)} of {len(verdicts)} statements hold on {instances:,} instances"
    if vacuous:
        sentence += f", {vacuous} vacuous (the bound is no better than the trivial one)"
    return f"{sentence}; failing: {', '.join(failing)}." if failing else f"{sentence}."
