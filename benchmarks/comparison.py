"""The comparison of the field: run its experiments, write the stored table, docs/comparison.md and its pictures.

    scripts/bench comparison                      everything; goes on where it was stopped
    scripts/bench comparison --table growth       print one table, and run only what it needs
    scripts/bench comparison --table graphs --stored    the same from the results that ship with the package, in seconds
    scripts/bench comparison --only held-back     play this one, replace its rows and the tables that are made from rows

Results are kept in results/comparison/VERSION, so numbers of two versions are never mixed. The small versions of the
experiments are run; ``allworlds run NAME`` runs a full one.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from allworlds.analysis.slopes import Slope
from allworlds.experiments.driver import Listener
from allworlds.experiments.reading import read_experiment
from allworlds.experiments.work import code_version
from allworlds.graphs.by_name import make_graph
from allworlds.learners.by_name import LEARNERS, make_learner
from allworlds.reporting.heat_map import characters, ratio_text
from allworlds.reporting.race_figures import short_titles
from allworlds.simulation import play
from allworlds.workflows.comparison import (
    EXPERIMENTS,
    HELD_BACK,
    TABLE,
    Result,
    collect,
    stored_results,
    write_results,
)
from allworlds.workflows.experiments import run_experiment
from allworlds.workflows.results import summarise_experiment
from allworlds.worlds.by_name import make_world
from held_back import attainable, chance, held_back
from matrices import FOLDER as PICTURES
from matrices import OURS, draw
from pages import markdown, write_between_marks

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "comparison.md"
STORED = ROOT / "src" / "allworlds" / "workflows" / TABLE


def matrix(rows: Sequence[Result], column: Callable[[Result], str], titles: dict[str, str] | None = None) -> str:
    """Learners by columns, the largest ratio in each, the smallest worst ratio first."""
    columns = list(dict.fromkeys(column(row) for row in rows))
    worst: dict[str, dict[str, float]] = {}
    for row in rows:
        if row.ratio is not None:
            mine = worst.setdefault(row.learner, {})
            mine[column(row)] = max(row.ratio, mine.get(column(row), 0.0))
    columns = [one for one in columns if any(one in mine for mine in worst.values())]
    order, kinds = sorted(worst, key=lambda name: max(worst[name].values())), characters(worst)
    body = []
    for name in order:
        mine = worst[name]
        shown = f"**{name}**" if name == OURS else name
        cells = [
            ratio_text(max(mine.values())),
            kinds[name],
            *(ratio_text(mine.get(one)) for one in columns),
        ]
        body.append([shown, *cells])
    return markdown(["learner", "worst", "", *((titles or {}).get(one, one) for one in columns)], body)


def by_world(rows: Sequence[Result]) -> str:
    """The largest ratio over the graphs, for each world."""
    return matrix(rows, lambda row: row.world, short_titles(list(dict.fromkeys(row.world for row in rows))))


def with_choices(rows: Sequence[Result]) -> list[Result]:
    """Without full information, where all play on one clique and a leader is hard to beat."""
    return [row for row in rows if not row.graph.startswith("full-information")]


def by_graph(rows: Sequence[Result]) -> str:
    """The largest ratio over the worlds, for each graph."""
    return matrix(rows, lambda row: row.graph)


def numbers(rows: Sequence[Result]) -> str:
    """Alpha against theta: the graphs, and who is best of the learners good in several worlds, over all worlds."""
    body = []
    for graph in dict.fromkeys(row.graph for row in rows):
        mine = [row for row in rows if row.graph == graph]
        several = [row for row in mine if LEARNERS.find(row.learner).world == "any" and row.ratio is not None]
        worst = {row.learner: max(r.ratio or 0.0 for r in several if r.learner == row.learner) for row in several}
        hostile = {row.learner: row.regret for row in mine if row.world.startswith("constrained")}
        first, *_ = sorted(worst, key=worst.__getitem__)
        least = min(hostile, key=hostile.__getitem__)
        facts = [mine[0].alpha, mine[0].fractional, mine[0].theta]
        ours = ratio_text(worst.get(OURS))
        body.append([graph, *facts, f"{first} ({worst[first]:.2f})", ours, f"{least} ({hostile[least]:,.0f})"])
    head = ["graph", "alpha", "fractional", "theta", "smallest worst ratio of those good in several worlds"]
    return markdown([*head, f"worst ratio of {OURS}", "least regret with the constrained adversary"], body)


def slope_text(slope: Slope | None) -> str:
    """The slope with its interval."""
    if slope is None:
        return "–"
    ends = "no interval" if slope.low is None else f"{slope.low:.2f}, {slope.high:.2f}"
    return f"{slope.value:.2f} [{ends}]"


def slopes(folder: Path) -> str:
    """The slopes of each learner, a column for each panel of the experiment's report."""
    panels = summarise_experiment(folder).panels
    lines = {panel.name: {line.name: line for line in panel.lines} for panel in panels}
    names = list(dict.fromkeys(name for found in lines.values() for name in found))
    if len(lines) > len(names):  # the longer side goes down
        body = [
            [title, *(slope_text(f[name].slope) if name in f else "–" for name in names)] for title, f in lines.items()
        ]
        return markdown(["where", *names], body)
    body = [[name, *(slope_text(f[name].slope) if name in f else "–" for f in lines.values())] for name in names]
    return markdown(["learner", *(name or "slope of the excess [95 %]" for name in lines)], body)


