"""The paper's own displays about a run: both sides written out, on play that was made by hand or at random."""

from __future__ import annotations

import math

import numpy as np
import pytest

from allworlds.foundation.errors import InvalidParameter
from allworlds.theory import half_steps_and_regret, penalty_mid_term, young_for_the_half_step, young_for_the_step
from theory import by_definition as own
from theory.states import cover_of

COVER = cover_of([3, 2, 1])
BEST = int(COVER.cliques[0][1])  # with two neighbours in its clique
MEANS = np.array([0.5, 0.6, 0.7, 0.65, 0.4, 0.9])
MEANS[BEST] = 0.3
HOME = list(COVER.cliques[COVER.owner[BEST]])
GAPS = [min((MEANS[i] - 0.3 for i in clique if i != BEST), default=0.0) for clique in COVER.cliques]
WEIGHT = math.fsum(1.0 / gap for gap in GAPS if gap > 0.0)


def random_play(horizon: int, seed: int = 0, concentration: float = 1.0) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(6, concentration), size=horizon)


def roots(play: np.ndarray) -> tuple[float, float]:
    """``sum sqrt(q_k/t)`` over the other cliques, and ``sum sqrt(x/t)``."""
    elsewhere = math.fsum(
        math.sqrt(own.mass(p, clique) / t)
        for t, p in enumerate(play, start=1)
        for clique in COVER.cliques
        if BEST not in clique
    )
    beside = math.fsum(math.sqrt(math.fsum(p[i] for i in HOME if i != BEST) / t) for t, p in enumerate(play, start=1))
    return elsewhere, beside


def test_the_penalty_before_its_last_step_is_its_formula() -> None:
    gamma, horizon = 0.01, 4
    play = gamma + (1.0 - 6 * gamma) * random_play(horizon)
    log_floor, alpha = math.log(100.0), 2.0 * (math.log(100.0) ** 2 + 1.0)
    target = np.full(6, gamma)
    target[BEST] = 1.0 - 5 * gamma
    alphas = [alpha] * 3
    left = math.fsum(
        (math.sqrt(t) - math.sqrt(t - 1)) * (own.psi(target, COVER, alphas) - own.psi(p, COVER, alphas))
        for t, p in enumerate(play, start=1)
    )
    entropy = math.fsum(
        math.fsum(p[i] * math.log(own.mass(p, HOME) / p[i]) for i in HOME) / math.sqrt(t * own.mass(p, HOME))
        for t, p in enumerate(play, start=1)
    )
    check = penalty_mid_term(play, COVER, BEST, gamma)
    assert check.left == pytest.approx(left, rel=1e-9)
    assert check.right == pytest.approx(5.0 * log_floor**2 * roots(play)[0] + entropy, rel=1e-9)
    assert check.scale == pytest.approx(alpha)
    assert check.holds


def test_the_penalty_before_its_last_step_holds_for_any_play_above_the_floor() -> None:
    for seed in range(40):
        gamma = 10.0 ** -(1 + seed % 5)
        play = gamma + (1.0 - 6 * gamma) * random_play(20, seed, 0.1)
        for arm in range(6):
            assert penalty_mid_term(play, COVER, arm, gamma).holds


def test_the_penalty_before_its_last_step_is_an_equality_for_one_clique_and_its_own_comparator() -> None:
    cover, gamma = cover_of([3]), 0.05
    target = np.array([[0.05, 0.9, 0.05]])
    check = penalty_mid_term(target, cover, 1, gamma)
    assert check.left == pytest.approx(0.0, abs=1e-12)
    assert check.right == pytest.approx(-math.fsum(v * math.log(v) for v in target[0]))


def test_the_floor_must_be_small_enough_for_the_papers_five() -> None:
    two = cover_of([1, 1])
    for gamma in (0.4, 1.0 / math.e + 1e-9):
        with pytest.raises(InvalidParameter, match="at most 1/e"):
            penalty_mid_term(np.full((1, 2), 0.5), two, 0, gamma)
    assert penalty_mid_term(np.full((1, 2), 0.5), two, 0, 1.0 / math.e).holds
    edge = 1.0  # log(1/gamma): there 2 (log^2 + 1) + log is 5 log^2
    assert 2.0 * (edge**2 + 1.0) + edge == 5.0 * edge**2


def test_youngs_inequality_for_the_step_is_its_formula() -> None:
    play = random_play(5)
    check = young_for_the_step(play, COVER, MEANS, factor=6.0, z=0.7, regret=11.0, corruption=3.0)
    assert check.left == pytest.approx(6.0 * math.fsum(roots(play)))
    assert check.right == pytest.approx(36.0 * 0.7 * WEIGHT * math.log(5.0) + (11.0 + 6.0) / 1.4)


