"""The compiled face of a world: one type for all of them, so that a loop is compiled once a learner.

A world is a pure function of (seed, round, arm): every learner meets the same losses, only those that are looked at
are ever computed, and a run can start anywhere. What a world is made of fits in a kind and a few arrays.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.kernels.jit import jit
from allworlds.kernels.random import STREAM_WORLD, beta, normal, uniform_pair

STATIONARY, ALTERNATING, SWITCHING, DRIFTING, RANDOM, TABLE = range(6)
"""Kinds: where the mean of a loss comes from."""
BERNOULLI, BETA, DETERMINISTIC, GAUSSIAN = range(4)
"""Noises: how a loss is drawn around its mean."""
NO_ATTACK, FLIP, BEST_WORST, DECOY_BEST = range(4)
"""Attacks: what is done to the losses of an attacked round."""


class Nature(NamedTuple):
    """A world in numbers."""

    kind: int
    noise: int
    centres: NDArray[np.float64]
    """(N,) what the noise is drawn around; one number where all arms but the best are alike."""
    means: NDArray[np.float64]
    """(N,) the mean that comes out; the same as ``centres`` but for clipped noise."""
    levels: NDArray[np.float64]
    """Up to four parameters of the kind, then the noise's width."""
    turns: NDArray[np.int64]
    """First round of each phase, beginning with 1."""
    leaders: NDArray[np.int64]
    """Best arm of each phase."""
    table: NDArray[np.float64]
    """(T, N) recorded losses."""
    best: int
    """The arm with the lowest clean mean."""
    candidates: NDArray[np.int64]
    """Arms among which the best fixed arm in hindsight is, whatever the horizon."""
    attack: int
    decoy: int
    until: int
    """Last attacked round."""
    every: int
    """An attack strikes each ``every``-th round, or in every second stretch of ``-every`` rounds."""


# --- kernels --------------------------------------------------------------------------------------------


@jit
def phase_of(nature: Nature, round: int) -> int:
    """Which phase a round is in, from 0."""
    low, high = 0, nature.turns.size
    while high - low > 1:
        middle = (low + high) // 2
        if nature.turns[middle] <= round:
            low = middle
        else:
            high = middle
    return low


