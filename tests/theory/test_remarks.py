"""What the paper says in passing, against differences, closed forms and brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest

from allworlds.foundation.errors import InvalidParameter
from allworlds.ftrl.constants import Constants
from allworlds.theory import remarks, theorem_1_bound
from allworlds.theory.regulariser import TsallisPerspective, shifted_shannon
from theory import by_definition as own
from theory.states import cover_of

SQUARE = TsallisPerspective(lambda y: y**2, lambda y: 2.0 * y, lambda y: np.full_like(y, 2.0))


def second_differences(value, x: np.ndarray, step: float = 1e-4) -> np.ndarray:
    d, unit = len(x), np.eye(len(x)) * step
    return np.array(
        [
            [
                (
                    value(x + unit[i] + unit[j])
                    - value(x + unit[i] - unit[j])
                    - value(x - unit[i] + unit[j])
                    + value(x - unit[i] - unit[j])
                )
                / (4.0 * step**2)
                for j in range(d)
            ]
            for i in range(d)
        ]
    )


@pytest.mark.parametrize("weight", [1.0, 0.3, 40.0])
def test_the_sum_of_entropies_allows_no_more_than_the_root_of_a_mass(weight: float) -> None:
    rng = np.random.default_rng(0)
    cover = cover_of([3, 1, 2])
    for _ in range(10):
        p = rng.dirichlet(np.ones(6)) * 0.9 + 0.1 / 6

        def value(x: np.ndarray) -> float:
            tsallis = math.fsum(math.sqrt(own.mass(x, clique)) for clique in cover.cliques)
            return math.fsum(v * math.log(v) for v in x) - weight * tsallis

        root = np.sqrt(p * np.sqrt([own.mass(p, cover.cliques[k]) for k in cover.owner]))
        scaled = second_differences(value, p) * np.outer(root, root)
        check = remarks.sum_of_entropies(p, cover, weight)
        assert check.left == pytest.approx(float(np.linalg.eigvalsh(scaled)[0]), abs=1e-4)
        assert check.right == pytest.approx(
            min(math.sqrt(own.mass(p, clique)) for clique in cover.cliques if len(clique) > 1)
        )
        assert check.holds


def test_the_sum_of_entropies_has_no_bound_at_all_because_the_mass_can_be_small() -> None:
    cover = cover_of([2, 1])
    lowest = []
    for small in (1e-2, 1e-4, 1e-8):
        p = np.empty(3)
        p[cover.cliques[0]], p[cover.cliques[1]] = small / 2.0, 1.0 - small
        lowest.append(remarks.sum_of_entropies(p, cover).left)
    assert lowest == pytest.approx([0.1, 0.01, 1e-4])
    assert remarks.sum_of_entropies(np.array([1e-8 / 2, 1e-8 / 2]), cover_of([2]), weight=1e6).left < 1e-3


def test_a_single_arm_with_a_large_mass_and_no_pair_is_not_what_the_remark_is_about() -> None:
    with pytest.raises(InvalidParameter, match="two arms or more"):
        remarks.sum_of_entropies(np.array([0.5, 0.5]), cover_of([1, 1]))


@pytest.mark.parametrize("perspective", [SQUARE, shifted_shannon(0.0), shifted_shannon(3.0)])
def test_the_classical_perspective_is_convex_and_flat_along_the_ray(perspective: TsallisPerspective) -> None:
    rng = np.random.default_rng(1)
    for _ in range(10):
        x = rng.random(4) + 0.2

        def value(at: np.ndarray) -> float:
            return float(at.sum() * perspective.h(at / at.sum()).sum())

        hessian = remarks.classical_perspective_hessian(perspective, x)
        np.testing.assert_allclose(hessian, second_differences(value, x), atol=1e-5)
        np.testing.assert_allclose(hessian @ x, 0.0, atol=1e-12)
        check = remarks.classical_perspective(perspective, x)
        assert check.left == 0.0
        assert check.right == pytest.approx(0.0, abs=1e-12)
        assert check.scale == pytest.approx(np.abs(np.linalg.eigvalsh(hessian)).max())
        assert check.tolerance <= 1e-9
        assert check.holds


def test_the_classical_perspective_of_a_concave_function_is_noticed() -> None:
    concave = TsallisPerspective(lambda y: -(y**2), lambda y: -2.0 * y, lambda y: np.full_like(y, -2.0))
    check = remarks.classical_perspective(concave, np.array([0.3, 0.5, 0.7]))
    assert check.right < -0.1
    assert not check.holds


def test_the_entropys_magnitude_is_its_definition_and_its_bound_is_attained() -> None:
    rng = np.random.default_rng(2)
    cover, alphas = cover_of([3, 1, 2]), [2.0, 0.5, 4.0]
    reach = [alpha + math.log(len(clique)) for alpha, clique in zip(alphas, cover.cliques, strict=True)]
    for _ in range(30):
        p = rng.dirichlet(np.full(6, 0.4))
        check = remarks.entropy_magnitude(p, cover, alphas)
        assert check.left == pytest.approx(-own.psi(p, cover, alphas))
        assert check.right == pytest.approx(math.hypot(*reach))
        assert check.holds
        assert check.left >= min(alphas)
    largest = np.empty(6)
    for clique, part in zip(cover.cliques, reach, strict=True):
        largest[clique] = part**2 / math.hypot(*reach) ** 2 / len(clique)
    assert remarks.entropy_magnitude(largest, cover, alphas).ratio == pytest.approx(1.0)
    assert remarks.entropy_magnitude(largest, cover, 3.0).right == pytest.approx(
        math.hypot(*[3.0 + math.log(len(clique)) for clique in cover.cliques])
    )


@pytest.mark.parametrize(("n_arms", "horizon"), [(1, 5), (2, 1), (7, 40), (500, 10**5)])
def test_a_barrier_on_arms_costs_what_its_two_ends_differ_by(n_arms: int, horizon: int) -> None:
    gamma = 1.0 / (n_arms * horizon)
    target = np.full(n_arms, gamma)
    target[0] = 1.0 - (n_arms - 1) * gamma
    check = remarks.arm_barrier(n_arms, horizon)
    assert check.right == pytest.approx(-9.0 * float(np.log(target).sum()) - 9.0 * n_arms * math.log(n_arms), abs=1e-9)
    assert check.left == pytest.approx(9.0 * ((n_arms - 1) * math.log(horizon) - math.log(n_arms)), abs=1e-9)
    assert check.scale == 9.0 * n_arms
    assert check.holds


def test_a_barrier_on_arms_costs_more_than_one_on_cliques_by_the_size_of_a_clique() -> None:
    """A hundred arms in ten cliques: about eleven times as much."""
    on_arms, on_cliques = remarks.arm_barrier(100, 10**6).right, 9.0 * 9 * math.log(10**6)
    assert 10.0 < on_arms / on_cliques < 11.0


def test_the_informal_rate_is_its_formula_and_so_are_its_two_special_cases() -> None:
    gaps = [0.0, 0.5, 0.25]
    assert remarks.informal_rate(3, 10**6, gaps, 100.0) == pytest.approx(6.0 + math.sqrt(600.0))
    assert remarks.informal_rate(3, 10**6, gaps) == pytest.approx(6.0)
    assert remarks.informal_rate(3, 10**6, gaps, 1e6) == pytest.approx(math.sqrt(3e6))
    assert remarks.informal_rate(3, 10, gaps, 10.0) == pytest.approx(math.sqrt(30.0))


def test_theorem_1_is_the_informal_theorem_up_to_five_logarithms() -> None:
    rng = np.random.default_rng(3)
    for _ in range(100):
        cliques, horizon = int(rng.integers(1, 20)), int(10.0 ** rng.uniform(1, 7))
        arms, gaps = cliques * int(rng.integers(1, 9)), rng.uniform(0.01, 1.0, cliques)
        corruption = float(horizon * rng.random() ** 4)
        check = remarks.informal_theorem(arms, cliques, horizon, gaps, corruption)
        assert check.left == theorem_1_bound(arms, cliques, horizon, gaps, corruption).value
        rate = min(math.sqrt(cliques * horizon), (1 / gaps).sum() + math.sqrt(corruption * (1 / gaps).sum()))
        assert check.right == pytest.approx(184.0 * math.log(arms * horizon) ** 5 * rate)
        if arms * horizon >= 3:
            assert check.holds


def test_the_papers_alpha_alone_is_more_than_the_magnitude_that_the_paper_states() -> None:
    """Slip 8: with ``alpha = 2 (log^2(NT) + 1)`` the regulariser is nowhere as small as ``sqrt(K) log N``."""
    cover = cover_of([10] * 10)
    constants = Constants.paper(cover, 10**6)
    rng = np.random.default_rng(4)
    stated = math.sqrt(10.0) * math.log(100.0)
    for _ in range(20):
        size = remarks.entropy_magnitude(rng.dirichlet(np.full(100, 0.1)), cover, constants.alpha).left
        assert size > 2.0 * math.log(10**8) ** 2 > 40.0 * stated
