"""Plan an experiment, run it, resume it. A new run is a resumed run with nothing finished yet."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allworlds.experiments.cells import Cell, SpecCache, make_cells
from allworlds.experiments.driver import Driver, Interrupted, Listener
from allworlds.experiments.executors import Cluster, Executor, Threads
from allworlds.experiments.reading import Source, as_experiment, read_experiment, shipped
from allworlds.experiments.store import DESCRIPTION, Store, new_folder, read_description
from allworlds.experiments.work import code_version, sample
from allworlds.foundation.checks import whole
from allworlds.foundation.errors import InvalidParameter, RunStopped
from allworlds.foundation.files import exclusive_lock
from allworlds.foundation.machine import machine, same_kind, versions
from allworlds.reporting.page import REPORT
from allworlds.simulation import play

if TYPE_CHECKING:
    from allworlds.experiments.experiment import Experiment

SAMPLE = 2000
"""Rounds that are played to measure how fast a learner is."""


@dataclass(frozen=True)
class RunPlan:
    """An experiment and all its cells, checked: graphs, worlds and learners exist and fit together."""

    experiment: Experiment
    source: Source
    cache: SpecCache
    cells: list[Cell]
    race: Mapping[str, Any] | None = None
    """The options of the race that the experiment was made from; None where it was read from a file."""

    @property
    def hash(self) -> str:
        """A hash of the configuration and the cells: equal for equal files, whatever their comments and layout."""
        parts = [self.experiment.model_dump(mode="json"), [cell.id for cell in self.cells]]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def describe(self) -> dict[str, Any]:
        """The content of ``experiment.json``."""
        description = {
            "name": self.experiment.name,
            "question": self.experiment.question,
            "hash": self.hash,
            "code": code_version(),
            "cells": len(self.cells),
            "source": self.source.name,
            "base": str(self.source.base),
            "changes": list(self.source.changes),
            "configuration": self.experiment.model_dump(mode="json"),
            "versions": versions(),
            "machine": machine(),
        }
        return description if self.race is None else description | {"race": dict(self.race)}

    def seconds(self, jobs: int | None = None) -> float:
        """About how long ``jobs`` threads will take, from a short run of each learner on each graph."""
        speeds: dict[tuple[str, str], float] = {}
        for cell in sample(self.cells):
            learner = self.cache.learner(cell.graph, cell.learner, cell.horizon)
            rounds = min(SAMPLE, cell.horizon)
            trace = play(learner, self.cache.world(cell.graph, cell.world), rounds, 0)
            speeds[cell.graph, cell.learner] = trace.seconds / rounds
        total = sum(cell.horizon * speeds[cell.graph, cell.learner] for cell in self.cells)
        return total / (jobs or os.cpu_count() or 1)


@dataclass(frozen=True)
class RunSummary:
    """How one start of a run ended."""

    folder: Path
    name: str
    done: int
    failed: int
    total: int
    seconds: float
    """How long this start took; cells finished earlier cost nothing."""
    checksum: str
    """The checksum of all finished results."""

    @property
    def complete(self) -> bool:
        """Whether every cell is finished."""
        return self.done == self.total


def make_plan(name: str | Path, changes: Sequence[str] = (), *, small: bool = False) -> RunPlan:
    """Read the experiment of a file or a shipped id, or its ``small`` version, and make its cells.

    >>> plan = make_plan("corrupted-cliques", ["grid.seeds=1"])
    >>> {cell.seed_number for cell in plan.cells}
    {0}
    """
    return plan_of(*read_experiment(name, changes, small=small))


def plan_of(experiment: Experiment, source: Source, race: Mapping[str, Any] | None = None) -> RunPlan:
    """Make the cells of an experiment."""
    cache = SpecCache(source.base)
    return RunPlan(experiment, source, cache, make_cells(experiment, cache, places=race is None), race)


def stored_plan(description: dict[str, Any]) -> RunPlan:
    """The plan that a folder was begun with."""
    source = Source(description["source"], Path(description["base"]), tuple(description["changes"]))
    experiment = as_experiment(description["configuration"], "the stored configuration")
    return plan_of(experiment, source, description.get("race"))


def run_experiment(
    name: str | Path,
    out: str | Path | None = None,
    *,
    changes: Sequence[str] = (),
    small: bool = False,
    jobs: int | None = None,
    cluster: str | None = None,
    extend: bool = False,
    fail_fast: bool = False,
    listener: Listener | None = None,
) -> RunSummary:
    """Run the experiment of a file or a shipped id in the folder ``out``, by default ``results/NAME``.

    With ``small``, run its version for a few minutes, by default in ``results/NAME-small``.

    Cells that are finished there are not played again. A folder with another experiment is an error; ``extend`` adds
    new cells to it and keeps all that is there. ``changes`` such as ``"grid.seeds=3"`` override the file. The work is
    done on ``jobs`` threads, or on the Dask cluster whose scheduler is at the address ``cluster``.

    >>> import tempfile
    >>> small = ["grid.seeds=1", "grid.horizons=[50]"]
    >>> run_experiment("corrupted-cliques", tempfile.mkdtemp(), changes=small).complete
    True
    """
    plan = make_plan(name, changes, small=small)
    folder = open_run(out or Path("results") / f"{plan.experiment.name}{'-small' if small else ''}", jobs)
    return run_plan(plan, folder, jobs, cluster, extend=extend, fail_fast=fail_fast, listener=listener)


def resume_experiment(
    folder: str | Path,
    *,
    jobs: int | None = None,
    cluster: str | None = None,
    extend: bool = False,
    fail_fast: bool = False,
    listener: Listener | None = None,
) -> RunSummary:
    """Go on with the run in ``folder``, an experiment or a race.

    If the experiment's file has changed since, this is an error unless ``extend`` is given, which adds what is new.
    """
    plan = stored_plan(read_description(folder))
    source = plan.source
    if plan.race is None and (source.name in shipped() or Path(source.name).is_file()):
        plan = plan_of(read_experiment(source.name, source.changes)[0], source)
    return run_plan(plan, open_run(folder, jobs), jobs, cluster, extend=extend, fail_fast=fail_fast, listener=listener)


def run_plan(
    plan: RunPlan,
    folder: Path,
    jobs: int | None = None,
    cluster: str | None = None,
    *,
    extend: bool = False,
    replace: bool = False,
    fail_fast: bool = False,
    listener: Listener | None = None,
) -> RunSummary:
    """Play the cells of a plan that are not finished in the open ``folder``; with ``replace``, over another race."""
    started = time.perf_counter()
    listener = listener or Listener()
    try:
        with exclusive_lock(folder):
            known = _is_known(plan, folder, extend=extend, replace=replace, listener=listener)
            with Store(folder) as store:
                if not known:
                    store.describe(plan.describe())
                store.add(plan.cells)
                for sentence in store.mend():
                    listener.on_notice(sentence)
                todo = [record.cell for record in store.records() if record.state != "done"]
                if todo:
                    executor: Executor
                    executor = Cluster(cluster, plan.source.base, jobs) if cluster else Threads(jobs, plan.cache)
                    _work(store, executor, todo, len(plan.cells), listener, fail_fast=fail_fast)
                states = [record.state for record in store.records()]
                checksum = store.checksum()
    except RunStopped as error:
        words = ["allworlds", "resume", str(folder), *(["--cluster", cluster] if cluster else [])]
        raise RunStopped(f"{error}; what is finished is kept, and '{shlex.join(words)}' resumes the run") from None
    return RunSummary(
        folder=folder,
        name=plan.experiment.name,
        done=states.count("done"),
        failed=states.count("failed"),
        total=len(states),
        seconds=time.perf_counter() - started,
        checksum=checksum,
    )


def open_run(out: str | Path, jobs: int | None) -> Path:
    """The folder of a run, made if need be; raise InvalidParameter if it is not writable or ``jobs`` is not a count."""
    if jobs is not None:
        whole("jobs", jobs)
    return new_folder(out)


def _work(
    store: Store, executor: Executor, todo: list[Cell], total: int, listener: Listener, *, fail_fast: bool
) -> None:
    driver = Driver(store, executor, listener, total, total - len(todo), fail_fast=fail_fast)
    try:
        store.note_start(executor.name)
        listener.on_notice(f"{len(todo)} of {total} cells to do on {executor.name}; compiling first where needed")
        executor.warm_up(todo, listener.on_notice)
        driver.run(todo)
    except KeyboardInterrupt:  # also while it was compiling
        kept = sum(record.state == "done" for record in store.records())
        raise Interrupted(kept, total, store.folder) from None
    finally:
        executor.close()


def _is_known(plan: RunPlan, folder: Path, *, extend: bool, replace: bool, listener: Listener) -> bool:
    """Whether the folder's description is that of this plan; raise InvalidParameter if its cells must not change."""
    page = folder / REPORT
    if not (folder / DESCRIPTION).exists():
        if replace and page.exists():
            listener.on_notice(f"replaces '{page}', the report of another race")
        return False
    old = read_description(folder)
    if not same_kind(old["machine"], machine()):
        listener.on_notice("this is another kind of machine than the run was begun on; last bits may differ")
    if replace:
        if "race" not in old:
            raise InvalidParameter(f"'{folder}' holds the experiment {old['name']}; choose another folder with --out")
        if old["hash"] != plan.hash:
            what = "report" if page.exists() else "result"
            listener.on_notice(f"replaces the {what} of another race (graph {old['race']['graph']}) in '{folder}'")
        return bool(old["hash"] == plan.hash and old["code"] == code_version())
    if old["code"] != code_version():
        raise InvalidParameter(
            f"'{folder}' was begun with allworlds {old['code']}, this is {code_version()}; numbers of two versions are "
            "not mixed: go on with that version, or choose another folder with --out"
        )
    if old["hash"] == plan.hash:
        return True
    before, now = _known_cells(folder, old), {cell.id for cell in plan.cells}
    gone, new = len(before - now), len(now - before)
    if gone:
        raise InvalidParameter(
            f"'{folder}' holds another experiment: {gone} of its {len(before)} cells are not in {plan.source.name} as "
            "it is now; put the file back, or choose another folder with --out"
        )
    if not new:  # only words have changed
        return False
    if not extend:
        raise InvalidParameter(
            f"{plan.source.name} has changed since '{folder}' was begun ({new} new cells); --extend adds what is new "
            "and keeps what is there, --out chooses another folder"
        )
    listener.on_notice(f"extended by {new} cells")
    return False


def _known_cells(folder: Path, description: dict[str, Any]) -> set[str]:
    """The ids that the table has, or those of the stored configuration where the table is lost."""
    with contextlib.suppress(InvalidParameter, RunStopped), Store(folder, read_only=True) as store:
        if records := store.records():
            return {record.cell.id for record in records}
    return {cell.id for cell in stored_plan(description).cells}
