"""Every request that a client can make, and how its answer is read: pure functions, without a connection.

The id of a new decision is made here, before the first attempt, so that all attempts are the same request.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypedDict, TypeVar, Unpack
from urllib.parse import quote, urlencode

from allworlds.client.decision import Decision, Losses, label, reported, text, which
from allworlds.client.errors import REPEATED, PartlyFailed, failure
from allworlds.foundation.errors import InvalidParameter
from allworlds.foundation.specs import check_known

if TYPE_CHECKING:
    from allworlds.graphs import FeedbackGraph

T = TypeVar("T")
Body = dict[str, Any]
SUFFIXES = {".jsonl": "jsonl", ".parquet": "parquet", ".dsjson": "dsjson", ".vw": "vw"}


@dataclass(frozen=True)
class Request(Generic[T]):
    """What to send, and how to read the JSON of the answer."""

    method: str
    path: str
    read: Callable[[Any], T]
    body: Any = None
    id: str | None = None
    """Of the decision that it is about."""

    @property
    def content(self) -> bytes | None:
        """The body as bytes, the same for every attempt."""
        return None if self.body is None else json.dumps(self.body, allow_nan=False).encode()


class Again(Exception):
    """An answer that says, somewhere inside, that the request should be repeated; it carries the status."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class LearnerSettings(TypedDict, total=False):
    """What a new learner may be told; what is None or left out is left to the service."""

    arms: Iterable[str] | None
    graph: Mapping[str, Any] | FeedbackGraph | None
    cover: Iterable[Iterable[str]] | None
    learner: str | None
    constants: str | None
    horizon: int | None
    reward: bool | None
    low: float | None
    high: float | None
    minimum_share: float | Mapping[str, float] | None
    deadline: float | None
    on_timeout: str | Mapping[str, float] | None


def create(name: str, **settings: Unpack[LearnerSettings]) -> Request[Body]:
    """Create a learner; settings that are None are left to the service."""
    for key in settings:
        check_known(key, LearnerSettings.__annotations__, "setting")
    body: Body = {"name": text("name", name)} | {key: value for key, value in settings.items() if value is not None}
    if isinstance(body.get("graph"), Mapping):
        body["graph"] = dict(body["graph"])
        if "arms" not in body and "cliques" in body["graph"]:
            body["arms"] = list(dict.fromkeys(arm for clique in body["graph"]["cliques"] for arm in clique))
    elif "graph" in body:
        body |= _graph(body["graph"], body.get("arms"))
    for listed in ("arms", "cover"):
        if listed in body:
            body[listed] = [list(map(label, one)) if listed == "cover" else label(one) for one in body[listed]]
    return Request("POST", "/v1/learners", dict, body)


def learners() -> Request[list[Body]]:
    """All learners."""
    return Request("GET", "/v1/learners", lambda answer: list(answer["learners"]))


def learner(name: str) -> Request[Body]:
    """One learner."""
    return Request("GET", _path(name), dict)


def archive(name: str) -> Request[Body]:
    """Archive a learner."""
    return Request("DELETE", _path(name), dict)


def add_arm(name: str, arm: str, neighbours: Iterable[str]) -> Request[Body]:
    """Add an arm."""
    return Request(
        "POST", _path(name, "arms"), dict, {"label": label(arm), "neighbours": _arms("neighbours", neighbours)}
    )


def retire_arm(name: str, arm: str) -> Request[Body]:
    """Retire an arm."""
    return Request("DELETE", _path(name, "arms", label(arm)), dict)


def choose(name: str, id: str | None, available: Iterable[str] | None, segment: str | None) -> Request[Decision]:
    """Make a decision, or get the one that was made under this id."""
    body = _wanted({"id": id, "available": available, "segment": segment})
    return Request(
        "POST", _path(name, "decisions"), lambda answer: Decision.from_answer(name, answer), body, body["id"]
    )


def choose_many(name: str, wanted: int | Iterable[str | Mapping[str, Any]]) -> Request[list[Decision]]:
    """Make many decisions: so many, or one for each id, or for each mapping with ``id``, ``available``, ``segment``."""
    if isinstance(wanted, int) and not isinstance(wanted, bool):
        items: Sequence[Any] = [{}] * wanted
    else:
        if isinstance(wanted, str):
            raise InvalidParameter(f"the decisions are {wanted!r}; expected a number of them, or a list of ids")
        items = [{"id": one} if isinstance(one, str) else one for one in wanted]  # type: ignore[union-attr]
    if not items:
        raise InvalidParameter("got no decisions to make; expected at least one")
    body = {"decisions": [_wanted(one) for one in items]}

    def read(answer: Any) -> list[Decision]:
        answers: list[object] = []
        for asked, given in zip(body["decisions"], answer["decisions"], strict=True):
            if "error" not in given:
                answers.append(Decision.from_answer(name, given))
            elif given["status"] in REPEATED:
                raise Again(given["status"], given["error"])
            else:
                answers.append(failure(given["status"], given["error"], asked["id"]))
        made = [one for one in answers if isinstance(one, Decision)]
        if len(made) < len(answers):
            first = next(one for one in answers if not isinstance(one, Decision))
            raise PartlyFailed(f"{len(answers) - len(made)} of {len(answers)} decisions failed; {first}", answers)
        return made

    return Request("POST", _path(name, "decisions:batch"), read, body)


