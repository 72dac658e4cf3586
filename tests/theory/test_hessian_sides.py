"""The Hessian's functions against differences, dense matrices and values known by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from allworlds.foundation.errors import InvalidParameter
from allworlds.theory import hessian, smallest_hessian_eigenvalue
from allworlds.theory.regulariser import TsallisPerspective, shifted_shannon, tsallis_shannon_hessian
from theory.states import cover_of

CUBE = TsallisPerspective(lambda y: y**3 - 2.0, lambda y: 3.0 * y**2, lambda y: 6.0 * y)


def scaled_eigenvalues(p: np.ndarray, cover, alphas) -> np.ndarray:
    q = np.array([math.fsum(p[i] for i in cover.cliques[k]) for k in cover.owner])
    root = np.sqrt(p * np.sqrt(q))
    return np.linalg.eigvalsh(tsallis_shannon_hessian(p, cover, np.asarray(alphas)) * np.outer(root, root))


def test_the_smallest_eigenvalue_is_that_of_the_whole_matrix_between_two_roots() -> None:
    rng = np.random.default_rng(0)
    cover, alphas = cover_of([3, 1, 4]), [3.0, 2.0, 2.5]
    for _ in range(20):
        p = rng.dirichlet(np.full(8, 0.7)) + 1e-4
        expected = scaled_eigenvalues(p, cover, alphas)[0]
        assert hessian.smallest_scaled_eigenvalue(p, cover, alphas) == pytest.approx(expected, rel=1e-7)
        check = hessian.sharp_hessian(p, cover, alphas, kappa=0.3)
        assert check.left == 0.3
        assert check.right == pytest.approx(expected, rel=1e-7)
        assert hessian.sharp_hessian(p, cover, alphas).left == 0.5
        assert hessian.smallest_scaled_eigenvalue(p, cover, 4.0) == pytest.approx(
            scaled_eigenvalues(p, cover, [4.0] * 3)[0], rel=1e-7
        )


def test_lemma_2_has_one_half_and_the_eigenvalue_with_the_papers_alpha() -> None:
    cover, p, gamma = cover_of([2, 2]), np.array([0.1, 0.2, 0.3, 0.4]), 0.2
    alpha = 2.0 * (1.0 + math.log(5.0) ** 2)
    check = hessian.lemma_2(p, cover, gamma)
    assert check.left == 0.5
    assert check.right == pytest.approx(scaled_eigenvalues(p, cover, [alpha, alpha])[0], rel=1e-9)


def test_lemma_2_accepts_its_floor_itself() -> None:
    p, cover = np.array([0.25, 0.75]), cover_of([2])
    assert hessian.smallest_conditional(p * 0.4, cover) == pytest.approx(0.25)
    assert hessian.lemma_2(p, cover, 0.25).holds
    with pytest.raises(InvalidParameter, match="at least gamma"):
        hessian.lemma_2(p, cover, 0.25 + 1e-9)
    for gamma in (0.0, math.nan):
        with pytest.raises(InvalidParameter, match="a floor above 0"):
            hessian.lemma_2(p, cover, gamma)


def test_the_smallest_conditional_looks_at_every_clique() -> None:
    p, cover = np.empty(5), cover_of([2, 3])
    p[cover.cliques[0]], p[cover.cliques[1]] = [0.1, 0.1], [0.1, 0.3, 0.4]
    assert hessian.smallest_conditional(p, cover) == pytest.approx(0.125)
    p[cover.cliques[0]] = [0.01, 0.19]
    assert hessian.smallest_conditional(p, cover) == pytest.approx(0.05)


def test_the_threshold_is_its_formula_also_with_an_empty_arm() -> None:
    y, kappa = np.array([0.7, 0.2, 0.1]), 0.25
    logs = np.log(y)
    entropy = -float(y @ logs)
    variance = float(y @ logs**2) - entropy**2
    by_hand = 1.0 + variance / 0.75 - entropy
    assert hessian.pointwise_threshold(y, kappa) == pytest.approx(by_hand)
    assert hessian.pointwise_threshold(np.append(y, 0.0), kappa) == pytest.approx(by_hand)
    at = hessian.smallest_scaled_eigenvalue(y, cover_of([3]), by_hand)
    assert at == pytest.approx(kappa)  # the threshold is where the smallest eigenvalue is kappa


def test_the_scaled_block_with_an_empty_arm_is_the_block_without_it_and_a_one() -> None:
    y = np.array([0.6, 0.0, 0.4])
    block = hessian.scaled_hessian(y, 3.0)
    np.testing.assert_allclose(block[np.ix_([0, 2], [0, 2])], hessian.scaled_hessian(y[[0, 2]], 3.0))
    np.testing.assert_allclose(block[1], [0.0, 1.0, 0.0])


def test_the_dual_norm_leaves_out_an_arm_without_mass_and_takes_one_alpha_for_all() -> None:
    cover, g = cover_of([3]), np.array([1.0, 5.0, -2.0])
    pair = cover_of([2])
    with_empty = hessian.dual_norm_squared(g, np.array([0.5, 0.0, 0.3]), cover, 3.0)
    without = hessian.dual_norm_squared(g[[0, 2]], np.array([0.5, 0.3]), pair, [3.0])
    assert float(with_empty) == pytest.approx(float(without))
    dense = g[[0, 2]] @ np.linalg.solve(shifted_shannon(3.0).hessian(np.array([0.5, 0.3])), g[[0, 2]])
    assert float(without) == pytest.approx(dense)


@pytest.mark.parametrize("perspective", [CUBE, shifted_shannon(1.0)])
def test_lemma_1s_condition_is_its_sum(perspective: TsallisPerspective) -> None:
    y, c, lam = np.array([0.5, 0.3, 0.2]), 0.7, 1.5
    h, first, second = perspective.h(y), perspective.first(y), perspective.second(y)
    by_hand = math.fsum(h[i] + 2.0 * (first[i] - c) ** 2 / second[i] for i in range(3)) + lam
    assert hessian.lemma_1_condition(perspective, y, c, lam) == pytest.approx(by_hand)


def test_lemma_1_speaks_where_its_condition_is_exactly_zero_and_not_beyond() -> None:
    y = np.array([0.5, 0.25, 0.25])
    room = -hessian.lemma_1_condition(CUBE, y, 0.4, 0.0)
    assert room > 1.0
    exact = next(lam for lam in (room, np.nextafter(room, 0.0)) if hessian.lemma_1_condition(CUBE, y, 0.4, lam) <= 0.0)
    check = hessian.lemma_1(CUBE, 2.0 * y, 0.4, float(exact))
    assert check.left == 0.0
    assert check.holds
    assert (check.scale, check.tolerance) == (1.0, 1e-12)
    with pytest.raises(InvalidParameter, match="condition of Lemma 1"):
        hessian.lemma_1(CUBE, 2.0 * y, 0.4, room + 1e-9)


def test_lemma_1_has_a_right_side_also_where_a_diagonal_entry_is_negative(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong Hessian must give a number that fails, not one that is not a number."""
    true = TsallisPerspective.hessian
    monkeypatch.setattr(TsallisPerspective, "hessian", lambda self, x: -true(self, x))
    check = hessian.lemma_1(CUBE, np.array([0.5, 0.3, 0.2]), 0.4, 1.2)
    assert -10.0 < check.right < -1.0
    assert not check.holds


