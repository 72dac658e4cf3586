"""Begin an experiment, or go on with one: the same code, for a run is always resumed, if only from nothing."""

from __future__ import annotations

import contextlib
import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from allworlds.experiments.cells import Cell
from allworlds.experiments.executors import Cluster, Executor, Threads
from allworlds.experiments.reading import read_experiment, shipped
from allworlds.experiments.run import Driver, Interrupted, Listener
from allworlds.experiments.store import DESCRIPTION, Store, new_folder, read_description
from allworlds.experiments.work import code
from allworlds.foundation.checks import whole
from allworlds.foundation.errors import InvalidParameter, RunStopped
from allworlds.foundation.files import exclusive_lock
from allworlds.foundation.machine import machine, same_kind
from allworlds.workflows.experiments.plan import Plan, make_plan, plan_again, plan_of


@dataclass(frozen=True)
class Summary:
    """What a start has come to."""

    folder: Path
    name: str
    done: int
    failed: int
    total: int
    seconds: float
    """How long this start took; finished cells of an earlier one cost nothing."""
    checksum: str
    """Of all finished results."""

    @property
    def complete(self) -> bool:
        """Whether every cell is finished."""
        return self.done == self.total


def run_experiment(
    name: str | Path,
    out: str | Path | None = None,
    *,
    changes: Sequence[str] = (),
    jobs: int | None = None,
    cluster: str | None = None,
    extend: bool = False,
    fail_fast: bool = False,
    listener: Listener | None = None,
) -> Summary:
    """Run the experiment of a file or a shipped id in the folder ``out``; what is finished there is not done again.

    A folder with another experiment is refused; ``extend`` adds new cells to it and keeps all that is there.

    >>> import tempfile
    >>> small = ["grid.seeds=1", "grid.horizons=[50]"]
    >>> run_experiment("corrupted-cliques", tempfile.mkdtemp(), changes=small).complete
    True
    """
    plan = make_plan(name, changes)
    return _run(plan, Path(out or default_folder(plan)), jobs, cluster, extend, fail_fast, listener or Listener())


def resume_experiment(
    folder: str | Path,
    *,
    jobs: int | None = None,
    cluster: str | None = None,
    extend: bool = False,
    fail_fast: bool = False,
    listener: Listener | None = None,
) -> Summary:
    """Go on with the run in ``folder``. A file that has changed since is refused, or taken over with ``extend``."""
    description = read_description(folder)
    plan = plan_again(description)
    source = plan.source
    if source.name in shipped() or Path(source.name).is_file():
        plan = plan_of(read_experiment(source.name, source.changes)[0], source)
    return _run(plan, Path(folder), jobs, cluster, extend, fail_fast, listener or Listener())


def default_folder(plan: Plan) -> Path:
    """Where results go if nothing is said."""
    return Path("results") / plan.experiment.name


def _run(
    plan: Plan, out: Path, jobs: int | None, cluster: str | None, extend: bool, fail_fast: bool, listener: Listener
) -> Summary:
    started = time.perf_counter()
    if jobs is not None:
        whole("jobs", jobs)
    folder = new_folder(out)
    try:
        with exclusive_lock(folder):
            known = _is_known(plan, folder, extend=extend, listener=listener)
            with Store(folder) as store:
                if not known:
                    store.describe(plan.describe())
                store.add(plan.cells)
                for sentence in store.mend():
                    listener.on_notice(sentence)
                todo = [row.cell for row in store.rows() if row.state != "done"]
                if todo:
                    executor = _executor(plan, jobs, cluster)
                    _work(store, executor, todo, len(plan.cells), listener, fail_fast=fail_fast)
                states = [row.state for row in store.rows()]
                checksum = store.checksum()
    except RunStopped as error:
        words = ["allworlds", "resume", str(folder), *(["--cluster", cluster] if cluster else [])]
        raise RunStopped(f"{error}; what is finished is kept, and '{shlex.join(words)}' goes on") from None
    return Summary(
        folder=folder,
        name=plan.experiment.name,
        done=states.count("done"),
        failed=states.count("failed"),
        total=len(states),
        seconds=time.perf_counter() - started,
        checksum=checksum,
    )


def _executor(plan: Plan, jobs: int | None, cluster: str | None) -> Executor:
    return Threads(jobs, plan.workshop) if cluster is None else Cluster(cluster, plan.source.base, jobs)


def _work(
    store: Store, executor: Executor, todo: list[Cell], total: int, listener: Listener, *, fail_fast: bool
) -> None:
    driver = Driver(store, executor, listener, total, total - len(todo), fail_fast=fail_fast)
    try:
        store.note_start(executor.name)
        listener.on_notice(f"{len(todo)} of {total} cells to do on {executor.name}; compiling first where needed")
        executor.warm_up(todo, listener.on_notice)
        driver.run(todo)
    except KeyboardInterrupt as interruption:  # while it was compiling, too
        kept = interruption.done if isinstance(interruption, Interrupted) else total - len(todo)
        raise Interrupted(kept, total, store.folder) from None
    finally:
        executor.close()


def _is_known(plan: Plan, folder: Path, *, extend: bool, listener: Listener) -> bool:
    """Whether the folder holds this experiment already; another configuration or another version is refused."""
    if not (folder / DESCRIPTION).exists():
        return False
    old = read_description(folder)
    if old["code"] != code():
        raise InvalidParameter(
            f"'{folder}' was begun with allworlds {old['code']}, this is {code()}; numbers of two versions are not "
            "mixed: go on with that version, or choose another folder with --out"
        )
    if not same_kind(old["machine"], machine()):
        listener.on_notice("this is another kind of machine than the run was begun on; last bits may differ")
    if old["hash"] == plan.hash:
        return True
    before, now = _known_cells(folder, old), {cell.id for cell in plan.cells}
    gone, new = len(before - now), len(now - before)
    if gone:
        raise InvalidParameter(
            f"'{folder}' holds another experiment: {gone} of its {len(before)} cells are not in {plan.source.name} as "
            "it is now; put the file back, or choose another folder with --out"
        )
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
        if rows := store.rows():
            return {row.cell.id for row in rows}
    return {cell.id for cell in plan_again(description).cells}
