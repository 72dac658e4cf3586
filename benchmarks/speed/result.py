"""What a run of the benchmark found, and its files."""

from __future__ import annotations

import dataclasses
import json
from importlib import metadata
from pathlib import Path
from typing import Any

from allworlds.errors import InvalidParameter
from allworlds.experiments.files import open_folder, write_whole
from speed.goals import Goal
from speed.loops import EXACT, LAZY, SECOND_FLOOR
from speed.rows import Row

PEERS = ("scipy", "cvxpy", "SMPyBandits", "river", "mabwiser", "vowpalwabbit")
BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"
"""Between these marks of a page, the table goes."""


@dataclasses.dataclass(frozen=True)
class BenchResult:
    """All rows and goals of one run, with the machine that made them."""

    scale: str
    parts: tuple[str, ...]
    rows: tuple[Row, ...]
    goals: tuple[Goal, ...]
    machine: dict[str, Any]
    versions: dict[str, str]
    load: tuple[float | None, float | None]
    """Processes that wanted a core, in the minute before the first and before the last measurement ended."""
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        goals = [dataclasses.asdict(goal) | {"reached": goal.reached, "verdict": goal.verdict} for goal in self.goals]
        return dataclasses.asdict(self) | {"goals": goals, "load": list(self.load)}


def peer_versions() -> dict[str, str]:
    """Of the packages that are measured beside ours, where they are installed."""
    found = {}
    for name in PEERS:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def write_result(result: BenchResult, out: str | Path, page: str | Path | None = None) -> tuple[Path, ...]:
    """Write ``bench.md``, ``bench.json`` and ``bench.svg`` into a folder, and the table between the marks of a page."""
    from allworlds.reporting.canvas import save
    from speed.figure import bench_figure
    from speed.page import as_markdown

    text = as_markdown(result)
    fresh = None if page is None else _with_table(Path(page), text)
    folder = open_folder(out, ".")
    files = [folder / "bench.md", folder / "bench.json"]
    write_whole(files[0], f"# Rounds at the speed of what they read\n\n{text}".encode())
    write_whole(files[1], (json.dumps(result.to_dict(), indent=1, allow_nan=False) + "\n").encode())
    figure = bench_figure(_bars(result), _curves(result), _others(result))
    files.append(save(figure, folder / "bench.svg"))
    if page is not None and fresh is not None:
        write_whole(Path(page), fresh.encode())
        files.append(Path(page))
    return tuple(files)


def read_page(page: Path) -> tuple[str, str]:
    """What stands before the table of a page, and after it; refuses a page without a place for it."""
    try:
        old = page.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidParameter(f"cannot read '{page}': {error.strerror}; name a page that exists") from None
    if old.count(BEGIN) != 1 or old.count(END) != 1 or old.index(BEGIN) > old.index(END):
        raise InvalidParameter(f"'{page}' has no place for the table; mark it with {BEGIN} and {END}")
    return old[: old.index(BEGIN)], old[old.index(END) :]


def _with_table(page: Path, text: str) -> str:
    """The page with its old table replaced."""
    before, after = read_page(page)
    return f"{before}{BEGIN}\n\n{text}\n{after}"


def _bars(result: BenchResult) -> dict[str, dict[str, float]]:
    """Seconds a round, by size and learner."""
    bars: dict[str, dict[str, float]] = {}
    for row in result.rows:
        if row.part == "rounds" and row.value is not None:
            bars.setdefault(row.size, {})[row.name] = row.value
    return bars


def _curves(result: BenchResult) -> dict[str, dict[str, list[tuple[float, float]]]]:
    """Seconds a round against what grows, by way and learner."""
    growing = {"by arms": lambda k, d: k * d, "by cliques": lambda k, d: k, "by size": lambda k, d: d}
    curves: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for row in result.rows:
        if row.part in growing and row.unit == "s/round" and row.value is not None:
            at = growing[row.part](*map(float, row.size.split("x")))
            curves.setdefault(row.part, {}).setdefault(row.name, []).append((at, row.value))
    return curves


def _others(result: BenchResult) -> dict[str, float]:
    """Seconds a round of what else there is at 10 x 10, ours among them."""
    ours = {LAZY, EXACT, SECOND_FLOOR}
    chosen = [row for row in result.rows if row.part in ("solvers", "rivals") or row.name in ours]
    chosen = [row for row in chosen if row.part in ("solvers", "rivals") or (row.part, row.size) == ("rounds", "10x10")]
    named = {f"{row.name} ({row.size})" if row.size != "10x10" else row.name: row.value for row in chosen}
    return {name: value for name, value in named.items() if value is not None}
