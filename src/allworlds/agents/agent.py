"""A learner with a memory, for a person or a service: choose, observe, save, load.

A learner is a rule; an :class:`Agent` is one run of it in the real world. There, outcomes come late, out of order
or never, so every choice is a :class:`Decision` with an id, and the agent keeps what its estimate will need until
the outcome arrives. Choosing changes no learner state. A decision that is never observed leaves no trace: the means of
the default are without it, and for Tsallis-Shannon it is as if its clique had shown the loss 0 (importance weights) or
that of the baseline.

Randomness is a function of the seed and the decision's id, so an agent that is saved, pickled or copied continues bit
for bit.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allworlds.agents.arms import (
    Carried,
    carry,
    check_movable,
    check_texts,
    cover_with_arm,
    cover_without_arm,
    graph_of,
    late_outcome,
    names_of,
    place_for,
    starting_losses,
    with_arm,
    without_arm,
)
from allworlds.agents.drawing import as_mask, as_shares, check_redrawn, restricted
from allworlds.agents.files import as_path, read_file, write_file
from allworlds.agents.kernels import bind, bind_distribution, scale_losses
from allworlds.agents.log import DecisionLog, LogTarget, open_log
from allworlds.agents.memory import agent_from_memory, learner_from_data, memory_of, rule_to_data
from allworlds.agents.reports import Decision, Losses, ValueRange, reported_values
from allworlds.agents.summary import AgentReport, make_report
from allworlds.agents.tally import Tally
from allworlds.covers import CliqueCover
from allworlds.foundation.checks import is_whole
from allworlds.foundation.errors import AllWorldsError, InvalidParameter, InvalidState, UnknownDecision
from allworlds.graphs import FeedbackGraph
from allworlds.graphs.inputs import Label
from allworlds.kernels.random import STREAM_AGENT, as_seed, uniform_pair
from allworlds.learners import Guarded, Learner
from allworlds.learners.base import CliqueLearner
from allworlds.learners.sampling import pick


class Agent:
    """One learner at work.

    Parameters
    ----------
    learner:
        The rule, such as ``UCBN(graph)``. A graph, or a cover of one, stands for ``Guarded`` on it.
    seed:
        An integer from 0 to 2**63 - 1; None takes a fresh one.
    reward:
        Whether reported values are rewards, where more is better, instead of losses.
    low, high:
        The range of reported values; they are brought to [0, 1].
    minimum_share:
        The least probability of each arm, by arm (``{"control": 0.05}``) or one number for all.
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
        minimum_share: float | Mapping[Any, float] | None = None,
        log: LogTarget | None = None,
    ) -> None:
        if isinstance(learner, FeedbackGraph | CliqueCover):
            learner = Guarded(learner)
        if not isinstance(learner, Learner):
            raise InvalidParameter(
                f"learner is a {type(learner).__name__}; expected a learner or a graph, such as "
                "allworlds.Guarded(graph)"
            )
        if not isinstance(learner.graph, FeedbackGraph):
            raise InvalidParameter("the learner's graph changes or is noisy; expected a fixed graph for an agent")
        check_texts(learner.graph.labels or ())
        self._learner, self._graph = learner, learner.graph
        self._allowed = ValueRange(reward, low, high)
        self._seed = as_seed(seed)
        self._next_id = 1
        self._shares = as_shares(minimum_share, self._graph)
        if self._shares:
            check_redrawn(learner, "minimum shares")
        self._without_bound: str | None = "a minimum share is set" if self._shares else None
        self._history: list[dict[str, Any]] = []
        self._tally = Tally(self._graph.n_arms)
        self._pending: dict[int, tuple[Decision, Any]] = {}
        self._observed: dict[int | bytes, tuple[Label, ...]] = {}
        self._lock = threading.RLock()
        self._log = None if log is None else open_log(log, learner, self._allowed)
        self._start(learner.init())

    def _start(self, state: Any) -> None:
        """Go on from a state."""
        self._state = state
        self._draw, self._learn = bind(self._learner, state, self._seed, self._allowed)
        self._floors = np.zeros(self._graph.n_arms)
        for arm, share in self._shares.items():
            self._floors[self._graph.index_of(arm)] = share
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
            own = self._learner.distribution(self._state)
            return restricted(own, None, self._floors) if self._shares else own

    @property
    def minimum_share(self) -> Mapping[Label, float]:
        """The least probability of each arm that has one."""
        return MappingProxyType(dict(self._shares))

    @property
    def regret_bound(self) -> float | None:
        """A bound on the expected regret of the outcomes learnt so far, in the units of the reported values.

        Its expectation is at least the expected regret against every arm fixed beforehand, and it is usually far below
        the worst case. None where the learner has none, where an outcome was learnt after that of a later choice, and
        where one is missing: whether a choice is reported might depend on the arm. None also once a mask, a minimum
        share or a change of the arms was used: the theorem is about draws from the learner's own distribution.
        """
        with self._lock:
            if self._without_bound is not None:
                return None
            oldest = min(self._pending, default=self._next_id)
            if self._learner.round(self._state) != oldest:  # one was voided, or is open though a later one was learnt
                return None
            bound = self._learner.regret_bound(self._state)
            return None if bound is None else bound * (self._allowed.high - self._allowed.low)

    @property
    def held_back(self) -> float | None:
        """What the learner's limit on single estimates has held back so far, in the units of the reported values.

        It rises with an outcome of which the limit held something back. What Algorithm 1 held back is a part of
        ``regret_bound``; this goes on where that has ended. None where the learner does not count it.
        """
        with self._lock:
            held_back = self._learner.held_back(self._state)
            return None if held_back is None else held_back * (self._allowed.high - self._allowed.low)

    @property
    def handed_over(self) -> int | None:
        """The first round that the default left to Algorithm 1, because its means could no longer be trusted.

        ``agent.report()`` says why. None while there is none, and with every other learner.
        """
        with self._lock:
            return self._learner.handed_over(self._state)

    def choose(self, available: Iterable[Label] | None = None) -> Decision:
        """Draw an arm, among ``available`` if given. Nothing is learnt; the decision waits for its outcome.

        >>> from allworlds.graphs import disjoint_cliques
        >>> decision = Agent(disjoint_cliques(2, 2), seed=7).choose(available=[1, 2])
        >>> decision.arm, decision.probability, decision.available
        (2, 0.5, (1, 2))
        """
        with self._lock:
            number = self._next_id
            if available is None and not self._shares:
                mask, used, ticket = None, None, self._draw(number)
                if number % self._tally.every == 0 and self._learner.exact_probability:
                    self._tally.audit(ticket.arm, self._learner.distribution(self._state))
            else:
                mask, used, ticket = self._draw_restricted(number, available)
            decision = self._as_decision(number, ticket, mask)
            self._pending[number] = (decision, ticket)
            self._tally.drawn[ticket.arm] += 1.0
            self._next_id = number + 1
            if self._log is not None:
                self._log.chose(decision, ticket.arm, used, mask)
            return decision

    def _draw_restricted(
        self, number: int, available: Iterable[Label] | None
    ) -> tuple[NDArray[np.int64] | None, NDArray[np.float64], Any]:
        """Draw with a mask or with minimum shares: the mask, the distribution really used, and the ticket under it."""
        mask = None
        if available is not None:
            check_redrawn(self._learner, "a mask of available arms")
            mask = as_mask(available, self._graph)
            self._without_bound = self._without_bound or f"decision {number} was made with a mask of available arms"
        used = restricted(self._learner.distribution(self._state), mask, self._floors)
        arm = int(pick(used, uniform_pair(self._seed, STREAM_AGENT, number, 0)[0]))
        self._tally.audit(arm, used)
        return mask, used, self._learner.ticket_from(self._state, arm, used)

    def observe(self, decision: Decision | int, losses: Losses) -> None:
        """Learn the outcome of a decision (or of its id).

        ``losses`` is a mapping from each arm of ``decision.observes`` to its loss, or a sequence in that order, or,
        where only one arm is observed, its loss alone. A mapping may leave out arms that were not available: they are
        taken to have lost what the chosen arm lost. Losses of further neighbours are checked and not used. If anything
        is wrong, an error says what, and nothing has changed.
        """
        with self._lock:
            kept, ticket = self._waiting(decision)
            carried = isinstance(ticket, Carried)
            values = reported_values(kept, losses, None if carried else self._graph, self._allowed)
            wrong = self._learn_carried(ticket, values) if carried else self._learn(ticket, values)
            if wrong >= 0:
                raise self._allowed.complain(kept.observes[wrong], values[wrong])
            del self._pending[kept.id]
            seen = values
            if kept.available is not None and isinstance(losses, Mapping):  # what was left out was not seen
                seen = np.array(
                    [v if arm in losses else math.nan for arm, v in zip(kept.observes, values, strict=True)]
                )
            self._count(kept, ticket, seen)
            if self._log is not None:
                self._log.observed(kept, None if carried else ticket.arm, seen)

    def _count(self, decision: Decision, ticket: Any, seen: NDArray[np.float64]) -> None:
        """Count the values that were seen, of the arms that are left."""
        losses, arms = self._allowed.as_losses(seen), self._learner.observes
        if isinstance(ticket, Carried):
            place = {arm: i for i, arm in enumerate(self.arms)}
            numbers = np.array([place.get(arm, -1) for arm in decision.observes], dtype=np.int64)
        elif decision.available is None:
            self._tally.learn(arms(ticket.arm), losses)
            return
        else:
            numbers = arms(ticket.arm)
        told = (numbers >= 0) & ~np.isnan(losses)
        self._tally.learn(numbers[told], losses[told])

    def _learn_carried(self, ticket: Carried, values: NDArray[np.float64]) -> int:
        """Learn the outcome of a decision that is older than the arms; the place of a value out of range, or -1."""
        scaled, allowed = values.copy(), self._allowed
        wrong = int(scale_losses(scaled, scaled.size, allowed.low, allowed.high, allowed.reward))
        if wrong < 0:
            self._start(late_outcome(self._learner, self._state, ticket, scaled))
        return wrong

    @property
    def arms(self) -> tuple[Label, ...]:
        """The arms, by label or number, in the order of ``distribution``."""
        return names_of(self._graph)

    @property
    def history(self) -> tuple[Mapping[str, Any], ...]:
        """The changes of the arms, oldest first: what was done, before which decision and in which round."""
        with self._lock:
            return tuple(MappingProxyType(event) for event in self._history)

    def add_arm(self, label: Label, neighbours: Iterable[Label] = ()) -> None:
        """Add an arm, which sees its neighbours and is seen by them; decisions may be open.

        One that sees a whole clique joins it and starts at the clique's mean estimate; another forms a clique of its
        own and starts at the mean over all arms (both weighted by the probabilities of the next choice).

        >>> from allworlds.graphs import disjoint_cliques
        >>> agent = Agent(disjoint_cliques(2, 2), seed=7)
        >>> agent.add_arm("new", neighbours=[0, 1])
        >>> agent.arms, agent.learner.n_cliques
        ((0, 1, 2, 3, 'new'), 2)
        """
        with self._lock:
            check_movable(self._learner)
            graph, numbers = with_arm(self._graph, label, neighbours)
            where: FeedbackGraph | CliqueCover = graph
            if isinstance(self._learner, CliqueLearner):
                where = cover_with_arm(self._learner.cover, graph, numbers)
            listed = [self.arms[i] for i in numbers]
            self._move(where, {"event": "add_arm", "arm": names_of(graph)[-1], "neighbours": listed})

    def retire_arm(self, label: Label) -> None:
        """Take an arm away: it is never drawn again, and the outcomes of its open decisions are still accepted."""
        with self._lock:
            check_movable(self._learner)
            arm = self._graph.index_of(label)
            graph = without_arm(self._graph, arm)
            where: FeedbackGraph | CliqueCover = graph
            if isinstance(self._learner, CliqueLearner):
                where = cover_without_arm(self._learner.cover, graph, arm)
            self._move(where, {"event": "retire_arm", "arm": self.arms[arm]})

    def update_graph(self, graph: FeedbackGraph | CliqueCover) -> None:
        """Go on with another graph, whose cover is computed unless it is given; arms are known by their labels.

        What was learnt of an arm is kept. An arm that is not in the new graph is retired, a new one starts as with
        :meth:`add_arm`.
        """
        if not isinstance(graph, FeedbackGraph | CliqueCover):
            raise InvalidParameter(f"graph is a {type(graph).__name__}; expected a FeedbackGraph or a CliqueCover")
        with self._lock:
            check_movable(self._learner)
            where = place_for(self._learner, graph)
            names = names_of(where.graph if isinstance(where, CliqueCover) else where)
            added, gone = [a for a in names if a not in self.arms], [a for a in self.arms if a not in names]
            self._move(where, {"event": "update_graph", "added": added, "retired": gone})

    def _move(self, where: FeedbackGraph | CliqueCover, event: dict[str, Any]) -> None:
        """Go on with other arms; nothing has changed if this raises."""
        names = names_of(where.graph if isinstance(where, CliqueCover) else where)
        retired = {arm for past in self._history for arm in past.get("retired", [past.get("arm")])}
        again = [arm for arm in names if arm in retired and arm not in self.arms]
        if again:
            raise InvalidParameter(f"arm {again[0]!r} was retired; expected another label for a new arm")
        check_texts([*self.arms, *sorted(retired - {None}, key=str), *names])
        losses = starting_losses(self._learner, self._state, where)
        learner, state = self._learner.moved(self._state, where, losses)
        carried = {
            id: (decision, ticket if isinstance(ticket, Carried) else carry(self._learner, ticket))
            for id, (decision, ticket) in self._pending.items()
        }
        event |= {"decision": self._next_id, "round": self._learner.round(self._state)}
        self._shares = {arm: share for arm, share in self._shares.items() if arm in names}
        self._tally = self._tally.moved(self.arms, names)
        self._learner, self._graph, self._pending, self._observed = learner, graph_of(learner), carried, {}
        self._history.append(event)
        self._without_bound = self._without_bound or f"the arms changed before decision {self._next_id}"
        if self._log is not None:
            self._log.start(learner, self._allowed)
        self._start(state)

    def void(self, decision: Decision | int) -> None:
        """Forget a decision whose outcome nobody saw; it cannot be reported any more."""
        with self._lock:
            kept, ticket = self._waiting(decision)
            if kept.arm in self.arms:
                self._tally.voided[self._graph.index_of(kept.arm)] += 1.0
            del self._pending[kept.id]
            if self._log is not None:
                self._log.voided(kept, None if isinstance(ticket, Carried) else ticket.arm)

    def report(self) -> AgentReport:
        """Where the agent stands: print it, or take ``to_json()``; ``allworlds agent FILE`` does it for a saved one.

        >>> from allworlds.graphs import disjoint_cliques
        >>> agent = Agent(disjoint_cliques(1, 2), seed=7)
        >>> agent.observe(agent.choose(), [0.25, 0.75])
        >>> report = agent.report()
        >>> report.best, report.arms[1].mean, report.mismatch
        (0, 0.75, False)
        """
        with self._lock:
            return make_report(self)

    def save(self, path: str | Path) -> None:
        """Write everything to a ``.json`` or ``.npz`` file, whole or not at all, after what waits for the log.

        Raise InvalidParameter if the learner's class is not in ``BY_NAME``: the file could not be loaded.
        """
        rule = rule_to_data(self._learner)
        with self._lock:
            if self._log is not None:
                self._log.try_to_flush()
            write_file(as_path(path), rule | memory_of(self))

    @classmethod
    def load(cls, path: str | Path, *, log: LogTarget | None = None) -> Agent:
        """The agent as it was saved; it continues bit for bit. Earlier versions saved a cover for every learner.

        A file does not name a log: ``log`` says where to go on logging.
        """
        data = read_file(as_path(path))
        try:
            return agent_from_memory(cls, learner_from_data(data), data, log)
        except (AllWorldsError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            raise InvalidState(f"cannot restore the agent in {path}: {error}") from None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled and copied with its learner and its memory, but without the lock and the log."""
        with self._lock:
            return agent_from_memory, (type(self), self._learner, memory_of(self))

    def _as_decision(self, number: int, ticket: Any, mask: NDArray[np.int64] | None = None) -> Decision:
        """The ticket as the user sees it: labels for arms, where there are any."""
        arm, labels = ticket.arm, self._graph.labels
        observes = self._observed.get(arm) or self._observes(arm)
        label = arm if labels is None else labels[arm]
        details = self._learner.details(ticket)
        if mask is None:
            return Decision(number, label, ticket.probability, ticket.round, observes, details)
        available = tuple(mask.tolist() if labels is None else [labels[i] for i in mask.tolist()])
        return Decision(number, label, ticket.probability, ticket.round, observes, details, available)

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
