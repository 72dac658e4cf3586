from __future__ import annotations

import dataclasses
import inspect
import math
import re
from types import ModuleType

import numpy as np
import pytest

from allworlds.covers import clique_cover
from allworlds.foundation.errors import InvalidParameter
from allworlds.ftrl import Constants, sharp_alpha, solve_ftrl
from allworlds.graphs import disjoint_cliques
from allworlds.theory import Check, guarded, lemma_7, practical, round_state, sharp_hessian
from allworlds.workflows.verify import GROUPS, Verdict, judge, verify
from allworlds.workflows.verify.instances import (
    WORLDS,
    Instances,
    Losses,
    Outcome,
    Statement,
    Trajectory,
    constants_of,
    make_losses,
    run,
)
from allworlds.workflows.verify.paper import optimality
from allworlds.workflows.verify.theorems import against_i_star, against_the_best


@pytest.fixture(scope="module")
def verdicts() -> list[Verdict]:
    return list(verify(seed=3, scale="quick"))


def test_every_statement_holds_on_fresh_instances(verdicts: list[Verdict]) -> None:
    assert [verdict.statement for verdict in verdicts if not verdict.holds] == []
    assert all(verdict.instances > 0 for verdict in verdicts)


def test_the_printed_theorems_are_marked_vacuous_and_a_sharp_one_is_not(verdicts: list[Verdict]) -> None:
    by_label = {verdict.label: verdict for verdict in verdicts}
    assert by_label["thm:reg-corrupted-full/stochastic"].vacuous
    assert by_label["thm:graph-regret-bound/adversarial"].vacuous
    assert not by_label["theorem-b-ii/adversarial"].vacuous
    assert not by_label["theorem-c-ii/played/constrained adversary"].vacuous
    assert not by_label["theorem-d-ii/played/constrained adversary"].vacuous


def test_statements_have_different_labels_and_every_lemma_of_the_paper_is_among_them() -> None:
    labels = [statement.label for members in GROUPS.values() for statement in members]
    assert len(set(labels)) == len(labels)
    for label in (
        "lem:amazing2",
        "lem:strong-convexity-reg",
        "lem:general-regret-bound",
        "lem:penalty-main",
        "lem:stability-term-bound",
        "lem:hessian-expression",
        "lem:q-stability-new",
        "lem:ftrl-shifted-regret",
        "lem:shrinked-regret",
        "thm:ftrl-general-regret-bound-haipeng",
        "fig:3d",
        "alg:FTRL",
        "alg:FTRL-sum",
        "alg:FTRL-floor",
        "sharp-decomposition",
        "sharp-7-corruption",
        "sharp-7-young",
        "default-decomposition",
        "theorem-c-i/stochastic",
        "theorem-d-i/stochastic",
    ):
        assert label in labels


@pytest.mark.parametrize(("room", "start", "count"), [(practical, "default-", 25), (guarded, "guarded-", 12)])
def test_every_step_of_theorems_c_and_d_is_a_line(room: ModuleType, start: str, count: int) -> None:
    """A step is a function of the room that returns a check; each makes checks with a label of its own."""
    steps = [step for step in vars(room).values() if getattr(step, "__annotations__", {}).get("return") == "Check"]
    own = {label for step in steps for label in re.findall(rf'"({start}[^"]+)"', inspect.getsource(step))}
    labels = {statement.label for members in GROUPS.values() for statement in members}
    assert len(own) == count
    assert own == {label for label in labels if label.startswith(start)}


def test_the_same_seed_gives_the_same_verdicts_and_another_seed_other_instances(verdicts: list[Verdict]) -> None:
    again = [next(verify(seed=3, scale="quick")), next(verify(seed=4, scale="quick"))]
    assert again[0] == verdicts[0]
    assert again[1].left != verdicts[0].left


def test_progress_is_told_before_each_statement_and_at_the_end() -> None:
    told: list[tuple[int, int, str]] = []
    generator = verify(seed=0, scale="quick", on_progress=lambda *news: told.append(news))
    next(generator)
    assert told == [(0, sum(map(len, GROUPS.values())), next(iter(GROUPS.values()))[0].text)]


STATEMENT = Statement("an example", "example", lambda instances: [])


def test_one_failing_instance_fails_the_statement_and_is_the_one_shown() -> None:
    good, bad = Check("", "", 1.0, 1.5), Check("", "", 2.0, 1.0)
    verdict = judge(STATEMENT, "group", [good, Outcome(bad, note="here"), good])
    assert not verdict.holds
    assert (verdict.left, verdict.right, verdict.note, verdict.instances) == (2.0, 1.0, "here", 3)


def test_the_tightest_instance_is_shown_and_nothing_said_by_zero_below_zero() -> None:
    verdict = judge(STATEMENT, "group", [Check("", "", 0.0, 0.0), Check("", "", 9.0, 10.0), Check("", "", 1.0, 2.0)])
    assert (verdict.left, verdict.right) == (9.0, 10.0)


def test_an_instance_whose_left_side_is_zero_is_tight_when_its_right_side_is_small_for_its_scale() -> None:
    loose, tight = Check("", "", 0.0, 0.5, scale=1.0), Check("", "", 0.0, 0.01, scale=1.0)
    assert judge(STATEMENT, "group", [loose, tight, Check("", "", 1.0, 2.0)]).right == 0.01


