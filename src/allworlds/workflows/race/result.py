"""What a race leaves behind: its story, and the same as one JSON object."""

from __future__ import annotations

import json
import math
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from allworlds import __version__
from allworlds.analysis.comparison import Standing, WorstRatio, standings, worst_ratios
from allworlds.analysis.runs import Runs
from allworlds.foundation.files import write_atomic
from allworlds.foundation.machine import versions
from allworlds.reporting.story import RaceSummary
from allworlds.workflows.race.config import Race
from allworlds.workflows.race.plan import Plan


@dataclass(frozen=True)
class RaceResult:
    """A finished race."""

    race: Race
    story: RaceSummary
    seconds: float
    """How long this start took; finished cells of an earlier one cost nothing."""
    report: Path | None
    """The page, if one was written."""

    @property
    def standings(self) -> tuple[Standing, ...]:
        """Every learner in every world."""
        return self.story.standings

    @property
    def ratios(self) -> tuple[WorstRatio, ...]:
        """The headline: each learner's worst ratio over the worlds, the best learner first."""
        return self.story.ratios

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; a number that JSON cannot write is None."""
        story = self.story
        data = {
            "allworlds": __version__,
            "race": {
                "graph": self.race.graph,
                "n_arms": story.cover.n_arms,
                "n_cliques": story.cover.n_cliques,
                "worlds": list(self.race.worlds),
                "learners": list(self.race.learners),
                "horizon": self.race.horizon,
                "seeds": list(story.seeds),
            },
            "ours": story.ours,
            "worst_ratios": [asdict(row) for row in self.ratios],
            "standings": [asdict(row) | _estimates(row) for row in self.standings],
            "command": story.command,
            "machine": story.machine,
            "versions": dict(story.versions),
            "report": None if self.report is None else str(self.report),
            "timing": {"jobs": self.race.jobs or os.cpu_count() or 1, "seconds": self.seconds},
        }
        plain: dict[str, Any] = _plain(data)
        return plain


def tell(plan: Plan, runs: Sequence[Runs], folder: Path, *, seconds: float, report: bool) -> RaceResult:
    """Compare the runs, and draw the report if it is wanted."""
    rows = standings(runs, plan.ours, plan.rivals)
    story = RaceSummary(
        graph=plan.race.graph,
        cover=plan.cover,
        worlds=plan.worlds,
        runs=tuple(runs),
        standings=tuple(rows),
        ratios=tuple(worst_ratios(rows, plan.rivals)),
        ours=plan.ours,
        command=plan.race.command(folder),
        machine=f"{platform.machine()}, {os.cpu_count() or 1} cores, {platform.system()}",
        versions=versions(),
    )
    page = None
    if report:
        from allworlds.reporting.report import write_report

        page = write_report(story, folder)
    return RaceResult(plan.race, story, seconds, page)


def write_result(result: RaceResult, folder: Path) -> Path:
    """Write ``result.json``."""
    path = folder / "result.json"
    write_atomic(path, (json.dumps(result.to_dict(), indent=1, allow_nan=False) + "\n").encode())
    return path


def what_is_replaced(race: Race, folder: Path, *, report: bool) -> str | None:
    """A sentence if the folder holds what another race has left and this one will write over; else None."""
    page = folder / "report.html"
    what = "report" if report and page.exists() else "result"
    try:
        other = json.loads((folder / "result.json").read_text(encoding="utf-8"))["race"]
        same = all(other[name] == list(getattr(race, name)) for name in ("worlds", "learners"))
        same = same and (other["graph"], other["horizon"]) == (race.graph, race.horizon)
        if same and other["seeds"] == list(race.seed_numbers):
            return None
        return f"replaces the {what} of another race (graph {other['graph']}) in '{folder}'"
    except (OSError, ValueError, KeyError, TypeError):
        return f"replaces '{page}', which tells of another race" if what == "report" else None


def _estimates(row: Standing) -> dict[str, Any]:
    """The estimates under the names of their parts."""
    return {
        "regret": row.regret._asdict(),
        "clean_regret": row.clean_regret._asdict(),
        "difference": None if row.difference is None else row.difference._asdict(),
    }


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(member) for member in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
