"""The picture of an agent's report: arm by arm, what is chosen next, how good it looks, and whether draws are sound."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allworlds.agents.summary import AgentReport
from allworlds.reporting.canvas import OURS, blank, house_style, name_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 40
"""Arms that are drawn: the likeliest ones."""
GREY = "#666666"


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
