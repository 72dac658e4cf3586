"""The comparison of the field: run its experiments, write the stored table and the page docs/comparison.md.

    scripts/bench comparison                      everything; goes on where it was stopped
    scripts/bench comparison --table growth       print one table, and run only what it needs

Results are kept in results/comparison/VERSION, so numbers of two versions are never mixed. The small versions of the
experiments are run; ``allworlds run NAME`` runs a full one.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from pathlib import Path

from allworlds.analysis.slopes import Slope
from allworlds.experiments.driver import Listener
from allworlds.experiments.work import code_version
from allworlds.learners.by_name import LEARNERS
from allworlds.reporting.heat_map import character
from allworlds.reporting.race_figures import short_titles
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
from held_back import attainable, held_back
from pages import markdown, write_between_marks

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "comparison.md"
STORED = ROOT / "src" / "allworlds" / "workflows" / TABLE
OURS = "tsallis-shannon"

Folders = Callable[[str], Path]


def ratio_text(value: float | None) -> str:
    """Two decimals below ten, none above; a dash for none."""
    return "–" if value is None else f"{value:.2f}" if value < 10 else f"{value:.0f}"


def matrix(rows: Sequence[Result], column: Callable[[Result], str], titles: dict[str, str] | None = None) -> str:
    """Learners by columns, the largest ratio in each, the smallest worst ratio first."""
    columns = list(dict.fromkeys(column(row) for row in rows))
    worst: dict[str, dict[str, float]] = {}
    for row in rows:
        if row.ratio is not None:
            mine = worst.setdefault(row.learner, {})
            mine[column(row)] = max(row.ratio, mine.get(column(row), 0.0))
    columns = [one for one in columns if any(one in mine for mine in worst.values())]
    order = sorted(worst, key=lambda name: max(worst[name].values()))
    body = []
    for name in order:
        mine = worst[name]
        shown = f"**{name}**" if name == OURS else name
        cells = [
            ratio_text(max(mine.values())),
            character(list(mine.values())),
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


def speed(rows: Sequence[Result]) -> str:
    """The time of a round on each graph of the first experiment, in the fastest run."""
    graphs = list(dict.fromkeys(row.graph for row in rows))
    times: dict[str, dict[str, float]] = {}
    for name in dict.fromkeys(row.learner for row in rows):
        for graph in graphs:
            mine = [row.microseconds for row in rows if (row.learner, row.graph) == (name, graph)]
            times.setdefault(name, {})[graph] = min(mine)
    body = [[name, *(f"{mine[graph]:.1f}" for graph in graphs)] for name, mine in times.items()]
    return markdown(["learner (µs a round)", *graphs], sorted(body, key=lambda line: float(line[2])))


TABLES: dict[str, tuple[str, Callable[[Folders], str]]] = {
    "worlds": ("all-worlds", lambda at: by_world(with_choices(collect("all-worlds", at("all-worlds"))))),
    "graphs": ("all-worlds", lambda at: by_graph(collect("all-worlds", at("all-worlds")))),
    "alpha-theta": ("alpha-vs-theta", lambda at: numbers(collect("alpha-vs-theta", at("alpha-vs-theta")))),
    "alpha-theta-graphs": ("alpha-vs-theta", lambda at: by_graph(collect("alpha-vs-theta", at("alpha-vs-theta")))),
    "directed": ("directed", lambda at: by_world(collect("directed", at("directed")))),
    "weak": ("weakly-observable", lambda at: slopes(at("weakly-observable"))),
    "changing": ("changing-graphs", lambda at: by_world(collect("changing-graphs", at("changing-graphs")))),
    "corruption": ("corruption-slopes", lambda at: slopes(at("corruption-slopes"))),
    "lock-ins": ("lock-ins", lambda at: shares(collect("lock-ins", at("lock-ins")))),
    "growth": ("constants", lambda at: slopes(at("constants"))),
    "speed": ("all-worlds", lambda at: speed(collect("all-worlds", at("all-worlds")))),
    "held-back": (HELD_BACK, lambda at: held_back(collect(HELD_BACK, at(HELD_BACK)))),
    "attainable": (HELD_BACK, lambda at: attainable(collect(HELD_BACK, at(HELD_BACK)), at(HELD_BACK))),
}
"""Each table of the page, and the experiment that it is made from."""


def main() -> None:
    """Run what is asked for and write or print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", choices=TABLES, help="print this table, and write nothing")
    parser.add_argument("--results", type=Path, default=ROOT / "results" / "comparison", help="folder of all runs")
    parser.add_argument("--jobs", type=int, help="threads; all cores if not given")
    options = parser.parse_args()
    home = options.results / code_version()

    def at(name: str) -> Path:
        return home / name

    def run(name: str) -> None:
        print(f"{name}: {home / name}", flush=True)
        run_experiment(name, at(name), small=True, jobs=options.jobs, listener=Listener(on_notice=print))

    if options.table:
        name, make = TABLES[options.table]
        run(name)
        print(make(at))
        return
    for name in (*EXPERIMENTS, HELD_BACK):
        run(name)
    write_results([row for name in (*EXPERIMENTS, HELD_BACK) for row in collect(name, at(name))], STORED)
    stored_results.cache_clear()
    for title, (_, make) in TABLES.items():
        text = f"{make(at)}\n\n```sh\nscripts/bench comparison --table {title}\n```"
        write_between_marks(PAGE, title, text)
    print(f"wrote '{STORED}' and '{PAGE}'")


if __name__ == "__main__":
    main()
