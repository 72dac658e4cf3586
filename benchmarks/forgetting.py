"""What the learner's ``half_life`` is worth where the world moves, and what it costs where it does not.

    python benchmarks/forgetting.py            # graph, horizon and seeds on which nothing was chosen
    python benchmarks/forgetting.py --tune     # those on which the half-life was chosen

Where the world moves, no fixed arm is good all the time. So the table has the mean loss above that of the best arm of
each round, and beside it, in brackets, the usual regret against the best fixed arm.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import numpy as np

import allworlds as aw
from allworlds.worlds.losses import reveal

HALF_LIVES = (100, 200, 400, 800, 1600)
RIVALS = (
    "thompson-discounted",
    "thompson-discounted:discount=0.998",
    "thompson-discounted:discount=0.9995",
    "ucb-window:window=1000",
    "ucb-discounted:discount=0.999",
    "lu-nonstationary:window=1000,changes=10",
    "thompson-n",
    "imed-n",
    "ucb-n",
)
WORLDS = ("switching", "drifting", "stochastic:gap=0.125", "constrained-adversary:gap=0.125")


class Setting(NamedTuple):
    """On what the learners are measured."""

    graph: str
    horizon: int
    seeds: range


TUNING = (
    Setting("disjoint-cliques:5x5", 20_000, range(1_000, 1_004)),
    Setting("disjoint-cliques:12x6", 20_000, range(1_000, 1_004)),
)
REPORTED = (Setting("disjoint-cliques:10x10", 30_000, range(2_000, 2_006)),)


def above_fixed(world: aw.worlds.World, horizon: int) -> float:
    """How much less the best arm of each round loses in total than the best fixed arm, in means."""
    rows, totals, best = np.empty((4, world.n_arms)), np.zeros(world.n_arms), 0.0
    arrays, arms = world.for_run(0, horizon), np.arange(world.n_arms)
    for round in range(1, horizon + 1):
        reveal(arrays, 0, round, arms, rows)
        totals += rows[1]
        best += rows[1].min()
    return float(totals.min() - best)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--tune", action="store_true", help="play on the graph and seeds of the tuning")
    options.add_argument("--half-lives", nargs="*", type=int, help="half-lives to play")
    options.add_argument("--rivals", nargs="*", default=RIVALS, help="learners to compare with")
    options.add_argument("--worlds", nargs="*", default=WORLDS, help="worlds to play in")
    chosen = options.parse_args()
    for setting in TUNING if chosen.tune else REPORTED:
        print_table(setting, chosen)


def print_table(setting: Setting, chosen: argparse.Namespace) -> None:
    """Play every learner in every world of a setting; a row as soon as it is known."""
    lives = HALF_LIVES if chosen.half_lives is None else chosen.half_lives
    learners = ["tsallis-shannon", *(f"tsallis-shannon:half_life={life}" for life in lives), *chosen.rivals]
    graph = aw.make_graph(setting.graph)
    seeds = f"{len(setting.seeds)} seeds from {setting.seeds[0]}"
    print(f"\n{setting.graph}, {setting.horizon:,} rounds, {seeds}\n", flush=True)
    print("| learner | " + " | ".join(chosen.worlds) + " |\n|---|" + "---:|" * len(chosen.worlds))
    worlds = [aw.make_world(spec, graph.n_arms) for spec in chosen.worlds]
    gains = [above_fixed(world, setting.horizon) for world in worlds]
    for name in learners:
        cells = []
        for world, gain in zip(worlds, gains, strict=True):
            traces = aw.play_many(aw.make_learner(name, graph, setting.horizon), world, setting.horizon, setting.seeds)
            mean = float(np.mean([trace.final_regret for trace in traces]))
            cells.append(f"{mean + gain:,.0f} ({mean:,.0f})")
        print(f"| `{name}` | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
