"""What is checked, and what came out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from allworlds.theory import Check, Round
from allworlds.workflows.verify.instances import Instances


@dataclass(frozen=True)
class Outcome:
    """A check, and what to say about it."""

    check: Check
    vacuous: bool = False
    note: str = ""


@dataclass(frozen=True)
class Statement:
    """A sentence of the paper with the checks that could refute it."""

    text: str
    label: str
    """The paper's label, or a step of ``docs/sharp_constants.md``."""
    check: Callable[[Instances], Iterable[Outcome | Check]]


def each_round(
    function: Callable[[Round], Check], which: str, where: Callable[[Round], bool] = lambda state: True
) -> Callable[[Instances], Iterable[Check]]:
    """A statement about one round, on every recorded round that satisfies its condition."""

    def check(instances: Instances) -> Iterable[Check]:
        return (function(state) for state in instances.states(which) if where(state))

    return check
