"""What travels: the JSON bodies of requests and answers, as structs.

Requests are parsed into these structs, so a wrong shape is refused before anything else looks at it; an unknown field
is refused, too, because a misspelt option must not be ignored. Answers are made by the engine as plain dictionaries;
their structs are what the OpenAPI document promises, and the tests compare the two.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

MOST_CHARACTERS = 200
"""Of a label, a decision's id or a segment."""
MOST_IN_BATCH = 1000
"""Decisions in one batch."""
MOST_ARMS = 10_000
"""Arms of one learner."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", re.ASCII)
"""Names of learners: they are parts of paths, and are typed by hand."""
CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def ref(name: str) -> dict[str, str]:
    """A reference to a struct, within the OpenAPI document."""
    return {"$ref": f"#/components/schemas/{name}"}


Text = Annotated[str, Meta(min_length=1, max_length=MOST_CHARACTERS)]
Name = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=100,
        description="Letters, digits, dots, underscores and hyphens; begins with a letter or a digit.",
        extra_json_schema={"pattern": "^[A-Za-z0-9][A-Za-z0-9._-]*$"},
    ),
]
Labels = Annotated[list[Text], Meta(max_length=MOST_ARMS)]


class Graph(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Which arms are seen together: one of cliques, edges and family."""

    cliques: list[Labels] | None = None
    edges: list[Annotated[list[Text], Meta(min_length=2, max_length=2)]] | None = None
    family: Annotated[str, Meta(max_length=MOST_CHARACTERS, description="Such as disjoint-cliques:10x10.")] | None = (
        None
    )


class Default(Struct, forbid_unknown_fields=True):
    """What a missing outcome counts as: this value for every arm of observe."""

    default: float


