"""``allworlds run``, ``resume``, ``status``, ``report``, ``verify-results``, ``experiments``: resumable runs."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from allworlds.cli.terminal import AsJson, duration, error_boundary, print_json, print_rows, progress

if TYPE_CHECKING:
    from allworlds.experiments.driver import Listener, Progress
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
    fail_fast: FailFast = False,
    extend: Extend = False,
    as_json: Events = False,
) -> None:
    """Run an experiment: every cell once, kept as soon as it is finished.

    Killed at any moment, it can be continued with allworlds resume DIR and ends with the same numbers. Exit codes: 0,
    1 (some cells failed, or the run had to stop), 2 (usage), 130 (interrupted, can be resumed).
    """
    with error_boundary():
        from allworlds.workflows.experiments import make_plan, run_experiment

        if dry_run:
            _print_plan(make_plan(experiment, changes or ()), jobs, as_json=as_json)
            return
        _go(
            lambda listener: run_experiment(
                experiment,
                out,
                changes=changes or (),
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
    """Go on with an experiment or a race that was stopped, on threads or on a cluster; failed cells are tried again."""
    with error_boundary():
        from allworlds.workflows.experiments import resume_experiment

        _go(
            lambda listener: resume_experiment(
                folder, jobs=jobs, cluster=cluster, extend=extend, fail_fast=fail_fast, listener=listener
            ),
            as_json=as_json,
        )


def status(folder: Folder, as_json: AsJson = False) -> None:
    """Say how far a run is, and what failed; another process may be at work in it."""
    with error_boundary():
        from allworlds.workflows.results import read_status

        found = read_status(folder)
        if as_json:
            typer.echo(json.dumps(found.to_dict()))
        else:
            _print_status(found)


def report(folder: Folder, as_json: AsJson = False) -> None:
    """Answer a run's question: write DIR/report.html, with figures; an experiment may be half finished, a race not."""
    with error_boundary():
        from allworlds.reporting.experiment_answers import how_much
        from allworlds.workflows.race import QUESTION
        from allworlds.workflows.results import ExperimentReport, write_report

        found = write_report(folder)
        if as_json:
            typer.echo(json.dumps(found.to_dict(), allow_nan=False))
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
    """Compute all checksums anew from the rows, and play some cells again: are the bits the same?

    The exit code is 1 if something is damaged, missing or different.
    """
    with error_boundary():
        from allworlds.workflows.results import verify_results as verify

        with progress(hidden=as_json) as on_progress:
            found = verify(folder, replay=None if everything else replay, on_progress=on_progress)
        if as_json:
            typer.echo(json.dumps(found.to_dict()))
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
    with error_boundary():
        from allworlds.experiments.reading import read_experiment, shipped

        found = {name: read_experiment(name)[0] for name in shipped()}
        if as_json:
            print_json(
                [
                    {"id": name, "question": one.question, "cells": one.n_cells, "rounds": one.n_rounds}
                    for name, one in found.items()
                ]
            )
        else:
            rows = [
                [name, one.question, f"{one.n_cells:,} cells, {one.n_rounds / 1e6:,.0f} million rounds"]
                for name, one in found.items()
            ]
            print_rows(("experiment", "question", "size"), rows)


def _go(start: Callable[[Listener], RunSummary], *, as_json: bool) -> None:
    """Start, listen, and end with a sentence and an exit code."""
    from allworlds.experiments.driver import Interrupted
    from allworlds.foundation.errors import RunStopped

    try:
        with listening(as_json=as_json) as listener:
            summary = start(listener)
    except Interrupted as interruption:
        said = f"interrupted: {interruption.done} of {interruption.total} cells are kept; "
        said += f"to go on, type: {shlex.join(['allworlds', 'resume', str(interruption.folder)])}"
        _end("interrupted", said, 130, as_json=as_json, done=interruption.done, total=interruption.total)
    except RunStopped as stopped:
        _end("stopped", str(stopped), 1, as_json=as_json)
    else:
        _print_summary(summary, as_json=as_json)
        if not summary.complete:
            raise typer.Exit(1)


def _end(event: str, sentence: str, exit_code: int, *, as_json: bool, **facts: object) -> None:
    if as_json:
        typer.echo(json.dumps({"event": event, "sentence": sentence, **facts}))
    typer.echo(sentence if exit_code == 130 else f"error: {sentence}", err=True)
    raise typer.Exit(exit_code) from None


