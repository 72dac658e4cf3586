"""Kernels that several learners share: exponential weights, and an arm drawn from a distribution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allworlds.kernels.jit import lean_jit
from allworlds.learners.base import Ticket

ROUND = 0
"""The first place in every ``clock``."""


@lean_jit
def exponential_weights(losses: NDArray[np.float64], rate: float, out: NDArray[np.float64]) -> None:
    """``out_i = exp(-rate L_i) / sum_j exp(-rate L_j)``, (N,), from the lowest loss, so that nothing overflows."""
    lowest = losses[0]
    for i in range(1, losses.size):
        lowest = min(lowest, losses[i])
    total = 0.0
    for i in range(losses.size):
        out[i] = math.exp(-rate * (losses[i] - lowest))
        total += out[i]
    for i in range(losses.size):
        out[i] /= total


@lean_jit
def pick(distribution: NDArray[np.float64], uniform: float) -> int:
    """The arm at which the running sum passes ``uniform``; the likeliest arm gets what rounding leaves over."""
    rest = uniform
    likeliest = 0
    for i in range(distribution.size):
        rest -= distribution[i]
        if rest < 0.0:
            return i
        if distribution[i] > distribution[likeliest]:
            likeliest = i
    return likeliest


@lean_jit
def draw_arm(state: Any, first: float, second: float) -> Ticket:
    """Draw ``I_t`` from ``state.distribution``: the ``draw`` of learners whose estimates need no more than that."""
    arm = pick(state.distribution, first)
    return Ticket(arm, float(state.distribution[arm]), int(state.clock[ROUND]))


@lean_jit
def explore(distribution: NDArray[np.float64], share: float, explorers: NDArray[np.float64]) -> None:
    """``p <- (1 - share) p + share u``, with ``u`` the distribution ``explorers``."""
    for i in range(distribution.size):
        distribution[i] = (1.0 - share) * distribution[i] + share * explorers[i]
