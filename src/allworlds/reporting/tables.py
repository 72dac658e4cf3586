"""The tables of a report, as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from allworlds.reporting.story import RaceSummary, short_titles

if TYPE_CHECKING:
    from allworlds.analysis.comparison import Estimate, Standing

NEAR, FAR = 1.5, 3.0
"""Ratios up to the first are shaded as good, from the second on as bad."""


def ratio_table(story: RaceSummary) -> str:
    """Learner by world: the ratio to the best learner, and the largest of them."""
    titles = short_titles(list(story.worlds))
    ratios = {(row.learner, row.world): row.ratio for row in story.standings}
    head = ["learner", *(titles[world] for world in story.worlds), "worst"]
    body = []
    for row in story.ratios:
        values = [*(ratios[row.learner, world] for world in story.worlds), row.ratio]
        cells = [_shaded(value) for value in values]
        body.append(_row(story, row.learner, cells, best=False))
    return table(head, body)


def standing_table(story: RaceSummary, world: str) -> str:
    """One world: every number that the race knows about each learner, the least regret first."""
    rows = story.standings_in(world)
    tampered = any(row.corruption > 0.0 for row in rows)
    head = ["learner", "mean regret", "95 % interval", "90 % and 99 % quantile", "worst seed"]
    head += ["on clean losses"] if tampered else []
    head += ["ratio", "more than ours (95 % interval)", "rounds/s"]
    leader = next((row.learner for row in rows if story.rivals[row.learner]), None)
    body = [_row(story, row.learner, _cells(row, tampered), best=row.learner == leader) for row in rows]
    return table(head, body)


def number(value: float) -> str:
    """A regret, with as many digits as it deserves.

    >>> number(1234.56), number(3.21), number(-0.04)
    ('1,235', '3.2', '0.0')
    """
    text = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}"
    return text.replace("-0.0", "0.0") if float(text.replace(",", "")) == 0.0 else text.replace("-", "−")


def between(estimate: Estimate) -> str:
    """Both ends of the interval; a dash for a single run."""
    if estimate.low is None or estimate.high is None:
        return "–"
    return f"{number(estimate.low)} to {number(estimate.high)}"


def _cells(row: Standing, tampered: bool) -> list[str]:
    values = [number(row.regret.mean), between(row.regret)]
    values += [f"{number(row.quantile_90)}, {number(row.quantile_99)}", number(row.worst)]
    if tampered:
        values.append(number(row.clean_regret.mean))
    cells = [f"<td>{value}</td>" for value in values]
    cells.append(_shaded(row.ratio))
    more = "" if row.difference is None else f"{number(row.difference.mean)} ({between(row.difference)})"
    return [*cells, f"<td>{more}</td>", f"<td>{row.rounds_per_second / 1000:,.0f}k</td>"]


def _shaded(ratio: float | None) -> str:
    if ratio is None:
        return "<td>–</td>"
    kind = ' class="near"' if ratio <= NEAR else ' class="far"' if ratio >= FAR else ""
    return f"<td{kind}>{ratio:.2f}</td>"


def _row(story: RaceSummary, learner: str, cells: Sequence[str], *, best: bool) -> str:
    marks = [("best", best), ("ours", learner == story.ours), ("line", not story.rivals[learner])]
    kinds = " ".join(name for name, holds in marks if holds)
    return f'<tr class="{kinds}"><td>{escape(learner)}</td>{"".join(cells)}</tr>'


def table(head: Sequence[str], body: Sequence[str]) -> str:
    """A table under the titles ``head``; ``body`` has a ``<tr>`` for each row."""
    titles = "".join(f'<th scope="col">{escape(title)}</th>' for title in head)
    return f'<div class="wide"><table><thead><tr>{titles}</tr></thead><tbody>{"".join(body)}</tbody></table></div>'
