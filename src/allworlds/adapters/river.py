"""A learner of this package as a bandit policy of river.

It works in ``river.bandit.evaluate``, in ``evaluate_offline`` and as the policy of ``BanditClassifier`` and
``BanditRegressor``.

**How rewards become losses.** River's bandits maximise, our learners lose: ``loss = (high - reward) / (high - low)``,
and a reward outside ``[low, high]`` is refused. Where ``reward_obj`` is a metric, as in ``BanditClassifier``, the value
of a round is that metric on this one prediction: 1 or 0 for the accuracy. A metric that is better when smaller, such as
an absolute error, gives ``loss = (value - low) / (high - low)``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from allworlds.adapters.late_agent import LateAgent, Rule
from allworlds.agents import Decision
from allworlds.foundation.errors import InvalidLosses, import_extra

Policy: Any = import_extra("river.bandit", "adapters", "policies for river need").base.Policy


class RiverPolicy(Policy):  # type: ignore[misc]  # river is imported when it is there
    """A policy that asks an :class:`~allworlds.Agent`.

    River reports an outcome by its arm, not by a decision, so one decision is open at a time: a pull forgets the
    one before it. Where outcomes come late, use an agent itself. Rewards of arms that this policy did not draw, such as
    those of the burn-in, count in ``ranking`` and are not learnt: they have no probability.

    Parameters
    ----------
    learner:
        The name of a learner, on as many arms as the first pull has, or a learner, a graph or a cover. On a graph
        with edges the rewards of the other observed arms are needed: ``policy.update(arm, reward, seen={other: r})``.
    low, high:
        The range of a round's reward, or of the metric of one prediction.
    seed:
        An integer; None takes a fresh one for each clone.
    reward_obj, burn_in:
        As in ``river.bandit.base.Policy``. A reward scaler is not needed: ``low`` and ``high`` scale.

    Examples
    --------
    >>> policy = RiverPolicy(seed=7)
    >>> arm = policy.pull(["a", "b", "c"])
    >>> policy.update(arm, 1.0)
    >>> policy.ranking == [arm]
    True
    """

    def __init__(
        self,
        learner: Rule = "tsallis-shannon",
        *,
        low: float = 0.0,
        high: float = 1.0,
        seed: int | None = None,
        reward_obj: Any = None,
        burn_in: int = 0,
    ) -> None:
        super().__init__(reward_obj=reward_obj, burn_in=burn_in)
        self.learner, self.low, self.high, self.seed = learner, low, high, seed
        better = getattr(self.reward_obj, "bigger_is_better", True)
        self._agent = LateAgent(learner, seed, better, low, high, type(self).__name__)
        self._open: tuple[Decision, Any] | None = None

    def _pull(self, arm_ids: Sequence[Any]) -> Any:
        """Draw an arm, and forget the decision before it if its reward did not come."""
        drawn = self._agent.choose(arm_ids)
        if self._open is not None:
            self._agent.agent.void(self._open[0])
        self._open = drawn
        return drawn[1]

    def update(self, arm_id: Any, *reward_args: Any, seen: Mapping[Any, float] | None = None, **kwargs: Any) -> None:
        """Learn the reward of the open decision if it is of this arm; the statistics of the arm count it always."""
        if self._open is not None and self._open[1] == arm_id:
            decision = self._open[0]
            values = {arm_id: self._value(*reward_args, **kwargs), **(seen or {})}
            missing = [name for name in map(self._agent.name_of, decision.observes) if name not in values]
            if missing:
                raise InvalidLosses(
                    f"the reward of arm {missing[0]!r} is missing, which arm {arm_id!r} shows; expected "
                    "update(arm, reward, seen={...}), or a graph without edges"
                )
            self._agent.observe(decision, values.items())
            self._open = None
        super().update(arm_id, *reward_args, **kwargs)

    def _value(self, *reward_args: Any, **kwargs: Any) -> Any:
        """The reward itself, or the metric of this one prediction."""
        if not hasattr(self.reward_obj, "bigger_is_better"):
            return reward_args[0]
        metric = self.reward_obj.clone()
        metric.update(*reward_args, **kwargs)
        return metric.get()
