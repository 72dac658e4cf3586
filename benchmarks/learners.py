"""How many rounds a second every registered learner plays, compiled, on one core.

Two sizes: 10 arms in 2 cliques, and 100 arms in 10. The goals are 100,000 rounds/s for every learner at 10 arms (10,000
for those that solve linear programs), and 150,000 for the default learner at 10 x 10. Speeds are by CPU time, since
machines are shared, and also given as a ratio to `uniform`, which does nothing but draw and whose speed is that of the
loop and the world. Learners take turns, and the best of the repeats counts.

    python benchmarks/learners.py [--rounds 100000] [--repeats 3] [--only SPEC]... [--size 100x100]... [--json]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

import allworlds as aw
from allworlds.learners.by_name import LEARNERS, make_learner

SIZES = {"2x5": (2, 5), "10x10": (10, 10)}
MEASURE = "uniform"
GOAL = 100_000
GOAL_OF_PROGRAMS = 10_000
PROGRAMS = ("elp", "epsilon-greedy-lp", "ucb-lp")
"""Learners that solve linear programs."""


def goal_of(name: str, size: str) -> int | None:
    """The rounds/s asked for, where any are."""
    if size == "2x5":
        return GOAL_OF_PROGRAMS if name in PROGRAMS else GOAL
    return 150_000 if name == "tsallis-shannon" else None


def speeds(names: list[str], size: tuple[int, int], rounds: int, repeats: int) -> dict[str, float]:
    """Rounds a second of each learner, the best of the repeats."""
    graph = aw.graphs.disjoint_cliques(*size)
    world = aw.worlds.one_good_arm(graph.n_arms, gap=0.125)
    learners = {name: make_learner(name, graph, horizon=rounds) for name in names}
    best = dict.fromkeys(names, 0.0)
    for name, learner in learners.items():
        if sys.stderr.isatty():
            print(f"compiling {name:<24}", end="\r", file=sys.stderr, flush=True)
        aw.play(learner, world, 10)
    for repeat in range(repeats):
        for name, learner in learners.items():
            before = time.thread_time()
            aw.play(learner, world, rounds, repeat)
            best[name] = max(best[name], rounds / (time.thread_time() - before))
    return best


def measure(
    names: list[str], sizes: dict[str, tuple[int, int]], rounds: int, repeats: int
) -> dict[str, dict[str, dict[str, Any]]]:
    """For each size and learner: its speed, its ratio to the measure, and its goal."""
    results = {}
    for label, size in sizes.items():
        found = speeds(names, size, rounds, repeats)
        results[label] = {
            name: {
                "rounds_per_second": speed,
                f"ratio_to_{MEASURE}": speed / found[MEASURE],
                "goal": goal_of(name, label),
                "holds": speed >= (goal_of(name, label) or 0),
            }
            for name, speed in found.items()
        }
    return results


def table(results: dict[str, dict[str, dict[str, Any]]]) -> str:
    """One line a learner; a star where the goal is missed."""
    names = list(next(iter(results.values())))
    lines = [f"{'learner':<24}" + "".join(f"{size + ', rounds/s':>18}{'/ ' + MEASURE:>12}" for size in results)]
    for name in names:
        line = f"{name:<24}"
        for row in results.values():
            cell = row[name]
            mark = " " if cell["holds"] else "*"
            line += f"{cell['rounds_per_second']:>17,.0f}{mark}{cell[f'ratio_to_{MEASURE}']:>12.2f}"
        lines.append(line)
    if any(not cell["holds"] for row in results.values() for cell in row.values()):
        lines.append(
            f"* below the goal: {GOAL:,} at 10 arms ({GOAL_OF_PROGRAMS:,} with linear programs), "
            "tsallis-shannon 150,000 at 10x10"
        )
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--only", action="append", metavar="SPEC", help="this learner, such as ucb-n or exp3:..., beside the measure"
    )
    parser.add_argument("--size", action="append", metavar="KxD", help="K cliques of D arms (default: 2x5 and 10x10)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    if options.rounds < 1 or options.repeats < 1:
        parser.error("rounds and repeats must be at least 1")
    names = list(dict.fromkeys([MEASURE, *(options.only or LEARNERS)]))
    if unknown := {name.partition(":")[0] for name in names} - set(LEARNERS):
        parser.error(f"there is no learner {sorted(unknown)[0]!r}; there are {', '.join(LEARNERS)}")
    try:
        sizes = {text: tuple(int(part) for part in text.split("x")) for text in options.size} if options.size else SIZES
        results = measure(names, sizes, options.rounds, options.repeats)
    except ValueError as error:
        parser.error(str(error))
    print(json.dumps(results) if options.json else table(results))
    return 0 if all(cell["holds"] for row in results.values() for cell in row.values()) else 1


if __name__ == "__main__":
    raise SystemExit(main())
