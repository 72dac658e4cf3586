"""Figures of a deployed agent: its report, arm by arm, and what other policies would have lost by its log."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from allworlds.agents.evaluation import Evaluation, PolicyValue
from allworlds.agents.summary import AgentReport
from allworlds.reporting.canvas import BESIDE, OURS, blank, house_style, name_rows
from allworlds.reporting.curves import GREY, plain_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST = 40
"""At most so many arms are drawn, the likeliest ones."""
MOST_POLICIES = 60
"""Policies that are drawn: those with the lowest losses."""
OFFSET = 0.16
"""How far below the other the ordinary interval is drawn; two policies are 1 apart."""


def agent_figure(report: AgentReport) -> Figure:
    """Three panels that share the arms: next choice, mean with interval, drawn share against logged probability.

    >>> import allworlds as aw
    >>> agent = aw.Agent(aw.graphs.disjoint_cliques(2, 2), seed=1)
    >>> [ax.get_title() for ax in agent_figure(agent.report()).axes]
    ['next choice', 'mean loss, 95 %', 'drawn (dot), logged (line)']
    """
    arms = sorted(report.arms, key=lambda arm: -arm.probability)[:MOST]
    rows = np.arange(len(arms))
    with house_style():
        figure = blank(10.0, 1.6 + 0.22 * len(arms))
        chance, mean, drawn = figure.subplots(1, 3, sharey=True)
        chance.barh(rows, [arm.probability for arm in arms], color=OURS, height=0.6)
        chance.set(title="next choice", xlim=(0.0, 1.0), xlabel="probability", ylabel="arm")
        name_rows(chance, [arm.arm for arm in arms])
        chance.invert_yaxis()
        seen = [(row, arm) for row, arm in enumerate(arms) if arm.mean is not None]
        for row, arm in seen:
            mean.plot([arm.low, arm.high], [row, row], color=GREY, linewidth=1.0)
            mean.plot([arm.mean], [row], marker="o", markersize=4, color=OURS if arm.arm == report.best else GREY)
        mean.set(title=f"mean {'reward' if report.reward else 'loss'}, 95 %", xlabel="reported value")
        for row, arm in enumerate(arms):
            if arm.frequency is not None and arm.logged is not None:
                drawn.plot([arm.logged, arm.logged], [row - 0.3, row + 0.3], color=GREY)
                drawn.plot([arm.frequency], [row], marker="o", markersize=4, color=OURS)
        drawn.set(title="drawn (dot), logged (line)", xlabel="share of audited decisions")
        bound = (
            "no bound" if report.regret_bound is None else f"regret at most {report.regret_bound:.3g} in expectation"
        )
        word = ", MISMATCH of draws" if report.mismatch else ""
        figure.suptitle(f"{report.learner}, round {report.round:,}, {report.open:,} open, {bound}{word}")
    return figure


def plot_evaluation(evaluation: Evaluation, ax: Axes | None = None) -> Axes:
    """Draw the estimate and the interval of each policy, with the ordinary ones in grey below.

    Where there are more than 60 policies, those with the lowest losses are drawn. Without ``ax``, a new figure is made:
    ``ax.figure`` of the result.

    >>> import pandas
    >>> from allworlds import evaluate
    >>> log = pandas.DataFrame({"action": [0, 1] * 50, "loss": [0.2, 0.6] * 50, "pscore": 0.5, "n_actions": 2})
    >>> plot_evaluation(evaluate(log)).get_xlabel()
    'mean loss, with 95% intervals'
    """
    values: Sequence[PolicyValue] = evaluation.values
    if len(values) > MOST_POLICIES:
        values = sorted(values, key=lambda value: (math.isnan(value.loss), value.loss))[:MOST_POLICIES]
    if ax is None:
        with house_style():
            return plot_evaluation(evaluation, blank(7.0, 1.2 + 0.34 * max(2, len(values))).subplots())
    for shift, colour, width, kind in ((-OFFSET, OURS, 2.4, "seeing"), (OFFSET, BESIDE, 1.4, "playing")):
        views = [getattr(value, kind) for value in values]
        places = [place + shift for place in range(len(values))]
        ax.hlines(places, [view.low for view in views], [view.high for view in views], color=colour, linewidth=width)
        label = "by the probability of seeing" if kind == "seeing" else "ordinary, by the probability of playing"
        ax.plot([view.dr for view in views], places, "o", color=colour, markersize=2.0 + width, label=label)
    ax.axvline(evaluation.logged_loss, color=GREY, linewidth=0.9, linestyle=(0, (4, 3)), label="as logged")
    name_rows(ax, [value.policy for value in values])
    ax.set_ylim(len(values) - 0.5, -0.5)
    ax.set_xlim(-0.02, 1.02)
    best = f"; the best {MOST_POLICIES} of {len(evaluation.values):,}" if len(values) < len(evaluation.values) else ""
    ax.set_xlabel(f"mean loss, with {100 * evaluation.level:g}% intervals{best}")
    plain_axes(ax)
    ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, frameon=False, fontsize=8)
    return ax
