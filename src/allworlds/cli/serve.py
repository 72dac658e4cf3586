"""``allworlds serve`` and ``allworlds keys``: the decision service, and who may use it."""

from __future__ import annotations

import json
import logging
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from allworlds.cli.terminal import AsJson, print_json, print_rows

if TYPE_CHECKING:
    from allworlds.service.journal import Journal, KeyRow

DATABASE = "sqlite:///allworlds.db"
Database = Annotated[
    str,
    typer.Option(help="sqlite:///FILE, postgresql://… or memory:", envvar="ALLWORLDS_DATABASE", show_envvar=True),
]


def serve(
    port: Annotated[int, typer.Option(help="Port; 0 takes a free one.", min=0, max=65535)] = 8080,
    host: Annotated[str, typer.Option(help="Address to listen on; one beyond loopback needs a key.")] = "127.0.0.1",
    database: Database = DATABASE,
    create: Annotated[
        list[Path] | None,
        typer.Option(help="A learner as JSON, created unless it is there; may be repeated.", show_default=False),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="Another name of this service, as in its URL; may be repeated.", show_default=False),
    ] = None,
    rate: Annotated[float, typer.Option(help="Requests a second of one key.", min=1.0)] = 5000.0,
    probabilities_up_to: Annotated[
        int, typer.Option(help="Arms of a learner up to which a decision keeps the probabilities of all arms.", min=0)
    ] = 256,
    log_requests: Annotated[bool, typer.Option("--log-requests", help="Log every request.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print and log JSON objects, one a line.")] = False,
) -> None:
    """Serve decisions over HTTP; every answer is written to the database before it is given."""
    _needs_service("allworlds serve needs")
    from allworlds.service.security import Limits
    from allworlds.service.server import Service, Settings

    _set_up_logs(as_json)
    limits = Limits(rate=rate, burst=2.0 * rate)
    names, files = tuple(allow_host or ()), tuple(create or ())
    service = Service(Settings(database, host, port, names, files, log_requests, limits, probabilities_up_to))
    if as_json:
        print_json({"event": "serving", "url": service.url, "needs_key": service.needs_key})
    else:
        key = " -H 'Authorization: Bearer ID.SECRET'" if service.needs_key else ""
        typer.echo(f"serving on {service.url}")
        typer.echo(f"try: curl{key} {service.url}/v1/learners")
    service.run()


def make(
    scopes: Annotated[
        str, typer.Option(help="Some of choose, observe, read and admin, with commas; or all.")
    ] = "choose,observe,read",
    learner: Annotated[str | None, typer.Option(help="The only learner it is good for.", show_default="all")] = None,
    label: Annotated[str, typer.Option(help="A note for people.")] = "",
    new: Annotated[bool, typer.Option("--new", help="Make the database if it is not there yet.")] = False,
    database: Database = DATABASE,
    as_json: AsJson = False,
) -> None:
    """Make a key. Its secret is shown once; from the first key on, every request needs one."""
    _needs_service("keys need")
    from allworlds.service.keys import SCOPES, make_key

    wanted = SCOPES if scopes == "all" else tuple(scope.strip() for scope in scopes.split(","))
    with closing(_open(database, new)) as journal:
        row, text = make_key(wanted, learner, label, journal.now())
        with journal.transaction():
            journal.add_key(row)
    _print_new(row, text, as_json)


def list_(database: Database = DATABASE, as_json: AsJson = False) -> None:
    """List all keys, without their secrets."""
    _needs_service("keys need")
    with closing(_open(database)) as journal:
        rows = journal.keys()
    if as_json:
        print_json(*(_facts(row) for row in rows))
    elif not rows:
        typer.echo("there are no keys; anyone who reaches the loopback address may do everything")
    else:
        titles = ("id", "scopes", "learner", "label", "created", "status")
        print_rows(titles, [[str(_facts(row)[title]) for title in titles] for row in rows], narrow=80)


def rotate(
    id: Annotated[str, typer.Argument(help="The part of a key before the dot.")],
    keep: Annotated[bool, typer.Option("--keep", help="Leave the old key good, until it is revoked.")] = False,
    database: Database = DATABASE,
    as_json: AsJson = False,
) -> None:
    """Make a key that may do the same, and revoke the old one."""
    _needs_service("keys need")
    from allworlds.service.keys import rotate_key

    with closing(_open(database)) as journal:
        row, text = rotate_key(journal, id, keep=keep)
    _print_new(row, text, as_json)


def revoke(
    id: Annotated[str, typer.Argument(help="The part of a key before the dot.")],
    database: Database = DATABASE,
    as_json: AsJson = False,
) -> None:
    """Revoke a key; within five seconds no process accepts it."""
    _needs_service("keys need")
    from allworlds.service.keys import revoke_key

    with closing(_open(database)) as journal:
        revoke_key(journal, id)
    if as_json:
        print_json({"id": id, "status": "revoked"})
    else:
        typer.echo(f"revoked {id}; within five seconds no process accepts it")


KEYS = (make, list_, rotate, revoke)


def _needs_service(who_needs: str) -> None:
    from allworlds.foundation.errors import import_extra

    for module in ("msgspec", "httptools"):
        import_extra(module, "service", who_needs)


class _JsonLines(logging.Formatter):
    """Log lines for machines."""

    def format(self, record: logging.LogRecord) -> str:
        """One JSON object."""
        line = {"time": record.created, "level": record.levelname.lower(), "message": record.getMessage()}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line)


def _set_up_logs(as_json: bool) -> None:
    """Send the service's log to stderr; keys, secrets and bodies are never in it."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonLines() if as_json else logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logger = logging.getLogger("allworlds.service")
    logger.handlers, logger.propagate = [handler], False
    logger.setLevel(logging.INFO)


def _open(database: str, new: bool = False) -> Journal:
    """The journal for its keys alone, beside a process that serves it; a mistyped path must not make a database."""
    from allworlds.foundation.errors import InvalidParameter
    from allworlds.service.maintenance import open_existing
    from allworlds.service.schema import open_journal

    if database == "memory:":
        raise InvalidParameter("database is memory:, which ends with its process; expected one that keeps its keys")
    if new:
        return open_journal(database, exclusive=False)
    try:
        return open_existing(database)
    except InvalidParameter as error:
        if "which is not there" not in str(error):
            raise
        raise InvalidParameter(f"{error}; the first key of a new one is made by allworlds keys make --new") from None


def _facts(row: KeyRow) -> dict[str, object]:
    import datetime

    created = datetime.datetime.fromtimestamp(row.created_at, datetime.UTC).isoformat(timespec="seconds")
    status = "good" if row.revoked_at is None else "revoked"
    facts = {"id": row.id, "scopes": row.scopes, "learner": row.learner or "all", "label": row.label}
    return {**facts, "created": created, "status": status}


def _print_new(row: KeyRow, text: str, as_json: bool) -> None:
    if as_json:
        print_json({**_facts(row), "key": text})
    else:
        typer.echo(text)
        typer.echo("the secret is not shown again; send the key as Authorization: Bearer ID.SECRET", err=True)
