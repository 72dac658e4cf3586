"""What a log costs: rounds a second of choose plus observe with a log, over those without.

Both are measured in turns in one run, by the clock, with the disk and all that is written at the end. Blocks are
written by another thread, which needs a second core to cost nothing: ``--cpu`` measures the processor time of both.
The goal is a half at 100 arms in 10 cliques.

    python benchmarks/log.py [--rounds 20000] [--repeats 5] [--cpu] [--json]
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import allworlds as aw
from agent import parser_of


def seconds_of_agent(agent: aw.Agent, losses: list[list[float]], clock: Callable[[], float]) -> float:
    """The time of one round for each row of losses, and of writing what waits."""
    begin = clock()
    for row in losses:
        decision = agent.choose()
        agent.observe(decision, row)
    if agent.log is not None:
        agent.log.flush()
    return clock() - begin


def measure(n_cliques: int, size: int, n_rounds: int, repeats: int, clock: Callable[[], float]) -> dict[str, float]:
    graph = aw.graphs.disjoint_cliques(n_cliques, size)
    losses = np.random.default_rng(1).uniform(size=(n_rounds, size)).tolist()
    spent: dict[str, list[float]] = {"none": [], "parquet": [], "jsonl": [], "function": []}
    with tempfile.TemporaryDirectory() as folder:
        targets: dict[str, Any] = {"none": None, "function": lambda row: None}
        targets |= {kind: Path(folder) / f"log.{kind}" for kind in ("parquet", "jsonl")}
        agents = {kind: aw.Agent(graph, seed=1, log=targets[kind]) for kind in spent}
        for turn in range(repeats + 1):
            for kind, agent in agents.items():
                seconds = seconds_of_agent(agent, losses if turn else losses[:100], clock)
                if turn:  # the first one compiles
                    spent[kind].append(seconds)
    ratios = {kind: statistics.median(a / b for a, b in zip(spent["none"], spent[kind], strict=True)) for kind in spent}
    return {
        "n_arms": n_cliques * size,
        "rounds_per_second": n_rounds / statistics.median(spent["none"]),
        "parquet_ratio": ratios["parquet"],
        "jsonl_ratio": ratios["jsonl"],
        "function_ratio": ratios["function"],
    }


def main(arguments: list[str] | None = None) -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--cpu", action="store_true", help="measure processor time")
    options = parser.parse_args(arguments)
    result = measure(
        options.cliques,
        options.size,
        options.rounds,
        options.repeats,
        time.process_time if options.cpu else time.perf_counter,
    )
    if options.json:
        print(json.dumps(result))
    else:
        print(f"{result['n_arms']:.0f} arms, {result['rounds_per_second']:,.0f} rounds/s without a log")
        print(
            f"  with Parquet {result['parquet_ratio']:.2f} of that, with JSON lines {result['jsonl_ratio']:.2f}, with a"
            f" function that does nothing {result['function_ratio']:.2f}"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
