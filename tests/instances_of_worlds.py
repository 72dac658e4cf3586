"""A zoo of worlds, one of every kind and noise, all with six arms; and what they lose, arm by arm."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds import worlds
from allworlds.worlds import World
from allworlds.worlds.losses import reveal

N_ARMS = 6
LONGEST = 400
"""Rounds of the recorded world."""
MEANS = [0.6, 0.45, 0.3, 0.5, 0.3125, 0.7]

CLEAN: dict[str, World] = {
    "bernoulli": worlds.stochastic(MEANS),
    "beta": worlds.stochastic(MEANS, "beta"),
    "deterministic": worlds.stochastic(MEANS, "deterministic"),
    "gaussian": worlds.stochastic(MEANS, "gaussian-clipped", width=0.3),
    "many best arms": worlds.one_bad_arm(N_ARMS, bad_arm=2),
    "constrained adversary": worlds.constrained_adversary(N_ARMS, best_arm=3, gap=0.2),
    "switching": worlds.switching(N_ARMS, gap=0.3, leaders=[4, 1, 2]),
    "switching, given phases": worlds.switching(N_ARMS, phases=[20, 30, 400], leaders=[5, 3, 5]),
    "drifting": worlds.drifting(MEANS, amplitude=0.4, period=90.0),
    "random": worlds.random_sequence(N_ARMS, block=7),
    "phases": worlds.phases(
        [[0.5] * N_ARMS, MEANS, [0.0, 0.2, 0.9, 0.9, 1.0, 0.5]],
        [0.3, 0.5, 0.2],
        [[False] * N_ARMS, [True, False] * 3, [True] * N_ARMS],
    ),
    "lock-in": worlds.lock_in(N_ARMS),
    "recorded": worlds.recorded(np.random.default_rng(3).random((LONGEST, N_ARMS))),
}


def attacked(name: str, attack: str, budget: float = 20.0) -> World:
    return worlds.corrupted(CLEAN[name], budget, attack, period=9)


class Bare(NamedTuple):
    """What only the world knows; each array is (T, N)."""

    means: NDArray[np.float64]
    clean_means: NDArray[np.float64]
    losses: NDArray[np.float64]
    clean_losses: NDArray[np.float64]


def bare(world: World, horizon: int, seed: int = 7) -> Bare:
    """All arms in all rounds of a run."""
    arrays, arms = world.for_run(seed, horizon), np.arange(world.n_arms)
    rows = np.empty((horizon, 4, world.n_arms))
    for t in range(1, horizon + 1):
        reveal(arrays, seed, t, arms, rows[t - 1])
    return Bare(*rows.swapaxes(0, 1))
