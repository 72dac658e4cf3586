"""The errors that allworlds raises on purpose.

A message says what was given, what was expected, and what to do: ``x is 3; expected ...; try ...``. All errors derive
from :class:`AllWorldsError`, so ``except allworlds.AllWorldsError`` catches these and nothing else. Errors about a
value also derive from :class:`ValueError`, as Python users expect.
"""

from __future__ import annotations

import importlib
from typing import Any


class AllWorldsError(Exception):
    """The base of every error raised by this package."""


class InvalidGraph(AllWorldsError, ValueError):
    """Edges, matrix, cliques or labels that do not make a feedback graph."""


class InvalidCover(AllWorldsError, ValueError):
    """Groups of arms that do not partition the graph into cliques, or a certificate that proves nothing."""


class InvalidConstants(AllWorldsError, ValueError):
    """Constants that are not numbers, or for which the step has no unique solution."""


class InvalidLosses(AllWorldsError, ValueError):
    """Losses that are not finite, out of range, or for the wrong arms."""


class InvalidParameter(AllWorldsError, ValueError):
    """Any other argument that the function does not accept."""


class UnknownDecision(AllWorldsError, LookupError):
    """An outcome for a decision that this agent never made, or that was already reported."""


class InvalidState(AllWorldsError, ValueError):
    """A saved file that is truncated, damaged, or of another version."""


class MissingExtra(AllWorldsError, ImportError):
    """An optional dependency that is not installed; the message names the extra to install."""


class CellsFailed(AllWorldsError):
    """A race in which some cells raised an error; the others are finished and kept."""


class RunStopped(AllWorldsError):
    """A run that had to stop early, such as on a full disk; finished cells are kept, and it can be resumed."""


def import_extra(module: str, extra: str, who_needs: str = "") -> Any:
    """The optional ``module``; raise :class:`MissingExtra`, such as "figures need matplotlib ...", without it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        missing = f"{who_needs} {package}, which is not installed" if who_needs else f"{package} is not installed"
        raise MissingExtra(f'{missing}; try pip install "allworlds[{extra}]"') from None


def counted(number: int, thing: str) -> str:
    """A number and its noun, for messages.

    >>> counted(1, "world"), counted(1200, "run")
    ('1 world', '1,200 runs')
    """
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"
