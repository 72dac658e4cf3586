"""Curves over rounds: means, bands and names, on axes that the caller hands in."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import allworlds as aw
from allworlds.foundation.errors import InvalidParameter
from allworlds.reporting.canvas import blank, learner_styles
from allworlds.reporting.curves import curve_figure, has_logarithms
from allworlds.simulation import Trace


def trace(values, seed=0):
    values = np.asarray(values, dtype=np.float64)
    rounds = np.arange(1, values.size + 1)
    return Trace(
        "a", "w", seed, values.size, rounds, values, values, values, 0 * values, None, None, None, None, rounds, 1.0
    )


def group(slope, runs=4):
    return [trace(slope * np.arange(1.0, 11.0) + seed, seed) for seed in range(runs)]


def test_regret_is_drawn_as_the_mean_with_students_band_and_a_name_at_its_end():
    mine = group(2.0)
    ax = aw.plot_regret({"ours": mine, "ucb-n": group(3.0)})
    assert {text.get_text() for text in ax.texts} == {"ours", "ucb-n"}
    values = np.array([one.pseudo_regret for one in mine])
    curves = [line for line in ax.lines if len(line.get_xdata()) == 10]
    assert any(np.allclose(line.get_ydata(), values.mean(axis=0)) for line in curves)
    low, high = stats.t.interval(0.95, 3, values.mean(axis=0), stats.sem(values))
    band = ax.collections[-1].get_paths()[0].vertices
    assert band[:, 1].min() == pytest.approx(low[0])
    assert band[:, 1].max() == pytest.approx(high[-1])


@pytest.mark.parametrize("log", [True, False])
def test_axes_in_axes_out_with_a_logarithmic_or_a_linear_axis(log):
    ax = blank(4.0, 3.0).subplots()
    assert aw.plot_regret({"ours": group(1.0, runs=1)}, ax, log=log) is ax
    assert ax.get_xscale() == ("log" if log else "linear")
    assert len(ax.collections) == 0  # a single run has no band


def test_traces_that_make_no_curve_get_a_sentence():
    with pytest.raises(InvalidParameter, match="traces is empty"):
        aw.plot_regret({})
    with pytest.raises(InvalidParameter, match="traces is empty"):
        aw.plot_regret({"ours": []})
    with pytest.raises(InvalidParameter, match="'ours' have different horizons"):
        aw.plot_regret({"ours": [trace([1.0, 2.0]), trace([1.0])]})


def test_logarithmic_axes_are_left_out_where_most_values_are_not_positive():
    assert has_logarithms([1.0, 0.5])
    assert not has_logarithms([1.0, 0.5, -3.0])
    rounds = np.arange(1, 11)
    styles = learner_styles(["a"], "a", {"a": True})
    assert len(curve_figure({"a": (rounds, -np.ones((2, 10)))}, styles, "regret").axes) == 1
    assert len(curve_figure({"a": (rounds, 9 * np.ones((2, 10)))}, styles, "regret").axes) == 2