def shares(rows: Sequence[Result]) -> str:
    """The share of runs above 0.1 T, the safest first."""
    worlds = list(dict.fromkeys(row.world for row in rows))
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        mine = found.setdefault(row.learner, {})
        mine[row.world] = max(row.above, mine.get(row.world, 0.0))
    order = sorted(found, key=lambda name: max(found[name].values()))
    body = [[name, *(f"{100 * found[name].get(world, math.nan):.0f} %" for world in worlds)] for name in order]
    return markdown(["learner", *worlds], body)


def speed() -> str:
    """Processor time of a round on the graphs of the first experiment, measured now; other work hardly changes it."""
    grid = read_experiment("all-worlds")[0].grid[0]
    graphs = [graph.spec for graph in grid.graphs]
    times = {learner.spec: [microseconds(learner.spec, graph) for graph in graphs] for learner in grid.learners}
    order = sorted(times, key=lambda name: times[name][1])
    body = [[name, *(f"{value:.2f}" for value in times[name])] for name in order]
    return markdown(["learner (µs a round)", *graphs], body)


def microseconds(learner: str, graph: str, rounds: int = 10_000) -> float:
    """The fastest of three runs in a stochastic world, after a short one that compiles."""
    made = make_graph(graph)
    player = make_learner(learner, made, rounds)
    world = make_world("stochastic:gap=0.125", made.n_arms)
    play(player, world, 200, 0)
    found = []
    for seed in range(3):
        started = time.process_time()
        play(player, world, rounds, seed)
        found.append(time.process_time() - started)
    return 1e6 * min(found) / rounds


FROM_ROWS: dict[str, tuple[str, Callable[[Sequence[Result]], str]]] = {
    "worlds": ("all-worlds", lambda rows: by_world(with_choices(rows))),
    "graphs": ("all-worlds", by_graph),
    "alpha-theta": ("alpha-vs-theta", numbers),
    "alpha-theta-graphs": ("alpha-vs-theta", by_graph),
    "directed": ("directed", by_world),
    "changing": ("changing-graphs", by_world),
    "lock-ins": ("lock-ins", shares),
    "held-back": (HELD_BACK, held_back),
    "attainable": (HELD_BACK, attainable),
}
"""Tables of the page that are made from an experiment's rows in the stored table."""
FROM_RUNS: dict[str, tuple[str, Callable[[Path], str]]] = {
    "weak": ("weakly-observable", slopes),
    "corruption": ("corruption-slopes", slopes),
    "growth": ("constants", slopes),
}
"""Tables that need the single runs of an experiment."""
CHANCE, SPEED = "chance", "speed"
"""The table that needs the single runs of two experiments, and the one that is measured on the spot."""
TITLES = (*FROM_ROWS, *FROM_RUNS, CHANCE, SPEED)


def stored(experiment: str) -> list[Result]:
    """The rows of an experiment in the table that ships with the package."""
    return [row for row in stored_results() if row.experiment == experiment]


def main() -> None:
    """Run what is asked for and write or print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", choices=TITLES, help="print this table, and write nothing")
    parser.add_argument("--stored", action="store_true", help="make the table from the shipped results; run nothing")
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=(*EXPERIMENTS, HELD_BACK), help="see above")
    parser.add_argument("--results", type=Path, default=ROOT / "results" / "comparison", help="folder of all runs")
    parser.add_argument("--jobs", type=int, help="threads; all cores if not given")
    options = parser.parse_args()
    if options.stored and options.table not in FROM_ROWS:
        parser.error(f"--stored needs --table with one of {', '.join(FROM_ROWS)}")
    home = options.results / code_version()

    def run(name: str) -> Path:
        folder = Path(home / name)
        print(f"{name}: {folder}", flush=True)
        run_experiment(name, folder, small=True, jobs=options.jobs, listener=Listener(on_notice=print))
        return folder

    def make(title: str) -> str:
        if title == SPEED:
            return speed()
        if title == CHANCE:
            return chance({name: run(name) for name in (HELD_BACK, "hostile-worlds")})
        if title in FROM_RUNS:
            name, draw = FROM_RUNS[title]
            return draw(run(name))
        name, write = FROM_ROWS[title]
        return write(stored(name) if options.stored or not options.table else collect(name, run(name)))

    if options.table:
        print(make(options.table))
        return
    played = options.only or (*EXPERIMENTS, HELD_BACK)
    found = {name: collect(name, run(name)) if name in played else stored(name) for name in (*EXPERIMENTS, HELD_BACK)}
    write_results([row for rows in found.values() for row in rows], STORED, options.only)
    stored_results.cache_clear()
    for title in [title for title in TITLES if title in FROM_ROWS or not options.only]:
        write_between_marks(PAGE, title, f"{make(title)}\n\n```sh\nscripts/bench comparison --table {title}\n```")
    print(f"wrote '{STORED}', '{PAGE}' and {len(draw())} pictures in '{PICTURES}'")


if __name__ == "__main__":
    main()
