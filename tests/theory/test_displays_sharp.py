from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from allworlds.covers import CliqueCover
from allworlds.foundation.errors import InvalidParameter
from allworlds.ftrl.constants import Constants
from allworlds.ftrl.sharp import sharp_alpha
from allworlds.theory import corrupted_play, decomposition, youngs_line
from allworlds.theory.regulariser import sharp_comparator
from theory.states import cover_of, played


def objective(p: np.ndarray, losses: np.ndarray, eta: float, cover: CliqueCover, constants: Constants) -> float:
    """``L·p + Psi(p)/eta + Phi(p)`` from its definition, in thirty digits."""
    with mpmath.workdps(30):
        total = mpmath.fsum(mpmath.mpf(float(a)) * mpmath.mpf(float(b)) for a, b in zip(losses, p, strict=True))
        for clique, alpha in zip(cover.cliques, constants.alpha, strict=True):
            x = [mpmath.mpf(float(p[i])) for i in clique]
            q = mpmath.fsum(x)
            entropy = -mpmath.fsum(v / q * mpmath.log(v / q) for v in x if v > 0)
            total += -mpmath.sqrt(q) * (alpha + entropy) / mpmath.mpf(float(eta)) - constants.beta * mpmath.log(q)
        return float(total)


@pytest.mark.parametrize("sizes", [[3, 2], [1, 1, 1], [4], [5, 1, 2]])
def test_the_decomposition_holds_along_runs_against_every_arm(sizes: list[int]) -> None:
    cover, horizon = cover_of(sizes), 60
    for seed, constants in enumerate((Constants.sharp(cover), Constants.paper(cover, horizon))):
        p, half, estimates, _, rates = played(cover, constants, horizon, seed)
        for arm in range(cover.n_arms):
            u = sharp_comparator(cover, arm, horizon)
            assert decomposition(cover, constants, estimates, p, half, rates, u).holds


def test_the_decompositions_room_is_what_the_proof_gives_away() -> None:
    """Each half step beats the next step at its own objective, and the last one beats the comparator."""
    cover, horizon = cover_of([3, 2]), 12
    constants = Constants.sharp(cover)
    p, half, estimates, _, rates = played(cover, constants, horizon, 5)
    u = sharp_comparator(cover, 1, horizon)
    after = np.cumsum(estimates, axis=0)
    rivals = [*p[1:], u]
    given = sum(
        objective(rivals[t], after[t], rates[t], cover, constants)
        - objective(half[t], after[t], rates[t], cover, constants)
        for t in range(horizon)
    )
    assert decomposition(cover, constants, estimates, p, half, rates, u).slack == pytest.approx(given, rel=1e-9)
    assert given > 0.0


def test_the_decomposition_of_one_round_is_an_equality_against_its_own_half_step() -> None:
    cover = cover_of([2, 1])
    constants = Constants.sharp(cover)
    p, half, estimates, _, rates = played(cover, constants, 1, 1)
    assert estimates.max() > 0.0
    check = decomposition(cover, constants, estimates, p, half, rates, half[0])
    assert check.left == pytest.approx(check.right, rel=1e-12)
    assert check.left > 0.0


def test_the_decomposition_notices_half_steps_that_do_not_minimise() -> None:
    cover = cover_of([2, 1])
    constants = Constants.sharp(cover)
    p, half, estimates, _, rates = played(cover, constants, 1, 1)
    even = np.full((1, 3), 1.0 / 3.0)
    assert np.abs(even - half).max() > 0.01
    assert not decomposition(cover, constants, estimates, p, even, rates, half[0]).holds


def test_corruption_costs_at_most_twice_its_size_in_any_play() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        p, clean = rng.dirichlet(np.ones(4), size=20), rng.random((20, 4))
        played_losses = np.clip(clean + rng.normal(size=(20, 4)) * 10.0 ** rng.uniform(-3, 0), 0.0, 1.0)
        assert corrupted_play(p, played_losses, clean, int(rng.integers(4))).holds


def test_twice_the_corruption_is_attained_and_once_would_not_do() -> None:
    clean, tampered = np.tile([0.25, 0.75], (8, 1)), np.tile([0.5, 0.5], (8, 1))
    check = corrupted_play(np.tile([0.0, 1.0], (8, 1)), tampered, clean, best_arm=0)
    assert check.left == pytest.approx(8 * 0.5)  # by hand: the gap of the arm that was played
    assert check.right == pytest.approx(0.0 + 2.0 * 8 * 0.25)
    assert check.holds


@pytest.mark.parametrize("z", [1e-3, 0.02, 0.5, 1.0, 30.0])
def test_youngs_line_holds_for_any_play(z: float) -> None:
    rng = np.random.default_rng(1)
    for sizes in ([1, 1], [3], [2, 4, 1]):
        cover = cover_of(sizes)
        for _ in range(50):
            p = rng.dirichlet(np.full(cover.n_arms, 10.0 ** rng.uniform(-1.0, 1.0)), size=int(rng.integers(1, 40)))
            assert youngs_line(p, cover, rng.random(cover.n_arms), z).holds


