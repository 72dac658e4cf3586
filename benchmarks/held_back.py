"""The cells that judge the advice of ``allworlds recommend``: drawing them, and how good it is in them.

    scripts/bench held_back > src/allworlds/experiments/shipped/held-back.toml

Sizes, gaps, growths, budgets and lengths of phases are drawn from ``--seed``. Draw the file after the
rule of choice has been fixed, and judge it once. Whoever changes the rule by looking at these cells must draw new ones.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

import numpy as np
from numpy.typing import NDArray

from allworlds.analysis.comparison import LEAST_REGRET
from allworlds.experiments.load import read_cells
from allworlds.graphs.by_name import make_graph
from allworlds.learners.by_name import LEARNERS
from allworlds.workflows.comparison import CLEAN, HELD_BACK, REGIMES, Result, regime_of, with_ratios
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

SEVERAL = {name for name, recipe in LEARNERS.items() if recipe.world == "any"}
Place = tuple[str, str, int]
"""Graph, world and horizon."""
Runs = Mapping[Place, Mapping[str, NDArray[np.float64]]]
"""For each learner of a cell the regret of each run."""


def share(values: Sequence[float], most: float) -> str:
    """How many of the values are at most so large, in per cent."""
    return per_cent(sum(value <= most for value in values) / len(values))


def per_cent(part: float) -> str:
    """Without decimals, but with one where rounding would turn a goal that is missed into one that is reached.

    >>> per_cent(9 / 10), per_cent(161 / 179), per_cent(0.998), per_cent(1.0)
    ('90%', '89.9%', '99.8%', '100%')
    """
    text = f"{part:.0%}"
    return f"{part:.1%}" if text in ("90%", "100%") and part < float(text[:-1]) / 100 else text


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
        best = [per_cent(hindsight(mine, most)) for most in (1.5, 2.5)]
        cells = [*best, str(len(together)), share(together, 1.5), share(together, 2.5), f"{max(together):.2f}"]
        body.append([told or "untold", *cells])
    head = ["told", "best in hindsight: at most 1.5", "at most 2.5", "graphs", "advised, worlds together: at most 1.5"]
    return markdown([*head, "at most 2.5", "largest"], body)


def chance(folders: Mapping[str, Path]) -> str:
    """How much of all this is chance, from the single runs of experiments.

    Half of the runs choose and the other half judges, once each way: one learner for a graph and a regime, and one for
    each cell. Of the cells that judge the advice the table also has the advised learner's shares with their 95 %
    intervals, from runs drawn anew a thousand times.
    """
    body = []
    for name, folder in folders.items():
        runs = final_regrets(folder)
        for told in (None, *REGIMES):
            cells = {cell: mine for cell, mine in runs.items() if told in (None, regime_of(cell[1]))}
            if told is None:
                cells = {
                    cell: {n: values for n, values in mine.items() if n in SEVERAL} for cell, mine in cells.items()
                }
            cells = {cell: mine for cell, mine in cells.items() if mine}
            if not cells:
                continue
            judged = [again(cells, most, by_graph=by_graph) for by_graph in (True, False) for most in (1.5, 2.5)]
            advised = intervals(cells, told) if name == HELD_BACK else ["–", "–"]
            body.append([name, told or "untold", str(len(ratios(cells, slice(None)))), *advised, *judged])
    head = ["cells of", "told", "cells", "advised: at most 1.5 [95 %]", "at most 2.5 [95 %]"]
    head += ["one learner a graph, chosen in half of the runs: at most 1.5", "at most 2.5"]
    return markdown([*head, "one learner a cell, likewise: at most 1.5", "at most 2.5"], body)


def final_regrets(folder: Path) -> Runs:
    """The regret of each run of an experiment at its horizon, in the order of its seeds."""
    found: dict[Place, dict[str, dict[int, float]]] = {}
    for one in read_cells(folder):
        cell = one.record.cell
        mine = found.setdefault((cell.graph, cell.world, cell.horizon), {}).setdefault(cell.learner, {})
        mine[cell.seed] = float(one.rows.values[-1, CLEAN])
    return {
        place: {name: np.array([runs[seed] for seed in sorted(runs)]) for name, runs in mine.items()}
        for place, mine in found.items()
    }


def ratios(cells: Runs, part: slice) -> dict[Place, dict[str, float]]:
    """The ratios in a part of the runs, where the best regret is at least one."""
    means = {place: {name: float(np.mean(runs[part])) for name, runs in mine.items()} for place, mine in cells.items()}
    least = {place: min(mine.values()) for place, mine in means.items()}
    kept = {place: mine for place, mine in means.items() if least[place] >= LEAST_REGRET}
    return {place: {name: value / least[place] for name, value in mine.items()} for place, mine in kept.items()}


def again(cells: Runs, most: float, *, by_graph: bool) -> str:
    """The share within ``most`` of what half of the runs choose, in the other half: for graphs or for cells."""
    halves = [ratios(cells, slice(start, None, 2)) for start in (0, 1)]
    found = []
    for chosen_in, judged_in in (halves, halves[::-1]):
        groups: dict[str | Place, dict[Place, dict[str, float]]] = {}
        for place, mine in chosen_in.items():
            groups.setdefault(place[0] if by_graph else place, {})[place] = mine
        for group, places in groups.items():
            names = set.intersection(*(set(mine) for mine in places.values()))
            score = {
                name: (
                    sum(mine[name] > most for mine in places.values()),
                    sum(math.log(max(mine[name], 1e-9)) for mine in places.values()),
                )
                for name in names
            }
            best = min(score, key=score.__getitem__)
            same = [place for place in judged_in if (place[0] if by_graph else place) == group]
            found += [judged_in[place][best] for place in same]
    return share(found, most)


def intervals(cells: Runs, told: str | None, draws: int = 1000) -> list[str]:
    """The advised learner's shares, with the middle 95 % of those with runs drawn anew, the same for all learners."""
    rng = np.random.default_rng(0)
    graphs = {graph: horizon for graph, _, horizon in cells}
    advised = {graph: recommend(make_graph(graph), horizon, told).learner for graph, horizon in graphs.items()}
    point, drawn = [], []
    for (graph, _, _), mine in cells.items():
        values = np.array(list(mine.values()))
        chosen = list(mine).index(advised[graph])
        picks = rng.integers(0, values.shape[1], (draws, values.shape[1]))
        means = np.vstack([values.mean(axis=1), values[:, picks].mean(axis=2).T])
        least = means.min(axis=1)
        found = np.where(least >= LEAST_REGRET, means[:, chosen] / np.where(least == 0.0, 1.0, least), np.nan)
        point.append(found[0])
        drawn.append(found[1:])
    shares = []
    for most in (1.5, 2.5):
        counts = np.sum(np.array(drawn) <= most, axis=0) / np.sum(~np.isnan(np.array(drawn)), axis=0)
        low, high = np.quantile(counts, [0.025, 0.975])
        shares.append(f"{share([one for one in point if one == one], most)} [{low:.0%}, {high:.0%}]")
    return shares


def in_regime(rows: Sequence[Result], regime: str | None) -> list[Result]:
    """The rows that count where so much is told, with the ratios that count; learners of others' kinds are left out."""
    kept = with_ratios([row for row in rows if regime in (None, row.regime)], SEVERAL if regime is None else None)
    return [row for row in kept if regime is not None or row.learner in SEVERAL]


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
