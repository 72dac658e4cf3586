"""``allworlds verify``: check every statement of the paper and of our own proofs where it could fail.

Each statement is checked on random instances of the seed and on real runs, with the choice of the clique enumerated and
the Hessian evaluated over whole segments. Its verdict shows the check with the least room. A statement also fails if no
instance uses as much of its bound as expected (``LEAST_SHARE``): then a side is computed wrongly. A bound that is no
better than the trivial one is true and says nothing: it is marked vacuous.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal, get_args

from allworlds.foundation.checks import whole
from allworlds.foundation.errors import InvalidParameter
from allworlds.theory import Check
from allworlds.workflows.verify import guarded, paper, proofs, theorems
from allworlds.workflows.verify.instances import LONG_HORIZON, Instances, Outcome, Statement

__all__ = ["Verdict", "verify"]

GROUPS = {
    "regulariser": paper.REGULARISER,
    "algorithm": paper.ALGORITHM,
    "proof": paper.PROOF,
    "sharp proof": proofs.SHARP,
    "default proof": proofs.DEFAULT,
    "guarded proof": guarded.STEPS,
    f"theorems on runs of {LONG_HORIZON:,} rounds": theorems.ON_RUNS,
    f"theorems on runs of {theorems.HORIZON:,} rounds": theorems.ON_TRACES,
}

LEAST_SHARE: dict[str, float] = tomllib.loads((files(__name__) / "least_shares.toml").read_text(encoding="utf-8"))
"""The share of its bound that each statement must use on some instance, so that a wrong side is noticed.

``left <= right`` also holds where a left side is 0 or a right side ten times too large. But the largest
``left / right`` of most statements is about the same on every seed. Each number is about a third of the smallest that
was seen on several seeds at the scale ``quick``. A statement that is not listed compares a difference with what
rounding may cost, or an eigenvalue with 0.
"""

Scale = Literal["quick", "full"]
OnProgress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Verdict:
    """One statement, its tightest instance, and whether it held on all instances."""

    statement: str
    label: str
    """The paper's label, or a step of a proof of ours: ``docs/sharp_constants.md`` and the other two pages."""
    group: str
    left: float
    right: float
    slack: float
    holds: bool
    vacuous: bool
    note: str
    instances: int


def verify(seed: int = 0, *, scale: Scale = "full", on_progress: OnProgress | None = None) -> Iterator[Verdict]:
    """Yield one verdict for each statement; ``on_progress(done, total, statement)`` is called before each.

    >>> first = next(verify(seed=1, scale="quick"))
    >>> first.holds
    True
    """
    number = whole("seed", seed, at_least=0, error=InvalidParameter)
    if scale not in get_args(Scale):
        raise InvalidParameter(f"scale is {scale!r}; expected one of {', '.join(map(repr, get_args(Scale)))}")
    return _verdicts(Instances(number, full=scale == "full"), on_progress)


def _verdicts(instances: Instances, on_progress: OnProgress | None) -> Iterator[Verdict]:
    statements = [(group, statement) for group, members in GROUPS.items() for statement in members]
    for number, (group, statement) in enumerate(statements):
        if on_progress is not None:
            on_progress(number, len(statements), statement.text)
        yield judge(statement, group, statement.check(instances))
    if on_progress is not None:
        on_progress(len(statements), len(statements), "done")


def used(checks: list[Check]) -> float:
    """The largest ``left / right``, over right sides that are more than rounding."""
    return max((check.ratio for check in checks if check.right > 1e-9 * max(1.0, check.scale)), default=0.0)


def judge(statement: Statement, group: str, outcomes: Iterable[Outcome | Check]) -> Verdict:
    """The tightest of the outcomes, a failing one before any other; no outcome at all is a failure."""
    found = [outcome if isinstance(outcome, Outcome) else Outcome(outcome) for outcome in outcomes]
    if not found:
        nan = float("nan")
        return Verdict(statement.text, statement.label, group, nan, nan, nan, False, False, "nothing was checked", 0)
    worst = min(found, key=lambda outcome: (outcome.check.holds, outcome.check.room))
    check = worst.check
    share, least = used([outcome.check for outcome in found]), LEAST_SHARE.get(statement.label, 0.0)
    note = worst.note if share >= least else f"uses {share:.2g} of its bound; expected at least {least:g}"
    return Verdict(
        statement=statement.text,
        label=statement.label,
        group=group,
        left=float(check.left),
        right=float(check.right),
        slack=float(check.slack),
        holds=all(outcome.check.holds for outcome in found) and share >= least,
        vacuous=worst.vacuous,
        note=note,
        instances=len(found),
    )
