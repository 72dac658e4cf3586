"""Run a race: play the cells that are not finished yet, on threads, and tell the story."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from threading import Event

from allworlds.analysis.runs import Runs, gather, join
from allworlds.foundation.errors import AllWorldsError
from allworlds.foundation.files import open_folder
from allworlds.reporting.words import counted, how_read
from allworlds.simulation import Trace, play, play_many
from allworlds.workflows.race.cells import read_cell, write_cell
from allworlds.workflows.race.config import Race
from allworlds.workflows.race.plan import Cell, Plan, make_plan
from allworlds.workflows.race.result import RaceResult, tell, what_is_replaced, write_result

OnProgress = Callable[[int, int, str], None]
OnNotice = Callable[[str], None]


class CellsFailed(AllWorldsError):
    """Some cells raised; the others are finished and kept."""


class RaceInterrupted(KeyboardInterrupt):
    """Ctrl-C: ``kept`` of ``total`` cells are finished and on disk."""

    def __init__(self, kept: int, total: int) -> None:
        super().__init__(f"{kept} of {total} cells are kept")
        self.kept, self.total = kept, total


class _Stopped(Exception):
    """The race was interrupted between two seeds of a cell."""


def run_race(
    race: Race,
    out: str | Path,
    on_progress: OnProgress | None = None,
    *,
    report: bool = True,
    on_notice: OnNotice | None = None,
) -> RaceResult:
    """Run ``race``, keep every finished cell in ``out/cells``, write ``out/result.json`` and ``out/report.html``.

    A second start with the same options goes on where the first one stopped, and gives the same numbers. All that
    can be refused is refused before the first round. ``on_progress(done, total, what)`` counts cells;
    ``on_notice(sentence)`` hears, before the first round, how the graph was read, what will be written over and
    what is compiled.

    >>> import tempfile
    >>> race = Race("bandit:3", ("stochastic:gap=0.5",), ("tsallis-shannon",), horizon=100, seeds=2)
    >>> result = run_race(race, tempfile.mkdtemp(), report=False)
    >>> [(row.learner, row.ratio) for row in result.ratios]
    [('tsallis-shannon', 1.0)]
    """
    say = on_progress or (lambda done, total, what: None)
    started = time.perf_counter()
    plan = make_plan(race)
    if report:
        from allworlds.reporting.canvas import house_style

        with house_style():  # refuses where figures cannot be drawn
            pass
    folder = open_folder(out, "cells")
    finished = {cell: read_cell(folder, cell) for cell in plan.cells}
    todo = [cell for cell, runs in finished.items() if runs is None]
    total = len(plan.cells)
    if on_notice is not None:
        for sentence in _notices(plan, folder, todo, report=report):
            on_notice(sentence)
    try:
        _compile(plan, todo, total - len(todo), total, say)
        _play_all(plan, folder, todo, total, say)
    except KeyboardInterrupt:
        kept = sum(read_cell(folder, cell) is not None for cell in plan.cells)
        raise RaceInterrupted(kept, total) from None
    say(total, total, "writing the report" if report else "done")
    runs = _collect(plan, folder)
    result = tell(plan, runs, folder, seconds=time.perf_counter() - started, report=report)
    write_result(result, folder)
    return result


def _notices(plan: Plan, folder: Path, todo: Sequence[Cell], *, report: bool) -> list[str]:
    """What a person wants to know before the race begins."""
    learners = len({cell.learner for cell in todo})
    compiling = f"compiling {counted(learners, 'learner')} first, some seconds each where it was not done before"
    sentences = [how_read(plan.race.graph, plan.cover), what_is_replaced(plan.race, folder, report=report)]
    return [sentence for sentence in (*sentences, compiling if todo else None) if sentence is not None]


def _compile(plan: Plan, todo: Sequence[Cell], done: int, total: int, say: OnProgress) -> None:
    """Let each learner play two rounds, one after the other: compiling in several threads at once would only wait."""
    names = list(dict.fromkeys(cell.learner for cell in todo))
    world = next(iter(plan.worlds.values()))
    for number, name in enumerate(names, start=1):
        say(done, total, f"compiling {name} ({number} of {len(names)})")
        play(plan.learners[name], world, min(2, plan.race.horizon), seed=0)


def _play_all(plan: Plan, folder: Path, todo: Sequence[Cell], total: int, say: OnProgress) -> None:
    """Play cells on threads; an interruption lets running seeds end, keeps finished cells and goes on upwards."""
    stop = Event()
    pool = ThreadPoolExecutor(max_workers=plan.race.jobs or os.cpu_count() or 1)
    waiting: dict[Future[None], Cell] = {}
    failed: list[str] = []
    done = total - len(todo)
    try:
        waiting = {pool.submit(_play_cell, plan, folder, cell, stop): cell for cell in todo}
        while waiting:
            for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                cell = waiting.pop(future)
                done += 1
                say(done, total, f"{cell.learner} in {cell.world}")
                error = future.exception()
                if error is not None:
                    failed.append(f"{cell.learner} in {cell.world} ({type(error).__name__}: {error})")
    except BaseException:
        stop.set()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    if failed:
        few = "; ".join(failed[:3])
        raise CellsFailed(f"{len(failed)} of {total} cells failed, the others are kept in '{folder}/cells': {few}")


def _play_cell(plan: Plan, folder: Path, cell: Cell, stop: Event) -> None:
    def between_seeds(trace: Trace) -> None:
        if stop.is_set():
            raise _Stopped

    learner, world = plan.learners[cell.learner], plan.worlds[cell.world]
    traces = play_many(learner, world, plan.race.horizon, cell.seeds, jobs=1, on_finish=between_seeds)
    write_cell(folder, cell, gather(traces, cell.learner, cell.world))


def _collect(plan: Plan, folder: Path) -> list[Runs]:
    """The runs of every learner in every world, read back from the cells: worlds in order, learners within."""
    collected = []
    for world in plan.worlds:
        for learner in plan.learners:
            cells = [cell for cell in plan.cells if (cell.world, cell.learner) == (world, learner)]
            parts = [read_cell(folder, cell) for cell in cells]
            missing = [cell.file_name for cell, part in zip(cells, parts, strict=True) if part is None]
            if missing:
                raise CellsFailed(f"'{folder}/cells/{missing[0]}' vanished or was damaged; start the race again")
            collected.append(join([part for part in parts if part is not None]))
    return collected
