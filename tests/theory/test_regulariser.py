from __future__ import annotations

from collections.abc import Callable

import mpmath
import numpy as np
import pytest

from allworlds.foundation.errors import InvalidParameter
from allworlds.theory.regulariser import (
    TsallisPerspective,
    in_shrunk_simplex,
    log_barrier,
    log_barrier_gradient,
    log_barrier_hessian,
    sharp_comparator,
    shifted_shannon,
    shrunk_comparator,
    tsallis_shannon,
    tsallis_shannon_expanded,
    tsallis_shannon_gradient,
    tsallis_shannon_hessian,
)


class Groups:
    cliques = ((0, 3), (1, 2, 5), (4,))


COVER = Groups()
POINT = np.array([0.1, 0.02, 0.3, 0.25, 0.2, 0.13])
ALPHAS = np.array([2.7, 3.2, 2.0])


def entropy_in_many_digits(*p: mpmath.mpf) -> mpmath.mpf:
    """Equation (3) in mpmath, one alpha for each clique."""
    total = mpmath.mpf(0)
    for clique, alpha in zip(COVER.cliques, ALPHAS, strict=True):
        q = sum(p[i] for i in clique)
        total -= mpmath.mpf(float(alpha)) * mpmath.sqrt(q)
        total += sum(p[i] * mpmath.log(p[i] / q) for i in clique) / mpmath.sqrt(q)
    return total


def barrier_in_many_digits(*p: mpmath.mpf) -> mpmath.mpf:
    return -9 * sum(mpmath.log(sum(p[i] for i in clique)) for clique in COVER.cliques)


def derivatives(f: Callable[..., mpmath.mpf], at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gradient and Hessian by mpmath's differentiation in fifty digits."""
    n = len(at)
    with mpmath.workdps(50):
        point = tuple(mpmath.mpf(float(value)) for value in at)
        unit = np.eye(n, dtype=int)
        gradient = [float(mpmath.diff(f, point, tuple(unit[i].tolist()))) for i in range(n)]
        hessian = [
            [float(mpmath.diff(f, point, tuple((unit[i] + unit[j]).tolist()))) for j in range(n)] for i in range(n)
        ]
    return np.array(gradient), np.array(hessian)


def test_the_entropys_derivatives_are_those_of_fifty_digits() -> None:
    gradient, hessian = derivatives(entropy_in_many_digits, POINT)
    np.testing.assert_allclose(tsallis_shannon_gradient(POINT, COVER, ALPHAS), gradient, rtol=1e-12)
    np.testing.assert_allclose(tsallis_shannon_hessian(POINT, COVER, ALPHAS), hessian, rtol=1e-11, atol=1e-12)


def test_the_barriers_derivatives_are_those_of_fifty_digits() -> None:
    gradient, hessian = derivatives(barrier_in_many_digits, POINT)
    np.testing.assert_allclose(log_barrier_gradient(POINT, COVER, 9.0), gradient, rtol=1e-12)
    np.testing.assert_allclose(log_barrier_hessian(POINT, COVER, 9.0), hessian, rtol=1e-11, atol=1e-12)
    with mpmath.workdps(50):
        assert log_barrier(POINT, COVER, 9.0) == pytest.approx(float(barrier_in_many_digits(*POINT)), rel=1e-14)


def test_a_perspective_of_any_function_has_the_derivatives_of_fifty_digits() -> None:
    cube = TsallisPerspective(h=lambda y: y**3 - y, first=lambda y: 3 * y**2 - 1, second=lambda y: 6 * y)

    def value(*x: mpmath.mpf) -> mpmath.mpf:
        total = sum(x)
        return mpmath.sqrt(total) * sum((v / total) ** 3 - v / total for v in x)

    x = np.array([0.3, 1.1, 0.05, 2.0])
    gradient, hessian = derivatives(value, x)
    assert cube.value(x) == pytest.approx(float(value(*x)), rel=1e-14)
    np.testing.assert_allclose(cube.gradient(x), gradient, rtol=1e-11)
    np.testing.assert_allclose(cube.hessian(x), hessian, rtol=1e-10, atol=1e-13)


def test_equation_2_equals_equation_3_also_with_empty_arms_and_cliques() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        p = rng.dirichlet(np.full(6, 0.4))
        p[rng.random(6) < 0.2] = 0.0
        expanded = tsallis_shannon_expanded(p, COVER, ALPHAS)
        assert tsallis_shannon(p, COVER, ALPHAS) == pytest.approx(expanded, rel=1e-13, abs=1e-13)


def test_the_expanded_form_is_equation_3_of_fifty_digits() -> None:
    with mpmath.workdps(50):
        expected = float(entropy_in_many_digits(*(mpmath.mpf(float(value)) for value in POINT)))
    assert tsallis_shannon_expanded(POINT, COVER, ALPHAS) == pytest.approx(expected, rel=1e-14)


def test_single_arms_give_the_tsallis_entropy_and_one_clique_gives_shannons() -> None:
    class Singles:
        cliques = tuple((i,) for i in range(6))

    class Whole:
        cliques = (tuple(range(6)),)

    assert tsallis_shannon(POINT, Singles(), 2.0) == pytest.approx(-2.0 * np.sqrt(POINT).sum())
    assert tsallis_shannon(POINT, Whole(), 0.0) == pytest.approx(float(POINT @ np.log(POINT)))


def test_arms_of_different_cliques_do_not_interact() -> None:
    hessian = tsallis_shannon_hessian(POINT, COVER, 3.0)
    for clique in COVER.cliques:
        outside = [i for i in range(6) if i not in clique]
        assert not hessian[np.ix_(clique, outside)].any()
        assert hessian[np.ix_(clique, clique)].all()


def test_one_alpha_for_all_is_the_same_alpha_for_each() -> None:
    assert tsallis_shannon(POINT, COVER, 3.0) == tsallis_shannon(POINT, COVER, [3.0, 3.0, 3.0])
    assert shifted_shannon(3.0).value(POINT[[4]]) == pytest.approx(-3.0 * np.sqrt(0.2))


def test_too_many_alphas_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="one for each of the 3 cliques"):
        tsallis_shannon(POINT, COVER, [1.0, 2.0])


