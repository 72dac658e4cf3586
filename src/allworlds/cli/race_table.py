"""The tables of a race for the terminal; a star and bold letters mark the best, so that no colour is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

    from allworlds.analysis.comparison import Estimate, Standing
    from allworlds.workflows.race import RaceResult


def world_table(result: RaceResult, world: str) -> Table:
    """The learners in one world, the least regret first."""
    rows = result.story.standings_in(world)
    tampered = any(row.corruption > 0.0 for row in rows)
    names = ["regret", "95 % interval", "worst", "ratio", "rounds/s"]
    if tampered:
        names.insert(3, "clean")
    table = _blank("learner", *names)
    competing = [row.learner for row in rows if result.story.rivals[row.learner]]
    for row in rows:
        best = competing[:1] == [row.learner]
        cells = [f"{row.regret.mean:,.0f}", interval(row.regret), f"{row.worst:,.0f}"]
        if tampered:
            cells.append(f"{row.clean_regret.mean:,.0f}")
        cells += [ratio(row.ratio), speed(row)]
        name = row.learner if result.story.rivals[row.learner] else f"({row.learner})"
        table.add_row(f"* {name}" if best else f"  {name}", *cells, style="bold" if best else None)
    return table


def headline(result: RaceResult) -> Table:
    """Each learner's worst ratio, the smallest first; lines that see more than the graph are in brackets."""
    from allworlds.reporting.story import short_titles

    titles = short_titles(list(result.race.worlds))
    table = _blank("learner", "worst ratio", "in")
    for row in result.ratios:
        name = row.learner if row.rival else f"({row.learner})"
        ours = row.learner == result.story.ours
        table.add_row(f"  {name}", ratio(row.ratio), titles.get(row.world or "", ""), style="bold" if ours else None)
    table.columns[2].justify = "left"
    return table


def interval(estimate: Estimate) -> str:
    """Both ends, or a dash for a single run."""
    if estimate.low is None or estimate.high is None:
        return "-"
    return f"{estimate.low:,.0f} to {estimate.high:,.0f}"


def ratio(value: float | None) -> str:
    """Two decimals, or a dash where a ratio says nothing.

    >>> ratio(1.5), ratio(None)
    ('1.50', '-')
    """
    return "-" if value is None else f"{value:.2f}"


def speed(row: Standing) -> str:
    """Rounds in a second, in thousands.

    >>> from types import SimpleNamespace
    >>> speed(SimpleNamespace(rounds_per_second=123_456.0))
    '123k'
    """
    return f"{row.rounds_per_second / 1000:,.0f}k"


def _blank(first: str, *others: str) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(f"  {first}", overflow="fold")
    for name in others:
        table.add_column(name, justify="right", overflow="fold")
    return table
