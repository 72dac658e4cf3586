"""A learner with a memory, for a person or a service: choose, observe, save, load.

A learner is a rule; an :class:`Agent` is one run of it in the real world. There, outcomes come late, out of order
or never, so every choice is a :class:`Decision` with an id, and the agent keeps what its estimate will need until
the outcome arrives. Choosing changes no learner state. A decision that is never observed leaves no trace: for
Tsallis-Shannon it is as if its clique had shown the loss 0 (importance weights) or that of the baseline.

Randomness is a function of the seed and the decision's id, so an agent that is saved, pickled or copied continues bit
for bit.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allworlds.agents.files import as_path, read_file, write_file
from allworlds.agents.kernels import bind, bind_distribution
from allworlds.agents.log import DecisionLog, LogTarget, open_log
from allworlds.agents.reports import Decision, Losses, ValueRange, reported_values
from allworlds.covers import CliqueCover
from allworlds.covers.cover import cover_from_data, cover_to_data
from allworlds.foundation.checks import is_whole, whole
from allworlds.foundation.errors import AllWorldsError, InvalidParameter, InvalidState, UnknownDecision
from allworlds.graphs import FeedbackGraph
from allworlds.graphs.files import graph_from_data, graph_to_data
from allworlds.graphs.inputs import Label
from allworlds.kernels.random import as_seed
from allworlds.learners import Learner, TsallisShannon
from allworlds.learners.base import CliqueLearner
from allworlds.learners.by_name import BY_NAME


class Agent:
    """One learner at work.

    Parameters
    ----------
    learner:
        The rule, such as ``UCBN(graph)``. A graph, or a cover of one, stands for ``TsallisShannon`` on it.
    seed:
        An integer from 0 to 2**63 - 1; None takes a fresh one.
    reward:
        Whether reported values are rewards, where more is better, instead of losses.
    low, high:
        The range of reported values; they are brought to [0, 1].
    log:
        Where to log decisions and outcomes: a name ending in ``.parquet`` or ``.jsonl``, a
        :class:`~allworlds.agents.log.DecisionLog`, or a function that is called with each row, a dictionary.

    Examples
    --------
    >>> from allworlds.graphs import disjoint_cliques
    >>> agent = Agent(disjoint_cliques(2, 2), seed=7)
    >>> decision = agent.choose()
    >>> round(decision.probability, 9), len(decision.observes)
    (0.25, 2)
    >>> agent.observe(decision, {arm: 0.5 for arm in decision.observes})
    >>> agent.round
    2
    """

    def __init__(
        self,
        learner: Learner | FeedbackGraph | CliqueCover,
        seed: int | None = None,
        *,
        reward: bool = False,
        low: float = 0.0,
        high: float = 1.0,
        log: LogTarget | None = None,
    ) -> None:
        if isinstance(learner, FeedbackGraph | CliqueCover):
            learner = TsallisShannon(learner)
        if not isinstance(learner, Learner):
            raise InvalidParameter(
                f"learner is a {type(learner).__name__}; expected a learner or a graph, such as "
                "allworlds.TsallisShannon(graph)"
            )
        if not isinstance(learner.graph, FeedbackGraph):
            raise InvalidParameter("the learner's graph changes or is noisy; expected a fixed graph for an agent")
        self._learner, self._graph = learner, learner.graph
        self._allowed = ValueRange(reward, low, high)
        self._seed = as_seed(seed)
        self._next_id = 1
        self._pending: dict[int, tuple[Decision, Any]] = {}
        self._observed: dict[int | bytes, tuple[Label, ...]] = {}
        self._lock = threading.RLock()
        self._log = None if log is None else open_log(log, learner, self._allowed)
        self._start(learner.init())

    def _start(self, state: Any) -> None:
        """Go on from a state."""
        self._state = state
        self._draw, self._learn = bind(self._learner, state, self._seed, self._allowed)
        if self._log is not None:
            self._log.distribution = bind_distribution(self._learner, state)

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
    def log(self) -> DecisionLog | None:
        """The log, if there is one: ``agent.log.flush()`` writes what is still in memory."""
        return self._log

    @property
    def round(self) -> int:
        """One plus the number of outcomes learnt."""
        with self._lock:
            return self._learner.round(self._state)

    @property
    def pending(self) -> Mapping[int, Decision]:
        """Decisions whose outcome is not known yet, by id."""
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

        Its expectation is at least the expected regret against every arm fixed beforehand, and it is usually far below
        the worst case. None where the learner has none, where an outcome was learnt after that of a later choice, and
        where one is missing: whether a choice is reported might depend on the arm.
        """
        with self._lock:
            oldest = min(self._pending, default=self._next_id)
            if self._learner.round(self._state) != oldest:  # one was voided, or is open though a later one was learnt
                return None
            bound = self._learner.regret_bound(self._state)
            return None if bound is None else bound * (self._allowed.high - self._allowed.low)

    def choose(self) -> Decision:
        """Draw an arm. Nothing is learnt; the decision waits for its outcome."""
        with self._lock:
            number = self._next_id
            ticket = self._draw(number)
            decision = self._as_decision(number, ticket)
            self._pending[number] = (decision, ticket)
            self._next_id = number + 1
            if self._log is not None:
                self._log.chose(decision, ticket.arm)
            return decision

    def observe(self, decision: Decision | int, losses: Losses) -> None:
        """Learn the outcome of a decision (or of its id).

        ``losses`` is a mapping from each arm of ``decision.observes`` to its loss, or a sequence in that order, or,
        where only one arm is observed, its loss alone. Losses of further neighbours of the chosen arm are checked
        and not used. If anything is wrong, an error says what, and nothing has changed.
        """
        with self._lock:
            kept, ticket = self._waiting(decision)
            values = reported_values(kept, losses, self._graph, self._allowed)
            wrong = self._learn(ticket, values)
            if wrong >= 0:
                raise self._allowed.complain(kept.observes[wrong], values[wrong])
            del self._pending[kept.id]
            if self._log is not None:
                self._log.observed(kept, ticket.arm, values)

    def void(self, decision: Decision | int) -> None:
        """Forget a decision whose outcome nobody saw; it cannot be reported any more."""
        with self._lock:
            kept, ticket = self._waiting(decision)
            del self._pending[kept.id]
            if self._log is not None:
                self._log.voided(kept, ticket.arm)

    def save(self, path: str | Path) -> None:
        """Write everything to a ``.json`` or ``.npz`` file, whole or not at all.

        Raise InvalidParameter if the learner's class is not in ``BY_NAME``: the file could not be loaded.
        """
        learner = self._learner
        if BY_NAME.get(learner.name) is not type(learner):
            raise InvalidParameter(
                f"learner is a {type(learner).__name__}; expected a class in allworlds.learners.by_name.BY_NAME, from "
                "which Agent.load takes it; add it there under its name, or pickle the agent"
            )
        rule: dict[str, Any] = {"learner": learner.name, "settings": learner.settings()}
        if isinstance(learner, CliqueLearner):
            rule["cover"] = cover_to_data(learner.cover)
        else:
            rule["graph"] = graph_to_data(self._graph)
        with self._lock:
            write_file(as_path(path), rule | self._memory())

    @classmethod
    def load(cls, path: str | Path, *, log: LogTarget | None = None) -> Agent:
        """The agent as it was saved; it continues bit for bit. Earlier versions saved a cover for every learner.

        A file does not name a log: ``log`` says where to go on logging.
        """
        data = read_file(as_path(path))
        try:
            kind = BY_NAME.get(data["learner"])
            if kind is None:
                raise InvalidState(f"the learner is {data['learner']!r}; expected one of {sorted(BY_NAME)}")
            graph = cover_from_data(data["cover"]) if "cover" in data else graph_from_data(data["graph"])
            return cls._from_memory(kind.from_settings(graph, data["settings"]), data, log)
        except (AllWorldsError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            raise InvalidState(f"cannot restore the agent in {path}: {error}") from None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled and copied with its learner and its memory, but without the lock and the log."""
        with self._lock:
            return type(self)._from_memory, (self._learner, self._memory())

    def _memory(self) -> dict[str, Any]:
        """All but the learner, as plain data and arrays."""
        allowed = self._allowed
        return {
            "state": self._learner.pack(self._state),
            "seed": self._seed,
            "next_id": self._next_id,
            "reward": allowed.reward,
            "low": allowed.low,
            "high": allowed.high,
            "pending": [[id, [_plain(value) for value in ticket]] for id, (_, ticket) in self._pending.items()],
        }

    @classmethod
    def _from_memory(cls, learner: Learner, data: dict[str, Any], log: LogTarget | None = None) -> Agent:
        """The inverse of :meth:`_memory`."""
        agent = cls(learner, data["seed"], reward=data["reward"], low=data["low"], high=data["high"], log=log)
        agent._start(learner.unpack({name: np.asarray(array) for name, array in data["state"].items()}))
        agent._next_id = whole("next_id", data["next_id"], error=InvalidState)
        for id, fields in data["pending"]:
            ticket = learner.ticket(fields)
            if not 1 <= whole("a decision's id", id, error=InvalidState) < agent._next_id:
                raise InvalidState(f"decision {id} is pending, but the next id is {agent._next_id}")
            agent._pending[id] = (agent._as_decision(id, ticket), ticket)
        return agent

    def _as_decision(self, number: int, ticket: Any) -> Decision:
        """The ticket as the user sees it: labels for arms, where there are any."""
        arm, labels = ticket.arm, self._graph.labels
        observes = self._observed.get(arm) or self._observes(arm)
        label = arm if labels is None else labels[arm]
        return Decision(number, label, ticket.probability, ticket.round, observes, self._learner.details(ticket))

    def _observes(self, arm: int) -> tuple[Label, ...]:
        """``learner.observes(arm)`` in the user's words, kept by arm; equal sets share one tuple."""
        arms = self._learner.observes(arm)
        key = arms.tobytes()
        if key not in self._observed:
            labels = self._graph.labels
            numbers: list[int] = arms.tolist()
            self._observed[key] = tuple(numbers) if labels is None else tuple(labels[i] for i in numbers)
        self._observed[arm] = self._observed[key]
        return self._observed[key]

    def _waiting(self, decision: Decision | int) -> tuple[Decision, Any]:
        """The pending decision that is meant, with its ticket."""
        number = decision.id if isinstance(decision, Decision) else decision
        if type(number) is not int and not is_whole(number):
            raise InvalidParameter(f"decision is {decision!r}; expected a Decision of this agent, or its id")
        waiting = self._pending.get(number)
        if waiting is None:
            if 1 <= number < self._next_id:
                raise UnknownDecision(
                    f"the outcome of decision {number} was already reported, or it was voided; each is reported once"
                )
            raise UnknownDecision(f"this agent has made no decision {number}; its last is {self._next_id - 1}")
        if isinstance(decision, Decision) and not decision.is_same(waiting[0]):
            raise UnknownDecision(f"decision {number} is of another agent; report it there")
        return waiting


def _plain(value: Any) -> Any:
    """A ticket's field for a file: JSON has no NaN, which stands for a probability that is not known."""
    return None if isinstance(value, float) and math.isnan(value) else value
