"""Tables that a benchmark writes into a page of the documentation, between two marks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

PRACTICAL = Path(__file__).resolve().parents[2] / "docs" / "practical.md"
"""The page on the default setting."""


def marks(name: str) -> tuple[str, str]:
    """The lines before and after what the benchmark ``name`` writes."""
    return f"<!-- {name}: begin -->", f"<!-- {name}: end -->"


def write_between_marks(page: Path, name: str, text: str) -> None:
    """Replace what is between the marks ``name`` of ``page``."""
    begin, end = marks(name)
    old = page.read_text(encoding="utf-8")
    if old.count(begin) != 1 or old.count(end) != 1 or old.index(begin) > old.index(end):
        raise ValueError(f"'{page}' has no place for the tables; mark it with {begin} and {end}")
    before, after = old[: old.index(begin)], old[old.index(end) :]
    page.write_text(f"{before}{begin}\n\n{text.rstrip()}\n\n{after}", encoding="utf-8")


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of Markdown; the first column is text, the others are numbers."""
    lines = [head, ["---", *["--:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
