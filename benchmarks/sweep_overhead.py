"""What a sweep costs beside the bare play: cells in a store against ``play_many`` for the same runs.

    python benchmarks/sweep_overhead.py            both goals, on two jobs
    python benchmarks/sweep_overhead.py --quick    a tenth of the cells of the first

Goals: 1,000 cells of 100,000 rounds in at most 1.1 times the bare time; 1,000 cells of 1,000 rounds with at most 3 ms
a cell on top. Bare and sweep alternate, so that a busy machine slows both; a sweep's time holds all from reading the
file to the last sync.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import allworlds as aw
from allworlds.experiments.cells import Cell
from allworlds.simulation import play
from allworlds.workflows.experiments import make_plan, run_experiment

RATIO, MILLISECONDS = 1.1, 3.0
SEEDS = 250
FILE = """
name = "overhead"
question = "What does the store cost?"
[[grid]]
graphs = ["disjoint-cliques:2x5"]
worlds = ["stochastic:gap=0.125", "constrained-adversary:gap=0.125"]
learners = ["tsallis-shannon", "ucb-n"]
horizons = [{horizon}]
seeds = {seeds}
"""


def bare(cells: list[Cell], jobs: int) -> float:
    """The same runs by ``play_many`` alone, one call for each learner in each world."""
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.learner, cell.world), []).append(cell)
    started = time.perf_counter()
    cover = aw.clique_cover(aw.graphs.by_name.make_graph(cells[0].graph))
    for (learner, world), members in groups.items():
        horizon = members[0].horizon
        player = aw.make_learner(learner, cover, horizon)
        place = aw.worlds.by_name.make_world(world, cover.n_arms)
        aw.play_many(player, place, horizon, [cell.seed for cell in members], jobs)
    return time.perf_counter() - started


def sweep(file: Path, jobs: int) -> float:
    """All of it, in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        summary = run_experiment(file, folder, jobs=jobs)
        assert summary.complete
        return time.perf_counter() - started


def measure(horizon: int, seeds: int, jobs: int, repeats: int) -> dict[str, float]:
    """The least of the bare times and of the sweep's times."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "overhead.toml"
        file.write_text(FILE.format(horizon=horizon, seeds=seeds), encoding="utf-8")
        plan = make_plan(file)
        for cell in plan.cells:
            if cell.seed_number == 0:  # compile
                learner = plan.cache.learner(cell.graph, cell.learner, cell.horizon)
                play(learner, plan.cache.world(cell.graph, cell.world), 2)
        times = [(bare(plan.cells, jobs), sweep(file, jobs)) for _ in range(repeats)]
    plain, full = (min(column) for column in zip(*times, strict=True))
    cells = len(plan.cells)
    return {
        "cells": cells,
        "horizon": horizon,
        "bare_seconds": plain,
        "sweep_seconds": full,
        "ratio": full / plain,
        "milliseconds_a_cell": 1000.0 * (full - plain) / cells,
    }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="100 long cells instead of 1,000")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    short = measure(1000, SEEDS, options.jobs, options.repeats)
    long = measure(100_000, SEEDS // 10 if options.quick else SEEDS, options.jobs, max(1, options.repeats // 3))
    holds = short["milliseconds_a_cell"] <= MILLISECONDS and long["ratio"] <= RATIO
    if options.json:
        print(json.dumps({"short": short, "long": long, "jobs": options.jobs, "holds": holds}))
        return 0 if holds else 1
    for row, goal in ((short, f"at most {MILLISECONDS} ms a cell"), (long, f"at most {RATIO} times")):
        print(
            f"{row['cells']} cells of {row['horizon']:,} rounds, {options.jobs} jobs: "
            f"bare {row['bare_seconds']:.2f} s, sweep {row['sweep_seconds']:.2f} s, ratio {row['ratio']:.3f}, "
            f"{row['milliseconds_a_cell']:.2f} ms a cell on top; goal: {goal}"
        )
    return 0 if holds else 1


if __name__ == "__main__":
    raise SystemExit(main())
