"""The rule of a learner in one epoch: who sees whom, how to learn, and how values are reported.

A rule is made from the body of a creation request (:func:`rule_from_body`), or by adding or retiring an arm, and is
journalled as text with all its numbers: constants, graph and cover. A later version of this package that computes other
constants or another cover for the same request changes no learner that exists.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allworlds.agents.agent import learner_from_data, rule_to_data
from allworlds.agents.arms import cover_with_arm, cover_without_arm, graph_of, with_arm, without_arm
from allworlds.agents.drawing import as_shares
from allworlds.agents.reports import ValueRange
from allworlds.covers import CliqueCover
from allworlds.foundation.checks import real, shorten
from allworlds.foundation.errors import InvalidParameter
from allworlds.ftrl.clock import Rates, rates_of
from allworlds.graphs import FeedbackGraph
from allworlds.graphs.by_name import graph_spec, make_graph
from allworlds.learners import Learner, TsallisShannon
from allworlds.learners.base import CliqueLearner
from allworlds.learners.by_name import make_learner

MOST_ARMS = 10_000
MOST_CHARACTERS = 200
"""Of a label, an id or a segment."""
MOST_LABELS = 1_000_000
"""Labels in the lists that are kept for answers; they are made again when they are needed."""
FIELDS = frozenset(
    {"name", "arms", "graph", "cover", "learner", "constants", "horizon", "reward", "low", "high"}
    | {"minimum_share", "deadline", "on_timeout"}
)
SETTINGS = {
    "practical": "tsallis-shannon",
    "sharp": "tsallis-shannon-sharp",
    "paper": "tsallis-shannon-paper",
    "unproved": "tsallis-shannon:setting=unproved",
}
"""The spec of our learner with each setting of the constants."""


@dataclass(frozen=True, eq=False)
class Rule:
    """How one epoch of a learner decides and learns."""

    learner: Learner
    allowed: ValueRange
    shares: dict[str, float]
    """The least probability of each arm that has one."""
    deadline: float | None
    """Seconds within which an outcome must arrive."""
    default: float | None
    """What every observed arm is taken to have lost if it does not; None voids the decision."""

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The arms, in order."""
        return tuple(str(label) for label in graph_of(self.learner).labels or ())

    @cached_property
    def index(self) -> dict[str, int]:
        """The number of each arm."""
        return {label: i for i, label in enumerate(self.labels)}

    @cached_property
    def floors(self) -> NDArray[np.float64]:
        """(N,) the least probabilities."""
        return np.array([self.shares.get(label, 0.0) for label in self.labels])

    @cached_property
    def rates(self) -> Rates:
        """The scalars of the constants, of a learner that has them."""
        assert isinstance(self.learner, TsallisShannon)
        return rates_of(self.learner.constants)

    @cached_property
    def _lists(self) -> dict[int, tuple[list[str], list[str]]]:
        return {}

    def shown(self, arm: int) -> tuple[list[str], list[str]]:
        """The arms whose outcomes are used after a choice, and those seen beside them; lists not to be changed."""
        lists = self._lists.get(arm)
        if lists is None:
            if (len(self._lists) + 1) * self.learner.n_arms > MOST_LABELS:
                self._lists.clear()
            used = self.learner.observes(arm).tolist()
            others = set(graph_of(self.learner).sees(arm).tolist()).difference(used)
            lists = [self.labels[i] for i in used], [self.labels[i] for i in sorted(others)]
            self._lists[arm] = lists
        return lists

    def ticket(self, text: str) -> Any:
        """A journalled ticket."""
        fields = json.loads(text)
        return self.learner.ticket_class(*(np.array(value) if type(value) is list else value for value in fields))

    def to_text(self) -> str:
        """The rule as JSON."""
        allowed = self.allowed
        data = rule_to_data(self.learner) | {
            "reward": allowed.reward,
            "low": allowed.low,
            "high": allowed.high,
            "minimum_share": self.shares,
            "deadline": self.deadline,
            "on_timeout": "void" if self.default is None else {"default": self.default},
        }
        return json.dumps(data, default=np.ndarray.tolist, allow_nan=False)

    @classmethod
    def from_text(cls, text: str) -> Rule:
        """The inverse of :meth:`to_text`."""
        data = json.loads(text)
        default = data["on_timeout"]["default"] if isinstance(data["on_timeout"], dict) else None
        allowed = ValueRange(data["reward"], data["low"], data["high"])
        return cls(learner_from_data(data), allowed, data["minimum_share"], data["deadline"], default)

    def with_arm(self, label: str, neighbours: Iterable[str]) -> tuple[FeedbackGraph | CliqueCover, list[str]]:
        """What the learner plays on with one arm more, which is last, and the neighbours in order."""
        check_text("label", label)
        if self.learner.n_arms >= MOST_ARMS:
            raise InvalidParameter(f"the learner has {self.learner.n_arms} arms; expected at most {MOST_ARMS}")
        graph, numbers = with_arm(graph_of(self.learner), label, neighbours)
        listed = [self.labels[i] for i in numbers]
        if isinstance(self.learner, CliqueLearner):
            return cover_with_arm(self.learner.cover, graph, numbers), listed
        return graph, listed

    def without_arm(self, label: str) -> FeedbackGraph | CliqueCover:
        """What the learner plays on without an arm."""
        arm = self.index[label]
        graph = without_arm(graph_of(self.learner), arm)
        return cover_without_arm(self.learner.cover, graph, arm) if isinstance(self.learner, CliqueLearner) else graph

    def moved(self, learner: Learner) -> Rule:
        """The same rule with another learner; the shares of arms that are gone are gone."""
        left = set(graph_of(learner).labels or ())
        shares = {label: share for label, share in self.shares.items() if label in left}
        return Rule(learner, self.allowed, shares, self.deadline, self.default)

    def view(self) -> dict[str, Any]:
        """The rule in the words of the interface."""
        learner, allowed = self.learner, self.allowed
        value = "reward" if allowed.reward else "loss"
        whose = "each arm of its clique" if isinstance(learner, CliqueLearner) else "each arm that it shows"
        view: dict[str, Any] = {
            "arms": list(self.labels),
            "learner": learner.title,
            "n_cliques": learner.n_cliques or None,
            "cover": None,
            "feedback": f"after a choice, report the {value} of {whose if learner.shows != 'itself' else 'the arm'}, "
            f"a number from {allowed.low:g} to {allowed.high:g}",
            "reward": allowed.reward,
            "low": allowed.low,
            "high": allowed.high,
            "minimum_share": self.shares,
            "deadline": self.deadline,
            "on_timeout": "void" if self.default is None else {"default": self.default},
        }
        if isinstance(learner, CliqueLearner):
            cover = learner.cover
            view["cover"] = {
                "cliques": [[self.labels[i] for i in clique.tolist()] for clique in cover.cliques],
                "method": cover.method,
                "lower_bound": cover.lower_bound,
                "minimum": bool(cover.is_minimum),
                "certificate": None if cover.certificate is None else cover.certificate.to_data(),
            }
        return view


