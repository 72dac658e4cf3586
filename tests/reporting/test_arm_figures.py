"""The pictures of a report and of an evaluation: a row for each arm, whatever its name, and not too many."""

from __future__ import annotations

import io

import numpy as np
import pandas
import pytest

import allworlds as aw
from allworlds.reporting.agent_figures import MOST_POLICIES as MOST
from allworlds.reporting.agent_figures import agent_figure
from allworlds.reporting.canvas import LONGEST

LABELS = ["$5", "$4 to $5", "$\\foo$", "a_b^c\\", "<b>&amp;</b>", "x" * 200]


def log_of(n_arms, labels=None):
    rng = np.random.default_rng(0)
    arms = {"action": rng.integers(0, n_arms, 600), "pscore": 1.0 / n_arms, "n_actions": n_arms}
    log = pandas.DataFrame(arms | {"loss": rng.random(600)})
    log.attrs["log"] = {"labels": labels}
    return log


def figures(labels):
    agent = aw.Agent(aw.FeedbackGraph(len(labels), [], labels), seed=1)
    for _ in range(40):
        agent.observe(agent.choose(), 0.5)
    return agent_figure(agent.report()), aw.plot_evaluation(aw.evaluate(log_of(len(labels), labels))).figure


def names_in(figure):
    return [text.get_text() for text in figure.axes[0].get_yticklabels()]


def test_arms_have_their_names_as_they_are_and_no_formulas():
    for figure in figures(LABELS):
        figure.savefig(io.BytesIO(), format="png")  # a formula that is none would be an error here
        assert sorted(names_in(figure)) == sorted([*LABELS[:-1], "x" * (LONGEST - 1) + "…"])


@pytest.mark.parametrize("labels", [["a", "b"], LABELS], ids=["short", "long"])
def test_nothing_is_cut_off_at_the_edges(labels):
    for figure in figures(labels):
        figure.savefig(io.BytesIO(), format="png")  # lays it out
        drawn, page = figure.get_tightbbox(), figure.bbox_inches
        assert drawn.x0 >= page.x0 - 0.01
        assert drawn.x1 <= page.x1 + 0.01


def test_of_many_policies_those_with_the_lowest_losses_are_drawn():
    evaluation = aw.evaluate(log_of(2 * MOST))
    ax = aw.plot_evaluation(evaluation)
    lowest = sorted(evaluation.values, key=lambda value: value.loss)[:MOST]
    assert [text.get_text() for text in ax.get_yticklabels()] == [value.policy for value in lowest]
    assert ax.get_xlabel() == f"mean loss, with 95% intervals; the best {MOST} of {2 * MOST}"
