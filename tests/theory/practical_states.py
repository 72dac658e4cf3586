"""Rounds of the learner with its default constants: random, from undecided to nearly sure, early and late."""

from __future__ import annotations

import numpy as np

from allworlds.ftrl.constants import Constants
from allworlds.theory.practical_coefficients import numbers_of
from allworlds.theory.rounds import PracticalRound
from theory.states import cover_of


def practical_state(rng: np.random.Generator, *, late: bool | None = None) -> PracticalRound:
    """2 to 5 cliques of 1 to 30 arms; masses down to 1e-8; losses 0 and 1 or uniform; limits that act."""
    sizes = [int(size) for size in rng.integers(1, 7, int(rng.integers(2, 6)))]
    if rng.random() < 0.3:
        sizes[int(rng.integers(len(sizes)))] = int(rng.integers(8, 31))
    cover = cover_of(sizes)
    constants = Constants.practical(cover)
    t0 = numbers_of(cover.sizes).last_early_round
    is_late = rng.random() < 0.6 if late is None else late
    t = t0 + int(10.0 ** rng.uniform(0.0, 5.0)) if is_late else int(rng.integers(1, t0 + 1))
    s = t + constants.head_start
    highest = constants.baseline_share * float(rng.choice([0.0, 1.0, rng.random()]))
    baseline = highest * float(rng.choice([0.0, 1.0, rng.random()]))
    within = 10.0 ** rng.uniform(-1.5, 1.3) * np.sqrt(s) / 4.0
    between = 10.0 ** rng.uniform(-1.5, 1.3) * np.sqrt(s) / 4.0
    cumulative = rng.random(cover.n_arms) * within
    cumulative += (rng.random(cover.n_cliques) * between)[cover.owner]
    far = rng.random()
    if far < 0.15:  # one clique with almost no mass
        cumulative[cover.owner == 0] += 10.0 ** rng.uniform(3.0, 8.0)
    elif far < 0.4:  # near the limit that holds estimates back
        cumulative[cover.owner == 0] += s * rng.uniform(0.02, 0.1)
    best_arm = int(cumulative.argmin()) if rng.random() < 0.8 else int(rng.integers(cover.n_arms))
    losses = rng.random(cover.n_arms)
    if rng.random() < 0.6:
        losses = (losses < rng.random()).astype(np.float64)
    if rng.random() < 0.3:
        losses[best_arm] = 1.0
    if rng.random() < 0.2:
        losses[:] = float(rng.integers(2))
    return PracticalRound(cover, constants, t, baseline, highest, cumulative, losses, best_arm)