def test_youngs_line_is_an_equality_for_one_round_and_the_best_z() -> None:
    cover, q, gap, cost = cover_of([1, 1]), 0.25, 0.5, 2.0 + 10.91
    worse = int(cover.cliques[1][0])
    p, means = np.full((1, 2), 1.0 - q), np.zeros(2)
    p[0, worse], means[worse] = q, gap
    check = youngs_line(p, cover, means, z=gap * math.sqrt(q) / cost)
    assert check.left == pytest.approx(cost * math.sqrt(q))
    assert check.right == pytest.approx(check.left)


def test_youngs_line_counts_the_best_cliques_other_arms_and_not_the_best_one() -> None:
    cover = cover_of([3])
    p, means = np.full((1, 3), 0.2), np.array([0.5, 0.5, 0.5])
    p[0, 1], means[1] = 0.6, 0.1
    check = youngs_line(p, cover, means, z=1.0)
    cost = 11.29 + math.log(3.0)
    assert check.left == pytest.approx(cost * math.sqrt(0.4))
    assert check.right == pytest.approx(0.5 * cost**2 / 0.4 + 0.4 * 0.4 / 2.0)


def test_youngs_line_needs_a_positive_z_and_a_unique_best_arm() -> None:
    p = np.full((2, 2), 0.5)
    for z in (0.0, -1.0, math.nan):
        with pytest.raises(InvalidParameter, match=r"z is .*; expected a number above 0"):
            youngs_line(p, cover_of([1, 1]), [0.1, 0.2], z)
    with pytest.raises(InvalidParameter, match="expected a unique best arm"):
        youngs_line(p, cover_of([1, 1]), [0.1, 0.1], 1.0)


def test_both_sides_of_the_decomposition_are_sums_over_rounds() -> None:
    cover, horizon = cover_of([3, 2]), 6
    constants = Constants.sharp(cover)
    p, half, estimates, _, rates = played(cover, constants, horizon, 7)
    u = sharp_comparator(cover, 1, horizon)
    check = decomposition(cover, constants, estimates, p, half, rates, u)
    zero = np.zeros(cover.n_arms)

    def phi(at: np.ndarray) -> float:
        return objective(at, zero, math.inf, cover, constants)

    def psi(at: np.ndarray) -> float:
        return objective(at, zero, 1.0, cover, constants) - phi(at)

    left, right = 0.0, phi(u) - phi(p[0])
    for t in range(horizon):
        before = estimates[:t].sum(axis=0)
        left += float(estimates[t] @ (p[t] - u))
        right += (1.0 / rates[t] - (1.0 / rates[t - 1] if t else 0.0)) * (psi(u) - psi(p[t]))
        right += objective(p[t], before + estimates[t], rates[t], cover, constants)
        right -= objective(half[t], before + estimates[t], rates[t], cover, constants)
    assert check.left == pytest.approx(left, rel=1e-9)
    assert check.right == pytest.approx(right, rel=1e-9)
    assert check.tolerance <= 1e-9
    size = math.fsum(float(estimates[:t].sum(axis=0) @ p[t]) for t in range(horizon))
    assert check.rounding == pytest.approx(1e-13 * size, rel=1e-6, abs=0.0)


def test_the_two_sides_of_corruption_are_sums_over_rounds() -> None:
    rng = np.random.default_rng(4)
    p, clean, tampered = rng.dirichlet(np.ones(3), size=5), rng.random((5, 3)), rng.random((5, 3))
    check = corrupted_play(p, tampered, clean, best_arm=2)
    spent = math.fsum(max(abs(tampered[t, i] - clean[t, i]) for i in range(3)) for t in range(5))
    left = math.fsum(p[t] @ clean[t] - clean[t, 2] for t in range(5))
    regret = math.fsum(p[t] @ tampered[t] - tampered[t, 2] for t in range(5))
    assert check.left == pytest.approx(left)
    assert check.right == pytest.approx(regret + 2.0 * spent)
    assert check.tolerance <= 1e-9
    size = math.fsum(p[t] @ tampered[t] for t in range(5)) + 5
    assert check.rounding == pytest.approx(1e-14 * size, rel=1e-6, abs=0.0)


def test_youngs_line_is_its_formula_on_a_longer_play() -> None:
    cover, means = cover_of([2, 3]), np.array([0.5, 0.2, 0.6, 0.9, 0.7])
    p, z = np.random.default_rng(5).dirichlet(np.ones(5), size=4), 0.3
    best = int(cover.owner[1])
    check = youngs_line(p, cover, means, z)
    cost, gaps = [0.0, 0.0], [0.0, 0.0]
    own = len(cover.cliques[best])
    for k, clique in enumerate(cover.cliques):
        size = len(clique)
        cost[k] = sharp_alpha(size) + math.log(size) + 10.91 + 2.2 * math.sqrt(math.log(own))
        gaps[k] = min(means[i] - 0.2 for i in clique if i != 1)
    cost[best] = 11.29 + math.log(own)
    left = 0.0
    for t in range(4):
        for k, clique in enumerate(cover.cliques):
            left += cost[k] * math.sqrt(math.fsum(p[t, i] for i in clique if i != 1) / (t + 1))
    w = (1.0 + math.log(4.0)) * math.fsum(cost[k] ** 2 / gaps[k] for k in range(2))
    assert check.left == pytest.approx(left)
    assert check.right == pytest.approx(z / 2.0 * w + math.fsum(p[t] @ (means - 0.2) for t in range(4)) / (2.0 * z))
