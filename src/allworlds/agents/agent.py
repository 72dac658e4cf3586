"""A learner with a memory, for a person or a service: choose, observe, save, load.

A learner is a rule; an :class:`Agent` is one run of it in the real world. There, outcomes come late, out of order
or never, so every choice is a :class:`Decision` with an id, and the agent keeps what its estimate will need until
the outcome comes. Choosing changes no learner state. A decision that is never observed leaves none: for the
learner it is as if its clique had shown the loss 0 (importance weights) or that of the baseline.

Randomness is a function of the seed and the decision's id, so a saved agent continues bit for bit.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allworlds.agents.files import as_path, read_file, write_file
from allworlds.agents.values import as_numbers, check_range, few, scale_losses
from allworlds.covers.cover import cover_from_data, cover_to_data
from allworlds.foundation.checks import is_whole, whole
from allworlds.foundation.errors import AllWorldsError, InvalidLosses, InvalidParameter, InvalidState, UnknownDecision
from allworlds.graphs.graph import Label
from allworlds.kernels.random import STREAM_AGENT, as_seed, uniform_pair
from allworlds.learners import BY_NAME, Learner

Losses = Mapping[Any, float] | Sequence[float] | NDArray[np.float64] | float


def _what(decision: Decision) -> tuple[Any, ...]:
    """What identifies a decision; its probabilities may be NaN, which equals nothing."""
    return decision.id, decision.arm, decision.round, decision.observes


def _plain(value: Any) -> Any:
    """A ticket's field for a file: JSON has no NaN, which stands for a probability that nobody knows."""
    return None if isinstance(value, float) and math.isnan(value) else value


@dataclass(frozen=True, slots=True)
class Decision:
    """One choice: what to do, how likely it was, and whose losses to report."""

    id: int
    """Counts from 1; an outcome is reported under it."""
    arm: Label
    """The arm to play: its label, or its number where the graph has no labels."""
    probability: float
    """The probability with which this arm was chosen."""
    clique_probability: float
    """The probability of its clique; the losses are divided by it, and by the damping added to it."""
    round: int
    """One plus the number of outcomes learnt when it was drawn."""
    observes: tuple[Label, ...]
    """The arms whose losses the learner uses; report all of them."""
    baseline: float = 0.0
    """What is taken off the losses before they are weighted."""
    damping: float = 0.0
    """What is added to the probability by which they are weighted."""