def test_youngs_inequality_for_the_half_step_is_its_formula() -> None:
    play, losses = random_play(5), np.random.default_rng(1).random((5, 6))
    check = young_for_the_half_step(play, losses, COVER, MEANS, z=0.7, corruption=3.0)
    lost = math.fsum(p[i] * (row[i] - row[BEST]) for p, row in zip(play, losses, strict=True) for i in range(6))
    assert check.left == pytest.approx(16.0 * roots(play)[1])
    assert check.right == pytest.approx(256.0 * 0.7 * WEIGHT * math.log(5.0) + 3.0 / 0.7 + lost / 1.4)


def test_the_half_steps_bound_is_its_formula_repaired_and_as_printed() -> None:
    play = random_play(5)
    check = half_steps_and_regret(play, COVER, MEANS, z=0.7, regret=11.0, corruption=3.0)
    assert check.left == pytest.approx(16.0 * roots(play)[1])
    assert check.right == pytest.approx(256.0 * 0.7 * WEIGHT * math.log(5.0) + 17.0 / 1.4)
    printed = half_steps_and_regret(play, COVER, MEANS, z=0.7, regret=11.0, corruption=3.0, printed=True)
    every = math.fsum(
        math.sqrt(own.mass(p, clique) / t)
        for t, p in enumerate(play, start=1)
        for clique, gap in zip(COVER.cliques, GAPS, strict=True)
        if gap > 0.0
    )
    assert printed.left == pytest.approx(16.0 * every)
    assert printed.right == pytest.approx(256.0 * WEIGHT * math.log(5.0) + 17.0 / 1.4)


def test_a_best_arm_alone_in_its_clique_has_no_gap_and_no_mass_beside_it() -> None:
    cover, means = cover_of([1, 2]), np.full(3, 0.9)
    best = int(cover.cliques[0][0])
    means[best] = 0.4
    play = np.full((3, 3), 1.0 / 3.0)
    check = young_for_the_step(play, cover, means, factor=1.0, z=1.0, regret=0.0, corruption=0.0)
    rates = 1.0 + 1.0 / math.sqrt(2.0) + 1.0 / math.sqrt(3.0)
    assert check.left == pytest.approx(math.sqrt(2.0 / 3.0) * rates)
    assert check.right == pytest.approx(math.log(3.0) / 0.5)
    printed = half_steps_and_regret(play, cover, means, z=1.0, regret=0.0, corruption=0.0, printed=True)
    assert printed.left == pytest.approx(16.0 * math.sqrt(2.0 / 3.0) * rates)
    assert half_steps_and_regret(play, cover, means, z=1.0, regret=0.0, corruption=0.0).left == 0.0


@pytest.mark.parametrize("z", [1e-3, 0.05, 1.0, 20.0])
def test_young_holds_for_any_play_against_clean_losses_that_are_their_means(z: float) -> None:
    rng = np.random.default_rng(2)
    for seed in range(30):
        play = random_play(30, seed, 10.0 ** rng.uniform(-1, 1))
        clean = np.tile(MEANS, (30, 1))
        played = np.clip(clean + rng.normal(size=(30, 6)) * 0.1, 0.0, 1.0)
        spent = float(np.abs(played - clean).max(axis=1).sum())
        regret = float((play * (played - played[:, [BEST]])).sum())
        for factor in (1.0, 16.0, 500.0):
            assert young_for_the_step(play, COVER, MEANS, factor, z, regret, spent).holds
        assert young_for_the_half_step(play, played, COVER, MEANS, z, spent).holds
        assert half_steps_and_regret(play, COVER, MEANS, z, regret, spent).holds


def test_what_the_proof_does_not_cover_is_refused() -> None:
    play = random_play(4)
    with pytest.raises(InvalidParameter, match=r"z is 0\.0; expected a number above 0"):
        young_for_the_step(play, COVER, MEANS, 1.0, 0.0, 1.0, 0.0)
    for call in (
        lambda: young_for_the_step(play[:2], COVER, MEANS, 1.0, 1.0, 1.0, 0.0),
        lambda: young_for_the_half_step(play[:2], play[:2], COVER, MEANS, 1.0, 0.0),
        lambda: half_steps_and_regret(play[:2], COVER, MEANS, 1.0, 1.0, 0.0),
    ):
        with pytest.raises(InvalidParameter, match="there are 2 rounds; expected at least 3"):
            call()
    with pytest.raises(InvalidParameter, match="expected a unique best arm"):
        half_steps_and_regret(play, COVER, np.full(6, 0.5), 1.0, 1.0, 0.0)
    assert young_for_the_step(play[:3], COVER, MEANS, 1.0, 1.0, 1.0, 0.0).holds
    with pytest.raises(InvalidParameter, match="corruption is -1"):
        young_for_the_step(play, COVER, MEANS, 1.0, 1.0, 1.0, -1.0)
