"""The table of routes: the one place that says what can be asked, who may ask it, and what is answered.

The application, the checks of scopes and the OpenAPI document are made from :data:`ROUTES`. A handler takes the
request, its body parsed and checked, asks the engine, and returns what is encoded as JSON.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import msgspec

from allworlds.service import messages
from allworlds.service.calls import Call
from allworlds.service.journal import KeyRow
from allworlds.service.messages import Choose, ChooseMany, NewArm, NewLearner, sentence
from allworlds.service.security import Refused, check_name, check_text, shown

if TYPE_CHECKING:
    from allworlds.service.app import App

FORMATS = {
    "jsonl": "application/jsonl",
    "parquet": "application/vnd.apache.parquet",
    "obp": "application/octet-stream",
    "vw": "text/plain; charset=utf-8",
    "dsjson": "application/jsonl",
    "coba": "application/json",
}
"""The formats of an export, and what they are called on the way."""
NOT_READY = 503


class Request:
    """What a handler sees of a request."""

    __slots__ = ("begin", "body", "key", "limit", "method", "name", "path", "query", "rest", "route")

    def __init__(self, route: Route, method: str, path: bytes, name: str, rest: str, query: dict[str, str]) -> None:
        self.route, self.method, self.path = route, method, path
        self.name, self.rest, self.query = name, rest, query
        """The learner's name, the other parameter of the path (an id or a label), and the query."""
        self.key: KeyRow | None = None
        self.body: Any = None
        self.limit = 0
        """How many bytes its body may have."""
        self.begin = 0.0

    @property
    def what(self) -> str:
        """The method and path, for the log."""
        return f"{self.method} {shown(self.path.decode('latin-1'))}"


class Answer(NamedTuple):
    """An answer whose status is not 200."""

    status: int
    content: Any


class Stream(NamedTuple):
    """An answer that is sent piece by piece."""

    first: bytes
    pieces: Generator[bytes, None, None]
    release: Callable[[], None]
    """To be called when it has ended, however it did."""
    content_type: str
    filename: str


Handler: TypeAlias = Callable[["App", Request], Any]
"""Returns what is answered with 200, an :class:`Answer`, a call whose answer it is, or a coroutine of one of these."""


def health(app: App, request: Request) -> Any:
    """Whether the process answers."""
    return app.health("ok")


async def ready(app: App, request: Request) -> Any:
    """Whether it can decide: kernels are compiled, and the database answers."""
    app.check_ready()
    await app.ask("ping")
    return app.health("ready")


def document(app: App, request: Request) -> Any:
    """The OpenAPI document."""
    return msgspec.Raw(app.openapi)


async def list_learners(app: App, request: Request) -> Any:
    """All learners, or the only one that the key is for."""
    views = await app.ask("views")
    only = None if request.key is None else request.key.learner
    return {"learners": [view for view in views if only is None or view["name"] == only]}


async def create_learner(app: App, request: Request) -> Any:
    """Create a learner; the same body again gives the same one."""
    new: NewLearner = request.body
    check_name(new.name)
    if request.key is not None and request.key.learner not in (None, new.name):
        raise Refused(403, f"key {request.key.id} is for the learner {shown(request.key.learner or '')} alone")
    body = await asyncio.to_thread(_checked_body, new)  # millions of labels must not keep others waiting
    view, created = await app.create(body)
    return Answer(201 if created else 200, view)


def _checked_body(new: NewLearner) -> dict[str, Any]:
    groups = (*(new.graph.cliques or ()), *(new.graph.edges or ()), *(new.cover or ()))
    for label in {*(new.arms or ()), *(label for group in groups for label in group)}:
        check_text("a label", label)
    body: dict[str, Any] = msgspec.to_builtins(new)
    return body


async def show_learner(app: App, request: Request) -> Any:
    """One learner, and where it stands."""
    view = await app.ask("view", request.name)
    return view | await app.ask("state", request.name)


def archive_learner(app: App, request: Request) -> Any:
    """No new decisions; outcomes of open ones are still accepted."""
    return Call("archive", request.name)


def add_arm(app: App, request: Request) -> Any:
    """Add an arm."""
    new: NewArm = request.body
    label = check_text("label", new.label)
    return Call("add_arm", request.name, {"label": label, "neighbours": new.neighbours})


def retire_arm(app: App, request: Request) -> Any:
    """Retire an arm; outcomes of earlier decisions are still accepted."""
    return Call("retire_arm", request.name, {"label": request.rest})


def choose(app: App, request: Request) -> Any:
    """Decide; the same id again gives the same answer."""
    asked: Choose = request.body
    _check_choose(asked)
    return Call("choose", request.name, {"id": asked.id, "available": asked.available, "segment": asked.segment})


