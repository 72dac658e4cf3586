from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from allworlds.foundation.errors import InvalidParameter
from allworlds.reporting.canvas import blank, house_style
from allworlds.reporting.paper_figure import LIMIT, draw_figure, eigenvalue_colours, figure_1, hessian_eigenvalue


def panel(alpha: float, resolution: int = 60):
    with house_style():
        return hessian_eigenvalue(blank(3.0, 3.0).subplots(), alpha, resolution=resolution)


def central_differences(x1: float, x2: float, alpha: float, step: float = 1e-4) -> np.ndarray:
    """The Hessian of sqrt(|x|) * sum of y log y - alpha y, y = x/|x|, from values alone."""

    def value(x):
        y = x / x.sum()
        return np.sqrt(x.sum()) * (y * np.log(y) - alpha * y).sum()

    x, e = np.array([x1, x2]), np.eye(2) * step
    return np.array(
        [
            [(value(x + a + b) - value(x + a - b) - value(x - a + b) + value(x - a - b)) / (4 * step**2) for b in e]
            for a in e
        ]
    )


@pytest.mark.parametrize("alpha", [0.0, 0.25])
def test_a_pixel_is_the_smallest_eigenvalue_at_its_centre(alpha):
    image = panel(alpha, resolution=20).images[0].get_array()
    for row, column in [(10, 10), (19, 4), (3, 17), (19, 2)]:
        expected = np.linalg.eigvalsh(central_differences((column + 0.5) / 20, (row + 0.5) / 20, alpha))[0]
        assert image[row, column] == pytest.approx(expected, abs=1e-5)


def test_the_zero_level_is_a_dashed_red_line_on_which_the_eigenvalue_vanishes():
    (contour,) = panel(0.0, resolution=200).collections
    assert tuple(contour.get_edgecolor()[0][:3]) == (1.0, 0.0, 0.0)
    assert contour.get_linestyle()[0][1] is not None  # a pattern of dashes
    points = np.concatenate([path.vertices for path in contour.get_paths()])
    away = points[points.min(axis=1) > 0.05]
    assert len(away) > 50
    for x1, x2 in away[::20]:
        assert np.linalg.eigvalsh(central_differences(x1, x2, 0.0))[0] == pytest.approx(0.0, abs=5e-3)


def test_with_the_shift_there_is_no_zero_level_and_the_title_says_so():
    ax = panel(0.25)
    assert len(ax.collections) == 0
    assert "convex everywhere" in ax.get_title()
    assert "not convex" in panel(0.0).get_title()


def test_zero_has_the_middle_colour_and_both_signs_the_same_range():
    norm = eigenvalue_colours()
    assert norm(0.0) == pytest.approx(0.5)
    assert (norm(-LIMIT), norm(LIMIT)) == (0.0, 1.0)
    assert norm(0.1) + norm(-0.1) == pytest.approx(1.0)


def test_figure_1_has_two_panels_with_the_papers_shifts_and_one_colour_bar():
    left, right, bar = figure_1(resolution=20).axes
    assert (r"\alpha = 0$" in left.get_title(), r"\alpha = 0.25$" in right.get_title()) == (True, True)
    assert "eigenvalue" in bar.get_ylabel()
    assert left.get_xlim() == right.get_xlim() == (0.0, 1.0)


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_the_same_call_gives_the_same_bytes(tmp_path, suffix):
    first, second = (draw_figure(1, tmp_path / f"{name}.{suffix}").read_bytes() for name in "ab")
    assert first == second
    assert len(first) > 10_000


def test_the_default_file_is_a_png_in_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert draw_figure(1) == Path("figure1.png")
    assert (tmp_path / "figure1.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("number", [0, 2, -1])
def test_other_numbers_are_refused_with_the_figures_that_exist(number):
    with pytest.raises(InvalidParameter, match=f"no figure {number}; the paper has figure 1, the smallest"):
        draw_figure(number)


def test_a_format_that_is_not_drawn_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(InvalidParameter, match=r"'\.gif'"):
        draw_figure(1, tmp_path / "figure.gif")
    assert list(tmp_path.iterdir()) == []
