"""What it costs an attacker to make a learner play a bad arm.

The attacker sees each choice and raises the losses that are shown, until its arm looks best (Liu and Shroff 2019). Any
learner whose regret is small in friendly worlds can be led astray at a price that hardly grows with time: it stops
looking at what seems bad. A learner that keeps exploring makes the attacker pay more. No bound of this package covers
such an attack, since it acts after the choice.
"""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

import allworlds as aw

HORIZON, SEEDS = 2_000, range(3)
LEARNERS = ("thompson-n", "ucb-n", "tsallis-shannon", "exp3-ix")
MEANS, TARGET = [0.2, 0.5, 0.4], 1


def main() -> None:
    graph = aw.graphs.bandit(3)
    price, share = {}, {}
    for name in LEARNERS:
        costs, plays = [], []
        for seed in SEEDS:
            world = aw.worlds.Poisoning(MEANS, TARGET)
            aw.play(aw.make_learner(name, graph), world, HORIZON, seed)
            costs.append(world.cost)
            plays.append(world.target_plays / HORIZON)
        price[name], share[name] = float(np.mean(costs)), float(np.mean(plays))
    figure, axes = plt.subplots(figsize=(6.0, 3.0), layout="constrained")
    bars = axes.barh(list(price), list(price.values()), color="#0072B2")
    axes.bar_label(bars, [f"{100 * share[name]:.0f} % of the rounds" for name in price], padding=3)
    axes.set(xlabel="what the attacker spent", title="The price of a bad arm", xlim=(0, 1.5 * max(price.values())))
    figure.savefig("poisoning.png", dpi=120)
    print(", ".join(f"{name}: {value:.0f} for {100 * share[name]:.0f} %" for name, value in price.items()))
    assert share["thompson-n"] > 0.9
    assert price["exp3-ix"] > price["thompson-n"]


if __name__ == "__main__":
    main()
