"""The paper's own displays about a round: both sides written out, and each of them on real rounds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from allworlds.ftrl.constants import Constants
from allworlds.theory import Round, displays, round_state
from theory import by_definition as own
from theory.states import cover_of

ROUNDS = own.few_rounds()


def close(value: float) -> object:
    return pytest.approx(value, rel=1e-9, abs=1e-13)


def drawn_part(state: Round, drawn: int, p: np.ndarray) -> float:
    clique, g = state.cover.cliques[drawn], own.shifted(state, drawn)
    return math.sqrt(own.mass(p, clique)) * math.fsum(p[i] * g[i] ** 2 for i in clique)


def others_part(state: Round, drawn: int, p: np.ndarray) -> float:
    loss = float(state.losses[state.best_arm])
    return math.fsum(
        math.sqrt(own.mass(p, clique)) * math.fsum(p[i] * loss**2 for i in clique)
        for k, clique in enumerate(state.cover.cliques)
        if k != drawn
    )


def test_the_split_has_the_norm_on_the_left_and_twice_the_two_parts_on_the_right() -> None:
    for state in ROUNDS:
        alphas = np.broadcast_to(state.constants.alpha, state.cover.n_cliques)
        sides = [
            (
                own.dual_norm(own.shifted(state, k), p, state.cover, alphas),
                2.0 * (drawn_part(state, k, p) + others_part(state, k, p)),
            )
            for k in range(state.cover.n_cliques)
            for p in own.segment(state, k)
        ]
        left, right = min(sides, key=lambda both: both[1] - both[0])
        check = displays.split_by_draw(state)
        assert check.left == pytest.approx(left, rel=1e-8)
        assert check.right == pytest.approx(right, rel=1e-8)
        assert check.scale == close(max(right for _, right in sides))
        assert check.holds


def test_the_split_is_an_equality_for_single_arms_with_the_sharp_alpha() -> None:
    cover = cover_of([1, 1])
    state = round_state(cover, np.zeros(2), np.ones(2), 1.0, Constants.sharp(cover), best_arm=0)
    check = displays.split_by_draw(state)
    assert check.left == close(check.right)
    assert check.left > 0.1


def test_the_drawn_cliques_part_is_its_expectation_over_arms() -> None:
    for state in ROUNDS:
        check = displays.chosen_clique(state)
        left = own.expected(state, lambda k, s=state: max(drawn_part(s, k, p) for p in own.segment(s, k)))
        half = own.expected(state, lambda k, s=state: own.beside(s, s.half_steps[k]))
        assert check.left == close(left)
        assert check.right == close(16.0 * own.root_sum(state) + 4.0 * math.sqrt(half))


def test_the_other_cliques_part_is_its_expectation_over_arms() -> None:
    for state in ROUNDS:
        check = displays.other_cliques(state)
        left = own.expected(state, lambda k, s=state: max(others_part(s, k, p) for p in own.segment(s, k)))
        assert check.left == close(left)
        assert check.right == close(12.0 * own.root_sum(state))


def powers(state: Round, drawn: int, p: np.ndarray) -> float:
    return math.fsum(own.mass(p, clique) ** 1.5 for k, clique in enumerate(state.cover.cliques) if k != drawn)


def test_lemma_7_takes_the_moved_masses_to_six_times_the_old_ones() -> None:
    for state in ROUNDS:
        check = displays.masses_not_drawn(state)
        left = own.expected(state, lambda k, s=state: max(powers(s, k, p) for p in own.segment(s, k)))
        assert check.left == close(left)
        assert check.right == close(6.0 * own.expected(state, lambda k, s=state: powers(s, k, s.distribution)))


def test_the_chance_of_not_being_drawn_gives_the_same_number_as_the_enumeration() -> None:
    for state in ROUNDS:
        check = displays.chance_not_drawn(state)
        by_hand = 6.0 * own.expected(state, lambda k, s=state: powers(s, k, s.distribution))
        assert check.left == pytest.approx(by_hand, rel=1e-9, abs=1e-12)
        assert check.right == close(12.0 * own.root_sum(state))
        assert check.rounding <= 1e-9


def test_every_display_holds_on_every_round(sharp_rounds: list[Round], paper_rounds_: list[Round]) -> None:
    for state in sharp_rounds + paper_rounds_:
        assert displays.split_by_draw(state).holds
        assert displays.chosen_clique(state).holds
        assert displays.other_cliques(state).holds
        assert displays.masses_not_drawn(state).holds
        assert displays.chance_not_drawn(state).holds


@pytest.fixture(name="paper_rounds_")
def rounds_with_the_papers_constants(request: pytest.FixtureRequest) -> list[Round]:
    """The session's fixture under another name: the module has it already."""
    rounds: list[Round] = request.getfixturevalue("paper_rounds")
    return rounds
