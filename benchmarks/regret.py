"""What the default learner is worth: its regret beside its rivals', against the goals set for it.

Every row is one world on one graph; all learners meet the same losses. Columns: mean regret of each learner, the
ratio that matters, the goal, and the worst of the seeds over the mean for ours. Seeds from 0 are for reporting; tuning
was done on seeds from 100,000 and on other gaps.

    python benchmarks/regret.py                    # 50 seeds, about half an hour on two cores
    python benchmarks/regret.py --seeds 5 --only 10x10
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np

import allworlds as aw
from allworlds.learners import make_learner

OURS = "tsallis-shannon"
SIZES: dict[str, list[int]] = {
    "10x10": [10] * 10,
    "30x5": [5] * 30,
    "10x1": [1] * 10,
    "2x5": [5] * 2,
    "5x100": [100] * 5,
    "1,2,4,8,16": [1, 2, 4, 8, 16],
}


@dataclass(frozen=True)
class Task:
    """One world on one graph, with what is asked of the default learner there."""

    name: str
    sizes: list[int]
    world: aw.worlds.World
    horizon: int
    goals: dict[str, float]
    """Rival: the largest ratio of our mean regret to its mean regret."""


@dataclass(frozen=True)
class Row:
    """What was measured."""

    task: str
    horizon: int
    seeds: int
    mean: dict[str, float]
    worst_over_mean: float
    ratios: dict[str, float]
    goals: dict[str, float]
    reached: bool


def tasks() -> Iterator[Task]:
    """The worlds that the goals name."""
    for name, sizes in SIZES.items():
        n_arms = sum(sizes)
        horizon = 100_000 if name == "10x10" else 30_000
        for gap in (1 / 8, 1 / 16):
            world = aw.worlds.one_good_arm(n_arms, gap, n_arms // 2)
            yield Task(f"stochastic {name} gap {gap:g}", sizes, world, horizon, {"thompson-n": 1.5, "ucb-n": 1.0})
            world = aw.worlds.constrained_adversary(n_arms, n_arms // 2, gap)
            share = 1 / 15 if name == "10x10" and gap == 1 / 8 else 1 / 4
            yield Task(f"adversary {name} gap {gap:g}", sizes, world, horizon, {"thompson-n": share, "ucb-n": share})
    for name, world in (
        ("stochastic", aw.worlds.one_good_arm(30, 1 / 8, 15)),
        ("adversary", aw.worlds.constrained_adversary(30, 15, 1 / 8)),
    ):
        yield Task(f"{name} 1x30 gap 0.125", [30], world, 30_000, {"hedge": 2.0})
    for name in ("10x1", "2x5"):
        sizes = SIZES[name]
        means = np.full(sum(sizes), 0.175)
        means[sum(sizes) // 2] = 0.05
        yield Task(f"low variance {name}", sizes, aw.worlds.stochastic(means), 30_000, {"thompson-n": 3.0})


def corruption_tasks() -> Iterator[Task]:
    """Each attack, both budgets; asked: at most 1.5 times the best rival."""
    clean = aw.worlds.one_good_arm(100, 1 / 8, 50)
    for attack in ("flip", "best-worst", "decoy-best", "spread", "periodic", "all-worst"):
        for budget in (1000, 5000):
            world = aw.worlds.corrupted(clean, budget, attack)
            yield Task(f"{attack} {budget} 10x10", [10] * 10, world, 50_000, {"best rival": 1.5})


def measure(task: Task, learners: list[str], seeds: range) -> Row:
    """Play all learners of a task on the same losses."""
    cover = aw.clique_cover(aw.graphs.disjoint_cliques(task.sizes))
    regrets = {}
    for name in learners:
        learner = make_learner(name, cover=cover, horizon=task.horizon)
        regrets[name] = [t.final_regret for t in aw.play_many(learner, task.world, task.horizon, seeds)]
    mean = {name: float(np.mean(values)) for name, values in regrets.items()}
    rivals = {name: value for name, value in mean.items() if name not in (OURS, "hedge")}
    against = mean | ({"best rival": min(rivals.values())} if rivals else {})
    ratios = {name: mean[OURS] / against[name] for name in task.goals}
    return Row(
        task.name,
        task.horizon,
        len(seeds),
        mean,
        float(np.max(regrets[OURS]) / mean[OURS]),
        ratios,
        task.goals,
        all(ratios[name] <= goal for name, goal in task.goals.items()),
    )


def main() -> None:
    """Print a row a task, and at the end what was not reached."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--only", default="", help="tasks whose name contains this")
    parser.add_argument("--rivals", default="thompson-n,ucb-n", help="comma-separated, beside ours and hedge")
    parser.add_argument("--corruption", action="store_true", help="the corruption tasks instead")
    parser.add_argument("--json", action="store_true", help="one object a row")
    options = parser.parse_args()
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    missed = 0
    for task in corruption_tasks() if options.corruption else tasks():
        if options.only not in task.name:
            continue
        learners = [OURS, *options.rivals.split(","), *(["hedge"] if "hedge" in task.goals else [])]
        started = time.perf_counter()
        row = measure(task, learners, seeds)
        missed += not row.reached
        if options.json:
            print(json.dumps(asdict(row)), flush=True)
            continue
        means = "  ".join(f"{name} {value:8.1f}" for name, value in row.mean.items())
        ratios = ", ".join(f"{row.ratios[name]:.3f} of {name} (goal {goal:.3f})" for name, goal in row.goals.items())
        mark = "reached" if row.reached else "MISSED"
        print(
            f"{row.task:32s} {means}  worst/mean {row.worst_over_mean:4.2f}  {ratios}  {mark}"
            f"  [{time.perf_counter() - started:.0f} s]",
            flush=True,
        )
    print(f"{missed} missed", file=sys.stderr)


if __name__ == "__main__":
    main()