@pytest.mark.parametrize("size", [0.4, 3.0])
def test_lemma_1s_right_side_is_a_generalised_eigenvalue(size: float) -> None:
    y, lam = np.array([0.5, 0.3, 0.2]), 1.2
    x = size * y
    one = np.ones(3)
    bound = lam / 4.0 * size**-1.5 * np.outer(one, one)
    for i in range(3):
        z = one - np.eye(3)[i] * size / x[i]
        bound += 0.5 * size**-3.5 * x[i] ** 2 * CUBE.second(y)[i] * np.outer(z, z)
    dense = CUBE.hessian(x)
    root = np.diag(np.diag(dense) ** -0.5)
    expected = np.linalg.eigvalsh(root @ (dense - bound) @ root)[0]
    assert hessian.lemma_1(CUBE, x, 0.4, lam).right == pytest.approx(float(expected), rel=1e-9)


def test_lemma_6_compares_the_formula_with_differences_of_values_alone() -> None:
    x = np.array([0.3, 0.9, 0.4])
    check = hessian.lemma_6(CUBE, x)
    assert check.right == pytest.approx(1e-5 * float(np.abs(CUBE.hessian(x)).max()), rel=1e-6)
    assert 0.0 < check.left < 1e-2 * check.right  # fourth-order differences miss little of a smooth function
    assert hessian.lemma_6(CUBE, x, step=0.2).left > 10.0 * check.left  # and more with a longer step


def test_lemma_6_takes_steps_that_suit_the_rarest_arm() -> None:
    assert hessian.lemma_6(shifted_shannon(1.0), np.array([0.002, 0.9])).holds


@pytest.mark.parametrize("which", ["h", "first", "second"])
def test_lemma_6_notices_each_of_the_three_sums(which: str) -> None:
    """A thousandth off in the value, the slope or the curvature that the formula is told."""
    parts = {"h": CUBE.h, "first": CUBE.first, "second": CUBE.second}
    wrong = dict(parts)
    wrong[which] = lambda y: 1.001 * parts[which](y)
    at = TsallisPerspective(wrong["h"], wrong["first"], wrong["second"])
    if which == "h":  # the differences see the wrong value too, so the other two must be the wrong ones
        at = TsallisPerspective(wrong["h"], CUBE.first, CUBE.second)
    check = hessian.lemma_6(at, np.array([0.3, 0.9, 0.4]))
    assert check.left > 5.0 * check.right


def test_second_differences_of_a_cubic_are_exact_off_and_on_the_diagonal() -> None:
    def cubic(x: np.ndarray) -> float:
        return float(x[0] ** 3 + 2.0 * x[0] * x[1] ** 2 + x[1])

    found = hessian.second_differences(cubic, np.array([0.5, 2.0]), 0.1)
    np.testing.assert_allclose(found, [[3.0, 8.0], [8.0, 2.0]], rtol=1e-9)


def test_the_figures_eigenvalue_by_hand_at_an_even_point() -> None:
    """At ``(s/2, s/2)`` the vectors (1, 1) and (1, -1) are the eigenvectors; the second has ``2/s^(3/2)``."""
    for total, alpha in ((1.0, 0.0), (0.25, 0.25), (4.0, 30.0)):
        along = (alpha + math.log(2.0)) / -4.0 * -1.0 * 2.0 * total**-1.5
        expected = min(along, 2.0 * total**-1.5)
        value = float(smallest_hessian_eigenvalue(total / 2.0, total / 2.0, alpha))
        assert value == pytest.approx(expected)
