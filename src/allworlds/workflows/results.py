"""Read the folder of a run, an experiment or a race: how far it is, what it found, whether anything is damaged."""

from __future__ import annotations

import random
import shlex
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from allworlds.analysis.panels import Line, Panel, arrange, check_columns
from allworlds.experiments.cells import SpecCache
from allworlds.experiments.load import curves_of, final_records, read_cells
from allworlds.experiments.parts import MEASURES, cells_in, read_part, results_checksum
from allworlds.experiments.reading import as_experiment
from allworlds.experiments.store import CellRecord, Store, read_description
from allworlds.experiments.work import code_version, play_cell
from allworlds.reporting.canvas import check_drawing
from allworlds.reporting.experiment_answers import ExperimentSummary, answers
from allworlds.reporting.experiment_report import write_experiment_report
from allworlds.workflows import machine_line, plain_data
from allworlds.workflows.race import RaceResult, report_race

OnProgress = Callable[[int, int, str], None]
SAMPLE = 10


# --- status -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Status:
    """What is known of a run."""

    folder: str
    name: str
    question: str
    done: int
    failed: int
    waiting: int
    seconds: float
    """The time spent in finished cells, summed over all threads."""
    checksum: str | None
    """The checksum of all results; None until every cell is finished."""
    failures: tuple[dict[str, Any], ...]
    """The cell, title, attempts and error of each cell that failed."""
    starts: tuple[dict[str, Any], ...]
    """When and on what the run was started, the first start first."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


def read_status(folder: str | Path) -> Status:
    """Read the state of the run in ``folder``; another process may be at work there."""
    description = read_description(folder)
    with Store(folder, read_only=True) as store:
        records = store.records()
        states = [record.state for record in records]
        complete = states.count("done") == len(records)
        return Status(
            folder=str(folder),
            name=description["name"],
            question=description["question"],
            done=states.count("done"),
            failed=states.count("failed"),
            waiting=states.count("waiting"),
            seconds=sum(record.seconds or 0.0 for record in records),
            checksum=store.checksum() if complete else None,
            failures=tuple(
                {"cell": one.cell.id, "title": one.cell.title, "attempts": one.attempts, "error": one.error}
                for one in records
                if one.state == "failed"
            ),
            starts=tuple(store.starts()),
        )


# --- verification -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Verification:
    """The result of :func:`verify_results`."""

    cells: int
    done: int
    """Cells that the table calls finished."""
    damaged: tuple[str, ...]
    """A sentence for each part or cell whose rows are not those that were written."""
    replayed: int
    different: tuple[str, ...]
    """Titles of replayed cells whose bits differ."""
    notice: str | None
    """Why replays may differ although nothing is wrong."""
    checksum: str
    """The checksum of all results, computed again from the rows."""

    @property
    def holds(self) -> bool:
        """Whether every cell is finished, undamaged and, if replayed, the same."""
        return not self.damaged and not self.different and self.done == self.cells

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self) | {"holds": self.holds}


def verify_results(
    folder: str | Path, *, replay: int | None = SAMPLE, seed: int = 0, on_progress: OnProgress | None = None
) -> Verification:
    """Compute all checksums anew from the parts, and play ``replay`` cells again (None: all) to compare their bits."""
    description = read_description(folder)
    with Store(folder, read_only=True) as store:
        records = store.records()
    done = [record for record in records if record.state == "done"]
    found, damaged = _read_checksums(Path(folder), done)
    whole = [record for record in done if found.get(record.cell.id) == record.checksum]
    chosen = whole if replay is None else random.Random(seed).sample(whole, min(replay, len(whole)))
    then, now = description["code"], code_version()
    return Verification(
        cells=len(records),
        done=len(done),
        damaged=tuple(damaged),
        replayed=len(chosen),
        different=tuple(_replay(chosen, SpecCache(Path(description["base"])), on_progress)),
        notice=None if then == now else f"the results are of allworlds {then}, this is {now}: replays may differ",
        checksum=results_checksum(found.items()),
    )


def _read_checksums(folder: Path, done: list[CellRecord]) -> tuple[dict[str, str], list[str]]:
    """The checksum of every finished cell as its rows are now, and what is wrong."""
    found: dict[str, str] = {}
    damaged = []
    for part in dict.fromkeys(record.part for record in done if record.part):
        table = read_part(folder / "parts" / part)
        if table is None:
            damaged.append(f"part {part} is missing or damaged")
            continue
        known = {record.cell.id for record in done if record.part == part}
        found |= {cell: rows.checksum(cell) for cell, rows in cells_in(table).items() if cell in known}
    wrong = [record for record in done if found.get(record.cell.id) not in (None, record.checksum)]
    damaged += [f"the rows of {record.cell.title} are not those that were written" for record in wrong]
    return found, damaged


def _replay(records: list[CellRecord], cache: SpecCache, on_progress: OnProgress | None) -> list[str]:
    different = []
    for number, record in enumerate(records):
        if on_progress is not None:
            on_progress(number, len(records), f"playing {record.cell.title} again")
        outcome = play_cell(record.cell, cache)
        if outcome.checksum != record.checksum:
            different.append(": ".join(filter(None, (record.cell.title, outcome.error))))
    return different


# --- the report -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ExperimentReport:
    """The page of an experiment, and what it says."""

    report: Path
    summary: ExperimentSummary

    @property
    def answers(self) -> list[str]:
        """The answer in a sentence or a few."""
        return answers(self.summary)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; a number that JSON cannot write is None."""
        summary = self.summary
        data: dict[str, Any] = {
            "report": str(self.report),
            "name": summary.name,
            "question": summary.question,
            "claim": summary.claim,
            "answers": self.answers,
            "done": summary.done,
            "failed": len(summary.failures),
            "total": summary.total,
            "x": summary.x,
            "y": summary.y,
            "panels": [
                {"panel": panel.name, "kind": panel.kind, "lines": [_line(line) for line in panel.lines]}
                for panel in summary.panels
            ],
            "failures": summary.failures,
        }
        return dict(plain_data(data))


