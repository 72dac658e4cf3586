"""The picture of an evaluation: each policy with its interval, by seeing and by playing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from allworlds.agents.evaluation import Evaluation, PolicyValue
from allworlds.reporting.canvas import BESIDE, OURS, blank, house_style, name_rows
from allworlds.reporting.curves import GREY, plain_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 60
"""Policies that are drawn: those with the lowest losses."""
OFFSET = 0.16
"""Of the distance of two policies: the ordinary interval is drawn so far below."""


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
    if len(values) > MOST:
        values = sorted(values, key=lambda value: (math.isnan(value.loss), value.loss))[:MOST]
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
    best = f"; the best {MOST} of {len(evaluation.values):,}" if len(values) < len(evaluation.values) else ""
    ax.set_xlabel(f"mean loss, with {100 * evaluation.level:g}% intervals{best}")
    plain_axes(ax)
    ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, frameon=False, fontsize=8)
    return ax
