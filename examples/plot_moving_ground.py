"""Why index rules fail where the ground moves.

In Zimmert and Seldin's constrained adversary one arm is always better by the same gap, but all means jump together
between the two ends of [0, 1]. An index rule compares an arm's old mean with another's new one and goes astray; a
learner that weighs what it sees by how likely it was to see it does not.
"""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

import allworlds as aw

HORIZON, SEEDS = 20_000, range(10)
COLOURS = {"tsallis-shannon": "#0072B2", "ucb-n": "#E69F00"}


def main() -> None:
    graph = aw.graphs.disjoint_cliques(10, 2)
    world = aw.worlds.constrained_adversary(graph.n_arms, best_arm=7, gap=0.125)
    figure, axes = plt.subplots(figsize=(6.0, 3.6), layout="constrained")
    final = {}
    for name, colour in COLOURS.items():
        traces = aw.play_many(aw.make_learner(name, graph), world, HORIZON, SEEDS)
        regret = np.array([trace.pseudo_regret for trace in traces])
        axes.plot(traces[0].rounds, regret.mean(axis=0), color=colour, label=name)
        axes.fill_between(traces[0].rounds, regret.min(axis=0), regret.max(axis=0), color=colour, alpha=0.15, lw=0)
        final[name] = float(regret[:, -1].mean())
    axes.set(xlabel="round", ylabel="regret (mean, least, most)", title="The same gap, a moving ground")
    axes.legend(frameon=False)
    figure.savefig("moving_ground.png", dpi=120)
    print(", ".join(f"{name}: {value:.0f}" for name, value in final.items()))
    assert final["tsallis-shannon"] < final["ucb-n"]


if __name__ == "__main__":
    main()
