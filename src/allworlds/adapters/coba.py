"""A learner of this package as a learner of coba, with the probabilities that off-policy evaluation needs.

Coba tells the reward of the action taken and no other, so the graph must have no edges between arms. Rewards become
losses by ``loss = (high - reward) / (high - low)``; one outside ``[low, high]`` is refused. Contexts are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from allworlds.adapters.late_agent import LateAgent, Rule
from allworlds.agents import Decision
from allworlds.foundation.errors import InvalidParameter, import_extra

Learner: Any = import_extra("coba", "adapters", "learners for coba need").Learner


class CobaLearner(Learner):  # type: ignore[misc]  # coba is imported when it is there
    """A learner for ``coba.Experiment`` that asks an :class:`~allworlds.Agent`.

    The id of the decision travels with the prediction, so outcomes may come in any order, and the estimate divides by
    the probability with which the action was drawn. Each round must offer the same actions.

    Examples
    --------
    >>> learner = CobaLearner(seed=7)
    >>> action, probability, extra = learner.predict(None, ["a", "b"])
    >>> round(probability, 9), extra
    (0.5, {'decision': 1})
    >>> learner.learn(None, action, 1.0, probability, **extra)
    """

    def __init__(
        self, learner: Rule = "tsallis-shannon", *, low: float = 0.0, high: float = 1.0, seed: int | None = 1
    ) -> None:
        self._agent = LateAgent(learner, seed, True, low, high, type(self).__name__)
        rule = self._agent.agent.learner
        if not isinstance(learner, str) and any(rule.observes(arm).size != 1 for arm in range(rule.n_arms)):
            raise InvalidParameter(
                "the graph has edges, but coba tells the reward of the action taken only; expected a graph without "
                "edges, such as allworlds.graphs.bandit(5)"
            )

    @property
    def params(self) -> Mapping[str, Any]:
        """What a coba result shows of this learner."""
        return {"family": "allworlds", "learner": self._agent.agent.learner.title, "seed": self._agent.agent.seed}

    def predict(self, context: Any, actions: Sequence[Any]) -> tuple[Any, float, dict[str, int]]:
        """Draw an action: the action, its probability and the id of the decision."""
        decision, action = self._agent.choose(actions)
        chosen = next(each for each in actions if each == action)  # coba looks for the very object it passed
        return chosen, decision.probability, {"decision": decision.id}

    def score(self, context: Any, actions: Sequence[Any], action: Any) -> float:
        """The probability with which this action would be drawn now."""
        return self._agent.probability(actions, action)

    def learn(self, context: Any, action: Any, reward: float, probability: float, decision: int | Decision) -> None:
        """Learn the reward of a decision."""
        self._agent.observe(decision, [(action, reward)])
