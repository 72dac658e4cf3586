"""The comparison of all learners: its experiments, and the table of results that ships with the package.

``scripts/bench comparison`` runs the small versions of :data:`EXPERIMENTS` and writes ``comparison.csv`` beside this
file. :func:`stored_results` reads it. A *cell* here is a graph, a world and a horizon, with one row for each learner.
"""

from __future__ import annotations

import csv
import functools
import io
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from importlib import resources
from pathlib import Path
from typing import Any

from allworlds.analysis.comparison import LEAST_REGRET
from allworlds.analysis.graph_facts import GraphFacts, Interval, graph_facts
from allworlds.experiments.load import FinishedCell, read_cells
from allworlds.experiments.parts import MEASURES
from allworlds.experiments.work import code_version
from allworlds.foundation.errors import InvalidParameter
from allworlds.foundation.files import write_atomic
from allworlds.foundation.specs import parse_spec
from allworlds.graphs.by_name import make_graph
from allworlds.learners.by_name import LEARNERS

EXPERIMENTS = (
    "all-worlds",
    "alpha-vs-theta",
    "directed",
    "weakly-observable",
    "corruption-slopes",
    "changing-graphs",
    "lock-ins",
    "constants",
    "hostile-worlds",
)
ADVICE = ("all-worlds", "alpha-vs-theta", "directed", "weakly-observable", "changing-graphs", "hostile-worlds")
"""The experiments that advice comes from; the others ask something else, of fewer learners."""
HELD_BACK = "held-back"
"""The experiment that judges the advice; none of its cells was used to choose."""
LOCKED_IN = 0.1
"""A run with more regret than this share of its rounds has not learned."""
REGIMES: dict[str, tuple[str, ...]] = {
    "stochastic": ("stochastic",),
    "corrupted": ("corrupted",),
    "adversarial": ("constrained-adversary", "switching", "lock-in", "phases"),
}
"""What can be known of the losses beforehand, and the worlds that stand for it."""
TABLE = "comparison.csv"
CLEAN = MEASURES.index("clean_regret")


@dataclass(frozen=True)
class Result:
    """One learner in one world on one graph, over all its runs."""

    experiment: str
    graph: str
    kind: str
    n_arms: int
    observability: str
    alpha: str
    """A number or ``low to high``; empty where there is none. The same for the next three."""
    fractional: str
    theta: str
    domination: str
    world: str
    learner: str
    horizon: int
    seeds: int
    regret: float
    """Pseudo-regret at the horizon on the losses before any tampering, mean of the runs.

    On the losses as played, tampering with the best arm makes the regret of index rules negative, and no ratio is left.
    """
    ratio: float | None
    """The regret over that of the best rival in the same cell; None where that one is below one."""
    above: float
    """The share of runs with a regret above 0.1 T."""
    microseconds: float
    """Time per round in the fastest run; other work on the machine made it up to ten times as long."""

    @property
    def cell(self) -> tuple[str, str, str, int]:
        """What learners must share to be compared."""
        return self.experiment, self.graph, self.world, self.horizon

    @property
    def regime(self) -> str | None:
        """The regime that the world stands for."""
        return regime_of(self.world)


def regime_of(world: str) -> str | None:
    """The regime that a world stands for.

    >>> regime_of("lock-in:quiet=0.35"), regime_of("uniform")
    ('adversarial', None)
    """
    name = parse_spec(world).name
    return next((regime for regime, worlds in REGIMES.items() if name in worlds), None)


def collect(experiment: str, folder: str | Path) -> list[Result]:
    """The rows of one finished experiment."""
    groups: dict[tuple[str, str, int, str], list[FinishedCell]] = {}
    for one in read_cells(folder):
        cell = one.record.cell
        groups.setdefault((cell.graph, cell.world, cell.horizon, cell.learner), []).append(one)
    rows = []
    for (graph, world, horizon, learner), cells in groups.items():
        finals = [float(one.rows.values[-1, CLEAN]) for one in cells]
        times = [one.record.seconds for one in cells if one.record.seconds is not None]
        rows.append(
            Result(
                experiment=experiment,
                graph=graph,
                **_facts_as_text(_facts_of(graph)),
                world=world,
                learner=learner,
                horizon=horizon,
                seeds=len(finals),
                regret=round(sum(finals) / len(finals), 2),
                ratio=None,
                above=round(sum(value > LOCKED_IN * horizon for value in finals) / len(finals), 3),
                microseconds=round(1e6 * min(times) / horizon, 2) if times else math.nan,
            )
        )
    return with_ratios(rows)


def with_ratios(rows: Sequence[Result], learners: Iterable[str] | None = None) -> list[Result]:
    """The rows with their regret over that of the best of the ``learners``, by default all rivals, in their cell."""
    counted = {name for name, recipe in LEARNERS.items() if recipe.rival} if learners is None else set(learners)
    best: dict[tuple[str, str, str, int], float] = {}
    for row in rows:
        if row.learner.partition(":")[0] in counted:
            best[row.cell] = min(row.regret, best.get(row.cell, math.inf))
    return [replace(row, ratio=_over(row.regret, best.get(row.cell))) for row in rows]


def _over(regret: float, best: float | None) -> float | None:
    return None if best is None or not LEAST_REGRET <= best < math.inf else round(regret / best, 3)


@functools.cache
def _facts_of(graph: str) -> GraphFacts:
    return graph_facts(make_graph(graph))


def _facts_as_text(facts: GraphFacts) -> dict[str, Any]:
    return {
        name: ("" if value is None else str(value)) if name not in ("kind", "n_arms") else value
        for name, value in vars(facts).items()
    }


def interval(text: str) -> Interval | None:
    """The inverse of writing an interval; None for an empty text.

    >>> interval("10 to 12"), interval("")
    (Interval(low=10.0, high=12.0), None)
    """
    if not text:
        return None
    low, _, high = text.partition(" to ")
    return Interval(float(low), float(high or low))


# --- the stored table -------------------------------------------------------------------------------------


def write_results(rows: Sequence[Result], path: Path, only: Sequence[str] | None = None) -> None:
    """Write the table: a line with the version that made it, then comma-separated values.

    Where ``only`` some experiments were played, the stored line stays and names the version of these besides.
    """
    text = io.StringIO()
    made = f"# made by allworlds {code_version()} with scripts/bench comparison"
    if only:
        made = f"{_stored_text().splitlines()[0]}; rows of {' and '.join(only)} by {code_version()}"
    text.write(f"{made}\n")
    writer = csv.DictWriter(text, [field.name for field in fields(Result)], lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: "" if value is None else value for key, value in asdict(row).items()} for row in rows)
    write_atomic(path, text.getvalue().encode())


def read_results(text: str) -> list[Result]:
    """The rows of a table that :func:`write_results` wrote."""
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    kinds: dict[str, Callable[[str], Any]] = {
        "n_arms": int,
        "horizon": int,
        "seeds": int,
        "regret": float,
        "ratio": lambda written: float(written) if written else None,
        "above": float,
        "microseconds": float,
    }
    return [Result(**{key: kinds.get(key, str)(value) for key, value in row.items()}) for row in rows]


@functools.cache
def stored_results() -> tuple[Result, ...]:
    """The table that ships with the package."""
    return tuple(read_results(_stored_text()))


def stored_version() -> str:
    """The version that made the stored table, such as ``0.1.0+1f3a5b7c9d2e``."""
    return _stored_text().split(maxsplit=5)[4]


def _stored_text() -> str:
    try:
        return resources.files("allworlds.workflows").joinpath(TABLE).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InvalidParameter("the table of results is missing; 'scripts/bench comparison' makes it") from None
