"""A zoo of FTRL steps, from plain to extreme; every number comes from a fixed seed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import allworlds as aw


class Step(NamedTuple):
    """One argmin to solve."""

    name: str
    sizes: list[int]
    losses: NDArray[np.float64]
    learning_rate: float
    alpha: list[float]
    beta: float
    gamma: float

    @property
    def cover(self) -> aw.CliqueCover:
        return aw.clique_cover(aw.graphs.disjoint_cliques(self.sizes))

    @property
    def constants(self) -> aw.Constants:
        return aw.Constants(alpha=tuple(self.alpha), beta=self.beta, gamma=self.gamma, eta0=1.0)

    def solve(self, **options: int) -> aw.FTRLSolution:
        return aw.solve_ftrl(self.cover, self.losses, self.learning_rate, self.constants, **options)


def step(name, sizes, losses, rate, *, kappa=0.5, beta=9.0, gamma=0.0) -> Step:
    alpha = [aw.sharp_alpha(int(size), kappa) for size in sizes]
    return Step(name, [int(s) for s in sizes], np.asarray(losses, dtype=float), float(rate), alpha, beta, gamma)


def named() -> Iterator[Step]:
    """The corners that a general solver falls over."""
    rng = np.random.default_rng(20)
    yield step("one arm", [1], [3.0], 0.5)
    yield step("one clique", [7], rng.random(7) * 100, 0.3)
    yield step("all singletons", [1] * 12, rng.random(12) * 50, 0.1)
    yield step("singletons without barrier", [1] * 12, rng.random(12) * 50, 0.1, beta=0.0)
    yield step("10,000 arms", [100] * 100, rng.random(10_000) * 1e3, 0.01)
    yield step("10,000 single arms", [1] * 10_000, rng.random(10_000) * 1e3, 0.01)
    yield step("one clique of 10,000", [10_000], rng.random(10_000) * 1e3, 0.01)
    yield step("equal losses", [1, 2, 3, 10], np.full(16, 1e6), 0.1)
    yield step("equal masses at the convexity limit", [5] * 4, np.zeros(20), 1.0, kappa=0.0)
    spread = np.logspace(-12, 12, 16)
    for rate in (1.0, 1e-3, 1e-6):
        yield step(f"losses from 1e-12 to 1e12, rate {rate:g}", [1, 2, 3, 10], rng.permutation(spread), rate)
        yield step(f"the same without barrier, rate {rate:g}", [1, 2, 3, 10], rng.permutation(spread), rate, beta=0.0)
    yield step("one clique hopeless", [3, 3], [0, 1, 2, 1e12, 1e12, 1e12], 1.0)
    yield step("one clique hopeless, no barrier", [3, 3], [0, 1, 2, 1e12, 1e12, 1e12], 1.0, beta=0.0)
    losses = [0.0, 1e9, 1e9, 1e9, 5.0, 6.0]
    for fraction in (1.0, 0.999999, 0.5, 1e-3, 1e-9, 1e-15):
        yield step(f"floor {fraction:g}/N pins all but one", [4, 2], losses, 1.0, gamma=fraction / 6)
        yield step(
            f"floor {fraction:g}/N, mass at its floor", [2, 2, 2], [0, 1, 1e12, 2e12, 3, 4], 1.0, gamma=fraction / 6
        )
    yield step("eta L spreads over 1e3", [10, 10], np.linspace(0, 1e4, 20), 0.5)
    yield step("negative losses", [2, 5], -rng.random(7) * 1e3, 0.2, beta=2.0)


def random_steps(count: int, seed: int, *, most_arms: int = 60) -> Iterator[Step]:
    """Random instances over the whole range: spreads, rates, floors, constants."""
    rng = np.random.default_rng(seed)
    for number in range(count):
        n_cliques = int(rng.choice([1, 2, 3, 5, 10]))
        sizes = np.minimum(rng.choice([1, 1, 2, 3, 8], size=n_cliques), most_arms)
        while sizes.sum() > most_arms and sizes.size > 1:
            sizes = sizes[:-1]
        n_arms = int(sizes.sum())
        kind = rng.integers(4)
        if kind == 0:
            losses = 10.0 ** rng.uniform(-12, 12) * rng.random(n_arms)
        elif kind == 1:
            losses = 10.0 ** rng.uniform(-12, 12, n_arms)
        elif kind == 2:
            losses = np.repeat(10.0 ** rng.uniform(-12, 12, sizes.size), sizes) + rng.random(n_arms)
        else:
            losses = -(10.0 ** rng.uniform(-3, 6)) * rng.random(n_arms) ** 8
        kappa = float(rng.choice([0.1, 0.25, 0.5]))
        alpha = [aw.sharp_alpha(int(size), kappa) for size in sizes]
        if rng.random() < 0.2:
            alpha = [2.0 * (1.0 + math.log(n_arms * 1e6) ** 2)] * sizes.size
        gamma = float(rng.choice([0.0, 0.0, 1.0, 0.999999, 0.5, 1e-3, 1e-8, 1e-15])) / n_arms
        yield Step(
            f"random {number}",
            sizes.tolist(),
            losses,
            10.0 ** float(rng.uniform(-6, 0)),
            alpha,
            float(rng.choice([0.0, 1e-3, 2.0, 9.0])),
            gamma,
        )
