"""How far a command is, on stderr: a bar for a terminal, a plain line a tenth for anything else."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer

OnProgress = Callable[[int, int, str], None]


@contextmanager
def progress(*, hidden: bool = False, plainly: str | None = None) -> Iterator[OnProgress | None]:
    """Show a bar on the terminal's stderr; hands out ``on_progress(done, total, what)``.

    Anywhere else nothing is shown, or plain lines if it is said what they count: ``plainly="cells"``.
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
        bar.start()  # with the first news, so that what is said before stands on lines of its own
        bar.update(task, completed=done, total=total, description=what)

    try:
        yield on_progress
    finally:
        bar.stop()


def plain_lines(things: str) -> OnProgress:
    """A listener that writes a line whenever another tenth is finished: ``36 of 360 cells, 40 s``."""
    started = time.monotonic()
    told: int | None = None

    def on_progress(done: int, total: int, what: str) -> None:
        nonlocal told
        tenth = 10 * done // total
        if told is not None and tenth > told:
            typer.echo(f"{done} of {total} {things}, {time.monotonic() - started:.0f} s", err=True)
        told = tenth

    return on_progress
