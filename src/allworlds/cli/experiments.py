"""``allworlds run``, ``resume``, ``status``, ``report``, ``verify-results``, ``experiments``: resumable runs."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from allworlds.cli.terminal import AsJson, duration, print_json, print_rows, progress, stop
from allworlds.foundation.errors import RunStopped, counted

if TYPE_CHECKING:
    from allworlds.experiments.driver import Listener, Progress
    from allworlds.experiments.work import Outcome
    from allworlds.workflows.experiments import RunPlan, RunSummary
    from allworlds.workflows.results import Status

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a run.")]
Jobs = Annotated[
    int | None, typer.Option(min=1, help="Threads, or processes of --cluster local.", show_default="all cores")
]
Address = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="A Dask scheduler, such as tcp://host:8786; 'local' starts one to try."),
]
Extend = Annotated[bool, typer.Option("--extend", help="Add what is new in a changed file; keep what is finished.")]
FailFast = Annotated[bool, typer.Option("--fail-fast", help="Stop at the first cell that fails.")]
Events = Annotated[bool, typer.Option("--json", help="Print events, one JSON object a line.")]


def run(
    experiment: Annotated[
        str, typer.Argument(metavar="FILE|ID", help="A TOML file, or an id of a shipped experiment.")
    ],
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder.", show_default="results/NAME")] = None,
    jobs: Jobs = None,
    cluster: Address = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the cells and about how long they take.")] = False,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="A.B=C", help="Change the file: grid.seeds=3, grid.0.horizons=[100]; repeatable."
        ),
    ] = None,
    small: Annotated[
        bool, typer.Option("--small", help="The file's version for a few minutes, in results/NAME-small.")
    ] = False,
    fail_fast: FailFast = False,
    extend: Extend = False,
    as_json: Events = False,
) -> None:
    """Run an experiment: every cell once, kept as soon as it is finished.

    Killed at any moment, it can be continued with allworlds resume DIR and ends with the same numbers. Exit codes: 0,
    1 (some cells failed, or the run had to stop), 2 (usage), 130 (interrupted, can be resumed).
    """
    from allworlds.workflows.experiments import make_plan, run_experiment

    if dry_run:
        _print_plan(make_plan(experiment, changes or (), small=small), jobs, as_json=as_json)
        return
    _go(
        lambda listener: run_experiment(
            experiment,
            out,
            changes=changes or (),
            small=small,
            jobs=jobs,
            cluster=cluster,
            extend=extend,
            fail_fast=fail_fast,
            listener=listener,
        ),
        as_json=as_json,
    )


def resume(
    folder: Folder,
    jobs: Jobs = None,
    cluster: Address = None,
    fail_fast: FailFast = False,
    extend: Extend = False,
    as_json: Events = False,
) -> None:
    """Resume an experiment or a race that was stopped, on threads or on a cluster; failed cells are tried again."""
    from allworlds.workflows.experiments import resume_experiment

    _go(
        lambda listener: resume_experiment(
            folder, jobs=jobs, cluster=cluster, extend=extend, fail_fast=fail_fast, listener=listener
        ),
        as_json=as_json,
    )


def status(folder: Folder, as_json: AsJson = False) -> None:
    """Say how far a run is, and what failed; another process may be at work in it."""
    from allworlds.workflows.results import read_status

    found = read_status(folder)
    if as_json:
        print_json(found.to_dict())
    else:
        _print_status(found)


def report(folder: Folder, as_json: AsJson = False) -> None:
    """Answer a run's question: write DIR/report.html, with figures; an experiment may be half finished, a race not."""
    from allworlds.reporting.experiment_answers import how_much
    from allworlds.workflows.race import QUESTION
    from allworlds.workflows.results import ExperimentReport, write_report

    found = write_report(folder)
    if as_json:
        print_json(found.to_dict())
        return
    question = QUESTION
    if isinstance(found, ExperimentReport):
        question = found.summary.question
        if found.summary.done < found.summary.total:
            typer.echo(how_much(found.summary), err=True)
    for line in (question, *found.answers, f"report: {found.report}"):
        typer.echo(line)


def verify_results(
    folder: Folder,
    replay: Annotated[int, typer.Option(min=0, help="How many cells to play again and compare bit for bit.")] = 10,
    everything: Annotated[bool, typer.Option("--all", help="Play every cell again.")] = False,
    as_json: AsJson = False,
) -> None:
    """Recompute all checksums from the rows, and play some cells again: are the bits the same?

    The exit code is 1 if something is damaged, missing or different.
    """
    from allworlds.workflows.results import verify_results as verify

    with progress(hidden=as_json) as on_progress:
        found = verify(folder, replay=None if everything else replay, on_progress=on_progress)
    if as_json:
        print_json(found.to_dict())
    else:
        for sentence in (*found.damaged, *(f"different: {title}" for title in found.different), found.notice):
            if sentence is not None:
                typer.echo(sentence)
        typer.echo(f"{found.done} of {found.cells} cells are finished; checksum of their rows {found.checksum}")
        typer.echo(
            f"{found.replayed} cells were played again, {len(found.different)} differ"
            + ("; all is well" if found.holds else "")
        )
    if not found.holds:
        raise typer.Exit(1)