@jit
def is_attacked(nature: Nature, round: int) -> bool:
    """Whether the losses of this round are tampered with."""
    if nature.attack == NO_ATTACK or round > nature.until:
        return False
    if nature.every > 0:
        return round % nature.every == 0
    return (round // -nature.every) % 2 == 0


@jit
def clean_mean(nature: Nature, seed: int, round: int, arm: int) -> float:
    """The mean of an untampered loss."""
    if nature.kind == STATIONARY:
        return float(nature.means[arm])
    if nature.kind == TABLE:
        return float(nature.table[round - 1, arm])
    return _moving_mean(nature, seed, round, arm)


@jit
def _moving_mean(nature: Nature, seed: int, round: int, arm: int) -> float:
    """Means that depend on the round."""
    first, second = nature.levels[0], nature.levels[1]
    if nature.kind == ALTERNATING:
        ground = 0.0 if phase_of(nature, round) % 2 == 0 else 1.0 - first
        return ground + (first if arm != nature.best else 0.0)
    if nature.kind == SWITCHING:
        return first if nature.leaders[phase_of(nature, round)] == arm else second
    if nature.kind == DRIFTING:
        turn = 2.0 * math.pi * (round / second + arm / nature.centres.size)
        return min(1.0, max(0.0, nature.centres[arm] + first * math.sin(turn)))
    block = round // int(first)
    return uniform_pair(seed, STREAM_WORLD + 2, block, arm)[0]


@jit
def clean_loss(nature: Nature, seed: int, round: int, arm: int) -> float:
    """An untampered loss in [0, 1]."""
    mean = clean_mean(nature, seed, round, arm)
    if nature.noise == BERNOULLI:
        return 1.0 if uniform_pair(seed, STREAM_WORLD, round, arm)[0] < mean else 0.0
    if nature.noise == DETERMINISTIC:
        return mean
    width = nature.levels[4]
    if nature.noise == BETA:
        if mean <= 0.0 or mean >= 1.0:
            return mean
        return beta(seed, STREAM_WORLD, round, arm, width * mean, width * (1.0 - mean))
    return min(1.0, max(0.0, nature.centres[arm] + width * normal(seed, STREAM_WORLD, round, arm)))


@jit
def played_mean(nature: Nature, seed: int, round: int, arm: int) -> float:
    """The mean of the loss as the learner meets it."""
    if is_attacked(nature, round):
        if nature.attack == FLIP:
            return 1.0 - clean_mean(nature, seed, round, arm)
        if nature.attack == BEST_WORST and arm == nature.best:
            return 1.0
        if nature.attack == DECOY_BEST and arm == nature.decoy:
            return 0.0
    return clean_mean(nature, seed, round, arm)


@jit
def played_loss(nature: Nature, seed: int, round: int, arm: int) -> float:
    """The loss as the learner meets it."""
    if is_attacked(nature, round):
        if nature.attack == FLIP:
            return 1.0 - clean_loss(nature, seed, round, arm)
        if nature.attack == BEST_WORST and arm == nature.best:
            return 1.0
        if nature.attack == DECOY_BEST and arm == nature.decoy:
            return 0.0
    return clean_loss(nature, seed, round, arm)


@jit
def corruption_of(nature: Nature, seed: int, round: int) -> float:
    """``max_i |l_i - l~_i|`` of one round [EK21, section 2]; reads all arms only for flips of inner losses."""
    if not is_attacked(nature, round):
        return 0.0
    if nature.attack == BEST_WORST:
        return 1.0 - clean_loss(nature, seed, round, nature.best)
    if nature.attack == DECOY_BEST:
        return clean_loss(nature, seed, round, nature.decoy)
    if nature.noise == BERNOULLI:
        return 1.0
    worst = 0.0
    for arm in range(nature.centres.size):
        worst = max(worst, abs(1.0 - 2.0 * clean_loss(nature, seed, round, arm)))
    return worst


@jit
def last_affordable(nature: Nature, seed: int, budget: float, horizon: int) -> int:
    """The last round up to which the attack costs at most ``budget``."""
    spent = 0.0
    for round in range(1, horizon + 1):
        spent += corruption_of(nature, seed, round)
        if spent > budget:
            return round - 1
    return horizon


class Totals(NamedTuple):
    """What has been lost so far: by whoever plays, and by every candidate for the best fixed arm."""

    mine: NDArray[np.float64]
    """(4,) played mean, clean mean, loss, and the corruption of the world."""
    theirs: NDArray[np.float64]
    """(3, C) played mean, clean mean and loss of each candidate."""


@jit
def meet(
    nature: Nature,
    seed: int,
    round: int,
    arm: int,
    seen: NDArray[np.int64],
    losses: NDArray[np.float64],
    totals: Totals,
) -> None:
    """One round of the world: show the losses of the ``seen`` arms and add up what ``arm`` cost.

    The usual world is written out, because every round comes here.
    """
    if nature.kind == STATIONARY and nature.noise == BERNOULLI and nature.attack == NO_ATTACK:
        means = nature.means
        for j in range(seen.size):
            losses[j] = 1.0 if uniform_pair(seed, STREAM_WORLD, round, seen[j])[0] < means[seen[j]] else 0.0
        mine = 1.0 if uniform_pair(seed, STREAM_WORLD, round, arm)[0] < means[arm] else 0.0
        best = 1.0 if uniform_pair(seed, STREAM_WORLD, round, nature.best)[0] < means[nature.best] else 0.0
        _add(totals.mine, means[arm], means[arm], mine)
        _add(totals.theirs[:, 0], means[nature.best], means[nature.best], best)
        return
    for j in range(seen.size):
        losses[j] = played_loss(nature, seed, round, seen[j])
    candidates = nature.candidates
    for j in range(-1, candidates.size):
        one = arm if j < 0 else candidates[j]
        played, clean = played_mean(nature, seed, round, one), clean_mean(nature, seed, round, one)
        loss = played_loss(nature, seed, round, one)
        if j < 0:
            _add(totals.mine, played, clean, loss)
        else:
            _add(totals.theirs[:, j], played, clean, loss)
    totals.mine[3] += corruption_of(nature, seed, round)


@jit
def _add(row: NDArray[np.float64], played: float, clean: float, loss: float) -> None:
    row[0] += played
    row[1] += clean
    row[2] += loss
