from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy.optimize import minimize

from allworlds.foundation.errors import InvalidConstants, InvalidParameter
from allworlds.ftrl.sharp import rebound, sharp_alpha, sharp_alphas, worst_conditional
from allworlds.theory.regulariser import shifted_shannon


def objective(y: np.ndarray, kappa: float) -> float:
    """``Var_y(log y)/(1 - kappa) - H(y)``, written from its definition."""
    logs = np.log(y)
    mean = float(y @ logs)
    return float(y @ (logs - mean) ** 2) / (1.0 - kappa) + mean


def smallest_relative_eigenvalue(y: np.ndarray, alpha: float) -> float:
    """The largest ``kappa`` with ``Hess >= kappa diag(1/(p_i sqrt(q)))`` at ``y``, from the dense Hessian."""
    root = np.sqrt(y)
    return float(np.linalg.eigvalsh(shifted_shannon(alpha).hessian(y) * np.outer(root, root))[0])


@pytest.mark.parametrize("size", range(2, 9))
@pytest.mark.parametrize("kappa", [0.0, 0.25, 0.5, 0.9])
def test_free_maximisation_over_the_simplex_finds_the_same_value(size: int, kappa: float) -> None:
    rng = np.random.default_rng(size)

    def negative(logits: np.ndarray) -> float:
        shifted = np.exp(logits - logits.max())
        return -objective(shifted / shifted.sum(), kappa)

    starts = [rng.normal(scale=2.0, size=size) for _ in range(6)]
    found = max(-minimize(negative, start, method="BFGS", options={"gtol": 1e-8}).fun for start in starts)
    assert 4.0 * kappa + found == pytest.approx(sharp_alpha(size, kappa), abs=1e-7)


def test_values_agree_with_the_table_of_the_documentation() -> None:
    table = {1: 2.0, 2: 2.628, 3: 3.116, 5: 3.879, 10: 5.209, 30: 8.102, 100: 12.495, 1000: 24.732}
    for size, value in table.items():
        assert sharp_alpha(size) == pytest.approx(value, abs=5e-4)
    assert sharp_alpha(2, kappa=0.0) == pytest.approx(0.2202, abs=5e-5)


@pytest.mark.parametrize("size", [2, 3, 17, 1000, 10**6, 10**9])
@pytest.mark.parametrize("kappa", [0.0, 0.5, 0.99])
def test_fifty_digits_give_the_same_value(size: int, kappa: float) -> None:
    with mpmath.workdps(50):
        m, c = mpmath.mpf(size - 1), 1 / (1 - mpmath.mpf(kappa))

        def value(g: mpmath.mpf) -> mpmath.mpf:
            heavy = mpmath.exp(g) / (mpmath.exp(g) + m)
            return c * heavy * (1 - heavy) * g**2 - mpmath.log(mpmath.exp(g) + m) + heavy * g

        low, high = mpmath.log(m), mpmath.log(m) + 10
        for _ in range(100):  # ternary search: only values, no derivative
            left, right = (2 * low + high) / 3, (low + 2 * high) / 3
            low, high = (left, high) if value(left) < value(right) else (low, right)
        expected = float(4 * mpmath.mpf(kappa) + value(low))
    assert sharp_alpha(size, kappa) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("size", [2, 3, 10, 1000, 10**6])
def test_one_heavy_arm_rises_to_its_maximum_and_falls_after_it(size: int) -> None:
    m = size - 1
    g = np.linspace(0.0, math.log(m) + 12.0, 4001)
    heavy = np.exp(g) / (np.exp(g) + m)
    f = 2.0 * heavy * (1.0 - heavy) * g**2 - np.log(np.exp(g) + m) + heavy * g
    top = int(f.argmax())
    assert 0 < top < len(g) - 1
    assert np.all(np.diff(f[: top + 1]) > 0.0)
    assert np.all(np.diff(f[top:]) < 0.0)
    assert sharp_alpha(size) - 2.0 == pytest.approx(f[top], abs=1e-4)


