"""What all commands share: errors as sentences, progress on stderr, tables and JSON lines."""

from __future__ import annotations

import json
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from allworlds.foundation.errors import AllWorldsError

if TYPE_CHECKING:
    from rich.table import Table

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")]
OnProgress = Callable[[int, int, str], None]
NARROW = 120
"""Columns; below, a table would squeeze its cells."""
EXAMPLE = "for example"


def stop(sentence: str, exit_code: int) -> NoReturn:
    """End the command with a sentence on stderr."""
    typer.echo(sentence, err=True)
    raise typer.Exit(exit_code) from None


@contextmanager
def error_boundary() -> Iterator[None]:
    """Turn our own errors and a lack of memory into one sentence and exit code 2, Ctrl-C into exit code 130.

    An error that is not ours is a defect of the package and keeps its traceback.
    """
    try:
        yield
    except AllWorldsError as error:
        stop(f"error: {error}", 2)
    except MemoryError as error:
        stop(f"error: not enough memory, try something smaller; {error}".rstrip("; "), 2)
    except KeyboardInterrupt:
        stop("interrupted before the end", 130)


@contextmanager
def progress(*, hidden: bool = False, plainly: str | None = None) -> Iterator[OnProgress | None]:
    """Show a bar on the terminal's stderr; yields ``on_progress(done, total, what)``.

    Where stderr is not a terminal nothing is shown, or plain lines if ``plainly`` names what they count.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    screen = Console(stderr=True)
    if hidden or not screen.is_terminal:
        yield None if hidden or plainly is None else plain_lines(plainly)
        return
    columns = (BarColumn(bar_width=24), MofNCompleteColumn(), TextColumn("{task.description}", markup=False))
    bar = Progress(*columns, console=screen, transient=True, redirect_stdout=False)
    task = bar.add_task("", total=None)

    def on_progress(done: int, total: int, what: str) -> None:
        bar.start()  # with the first call, so that earlier notices stand on lines of their own
        bar.update(task, completed=done, total=total, description=what)

    try:
        yield on_progress
    finally:
        bar.stop()


def plain_lines(things: str) -> OnProgress:
    """A callback that writes a line whenever another tenth is finished: ``36 of 360 cells, 40 s``."""
    started = time.monotonic()
    last = 10

    def on_progress(done: int, total: int, what: str) -> None:
        nonlocal last
        if 10 * done // total > last:
            typer.echo(f"{done} of {total} {things}, {time.monotonic() - started:.0f} s", err=True)
        last = 10 * done // total

    return on_progress


def duration(seconds: float) -> str:
    """A rounded span of time with its unit.

    >>> duration(42), duration(600), duration(40_000)
    ('42 s', '10 min', '11 h')
    """
    unit, name = (1.0, "s") if seconds < 100.0 else (60.0, "min") if seconds < 6000.0 else (3600.0, "h")
    return f"{seconds / unit:.0f} {name}"


def print_json(*rows: Mapping[str, object]) -> None:
    """Print one JSON object a line."""
    for row in rows:
        typer.echo(json.dumps(row, allow_nan=False))


def blank_table(padding: tuple[int, ...] = (0, 1)) -> Table:
    """A table with a line under its titles and no box; columns are added by the caller."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    return Table(box=SIMPLE_HEAD, pad_edge=False, padding=padding)  # type: ignore[arg-type]


def screen_width() -> int:
    """Columns of the terminal, 30 at least."""
    from rich.console import Console

    return max(Console().width, 30)


def print_rows(titles: Sequence[str], rows: Iterable[Sequence[str]], narrow: int = NARROW) -> None:
    """Print a table, or a list where the screen is narrow; an example is never broken, so that it can be copied."""
    from rich.console import Console
    from rich.text import Text

    screen = Console(highlight=False)
    if screen.width < narrow:
        _print_list(max(screen.width, 30), titles, rows)
        return
    table = blank_table()
    for number, title in enumerate(titles):
        table.add_column(title, overflow="fold", no_wrap=number == 0 or title == EXAMPLE)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    screen.print(table)


def _print_list(width: int, titles: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Each name in bold, its facts indented below, and examples on lines of their own."""
    for name, *cells in rows:
        facts = dict(zip(titles[1:], cells, strict=True))
        example = facts.pop(EXAMPLE, None)
        said = facts.values() if len(facts) == 1 else [f"{title}: {fact}" for title, fact in facts.items()]
        typer.secho(name, bold=True)
        typer.echo(textwrap.fill("; ".join(said), width, initial_indent="    ", subsequent_indent="    "))
        if example is not None:
            typer.echo(f"    {example}")
