from __future__ import annotations

from pathlib import Path

import pytest

from allworlds.foundation.errors import InvalidParameter
from allworlds.workflows.figure import draw_figure


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
