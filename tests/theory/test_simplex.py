from __future__ import annotations

import numpy as np
import pytest

from allworlds.foundation.errors import InvalidParameter
from allworlds.theory.simplex import in_shrunk_simplex, sharp_comparator, shrunk_comparator


class Groups:
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
    u = sharp_comparator(Groups((4, 0), (1, 2), (3,)), best_arm=2, horizon=10)
    assert in_shrunk_simplex(u)
    assert u[2] == pytest.approx(1.0 - 2 / 30)
    assert u[[0, 4]].sum() == pytest.approx(1 / 30)
    assert u[3] == pytest.approx(1 / 30)
    assert np.count_nonzero(u) == 3
    assert u[1] == 0.0


def test_with_one_clique_the_sharp_comparator_is_the_best_arm() -> None:
    assert sharp_comparator(Groups((0, 1, 2)), best_arm=1, horizon=7).tolist() == [0.0, 1.0, 0.0]


def test_impossible_floors_arms_and_horizons_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="0 <= gamma <= 1/3"):
        shrunk_comparator(3, 0, 0.4)
    with pytest.raises(InvalidParameter, match=r"best_arm is .*; expected an integer from 0 to 2"):
        shrunk_comparator(3, 3, 0.1)
    with pytest.raises(InvalidParameter, match=r"best_arm is .*; expected an integer from 0 to 2"):
        shrunk_comparator(3, 1.0, 0.1)
    with pytest.raises(InvalidParameter, match="n_arms is 0; expected an integer of at least 1"):
        shrunk_comparator(0, 0, 0.0)


@pytest.mark.parametrize("horizon", [0, -3, 1.5, "a", True, None, float("nan")])
def test_a_comparator_needs_a_whole_number_of_rounds(horizon: object) -> None:
    with pytest.raises(InvalidParameter, match=r"horizon is .*; expected an integer of at least 1"):
        sharp_comparator(Groups((0,), (1,)), 0, horizon)
