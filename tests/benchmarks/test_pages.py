"""Tables of benchmarks in pages of the documentation."""

from __future__ import annotations

import pytest

from pages import PRACTICAL, marks, write_between_marks


def test_only_what_is_between_the_marks_is_replaced(tmp_path):
    begin, end = marks("some")
    page = tmp_path / "page.md"
    page.write_text(f"before\n{begin}\nold\n{end}\nafter\n")
    write_between_marks(page, "some", "new\n")
    write_between_marks(page, "some", "newer\n")
    assert page.read_text() == f"before\n{begin}\n\nnewer\n\n{end}\nafter\n"
    page.write_text("no marks")
    with pytest.raises(ValueError, match="has no place for the tables"):
        write_between_marks(page, "some", "new")


@pytest.mark.parametrize("name", ["regret", "attacks", "found"])
def test_the_page_has_its_marks(name):
    text = PRACTICAL.read_text(encoding="utf-8")
    begin, end = marks(name)
    assert (text.count(begin), text.count(end)) == (1, 1)
    assert text.index(begin) < text.index(end)
