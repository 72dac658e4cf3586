from __future__ import annotations

import numpy as np
import pytest

from allworlds.ftrl.sharp import sharp_alpha, worst_conditional
from allworlds.theory import smallest_hessian_eigenvalue
from allworlds.theory.regulariser import shifted_shannon


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
