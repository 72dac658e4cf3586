from __future__ import annotations

import sys
from pathlib import Path

import pytest

from allworlds.foundation.errors import InvalidParameter, MissingExtra
from allworlds.reporting.canvas import FORMATS, blank, format_of, house_style, save


def test_the_suffix_chooses_the_format_in_any_case():
    assert [format_of(Path(name)) for name in ("a.png", "b.SVG", "c.d.Pdf")] == ["png", "svg", "pdf"]


@pytest.mark.parametrize("name", ["figure.jpg", "figure", "figure.", ".png.exe"])
def test_other_suffixes_are_refused_with_the_ones_that_exist(name):
    with pytest.raises(InvalidParameter, match=r"\.png, \.svg or \.pdf"):
        format_of(Path(name))


@pytest.mark.parametrize("kind", FORMATS)
def test_a_saved_file_is_of_the_kind_its_name_says_and_carries_no_date(tmp_path, kind):
    with house_style():
        figure = blank(2.0, 1.0)
        figure.subplots().plot([0, 1])
    data = save(figure, tmp_path / f"line.{kind}").read_bytes()
    assert {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[kind] == data[: 5 if kind == "svg" else 4]
    assert b"CreationDate" not in data
    assert b"dc:date" not in data


@pytest.mark.parametrize("place", ["missing/figure.png", "."])
def test_a_place_that_cannot_be_written_gets_a_sentence(tmp_path, place):
    target = tmp_path / place if place != "." else tmp_path / "folder.png"
    if place == ".":
        target.mkdir()
    with house_style(), pytest.raises(InvalidParameter, match=r"cannot write .* name a file in a folder"):
        save(blank(1.0, 1.0), target)


def test_the_readers_own_settings_do_not_leak_in_or_out():
    import matplotlib

    with matplotlib.rc_context({"font.size": 3.0}):
        with house_style():
            assert matplotlib.rcParams["font.size"] == 10
        assert matplotlib.rcParams["font.size"] == 3.0


def test_without_matplotlib_the_sentence_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.style", None)
    with pytest.raises(MissingExtra, match=r'pip install "allworlds\[figures\]"'), house_style():
        pass
