"""The benchmark's picture shows the numbers that it is given."""

from __future__ import annotations

import pytest

from speed.figure import bench_figure

BARS = {"10x10": {"second floor": 1e-6, "lazy step": 2e-6}, "100x100": {"lazy step": 1e-5}}
CURVES = {"by arms": {"lazy step": [(1e4, 1e-5), (1e2, 1e-6)]}}


def test_bars_curves_and_other_packages_have_the_heights_and_lengths_of_the_numbers():
    figure = bench_figure(BARS, CURVES, {"lazy step": 2e-6, "SciPy SLSQP": 0.5})
    bars, growth, others = figure.axes
    assert sorted(patch.get_height() for patch in bars.patches) == [1e-6, 2e-6, 1e-5]
    assert growth.lines[0].get_xydata().tolist() == [[1e2, 1e-6], [1e4, 1e-5]]
    assert [patch.get_width() for patch in others.patches] == [0.5, 2e-6]
    assert [text.get_text().strip() for text in others.texts] == ["500 ms", "2 µs"]


@pytest.mark.parametrize(("parts", "panels"), [((BARS, {}, {}), 1), (({}, CURVES, {}), 1), ((BARS, CURVES, {}), 2)])
def test_panels_without_numbers_are_left_out(parts, panels):
    assert len(bench_figure(*parts).axes) == panels
