"""The losses of a world, compiled: one type for all worlds, so that a loop is compiled once a learner.

A world is a pure function of (seed, round, arm): every learner meets the same losses, only those that are looked at
are ever computed, and a run can start anywhere. What a world is made of fits in a kind and a few arrays.

A round is answered in two steps. What all arms share (the phase, the attack) is looked up once, as a
:class:`RoundContext` of plain numbers. Then an arm costs a few comparisons and one random number of 32 bits, of which
four arms share a block; a loss of mean ``m`` that is 0 or 1 is 1 with probability ``m`` to ``m + 2**-32``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.kernels.jit import inline_jit, jit, lean_jit
from allworlds.kernels.random import STREAM_WORLD, beta, normal, uniform, write_uniforms

KINDS, NOISES, TAMPERINGS = range(7), range(5), range(5)
"""The codes that the kernels know. Any other kind has NaN means; any other noise or attack gives NaN losses."""
STATIONARY, ALTERNATING, SWITCHING, DRIFTING, RANDOM, TABLE, PHASES = KINDS
"""Kinds: where the mean of a loss comes from."""
BERNOULLI, BETA, DETERMINISTIC, GAUSSIAN, MIXED = NOISES
"""Noises: how a loss is drawn around its mean; mixed is Bernoulli or deterministic, by phase and arm."""
NO_ATTACK, FLIP, MAKE_WORST, MAKE_BEST, ALL_WORST = TAMPERINGS
"""Attacks: all losses become ``1 - l``; the victim loses 1; the victim loses 0; every arm loses 1."""
AT_ONCE, EVENLY = 0, -1
"""Paces of an attack; a number above 0 is a period."""


class WorldArrays(NamedTuple):
    """A world in numbers."""

    kind: int
    noise: int
    width: float
    """Concentration of beta noise, standard deviation of Gaussian noise."""
    centres: NDArray[np.float64]
    """(N,) what Gaussian noise is drawn around before it is clipped."""
    means: NDArray[np.float64]
    """(N,) the means where they never change, what they swing around, or their average over all phases."""
    levels: NDArray[np.float64]
    """(2,) the numbers of the kind: gap; means of leader and others; amplitude and period; length of a block."""
    turns: NDArray[np.int64]
    """First round of each phase, beginning with 1; equal numbers where a phase has no round."""
    shares: NDArray[np.float64]
    """Where each phase begins, as a share of the horizon and beginning with 0, if the horizon decides the turns."""
    leaders: NDArray[np.int64]
    """Best arm of each phase."""
    table: NDArray[np.float64]
    """(T, N) recorded losses, or (P, N) the means of each phase."""
    steady: NDArray[np.float64]
    """(P, N) with mixed noise: 1 where the loss of a phase is its mean, 0 where it is Bernoulli."""
    best: int
    """The arm with the lowest clean mean."""
    candidates: NDArray[np.int64]
    """Arms among which the best fixed arm in hindsight is, after every round of the run."""
    attack: int
    victim: int
    pace: int
    """When an attack strikes: at once, evenly, or in every second stretch of so many rounds."""
    struck: NDArray[np.bool_]
    """Whether the attack strikes in rounds 1, 2, …; not in any later one."""


class RoundContext(NamedTuple):
    """What all arms share in one round; a field that the kind or the noise does not need has no meaning.

    It borrows arrays of the world. Only lean kernels may make one: others would release arrays that are not theirs.
    """

    round: int
    kind: int
    noise: int
    width: float
    means: NDArray[np.float64]
    """(N,) the means of the round, or what they swing around."""
    centres: NDArray[np.float64]
    """(N,) as in :class:`WorldArrays`."""
    steady: NDArray[np.float64]
    """(N,) with mixed noise: 1 where the loss is its mean, 0 where it is Bernoulli."""
    leader: int
    """The arm with the mean ``low``; the others have ``high``."""
    low: float
    high: float
    block: int
    """Of random losses, from 0."""
    amplitude: float
    period: float
    """Of drifting means."""
    attack: int
    victim: int


class RunTotals(NamedTuple):
    """What has been lost so far: by the learner, and by every candidate for the best fixed arm."""

    learner: NDArray[np.float64]
    """(4,) played mean, clean mean, loss, and the corruption of the world."""
    candidates: NDArray[np.float64]
    """(C, 3) played mean, clean mean and loss of each candidate."""


def new_totals(n_candidates: int) -> RunTotals:
    """Nothing lost yet."""
    return RunTotals(np.zeros(4), np.zeros((n_candidates, 3)))


# --- kernels: what a round has in common ------------------------------------------------------------------


@lean_jit
def phase_of(turns: NDArray[np.int64], round: int) -> int:
    """Which phase a round is in, from 0."""
    low, high = 0, turns.size
    while high - low > 1:
        middle = (low + high) // 2
        if turns[middle] <= round:
            low = middle
        else:
            high = middle
    return low


@inline_jit
def attack_in(world: WorldArrays, round: int) -> int:
    """What is done to the losses of a round."""
    return world.attack if round <= world.struck.size and world.struck[round - 1] else NO_ATTACK


@inline_jit
def round_context(world: WorldArrays, round: int, attack: int) -> RoundContext:
    """The shared numbers of a round under an attack."""
    kind, means, steady = world.kind, world.means, world.means
    leader, low, high, block = world.best, world.levels[0], world.levels[1], 0
    # what the kind of world makes of the round
    if kind == ALTERNATING:
        gap = low
        low = 0.0 if phase_of(world.turns, round) % 2 == 0 else 1.0 - gap
        high = low + gap
    elif kind == SWITCHING:
        leader = world.leaders[phase_of(world.turns, round)]
    elif kind == RANDOM:
        block = (round - 1) // int(world.levels[0])
    elif kind == TABLE:
        means = world.table[round - 1]
    elif kind == PHASES:
        phase = phase_of(world.turns, round)
        means, steady = world.table[phase], world.steady[phase]
    return RoundContext(
        round=round,
        kind=kind,
        noise=world.noise,
        width=world.width,
        means=means,
        centres=world.centres,
        steady=steady,
        leader=leader,
        low=low,
        high=high,
        block=block,
        amplitude=world.levels[0],
        period=world.levels[1],
        attack=attack,
        victim=world.victim,
    )


# --- kernels: one arm -------------------------------------------------------------------------------------


@inline_jit
def clean_mean(now: RoundContext, seed: int, arm: int) -> float:
    """The mean of an untampered loss."""
    if now.kind == STATIONARY or now.kind == TABLE or now.kind == PHASES:
        return float(now.means[arm])
    if now.kind == ALTERNATING or now.kind == SWITCHING:
        return now.low if arm == now.leader else now.high
    if now.kind == DRIFTING:
        turn = 2.0 * math.pi * (now.round / now.period + arm / now.means.size)
        return min(1.0, max(0.0, float(now.means[arm]) + now.amplitude * math.sin(turn)))
    if now.kind == RANDOM:
        return uniform(seed, STREAM_WORLD + 2, now.block, arm)
    return math.nan


@inline_jit
def clean_loss(now: RoundContext, mean: float, seed: int, arm: int) -> float:
    """An untampered loss in [0, 1], whose mean is ``mean``."""
    if now.noise == BERNOULLI or (now.noise == MIXED and now.steady[arm] == 0.0):
        return 1.0 if uniform(seed, STREAM_WORLD, now.round, arm) < mean else 0.0
    if now.noise == DETERMINISTIC or now.noise == MIXED:
        return mean
    if now.noise == GAUSSIAN:
        return min(1.0, max(0.0, float(now.centres[arm]) + now.width * normal(seed, STREAM_WORLD, now.round, arm)))
    if now.noise == BETA:
        if mean <= 0.0 or mean >= 1.0:
            return mean
        return beta(seed, STREAM_WORLD, now.round, arm, now.width * mean, now.width * (1.0 - mean))
    return math.nan


@inline_jit
def tampered(now: RoundContext, arm: int, value: float) -> float:
    """What the attack makes of a loss, or of its mean."""
    if now.attack == NO_ATTACK:
        return value
    if now.attack == FLIP:
        return 1.0 - value
    if now.attack == ALL_WORST:
        return 1.0
    if now.attack == MAKE_WORST:
        return 1.0 if arm == now.victim else value
    if now.attack == MAKE_BEST:
        return 0.0 if arm == now.victim else value
    return math.nan


# --- kernels: many arms of a round ------------------------------------------------------------------------


@inline_jit
def write_losses(now: RoundContext, seed: int, arms: NDArray[np.int64], losses: NDArray[np.float64]) -> None:
    """Write the losses of ``arms`` as a learner meets them: what the kernels of one arm give, several at a time."""
    # Bernoulli losses around means that are written down: this loop is the one to be fast.
    if now.noise == BERNOULLI and now.kind == STATIONARY:
        write_uniforms(seed, STREAM_WORLD, now.round, arms, losses)
        for j in range(arms.size):
            losses[j] = 1.0 if losses[j] < now.means[np.uint64(arms[j])] else 0.0
    elif now.noise == BERNOULLI or now.noise == MIXED:
        write_uniforms(seed, STREAM_WORLD, now.round, arms, losses)
        for j in range(arms.size):
            mean = clean_mean(now, seed, arms[j])
            drawn = 1.0 if losses[j] < mean else 0.0
            losses[j] = mean if now.noise == MIXED and now.steady[arms[j]] != 0.0 else drawn
    else:
        for j in range(arms.size):
            losses[j] = clean_loss(now, clean_mean(now, seed, arms[j]), seed, arms[j])
    if now.attack != NO_ATTACK:
        for j in range(arms.size):
            losses[j] = tampered(now, arms[j], losses[j])


@lean_jit
def reveal(world: WorldArrays, seed: int, round: int, arms: NDArray[np.int64], rows: NDArray[np.float64]) -> None:
    """Write played mean, clean mean, loss and clean loss of ``arms`` into ``rows``, shape (4, A)."""
    now = round_context(world, round, attack_in(world, round))
    for j in range(arms.size):
        mean = clean_mean(now, seed, arms[j])
        loss = clean_loss(now, mean, seed, arms[j])
        rows[0, j], rows[1, j] = tampered(now, arms[j], mean), mean
        rows[2, j], rows[3, j] = tampered(now, arms[j], loss), loss


@inline_jit
def corruption_of(now: RoundContext, seed: int) -> float:
    """``max_i |l_i - l~_i|`` of one round [EK21, section 2]; reads all arms only where all may change by a part."""
    if now.attack == NO_ATTACK:
        return 0.0
    if now.attack == FLIP and now.noise == BERNOULLI:
        return 1.0
    one = now.attack == MAKE_WORST or now.attack == MAKE_BEST
    worst = 0.0
    for arm in range(now.victim, now.victim + 1) if one else range(now.centres.size):
        loss = clean_loss(now, clean_mean(now, seed, arm), seed, arm)
        worst = max(worst, abs(tampered(now, arm, loss) - loss))
        if worst == 1.0:
            break
    return worst


@lean_jit
def strike_cost(world: WorldArrays, seed: int, round: int) -> float:
    """The corruption of a round if the attack strikes in it."""
    return corruption_of(round_context(world, round, world.attack), seed)


@jit
def strikes(world: WorldArrays, seed: int, budget: float, horizon: int) -> NDArray[np.bool_]:
    """(horizon,) in which rounds the attack strikes, so that it spends at most ``budget``.

    A round may cost 1, so a strike needs 1 to be left. It depends on what earlier rounds cost and never on its own
    losses: the means of the rounds that are left alone stay what they were.
    """
    struck = np.zeros(horizon, dtype=np.bool_)
    spent = 0.0
    for round in range(1, horizon + 1):
        if spent + 1.0 > budget:
            break
        if world.pace == EVENLY and spent > budget * (round - 1) / horizon:
            continue
        if world.pace > 0 and ((round - 1) // world.pace) % 2 == 1:
            continue
        struck[round - 1] = True
        spent += strike_cost(world, seed, round)
    return struck


@lean_jit
def loss_in(world: WorldArrays, seed: int, round: int, arm: int) -> float:
    """The loss of one arm as a learner meets it."""
    now = round_context(world, round, attack_in(world, round))
    return tampered(now, arm, clean_loss(now, clean_mean(now, seed, arm), seed, arm))


@inline_jit
def play_round(
    world: WorldArrays,
    seed: int,
    round: int,
    arm: int,
    seen: NDArray[np.int64],
    losses: NDArray[np.float64],
    totals: RunTotals,
) -> None:
    """One round in which ``arm`` is chosen: write the losses of the ``seen`` arms, and add to the totals.

    The totals of the learner, and of each candidate for the best arm: mean as met, clean mean, loss as met.
    """
    now = round_context(world, round, attack_in(world, round))
    write_losses(now, seed, seen, losses)
    mean = clean_mean(now, seed, arm)
    mine = totals.learner
    mine[0] += tampered(now, arm, mean)
    mine[1] += mean
    mine[2] += loss_among(now, seed, arm, mean, seen, losses)
    if now.attack != NO_ATTACK:
        mine[3] += corruption_of(now, seed)
    candidates, theirs = world.candidates, totals.candidates
    for j in range(candidates.size):
        mean = clean_mean(now, seed, candidates[j])
        theirs[j, 0] += tampered(now, candidates[j], mean)
        theirs[j, 1] += mean
        theirs[j, 2] += loss_among(now, seed, candidates[j], mean, seen, losses)


@inline_jit
def loss_among(
    now: RoundContext, seed: int, arm: int, mean: float, seen: NDArray[np.int64], losses: NDArray[np.float64]
) -> float:
    """The loss of an arm as a learner meets it: looked up where the ``seen`` arms follow one another up to it."""
    j = arm - seen[0] if seen.size > 0 else -1
    if 0 <= j < seen.size and seen[j] == arm:
        return float(losses[j])
    return tampered(now, arm, clean_loss(now, mean, seed, arm))
