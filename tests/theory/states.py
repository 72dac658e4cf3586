"""Real states of Algorithm 1 for the lemmas: random losses, solved to the last digit, never invented."""

from __future__ import annotations

import math

import numpy as np

from allworlds.ftrl.constants import Constants
from allworlds.graphs import CliqueCover, FeedbackGraph
from allworlds.theory import Round, round_state


def cover_of(sizes: list[int]) -> CliqueCover:
    """Disjoint cliques of the given sizes, arms in shuffled order."""
    order = np.random.default_rng(sum(sizes)).permutation(sum(sizes))
    ends = np.cumsum(sizes)
    groups = [sorted(order[end - size : end].tolist()) for size, end in zip(sizes, ends, strict=True)]
    return CliqueCover(FeedbackGraph.from_cliques(sum(sizes), groups), groups)


def random_round(rng: np.random.Generator, setting: str = "sharp") -> Round:
    """One round from anywhere: few or many cliques, early or late, undecided or nearly sure."""
    n_cliques = int(rng.integers(1, 6))
    sizes = [int(size) for size in rng.integers(1, 7, n_cliques)]
    if rng.random() < 0.2:
        sizes[0] = int(rng.integers(10, 40))
    cover = cover_of(sizes)
    round_number = int(10.0 ** rng.uniform(math.log10(4.0), 5.0)) + 1
    eta = 1.0 / math.sqrt(round_number)
    spread = 10.0 ** rng.uniform(-1.5, 1.3) / eta
    cumulative = rng.random(cover.n_arms) * spread
    cumulative += rng.random(n_cliques)[cover.owner] * 10.0 ** rng.uniform(-1.5, 1.3) / eta
    best_arm = int(cumulative.argmin()) if rng.random() < 0.8 else int(rng.integers(cover.n_arms))
    losses = rng.random(cover.n_arms)
    if rng.random() < 0.6:
        losses = (losses < rng.random()).astype(np.float64)
    if rng.random() < 0.3:
        losses[best_arm] = 1.0
    constants = Constants.sharp(cover) if setting == "sharp" else Constants.paper(cover, 10**6)
    return round_state(cover, cumulative, losses, eta, constants, best_arm)
