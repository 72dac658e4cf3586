"""Real runs of the learner, recorded whole, for checking theorems on them.

Everything that the proofs speak of is kept: each round's distribution, losses, estimates and the half step of the
clique that was drawn. That costs one more solved step a round, so these runs are short.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from allworlds.ftrl import Constants, solve_ftrl
from allworlds.graphs import CliqueCover
from allworlds.learners import TsallisShannon
from allworlds.theory.rounds import check_unbiased

Array = NDArray[np.float64]
World = Literal["stochastic", "adversarial", "corrupted"]
WORLDS: tuple[World, ...] = ("stochastic", "adversarial", "corrupted")


@dataclass(frozen=True)
class Losses:
    """The losses of one run, before it starts: (T, N) each, and the clean means (N,)."""

    played: Array
    clean: Array
    means: Array

    @property
    def best_arm(self) -> int:
        """The arm with the lowest clean mean."""
        return int(self.means.argmin())


@dataclass(frozen=True)
class Trajectory:
    """One run, all of shape (T, N) unless said."""

    cover: CliqueCover
    constants: Constants
    losses: Losses
    distributions: Array
    cumulative_losses: Array
    """``Lhat_{t-1}``, what the round's step was solved for."""
    estimates: Array
    half_steps: Array
    """``p_t^+`` of the clique that was drawn."""
    rates: Array
    """(T,) learning rates."""

    @property
    def clique_mass(self) -> Array:
        """(T, K) ``q_k``."""
        by_clique = self.distributions[:, self.cover.order]
        return np.add.reduceat(by_clique, self.cover.starts[:-1], axis=1)

    def others(self, distributions: Array) -> Array:
        """(T,) mass of the best clique without the best arm."""
        best = self.losses.best_arm
        arms = [int(i) for i in self.cover.cliques[self.cover.owner[best]] if i != best]
        mass: Array = distributions[:, arms].sum(axis=1)
        return mass

    @property
    def corrupted(self) -> bool:
        """Were the losses that were played not the clean ones?"""
        return bool(np.any(self.losses.played != self.losses.clean))


def make_losses(world: World, n_arms: int, horizon: int, gap: float, best_arm: int, rng: np.random.Generator) -> Losses:
    """Bernoulli losses around 1/2; or means that alternate between the two ends; or a tenth of the rounds flipped."""
    means = np.full(n_arms, 0.5 + gap / 2.0)
    means[best_arm] = 0.5 - gap / 2.0
    if world == "adversarial":
        phases = (np.log1p(np.arange(horizon)) / np.log(1.6)).astype(int) % 2
        shifted = np.where(phases[:, None] == 0, 0.0, 1.0 - gap) + gap * (means > means.min())
        played = (rng.random((horizon, n_arms)) < shifted).astype(np.float64)
        return Losses(played, played, means)
    clean = (rng.random((horizon, n_arms)) < means).astype(np.float64)
    played = clean.copy()
    if world == "corrupted":
        played[: horizon // 10] = 1.0 - played[: horizon // 10]
    return Losses(played, clean, means)


def run(cover: CliqueCover, constants: Constants, losses: Losses, rng: np.random.Generator) -> Trajectory:
    """Play Algorithm 1 on these losses and keep everything."""
    check_unbiased(constants)
    learner = TsallisShannon(cover, constants)
    state = learner.init()
    horizon, n_arms = losses.played.shape
    p, before, estimates, after = (np.zeros((horizon, n_arms)) for _ in range(4))
    rates = np.empty(horizon)
    for t in range(horizon):
        p[t] = learner.distribution(state)
        before[t] = learner.cumulative_losses(state)
        rates[t] = constants.learning_rate(t + 1)
        ticket = learner.draw(state, *rng.random(2).tolist())
        seen = learner.observes(ticket.arm)
        estimates[t, seen] = losses.played[t, seen] / ticket.clique_probability
        after[t] = solve_ftrl(cover, before[t] + estimates[t], float(rates[t]), constants).distribution
        learner.update(state, ticket, losses.played[t, seen])
    return Trajectory(cover, constants, losses, p, before, estimates, after, rates)
