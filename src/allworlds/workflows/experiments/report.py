"""``allworlds report``: what a run has found so far, as one page."""

from __future__ import annotations

import math
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from allworlds.experiments.panels import Line, Panel, load_panels
from allworlds.experiments.reading import as_experiment
from allworlds.experiments.store import read_description
from allworlds.reporting.experiment_words import ExperimentSummary, answers
from allworlds.workflows.experiments.status import Status, read_status


@dataclass(frozen=True)
class Report:
    """The page, and what it says."""

    page: Path
    sweep: ExperimentSummary

    @property
    def answers(self) -> list[str]:
        """The answer in a sentence or a few."""
        return answers(self.sweep)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; a number that JSON cannot write is None."""
        sweep = self.sweep
        return {
            "report": str(self.page),
            "name": sweep.name,
            "question": sweep.question,
            "claim": sweep.claim,
            "answers": self.answers,
            "done": sweep.done,
            "failed": len(sweep.failures),
            "total": sweep.total,
            "x": sweep.x,
            "y": sweep.y,
            "panels": [_panel(panel) for panel in sweep.panels],
            "failures": [dict(failure) for failure in sweep.failures],
        }


def write_report(folder: str | Path) -> Report:
    """Write ``report.html`` and ``figures/`` into the folder of a run, finished or not.

    >>> import tempfile
    >>> from allworlds.workflows.experiments import run_experiment
    >>> folder = tempfile.mkdtemp()
    >>> summary = run_experiment("corrupted-cliques", folder, changes=["grid.seeds=1", "grid.horizons=[50]"])
    >>> write_report(folder).page.name
    'report.html'
    """
    from allworlds.reporting.canvas import house_style
    from allworlds.reporting.experiment_report import write_experiment_report

    with house_style():  # refuses where figures cannot be drawn
        pass
    sweep = tell(folder)
    return Report(write_experiment_report(sweep, Path(folder)), sweep)


def tell(folder: str | Path) -> ExperimentSummary:
    """What a run has found, without drawing it."""
    description, status = read_description(folder), read_status(folder)
    experiment = as_experiment(description["configuration"], "the stored configuration")
    return ExperimentSummary(
        name=experiment.name,
        question=experiment.question,
        about=experiment.about.strip(),
        claim=experiment.report.claim,
        x=experiment.report.x,
        y=experiment.report.y,
        panels=tuple(load_panels(folder, experiment.report)),
        done=status.done,
        total=status.done + status.failed + status.waiting,
        failures=status.failures,
        command=_command(description, folder),
        facts=_facts(description, status),
    )


def _command(description: dict[str, Any], folder: str | Path) -> str:
    changes = [word for change in description["changes"] for word in ("--set", change)]
    run = shlex.join(["allworlds", "run", description["source"], *changes, "--out", str(folder)])
    return f"{run}\n{shlex.join(['allworlds', 'report', str(folder)])}"


def _facts(description: dict[str, Any], status: Status) -> dict[str, str]:
    machine = dict(description["machine"])
    simd = ", ".join(machine.pop("simd"))
    machine_said = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in machine.items())
    starts = "; ".join(f"{start['started']} on {start['on_what']}" for start in status.starts)
    facts = {
        "versions": ", ".join(f"{name} {version}" for name, version in description["versions"].items()),
        "sources": description["code"],
        "machine": machine_said,
        "instruction sets": simd,
        "configuration": description["hash"],
        "started": starts or "not yet",
        "work": f"{status.seconds:,.0f} s in finished cells, over all threads",
    }
    return facts if status.checksum is None else facts | {"checksum": status.checksum}


def _panel(panel: Panel) -> dict[str, Any]:
    return {"panel": panel.name, "kind": panel.kind, "lines": [_line(line) for line in panel.lines]}


def _line(line: Line) -> dict[str, Any]:
    slopes = {
        name: None if slope is None else slope._asdict()
        for name, slope in (("slope", line.slope), ("slope_of_mean", line.raw), ("late_slope", line.late))
    }
    points = [{"x": p.x, **_finite(p.mean._asdict()), "worst": p.worst, "runs": p.values.size} for p in line.points]
    return {"line": line.name, "theory": line.theory, **slopes, "missed": line.missed, "points": points}


def _finite(numbers: dict[str, Any]) -> dict[str, Any]:
    return {name: None if n is None or not math.isfinite(n) else n for name, n in numbers.items()}