class Cliques:
    def __init__(self, *cliques: tuple[int, ...]) -> None:
        self.cliques = cliques


def test_a_distribution_above_the_floor_is_inside() -> None:
    assert in_shrunk_simplex(np.array([0.2, 0.3, 0.5]), gamma=0.2)


@pytest.mark.parametrize(
    "p", [[0.2, 0.3, 0.4], [0.1, 0.4, 0.5], [0.3, 0.3, 0.5], [-0.1, 0.6, 0.5], [float("nan"), 0.5, 0.5]]
)
def test_what_misses_the_sum_or_the_floor_is_outside(p: list[float]) -> None:
    assert not in_shrunk_simplex(np.array(p), gamma=0.2)


def test_the_tolerance_is_the_callers() -> None:
    p = np.array([0.5, 0.5 + 1e-6])
    assert not in_shrunk_simplex(p)
    assert in_shrunk_simplex(p, tolerance=1e-5)


@pytest.mark.parametrize("gamma", [0.0, 0.01, 0.2])
def test_the_shrunk_comparator_lies_in_the_shrunk_simplex_and_favours_the_best_arm(gamma: float) -> None:
    p = shrunk_comparator(5, best_arm=3, gamma=gamma)
    assert in_shrunk_simplex(p, gamma)
    assert np.delete(p, 3).tolist() == [gamma] * 4
    assert p[3] == pytest.approx(1.0 - 4 * gamma)


def test_the_sharp_comparator_gives_each_other_clique_its_share_on_one_arm() -> None:
    u = sharp_comparator(Cliques((4, 0), (1, 2), (3,)), best_arm=2, horizon=10)
    assert in_shrunk_simplex(u)
    assert u[2] == pytest.approx(1.0 - 2 / 30)
    assert u[[0, 4]].sum() == pytest.approx(1 / 30)
    assert u[3] == pytest.approx(1 / 30)
    assert np.count_nonzero(u) == 3
    assert u[1] == 0.0


def test_with_one_clique_the_sharp_comparator_is_the_best_arm() -> None:
    assert sharp_comparator(Cliques((0, 1, 2)), best_arm=1, horizon=7).tolist() == [0.0, 1.0, 0.0]


def test_impossible_floors_arms_and_horizons_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="0 <= gamma <= 1/3"):
        shrunk_comparator(3, 0, 0.4)
    with pytest.raises(InvalidParameter, match="an integer from 0 to 2"):
        shrunk_comparator(3, 3, 0.1)
    with pytest.raises(InvalidParameter, match="an integer from 0 to 2"):
        shrunk_comparator(3, 1.0, 0.1)
    with pytest.raises(InvalidParameter, match="n_arms is 0; expected an integer of at least 1"):
        shrunk_comparator(0, 0, 0.0)


@pytest.mark.parametrize("horizon", [0, -3, 1.5, "a", True, None, float("nan")])
def test_a_comparator_needs_a_whole_number_of_rounds(horizon: object) -> None:
    with pytest.raises(InvalidParameter, match=r"horizon is .*; expected an integer of at least 1"):
        sharp_comparator(Cliques((0,), (1,)), 0, horizon)
