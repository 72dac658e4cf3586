"""An agent's report: where it stands, what it knows, and whether its record is sound.

**The interval of an arm's mean loss** is Hoeffding's, for all arms and all times at once: with ``n`` losses seen,
``sqrt(log(2 N n (n + 1) / 0.05) / (2 n))`` either way. It holds at 95 % if each arm's losses come from one
distribution; which of them are seen may depend on the past.

**The test for mismatch** asks whether arms were drawn as often as the reported probabilities say. Over audited
decisions the difference is a martingale; by Freedman's inequality with the variance ``V`` at hand, a difference of
``d`` has probability at most ``2 exp(-d^2 / (2 (V + d / 3)))``, times the number of arms.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from allworlds.graphs.inputs import Label

if TYPE_CHECKING:
    from allworlds.agents.agent import Agent

LEVEL = 0.05
MISMATCH = 0.001
"""A p-value below this is called a mismatch."""


@dataclass(frozen=True)
class ArmReport:
    """What an agent knows of one arm; losses (or rewards) are in the units that are reported."""

    arm: Label
    probability: float
    """Of the next choice."""
    drawn: int
    seen: int
    """How often its value was reported, side observations included."""
    mean: float | None
    low: float | None
    high: float | None
    """The 95 % interval of its mean."""
    open: int
    """Decisions for it without an outcome yet."""
    voided: int
    """Decisions for it whose outcome was given up."""
    frequency: float | None
    """Its share of the decisions that were audited while it was there."""
    logged: float | None
    """The mean of its reported probabilities there."""


@dataclass(frozen=True)
class AgentReport:
    """What ``agent.report()`` returns; ``print`` it, or take ``to_json()``."""

    learner: str
    round: int
    decisions: int
    open: int
    reward: bool
    arms: tuple[ArmReport, ...]
    best: Label | None
    """The arm with the best mean so far; None before anything was seen."""
    audited: int
    """Decisions that were audited while an arm of today was there."""
    mismatch_p_value: float
    """A bound on how likely frequencies as far from the reported probabilities are, over all arms."""
    regret_bound: float | None
    why_no_bound: str | None
    held_back: float | None
    """As ``agent.held_back``: what the limit on single estimates has held back so far."""
    handed_over: int | None
    """As ``agent.handed_over``: the first round that was left to Algorithm 1."""
    why_handed_over: str | None
    changes: int
    """Events in ``agent.history``."""

    @property
    def mismatch(self) -> bool:
        """Whether arms were not drawn with the probabilities that were reported."""
        return self.mismatch_p_value < MISMATCH

    @property
    def voided(self) -> int:
        """Decisions that were taken back, also those for arms that were retired since."""
        return self.decisions - self.open - (self.round - 1)

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self) | {
            "arms": [asdict(arm) for arm in self.arms],
            "mismatch": self.mismatch,
            "voided": self.voided,
        }

    def to_json(self) -> str:
        """As one JSON object."""
        return json.dumps(self.to_dict(), allow_nan=False)

    def __str__(self) -> str:
        value = "reward" if self.reward else "loss"
        lines = [
            f"{self.learner}, round {self.round:,}: {self.decisions:,} decisions, {self.open:,} open, "
            f"{self.voided:,} voided"
        ]
        best = next((arm for arm in self.arms if arm.arm == self.best), None)
        if best is not None and best.mean is not None:
            lines.append(
                f"best so far: {best.arm}, mean {value} {best.mean:.4g} (95 %: {best.low:.4g} to {best.high:.4g})"
            )
        bound = "none: " + str(self.why_no_bound) if self.regret_bound is None else f"at most {self.regret_bound:.4g}"
        if self.held_back is not None:
            bound += f"; held back by the limit on single estimates: {self.held_back:.4g}"
        lines.append(f"bound on the expected regret so far: {bound}")
        if self.handed_over is not None:
            lines.append(f"left to Algorithm 1 in round {self.handed_over:,}: {self.why_handed_over}")
        word = "MISMATCH" if self.mismatch else "no mismatch"
        lines.append(
            f"drawn against logged, {self.audited:,} decisions audited: {word} (p <= {self.mismatch_p_value:.2g})"
        )
        if self.changes:
            lines.append(f"changes of the arms: {self.changes}")
        titles = ("arm", "next", "drawn", "seen", f"mean {value}", "95 % interval", "open", "voided", "share", "logged")
        rows = [titles, *(_row(arm) for arm in self.arms)]
        widths = [max(len(row[i]) for row in rows) for i in range(len(titles))]
        return "\n".join(
            lines + ["  ".join(cell.rjust(w) for cell, w in zip(row, widths, strict=True)) for row in rows]
        )


def _row(arm: ArmReport) -> tuple[str, ...]:
    interval = "" if arm.low is None else f"{arm.low:.3g} to {arm.high:.3g}"
    numbers = (arm.drawn, arm.seen), (arm.open, arm.voided)
    return (
        str(arm.arm),
        f"{arm.probability:.4f}",
        *(f"{n:,}" for n in numbers[0]),
        "" if arm.mean is None else f"{arm.mean:.4g}",
        interval,
        *(f"{n:,}" for n in numbers[1]),
        *("" if share is None else f"{share:.4f}" for share in (arm.frequency, arm.logged)),
    )


def radius_of(seen: float, n_arms: int) -> float:
    """Half the width of the interval of a mean of losses in [0, 1]."""
    return math.sqrt(math.log(2.0 * n_arms * seen * (seen + 1.0) / LEVEL) / (2.0 * seen))


def mismatch_of(audited: Any, expected: Any, variance: Any) -> float:
    """The p-value over all arms, at most 1."""
    least = 1.0
    for count, mean, spread in zip(audited.tolist(), expected.tolist(), variance.tolist(), strict=True):
        off = abs(count - mean)
        if off > 1e-6:
            least = min(least, 2.0 * audited.size * math.exp(-off * off / (2.0 * (spread + off / 3.0))))
    return least


def make_report(agent: Agent) -> AgentReport:
    """The report of an agent as it is."""
    tally, allowed, names = agent._tally, agent._allowed, agent.arms
    open_by_arm: dict[Label, int] = {}
    for decision in agent.pending.values():
        open_by_arm[decision.arm] = open_by_arm.get(decision.arm, 0) + 1
    width, p = allowed.high - allowed.low, agent.distribution
    arms = []
    for i, name in enumerate(names):
        seen, mean, low, high = float(tally.seen[i]), None, None, None
        if seen > 0.0:
            loss, radius = float(tally.losses[i]) / seen, radius_of(seen, len(names))
            ends = [max(0.0, loss - radius), loss, min(1.0, loss + radius)]
            low, mean, high = sorted(
                allowed.high - x * width if allowed.reward else allowed.low + x * width for x in ends
            )
        counts = int(tally.drawn[i]), int(seen)
        missing = open_by_arm.get(name, 0), int(tally.voided[i])
        shares: tuple[float | None, float | None] = (None, None)
        if tally.audits[i] > 0.0:
            shares = float(tally.audited[i] / tally.audits[i]), float(tally.expected[i] / tally.audits[i])
        arms.append(ArmReport(name, float(p[i]), *counts, mean, low, high, *missing, *shares))
    known = [arm for arm in arms if arm.mean is not None]
    sign = -1.0 if allowed.reward else 1.0
    best = min(known, key=lambda arm: sign * float(arm.mean or 0.0)).arm if known else None
    bound, handed_over = agent.regret_bound, agent.handed_over
    return AgentReport(
        learner=agent.learner.title,
        round=agent.round,
        decisions=agent._next_id - 1,
        open=len(agent.pending),
        reward=allowed.reward,
        arms=tuple(arms),
        best=best,
        audited=int(tally.audits.max()),
        mismatch_p_value=mismatch_of(tally.audited, tally.expected, tally.variance),
        regret_bound=bound,
        why_no_bound=None if bound is not None else why_no_bound(agent),
        held_back=agent.held_back,
        handed_over=handed_over,
        why_handed_over=None if handed_over is None else agent.learner.handover_reason(agent._state),
        changes=len(agent.history),
    )


def why_no_bound(agent: Agent) -> str:
    """Why there is no bound on the regret so far, in words."""
    if agent.learner.regret_bound(agent.learner.init()) is None:
        return f"{agent.learner.title} has none"
    if agent._without_bound is not None:
        return agent._without_bound
    return "an outcome is missing, or was learnt after that of a later decision"
