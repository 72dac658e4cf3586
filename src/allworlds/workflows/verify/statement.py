"""What is checked, and what came out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from allworlds.theory import Check
from allworlds.workflows.verify.instances import Instances

State = TypeVar("State")


@dataclass(frozen=True)
class Outcome:
    """A check, and what to say about it."""

    check: Check
    vacuous: bool = False
    note: str = ""


@dataclass(frozen=True)
class Statement:
    """A sentence of a proof with the checks that could refute it."""

    text: str
    label: str
    """The paper's label, or a step of ``docs/sharp_constants.md`` or ``docs/default_proof.md``."""
    check: Callable[[Instances], Iterable[Outcome | Check]]


def each_round(
    function: Callable[[State], Check], which: str, where: Callable[[State], bool] = lambda state: True
) -> Callable[[Instances], Iterable[Check]]:
    """A statement about one round, on every recorded round that satisfies its condition."""

    def check(instances: Instances) -> Iterable[Check]:
        return (function(state) for state in instances.states(which) if where(state))

    return check