@pytest.mark.parametrize("kappa", [0.0, 0.3, 0.5, 0.8])
def test_the_hessian_bound_turns_at_the_pointwise_threshold(kappa: float) -> None:
    rng = np.random.default_rng(3)
    for _ in range(200):
        y = rng.dirichlet(np.full(int(rng.integers(2, 8)), rng.choice([0.3, 1.0, 5.0]))) + 1e-9
        y /= y.sum()
        threshold = 4.0 * kappa + objective(y, kappa)
        assert smallest_relative_eigenvalue(y, threshold + 1e-3) > kappa
        assert smallest_relative_eigenvalue(y, threshold - 1e-3) < kappa


@pytest.mark.parametrize("size", [1, 2, 5, 40])
@pytest.mark.parametrize("kappa", [0.25, 0.5])
def test_no_smaller_alpha_would_do_at_the_worst_conditional(size: int, kappa: float) -> None:
    y, alpha = worst_conditional(size, kappa), sharp_alpha(size, kappa)
    assert y.sum() == pytest.approx(1.0)
    assert smallest_relative_eigenvalue(y, alpha) == pytest.approx(kappa, abs=1e-9)
    assert smallest_relative_eigenvalue(y, alpha - 1e-4) < kappa - 1e-6


def test_the_bound_holds_everywhere_with_the_sharp_value() -> None:
    rng = np.random.default_rng(5)
    for _ in range(500):
        size = int(rng.integers(1, 12))
        y = rng.dirichlet(np.full(size, rng.choice([0.2, 1.0, 10.0]))) + 1e-12
        y /= y.sum()
        assert smallest_relative_eigenvalue(y, sharp_alpha(size)) >= 0.5 - 1e-9


def test_larger_cliques_and_larger_kappas_need_more() -> None:
    values = np.array([[sharp_alpha(size, kappa) for kappa in (0.0, 0.2, 0.5, 0.8)] for size in range(1, 60)])
    assert np.all(np.diff(values, axis=0) > 0.0)
    assert np.all(np.diff(values, axis=1) > 0.0)


def test_the_value_grows_like_the_square_of_the_logarithm() -> None:
    assert sharp_alpha(10**300) / (math.log(1e300) ** 2 / 2.0) == pytest.approx(1.0, abs=0.01)


def test_many_sizes_are_answered_one_by_one() -> None:
    sizes = np.array([3, 1, 3, 10])
    assert sharp_alphas(sizes, 0.25).tolist() == [sharp_alpha(int(size), 0.25) for size in sizes]
    assert sharp_alphas([]).shape == (0,)


@pytest.mark.parametrize("size", [0, -1, 2.0, 2.5, True, "3", None, float("nan")])
def test_a_size_that_is_no_positive_integer_is_refused(size: object) -> None:
    with pytest.raises(InvalidParameter, match="positive integer"):
        sharp_alpha(size)  # type: ignore[arg-type]


@pytest.mark.parametrize("kappa", [1.0, -0.1, float("nan"), "half", None])
def test_a_kappa_outside_its_range_is_refused(kappa: object) -> None:
    with pytest.raises(InvalidConstants, match="0 <= kappa < 1"):
        sharp_alpha(3, kappa)  # type: ignore[arg-type]


def test_sizes_must_be_a_list() -> None:
    with pytest.raises(InvalidParameter, match="one for each clique"):
        sharp_alphas(np.ones((2, 2), dtype=int))


@pytest.mark.parametrize("size", [2, 3, 10, 100])
def test_no_distribution_rebounds_more_than_rebound_says_and_one_does(size):
    def falls(y):
        entropy = -float(y @ np.log(y))
        return float(y @ np.maximum(0.0, -(1.0 + (np.log(y) + entropy) / 2.0)))

    rng = np.random.default_rng(size)
    for _ in range(2000):
        y = np.maximum(rng.dirichlet(np.full(size, 10.0 ** rng.uniform(-2.5, 1.0))), 1e-300)
        assert falls(y / y.sum()) <= rebound(size) + 1e-12
    light = np.linspace(0.001, 0.499, 5000)
    best = max(falls(np.r_[1.0 - m, np.full(size - 1, m / (size - 1))]) for m in light)
    assert best == pytest.approx(rebound(size), rel=1e-5)


def test_a_single_arm_never_rebounds():
    assert rebound(1) == 0.0