@contextmanager
def listening(*, as_json: bool = False) -> Iterator[Listener]:
    """A listener that shows a bar or plain lines on stderr, or with ``as_json`` prints events on stdout."""
    from allworlds.experiments.driver import Listener
    from allworlds.experiments.work import Outcome

    def emit(event: str, **facts: object) -> None:
        typer.echo(json.dumps({"event": event, **facts}))

    if as_json:

        def on_kept(outcome: Outcome) -> None:
            state = "done" if outcome.error is None else "failed"
            emit(
                "cell",
                cell=outcome.cell.id,
                title=outcome.cell.title,
                state=state,
                seconds=outcome.seconds,
                error=outcome.error,
            )

        def on_progress(now: Progress) -> None:
            emit(
                "progress",
                done=now.done,
                failed=now.failed,
                remaining=now.remaining,
                total=now.total,
                rounds_per_second=now.rounds_per_second,
                seconds_left=now.seconds_left,
            )

        yield Listener(lambda sentence: emit("notice", sentence=sentence), on_progress, on_kept)
        return
    with progress(plainly="cells") as bar:
        yield Listener(
            lambda sentence: typer.echo(sentence, err=True),
            lambda now: bar(now.done + now.failed, now.total, _how_far(now)) if bar else None,
        )


def _how_far(now: Progress) -> str:
    words = [f"{now.done} done", f"{now.failed} failed", f"{now.remaining} to go"]
    if now.rounds_per_second is not None and now.seconds_left is not None:
        words += [f"{now.rounds_per_second:,.0f} rounds/s", f"{duration(now.seconds_left)} left"]
    return ", ".join(words)


def _rounds(plan: RunPlan) -> int:
    return sum(cell.horizon for cell in plan.cells)


def _print_plan(plan: RunPlan, jobs: int | None, *, as_json: bool) -> None:
    seconds = plan.seconds(jobs)
    if as_json:
        for cell in plan.cells:
            typer.echo(json.dumps({"event": "cell", **cell.to_dict()}))
        estimate = {"cells": len(plan.cells), "rounds": _rounds(plan), "seconds": seconds, "hash": plan.hash}
        typer.echo(json.dumps({"event": "estimate", **estimate}))
        return
    groups: dict[tuple[str, str, int, str], list[int]] = {}
    for cell in plan.cells:
        groups.setdefault((cell.graph, cell.world, cell.horizon, cell.learner), []).append(cell.seed_number)
    for (graph, world, horizon, learner), seeds in groups.items():
        typer.echo(f"{graph}  {world}  {horizon}  {learner}  {len(seeds)} seed{'s' if len(seeds) > 1 else ''}")
    typer.echo(
        f"{plan.experiment.name}: {len(plan.cells):,} cells, {_rounds(plan):,} rounds, about {duration(seconds)}, "
        "compiling left out"
    )


def _print_summary(summary: RunSummary, *, as_json: bool) -> None:
    if as_json:
        facts = {"done": summary.done, "failed": summary.failed, "total": summary.total, "seconds": summary.seconds}
        print_json([{"event": "finished", "folder": str(summary.folder), **facts, "checksum": summary.checksum}])
        return
    ended = f"{summary.done} of {summary.total} cells are finished in '{summary.folder}', {duration(summary.seconds)}"
    if summary.failed:
        ended += f"; {summary.failed} failed: 'allworlds status {summary.folder}' says why"
    typer.echo(ended)
    typer.echo(f"checksum of the results: {summary.checksum}")
    typer.echo(f"to see the answer: {shlex.join(['allworlds', 'report', str(summary.folder)])}")


def _print_status(found: Status) -> None:
    typer.echo(f"{found.name}: {found.question}")
    typer.echo(
        f"{found.done} done, {found.failed} failed, {found.waiting} to go; {duration(found.seconds)} of work; "
        f"started {len(found.starts)} time{'s' if len(found.starts) != 1 else ''}"
    )
    for failure in found.failures:
        error = str(failure["error"]).splitlines()[0]
        typer.echo(f"failed {failure['attempts']} times: {failure['title']}: {error}")
    if found.checksum is not None:
        typer.echo(f"checksum of the results: {found.checksum}")
    else:
        typer.echo(f"to go on: allworlds resume {found.folder}")
