"""One agent per segment: a fleet makes an agent when a segment is first seen, and keeps all of them in one file.

The agents share their learner (graph, cover and constants); each has its own state, open decisions and random numbers,
so memory grows with the segments that were seen and not with those that there could be. A log of a fleet is a function,
which is told the segment with every row: ids of decisions count in each segment, so rows of several segments would be
mixed up in one file.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from allworlds.agents.agent import Agent
from allworlds.agents.files import as_path, read_file, write_file
from allworlds.agents.log import DecisionLog, LogRow
from allworlds.agents.memory import agent_from_memory, learner_from_data, memory_of, rule_to_data
from allworlds.agents.reports import Decision, Losses
from allworlds.covers import CliqueCover
from allworlds.foundation.checks import shorten
from allworlds.foundation.errors import AllWorldsError, InvalidParameter, InvalidState
from allworlds.graphs import FeedbackGraph
from allworlds.graphs.inputs import Label
from allworlds.learners import Learner

FORMAT = "allworlds fleet"


class Fleet:
    """Agents by segment; the parameters are those of :class:`Agent`, but ``log`` is a function.

    It is called with every row of every segment's log, a dictionary with ``segment`` in it.

    Examples
    --------
    >>> from allworlds.graphs import disjoint_cliques
    >>> fleet = Fleet(disjoint_cliques(2, 2), seed=7)
    >>> decision = fleet.choose("DE/mobile")
    >>> fleet.observe("DE/mobile", decision, [0.1, 0.3])
    >>> len(fleet), list(fleet), fleet["DE/mobile"].round
    (1, ['DE/mobile'], 2)
    """

    def __init__(
        self,
        learner: Learner | FeedbackGraph | CliqueCover,
        seed: int | None = None,
        *,
        log: Callable[[LogRow], object] | None = None,
        **options: Any,
    ) -> None:
        if log is not None and (not callable(log) or isinstance(log, DecisionLog)):
            raise InvalidParameter(
                f"log is {shorten(log)}; expected a function of a row for a fleet, whose rows have a segment; one file "
                "for each segment: Agent.load(file, log=...)"
            )
        pattern = Agent(learner, seed, **options)
        self._learner, self._seed, self._options = pattern.learner, pattern.seed, dict(options)
        self._log = log
        self._agents: dict[str, Agent] = {}
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        return f"Fleet({self._learner.title}, {self._learner.n_arms} arms, {len(self._agents)} segments)"

    def __len__(self) -> int:
        return len(self._agents)

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._agents))

    def __contains__(self, segment: object) -> bool:
        return segment in self._agents

    @property
    def seed(self) -> int:
        """The seed; that of a segment's agent follows from it and the segment's name."""
        return self._seed

    def __getitem__(self, segment: str) -> Agent:
        """The agent of a segment that was seen."""
        agent = self._agents.get(segment) if isinstance(segment, str) else None
        if agent is None:
            raise InvalidParameter(f"segment {shorten(segment)} was never seen; fleet.choose makes its agent")
        return agent

    def choose(self, segment: str, available: Iterable[Label] | None = None) -> Decision:
        """Draw an arm for a segment, whose agent is made on first use."""
        if not isinstance(segment, str):
            raise InvalidParameter(f"segment is {shorten(segment)}; expected a string such as 'DE/mobile'")
        with self._lock:
            agent = self._agents.get(segment) or self._new(segment)
            decision = agent.choose(available)
            self._agents[segment] = agent  # only now: a refused call makes no agent
            return decision

    def observe(self, segment: str, decision: Decision | int, losses: Losses) -> None:
        """Learn the outcome of a segment's decision."""
        self[segment].observe(decision, losses)

    def void(self, segment: str, decision: Decision | int) -> None:
        """Forget a segment's decision whose outcome nobody saw."""
        self[segment].void(decision)

    def summary(self) -> list[dict[str, Any]]:
        """One row per segment: decisions, outcomes learnt, open and voided ones, the arm most likely next, the best."""
        with self._lock:
            rows = []
            for segment, agent in self._agents.items():
                report = agent.report()
                likely = max(report.arms, key=lambda arm: arm.probability)
                rows.append(
                    {
                        "segment": segment,
                        "decisions": report.decisions,
                        "learnt": report.round - 1,
                        "open": report.open,
                        "voided": report.voided,
                        "likeliest": likely.arm,
                        "probability": likely.probability,
                        "best": report.best,
                    }
                )
            return rows

    def save(self, path: str | Path) -> None:
        """Write all agents to one ``.json`` or ``.npz`` file, whole or not at all."""
        with self._lock:
            agents = []
            for segment, agent in self._agents.items():
                own = {} if agent.learner is self._learner else {"rule": rule_to_data(agent.learner)}
                agents.append([segment, memory_of(agent) | own])
            options = {
                name: list(map(list, v.items())) if isinstance(v, Mapping) else v for name, v in self._options.items()
            }
            rule = rule_to_data(self._learner)
            write_file(as_path(path), {"rule": rule, "seed": self._seed, "options": options, "agents": agents}, FORMAT)

    @classmethod
    def load(cls, path: str | Path, *, log: Callable[[LogRow], object] | None = None) -> Fleet:
        """The fleet as it was saved; every agent continues bit for bit. ``log`` says where to go on logging."""
        data = read_file(as_path(path), FORMAT)
        try:
            options = {name: dict(v) if isinstance(v, list) else v for name, v in data["options"].items()}
            fleet = cls(learner_from_data(data["rule"]), data["seed"], log=log, **options)
            for segment, memory in data["agents"]:
                learner = learner_from_data(memory["rule"]) if "rule" in memory else fleet._learner
                fleet._agents[segment] = agent_from_memory(Agent, learner, memory, fleet._log_of(segment))
            return fleet
        except (AllWorldsError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            raise InvalidState(f"cannot restore the fleet in {path}: {error}") from None

    def _new(self, segment: str) -> Agent:
        digest = hashlib.sha256(f"{self._seed} {segment}".encode("utf-8", "surrogatepass")).digest()
        own = int.from_bytes(digest[:8], "big") >> 1
        return Agent(self._learner, own, log=self._log_of(segment), **self._options)

    def _log_of(self, segment: str) -> Callable[[LogRow], object] | None:
        log = self._log
        return None if log is None else lambda row: log({"segment": segment, **row})
