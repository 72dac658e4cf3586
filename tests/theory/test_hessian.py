from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.linalg import eigh

from allworlds.foundation.errors import InvalidParameter
from allworlds.ftrl.sharp import sharp_alpha, sharp_alphas, worst_conditional
from allworlds.theory import smallest_hessian_eigenvalue
from allworlds.theory.hessian import (
    dual_norm_squared,
    lemma_1,
    lemma_1_condition,
    lemma_2,
    lemma_6,
    pointwise_threshold,
    scaled_hessian,
    sharp_hessian,
)
from allworlds.theory.regulariser import TsallisPerspective, shifted_shannon, tsallis_shannon_hessian
from theory.states import cover_of


def parabola(size: int, lam: float) -> TsallisPerspective:
    """``h = y^2 - (5 + lam)/d``: strictly convex, and Lemma 1's condition with c = 0 is ``5 |y|^2 <= 5``."""
    shift = (5.0 + lam) / size
    return TsallisPerspective(lambda y: y**2 - shift, lambda y: 2.0 * y, lambda y: np.full_like(y, 2.0))


def test_the_scaled_block_is_the_hessian_between_two_roots() -> None:
    rng = np.random.default_rng(0)
    for size in range(1, 8):
        x = rng.random(size) * rng.choice([0.1, 1.0, 4.0]) + 0.01
        root = np.sqrt(x * np.sqrt(x.sum()))
        expected = shifted_shannon(3.3).hessian(x) * np.outer(root, root)
        np.testing.assert_allclose(scaled_hessian(x / x.sum(), 3.3), expected, rtol=1e-12, atol=1e-13)


def test_the_scaled_block_stays_finite_where_an_arm_is_impossible() -> None:
    assert np.isfinite(scaled_hessian(np.array([1.0, 0.0]), 3.0)).all()


def test_the_dual_norm_is_the_quadratic_form_of_the_inverse() -> None:
    rng = np.random.default_rng(1)
    cover = cover_of([3, 1, 5])
    alpha = sharp_alphas(cover.sizes)
    points, g = rng.dirichlet(np.ones(9), size=20), rng.normal(size=9)
    expected = [g @ np.linalg.inv(tsallis_shannon_hessian(p, cover, alpha)) @ g for p in points]
    np.testing.assert_allclose(dual_norm_squared(g, points, cover, alpha), expected, rtol=1e-10)


@pytest.mark.parametrize("lam", [0.5, 2.0, 7.0])
def test_lemma_1_holds_for_a_parabola(lam: float) -> None:
    rng = np.random.default_rng(2)
    for _ in range(200):
        x = rng.dirichlet(np.ones(4)) * 10.0 ** rng.uniform(-3, 3)
        assert lemma_1(parabola(4, lam), x, c=0.0, lam=lam).holds


@pytest.mark.parametrize("gamma", [0.1, 1e-3, 1e-8])
def test_lemma_1_holds_for_the_shifted_shannon_entropy_of_the_paper(gamma: float) -> None:
    rng = np.random.default_rng(3)
    alpha, c = 2.0 * (1.0 + math.log(gamma) ** 2), -(1.0 + 2.0 * math.log(gamma) ** 2)
    for _ in range(100):
        y = gamma + (1.0 - 5 * gamma) * rng.dirichlet(np.full(5, 0.3))
        assert lemma_1(shifted_shannon(alpha), y * 0.3, c=c, lam=2.0).holds


def test_lemma_1_would_fail_with_all_of_the_curved_part() -> None:
    h = parabola(3, 2.0)
    doubled = TsallisPerspective(h.h, h.first, lambda y: np.full_like(y, 2.0))
    x = np.array([0.8, 0.15, 0.05])
    z = np.ones((3, 3)) - np.diag(1.0 / x)
    curved = (z.T * (x**2 * 2.0)) @ z
    assert np.linalg.eigvalsh(doubled.hessian(x) - 0.5 * np.ones((3, 3)) - curved)[0] < -1e-3


def test_lemma_1s_right_side_is_the_smallest_eigenvalue_relative_to_the_hessians_diagonal() -> None:
    rng = np.random.default_rng(8)
    for _ in range(20):
        x = rng.dirichlet(np.ones(4)) * 10.0 ** rng.uniform(-2, 2)
        total, y = x.sum(), x / x.sum()
        z = [np.ones(4) - np.eye(4)[i] / y[i] for i in range(4)]
        bound = sum(y[i] ** 2 * np.outer(z[i], z[i]) for i in range(4)) + 0.5 * np.ones((4, 4))  # h'' = 2, lam = 2
        hessian = parabola(4, 2.0).hessian(x)
        expected = eigh(hessian - total**-1.5 * bound, np.diag(np.diag(hessian)), eigvals_only=True)[0]
        assert lemma_1(parabola(4, 2.0), x, c=0.0, lam=2.0).right == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("rare", [0.1, 1e-4, 1e-10])