class Agent:
    """One learner at work.

    Parameters
    ----------
    learner:
        The rule, such as ``TsallisShannon(cover)``.
    seed:
        An integer from 0 to 2**63 - 1; None takes a fresh one.
    reward:
        Whether reported values are rewards, where more is better, instead of losses.
    low, high:
        The range of reported values; they are brought to [0, 1].

    Examples
    --------
    >>> from allworlds.covers import clique_cover
    >>> from allworlds.graphs import disjoint_cliques
    >>> from allworlds.learners import TsallisShannon
    >>> agent = Agent(TsallisShannon(clique_cover(disjoint_cliques(2, 2))), seed=7)
    >>> decision = agent.choose()
    >>> round(decision.probability, 9), len(decision.observes)
    (0.25, 2)
    >>> agent.observe(decision, {arm: 0.5 for arm in decision.observes})
    >>> agent.round
    2
    """

    def __init__(
        self,
        learner: Learner,
        seed: int | None = None,
        *,
        reward: bool = False,
        low: float = 0.0,
        high: float = 1.0,
    ) -> None:
        if not isinstance(learner, Learner):
            raise InvalidParameter(
                f"learner is a {type(learner).__name__}; expected a learner, such as allworlds.TsallisShannon(cover)"
            )
        check_range(reward, low, high)
        self._learner = learner
        self._seed = as_seed(seed)
        self._reward, self._low, self._high = bool(reward), float(low), float(high)
        self._state = learner.init()
        self._next_id = 1
        self._pending: dict[int, tuple[Decision, Any]] = {}
        self._observed: dict[bytes, tuple[Label, ...]] = {}
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        waiting = len(self._pending)
        return f"Agent({self._learner.title}, {self._learner.n_arms} arms, round {self.round}, {waiting} pending)"

    @property
    def learner(self) -> Learner:
        """The rule at work."""
        return self._learner

    @property
    def seed(self) -> int:
        """The seed; with it and the same reports the agent makes the same decisions."""
        return self._seed

    @property
    def round(self) -> int:
        """One plus the number of outcomes learnt."""
        with self._lock:
            return self._learner.round(self._state)

    @property
    def pending(self) -> Mapping[int, Decision]:
        """Decisions whose outcome has not come, by id."""
        with self._lock:
            return MappingProxyType({id: decision for id, (decision, _) in self._pending.items()})

    @property
    def distribution(self) -> NDArray[np.float64]:
        """(N,) the probability of each arm in the next choice, in the order of the arms."""
        with self._lock:
            return self._learner.distribution(self._state)

    @property
    def regret_bound(self) -> float | None:
        """A bound on the expected regret of the outcomes learnt so far, in the units of the reported values.

        Its expectation is at least the expected regret, and it is usually far below the worst case. None where the
        learner has none, and as soon as an outcome is learnt after a later choice has been learnt: no theorem covers
        delayed outcomes.
        """
        with self._lock:
            bound = self._learner.regret_bound(self._state)
            return None if bound is None else bound * (self._high - self._low)

    def choose(self) -> Decision:
        """Draw an arm. Nothing is learnt; the decision waits for its outcome."""
        with self._lock:
            number = self._next_id
            first, second = uniform_pair(self._seed, STREAM_AGENT, number, 0)
            ticket = self._learner.draw(self._state, first, second)
            decision = self._as_decision(number, ticket)
            self._pending[number] = (decision, ticket)
            self._next_id = number + 1
            return decision

    def observe(self, decision: Decision | int, losses: Losses) -> None:
        """Learn the outcome of a decision (or of its id).

        ``losses`` is a mapping from each arm of ``decision.observes`` to its loss, or a sequence in that order, or,
        where only one arm is observed, its loss alone. Losses of further neighbours of the chosen arm are checked
        and not used. If anything is wrong, an error says what, and nothing has changed.
        """
        with self._lock:
            kept, ticket = self._waiting(decision)
            values = self._values(kept, losses)
            scaled = np.empty(values.size)
            wrong = scale_losses(values, self._low, self._high, self._reward, scaled)
            if wrong >= 0:
                raise InvalidLosses(self._out_of_range(kept.observes[wrong], values[wrong]))
            self._learner.update(self._state, ticket, scaled)
            del self._pending[kept.id]

    def void(self, decision: Decision | int) -> None:
        """Forget a decision that nobody saw; its outcome cannot be reported any more."""
        with self._lock:
            kept, _ = self._waiting(decision)
            del self._pending[kept.id]

    def save(self, path: str | Path) -> None:
        """Write everything to a ``.json`` or ``.npz`` file, whole or not at all."""
        with self._lock:
            write_file(as_path(path), self._to_data())

    @classmethod
    def load(cls, path: str | Path) -> Agent:
        """The agent as it was saved; it continues bit for bit."""
        data = read_file(as_path(path))
        try:
            return cls._from_data(data)
        except (AllWorldsError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            raise InvalidState(f"{path} is whole but holds no agent of this version ({error})") from None

    def _to_data(self) -> dict[str, Any]:
        return {
            "learner": self._learner.name,
            "settings": self._learner.settings(),
            "cover": cover_to_data(self._learner.cover),
            "state": self._learner.pack(self._state),
            "seed": self._seed,
            "next_id": self._next_id,
            "reward": self._reward,
            "low": self._low,
            "high": self._high,
            "pending": [[id, [_plain(value) for value in ticket]] for id, (_, ticket) in self._pending.items()],
        }

    @classmethod
    def _from_data(cls, data: dict[str, Any]) -> Agent:
        kind = BY_NAME.get(data["learner"])
        if kind is None:
            raise InvalidState(f"the learner is {data['learner']!r}; this version knows {sorted(BY_NAME)}")
        learner = kind.from_settings(cover_from_data(data["cover"]), data["settings"])
        agent = cls(learner, data["seed"], reward=data["reward"], low=data["low"], high=data["high"])
        agent._state = learner.unpack({name: np.asarray(array) for name, array in data["state"].items()})
        agent._next_id = whole("next_id", data["next_id"], error=InvalidState)
        for id, fields in data["pending"]:
            ticket = learner.ticket(fields)
            learner.check_ticket(ticket)
            if not 1 <= whole("a decision's id", id, error=InvalidState) < agent._next_id:
                raise InvalidState(f"decision {id} is pending, but the next id is {agent._next_id}")
            agent._pending[id] = (agent._as_decision(id, ticket), ticket)
        return agent

    def _as_decision(self, number: int, ticket: Any) -> Decision:
        """The ticket as the user sees it: labels for arms, where there are any."""
        labels = self._learner.graph.labels
        observes = self._observes(ticket.arm)
        return Decision(
            number,
            ticket.arm if labels is None else labels[ticket.arm],
            ticket.probability,
            getattr(ticket, "clique_probability", math.nan),
            ticket.round,
            observes,
            getattr(ticket, "baseline", 0.0),
            getattr(ticket, "damping", 0.0),
        )

    def _observes(self, arm: int) -> tuple[Label, ...]:
        """``learner.observes(arm)`` in the user's words; equal sets share one tuple."""
        arms = self._learner.observes(arm)
        key = arms.tobytes()
        known = self._observed.get(key)
        if known is None:
            labels = self._learner.graph.labels
            numbers: list[int] = arms.tolist()
            known = tuple(numbers) if labels is None else tuple(labels[i] for i in numbers)
            self._observed[key] = known
        return known

    def _waiting(self, decision: Decision | int) -> tuple[Decision, Any]:
        """The pending decision that is meant, with its ticket."""
        number = decision.id if isinstance(decision, Decision) else decision
        if not is_whole(number):
            raise InvalidParameter(f"decision is {decision!r}; expected a Decision of this agent, or its id")
        waiting = self._pending.get(number)
        if waiting is None:
            if 1 <= number < self._next_id:
                raise UnknownDecision(
                    f"the outcome of decision {number} was already reported, or it was voided; each is reported once"
                )
            raise UnknownDecision(f"this agent has made no decision {number}; its last is {self._next_id - 1}")
        if isinstance(decision, Decision) and _what(decision) != _what(waiting[0]):
            raise UnknownDecision(f"decision {number} is of another agent; report it there")
        return waiting

    def _values(self, decision: Decision, losses: Losses) -> NDArray[np.float64]:
        """The reported values in the order of ``decision.observes``; whatever is missing or foreign is refused."""
        observes = decision.observes
        if isinstance(losses, Mapping):
            missing = [arm for arm in observes if arm not in losses]
            if missing:
                raise InvalidLosses(
                    f"the loss of arm {missing[0]!r} is missing; decision {decision.id} needs those of {few(observes)}"
                )
            if len(losses) > len(observes):
                self._check_others(decision, losses)
            values = as_numbers([losses[arm] for arm in observes])
        else:
            values = as_numbers([losses] if isinstance(losses, Real) else losses)
        if values.shape != (len(observes),):
            raise InvalidLosses(
                f"losses have shape {values.shape}; decision {decision.id} needs {len(observes)} of them, for "
                f"{few(observes)}"
            )
        return values

    def _check_others(self, decision: Decision, losses: Mapping[Any, float]) -> None:
        """Losses beyond those used must be of neighbours, and losses."""
        graph = self._learner.graph
        chosen = graph.index_of(decision.arm)
        used = set(decision.observes)
        for arm, value in losses.items():
            if arm in used:
                continue
            try:
                other = graph.index_of(arm)
            except InvalidParameter as error:
                raise InvalidLosses(f"a loss came for what is no arm: {error}") from None
            if not graph.are_neighbours(chosen, other):
                raise InvalidLosses(
                    f"a loss of arm {arm!r} came, but decision {decision.id} chose arm {decision.arm!r}, which "
                    f"does not see it; report those of {few(decision.observes)}"
                )
            number = as_numbers([value])
            if number.shape != (1,):
                raise InvalidLosses(f"the loss of arm {arm!r} is {value!r}; expected one number")
            if scale_losses(number, self._low, self._high, self._reward, np.empty(1)) >= 0:
                raise InvalidLosses(self._out_of_range(arm, number[0]))

    def _out_of_range(self, arm: Label, value: float) -> str:
        what = "reward" if self._reward else "loss"
        return (
            f"the {what} of arm {arm!r} is {value}; expected a number from {self._low:g} to {self._high:g}; "
            "Agent(..., low=..., high=...) sets the range"
        )