@pytest.mark.parametrize("scale", ["ful", "", None, 1])
def test_an_unknown_scale_is_refused_at_once(scale) -> None:
    with pytest.raises(InvalidParameter, match=r"scale is .*; expected one of 'quick', 'full'"):
        verify(seed=0, scale=scale)


@pytest.mark.parametrize("seed", [-1, 1.5, "a", None, True])
def test_a_seed_that_is_no_count_is_refused_at_once(seed) -> None:
    with pytest.raises(InvalidParameter, match=r"seed is .*; expected an integer of at least 0"):
        verify(seed=seed)


def test_a_side_that_is_not_a_number_fails() -> None:
    assert not judge(STATEMENT, "group", [Check("", "", math.nan, 1.0)]).holds
    assert not judge(STATEMENT, "group", [Check("", "", 1.0, math.nan)]).holds


def test_a_statement_without_instances_fails() -> None:
    assert not judge(STATEMENT, "group", []).holds


def test_checks_fail_where_the_statement_is_made_false() -> None:
    """The same checks with a constant that the lemma does not allow: a check that cannot fail is none."""
    cover = clique_cover(disjoint_cliques([1, 1]))
    weak = dataclasses.replace(Constants.paper(cover, 10), beta=0.0, alpha=(1e-3, 1e-3), gamma=0.0)
    state = round_state(cover, np.array([1.0, 0.0]), np.array([0.0, 1.0]), 1.0, weak, best_arm=0)
    assert not lemma_7(state).holds
    worst = np.array([0.944, 0.056])
    one = clique_cover(disjoint_cliques([2]))
    assert sharp_hessian(worst, one, sharp_alpha(2)).holds
    assert not sharp_hessian(worst, one, sharp_alpha(2) - 0.05).holds


@pytest.mark.parametrize("setting", ["paper", "sharp"])
def test_optimality_is_seen_from_the_gradient_and_its_absence_too(setting: str) -> None:
    """At the step, with arms at their floor and above it; and no longer after a small move in any direction."""
    rng = np.random.default_rng(2)
    cover = clique_cover(disjoint_cliques([3, 2]))
    constants = Constants.paper(cover, 100) if setting == "paper" else Constants.sharp(cover)
    losses = np.array([0.0, 10.0, 9000.0, 30.0, 50.0]) if setting == "paper" else rng.random(5) * 10.0
    p = solve_ftrl(cover, losses, 0.5, constants).distribution
    assert (p == constants.gamma).any() == (setting == "paper")
    assert optimality(cover, p, losses, 0.5, constants).holds
    for i in range(4):
        moved = p.copy()
        moved[i], moved[i + 1] = p[i] + 1e-4, p[i + 1] - 1e-4 if p[i + 1] > 2e-4 else p[i + 1]
        assert not optimality(cover, moved / moved.sum(), losses, 0.5, constants).holds


def test_the_sharp_theorems_count_regret_against_the_best_arm_of_the_clean_means() -> None:
    cover = clique_cover(disjoint_cliques([1, 1]))
    clean, played = np.tile([0.0, 1.0], (4, 1)), np.tile([1.0, 0.0], (4, 1))
    empty, nothing = np.zeros((4, 2)), np.zeros(4)
    losses = Losses(played, clean, np.array([0.4, 0.6]))
    even, drawn = np.full((4, 2), 0.5), nothing.astype(np.intp)
    it = Trajectory(cover, Constants.sharp(cover), losses, even, empty, drawn, nothing)
    assert against_i_star([it]) == -2.0
    assert against_the_best([it]) == 2.0
    assert it.corrupted


@pytest.mark.parametrize("which", ["paper", "sharp", "practical"])
@pytest.mark.parametrize("world", WORLDS)
def test_a_trajectory_records_what_the_learner_did(world, which: str) -> None:
    rng = np.random.default_rng(0)
    cover = clique_cover(disjoint_cliques([2, 3]))
    it = run(cover, constants_of(which, cover, 30), make_losses(world, 5, 30, 0.4, 1, rng), rng)
    np.testing.assert_allclose(it.distributions.sum(axis=1), 1.0, rtol=1e-9)
    np.testing.assert_allclose(np.cumsum(it.estimates, axis=0)[:-1], it.cumulative_losses[1:], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(it.distributions, [state.distribution for state in it.rounds], rtol=1e-9)
    np.testing.assert_allclose(it.clique_mass.sum(axis=1), 1.0, rtol=1e-9)
    assert ((it.estimates > 0).any(axis=1) <= (it.losses.played > 0).any(axis=1)).all()
    assert (it.baselines > 0.0).any() == (which == "practical")
    assert it.losses.best_arm == 1


def test_the_rounds_of_the_default_reach_the_corners_of_its_proof() -> None:
    states = Instances(0, full=False).states("practical")
    assert min(state.mass.min() for state in states) < 1e-7
    assert sum(bool((state.excess > 0.0).any()) for state in states) > 5
    assert sum(state.numbers.is_late(state.round) and state.best_mass >= 0.5 for state in states) > 20
    assert min(state.round for state in states) == 1
    assert {state.baseline for state in states} >= {0.0, 0.85}
