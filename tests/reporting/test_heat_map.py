"""The picture of a matrix: numbers on the colour of their ratio."""

from __future__ import annotations

from matplotlib.colors import to_hex

from allworlds.reporting.heat_map import heat_colour, heat_figure, ratio_text


def test_a_number_stands_on_its_colour_and_our_learner_is_in_bold():
    ratios = {"other": {"x": 1.0, "y": 30.0, "z": None}, "mine": {"x": 3.0, "y": 1.5, "z": 2.5}}
    ratios["none"] = dict.fromkeys("xyz")  # its worst ratio is none, and not the best
    figure = heat_figure(ratios, {"path:3": {"x": "calm", "y": "wild"}, "star:3": {"z": "moody"}}, 1, "mine")
    ax = figure.axes[0]

    def behind(text):
        x, y = text.get_position()
        under = [p for p in ax.patches if 0 < x - p.get_x() < p.get_width() and 0 < y - p.get_y() < p.get_height()]
        return [to_hex(patch.get_facecolor()) for patch in under]

    for row in ratios.values():
        for ratio in row.values():
            found = [text for text in ax.texts if text.get_text() == ratio_text(ratio)]
            assert found
            assert all(behind(text) == ["#ffffff" if ratio is None else heat_colour(ratio)] for text in found)
    assert {text.get_text() for text in ax.texts if text.get_fontweight() == "bold"} == {"mine", "path\n3", "star\n3"}