class NewLearner(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A learner to create. The same body again gives the same learner."""

    name: Name
    graph: Graph
    arms: Annotated[list[Text], Meta(min_length=1, max_length=MOST_ARMS)] | None = None
    cover: list[Labels] | None = None
    learner: Annotated[str, Meta(max_length=MOST_CHARACTERS)] | None = None
    constants: Annotated[str, Meta(max_length=MOST_CHARACTERS)] | None = None
    horizon: Annotated[int, Meta(ge=1)] | None = None
    reward: bool | None = None
    low: float | None = None
    high: float | None = None
    minimum_share: float | dict[str, float] | None = None
    deadline: Annotated[float, Meta(gt=0, description="Seconds within which an outcome must arrive.")] | None = None
    on_timeout: Annotated[str, Meta(extra_json_schema={"enum": ["void"]})] | Default | None = None


class Choose(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A decision that is asked for. The same id again gives the same answer, for ever."""

    id: Text | None = None
    available: Labels | None = None
    segment: Annotated[str, Meta(max_length=MOST_CHARACTERS)] | None = None


class ChooseMany(Struct, forbid_unknown_fields=True):
    """Many decisions at once; each is answered by itself."""

    decisions: Annotated[
        list[Annotated[dict[str, Any], Meta(extra_json_schema=ref("Choose"))]],
        Meta(
            min_length=1,
            max_length=MOST_IN_BATCH,
            description="One that is malformed is answered with an error in its place; the others are made.",
        ),
    ]


class NewArm(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """An arm to add, and the arms that are seen together with it."""

    label: Text
    neighbours: Labels = []


Losses = dict[str, float]
"""An outcome: the loss (or reward) of each arm of observe; those of also_visible may be added."""


class Decision(Struct):
    """The arm to use, and whose outcomes to report."""

    id: str
    arm: str
    probability: float | None
    clique_probability: float | None
    observe: list[str]
    also_visible: list[str]
    round: int
    deadline: float | None


class DecisionStatus(Decision):
    """A decision and what became of it."""

    status: Annotated[str, Meta(extra_json_schema={"enum": ["open", "observed", "voided", "expired"]})]
    segment: str | None


class Ended(Struct):
    """What became of a decision."""

    id: str
    status: Annotated[str, Meta(extra_json_schema={"enum": ["observed", "voided"]})]


class Error(Struct):
    """A sentence that says what was given, what was expected and what to do."""

    error: str
    status: int


class Decisions(Struct):
    """The answers of a batch, in its order: each a decision or an error."""

    decisions: list[Annotated[dict[str, Any], Meta(extra_json_schema={"anyOf": [ref("Decision"), ref("Error")]})]]


class Cover(Struct):
    """The cliques that are played, and how few there could be."""

    cliques: list[list[str]]
    method: str
    lower_bound: int | None
    minimum: bool
    """Whether no cover has fewer cliques, which the certificate proves."""
    certificate: Any


class Learner(Struct):
    """A learner, its cover with a certificate, and what feedback is expected."""

    name: str
    arms: list[str]
    learner: str
    n_cliques: int | None
    cover: Cover | None
    feedback: str
    reward: bool
    low: float
    high: float
    minimum_share: dict[str, float]
    deadline: float | None
    on_timeout: str | Default
    created_at: float
    archived_at: float | None
    open: int
    events: int


class LearnerState(Learner):
    """A learner and where it stands."""

    round: int
    distribution: dict[str, float]
    segments: dict[str, Any]


class Learners(Struct):
    """All learners."""

    learners: list[Learner]


class Estimate(Struct):
    """Estimates of a mean loss, and an interval that holds at any time."""

    ips: float | None
    snips: float | None
    dr: float | None
    low: float | None
    high: float | None
    variance: float | None
    effective: float | None
    heaviest: float | None


class PolicyValue(Struct):
    """What a policy would have lost a round."""

    policy: str
    seeing: Estimate
    playing: Estimate
    rounds: int
    """In which its arms were available: what it is evaluated over."""
    replayed: int | None
    notes: list[str]


class Evaluation(Struct):
    """What policies would have lost a round, from logged decisions."""

    values: list[PolicyValue]
    n_rounds: int
    n_missing: int
    n_void: int
    logged_loss: float | None
    level: float
    notes: list[str]


class Health(Struct):
    """Whether the process answers, and whether it can decide."""

    status: str
    version: str


WORDS = {
    "str": "a string",
    "int": "an integer",
    "float": "a number",
    "bool": "true or false",
    "object": "an object",
    "array": "a list",
    "null": "null",
}
"""What msgspec's types are called in sentences."""


def sentence(error: msgspec.ValidationError, whole: str = "the body") -> str:
    """What msgspec says of a wrong shape, in our grammar; ``whole`` is what it looked at.

    >>> sentence(msgspec.ValidationError("Expected `str | null`, got `int` - at `$.id`"))
    'id is an integer; expected a string or null'
    >>> sentence(msgspec.ValidationError("Expected `array` of length >= 1 - at `$.decisions`"))
    'decisions is not valid; expected a list of length >= 1'
    """
    what, _, place = str(error).partition(" - at `$")
    place = place.rstrip("`").lstrip(".").replace("[...]", " of an arm").lstrip() or whole
    place = f"the value {place}" if place.startswith("of an arm") else place
    if found := re.fullmatch(r"Expected `([^`]+)`, got `([^`]+)`", what):
        expected, given = (
            " or ".join(WORDS.get(word, word) for word in group.split(" | ")) for group in found.groups()
        )
        return f"{place} is {given}; expected {expected}"
    if found := re.fullmatch(r"Object missing required field `(.+)`", what):
        return f"{place} has no {found[1]!r}; expected one"
    if found := re.fullmatch(r"Object contains unknown field `(.+)`", what):
        return f"{place} has {found[1]!r}, which is not known; see /openapi.json"
    what = re.sub("`([^`]+)`", lambda found: WORDS.get(found[1], found[1]), f"{what[:1].lower()}{what[1:]}")
    return f"{place} is not valid{';' if what.startswith('expected') else ':'} {what}"
