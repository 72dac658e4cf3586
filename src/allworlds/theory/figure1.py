"""Figure 1 of the paper: where the Tsallis-perspective of the Shannon entropy is not convex.

In two dimensions the Hessian is a symmetric 2 x 2 matrix and its smaller eigenvalue has a closed form.
With ``alpha = 0`` it is negative near the axes; with ``alpha = 0.25`` it is positive everywhere, as it is
for every alpha above ``sharp_alpha(2, kappa=0) = 0.2202``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def smallest_hessian_eigenvalue(x1: ArrayLike, x2: ArrayLike, alpha: float) -> NDArray[np.float64]:
    """The smaller eigenvalue of the Hessian of one clique's entropy at ``(x1, x2)``, of their common shape.

    >>> values = smallest_hessian_eigenvalue(np.array([0.5, 0.05]), np.array([0.5, 0.95]), alpha=0.0)
    >>> (values > 0).tolist()
    [True, False]

    [EK21, Figure 1]
    """
    x1, x2 = np.asarray(x1, dtype=np.float64), np.asarray(x2, dtype=np.float64)
    total = x1 + x2
    y1, y2 = x1 / total, x2 / total
    log1, log2 = np.log(y1), np.log(y2)
    entropy = -y1 * log1 - y2 * log2
    common = (alpha - 3.0 * entropy) / 4.0 - 1.0
    a, c = 1.0 / y1 + common - log1, 1.0 / y2 + common - log2
    b = common - (log1 + log2) / 2.0
    larger = (a + c) / 2.0 + np.hypot((a - c) / 2.0, b)
    smaller: NDArray[np.float64] = (a * c - b * b) / larger * total**-1.5  # no cancellation when a >> c
    return smaller