async def choose_many(app: App, request: Request) -> Any:
    """Many decisions at once, each answered by itself."""
    many: ChooseMany = request.body
    app.keys.charge(request.key, len(many.decisions) - 1)
    answers: list[Any] = [_asked_or_error(item) for item in many.decisions]
    good = [k for k, asked in enumerate(answers) if type(asked) is Choose]
    items = [msgspec.structs.asdict(answers[k]) for k in good]
    # asked also where none is good: an unknown learner is 404
    made = await app.ask("choose_many", request.name, decisions=items, weight=len(answers))
    for k, answer in zip(good, made, strict=True):
        answers[k] = answer
    return {"decisions": answers}


def _asked_or_error(item: dict[str, Any]) -> Choose | dict[str, Any]:
    """An item of a batch, or what is wrong with it, as its answer."""
    try:
        asked = msgspec.convert(item, Choose)
        _check_choose(asked)
    except msgspec.ValidationError as error:
        return {"error": sentence(error, "the decision"), "status": 422}
    except Refused as refusal:
        return {"error": refusal.sentence, "status": refusal.status}
    return asked


def _check_choose(asked: Choose) -> None:
    if asked.id is not None:
        check_text("id", asked.id)
    if asked.segment:
        check_text("segment", asked.segment)


def show_decision(app: App, request: Request) -> Any:
    """A decision and what became of it."""
    return Call("decision", request.name, {"id": request.rest})


def observe(app: App, request: Request) -> Any:
    """Report the outcome of a decision; the same outcome again changes nothing."""
    return Call("observe", request.name, {"id": request.rest, "losses": request.body})


def void(app: App, request: Request) -> Any:
    """Take back a decision that nobody saw."""
    return Call("void", request.name, {"id": request.rest})


async def export(app: App, request: Request) -> Any:
    """All decisions with their outcomes, as a file."""
    format = request.query.get("format", "jsonl")
    if format not in FORMATS:
        raise Refused(422, f"format is {shown(format)}; expected one of {', '.join(FORMATS)}")
    return await app.export(request.name, format)


async def evaluate(app: App, request: Request) -> Any:
    """What each arm, or another policy, would have cost, with intervals."""
    return await app.evaluate(request.name, request.query)


@dataclass(frozen=True)
class Route:
    """One thing that can be asked."""

    method: str
    path: str
    handler: Handler
    scope: str | None
    """What a key must have; None where no key is needed."""
    answer: Any
    """The type of the answer; None where it is a file."""
    body: Any = None
    """The type of the body; None where there is none."""
    statuses: tuple[int, ...] = ()
    """Beyond 200 and those that every route has."""
    query: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Names of the query, with the schema of each."""

    @property
    def name(self) -> str:
        """What the OpenAPI document and logs call it."""
        return self.handler.__name__

    @property
    def summary(self) -> str:
        """The first line of its handler."""
        return (self.handler.__doc__ or "").strip()


_ONE = "/v1/learners/{name}"
_MANY = f"{_ONE}/decisions"
ROUTES = (
    Route("GET", "/healthz", health, None, messages.Health),
    Route("GET", "/readyz", ready, None, messages.Health, statuses=(NOT_READY,)),
    Route("GET", "/openapi.json", document, None, dict[str, Any]),
    Route("GET", "/v1/learners", list_learners, "read", messages.Learners),
    Route("POST", "/v1/learners", create_learner, "admin", messages.Learner, NewLearner, (201, 409)),
    Route("GET", _ONE, show_learner, "read", messages.LearnerState, statuses=(404,)),
    Route("DELETE", _ONE, archive_learner, "admin", messages.Learner, statuses=(404,)),
    Route("POST", f"{_ONE}/arms", add_arm, "admin", messages.Learner, NewArm, (404, 409, 410)),
    Route("DELETE", f"{_ONE}/arms/{{label}}", retire_arm, "admin", messages.Learner, statuses=(404, 409, 410, 422)),
    Route("POST", _MANY, choose, "choose", messages.Decision, Choose, (404, 410, 429)),
    Route("POST", f"{_MANY}:batch", choose_many, "choose", messages.Decisions, ChooseMany, (404, 410, 429)),
    Route("GET", f"{_MANY}/{{id}}", show_decision, "read", messages.DecisionStatus, statuses=(404, 422)),
    Route("PUT", f"{_MANY}/{{id}}/outcome", observe, "observe", messages.Ended, messages.Losses, (404, 409, 410)),
    Route("POST", f"{_MANY}/{{id}}/void", void, "observe", messages.Ended, statuses=(404, 409, 410, 422)),
    Route(
        "GET",
        f"{_ONE}/export",
        export,
        "read",
        None,
        statuses=(404, 409),
        query={"format": {"type": "string", "enum": list(FORMATS), "default": "jsonl"}},
    ),
    Route(
        "GET",
        f"{_ONE}/evaluate",
        evaluate,
        "read",
        messages.Evaluation,
        statuses=(404, 409),
        query={
            "policy": {"type": "string", "default": "each"},
            "level": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1, "default": 0.95},
            "missing": {"type": "string", "enum": ["drop", "worst"], "default": "drop"},
        },
    ),
)
