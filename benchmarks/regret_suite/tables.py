"""Rows, summaries and goals as text for a terminal, as Markdown and as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from regret_suite.cells import Cell, in_words
from regret_suite.goals import Goal
from regret_suite.rows import Row, Summary


def summary_lines(summaries: Sequence[Summary]) -> list[str]:
    """A line for each group: geometric mean and largest ratio to the best learner, worst seed over the mean."""
    lines = []
    for learner in dict.fromkeys(summary.learner for summary in summaries):
        lines.append(f"{learner}: ratio to the best learner; worst seed over the mean")
        for line in summaries:
            if line.learner != learner:
                continue
            linear = f"  {100 * line.linear:.0f} % of runs above T/10" if line.linear > 0.0 else ""
            lines.append(
                f"  {line.group:14s} {line.n_cells:3d} cells  mean {line.geometric_mean:5.2f}  "
                f"largest {line.largest:6.2f} ({line.largest_in})  "
                f"worst of {line.n_seeds} {line.tail:5.2f} ({line.tail_in}){linear}"
            )
    return lines


def row_lines(rows: Sequence[Row]) -> list[str]:
    """A line for each row, with the mean regret of every learner."""
    return [
        f"{row.cell.name:50s} {row.learner}: ratio {row.ratio:5.2f}, worst/mean {row.worst_over_mean:5.2f}; "
        + ", ".join(f"{name} {value:.0f}" for name, value in row.means.items())
        for row in rows
    ]


def goal_lines(goals: Sequence[Goal]) -> list[str]:
    """A line for each goal."""
    return [
        f"{goal.learner}: {goal.text} (at most {goal.limit:.3g}, {goal.n_seeds} seeds): {goal.verdict}"
        for goal in goals
    ]


def cell_lines(cells: Sequence[Cell]) -> list[str]:
    """A line for each cell, for ``--list``."""
    return [
        f"{cell.purpose:6s}  {cell.group:13s}  {cell.horizon:7,d}  {cell.world_key[:8]}  {cell.name}" for cell in cells
    ]


def as_data(rows: Sequence[Row], summaries: Sequence[Summary], goals: Sequence[Goal]) -> dict[str, Any]:
    """Everything as plain data for JSON."""
    return {
        "rows": [
            {
                "cell": row.cell.name,
                "purpose": row.cell.purpose,
                "group": row.cell.group,
                "sizes": in_words(row.cell.sizes),
                "horizon": row.cell.horizon,
                "learner": row.learner,
                "means": dict(row.means),
                "clean": dict(row.clean),
                "seeds": row.seeds,
                "tail_seeds": len(row.regrets),
                "best": row.best,
                "ratio": row.ratio,
                "worst_over_mean": row.worst_over_mean,
                "above_a_tenth_of_the_horizon": row.linear,
            }
            for row in rows
        ],
        "groups": [asdict(summary) for summary in summaries],
        "goals": [asdict(goal) | {"reached": goal.reached, "verdict": goal.verdict} for goal in goals],
    }


def as_markdown(rows: Sequence[Row], summaries: Sequence[Summary], goals: Sequence[Goal]) -> str:
    """Three tables: by group, the goals, cell by cell."""
    several = len({row.learner for row in rows}) > 1
    parts = [
        _table(
            ["group", "cells", "ratio to the best: mean", "largest", "worst seed / mean", "runs above T/10"],
            [
                [
                    f"{line.group}, {line.learner}" if several else line.group,
                    str(line.n_cells),
                    f"{line.geometric_mean:.2f}",
                    f"{line.largest:.2f} ({line.largest_in})",
                    f"{line.tail:.2f} of {line.n_seeds} ({line.tail_in})",
                    f"{100 * line.linear:.1f} %",
                ]
                for line in summaries
            ],
        ),
        _table(
            ["goal", "at most", "seeds", "result"],
            [
                [
                    f"{goal.text}, {goal.learner}" if several else goal.text,
                    f"{goal.limit:.3g}",
                    str(goal.n_seeds),
                    _bold(goal),
                ]
                for goal in goals
            ],
        ),
    ]
    learners = list(dict.fromkeys(name for row in rows for name in row.means))
    cells = {row.cell.name: row for row in rows}.values()
    ours = list(dict.fromkeys(row.learner for row in rows))
    ratios = {(row.cell.name, row.learner): row for row in rows}
    parts.append(
        _table(
            ["world", "rounds", *learners, "ratio to the best", "worst seed / mean"],
            [
                [
                    row.cell.name,
                    f"{row.cell.horizon:,}",
                    *(f"{row.means[name]:.0f}" if name in row.means else "" for name in learners),
                    ", ".join(f"{ratios[row.cell.name, name].ratio:.2f}" for name in ours),
                    ", ".join(f"{ratios[row.cell.name, name].worst_over_mean:.2f}" for name in ours),
                ]
                for row in cells
            ],
        )
    )
    return "\n\n".join(part for part in parts if part) + "\n"


def _bold(goal: Goal) -> str:
    return goal.verdict if goal.reached else f"**{goal.verdict}**"


def _table(head: list[str], lines: list[list[str]]) -> str:
    if not lines:
        return ""
    return "\n".join(["| " + " | ".join(line) + " |" for line in (head, ["---"] * len(head), *lines)])
