"""Results arranged for a question: which cells share a point, a line, a panel."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from allworlds.analysis.panels import arrange
from allworlds.experiments.experiment import ReportOptions


def record(learner="a", seed=0, **facts):
    return {"graph": "g", "world": "w", "learner": learner, "horizon": 100, "seed_number": seed, "budget": None} | facts


def test_each_point_has_the_values_of_its_seeds():
    records = [
        record(learner, seed, horizon=t, pseudo_regret=t + seed)
        for learner, t, seed in itertools.product(("a", "b"), (1000, 10, 100), range(3))
    ]
    (panel,) = arrange(records, ReportOptions(x="horizon", theory_slope={"b": 0.5}))
    assert [line.name for line in panel.lines] == ["a", "b"]
    assert [point.x for point in panel.lines[0].points] == [10.0, 100.0, 1000.0]
    assert panel.lines[0].points[1].values.tolist() == [100.0, 101.0, 102.0]
    assert panel.lines[0].points[1].worst == 102.0
    assert panel.lines[0].points[1].mean.mean == 101.0
    assert [line.theory for line in panel.lines] == [None, 0.5]


def test_a_world_without_corruption_is_the_point_at_0_of_every_attack():
    records = [record(seed=seed, pseudo_regret=50.0) for seed in range(2)]
    for attack, power in (("flip", 0.5), ("best-worst", 1.0)):
        records += [
            record(
                seed=seed, world=f"{attack} {c}", budget=c, pseudo_regret=50.0 + c**power, **{"world.attack": attack}
            )
            for c, seed in itertools.product((100.0, 400.0, 1600.0), range(2))
        ]
    flip, best_worst = arrange(records, ReportOptions(x="budget", panels="world.attack"))
    assert (flip.name, best_worst.name) == ("attack flip", "attack best-worst")
    assert flip.of_excess
    assert flip.lines[0].base.values.tolist() == [50.0, 50.0]
    assert flip.lines[0].slope.value == pytest.approx(0.5)
    assert best_worst.lines[0].slope.value == pytest.approx(1.0)
    assert flip.lines[0].raw.value < 0.5
    unasked = arrange(records, ReportOptions(x="budget"))  # attacks that share a budget are told apart anyway
    assert {panel.name for panel in unasked} == {"attack flip", "attack best-worst"}


def test_cells_that_would_lie_on_one_point_get_panels_of_their_own():
    records = [
        record(graph=graph, horizon=t, pseudo_regret=1.0) for graph, t in itertools.product(("one", "two"), (1, 2, 3))
    ]
    assert [panel.name for panel in arrange(records, ReportOptions(x="horizon"))] == ["one", "two"]
    assert [panel.name for panel in arrange(records, ReportOptions(x="horizon", panels="graph"))] == ["one", "two"]
    assert len(arrange(records, ReportOptions(x="graph"))) == 3  # one for each horizon


def test_theory_may_be_told_panel_by_panel():
    records = [record(world=w, horizon=t, pseudo_regret=1.0) for w, t in itertools.product(("easy", "hard"), (1, 2, 3))]
    panels = arrange(records, ReportOptions(x="horizon", panels="world", theory_slope={"easy": 0.0, "hard": 0.5}))
    assert [panel.lines[0].theory for panel in panels] == [0.0, 0.5]


@pytest.mark.parametrize(
    ("x", "log", "kind"),
    [("horizon", True, "power"), ("horizon", "x", "doubling"), ("horizon", False, "plain"), ("learner", True, "names")],
)
def test_the_kind_of_a_panel_follows_the_file(x, log, kind):
    records = [record(horizon=t, pseudo_regret=float(t)) for t in (10, 100, 1000)]
    panel = arrange(records, ReportOptions(x=x, log=log))[0]
    assert panel.kind == kind
    assert (panel.lines[0].slope is not None) == (kind in ("power", "doubling"))


def test_curves_are_stacked_by_seed():
    rounds = np.array([1, 10, 100])
    records = [record(seed=seed, cell=str(seed), pseudo_regret=3.0) for seed in range(2)]
    curves = {str(seed): (rounds, np.array([[1.0, 2.0, 3.0 + seed]])) for seed in range(2)}
    (panel,) = arrange(records, ReportOptions(), curves)
    assert panel.kind == "curves"
    assert panel.lines[0].curve[1].tolist() == [[1.0, 2.0, 3.0], [1.0, 2.0, 4.0]]


def test_points_that_do_not_lie_on_a_line_are_counted():
    def line_of(heights):
        pairs = itertools.product(zip((10, 100, 1000, 10_000), heights, strict=True), (-0.01, 0.0, 0.01))
        records = [record(horizon=t, pseudo_regret=y * (1 + noise)) for (t, y), noise in pairs]
        return arrange(records, ReportOptions(x="horizon"))[0].lines[0]

    assert line_of((1.0, 10.0, 100.0, 1000.0)).missed == 0
    assert line_of((1.0, 100.0, 1000.0, 2000.0)).missed == 4  # bent like a root; intervals are some 2 % wide


def test_the_last_two_points_have_a_slope_of_their_own():
    records = [record(horizon=t, pseudo_regret=y) for t, y in ((10, 10.0), (100, 100.0), (1000, 100.0))]
    (panel,) = arrange(records, ReportOptions(x="horizon"))
    assert panel.lines[0].slope.value == pytest.approx(0.5)
    assert panel.lines[0].late.value == pytest.approx(0.0)
