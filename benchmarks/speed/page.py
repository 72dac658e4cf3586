"""A result as Markdown, the goals first and then every number; and the files that it goes to."""

from __future__ import annotations

import json
from pathlib import Path

from allworlds.foundation.errors import InvalidParameter
from allworlds.foundation.files import open_folder, write_atomic
from allworlds.reporting.canvas import save
from speed.figure import draw_result
from speed.rows import LAZY, SECOND_FLOOR, Row, ratio, value_of
from speed.run import BenchResult

BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"
"""Between these marks of a page, the table goes."""
QUIET = 0.5
"""A load average before the run up to which the machine was the benchmark's own."""
TITLES = {
    "rounds": "The compiled loop, practical constants, Bernoulli losses",
    "solvers": "General solvers on the same argmin",
    "rivals": "Other packages, round by round from Python",
    "by arms": "Against N, at K = sqrt(N)",
    "by cliques": "Against K, cliques of one size",
    "by size": "Against the size of a clique, K fixed",
    "threads": "A second thread, and a second process that shares nothing",
    "memory": "Memory of a process",
    "start": "A second process",
}


def write_result(result: BenchResult, out: str | Path, page: str | Path | None = None) -> tuple[Path, ...]:
    """Write ``bench.md``, ``bench.json`` and ``bench.svg`` into a folder, and the table between the marks of a page."""
    text = as_markdown(result)
    fresh = None if page is None else _with_table(Path(page), text)
    folder = open_folder(out, ".")
    files = [folder / "bench.md", folder / "bench.json"]
    write_atomic(files[0], f"# Rounds at the speed of what they read\n\n{text}".encode())
    write_atomic(files[1], (json.dumps(result.to_dict(), indent=1, allow_nan=False) + "\n").encode())
    files.append(save(draw_result(result), folder / "bench.svg"))
    if page is not None and fresh is not None:
        write_atomic(Path(page), fresh.encode())
        files.append(Path(page))
    return tuple(files)


def read_page(page: Path) -> tuple[str, str]:
    """What stands before the table of a page, and after it; refuses a page without a place for it."""
    try:
        old = page.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidParameter(f"cannot read '{page}': {error.strerror}; name a page that exists") from None
    if old.count(BEGIN) != 1 or old.count(END) != 1 or old.index(BEGIN) > old.index(END):
        raise InvalidParameter(
            f"'{page}' has no place for the table; expected {BEGIN} and {END}, once each; try to add them"
        )
    return old[: old.index(BEGIN)], old[old.index(END) :]


def _with_table(page: Path, text: str) -> str:
    """The page with its old table replaced."""
    before, after = read_page(page)
    return f"{before}{BEGIN}\n\n{text}\n{after}"


def as_markdown(result: BenchResult) -> str:
    """Goals, tables, machine and versions."""
    lines = [_about(result), "", "| goal | wanted | measured | |", "|---|---|---|---|"]
    for goal in result.goals:
        lines.append(f"| {goal.work} | {goal.wanted} | {number(goal.measured)} | {goal.verdict} |")
    parts = list(dict.fromkeys(row.part for row in result.rows))
    for part in parts:
        lines += ["", f"**{TITLES[part]}**", "", "| what | K x size | median | least to most | ratio | |"]
        lines += ["|---|---|---|---|---|---|"]
        lines += [_line(result, row) for row in result.rows if row.part == part]
    lines += ["", _ratios(), ""]
    return "\n".join(lines)


def number(value: float | None) -> str:
    """Three digits, and commas for the large.

    >>> number(1.2345), number(123456.0), number(None), number(60.04)
    ('1.23', '123,456', '–', '60.0')
    """
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:#.3g}"


def amount(value: float | None, unit: str) -> str:
    """A value with its unit in a size that a person reads.

    >>> amount(2.5e-6, "s/round"), amount(0.25, "s/round"), amount(2_500_000, "bytes"), amount(None, "s")
    ('2.50 µs', '250 ms', '2.50 MB', '–')
    """
    if value is None:
        return "–"
    steps = {
        "s/round": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")),
        "bytes": ((1e6, "MB"), (1e3, "kB"), (1.0, "B")),
    }.get(unit, ((1.0, {"speed-up": "times"}.get(unit, unit)),))
    scale, name = next((step for step in steps if value >= step[0]), steps[-1])
    return f"{number(value / scale)} {name}"


def compared(result: BenchResult, row: Row) -> float | None:
    """A row's time over the second floor's at the same size; for solvers and rivals over the lazy step's at 10 x 10."""
    if row.unit != "s/round":
        return None
    if row.part in ("solvers", "rivals"):
        return ratio(row.value, value_of(result.rows, "rounds", LAZY, "10x10"))
    return ratio(row.value, value_of(result.rows, row.part, SECOND_FLOOR, row.size))


def _line(result: BenchResult, row: Row) -> str:
    spread = f"{amount(row.low, row.unit)} to {amount(row.high, row.unit)}" if row.low is not None else "–"
    cells = [row.name, row.size, amount(row.value, row.unit), spread, number(compared(result, row)), row.note]
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _about(result: BenchResult) -> str:
    machine, load = result.machine, result.load
    libraries = ", ".join(f"{name} {version}" for name, version in result.versions.items())
    busy = "" if None in load else f"; load average {load[0]} before and {load[1]} after"
    if load[0] is not None and load[0] > QUIET:
        busy += " (other work was running: ratios near a goal, and those of threads, decide nothing)"
    return (
        f"A {result.scale} run of {result.seconds:.0f} s, `scripts/bench`: {machine['processor']}, "
        f"{machine['cores']} cores, {machine['system']}{busy}. Versions: {libraries}."
    )


def _ratios() -> str:
    return (
        "Medians over repeats that take turns. Ratios are to the second floor at the same size; for solvers and other "
        "packages to the lazy step of the compiled loop at 10x10, draw, world and update included."
    )
