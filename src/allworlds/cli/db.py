"""``allworlds db``: verify, back up, upgrade and prune the service's database."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from allworlds.cli.serve import DATABASE, Database
from allworlds.cli.terminal import AsJson, print_json


def verify(database: Database = DATABASE, as_json: AsJson = False) -> None:
    """Replay the journal and compare; the exit code is 1 if something is wrong. A service may keep running."""
    from contextlib import closing

    from allworlds.foundation.errors import counted
    from allworlds.service.maintenance import open_existing
    from allworlds.service.verify import DATABASE as WHOLE
    from allworlds.service.verify import verify as verdicts

    problems = learners = 0
    with closing(open_existing(database)) as journal:
        for verdict in verdicts(journal):
            learners += verdict.learner != WHOLE
            problems += len(verdict.problems)
            if as_json:
                print_json(verdict._asdict())
                continue
            for problem in verdict.problems:
                typer.echo(f"{verdict.learner}: {problem}", err=True)
            events = f"{counted(verdict.decisions, 'decision')}, {counted(verdict.events, 'event')}"
            typer.echo(f"{verdict.learner}: {events}, {counted(len(verdict.problems), 'problem')}")
    if not as_json:
        typer.echo(f"{counted(learners, 'learner')}, {counted(problems, 'problem')}")
    if problems:
        raise typer.Exit(1)


def backup(
    to: Annotated[str, typer.Argument(help="A new file, or the URL of an empty database.", show_default=False)],
    database: Database = DATABASE,
    as_json: AsJson = False,
) -> None:
    """Copy everything into a new file or an empty database; the other way round restores it.

    The copy is consistent, and a service may keep running. It holds the secrets of the learners: keep it private.
    """
    from allworlds.foundation.errors import counted
    from allworlds.service.backup import back_up

    rows = back_up(database, to if "://" in to else f"sqlite:///{to}")
    if as_json:
        print_json(rows)
    else:
        typer.echo(", ".join(counted(number, table.removesuffix("s")) for table, number in rows.items()))


def upgrade(database: Database = DATABASE, as_json: AsJson = False) -> None:
    """Bring the tables of an older version up to date, all or nothing; make a backup first."""
    from allworlds.service.maintenance import open_existing
    from allworlds.service.schema import MIGRATIONS

    open_existing(database, exclusive=True, upgrade=True).close()
    if as_json:
        print_json({"schema": len(MIGRATIONS)})
    else:
        typer.echo(f"schema version {len(MIGRATIONS)}")


def prune(
    before: Annotated[
        datetime, typer.Option(formats=["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"], help="In UTC.", show_default=False)
    ],
    database: Database = DATABASE,
    as_json: AsJson = False,
) -> None:
    """Delete outcomes before a date; ids, their answers and what was learnt stay. Stop a service on SQLite first.

    A pruned outcome is no longer exported, and one that is reported again is answered with 410.
    """
    from datetime import UTC

    from allworlds.foundation.errors import counted
    from allworlds.service.maintenance import prune as prune_all

    pruned = prune_all(database, before.replace(tzinfo=UTC).timestamp())
    if as_json:
        print_json(*({"learner": learner, "pruned": number} for learner, number in pruned.items()))
    else:
        for learner, number in pruned.items():
            typer.echo(f"{learner}: {counted(number, 'event')} pruned")


COMMANDS = (verify, backup, upgrade, prune)
