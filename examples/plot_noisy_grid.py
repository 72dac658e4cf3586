"""What a noisy glance is worth: arms on a board that see each other the less clearly the farther away.

The setting of Kocák, Neu and Valko (AISTATS 2016, Figure 3): a board of 5 by 5, weight ``min(3 / d^2, 1)`` at distance
d, 5,000 rounds, ten runs, losses that walk at random within [0, 1]. Exp3-WIX uses every observation by its weight.
The alternative is a threshold: observations with a smaller weight are thrown away, which must be chosen beforehand. We
know the setting and the shape, not the numbers: without a threshold it does about as well as with the best one. Their
walks are interleaved and have steps that we do not know; ours are one for each arm, with steps of 0.02.
"""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

import allworlds as aw

HORIZON, SEEDS = 5_000, range(10)
THRESHOLDS = (0.1, 0.2, 0.3, 0.5, 0.75, 1.0)
"""A weight below is taken as 0; at 1 the eight neighbours on the board are left."""


def walks(seed: int) -> aw.World:
    """A loss for each arm that walks at random and stays within [0, 1]."""
    rng = np.random.default_rng(seed)
    losses = np.empty((HORIZON, 25))
    now = rng.random(25)
    for t in range(HORIZON):
        losses[t] = now = np.clip(now + 0.02 * rng.standard_normal(25), 0.0, 1.0)
    return aw.worlds.recorded(losses)


def mean_regret(graph: aw.graphs.NoisyGraph, worlds: list[aw.World]) -> tuple[float, float]:
    """Mean regret against the best fixed arm, and its standard error."""
    learner = aw.make_learner("exp3-wix", graph)
    regrets = [aw.play(learner, world, HORIZON, seed).final_regret for seed, world in zip(SEEDS, worlds, strict=True)]
    return float(np.mean(regrets)), float(np.std(regrets, ddof=1) / np.sqrt(len(regrets)))


def main() -> None:
    worlds = [walks(seed) for seed in SEEDS]
    weights = aw.graphs.noisy_grid(5, 5).weights
    cut = [mean_regret(aw.graphs.noisy(np.where(weights >= least, weights, 0.0)), worlds) for least in THRESHOLDS]
    alone = mean_regret(aw.graphs.noisy(np.eye(25)), worlds)
    every = mean_regret(aw.graphs.noisy(weights), worlds)
    figure, axes = plt.subplots(figsize=(6.0, 3.6), layout="constrained")
    axes.errorbar(THRESHOLDS, *np.transpose(cut), fmt="o-", color="#E69F00", capsize=3, label="with a threshold")
    for (mean, error), colour, label in ((every, "#0072B2", "every observation"), (alone, "0.4", "own losses only")):
        axes.axhline(mean, color=colour, label=label)
        axes.axhspan(mean - error, mean + error, color=colour, alpha=0.15, lw=0)
    axes.set(xlabel="least weight that is used", ylabel="regret after 5,000 rounds", title="Exp3-WIX on a 5 by 5 board")
    axes.legend(frameon=False)
    figure.savefig("noisy_grid.png", dpi=120)
    print(f"every observation {every[0]:.0f} ± {every[1]:.0f}, own losses only {alone[0]:.0f} ± {alone[1]:.0f}")
    found = zip(THRESHOLDS, cut, strict=True)
    print(", ".join(f"from {least:g}: {mean:.0f} ± {error:.0f}" for least, (mean, error) in found))
    assert every[0] < alone[0]


if __name__ == "__main__":
    main()
