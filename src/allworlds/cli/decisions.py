"""``allworlds client ...``: the verbs of a running service, from the shell.

Each command is one call of :class:`allworlds.Client`. The address is that of ``--server`` or of the variable
``ALLWORLDS_SERVER``, the key that of ``ALLWORLDS_KEY``: it is not an option, since other users can read command lines.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from allworlds.cli.terminal import print_json, print_rows
from allworlds.foundation.errors import InvalidParameter, counted

if TYPE_CHECKING:
    from allworlds.client import Client, Decision

Server = Annotated[
    str | None,
    typer.Option(envvar="ALLWORLDS_SERVER", help="The service's address.", show_default="http://127.0.0.1:8080"),
]
RetryFor = Annotated[float, typer.Option(help="Seconds in which an unanswered request is repeated.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]
Name = Annotated[str, typer.Argument(help="The learner's name.", show_default=False)]
Id = Annotated[str, typer.Argument(help="The decision's id.", show_default=False)]


def create(
    name: Annotated[str | None, typer.Argument(help="The learner's name.", show_default="from --file")] = None,
    arm: Annotated[list[str] | None, typer.Option(help="An arm; repeat it.", show_default="from the graph")] = None,
    clique: Annotated[
        list[str] | None, typer.Option(help="Arms that see each other, a,b,c; repeat it.", show_default="none")
    ] = None,
    edge: Annotated[
        list[str] | None, typer.Option(help="Two arms that see each other, a,b; repeat it.", show_default="none")
    ] = None,
    family: Annotated[
        str | None, typer.Option(help="A graph by name, such as disjoint-cliques:10x10.", show_default="none")
    ] = None,
    learner: Annotated[str | None, typer.Option(help="The rule.", show_default="tsallis-shannon")] = None,
    reward: Annotated[bool, typer.Option("--reward", help="Outcomes are rewards: more is better.")] = False,
    low: Annotated[float | None, typer.Option(help="The least value of an outcome.", show_default="0")] = None,
    high: Annotated[float | None, typer.Option(help="The greatest value.", show_default="1")] = None,
    minimum_share: Annotated[
        float | None, typer.Option(help="The least probability of each arm.", show_default="none")
    ] = None,
    deadline: Annotated[
        float | None, typer.Option(help="Seconds until a decision expires.", show_default="never")
    ] = None,
    default: Annotated[
        float | None, typer.Option(help="What an expired decision counts as.", show_default="it is void")
    ] = None,
    file: Annotated[
        Path | None, typer.Option(help="The whole request as a JSON file, instead of options.", show_default="none")
    ] = None,
    server: Server = None,
    retry_for: RetryFor = 5.0,
    as_json: AsJson = False,
) -> None:
    """Create a learner; the same request again changes nothing."""
    body: dict[str, Any] = {"learner": learner, "low": low, "high": high, "minimum_share": minimum_share}
    body |= {"deadline": deadline, "arms": arm, "reward": reward or None}
    if default is not None and deadline is None:
        raise InvalidParameter(
            f"got --default {default:g} without --deadline; expected both: without a deadline no decision expires"
        )
    body["on_timeout"] = None if default is None else {"default": default}
    graphs = {"cliques": _lists(clique), "edges": _lists(edge), "family": family}
    given = {kind: value for kind, value in graphs.items() if value}
    if len(given) > 1:
        raise InvalidParameter(f"got {' and '.join(given)}; expected one kind of graph")
    body["graph"] = given or None
    if file is not None:
        if any(value is not None for value in body.values()):
            raise InvalidParameter("got --file and other options; expected one of the two")
        body = _read_json(file)
        if name not in (None, body.get("name")):
            raise InvalidParameter(f"name is {name!r}; expected {body.get('name')!r}, as in {file}")
        name = body.pop("name", None)
    if name is None:
        raise InvalidParameter("got no name; expected the learner's name, or --file with one")
    with _client(server, retry_for) as client:
        _show(client.create(name, **body), as_json)


def learners(server: Server = None, retry_for: RetryFor = 5.0, as_json: AsJson = False) -> None:
    """List the learners of the service."""
    with _client(server, retry_for) as client:
        views = client.learners()
    if as_json:
        print_json(*views)
    elif views:
        rows = [(str(v["name"]), str(len(v.get("arms", ()))), str(v.get("n_cliques") or "-"), _state(v)) for v in views]
        print_rows(("learner", "arms", "cliques", "state"), rows, narrow=60)
    else:
        typer.echo("there are no learners yet; allworlds client create makes one")


def show(name: Name, server: Server = None, retry_for: RetryFor = 5.0, as_json: AsJson = False) -> None:
    """Show a learner: its arms, its cover and where it stands."""
    with _client(server, retry_for) as client:
        _show(client.learner(name), as_json)


def choose(
    name: Name,
    id: Annotated[str | None, typer.Option(help="The decision's id.", show_default="a new one")] = None,
    available: Annotated[
        list[str] | None, typer.Option(help="An arm that may be chosen; repeat it.", show_default="all")
    ] = None,
    segment: Annotated[str | None, typer.Option(help="What learns on its own.", show_default="none")] = None,
    count: Annotated[int, typer.Option(help="So many decisions at once.", min=1)] = 1,
    server: Server = None,
    retry_for: RetryFor = 5.0,
    as_json: AsJson = False,
) -> None:
    """Choose an arm."""
    if count > 1 and id is not None:
        raise InvalidParameter(f"got an id and a count of {count}; expected one of the two")
    with _client(server, retry_for) as client:
        if count > 1:
            options = {"available": available or None, "segment": segment}
            decisions = client.choose_many(name, [options] * count)
        else:
            decisions = [client.choose(name, id=id, available=available or None, segment=segment)]
    for decision in decisions:
        if as_json:
            print_json(_as_data(decision))
        else:
            typer.echo(f"{decision.arm}  (probability {decision.probability:.4g}, id {decision.id})")
            typer.echo(f"report what was seen of: {', '.join(decision.observes)}")


def observe(
    name: Name,
    id: Id,
    losses: Annotated[
        list[str], typer.Argument(help="The loss, or reward, of each arm, as arm=loss.", show_default=False)
    ],
    server: Server = None,
    retry_for: RetryFor = 5.0,
    as_json: AsJson = False,
) -> None:
    """Report the outcome of a decision: allworlds client observe prices ID a=0.2 b=0.9."""
    told = dict(_pair(text) for text in losses)
    if len(told) < len(losses):
        raise InvalidParameter("an arm is there twice; expected one loss for each arm")
    with _client(server, retry_for) as client:
        client.observe(id, told, learner=name)
    _done({"id": id, "status": "observed"}, as_json)


def void(name: Name, id: Id, server: Server = None, retry_for: RetryFor = 5.0, as_json: AsJson = False) -> None:
    """Withdraw a decision that nobody saw."""
    with _client(server, retry_for) as client:
        client.void(id, learner=name)
    _done({"id": id, "status": "voided"}, as_json)


def decision(name: Name, id: Id, server: Server = None, retry_for: RetryFor = 5.0, as_json: AsJson = False) -> None:
    """Show a decision: its arm, and whether it is open, observed, voided or expired."""
    with _client(server, retry_for) as client:
        _show(client.decision(name, id), as_json)


def archive(name: Name, server: Server = None, retry_for: RetryFor = 5.0, as_json: AsJson = False) -> None:
    """Make no new decisions; the journal is kept, and open decisions may still be observed."""
    with _client(server, retry_for) as client:
        client.archive(name)
    _done({"learner": name, "status": "archived"}, as_json)


def add_arm(
    name: Name,
    arm: Annotated[str, typer.Argument(help="The new arm's label.", show_default=False)],
    neighbour: Annotated[
        list[str] | None, typer.Option(help="An arm that it sees and is seen by; repeat it.", show_default="none")
    ] = None,
    server: Server = None,
    retry_for: RetryFor = 5.0,
    as_json: AsJson = False,
) -> None:
    """Add an arm to a learner at work."""
    with _client(server, retry_for) as client:
        _show(client.add_arm(name, arm, neighbour or ()), as_json)


def retire_arm(
    name: Name,
    arm: Annotated[str, typer.Argument(help="The arm's label.", show_default=False)],
    server: Server = None,
    retry_for: RetryFor = 5.0,
    as_json: AsJson = False,
) -> None:
    """Take an arm away; outcomes of its open decisions are still accepted."""
    with _client(server, retry_for) as client:
        _show(client.retire_arm(name, arm), as_json)


def export(
    name: Name,
    out: Annotated[Path, typer.Option(help="The file, such as prices.jsonl or prices.parquet.", show_default=False)],
    format: Annotated[
        str | None, typer.Option(help="jsonl, parquet, obp, vw, dsjson or coba.", show_default="by the suffix")
    ] = None,
    server: Server = None,
    retry_for: RetryFor = 5.0,
    as_json: AsJson = False,
) -> None:
    """Write the log of a learner to a file; allworlds evaluate reads it."""
    with _client(server, retry_for) as client:
        client.export(name, out, format)
    if as_json:
        print_json({"files": [str(out)]})
    else:
        typer.echo(f"wrote {out}")


def evaluate(
    name: Name,
    policy: Annotated[str, typer.Option(help="each, an arm, or a distribution such as a=0.5,b=0.5.")] = "each",
    level: Annotated[float, typer.Option(help="Of each interval.")] = 0.95,
    missing: Annotated[
        str, typer.Option(help="drop: leave decisions without an outcome out. worst: allow for any outcome.")
    ] = "drop",
    server: Server = None,
    retry_for: RetryFor = 5.0,
    as_json: AsJson = False,
) -> None:
    """Say what each arm, or another policy, would have cost."""
    with _client(server, retry_for) as client:
        answer = client.evaluate(name, policy, level=level, missing=missing)
    if as_json:
        print_json(answer)
        return
    rows = [
        (v["policy"], _number(v["seeing"]["dr"]), f"{_number(v['seeing']['low'])} to {_number(v['seeing']['high'])}")
        for v in answer["values"]
    ]
    print_rows(("policy", "loss", f"{100 * level:g}% interval"), rows, narrow=60)
    rounds = counted(answer["n_rounds"], "round")
    typer.echo(f"{rounds}, mean loss as logged {_number(answer['logged_loss'])}")
    for note in answer.get("notes", ()):
        typer.echo(note)
    for value in answer["values"]:
        for note in value["notes"]:
            typer.echo(f"{value['policy']}: {note}")


CLIENT = (create, learners, show, choose, observe, void, decision, archive, add_arm, retire_arm, export, evaluate)


def _client(server: str | None, retry_for: float) -> Client:
    from allworlds.client import Client

    return Client(server, retry_for=retry_for)


def _lists(texts: list[str] | None) -> list[list[str]]:
    return [[label.strip() for label in text.split(",")] for text in texts or ()]


def _pair(text: str) -> tuple[str, float]:
    arm, _, loss = text.rpartition("=")
    try:
        return (arm, float(loss)) if arm else _refuse(text)
    except ValueError:
        return _refuse(text)


def _refuse(text: str) -> tuple[str, float]:
    raise InvalidParameter(f"an outcome is {text!r}; expected an arm and its loss, such as a=0.25")


def _read_json(file: Path) -> dict[str, Any]:
    from allworlds.client.requests import LearnerSettings

    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidParameter(f"cannot read {file}: {error}; expected a JSON file") from None
    known = {"name", *LearnerSettings.__annotations__}
    if not isinstance(data, dict) or set(data) - known:
        raise InvalidParameter(f"{file} is not a request; expected an object with {', '.join(sorted(known))}")
    return data


def _as_data(decision: Decision) -> dict[str, object]:
    from dataclasses import asdict

    return asdict(decision)


def _show(answer: Mapping[str, Any], as_json: bool) -> None:
    """An answer as JSON, or as a line for each field."""
    if as_json:
        print_json(answer)
        return
    width = max((len(key) for key in answer), default=0)
    for key, value in answer.items():
        typer.echo(f"{key:<{width}}  {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}")


def _done(what: Mapping[str, str], as_json: bool) -> None:
    if as_json:
        print_json(what)
    else:
        typer.echo(" ".join(what.values()))


def _state(view: Mapping[str, Any]) -> str:
    return "archived" if view.get("archived") or view.get("archived_at") else "at work"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