def experiments(as_json: AsJson = False) -> None:
    """List the experiments that come with the package: allworlds run ID runs one."""
    from allworlds.experiments.reading import read_experiment, shipped

    found = {name: read_experiment(name)[0] for name in shipped()}
    if as_json:
        for name, one in found.items():
            print_json({"id": name, "question": one.question, "cells": one.n_cells, "rounds": one.n_rounds})
    else:
        sizes = [f"{one.n_cells:,} cells, {one.n_rounds / 1e6:,.0f} million rounds" for one in found.values()]
        rows = [(name, one.question, size) for (name, one), size in zip(found.items(), sizes, strict=True)]
        print_rows(("experiment", "question", "size"), rows)


def _go(start: Callable[[Listener], RunSummary], *, as_json: bool) -> None:
    """Start, listen, and end with a sentence and an exit code."""
    from allworlds.experiments.driver import Interrupted

    try:
        with listening(as_json=as_json) as listener:
            summary = start(listener)
    except Interrupted as interruption:
        said = f"interrupted: {interruption.done} of {interruption.total} cells are kept; "
        said += f"to resume, type: {shlex.join(['allworlds', 'resume', str(interruption.folder)])}"
        if as_json:
            emit("interrupted", sentence=said, done=interruption.done, total=interruption.total)
        stop(said, 130)
    except RunStopped as stopped:
        if as_json:
            emit("stopped", sentence=str(stopped))
        stop(f"error: {stopped}", 1)
    _print_summary(summary, as_json=as_json)
    if not summary.complete:
        raise typer.Exit(1)


def emit(event: str, **facts: object) -> None:
    """Print an event as a line of JSON."""
    print_json({"event": event, **facts})


@contextmanager
def listening(*, as_json: bool = False) -> Iterator[Listener]:
    """A listener that shows a bar or plain lines on stderr, or with ``as_json`` prints events on stdout."""
    from allworlds.experiments.driver import Listener

    if as_json:
        yield Listener(lambda sentence: emit("notice", sentence=sentence), _emit_progress, _emit_cell)
        return
    with progress(plainly="cells") as bar:
        yield Listener(
            lambda sentence: typer.echo(sentence, err=True),
            lambda now: bar(now.done + now.failed, now.total, _how_far(now)) if bar else None,
        )


def _emit_progress(now: Progress) -> None:
    emit("progress", **vars(now), remaining=now.remaining)


def _emit_cell(outcome: Outcome) -> None:
    state, cell = "done" if outcome.error is None else "failed", outcome.cell
    emit("cell", cell=cell.id, title=cell.title, state=state, seconds=outcome.seconds, error=outcome.error)


def _how_far(now: Progress) -> str:
    words = [f"{now.done} done", f"{now.failed} failed", f"{now.remaining} to go"]
    if now.rounds_per_second is not None and now.seconds_left is not None:
        words += [f"{now.rounds_per_second:,.0f} rounds/s", f"{duration(now.seconds_left)} left"]
    return ", ".join(words)


def _print_plan(plan: RunPlan, jobs: int | None, *, as_json: bool) -> None:
    seconds, rounds = plan.seconds(jobs), sum(cell.horizon for cell in plan.cells)
    if as_json:
        for cell in plan.cells:
            emit("cell", **cell.to_dict())
        emit("estimate", cells=len(plan.cells), rounds=rounds, seconds=seconds, hash=plan.hash)
        return
    groups = Counter(f"{cell.graph}  {cell.world}  {cell.horizon}  {cell.learner}" for cell in plan.cells)
    for group, seeds in groups.items():
        typer.echo(f"{group}  {counted(seeds, 'seed')}")
    typer.echo(
        f"{plan.experiment.name}: {len(plan.cells):,} cells, {rounds:,} rounds, about {duration(seconds)}, "
        "compiling left out"
    )


def _print_summary(summary: RunSummary, *, as_json: bool) -> None:
    folder = str(summary.folder)
    if as_json:
        facts = {name: getattr(summary, name) for name in ("done", "failed", "total", "seconds", "checksum")}
        emit("finished", folder=folder, **facts)
        return
    ended = f"{summary.done} of {summary.total} cells are finished in '{folder}', {duration(summary.seconds)}"
    if summary.failed:
        ended += f"; {summary.failed} failed: 'allworlds status {folder}' says why"
    typer.echo(ended)
    typer.echo(f"checksum of the results: {summary.checksum}")
    typer.echo(f"to see the answer: {shlex.join(['allworlds', 'report', folder])}")


def _print_status(found: Status) -> None:
    typer.echo(f"{found.name}: {found.question}")
    typer.echo(
        f"{found.done} done, {found.failed} failed, {found.waiting} to go; {duration(found.seconds)} of work; "
        f"started {counted(len(found.starts), 'time')}"
    )
    for failure in found.failures:
        error = str(failure["error"]).splitlines()[0]
        typer.echo(f"failed {failure['attempts']} times: {failure['title']}: {error}")
    if found.checksum is not None:
        typer.echo(f"checksum of the results: {found.checksum}")
    else:
        typer.echo(f"to resume: allworlds resume {found.folder}")
