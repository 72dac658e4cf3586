"""docs/learners.md has a row for every learner, as the registry tells it."""

from __future__ import annotations

from pathlib import Path

from allworlds.learners.by_name import LEARNERS
from allworlds.learners.recipe import GROUPS

TITLES = "| learner | graphs | must be told | what is proved | after |"
PAGE = Path(__file__).parents[2] / "docs" / "learners.md"


def learner_tables() -> str:
    """The tables of the page."""
    parts = []
    for world, heading in GROUPS.items():
        parts += [f"## {heading[0].upper()}{heading[1:]}\n", TITLES, "|---|---|---|---|---|"]
        for recipe in LEARNERS.values():
            if recipe.world == world:
                cells = [f"`{recipe.name}`", recipe.graphs, recipe.told, recipe.bound, recipe.cited]
                parts.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        parts.append("")
    return "\n".join(parts)


def test_the_page_on_learners_has_the_tables_of_the_registry():
    text = PAGE.read_text(encoding="utf-8")
    assert learner_tables() in text, (
        "docs/learners.md is not that of the registry; python tests/docs/test_learner_table.py writes it"
    )


def write_page() -> None:
    """Write the tables of today below the head of the page."""
    head = PAGE.read_text(encoding="utf-8").partition("\n## ")[0]
    PAGE.write_text(f"{head}\n{learner_tables()}", encoding="utf-8")


if __name__ == "__main__":
    write_page()
