"""Every line of ``allworlds verify`` turns red when what it computes is wrong.

An error is planted in the function behind the line: a left side that is 0, a left side far too large, a right side
ten times too large or far too small. Only the statement concerned is checked again.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from allworlds import theory
from allworlds.theory import Bound, Check
from allworlds.workflows.verify import GROUPS, LEAST_SHARE, judge, paper
from allworlds.workflows.verify.instances import Instances, Statement

STATEMENTS = {statement.label: statement for members in GROUPS.values() for statement in members}
OWN = ("lem:hessian-expression", "eqn:reg", "fig:3d", "theorem-a-only-if", "alg:FTRL", "alg:FTRL-sum", "alg:FTRL-floor",
       "alg:FTRL-estimates", "remark-perspective", "lem:amazing2")  # fmt: skip
BOUNDS = {
    "thm:graph-regret-bound/": "theorem_2_bound",
    "thm:reg-corrupted-full/": "theorem_1_bound",
    "theorem-b-i/": "sharp_general_bound",
    "theorem-b-ii/": "sharp_adversarial_bound",
    "theorem-b-iii/": "sharp_corrupted_bound",
    "theorem-c-i/": "practical_general_bound",
    "theorem-c-ii/": "practical_adversarial_bound",
    "theorem-c-iii/": "practical_corrupted_bound",
    "theorem-d-i/": "guarded_general_bound",
    "theorem-d-ii/": "guarded_adversarial_bound",
    "theorem-d-iii/": "guarded_corrupted_bound",
}
LABELS = {"theorem-a-if": "theorem-a"}
SIDES: dict[str, Callable[[float, float], tuple[float, float]]] = {
    "left is 0": lambda left, right: (0.0, right),
    "left too large": lambda left, right: (1e5 * abs(left), right),
    "right ten times too large": lambda left, right: (left, 10.0 * right),
    "right too small": lambda left, right: (left, 1e-5 * right),
}
THEOREMS = [label for label in STATEMENTS if label.startswith(tuple(BOUNDS))]
CHECKED = [label for label in STATEMENTS if label not in OWN and label not in THEOREMS]


@pytest.fixture(scope="module")
def instances() -> Instances:
    return Instances(7, full=False)


def verdict(label: str, instances: Instances) -> bool:
    statement: Statement = STATEMENTS[label]
    return judge(statement, "", statement.check(instances)).holds


def test_every_line_has_an_error_that_is_planted_in_it() -> None:
    assert set(OWN) | set(THEOREMS) | set(CHECKED) == set(STATEMENTS)
    assert set(LEAST_SHARE) <= set(STATEMENTS)
    assert set(THEOREMS) | set(CHECKED) <= set(LEAST_SHARE)


@pytest.mark.parametrize("label", CHECKED)
def test_without_an_error_the_line_is_green(label: str, instances: Instances) -> None:
    """Else the tests below would pass whatever is planted."""
    assert verdict(label, instances)


@pytest.mark.parametrize("error", SIDES)
@pytest.mark.parametrize("label", CHECKED)
def test_a_wrong_side_turns_the_line_red(
    label: str, error: str, instances: Instances, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = 0

    def wrong(text: str, own: str, left: float, right: float, **rest: Any) -> Check:
        nonlocal planted
        if own == LABELS.get(label, label):
            planted += 1
            left, right = SIDES[error](left, right)
        return Check(text, own, left, right, **rest)

    for name, module in list(sys.modules.items()):
        if name.startswith("allworlds.theory.") and getattr(module, "Check", None) is Check:
            monkeypatch.setattr(module, "Check", wrong)
    assert not verdict(label, instances)
    assert planted > 0


@pytest.mark.parametrize("factor", [10.0, 1e-6])
@pytest.mark.parametrize("label", THEOREMS)
def test_a_wrong_bound_turns_the_line_red(
    label: str, factor: float, instances: Instances, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = next(function for start, function in BOUNDS.items() if label.startswith(start))
    true: Callable[..., Bound] = getattr(theory, name)

    def wrong(*of: Any, **rest: Any) -> Bound:
        bound = true(*of, **rest)
        return dataclasses.replace(bound, value=factor * bound.value)

    monkeypatch.setattr(theory, name, wrong)
    assert not verdict(label, instances)


def scaled(function: Callable[..., Any], factor: float) -> Callable[..., Any]:
    return lambda *of, **rest: factor * function(*of, **rest)


@pytest.mark.parametrize(
    ("label", "module", "name", "factor"),
    [
        ("lem:hessian-expression", theory.hessian, "second_differences", 1.001),
        ("eqn:reg", paper, "tsallis_shannon_expanded", 1.0 + 1e-9),
        ("fig:3d", theory, "smallest_hessian_eigenvalue", -1.0),
        ("fig:3d", theory, "smallest_hessian_eigenvalue", 0.0),
        ("theorem-a-only-if", paper, "smallest_scaled_eigenvalue", 1.01),
        ("theorem-a-only-if", paper, "smallest_scaled_eigenvalue", -100.0),
        ("theorem-a-if", theory.hessian, "scaled_hessian", 0.99),
        ("alg:FTRL", paper, "tsallis_shannon_gradient", 1.001),
        ("alg:FTRL", paper, "log_barrier_gradient", 0.999),
        ("remark-perspective", theory.remarks, "classical_perspective_hessian", -1.0),
    ],
)
def test_a_wrong_function_turns_its_line_red(
    label: str, module: Any, name: str, factor: float, instances: Instances, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, scaled(getattr(module, name), factor))
    assert not verdict(label, instances)


@pytest.mark.parametrize("part", ["h", "second"])
def test_lemma_1_turns_red_with_another_function_than_its_condition_was_checked_for(
    part: str, instances: Instances, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Hessian that lacks the shift, or has half of the curvature, is not above the bound."""
    true = paper.TsallisPerspective.hessian

    def wrong(self: Any, x: np.ndarray) -> np.ndarray:
        if part == "second":
            return np.asarray(0.5 * true(self, x))
        return np.asarray(true(self, x) - 0.5 * np.ones((len(x), len(x))) * x.sum() ** -1.5)

    monkeypatch.setattr(paper.TsallisPerspective, "hessian", wrong)
    assert not verdict("lem:amazing2", instances)


@pytest.mark.parametrize(
    ("label", "change"),
    [
        ("alg:FTRL-sum", lambda p: 1.001 * p),
        ("alg:FTRL-floor", lambda p: 0.9 * p),
        ("alg:FTRL-floor", lambda p: 10.0 * p),
    ],
)
def test_steps_that_leave_the_simplex_turn_a_line_red(label: str, change: Any) -> None:
    own = Instances(7, full=False)
    for state in own.states("paper"):
        state.__dict__["distribution"] = change(state.distribution)
    runs = own.short("paper")
    runs[:] = [dataclasses.replace(it, distributions=change(it.distributions)) for it in runs]
    assert not verdict(label, own)


def test_biased_estimates_turn_a_line_red(monkeypatch: pytest.MonkeyPatch) -> None:
    own = Instances(7, full=False)
    assert verdict("alg:FTRL-estimates", own)
    for state in own.states("sharp")[:1]:
        state.__dict__["estimates"] = 1.0001 * state.estimates
        state.losses.setflags(write=True)
        state.losses[:] = np.maximum(state.losses, 0.5)
    assert not verdict("alg:FTRL-estimates", own)
