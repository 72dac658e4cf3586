"""Section 4: Algorithm 1 does what it says, by the conditions that single out the argmin."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from allworlds.covers import CliqueCover
from allworlds.ftrl import Constants
from allworlds.theory import Check
from allworlds.theory.regulariser import log_barrier_gradient, tsallis_shannon_gradient
from allworlds.workflows.verify.instances import Instances
from allworlds.workflows.verify.statement import Statement

Array = NDArray[np.float64]


def optimality(cover: CliqueCover, p: Array, cumulative_losses: Array, rate: float, constants: Constants) -> Check:
    """How far ``p``, shape (N,), is from the minimiser over the shrunk simplex, by the gradient alone.

    At the minimiser the gradient is one number on the arms above their floor, and at least that on the others. The
    left side is the largest violation, relative to the terms of the gradient. Nothing of the solver is used.
    """
    parts = [
        cumulative_losses,
        tsallis_shannon_gradient(p, cover, constants.alpha) / rate,
        log_barrier_gradient(p, cover, constants.beta),
    ]
    gradient: Array = np.sum(parts, axis=0)
    free = p > constants.gamma * (1.0 + 1e-9)
    price = float(gradient[free].mean())
    off = np.where(free, np.abs(gradient - price), np.maximum(price - gradient, 0.0))
    size = max(float(np.abs(part).max()) for part in parts)
    return Check("the gradient is one number", "alg:FTRL", float(off.max()) / size, 1e-9)


def _argmin(instances: Instances) -> Iterator[Check]:
    """Along the runs of the learner; and on random rounds, where many arms sit at their floor."""
    for it in [*instances.short_paper, *instances.short_sharp]:
        for p, before, rate in zip(it.distributions, it.cumulative_losses, it.rates, strict=True):
            yield optimality(it.cover, p, before, float(rate), it.constants)
    for state in [*instances.paper_states, *instances.sharp_states]:
        at = (state.distribution, state.cumulative_losses, state.learning_rate)
        yield optimality(state.cover, *at, state.constants)


def _sums_to_one(instances: Instances) -> Iterator[Check]:
    for it in [*instances.short_paper, *instances.short_sharp]:
        off = float(np.abs(it.distributions.sum(axis=1) - 1.0).max())
        yield Check("|sum p - 1| <= 1e-9", "alg:FTRL-sum", off, 1e-9)


def _above_the_floor(instances: Instances) -> Iterator[Check]:
    """With the paper's constants; the sharp ones have no floor."""
    for it in instances.short_paper:
        yield Check("gamma <= p", "alg:FTRL-floor", it.constants.gamma, float(it.distributions.min()), tolerance=1e-12)
    for state in instances.paper_states:
        lowest = float(state.distribution.min())
        yield Check("gamma <= p", "alg:FTRL-floor", state.constants.gamma, lowest, tolerance=1e-12)


def _unbiased(instances: Instances) -> Iterator[Check]:
    for state in [*instances.paper_states, *instances.sharp_states]:
        mean = state.mass @ state.estimates
        yield Check("E lhat = l", "alg:FTRL-estimates", float(np.abs(mean - state.losses).max()), 1e-12)


STATEMENTS = (
    Statement("Algorithm 1: every step is the argmin", "alg:FTRL", _argmin),
    Statement("Algorithm 1: the probabilities add to 1", "alg:FTRL-sum", _sums_to_one),
    Statement("Algorithm 1: none is below gamma", "alg:FTRL-floor", _above_the_floor),
    Statement("Algorithm 1: the estimates are unbiased", "alg:FTRL-estimates", _unbiased),
)
