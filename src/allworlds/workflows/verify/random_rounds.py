"""Rounds of Algorithm 1 from anywhere: random cumulative losses, solved to the last digit, never invented points."""

from __future__ import annotations

import math

import numpy as np

from allworlds.ftrl import Constants
from allworlds.graphs import CliqueCover, FeedbackGraph
from allworlds.theory import Round, round_state

LATEST = 5.0  # rounds go from 1 to 10^5, evenly in their logarithm


def cover_of(sizes: list[int]) -> CliqueCover:
    """Disjoint cliques of the given sizes, arms in shuffled order, the same for the same sizes.

    >>> cover_of([2, 1]).sizes.tolist()
    [2, 1]
    """
    order = np.random.default_rng(sum(sizes)).permutation(sum(sizes))
    ends = np.cumsum(sizes)
    groups = [sorted(order[end - size : end].tolist()) for size, end in zip(sizes, ends, strict=True)]
    return CliqueCover(FeedbackGraph.from_cliques(sum(sizes), groups), groups)


def random_round(rng: np.random.Generator, which: str = "sharp") -> Round:
    """One round with ``sharp`` or ``paper`` constants: few or many cliques, early or late, undecided or nearly sure.

    1 to 5 cliques of 1 to 39 arms, losses uniform or 0 and 1; usually the best arm is the leading one.

    >>> random_round(np.random.default_rng(0)).learning_rate <= 1.0
    True
    """
    n_cliques = int(rng.integers(1, 6))
    sizes = [int(size) for size in rng.integers(1, 7, n_cliques)]
    if rng.random() < 0.2:
        sizes[0] = int(rng.integers(10, 40))
    cover = cover_of(sizes)
    eta = 1.0 / math.sqrt(int(10.0 ** rng.uniform(0.0, LATEST)))
    reach = 1.0 if which == "sharp" else 30.0  # the paper's alpha is large: it takes large losses to move it
    cumulative = rng.random(cover.n_arms) * reach * 10.0 ** rng.uniform(-1.5, 1.3) / eta
    cumulative += rng.random(n_cliques)[cover.owner] * reach * 10.0 ** rng.uniform(-1.5, 1.3) / eta
    best_arm = int(cumulative.argmin()) if rng.random() < 0.8 else int(rng.integers(cover.n_arms))
    losses = rng.random(cover.n_arms)
    if rng.random() < 0.6:
        losses = (losses < rng.random()).astype(np.float64)
    if rng.random() < 0.3:
        losses[best_arm] = 1.0
    constants = Constants.sharp(cover) if which == "sharp" else Constants.paper(cover, 10**6)
    return round_state(cover, cumulative, losses, eta, constants, best_arm)
