"""What a log costs: rounds a second of choose plus observe with a log, over those without.

Both are measured in turns in one run, so that the ratio does not depend on what else the machine does. The goal is a
half for Parquet at 100 arms in 10 cliques.

    python benchmarks/log.py [--rounds 20000] [--repeats 5] [--json]
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from pathlib import Path

import numpy as np

import allworlds as aw
from agent import seconds_of_agent


def measure(n_cliques: int, size: int, n_rounds: int, repeats: int) -> dict[str, float]:
    graph = aw.graphs.disjoint_cliques(n_cliques, size)
    losses = np.random.default_rng(1).uniform(size=(n_rounds, size)).tolist()
    spent: dict[str, list[float]] = {"none": [], "parquet": [], "jsonl": []}
    with tempfile.TemporaryDirectory() as folder:
        agents = {
            kind: aw.Agent(graph, seed=1, log=None if kind == "none" else Path(folder) / f"log.{kind}")
            for kind in spent
        }
        for turn in range(repeats + 1):
            for kind, agent in agents.items():
                seconds = seconds_of_agent(agent, losses if turn else losses[:100])
                if turn:  # the first one compiles
                    spent[kind].append(seconds)
    ratios = {kind: statistics.median(a / b for a, b in zip(spent["none"], spent[kind], strict=True)) for kind in spent}
    return {
        "n_arms": n_cliques * size,
        "rounds_per_second": n_rounds / statistics.median(spent["none"]),
        "parquet_ratio": ratios["parquet"],
        "jsonl_ratio": ratios["jsonl"],
    }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cliques", type=int, default=10)
    parser.add_argument("--size", type=int, default=10, help="arms of a clique")
    parser.add_argument("--rounds", type=int, default=20_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    result = measure(options.cliques, options.size, options.rounds, options.repeats)
    if options.json:
        print(json.dumps(result))
    else:
        print(f"{result['n_arms']:.0f} arms, {result['rounds_per_second']:,.0f} rounds/s without a log")
        print(f"  with Parquet {result['parquet_ratio']:.2f} of that, with JSON lines {result['jsonl_ratio']:.2f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
