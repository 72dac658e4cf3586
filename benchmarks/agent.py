"""How many rounds a second an agent plays from Python: choose, then observe.

The goal is 45,000 rounds/s at 100 arms in 10 cliques after the first call. Machines differ, so the time of a
round is also given in units of an empty loop: one that calls a trivial compiled function twice, as a round does
with its two kernels. That is the floor of any agent in Python.

    python benchmarks/agent.py [--rounds 20000] [--repeats 5] [--json]
"""

from __future__ import annotations

import argparse
import json
import statistics
import time

import numba
import numpy as np

import allworlds as aw

GOAL = 45_000


@numba.njit
def trivial(x: float) -> float:
    return x + 1.0


def seconds_of_agent(agent: aw.Agent, losses: list[list[float]]) -> float:
    """The time of one round for each row of losses."""
    begin = time.perf_counter()
    for row in losses:
        decision = agent.choose()
        agent.observe(decision, row)
    return time.perf_counter() - begin


def seconds_of_nothing(n_rounds: int) -> float:
    """The time of a loop that calls a compiled function twice a round."""
    begin = time.perf_counter()
    for _ in range(n_rounds):
        trivial(1.0)
        trivial(2.0)
    return time.perf_counter() - begin


def measure(n_cliques: int, size: int, n_rounds: int, repeats: int) -> dict[str, float]:
    """Median over the repeats of rounds/s, with the slowest and fastest, and the ratio to the empty loop."""
    cover = aw.clique_cover(aw.graphs.disjoint_cliques(n_cliques, size))
    agent = aw.Agent(aw.TsallisShannon(cover), seed=1)
    losses = np.random.default_rng(1).uniform(size=(n_rounds, size)).tolist()
    seconds_of_agent(agent, losses[:100])  # compiles
    seconds_of_nothing(100)
    spent = [seconds_of_agent(agent, losses) for _ in range(repeats)]
    empty = [seconds_of_nothing(n_rounds) for _ in range(repeats)]
    return {
        "n_arms": cover.n_arms,
        "n_cliques": cover.n_cliques,
        "rounds": n_rounds,
        "repeats": repeats,
        "rounds_per_second": n_rounds / statistics.median(spent),
        "slowest": n_rounds / max(spent),
        "fastest": n_rounds / min(spent),
        "times_the_empty_loop": statistics.median(spent) / statistics.median(empty),
        "residual": agent.learner.residual(agent._state),
    }


def parser_of(description: str | None) -> argparse.ArgumentParser:
    """The options of this benchmark, most of which ``log.py`` has too."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cliques", type=int, default=10)
    parser.add_argument("--size", type=int, default=10, help="arms of a clique")
    parser.add_argument("--rounds", type=int, default=20_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def main(arguments: list[str] | None = None) -> int:
    options = parser_of(__doc__).parse_args(arguments)
    result = measure(options.cliques, options.size, options.rounds, options.repeats)
    if options.json:
        print(json.dumps(result))
    else:
        print(f"{result['n_arms']:.0f} arms in {result['n_cliques']:.0f} cliques, choose + observe:")
        print(
            f"  {result['rounds_per_second']:,.0f} rounds/s, median of {options.repeats} "
            f"({result['slowest']:,.0f} to {result['fastest']:,.0f}); the goal is {GOAL:,} at 100 arms"
        )
        print(f"  {result['times_the_empty_loop']:.1f} times the empty loop with two compiled calls")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