def test_lemma_1_would_notice_a_violation_however_rare_an_arm_is(rare: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("allworlds.theory.hessian.lemma_1_condition", lambda *of: 0.0)  # pretend that it speaks
    check = lemma_1(shifted_shannon(1.0), np.array([rare, 1.0 - rare]), c=0.0, lam=2.0)
    assert check.right < -0.1
    assert not check.holds


def test_lemma_1_is_silent_where_its_condition_fails() -> None:
    x = np.array([0.9, 0.1])
    assert lemma_1_condition(shifted_shannon(0.0), x, c=0.0, lam=1.0) > 0.0
    with pytest.raises(InvalidParameter, match="condition of Lemma 1"):
        lemma_1(shifted_shannon(0.0), x, c=0.0, lam=1.0)


@pytest.mark.parametrize("gamma", [0.05, 1e-3, 1e-7])
def test_lemma_2_holds_above_its_floor(gamma: float) -> None:
    rng = np.random.default_rng(4)
    cover = cover_of([4, 2, 1])
    for _ in range(100):
        p = rng.dirichlet(np.full(7, 0.3))
        for clique in cover.cliques:
            share = gamma + (1.0 - len(clique) * gamma) * rng.dirichlet(np.full(len(clique), 0.2))
            p[clique] = p[clique].sum() * share
        assert lemma_2(p, cover, gamma * (1.0 - 1e-12)).holds


def test_lemma_2_needs_its_floor() -> None:
    with pytest.raises(InvalidParameter, match="a floor above 0"):
        lemma_2(np.array([0.5, 0.5]), cover_of([2]), 0.0)
    with pytest.raises(InvalidParameter, match="at least gamma"):
        lemma_2(np.array([0.001, 0.999]), cover_of([2]), 0.01)


def test_the_sharp_bound_holds_everywhere_and_a_smaller_alpha_fails_at_the_worst_point() -> None:
    rng = np.random.default_rng(5)
    cover = cover_of([6, 2, 1])
    alpha = sharp_alphas(cover.sizes)
    for _ in range(300):
        p = rng.dirichlet(np.full(9, rng.choice([0.05, 0.3, 1.0]))) + 1e-200
        assert sharp_hessian(p, cover, alpha).holds
    worst = np.empty(9)
    for clique in cover.cliques:
        worst[clique] = worst_conditional(len(clique)) / 3.0
    assert sharp_hessian(worst, cover, alpha).slack == pytest.approx(0.0, abs=1e-9)
    assert not sharp_hessian(worst, cover, alpha - 1e-5).holds


def test_the_quadratic_form_of_the_proof_is_the_hessians() -> None:
    rng = np.random.default_rng(6)
    for _ in range(100):
        x, v = rng.random(5) + 0.01, rng.normal(size=5)
        alpha, kappa, total = 3.0, rng.random(), x.sum()
        y, a = x / total, v.sum()
        u = a - v / y
        entropy = -float(y @ np.log(y))
        form = v @ (shifted_shannon(alpha).hessian(x) - kappa * np.diag(1.0 / (x * np.sqrt(total)))) @ v
        expected = ((entropy + alpha) / 4.0 - kappa) * a**2 + (1.0 - kappa) * (y @ u**2) + a * (y * u) @ np.log(y)
        assert total**1.5 * form == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_the_pointwise_threshold_of_a_uniform_clique_is_known_by_hand() -> None:
    assert pointwise_threshold(np.full(8, 0.125), 0.5) == pytest.approx(2.0 - math.log(8.0))
    assert pointwise_threshold(np.array([1.0, 0.0]), 0.25) == pytest.approx(1.0)


def test_lemma_6_agrees_with_differences_of_the_value() -> None:
    rng = np.random.default_rng(7)
    for _ in range(20):
        x = rng.random(3) + 0.1
        assert lemma_6(shifted_shannon(rng.uniform(0.0, 5.0)), x).holds
        assert lemma_6(parabola(3, 1.0), x).holds


def test_lemma_6_notices_a_wrong_derivative() -> None:
    wrong = TsallisPerspective(lambda y: y**2, lambda y: 2.1 * y, lambda y: np.full_like(y, 2.0))
    assert not lemma_6(wrong, np.array([0.3, 0.9, 0.4])).holds


@pytest.mark.parametrize("alpha", [0.0, 0.25, 2.0])
def test_the_closed_form_is_the_smallest_eigenvalue(alpha: float) -> None:
    rng = np.random.default_rng(0)
    x = rng.random((200, 2)) * 3.0 + 1e-3
    expected = [np.linalg.eigvalsh(shifted_shannon(alpha).hessian(point))[0] for point in x]
    np.testing.assert_allclose(smallest_hessian_eigenvalue(x[:, 0], x[:, 1], alpha), expected, rtol=1e-7, atol=1e-9)


def test_the_figures_two_panels_differ_in_sign() -> None:
    grid = np.linspace(1e-4, 1.0, 150)
    x1, x2 = np.meshgrid(grid, grid)
    assert smallest_hessian_eigenvalue(x1, x2, 0.0).min() < 0.0
    assert smallest_hessian_eigenvalue(x1, x2, 0.25).min() > 0.0


def test_the_sign_turns_at_the_sharp_alpha_and_at_its_worst_point() -> None:
    worst, limit = worst_conditional(2, 0.0), sharp_alpha(2, 0.0)
    assert smallest_hessian_eigenvalue(*worst, limit - 1e-6) < 0.0
    assert smallest_hessian_eigenvalue(*worst, limit + 1e-6) > 0.0
    ratios = np.geomspace(1e-8, 1.0, 2000)
    assert smallest_hessian_eigenvalue(ratios, 1.0, limit + 1e-6).min() > 0.0
