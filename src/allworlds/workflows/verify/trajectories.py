"""Real runs of the learner, recorded whole, for checking theorems on them.

Everything that the proofs speak of is there: each round's distribution, losses, estimates and the half step of the
clique that was drawn. A half step is one more solved step a round, so it is solved only where it is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from allworlds.covers import CliqueCover
from allworlds.ftrl import Constants
from allworlds.learners import TsallisShannon
from allworlds.theory.practical_rounds import PracticalRound

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
    drawn: NDArray[np.intp]
    """(T,) the clique that was drawn."""
    baselines: Array
    """(T,) what was taken off the losses; 0 with the paper's and the sharp constants."""

    @cached_property
    def rates(self) -> Array:
        """(T,) learning rates."""
        return np.array([self.constants.learning_rate(t + 1) for t in range(len(self.drawn))])

    @cached_property
    def rounds(self) -> list[PracticalRound]:
        """(T,) each round as the proof of Theorem C sees it."""
        highest = np.maximum.accumulate(self.baselines).tolist()
        known = zip(self.baselines.tolist(), highest, self.cumulative_losses, self.losses.played, strict=True)
        best = self.losses.best_arm
        return [PracticalRound(self.cover, self.constants, t, *of, best) for t, of in enumerate(known, start=1)]

    @cached_property
    def estimates(self) -> Array:
        """``lhat_t`` of the clique that was drawn, from its definition and not from what the learner added."""
        each = range(len(self.drawn))
        if not self.constants.is_unbiased:
            return np.array([self.rounds[t].estimates[self.drawn[t]] for t in each])
        seen = np.asarray(self.cover.owner) == self.drawn[:, None]
        return np.where(seen, self.losses.played / self.clique_mass[each, self.drawn][:, None], 0.0)

    @cached_property
    def half_steps(self) -> Array:
        """``p_t^+`` of the clique that was drawn."""
        after = self.cumulative_losses + self.estimates
        return np.array([it.solve(losses).distribution for it, losses in zip(self.rounds, after, strict=True)])

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
    """Play the learner on these losses and keep everything."""
    learner = TsallisShannon(cover, constants)
    state = learner.init()
    horizon, n_arms = losses.played.shape
    p, before = np.empty((horizon, n_arms)), np.empty((horizon, n_arms))
    drawn, baselines = np.empty(horizon, dtype=np.intp), np.empty(horizon)
    for t in range(horizon):
        p[t] = learner.distribution(state)
        before[t] = learner.cumulative_losses(state)
        ticket = learner.draw(state, *rng.random(2).tolist())
        drawn[t], baselines[t] = ticket.clique, ticket.baseline
        learner.update(state, ticket, losses.played[t, learner.observes(ticket.arm)])
    return Trajectory(cover, constants, losses, p, before, drawn, baselines)
