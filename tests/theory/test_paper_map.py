"""The map of the paper is true: every function and every test it names exists, and no label is missing."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from allworlds.graphs.by_name import GRAPHS
from allworlds.learners.by_name import LEARNERS

ROOT = Path(__file__).resolve().parents[2]
MAP = (ROOT / "docs" / "paper_map.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in MAP.partition("## Works that the paper cites")[0].splitlines()
    if line.startswith("| ") and "label" not in line.lower().split(" | ")[0]
]
FUNCTIONS = sorted(set(re.findall(r"`(allworlds\.[\w.]+)`", MAP)))
TESTS = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", MAP)))
LABELS = [
    "alg:FTRL",
    "fig:3d",
    "eq:tsallis-perspective",
    "eq:tsallis-shannon",
    "eqn:reg",
    "eqn:log-barrier",
    "eqn:graph-reg-bound-main",
    "eqn:graph-reg-bound-factors",
    "eqn:ftrl-penalty",
    "eqn:ftrl-stability",
    "eqn:p-gamma",
    "eqn:stability-chosen-clique",
    "eqn:stability-other-cliques",
    "eqn:q-stab-neg",
    "eqn:prob-not-chosen",
    "eqn:penalty",
    "eqn:penalty-mid-term",
    "eqn:cor-bound-1",
    "eqn:phalf-regret",
    "eqn:cor-bound-2",
    "eqn:general-stability-bound",
    "eqn:general-penalty-bound",
    "lem:amazing2",
    "lem:strong-convexity-reg",
    "lem:general-regret-bound",
    "lem:penalty-main",
    "lem:stability-term-bound",
    "lem:hessian-expression",
    "lem:q-stability-new",
    "lem:ftrl-shifted-regret",
    "lem:stability-term-bound-full",
    "lem:penalty",
    "lem:shrinked-regret",
    "thm:reg-corrupted",
    "thm:graph-regret-bound-main",
    "thm:graph-regret-bound",
    "thm:reg-corrupted-full",
    "thm:ftrl-general-regret-bound-haipeng",
]


def found(path: str) -> object:
    """The object at a dotted path: the longest importable prefix, then attributes."""
    parts = path.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            value: object = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for name in parts[cut:]:
            value = getattr(value, name)
        return value
    raise ModuleNotFoundError(path)


def test_the_map_was_read() -> None:
    assert len(ROWS) > 50
    assert len(LABELS) == len(set(LABELS)) == 38
    assert len(TESTS) > 30


@pytest.mark.parametrize("label", LABELS)
def test_every_label_of_the_paper_has_a_row(label: str) -> None:
    assert [row for row in ROWS if f"`{label}`" in row[0]], f"{label} is not in docs/paper_map.md"


@pytest.mark.parametrize("path", FUNCTIONS)
def test_every_function_of_the_map_exists(path: str) -> None:
    assert callable(found(path))


@pytest.mark.parametrize(("file", "name"), TESTS)
def test_every_test_of_the_map_exists(file: str, name: str) -> None:
    assert re.search(rf"^def {name}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)


DISPLAYS = {
    "eqn:stability-chosen-clique": "chosen_clique",
    "eqn:stability-other-cliques": "other_cliques",
    "eqn:q-stab-neg": "masses_not_drawn",
    "eqn:prob-not-chosen": "chance_not_drawn",
    "eqn:penalty-mid-term": "penalty_mid_term",
    "eqn:cor-bound-1": "young_for_the_step",
    "eqn:phalf-regret": "young_for_the_half_step",
    "eqn:cor-bound-2": "half_steps_and_regret",
    "eqn:general-stability-bound": "general_stability_bound",
    "eqn:general-penalty-bound": "general_penalty_bound",
}


@pytest.mark.parametrize("label", DISPLAYS)
def test_a_display_maps_to_a_function_that_computes_the_papers_own_form(label: str) -> None:
    (row,) = [row for row in ROWS if f"`{label}`" in row[0]]
    assert row[2].strip("`").endswith(f".{DISPLAYS[label]}")
    function = found(row[2].strip("`"))
    assert f"eqn:{label.removeprefix('eqn:')}" in (getattr(function, "__doc__", None) or "")
    assert "sharper" not in row[1]


def test_the_statements_without_a_label_have_rows() -> None:
    for place in ("informal", "plain sum", "classical perspective", "magnitude", "barrier on arms"):
        assert [row for row in ROWS if place in row[0]], place


def test_every_row_names_one_function_and_its_test() -> None:
    for row in ROWS:
        assert len(row) == 4, row
        assert re.fullmatch(r"`allworlds\.[\w.]+`", row[2]), row
        assert re.fullmatch(r"`tests/[\w/]+\.py::\w+`", row[3]), row


def test_every_learner_named_among_the_cited_works_is_registered() -> None:
    """Names in backticks without a dot or a bracket are learners, experiments or graph families."""
    cited = MAP.partition("## Works that the paper cites")[2].partition("\n## ")[0]
    names = set(re.findall(r"`([a-z0-9-]+)`", cited))
    known = {*LEARNERS, *GRAPHS, *(file.stem for file in (ROOT / "src/allworlds/experiments/shipped").glob("*.toml"))}
    assert len(names) > 25
    assert names <= known
