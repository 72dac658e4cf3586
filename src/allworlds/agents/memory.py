"""An agent as plain data and arrays: what a file or a pickle of it holds."""

from __future__ import annotations

import copy
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from allworlds.agents.arms import Carried, as_carried, graph_of
from allworlds.agents.drawing import as_mask
from allworlds.agents.log import LogTarget
from allworlds.agents.reports import Decision
from allworlds.agents.tally import Tally
from allworlds.covers.cover import cover_from_data, cover_to_data
from allworlds.foundation.checks import whole
from allworlds.foundation.errors import InvalidParameter, InvalidState
from allworlds.graphs.files import graph_from_data, graph_to_data
from allworlds.learners import Learner
from allworlds.learners.base import CliqueLearner
from allworlds.learners.by_name import BY_NAME

if TYPE_CHECKING:
    from allworlds.agents.agent import Agent


def memory_of(agent: Agent) -> dict[str, Any]:
    """All but the learner, as plain data and arrays."""
    allowed = agent._allowed
    return {
        "state": agent._learner.pack(agent._state),
        "seed": agent._seed,
        "next_id": agent._next_id,
        "reward": allowed.reward,
        "low": allowed.low,
        "high": allowed.high,
        "pending": [[id, [_plain(value) for value in t]] for id, (_, t) in agent._pending.items()],
        "carried": [id for id, (_, t) in agent._pending.items() if isinstance(t, Carried)],
        "tally": agent._tally.pack(),
        "history": copy.deepcopy(agent._history),
        "masks": {str(id): list(d.available) for id, (d, _) in agent._pending.items() if d.available is not None},
        "minimum_share": [[arm, share] for arm, share in agent._shares.items()],
        "without_bound": agent._without_bound,
    }


def agent_from_memory(kind: type[Agent], learner: Learner, data: dict[str, Any], log: LogTarget | None = None) -> Agent:
    """The inverse of :func:`memory_of`; a file may be from before masks and shares."""
    allowed = {"reward": data["reward"], "low": data["low"], "high": data["high"]}
    agent = kind(learner, data["seed"], **allowed, minimum_share=dict(data.get("minimum_share", [])), log=log)
    agent._start(learner.unpack({name: np.asarray(array) for name, array in data["state"].items()}))
    agent._next_id = whole("next_id", data["next_id"], error=InvalidState)
    agent._without_bound = data.get("without_bound", agent._without_bound)
    agent._tally = Tally.unpack(data.get("tally"), learner.n_arms)
    agent._history = [dict(event) for event in data.get("history", [])]
    masks, carried = data.get("masks", {}), set(data.get("carried", []))
    for id, fields in data["pending"]:
        ticket = as_carried(fields) if id in carried else learner.ticket(fields)
        if not 1 <= whole("a decision's id", id, error=InvalidState) < agent._next_id:
            raise InvalidState(f"decision {id} is pending, but the next id is {agent._next_id}")
        if id in carried:
            mask = tuple(masks[str(id)]) if str(id) in masks else None
            arm, likely, round, observes = ticket[:4]
            decision = Decision(id, arm, likely, round, observes, dict(ticket.details), mask)
        else:
            seen = as_mask(masks[str(id)], agent._graph) if str(id) in masks else None
            decision = agent._as_decision(id, ticket, seen)
        agent._pending[id] = (decision, ticket)
    return agent


def _plain(value: Any) -> Any:
    """A ticket's field for a file: JSON has no NaN, which stands for a probability that is not known."""
    return None if isinstance(value, float) and math.isnan(value) else value


def rule_to_data(learner: Learner) -> dict[str, Any]:
    """A learner with its graph or cover as plain data; raise InvalidParameter if its class is not in ``BY_NAME``."""
    if BY_NAME.get(learner.name) is not type(learner):
        raise InvalidParameter(
            f"learner is a {type(learner).__name__}; expected a class in allworlds.learners.by_name.BY_NAME, from "
            "which Agent.load takes it; add it there under its name, or pickle the agent"
        )
    rule: dict[str, Any] = {"learner": learner.name, "settings": learner.settings()}
    if isinstance(learner, CliqueLearner):
        return rule | {"cover": cover_to_data(learner.cover)}
    return rule | {"graph": graph_to_data(graph_of(learner))}


def learner_from_data(data: dict[str, Any]) -> Learner:
    """The inverse of :func:`rule_to_data`."""
    kind = BY_NAME.get(data["learner"])
    if kind is None:
        raise InvalidState(f"the learner is {data['learner']!r}; expected one of {sorted(BY_NAME)}")
    graph = cover_from_data(data["cover"]) if "cover" in data else graph_from_data(data["graph"])
    learner: Learner = kind.from_settings(graph, data["settings"])
    return learner
