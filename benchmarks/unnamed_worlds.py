"""Worlds that neither the goals nor the cells for choosing name: the default beside four rivals, played once.

Losses that depend on the round before (a chain of good and bad spells, a wandering level), that swing with a period,
that are heavy-tailed, gaps that close, and a level that all arms share. Losses are fixed before a run, a table a seed,
the same for every learner. Regret is against the arm that is best in hindsight.

    python benchmarks/unnamed_worlds.py [--rounds 20000] [--seeds 20] [--only NAME]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import allworlds as aw

Floats = NDArray[np.float64]
LEARNERS = ("guarded", "tsallis-shannon", "thompson-n", "ucb-n", "exp3-ix", "tsallis-inf-rv")
SIZES = {"2x1": [1, 1], "10x1": [1] * 10, "5,2,1": [5, 2, 1], "8x6": [6] * 8}
FIRST_SEED = 900_000
"""Of seeds that nothing was chosen on."""


def _means(rng: np.random.Generator, n_arms: int, gap: float) -> Floats:
    """One arm at 1/2 less the gap, the others up to 0.2 above 1/2, in random order."""
    means = 0.5 + 0.2 * rng.random(n_arms)
    means[rng.integers(n_arms)] = 0.5 - gap
    return means


def spells(rng: np.random.Generator, rounds: int, n_arms: int) -> Floats:
    """Each arm is in a good spell or a bad one, about 50 rounds each; arms differ in how long the bad ones last."""
    leave = np.stack([np.full(n_arms, 0.02), 0.02 * 0.5 / _means(rng, n_arms, 0.2)])
    bad, losses = rng.random(n_arms) < 0.5, np.empty((rounds, n_arms))
    for row in losses:
        bad = bad ^ (rng.random(n_arms) < leave[bad.astype(int), np.arange(n_arms)])
        row[:] = bad
    return losses


def wandering(rng: np.random.Generator, rounds: int, n_arms: int) -> Floats:
    """A slow wave of noise around each mean: what an arm lost says what it will lose for a hundred rounds."""
    means, losses, level = _means(rng, n_arms, 0.1), np.empty((rounds, n_arms)), np.zeros(n_arms)
    for row in losses:
        level = 0.99 * level + 0.035 * rng.standard_normal(n_arms)
        row[:] = means + level
    return losses.clip(0.0, 1.0)


def swinging(rng: np.random.Generator, rounds: int, n_arms: int) -> Floats:
    """Means swing with a period of 1,000 rounds, each arm with a phase of its own; then noise."""
    wave = np.sin(2 * np.pi * (np.arange(rounds)[:, None] / 1000.0 + rng.random(n_arms)))
    return (rng.random((rounds, n_arms)) < _means(rng, n_arms, 0.1) + 0.25 * wave).astype(np.float64)


def heavy(rng: np.random.Generator, rounds: int, n_arms: int) -> Floats:
    """Most losses are small, a few are 1: the best arm has the rarest of them and not the smallest others."""
    rare = 0.1 * _means(rng, n_arms, 0.3)
    often = 0.05 * rng.random(n_arms)
    return np.where(rng.random((rounds, n_arms)) < rare, 1.0, often * rng.random((rounds, n_arms)))


def closing(rng: np.random.Generator, rounds: int, n_arms: int) -> Floats:
    """The gap of the best arm closes like the inverse root of the round."""
    means = np.full(n_arms, 0.5)
    best, gap = rng.integers(n_arms), np.minimum(0.4, 6.0 / np.sqrt(np.arange(1, rounds + 1)))
    losses = rng.random((rounds, n_arms))
    losses[:, best] += gap
    return (losses < means).astype(np.float64)


def shared(rng: np.random.Generator, rounds: int, n_arms: int) -> Floats:
    """All arms share a level that jumps between 0 and 1/2 every 300 rounds or so; the gap on top of it is 0.05."""
    jumps = np.cumsum(rng.random(rounds) < 1 / 300) % 2
    means = np.full(n_arms, 0.25)
    means[rng.integers(n_arms)] = 0.2
    return (rng.random((rounds, n_arms)) < 0.5 * jumps[:, None] + means).astype(np.float64)


WORLDS: tuple[Callable[[np.random.Generator, int, int], Floats], ...] = (
    spells,
    wandering,
    swinging,
    heavy,
    closing,
    shared,
)


def main() -> None:
    """Print a line for each world and graph."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20_000)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--only", default="", help="worlds whose name contains this")
    options = parser.parse_args()
    print("| world | cliques | " + " | ".join(LEARNERS) + " | over the next best | worst run / T |")
    print("|---" * (len(LEARNERS) + 4) + "|")
    for world in (world for world in WORLDS if options.only in world.__name__):
        for name, sizes in SIZES.items():
            graph = aw.graphs.disjoint_cliques(sizes)
            regrets: dict[str, list[float]] = {learner: [] for learner in LEARNERS}
            for seed in range(FIRST_SEED, FIRST_SEED + options.seeds):
                table = aw.worlds.recorded(world(np.random.default_rng(seed), options.rounds, sum(sizes)))
                for learner in LEARNERS:
                    player = aw.make_learner(learner, graph, horizon=options.rounds)
                    regrets[learner] += [aw.play(player, table, options.rounds, seed).final_regret]
            means = {learner: float(np.mean(runs)) for learner, runs in regrets.items()}
            ours, rival = means[LEARNERS[0]], min(means[learner] for learner in LEARNERS[1:])
            ratio = f"{ours / rival:.2f}" if rival > 10.0 else "–"
            worst = max(regrets[LEARNERS[0]]) / options.rounds
            numbers = " | ".join(f"{mean:.0f}" for mean in means.values())
            print(f"| {world.__name__} | {name} | {numbers} | {ratio} | {worst:.3f} |", flush=True)


if __name__ == "__main__":
    main()
