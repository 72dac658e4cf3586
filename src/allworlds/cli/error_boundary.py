"""Errors become sentences, not tracebacks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from allworlds.foundation.errors import AllWorldsError


@contextmanager
def error_boundary() -> Iterator[None]:
    """Turn our own errors and a lack of memory into one sentence and exit code 2, Ctrl-C into exit code 130.

    An error that is not ours is a defect of the package and keeps its traceback.
    """
    try:
        yield
    except AllWorldsError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from None
    except MemoryError as error:
        typer.echo(f"error: not enough memory, try something smaller; {error}".rstrip("; "), err=True)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        typer.echo("interrupted before the end", err=True)
        raise typer.Exit(130) from None
