"""Rounds of the learner from anywhere: random cumulative losses, solved to the last digit, never invented points."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from allworlds.covers import CliqueCover
from allworlds.ftrl import Constants
from allworlds.graphs import FeedbackGraph
from allworlds.theory import Round, round_state
from allworlds.theory.practical_coefficients import numbers_of
from allworlds.theory.practical_rounds import PracticalRound

Array = NDArray[np.float64]

LATEST = 5.0  # rounds go from 1 to 10^5, evenly in their logarithm


def constants_of(which: str, cover: CliqueCover, horizon: int) -> Constants:
    """The ``paper``, the ``sharp`` or the ``practical`` constants."""
    if which == "paper":
        return Constants.paper(cover, horizon)
    return Constants.sharp(cover) if which == "sharp" else Constants.practical(cover)


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
    cumulative = _cumulative(rng, cover, reach / eta)
    best_arm, losses = _losses(rng, cumulative)
    return round_state(cover, cumulative, losses, eta, constants_of(which, cover, 10**6), best_arm)


def random_practical_round(rng: np.random.Generator) -> PracticalRound:
    """One round with the default constants: early or late, any baseline, undecided or nearly sure.

    2 to 5 cliques of 1 to 30 arms. Sometimes one of them has almost no mass, or is so far behind that its estimates
    are held back.

    >>> bool(0.0 <= random_practical_round(np.random.default_rng(0)).baseline <= 0.75)
    True
    """
    sizes = [int(size) for size in rng.integers(1, 7, int(rng.integers(2, 6)))]
    if rng.random() < 0.3:
        sizes[int(rng.integers(len(sizes)))] = int(rng.integers(8, 31))
    cover = cover_of(sizes)
    constants = Constants.practical(cover)
    early = numbers_of(cover.sizes).last_early_round
    t = early + int(10.0 ** rng.uniform(0.0, LATEST)) if rng.random() < 0.6 else int(rng.integers(1, early + 1))
    highest = constants.baseline_share * float(rng.choice([0.0, 1.0, rng.random()]))
    baseline = highest * float(rng.choice([0.0, 1.0, rng.random()]))
    cumulative = _cumulative(rng, cover, 1.0 / constants.learning_rate(t))
    far = rng.random()
    if far < 0.15:
        cumulative[cover.owner == 0] += 10.0 ** rng.uniform(3.0, 8.0)
    elif far < 0.4:
        cumulative[cover.owner == 0] += constants.deficit_limit * (t + constants.head_start) * rng.uniform(0.2, 1.0)
    best_arm, losses = _losses(rng, cumulative)
    if rng.random() < 0.2:
        losses[:] = float(rng.integers(2))
    return PracticalRound(cover, constants, t, baseline, highest, cumulative, losses, best_arm)


def _cumulative(rng: np.random.Generator, cover: CliqueCover, scale: float) -> Array:
    """Cumulative losses that differ inside the cliques and between them, by little or by much."""
    cumulative: Array = rng.random(cover.n_arms) * scale * 10.0 ** rng.uniform(-1.5, 1.3)
    cumulative += rng.random(cover.n_cliques)[cover.owner] * scale * 10.0 ** rng.uniform(-1.5, 1.3)
    return cumulative


def _losses(rng: np.random.Generator, cumulative: Array) -> tuple[int, Array]:
    """The best arm, and the losses of the round."""
    best_arm = int(cumulative.argmin()) if rng.random() < 0.8 else int(rng.integers(cumulative.size))
    losses = rng.random(cumulative.size)
    if rng.random() < 0.6:
        losses = (losses < rng.random()).astype(np.float64)
    if rng.random() < 0.3:
        losses[best_arm] = 1.0
    return best_arm, losses