def write_report(folder: str | Path) -> ExperimentReport | RaceResult:
    """Write ``report.html`` and ``figures/`` into the folder of a run; an experiment may be half finished.

    >>> import tempfile
    >>> from allworlds import run_experiment
    >>> folder = tempfile.mkdtemp()
    >>> summary = run_experiment("corrupted-cliques", folder, changes=["grid.seeds=1", "grid.horizons=[50]"])
    >>> write_report(folder).report.name
    'report.html'
    """
    if "race" in read_description(folder):
        return report_race(folder)
    check_drawing()
    summary = summarise_experiment(folder)
    return ExperimentReport(write_experiment_report(summary, Path(folder)), summary)


def summarise_experiment(folder: str | Path) -> ExperimentSummary:
    """What a run has found so far, without drawing it."""
    description, status = read_description(folder), read_status(folder)
    experiment = as_experiment(description["configuration"], "the stored configuration")
    report, cells = experiment.report, read_cells(folder)
    panels: list[Panel] = []
    if cells:
        records = final_records(cells)
        check_columns(report, list(records[0]), MEASURES, folder)
        panels = arrange(records, report, curves_of(cells, report.y) if report.x == "round" else None)
    return ExperimentSummary(
        name=experiment.name,
        question=experiment.question,
        about=experiment.about.strip(),
        claim=report.claim,
        x=report.x,
        y=report.y,
        panels=tuple(panels),
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
    facts = {
        "versions": ", ".join(f"{name} {version}" for name, version in description["versions"].items()),
        "sources": description["code"],
        "machine": machine_line(description["machine"]),
        "instruction sets": ", ".join(description["machine"]["simd"]),
        "configuration": description["hash"],
        "started": "; ".join(f"{one['started']} on {one['on_what']}" for one in status.starts) or "not yet",
        "work": f"{status.seconds:,.0f} s in finished cells, over all threads",
    }
    return facts if status.checksum is None else facts | {"checksum": status.checksum}


def _line(line: Line) -> dict[str, Any]:
    slopes = {"slope": line.slope, "slope_of_mean": line.raw, "late_slope": line.late}
    points = [{"x": p.x, **p.mean._asdict(), "worst": p.worst, "runs": p.values.size} for p in line.points]
    return {"line": line.name, "theory": line.theory, **slopes, "missed": line.missed, "points": points}
