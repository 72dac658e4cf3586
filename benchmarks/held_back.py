"""The cells that judge the advice of ``allworlds recommend``: drawing them, and how good it is in them.

    scripts/bench held_back > src/allworlds/experiments/shipped/held-back.toml

Sizes, gaps, growths, budgets and lengths of phases are drawn from ``--seed``. Draw the file after the
rule of choice has been fixed, and judge it once. Whoever changes the rule by looking at these cells must draw new ones.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from statistics import median

import numpy as np

from allworlds.graphs.by_name import make_graph
from allworlds.learners.by_name import LEARNERS
from allworlds.workflows.comparison import REGIMES, Result, with_ratios
from allworlds.workflows.recommend import judge, recommend
from allworlds.worlds.corrupted import ATTACKS
from pages import markdown

SEED = 13
HEAD = '''\
name = "held-back"
question = "Is the learner that allworlds recommend names good in cells from which it was not chosen?"
about = """
Graphs, gaps, growths, budgets, phases and seeds other than in the nine experiments of the comparison, drawn by
benchmarks/held_back.py. Nothing was chosen by looking at these cells: they judge the advice (docs/comparison.md).
"""
small = ["grid.horizons=[10_000]", "grid.seeds=[1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007, 1008, 1009]"]
'''
TAIL = """
[report]
x = "learner"
panels = "world"
log = false
claim = "the recommended learner has at most 1.5 times the best regret in 90 % of the cells, and 2.5 times in all"
"""
INDEX = ("imed-n", "kl-ucb-n", "thompson-n", "ucb-n", "moss-n", "robust-ucb")
COVERED = ("tsallis-shannon", "tsallis-shannon-all", "tsallis-inf-rv", "tsallis-inf-graph", "exp3-ix", *INDEX)
DIRECTED = ("tsallis-inf-graph", "exp3-g-plus-plus", "exp3-ix", *INDEX)
CHANGING = ("tsallis-inf-graph", "exp3-set", "exp3-ix", *INDEX)
WEAK = ("exp3-g", "ito-2022", "kong-2022")
"""The learners of hostile-worlds; the others have at least 1.36 times the best regret in every cell of the others."""


def draw_graphs(rng: np.random.Generator) -> list[tuple[str, Sequence[str]]]:
    """Graphs of sizes that the other experiments do not have, with the learners that take them."""

    def size(low: int, high: int) -> int:
        return int(rng.integers(low, high + 1))

    def share(low: float, high: float) -> str:
        return f"{rng.uniform(low, high):.2f}"

    seed = size(100, 999)
    undirected = (
        f"bandit:{size(4, 7)}",
        f"disjoint-cliques:{size(3, 5)}x{size(5, 8)}",
        f"disjoint-cliques:{size(7, 9)}x{size(2, 5)}",
        f"path:{size(9, 14)}",
        f"cycle:{size(10, 15)}",
        f"star:{size(8, 14)}",
        f"erdos-renyi:{size(20, 28)},p={share(0.2, 0.5)},seed={seed}",
        f"erdos-renyi:{size(32, 50)},p={share(0.5, 0.8)},seed={seed + 1}",
    )
    directed = (
        f"loopy-star:{size(6, 11)}",
        f"first-price-bids:{size(6, 9)}",
        f"total-order:{size(7, 11)}",
        f"tournament:{size(9, 14)},seed={seed + 2}",
        f"random-directed:{size(12, 20)},p={share(0.2, 0.5)},seed={seed + 3}",
    )
    changing = (
        f"random-edges:{size(8, 11)},p={share(0.2, 0.5)},told=after",
        f"random-edges:{size(13, 18)},p={share(0.3, 0.7)},told=before",
    )
    weak = (f"revealing-action:{size(6, 9)}", f"loopless-clique:{size(5, 9)}")
    fields = ((undirected, COVERED), (directed, DIRECTED), (changing, CHANGING), (weak, WEAK))
    return [(graph, learners) for graphs, learners in fields for graph in graphs]


def draw_worlds(rng: np.random.Generator) -> list[str]:
    """Two stochastic worlds, five hostile and three corrupted ones."""

    def between(low: float, high: float) -> str:
        return f"{rng.uniform(low, high):.3f}"

    attacks = rng.choice(list(ATTACKS), size=3, replace=False)
    return [
        f"stochastic:gap={between(0.1, 0.2)}",
        f"stochastic:gap={between(0.2, 0.4)}",
        *(f"constrained-adversary:gap={between(0.1, 0.3)},growth={between(1.2, 3.0)}" for _ in range(2)),
        f"lock-in:quiet={between(0.2, 0.5)},trap={between(0.05, 0.15)}",
        f"lock-in:quiet={between(0.2, 0.5)},trap={between(0.01, 0.03)},quiet_level=0.35,"
        f"trap_levels=0.6/0.35,end_levels=0.35/{between(0.45, 0.6)},constant=0/0/0",
        f"lock-in:quiet={between(0.3, 0.6)},trap=0.1,quiet_level=0.4,trap_levels=0.4/0.4,"
        f"end_levels=0.3/{between(0.4, 0.55)},constant=0/0/0",
        *(f"corrupted:attack={attack},budget={rng.integers(100, 1200)},gap={between(0.2, 0.3)}" for attack in attacks),
    ]


def grid(graph: str, worlds: Sequence[str], learners: Sequence[str]) -> str:
    """One graph with its worlds as TOML."""

    def several(names: Sequence[str]) -> str:
        return "[\n" + "".join(f'    "{name}",\n' for name in names) + "]"

    return (
        f'\n[[grid]]\ngraphs = ["{graph}"]\nworlds = {several(worlds)}\nlearners = {several(learners)}\n'
        "horizons = [100_000]\nseeds = 20\n"
    )


def experiment(seed: int) -> str:
    """The whole file."""
    rng = np.random.default_rng(seed)
    grids = [grid(graph, draw_worlds(rng), learners) for graph, learners in draw_graphs(rng)]
    return "".join([HEAD, *grids, TAIL])


# --- how good the advice is ---


def share(values: Sequence[float], most: float) -> str:
    """How many of the values are at most so large, in per cent."""
    return f"{sum(value <= most for value in values) / len(values):.0%}"


def held_back(rows: Sequence[Result]) -> str:
    """How good the recommended learner is in cells that were not used to choose it."""
    body, judged = [], [(told, row) for told, row in judge(rows) if row.ratio is not None]
    for told in dict.fromkeys(one for one, _ in judged):
        ratios = sorted(((row.ratio or 0.0, row) for one, row in judged if one == told), key=lambda pair: pair[0])
        values = [ratio for ratio, _ in ratios]
        worst = ratios[-1][1]
        cells = [share(values, 1.5), share(values, 2.5), f"{values[-1]:.2f}"]
        where = f"{worst.learner}, {worst.graph}, {worst.world}"
        body.append([told, str(len(values)), f"{median(values):.2f}", *cells, where])
    return markdown(["told", "cells", "median ratio", "at most 1.5", "at most 2.5", "largest", "where"], body)


def attainable(rows: Sequence[Result]) -> str:
    """What limits advice: how good one learner for all worlds of a regime can be, chosen in hindsight."""
    body = []
    for told in (None, *REGIMES):
        mine = in_regime(rows, told)
        graphs = dict.fromkeys(row.graph for row in mine)
        together = [ratio for graph in graphs for ratio in all_together(mine, graph, told)]
        best = [f"{hindsight(mine, most):.0%}" for most in (1.5, 2.5)]
        cells = [*best, str(len(together)), share(together, 1.5), share(together, 2.5), f"{max(together):.2f}"]
        body.append([told or "untold", *cells])
    head = ["told", "best in hindsight: at most 1.5", "at most 2.5", "graphs", "advised, worlds together: at most 1.5"]
    return markdown([*head, "at most 2.5", "largest"], body)


def chance(rows: Sequence[Result], again: Sequence[Result]) -> str:
    """How good the learner with the least regret in a cell is in the same cell with other seeds."""
    body = []
    for told in (None, *REGIMES):
        best: dict[tuple[str, str, str, int], Result] = {}
        for row in in_regime(rows, told):
            if row.ratio is not None:
                best[row.cell] = min(row, best.get(row.cell, row), key=lambda one: one.regret)
        winners = {(cell, row.learner) for cell, row in best.items()}
        found = [row.ratio for row in in_regime(again, told) if (row.cell, row.learner) in winners and row.ratio]
        body.append([told or "untold", str(len(found)), share(found, 1.5), share(found, 2.5), f"{max(found):.2f}"])
    return markdown(["told", "cells", "at most 1.5", "at most 2.5", "largest"], body)


def in_regime(rows: Sequence[Result], regime: str | None) -> list[Result]:
    """The rows that count where so much is told, with the ratios that count; learners of others' kinds are left out."""
    several = {name for name, recipe in LEARNERS.items() if recipe.world == "any"}
    kept = with_ratios([row for row in rows if regime in (None, row.regime)], several if regime is None else None)
    return [row for row in kept if regime is not None or row.learner in several]


def hindsight(rows: Sequence[Result], most: float) -> float:
    """The share of cells with a ratio of at most ``most`` that the best choice of one learner for each graph has."""
    good: dict[str, dict[str, int]] = {}
    for row in rows:
        if row.ratio is not None:
            mine = good.setdefault(row.graph, {})
            mine[row.learner] = mine.get(row.learner, 0) + (row.ratio <= most)
    cells = {row.cell for row in rows if row.ratio is not None}
    return sum(max(mine.values()) for mine in good.values()) / len(cells)


def all_together(rows: Sequence[Result], graph: str, regime: str | None) -> list[float]:
    """The mean regret of the recommended learner over all worlds, over the least; empty where that is below one."""
    total: dict[str, float] = {}
    for row in rows:
        if row.graph == graph:
            total[row.learner] = total.get(row.learner, 0.0) + row.regret
    horizon = next(row.horizon for row in rows if row.graph == graph)
    chosen = recommend(make_graph(graph), horizon, regime).learner
    least = min(total.values())
    return [total[chosen] / least] if least >= 1.0 and chosen in total else []


def main() -> None:
    """Print the experiment."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=SEED)
    print(experiment(parser.parse_args().seed), end="")


if __name__ == "__main__":
    main()
