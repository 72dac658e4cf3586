"""The rule of a learner in one epoch: who sees whom, how to learn, and how values are reported.

A rule is made from the body of a creation request (``service.rule_body``), or by adding or retiring an arm, and is
journalled as text with all its numbers: constants, graph and cover. A later version of this package that computes other
constants or another cover for the same request changes no learner that exists.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allworlds.agents.arms import cover_with_arm, cover_without_arm, graph_of, with_arm, without_arm
from allworlds.agents.memory import learner_from_data, rule_to_data
from allworlds.agents.reports import ValueRange
from allworlds.covers import CliqueCover
from allworlds.foundation.checks import shorten
from allworlds.foundation.errors import InvalidParameter
from allworlds.ftrl.clock import Rates, rates_of
from allworlds.graphs import FeedbackGraph
from allworlds.learners import Learner, TsallisShannon
from allworlds.learners.base import CliqueLearner

MOST_ARMS = 10_000
MOST_CHARACTERS = 200
"""Of a label, an id or a segment."""
MOST_LABELS = 1_000_000
"""Labels in the lists that are kept for answers; they are made again when they are needed."""


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
        data = rule_to_data(self.learner) | self._settings()
        return json.dumps(data, default=np.ndarray.tolist, allow_nan=False)

    def _settings(self) -> dict[str, Any]:
        """What was asked for beside the learner, as the journal and clients have it."""
        return {
            "reward": self.allowed.reward,
            "low": self.allowed.low,
            "high": self.allowed.high,
            "minimum_share": self.shares,
            "deadline": self.deadline,
            "on_timeout": "void" if self.default is None else {"default": self.default},
        }

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
            **self._settings(),
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


def check_text(name: str, value: Any) -> str:
    """``value`` as a text that every database can hold: 1 to 200 characters without NUL and lone surrogates."""
    text = text_of(name, value)
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


def text_of(name: str, value: Any) -> str:
    """``value``, which must be a string."""
    if not isinstance(value, str):
        raise InvalidParameter(f"{name} is {shorten(value)}; expected a string")
    return value
