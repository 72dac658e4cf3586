"""What the default learner is worth: its regret beside its rivals', against the goals set for it.

Every row is one world on one graph; all learners meet the same losses. Ours plays more seeds than the rivals, so that
its worst seed means something. Regret is that on the losses as played; where they were corrupted, the regret on the
clean losses stands beside it. The setting was tuned on seeds from 100,000 and once looked at on seeds from 0; those
from 1,000 were played only when it was final.

    python benchmarks/regret.py                     # 50 seeds, 300 of ours, about a quarter of an hour on two cores
    python benchmarks/regret.py --corruption        # the attacks
    python benchmarks/regret.py --seeds 5 --tail-seeds 5 --only 10x10
    python benchmarks/regret.py --out benchmarks/results/regret.md
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

import allworlds as aw
from allworlds.learners import make_learner

OURS = "tsallis-shannon"
TAIL = 3.0
"""How many times its mean the worst seed may be."""
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
    tail_seeds: int
    mean: dict[str, float]
    """Of the first ``seeds`` seeds, for every learner."""
    clean: dict[str, float]
    """The same of the regret on the clean losses."""
    worst_over_mean: float
    """Ours, over all its seeds."""
    ratios: dict[str, float]
    goals: dict[str, float]
    missed: list[str]
    """Rivals against whom the goal is not reached; one whose mean is not positive must be undercut."""

    @property
    def tail_reached(self) -> bool:
        """Whether no seed is far above the mean."""
        return self.worst_over_mean <= TAIL


def tasks() -> Iterator[Task]:
    """The worlds that the goals name."""
    for name, sizes in SIZES.items():
        n_arms = sum(sizes)
        horizon = {"10x10": 100_000, "30x5": 50_000}.get(name, 30_000)
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


def measure(task: Task, learners: list[str], seeds: range, tail: range) -> Row:
    """Play all learners of a task on the same losses."""
    cover = aw.clique_cover(aw.graphs.disjoint_cliques(task.sizes))
    regrets, clean = {}, {}
    for name in learners:
        learner = make_learner(name, cover=cover, horizon=task.horizon)
        traces = aw.play_many(learner, task.world, task.horizon, tail if name == OURS else seeds)
        regrets[name] = np.array([trace.final_regret for trace in traces])
        clean[name] = float(np.mean([trace.clean_regret[-1] for trace in traces[: len(seeds)]]))
    mean = {name: float(np.mean(values[: len(seeds)])) for name, values in regrets.items()}
    rivals = {name: value for name, value in mean.items() if name not in (OURS, "hedge")}
    against = mean | ({"best rival": min(rivals.values())} if rivals else {})
    goals = {name: goal for name, goal in task.goals.items() if name in against}
    ratios = {name: mean[OURS] / against[name] for name in goals}
    limits = {name: against[name] * (goal if against[name] > 0.0 else 1.0) for name, goal in goals.items()}
    worst_over_mean = float(regrets[OURS].max() / regrets[OURS].mean())
    return Row(
        task.name,
        task.horizon,
        len(seeds),
        len(tail),
        mean,
        clean,
        worst_over_mean,
        ratios,
        goals,
        [name for name, limit in limits.items() if mean[OURS] > limit],
    )


def as_text(row: Row) -> str:
    """A line for the terminal."""
    means = "  ".join(f"{name} {value:8.1f}" for name, value in row.mean.items())
    ratios = ", ".join(f"{row.ratios[name]:.3f} of {name} (goal {goal:.3f})" for name, goal in row.goals.items())
    mark = "MISSED" if row.missed else "reached"
    return f"{row.task:32s} {means}  worst/mean {row.worst_over_mean:4.2f}  {ratios}  {mark}"


def _ratio(ratio: float, name: str) -> str:
    return f"{ratio:.2f} of {name}" if ratio >= 0.0 else "below 0"


def as_table(rows: list[Row], corrupted: bool) -> list[str]:
    """The rows in Markdown."""
    learners = list(dict.fromkeys(name for row in rows for name in row.mean))
    last = "on clean losses: ours, best rival" if corrupted else f"worst / mean (goal {TAIL:g})"
    head = ["world", "rounds", *learners, "ratio (goal)", last]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for row in rows:
        ratios = ", ".join(
            f"{_ratio(row.ratios[name], name)} ({goal:.2f}){' **missed**' if name in row.missed else ''}"
            for name, goal in row.goals.items()
        )
        if corrupted:
            best = min(value for name, value in row.clean.items() if name not in (OURS, "hedge"))
            tail = f"{row.clean[OURS]:.0f}, {best:.0f}"
        else:
            tail = f"{row.worst_over_mean:.2f}{'' if row.tail_reached else ' **missed**'}"
        means = [f"{row.mean[name]:.0f}" if name in row.mean else "" for name in learners]
        lines.append("| " + " | ".join([row.task, f"{row.horizon:,}", *means, ratios, tail]) + " |")
    return lines


def main() -> None:
    """Print a row a task, and at the end what was not reached."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--tail-seeds", type=int, default=300, help="seeds of ours, for its worst")
    parser.add_argument("--first-seed", type=int, default=1000)
    parser.add_argument("--only", default="", help="tasks whose name contains this")
    parser.add_argument("--rivals", default="thompson-n,ucb-n", help="comma-separated, beside ours and hedge")
    parser.add_argument("--corruption", action="store_true", help="the corruption tasks instead")
    parser.add_argument("--json", action="store_true", help="one object a row")
    parser.add_argument("--out", type=Path, help="write the table there, in Markdown")
    options = parser.parse_args()
    first = options.first_seed
    seeds = range(first, first + options.seeds)
    tail = range(first, first + max(options.seeds, 0 if options.corruption else options.tail_seeds))
    rivals = [name for name in options.rivals.split(",") if name]
    rows = []
    for task in corruption_tasks() if options.corruption else tasks():
        if options.only not in task.name:
            continue
        started = time.perf_counter()
        row = measure(task, [OURS, *rivals, *(["hedge"] if "hedge" in task.goals else [])], seeds, tail)
        rows.append(row)
        print(
            json.dumps(asdict(row)) if options.json else f"{as_text(row)}  [{time.perf_counter() - started:.0f} s]",
            flush=True,
        )
        if options.out:
            options.out.write_text("\n".join(as_table(rows, options.corruption)) + "\n")
    if not rows:
        sys.exit(f"no task has '{options.only}' in its name")
    missed, wide = sum(bool(row.missed) for row in rows), sum(not row.tail_reached for row in rows)
    tails = "" if options.corruption else f"; the worst seed is above {TAIL:g} times the mean in {wide}"
    print(f"{missed} of {len(rows)} missed{tails}", file=sys.stderr)


if __name__ == "__main__":
    main()
