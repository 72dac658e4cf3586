"""What sleeping arms cost an agent: regret against the best arm available, and over each arm's own waking rounds.

Two settings: every arm is awake with probability 0.6 in each round, and arms sleep for blocks of 200 rounds.

    python benchmarks/sleeping.py --rounds 4000 --seeds 4
"""

from __future__ import annotations

import argparse

import numpy as np

import allworlds as aw
from allworlds.worlds.sleeping import SleepingArms

MEANS = np.array([0.3, 0.5, 0.5, 0.5, 0.5, 0.5, 0.45, 0.5, 0.9])
"""Three cliques of three arms."""


def play(agent: aw.Agent, sleeping: SleepingArms | None, rounds: int, seed: int) -> tuple[float, float, float]:
    """Regret against the best available arm, in all rounds and in the second half, and the most over waking rounds."""
    rng, n_arms = np.random.default_rng(seed), MEANS.size
    total, late, waking = 0.0, 0.0, np.zeros(n_arms)
    for t in range(1, rounds + 1):
        mask = np.ones(n_arms, dtype=bool) if sleeping is None else sleeping.mask(t)
        decision = agent.choose(None if sleeping is None else sleeping.available(t))
        losses = (rng.random(n_arms) < MEANS).astype(float)
        agent.observe(decision, {arm: losses[arm] for arm in decision.observes})
        lost = MEANS[decision.arm] - MEANS[mask].min()
        total, late = total + lost, late + lost * (t > rounds // 2)
        waking[mask] += MEANS[decision.arm] - MEANS[mask]
    return total, late, float(waking.max())


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=4000)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--learners", nargs="*", default=["tsallis-shannon", "exp3-ix", "uniform-draws"])
    options = parser.parse_args()
    graph = aw.graphs.disjoint_cliques(3, 3)
    print("setting | learner | regret, best available | second half | most over waking rounds")
    for setting, awake, block in (("all awake", None, 1), ("each round", 0.6, 1), ("blocks of 200", 0.6, 200)):
        for name in options.learners:
            rows = []
            for seed in range(options.seeds):
                share = 1.0 / 9 if name == "uniform-draws" else None
                learner = aw.make_learner("tsallis-shannon" if share else name, graph)
                agent = aw.Agent(learner, seed=seed, minimum_share=share)
                sleeping = None if awake is None else SleepingArms(9, awake, block, seed)
                rows.append(play(agent, sleeping, options.rounds, seed))
            mean = np.mean(rows, axis=0)
            print(f"{setting} | {name} | {mean[0]:.0f} | {mean[1]:.0f} | {mean[2]:.0f}", flush=True)


if __name__ == "__main__":
    main()
