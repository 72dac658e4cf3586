"""An agent for frameworks that name their arms only when they ask for the first one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any

from allworlds.agents import Agent, Decision
from allworlds.agents.reports import ValueRange
from allworlds.covers import CliqueCover
from allworlds.foundation.errors import InvalidLosses, InvalidParameter
from allworlds.graphs import FeedbackGraph, bandit
from allworlds.kernels.random import as_seed
from allworlds.learners import Learner
from allworlds.learners.by_name import make_learner

Rule = str | Learner | FeedbackGraph | CliqueCover


class LateAgent:
    """An :class:`~allworlds.Agent` that is made at the first choice, when the number of arms is known.

    ``rule`` is what an agent takes, or the name of a learner, which then plays on arms that see only themselves. The
    arms keep the names of the first choice; where the graph has labels, the names must be those. ``owner`` is the class
    that a user sees, for sentences.
    """

    def __init__(self, rule: Rule, seed: int | None, reward: bool, low: float, high: float, owner: str) -> None:
        if isinstance(rule, str):
            make_learner(rule, bandit(2))  # a wrong name is refused now
        elif not isinstance(rule, Learner | FeedbackGraph | CliqueCover):
            raise InvalidParameter(
                f"learner is a {type(rule).__name__}; expected a learner, a graph, a cover, or a name such as "
                "'tsallis-shannon'"
            )
        self._rule, self._seed, self._owner = rule, as_seed(seed), owner
        self._range = ValueRange(reward, low, high)  # a wrong range is refused now
        self._names: list[Any] = []
        self._agent = self._make(2 if isinstance(rule, str) else None)

    def _make(self, n_arms: int | None) -> Agent:
        learner = make_learner(self._rule, bandit(n_arms or 1)) if isinstance(self._rule, str) else self._rule
        allowed = self._range
        return Agent(learner, self._seed, reward=allowed.reward, low=allowed.low, high=allowed.high)

    @property
    def agent(self) -> Agent:
        """The agent; before the first choice, one that the first choice may replace."""
        return self._agent

    def choose(self, names: Sequence[Any]) -> tuple[Decision, Any]:
        """Choose among ``names``, the same in every round; the decision, and the chosen arm's name."""
        self._settle(names)
        decision = self._agent.choose()
        return decision, self.name_of(decision.arm)

    def name_of(self, arm: Any) -> Any:
        """What the framework calls an arm of the agent."""
        return self._names[self._graph.index_of(arm)]

    def observe(self, decision: Decision | int, values: Iterable[tuple[Any, float]]) -> None:
        """Learn the outcome of a decision: names of arms and their values; names need not be hashable."""
        arms, losses = self._agent.arms, {}
        for name, value in values:
            if name not in self._names:
                raise InvalidLosses(f"there is a reward of {name!r}; expected arms of the first choice")
            if isinstance(value, Real) and not self._range.low <= value <= self._range.high:
                raise self._range.complain(name, float(value), self._owner)
            losses[arms[self._names.index(name)]] = value
        self._agent.observe(decision, losses)

    def probability(self, names: Sequence[Any], name: Any) -> float:
        """With which probability the next choice would be ``name``."""
        self._settle(names)
        return float(self._agent.distribution[self._names.index(name)])

    @property
    def _graph(self) -> FeedbackGraph:
        graph = self._agent.learner.graph
        assert isinstance(graph, FeedbackGraph)  # an agent takes no other
        return graph

    def _settle(self, given: Sequence[Any]) -> None:
        """At the first choice, make the agent and keep the names; later, refuse other names."""
        names = list(given)
        if self._names:
            if names != self._names and (len(names) != len(self._names) or any(n not in names for n in self._names)):
                raise InvalidParameter(
                    f"there are {len(names)} arms, other than the {len(self._names)} of the first choice; expected "
                    "the same arms in every round"
                )
            return
        agent = self._make(len(names)) if isinstance(self._rule, str) else self._agent
        labels, count = self._graph.labels, agent.learner.n_arms
        if len(names) != count:
            raise InvalidParameter(f"there are {len(names)} arms; expected {count}, as many as the graph has")
        if labels is not None:
            unknown = [name for name in names if name not in labels]
            if unknown:
                raise InvalidParameter(f"there is an arm {unknown[0]!r}; expected the labels of the graph")
            names = list(labels)
        self._agent, self._names = agent, names
