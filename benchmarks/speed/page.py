"""A result as Markdown: the goals, then every number."""

from __future__ import annotations

from speed.loops import LAZY, SECOND_FLOOR
from speed.result import BenchResult
from speed.rows import Row, ratio, value_of

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