def decision(name: str, id: str) -> Request[Body]:
    """What the service knows of a decision."""
    return Request("GET", _path(name, "decisions", text("the id", id)), dict, None, id)


def observe(decision: Decision | str, losses: Losses, learner: str | None) -> Request[None]:
    """Report an outcome."""
    name, id = which(decision, learner)
    return Request("PUT", _path(name, "decisions", id, "outcome"), _nothing, reported(decision, losses), id)


def void(decision: Decision | str, learner: str | None) -> Request[None]:
    """Withdraw a decision that nobody saw."""
    name, id = which(decision, learner)
    return Request("POST", _path(name, "decisions", id, "void"), _nothing, {}, id)


def export(name: str, file: str, format: str | None) -> Request[None]:
    """Ask for the log in a format, by default that of the file's suffix."""
    suffix = "." + file.rpartition(".")[2]
    if format is None and suffix not in SUFFIXES:
        raise InvalidParameter(f"the file is {file!r}; expected a name ending in {', '.join(SUFFIXES)}, or a format")
    return Request("GET", f"{_path(name, 'export')}?{urlencode({'format': format or SUFFIXES[suffix]})}", _nothing)


def evaluate(name: str, policy: str | Mapping[str, float], level: float, missing: str) -> Request[Body]:
    """Ask what other policies would have lost."""
    if isinstance(policy, Mapping):
        policy = ",".join(f"{label(arm)}={float(share)!r}" for arm, share in policy.items())
    query = urlencode({"policy": policy, "level": level, "missing": missing})
    return Request("GET", f"{_path(name, 'evaluate')}?{query}", dict)


def ready() -> Request[None]:
    """Ask whether the service can decide."""
    return Request("GET", "/readyz", _nothing)


def _path(*pieces: str) -> str:
    """The address below ``/v1/learners``; a piece may hold any character."""
    first = text("the learner's name", pieces[0])
    encoded = [quote(piece, safe=":") for piece in (first, *pieces[1:])]
    return "/v1/learners/" + "/".join(p.replace(".", "%2E") if p in (".", "..") else p for p in encoded)


def _wanted(one: Mapping[str, Any]) -> Body:
    """The body of one decision, with an id."""
    unknown = set(one) - {"id", "available", "segment"}
    if unknown:
        raise InvalidParameter(f"a decision has {min(unknown)!r}; expected id, available and segment only")
    id, available, segment = (one.get(key) for key in ("id", "available", "segment"))
    body: Body = {"id": str(uuid.uuid4()) if id is None else text("the id", id)}
    if available is not None:
        body["available"] = _arms("available", available)
    if segment is not None:
        body["segment"] = text("segment", segment)
    return body


def _arms(name: str, arms: Iterable[str]) -> list[str]:
    """The labels in a list; a string is not one, though it could be read as one of its letters."""
    if isinstance(arms, str | bytes | Mapping) or not isinstance(arms, Iterable):
        raise InvalidParameter(f"{name} is {arms!r}; expected a list of arms")
    return list(map(label, arms))


def _graph(graph: Any, arms: Sequence[str] | None) -> Body:
    """A FeedbackGraph as JSON: its arms by label or number, and its edges."""
    if not hasattr(graph, "edges") or not hasattr(graph, "is_directed"):
        raise InvalidParameter(
            f"graph is a {type(graph).__name__}; expected a FeedbackGraph, or a mapping such as "
            "{'cliques': [['a', 'b'], ['c']]}"
        )
    if graph.is_directed or not graph.self_loops.all():
        raise InvalidParameter("the graph is directed or lacks self-loops; expected an undirected one with all")
    names = list(map(label, arms if arms is not None else graph.labels or range(graph.n_arms)))
    if len(names) != graph.n_arms:
        raise InvalidParameter(f"got {len(names)} arms; expected {graph.n_arms}, as many as the graph has")
    return {"arms": names, "graph": {"edges": [[names[i], names[j]] for i, j in graph.edges().tolist() if i != j]}}


def _nothing(answer: Any) -> None:
    return None