def canonical(body: Mapping[str, Any]) -> str:
    """A creation request as text: equal for equal requests."""
    given = {name: value for name, value in body.items() if value is not None}
    try:
        return json.dumps(given, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InvalidParameter(f"the body cannot be written as JSON: {error}") from None


def rule_from_body(body: Mapping[str, Any]) -> Rule:
    """The rule of a new learner; raise an error with a sentence if the request makes none."""
    unknown = sorted(set(body) - FIELDS)
    if unknown:
        raise InvalidParameter(f"the body has {unknown[0]!r}; expected only {', '.join(sorted(FIELDS))}")
    check_text("name", body.get("name"))
    graph = graph_from_body(body.get("graph"), body.get("arms"))
    learner = _learner_from_body(body, graph)
    low, high = (real(name, _or(body, name, default)) for name, default in (("low", 0.0), ("high", 1.0)))
    allowed = ValueRange(_or(body, "reward", False), low, high)
    deadline = body.get("deadline")
    if deadline is not None:
        deadline = real("deadline", deadline, above=0)
    timeout, default = _or(body, "on_timeout", "void"), None
    if isinstance(timeout, Mapping) and set(timeout) == {"default"}:
        default = real("the default of on_timeout", timeout["default"], at_least=low, at_most=high)
    elif timeout != "void":
        raise InvalidParameter(f"on_timeout is {shorten(timeout)}; expected 'void' or {{'default': x}}")
    return Rule(learner, allowed, as_shares(body.get("minimum_share"), graph), deadline, default)


def graph_from_body(data: Any, arms: Any) -> FeedbackGraph:
    """The graph of a request, whose arms are labels; those of a family are "0", "1", … unless they are given."""
    forms = ("cliques", "edges", "family")
    given = [form for form in forms if isinstance(data, Mapping) and data.get(form) is not None]
    if not isinstance(data, Mapping) or len(given) != 1 or set(data) - set(forms):
        raise InvalidParameter(f"graph is {shorten(data)}; expected one of cliques, edges and family")
    if given == ["family"]:
        return _family(data["family"], None if arms is None else _labels(arms))
    lists = data[given[0]]
    if not _is_list_of_lists(lists):
        raise InvalidParameter(f"{given[0]} is {shorten(lists)}; expected lists of labels")
    labels = _labels(arms if arms is not None else list(dict.fromkeys(arm for part in lists for arm in part)))
    numbers = _numbers(given[0], lists, labels)
    if given == ["cliques"]:
        if sum(len(part) ** 2 for part in numbers) > MOST_ARMS**2:
            raise InvalidParameter(f"the cliques have too many pairs; expected at most {MOST_ARMS**2:,}")
        return FeedbackGraph.from_cliques(len(labels), numbers, labels)
    return FeedbackGraph(len(labels), numbers, labels)


def _family(spec: Any, labels: list[str] | None) -> FeedbackGraph:
    """A family by name; files of the server are none of a client's business."""
    parsed = graph_spec(_text("family", spec))
    sizes = [int(digits) for digits in re.findall(r"\d+", str(spec)) if len(digits) < 18]
    pair = re.search(r"(\d{1,9})x(\d{1,9})", str(spec))
    total = max([*sizes, int(pair[1]) * int(pair[2]) if pair else 0])
    if parsed.name == "file" or total > MOST_ARMS:
        raise InvalidParameter(f"family is {shorten(spec)}; expected a family of at most {MOST_ARMS} arms, not a file")
    graph = make_graph(parsed)
    if not isinstance(graph, FeedbackGraph) or graph.n_arms > MOST_ARMS:
        raise InvalidParameter(f"family is {shorten(spec)}; expected a fixed graph of at most {MOST_ARMS} arms")
    if labels is None:
        labels = [str(label) for label in graph.labels or range(graph.n_arms)]
    if len(labels) != graph.n_arms:
        raise InvalidParameter(f"arms has {len(labels)} labels; expected {graph.n_arms}, one for each arm of {spec}")
    return FeedbackGraph._of(graph._storage, labels)


def _learner_from_body(body: Mapping[str, Any], graph: FeedbackGraph) -> Learner:
    """The learner that a request names, on its graph or on its cover."""
    where: FeedbackGraph | CliqueCover = graph
    if body.get("cover") is not None:
        cliques = body["cover"]
        if not _is_list_of_lists(cliques):
            raise InvalidParameter(f"cover is {shorten(cliques)}; expected lists of labels")
        where = CliqueCover(graph, _numbers("cover", cliques, [str(label) for label in graph.labels or ()]))
    spec, constants = _text("learner", _or(body, "learner", "tsallis-shannon")), body.get("constants")
    if constants is not None:
        if spec != "tsallis-shannon" or not isinstance(constants, str) or constants not in SETTINGS:
            raise InvalidParameter(
                f"constants is {shorten(constants)} for {spec}; expected one of {', '.join(SETTINGS)}, for "
                "tsallis-shannon"
            )
        spec = SETTINGS[constants]
    return make_learner(spec, where, body.get("horizon"))


def check_text(name: str, value: Any) -> str:
    """``value`` as a text that every database can hold: 1 to 200 characters without NUL and lone surrogates."""
    text = _text(name, value)
    if not is_text(text):
        raise InvalidParameter(
            f"{name} is {shorten(ascii(text))}; expected 1 to {MOST_CHARACTERS} characters, without NUL and surrogates"
        )
    return text


def is_text(text: str) -> bool:
    """Whether every database can hold it."""
    if not 1 <= len(text) <= MOST_CHARACTERS or "\0" in text:
        return False
    return text.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in text)


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidParameter(f"{name} is {shorten(value)}; expected a string")
    return value


def _or(body: Mapping[str, Any], name: str, default: Any) -> Any:
    return default if body.get(name) is None else body[name]


def _is_list_of_lists(lists: Any) -> bool:
    return isinstance(lists, list) and all(
        isinstance(part, list | tuple) and all(isinstance(arm, str) for arm in part) for part in lists
    )


def _labels(arms: Any) -> list[str]:
    """The labels of all arms, which are different."""
    if not isinstance(arms, list | tuple) or not 1 <= len(arms) <= MOST_ARMS:
        raise InvalidParameter(f"arms is {shorten(arms)}; expected a list of 1 to {MOST_ARMS} labels")
    labels = [check_text("an arm", arm) for arm in arms]
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise InvalidParameter(f"arms has {twice!r} twice; expected different labels")
    return labels


def _numbers(name: str, lists: list[list[str]], labels: list[str]) -> list[list[int]]:
    """The labels in the lists as numbers."""
    index = {label: i for i, label in enumerate(labels)}
    for part in lists:
        for arm in part:
            if arm not in index:
                raise InvalidParameter(f"{name} names {arm!r}, which is not an arm; expected labels of arms")
    return [[index[arm] for arm in part] for part in lists]
