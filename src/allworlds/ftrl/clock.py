"""What changes from round to round whatever is drawn: rate, barrier and damping, and what they follow.

The learning rate falls with the rounds. Estimates take off the baseline, a share of a running mean of the losses
incurred, and the barrier rises with the highest baseline so far. In the unproved setting, barrier and damping
(implicit exploration) follow the variance of the losses instead. A clock is one small array, so that it can be saved
and restored bit for bit.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.ftrl.constants import Constants
from allworlds.kernels.jit import lean_jit

MEAN_WINDOW, VARIANCE_WINDOW = 20.0, 200.0
"""Of about how many of the last losses incurred mean and variance are, once there are so many.

The mean only shifts the estimates, so its own noise costs little, and a short memory follows losses that jump.
"""
MEAN_START, VARIANCE_START = 0.5, 0.25
"""What is taken for granted before the first loss: as much as losses in [0, 1] can vary."""

MEMORY_START = 100.0
"""A baseline with growing memory moves by ``memory / (t + MEMORY_START)`` of the way to each loss."""

ROUND, MEAN, VARIANCE, MULTIPLIER, RATE, BARRIER, DAMPING, HIGHEST = range(8)
"""Places in a clock: the round; the baseline, and the variance of the losses incurred; of the coming step its
multiplier, where the search for the next one starts, its rate and barrier; what its estimate adds to a clique's
probability; and the highest baseline so far."""


class Rates(NamedTuple):
    """The scalars of :class:`~allworlds.Constants`, for kernels."""

    beta: float
    gamma: float
    eta0: float
    power: float
    implicit_exploration: float
    variance_floor: float
    head_start: float
    memory: float
    baseline_share: float
    barrier_slope: float
    deficit_limit: float
    deficit_root: float
    uses_baseline: bool


def rates_of(constants: Constants) -> Rates:
    """What kernels need of the constants, beside alpha."""
    c = constants
    return Rates(
        beta=c.beta,
        gamma=c.gamma,
        eta0=c.eta0,
        power=c.power,
        implicit_exploration=c.implicit_exploration,
        variance_floor=c.variance_floor,
        head_start=c.head_start,
        memory=c.memory,
        baseline_share=c.baseline_share,
        barrier_slope=c.barrier_slope,
        deficit_limit=c.deficit_limit,
        deficit_root=c.deficit_root,
        uses_baseline=c.estimator == "baseline",
    )


def new_clock(rates: Rates) -> NDArray[np.float64]:
    """(8,) round one, nothing seen."""
    clock = np.zeros(HIGHEST + 1)
    clock[ROUND], clock[VARIANCE] = 1.0, VARIANCE_START
    clock[MEAN] = MEAN_START if rates.memory == 0.0 else 0.0
    set_rates(clock, rates)
    return clock


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def tick(clock: NDArray[np.float64], rates: Rates, incurred: float) -> None:
    """One round later, with a loss more."""
    rounds = clock[ROUND] + rates.head_start + 1.0
    before = incurred - clock[MEAN]
    if rates.memory == 0.0:
        clock[MEAN] += before / min(rounds, MEAN_WINDOW)
    else:
        step = min(1.0, rates.memory / (clock[ROUND] + MEMORY_START))
        clock[MEAN] += step * (rates.baseline_share * incurred - clock[MEAN])
        clock[HIGHEST] = max(clock[HIGHEST], clock[MEAN])
    clock[VARIANCE] += (before * (incurred - clock[MEAN]) - clock[VARIANCE]) / min(rounds, VARIANCE_WINDOW)
    clock[ROUND] += 1.0
    set_rates(clock, rates)


@lean_jit
def excess_of(clock: NDArray[np.float64], rates: Rates, multiplier: float, before: float, after: float) -> float:
    """How far a clique's lowest loss would rise above the deficit limit; falling, it is never held back."""
    t = clock[ROUND] + rates.head_start
    limit = multiplier + rates.deficit_limit * t + rates.deficit_root * math.sqrt(t)
    return float(max(0.0, after - max(before, limit)))


@lean_jit
def set_rates(clock: NDArray[np.float64], rates: Rates) -> None:
    """``eta0 / (t + head start)**power``; barrier and damping follow the losses incurred."""
    t = clock[ROUND] + rates.head_start
    share = min(1.0, max(rates.variance_floor, 4.0 * clock[VARIANCE]))
    clock[RATE] = rates.eta0 / (math.sqrt(t) if rates.power == 0.5 else t**rates.power)
    clock[BARRIER] = rates.beta * share + rates.barrier_slope * clock[HIGHEST]
    clock[DAMPING] = rates.implicit_exploration * share / t
