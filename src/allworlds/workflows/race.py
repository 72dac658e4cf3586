"""The race: a built-in experiment, made from a graph, worlds and learners, with a report of its own."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from allworlds import __version__
from allworlds.analysis.comparison import RaceSummary, Runs, Standing, WorstRatio, standings, worst_ratios
from allworlds.experiments.cells import MAX_SEEDS
from allworlds.experiments.driver import Listener
from allworlds.experiments.load import FinishedCell, read_cells
from allworlds.experiments.reading import Source, as_experiment
from allworlds.experiments.store import Store, read_description
from allworlds.foundation.checks import whole
from allworlds.foundation.errors import CellsFailed, InvalidParameter
from allworlds.foundation.files import write_atomic
from allworlds.graphs.by_name import graph_spec, make_graph
from allworlds.learners.base import accepts_graph, check_accepted
from allworlds.learners.by_name import LEARNERS
from allworlds.reporting.canvas import check_drawing
from allworlds.reporting.page import FIGURES, REPORT
from allworlds.reporting.race_report import describe_graph, finding, write_race_report
from allworlds.workflows import machine_line, plain_data
from allworlds.workflows.experiments import RunPlan, open_run, plan_of, run_plan, stored_plan
from allworlds.worlds.by_name import WORLDS
from allworlds.worlds.corrupted import ATTACKS

DEFAULT_WORLDS = (
    "stochastic:gap=0.125",
    "constrained-adversary:gap=0.125",
    "corrupted:attack=best-worst,budget=1000,gap=0.125",
    "lock-in",
)
DEFAULT_LEARNERS = (
    "guarded",
    "tsallis-shannon",
    "tsallis-shannon-paper",
    "spm-ftrl",
    "tsallis-inf-rv",
    "exp3-ix",
    "imed-n",
    "thompson-n",
    "ucb-n",
)
BEYOND_COVERS = (
    "exp3-g",
    "exp3-g-plus-plus",
    "tsallis-inf-graph",
    "exp3-ix",
    "exp3-wix",
    "imed-n",
    "thompson-n",
    "ucb-n",
)
"""The learners of the default race on graphs that have no clique cover, as far as they take the graph."""
MORE_WORLDS = (
    "stochastic:gap=0.0625",
    *(f"corrupted:attack={attack},budget=1000,gap=0.125" for attack in ATTACKS if attack != "best-worst"),
    "switching:gap=0.25",
    "drifting",
    "random",
)
"""With :data:`DEFAULT_WORLDS`, every kind of world and every attack: none is left out because of who wins in it."""
OURS = ("guarded", "tsallis-shannon")
"""The learner that the others are compared with is the first of these that takes part, or else the first of all."""
QUESTION = "Who is good in every world?"


@dataclass(frozen=True)
class Race:
    """The options of a race; graph, worlds and learners are specs (see :mod:`allworlds.foundation.specs`).

    >>> Race(graph="bandit:10", horizon=1000).worlds[0]
    'stochastic:gap=0.125'
    """

    graph: str = "disjoint-cliques:10x10"
    worlds: Sequence[str] = DEFAULT_WORLDS
    learners: Sequence[str] = DEFAULT_LEARNERS
    horizon: int = 30_000
    seeds: int = 20
    """The number of runs of a learner in a world."""
    first_seed: int = 0

    def __post_init__(self) -> None:
        """Check the counts, give every spec its one spelling, and drop repetitions."""
        for name, least, most in (("horizon", 1, None), ("seeds", 1, MAX_SEEDS), ("first_seed", 0, None)):
            object.__setattr__(self, name, whole(name, getattr(self, name), at_least=least, at_most=most))
        object.__setattr__(self, "graph", str(graph_spec(self.graph)))
        for name, registry in (("worlds", WORLDS), ("learners", LEARNERS)):
            specs = getattr(self, name)
            if isinstance(specs, str) or not isinstance(specs, Iterable) or not (specs := tuple(specs)):
                raise InvalidParameter(f"{name} is {specs!r}; expected a list with at least one name")
            object.__setattr__(self, name, tuple(dict.fromkeys(str(registry.normal(spec)) for spec in specs)))

    @property
    def ours(self) -> str:
        """The learner that the others are compared with."""
        return next((name for name in OURS if name in self.learners), self.learners[0])

    def plan(self) -> RunPlan:
        """The race as an experiment with its cells; raises where graph, worlds and learners do not fit together.

        >>> plan = Race("bandit:3", ("stochastic",), ("tsallis-shannon",), horizon=10, seeds=2, first_seed=5).plan()
        >>> [cell.seed_number for cell in plan.cells]
        [5, 6]
        """
        grid = {
            "graphs": [self.graph],
            "worlds": list(self.worlds),
            "learners": list(self.learners),
            "horizons": [self.horizon],
            "seeds": list(range(self.first_seed, self.first_seed + self.seeds)),
        }
        data = {"name": "race", "question": QUESTION, "record_masses": True, "grid": [grid]}
        source = Source(self.command(), Path.cwd())
        return plan_of(as_experiment(data, "the race"), source, asdict(self))

    def command(self, out: str | Path | None = None) -> str:
        """What to type to run this race.

        >>> Race(worlds=("switching",), learners=("ucb-n",), seeds=2).command()
        'allworlds race --graph disjoint-cliques:10x10 --world switching --learner ucb-n --horizon 30000 --seeds 2'
        """
        options = [
            ("--graph", self.graph),
            *(("--world", world) for world in self.worlds),
            *(("--learner", learner) for learner in self.learners),
            ("--horizon", self.horizon),
            ("--seeds", self.seeds),
            ("--first-seed", self.first_seed or None),
            ("--out", out),
        ]
        words = [str(word) for option in options if option[1] is not None for word in option]
        return shlex.join(["allworlds", "race", *words])


@dataclass(frozen=True, repr=False)
class RaceResult:
    """A finished race."""

    race: Race
    summary: RaceSummary
    seconds: float | None
    """How long its last start took, without cells that were finished before; None if that is not known."""
    report: Path | None
    """The page, if one was written."""
    jobs: int | None
    """The threads of its last start; None if that is not known."""

    @property
    def standings(self) -> tuple[Standing, ...]:
        """Every learner in every world."""
        return self.summary.standings

    @property
    def ratios(self) -> tuple[WorstRatio, ...]:
        """The headline: each learner's worst ratio over the worlds, the best learner first."""
        return self.summary.ratios

    @property
    def answers(self) -> list[str]:
        """The headline in a sentence or two."""
        return [finding(self.summary)]

    def __repr__(self) -> str:
        ratios = ", ".join(f"{row.learner} {'-' if row.ratio is None else f'{row.ratio:.2f}'}" for row in self.ratios)
        played = f"{len(self.race.worlds)} worlds, {self.race.horizon} rounds, {self.race.seeds} seeds"
        return f"RaceResult({self.race.graph}, {played}; worst ratios: {ratios})"

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; a number that JSON cannot write is None."""
        summary = self.summary
        data = {
            "allworlds": __version__,
            "race": {
                "graph": self.race.graph,
                "n_arms": summary.played_on.n_arms,
                "n_cliques": None if summary.cover is None else summary.cover.n_cliques,
                "worlds": list(self.race.worlds),
                "learners": list(self.race.learners),
                "horizon": self.race.horizon,
                "seeds": list(summary.seeds),
            },
            "ours": summary.ours,
            "worst_ratios": self.ratios,
            "standings": self.standings,
            "command": summary.command,
            "machine": summary.machine,
            "versions": dict(summary.versions),
            "report": None if self.report is None else str(self.report),
            "timing": {"jobs": self.jobs, "seconds": self.seconds},
        }
        return dict(plain_data(data))


def full_race() -> dict[str, Any]:
    """What ``--full`` changes: every learner that takes the graph and every kind of world, in few and short runs."""
    return {"worlds": DEFAULT_WORLDS + MORE_WORLDS, "learners": "all", "horizon": 10_000, "seeds": 4}


def fitting_learners(graph: str, learners: Sequence[str]) -> tuple[list[str], list[str]]:
    """Those of the learners that take the graph, and those that do not; raises where none does.

    >>> fitting_learners("first-price-bids:4", ["tsallis-shannon", "exp3-ix"])
    (['exp3-ix'], ['tsallis-shannon'])
    """
    spec = graph_spec(graph)
    if spec.name == "cover":
        return list(learners), []
    made = make_graph(spec)
    taken = [name for name in learners if accepts_graph(LEARNERS.find(name).kind, made)]
    if not taken:
        check_accepted(LEARNERS.find(learners[0]).kind, made)
    return taken, [name for name in learners if name not in taken]


def _takes(learner: str, graph: str) -> bool:
    spec = graph_spec(graph)
    return spec.name == "cover" or accepts_graph(LEARNERS.find(learner).kind, make_graph(spec))


def run_race(
    graph: str = Race.graph,
    worlds: Sequence[str] = Race.worlds,
    learners: Sequence[str] | Literal["default", "all"] = "default",
    horizon: int = Race.horizon,
    seeds: int = Race.seeds,
    *,
    first_seed: int = Race.first_seed,
    out: str | Path = "race",
    jobs: int | None = None,
    cluster: str | None = None,
    report: bool = True,
    listener: Listener | None = None,
) -> RaceResult:
    """Let learners race in several worlds; write ``result.json``, ``report.html`` and ``figures/`` into ``out``.

    Every finished cell is kept in ``out``: a second call with the same options goes on where the first one stopped
    and gives the same numbers. Another race in the same folder replaces the report and plays only cells that are new.
    A report of the same numbers is not drawn again; :func:`report_race` does that.

    A learner that is named and does not take the graph is an error. Of the "default" learners, or of "all", those that
    do not take it are left out.

    >>> import tempfile
    >>> result = run_race("bandit:3", ["stochastic:gap=0.5"], ["ucb-n"], 100, 2, out=tempfile.mkdtemp(), report=False)
    >>> result
    RaceResult(bandit:3, 1 worlds, 100 rounds, 2 seeds; worst ratios: ucb-n 1.00)
    """
    listener = listener or Listener()
    if learners in ("default", "all"):
        usual = DEFAULT_LEARNERS if _takes(OURS[0], graph) else BEYOND_COVERS
        learners, left_out = fitting_learners(graph, usual if learners == "default" else tuple(LEARNERS))
        if left_out:
            listener.on_notice(f"left out, because they do not take this graph: {', '.join(left_out)}")
    race = Race(graph, worlds, learners, horizon, seeds, first_seed)
    plan = race.plan()
    if report:
        check_drawing()
    folder = open_run(out, jobs)
    listener.on_notice(describe_graph(race.graph, plan.cache.graph(race.graph)))
    ended = run_plan(plan, folder, jobs, cluster, replace=True, listener=listener)
    if ended.failed:
        with Store(folder, read_only=True) as store:
            failed = [one for one in store.records() if one.state == "failed"]
        errors = (
            f"{one.cell.learner} in {one.cell.world} ({(one.error or '').partition(chr(10))[0]})" for one in failed
        )
        raise CellsFailed(
            f"{len(failed)} of {ended.total} cells failed, the others are kept in '{folder}': "
            + "; ".join(list(dict.fromkeys(errors))[:3])
        )
    timing = {"seconds": ended.seconds, "jobs": jobs or os.cpu_count() or 1}
    return _finish(race, plan, folder, timing, report=report)


def report_race(folder: str | Path) -> RaceResult:
    """Write the report and the result of the finished race in ``folder`` again; its timing stays as it was."""
    description = read_description(folder)
    if "race" not in description:
        raise InvalidParameter(f"'{folder}' holds the experiment {description['name']}; expected the folder of a race")
    check_drawing()
    timing = _read_result(Path(folder)).get("timing", {"seconds": None, "jobs": None})
    return _finish(Race(**description["race"]), stored_plan(description), Path(folder), timing, redraw=True)


def _finish(
    race: Race, plan: RunPlan, folder: Path, timing: dict[str, Any], *, report: bool = True, redraw: bool = False
) -> RaceResult:
    """Compare the runs and write the result; the report only if it is not already that of the same numbers."""
    page = folder / REPORT if report else None
    result = RaceResult(race, _summarise(race, plan, folder), report=page, **timing)
    data = result.to_dict()
    same = {**_read_result(folder), "timing": None} == {**data, "timing": None}
    if page is not None and (redraw or not (same and page.exists() and (folder / FIGURES).is_dir())):
        write_race_report(result.summary, folder)
    write_atomic(folder / "result.json", (json.dumps(data, indent=1, allow_nan=False) + "\n").encode())
    return result


def _read_result(folder: Path) -> dict[str, Any]:
    """The content of ``result.json``; empty where there is none, as after 'allworlds resume', or it is damaged."""
    with contextlib.suppress(OSError, ValueError):
        found = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        return found if isinstance(found, dict) else {}
    return {}


def _summarise(race: Race, plan: RunPlan, folder: Path) -> RaceSummary:
    """Compare the runs of every learner in every world: worlds in order, learners within."""
    cells = read_cells(folder)
    if len(cells) < len(plan.cells):
        raise InvalidParameter(
            f"the race in '{folder}' has {len(cells)} of {len(plan.cells)} cells finished; "
            f"'allworlds resume {folder}' plays the others"
        )
    groups: dict[tuple[str, str], list[FinishedCell]] = {
        (world, learner): [] for world in race.worlds for learner in race.learners
    }
    for one in cells:
        groups[one.record.cell.world, one.record.cell.learner].append(one)
    runs = [_runs(world, learner, members) for (world, learner), members in groups.items()]
    rivals = {spec: LEARNERS.find(spec).rival for spec in race.learners}
    rows = standings(runs, race.ours, rivals)
    description = read_description(folder)
    return RaceSummary(
        graph=race.graph,
        played_on=plan.cache.graph(race.graph),
        worlds={world: plan.cache.world(race.graph, world) for world in race.worlds},
        runs=tuple(runs),
        standings=tuple(rows),
        ratios=tuple(worst_ratios(rows, rivals)),
        ours=race.ours,
        command=race.command(folder),
        machine=machine_line(description["machine"]),
        versions=description["versions"],
    )


def _runs(world: str, learner: str, cells: list[FinishedCell]) -> Runs:
    cells = sorted(cells, key=lambda one: one.record.cell.seed_number)
    pseudo, clean, _, corruption = np.moveaxis(np.stack([one.rows.values for one in cells]), 2, 0)
    masses = [one.rows.clique_mass for one in cells if one.rows.clique_mass is not None]
    bounds = [one.rows.regret_bound for one in cells if one.rows.regret_bound is not None]
    return Runs(
        learner=learner,
        world=world,
        seeds=tuple(one.record.cell.seed_number for one in cells),
        rounds=cells[0].rows.rounds,
        pseudo_regret=pseudo,
        clean_regret=clean,
        corruption=corruption,
        clique_mass=np.mean(masses, axis=0) if masses else None,
        regret_bound=np.array(bounds) if len(bounds) == len(cells) else None,
        seconds=np.array([one.record.seconds or np.nan for one in cells]),
    )
