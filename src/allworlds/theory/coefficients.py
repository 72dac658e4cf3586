"""The numbers of the sharp regret bound, each computed from the one before it.

``docs/sharp_constants.md`` derives them for ``beta = 9``. The bounds use the values rounded up to two
decimals, so that a reader can copy them.
"""

from __future__ import annotations

import math

from allworlds.theory.iterates import mass_ratio

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
