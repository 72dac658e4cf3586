"""Every error that allworlds raises on purpose, and the sentence style they share.

An error says what came, what was expected, and what to do. All of them derive from
:class:`AllWorldsError`, so ``except allworlds.AllWorldsError`` catches ours and nothing else.
Those about a value also derive from :class:`ValueError`, as Python users expect.
"""

from __future__ import annotations


class AllWorldsError(Exception):
    """The base of every error raised by this package."""


class InvalidGraph(AllWorldsError, ValueError):
    """Edges, matrix, cliques or labels that do not make a feedback graph."""


class InvalidCover(AllWorldsError, ValueError):
    """Groups of arms that are no partition into cliques of the graph."""


class InvalidConstants(AllWorldsError, ValueError):
    """Constants for which the step has no unique answer, or that are no numbers."""


class InvalidLosses(AllWorldsError, ValueError):
    """Losses that are not finite, out of range, or of the wrong arms."""


class InvalidParameter(AllWorldsError, ValueError):
    """Any other argument that is not what the function takes."""


class UnknownDecision(AllWorldsError, LookupError):
    """An outcome for a decision that this agent never made, or that was already reported."""


class InvalidState(AllWorldsError, ValueError):
    """A saved file that is cut short, damaged, or of another version."""


class MissingExtra(AllWorldsError, ImportError):
    """An optional dependency that is not installed; the sentence names the extra."""


class RunStopped(AllWorldsError):
    """A run that had to stop midway: a full disk, a lost cluster. What is finished is kept, and it can be resumed."""
