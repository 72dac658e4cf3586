"""From the body of a creation request to a rule: its graph, its cover, its learner, and what is wrong with them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from allworlds.agents.drawing import as_shares
from allworlds.agents.reports import ValueRange
from allworlds.covers import CliqueCover
from allworlds.covers.cover import find_strangers
from allworlds.foundation.checks import real, shorten
from allworlds.foundation.errors import InvalidCover, InvalidParameter
from allworlds.graphs import FeedbackGraph
from allworlds.graphs.by_name import graph_spec, make_graph
from allworlds.graphs.storage import group_arms
from allworlds.learners import Learner
from allworlds.learners.by_name import LEARNERS, make_learner
from allworlds.service.rule import MOST_ARMS, Rule, check_text, text_of

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
    if deadline is None and timeout != "void":  # which is what the service itself answers without a deadline
        raise InvalidParameter(
            f"on_timeout is {shorten(timeout)}, but there is no deadline, so no decision expires; expected a deadline "
            "in seconds too; or leave on_timeout out"
        )
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
        for number, part in enumerate(lists):
            _check_once(f"clique {number} of graph", part)
        if sum(len(part) ** 2 for part in numbers) > MOST_ARMS**2:
            raise InvalidParameter(f"the cliques have too many pairs; expected at most {MOST_ARMS**2:,}")
        return FeedbackGraph.from_cliques(len(labels), numbers, labels)
    return FeedbackGraph(len(labels), numbers, labels)


def _family(spec: Any, labels: list[str] | None) -> FeedbackGraph:
    """A family by name; files of the server are none of a client's business."""
    parsed = graph_spec(text_of("family", spec))
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
        where = _cover(graph, cliques)
    spec, constants = text_of("learner", _or(body, "learner", "tsallis-shannon")), body.get("constants")
    if constants is not None:
        if spec != "tsallis-shannon" or not isinstance(constants, str) or constants not in SETTINGS:
            raise InvalidParameter(
                f"constants is {shorten(constants)} for {spec}; expected one of {', '.join(SETTINGS)}, for "
                "tsallis-shannon"
            )
        spec = SETTINGS[constants]
    horizon = body.get("horizon")
    if horizon is not None and LEARNERS.find(spec).horizon == "ignored":
        named = spec if constants is None else f"tsallis-shannon with {constants} constants"
        raise InvalidParameter(
            f"horizon is {shorten(horizon)}, but {named} does not use it; expected none; leave it out, or name a "
            "learner that uses it, as tsallis-shannon does with the constants paper"
        )
    return make_learner(spec, where, horizon)


def _cover(graph: FeedbackGraph, cliques: list[list[str]]) -> CliqueCover:
    """The cover of a request; what is wrong with it is said in the labels that were sent."""
    labels = [str(label) for label in graph.labels or ()]
    numbers, cure = _numbers("cover", cliques, labels), "leave cover out, and the service computes one"
    owner = np.full(len(labels), -1)
    for k, part in enumerate(numbers):
        if not part:
            raise InvalidCover(f"clique {k} of cover is empty; expected at least one arm; leave it out")
        _check_once(f"clique {k} of cover", cliques[k])
        taken = next((arm for arm in part if owner[arm] >= 0), None)
        if taken is not None:
            raise InvalidCover(
                f"arm {labels[taken]!r} is in cliques {owner[taken]} and {k} of cover; expected each arm in one "
                f"clique; {cure}"
            )
        owner[part] = k
    absent = np.flatnonzero(owner < 0)
    if absent.size:
        raise InvalidCover(f"arm {labels[absent[0]]!r} is in no clique of cover; expected each arm in one; {cure}")
    strangers = find_strangers(graph, group_arms(owner, len(numbers)))
    if strangers is not None:
        one, other = (labels[arm] for arm in strangers)
        raise InvalidCover(
            f"arms {one!r} and {other!r} share clique {owner[strangers[0]]} of cover, but they are not neighbours in "
            f"the graph; expected arms that all see each other; {cure}"
        )
    return CliqueCover(graph, numbers)


def _check_once(name: str, arms: list[str]) -> None:
    """Raise InvalidParameter if an arm is there twice."""
    if len(set(arms)) < len(arms):
        twice = Counter(arms).most_common(1)[0][0]
        raise InvalidParameter(f"{name} has {twice!r} twice; expected each arm once")


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
