"""The page of the comparison says what the table of results says that ships with the package."""

from __future__ import annotations

import pytest

from comparison import FROM_ROWS, PAGE, TITLES, stored
from pages import marks


@pytest.mark.parametrize("title", FROM_ROWS)
def test_a_table_of_the_page_is_the_one_made_from_the_shipped_results(title):
    name, write = FROM_ROWS[title]
    begin, end = marks(title)
    shown = PAGE.read_text(encoding="utf-8").partition(begin)[2].partition(end)[0]
    assert shown.strip() == f"{write(stored(name))}\n\n```sh\nscripts/bench comparison --table {title}\n```"


@pytest.mark.parametrize("title", TITLES)
def test_the_page_names_the_command_of_each_table(title):
    text = PAGE.read_text(encoding="utf-8")
    assert f"scripts/bench comparison --table {title}\n" in text
