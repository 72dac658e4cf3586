"""The numbers of the sharp regret bound, each computed from the one before it.

``docs/sharp_constants.md`` derives them for ``beta = 9``. The bounds use the values rounded up to two
decimals, so that a reader can copy them.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from allworlds.ftrl.sharp import sharp_alphas
from allworlds.theory.iterates import mass_ratio

Array = NDArray[np.float64]

BETA = 9.0
RHO = mass_ratio(BETA)  # 1.8918: how much a clique's mass can grow in a half step, step 1
HUMP = math.sqrt(27.0) / 16.0  # 0.3248: the largest value of sqrt(q) (1 - q)^(3/2), at q = 1/4

# Step 4, the half-step lemma: sqrt(max(x, x+)) <= STEP_X sqrt(x) + (STEP_S + STEP_LOG sqrt(log d*)) s
SHRINKAGE = 2.0 * (RHO - 1.0) / (1.0 + math.sqrt(2.0 - RHO))  # 1.3421: 1 - tau <= SHRINKAGE (1 - q*)
STEP_X = 2.0 * math.e  # 5.4366
STEP_S = math.e * math.sqrt(SHRINKAGE)  # 3.1492
STEP_LOG = math.sqrt(SHRINKAGE)  # 1.1585

# Step 4, summed: stability_t <= eta_t [ (STABILITY_S + STABILITY_LOG sqrt(log d*)) s + STABILITY_X sqrt(x) ]
STABILITY_S = 10.91  # RHO^1.5 (5/4 + 2 HUMP) + RHO STEP_S = 10.9002
STABILITY_LOG = 2.20  # RHO STEP_LOG = 2.1917
STABILITY_X = 10.29  # RHO STEP_X = 10.2849
ADVERSARIAL = 5.21  # 2 RHO^1.5 = 5.2041, step 6
FREE_ROUNDS = 3  # rounds 1, 2, 3 cost at most 1 each: the half-step lemma needs eta <= 1/2


def reach(sizes: NDArray[np.intp]) -> float:
    """``sqrt(sum_k (alpha_k + log d_k)^2)``: how far the entropy can go in one round, step 6."""
    return float(np.linalg.norm(sharp_alphas(sizes) + np.log(sizes)))


def weights(sizes: NDArray[np.intp], best_clique: int) -> Array:
    """``B_k`` of Theorem B: what a root of the clique's mass costs, and of ``x`` for the best clique, shape (K,).

    >>> weights(np.array([1, 1]), best_clique=0).round(2).tolist()
    [11.29, 12.91]
    """
    log_best = math.log(sizes[best_clique])
    costs: Array = sharp_alphas(sizes) + np.log(sizes) + STABILITY_S + STABILITY_LOG * math.sqrt(log_best)
    costs[best_clique] = 1.0 + log_best + STABILITY_X
    return costs


def difficulty(sizes: NDArray[np.intp], clique_gaps: Array, best_clique: int, horizon: int) -> float:
    """``W = (1 + log T) sum_k B_k^2 / Delta_k`` over the gaps above 0, Theorem B (iii)."""
    used = clique_gaps > 0.0
    spread = weights(sizes, best_clique)[used] ** 2 / clique_gaps[used]
    return (1.0 + math.log(horizon)) * float(spread.sum())
