"""The rows of a log: what is known of decisions and outcomes, as columns.

A row waits as a list: decision, number of the arm (None where the decision is older than the arms), time, probabilities
with which it was drawn, numbers of the available arms (None for all), status, time of the outcome, reported values,
era.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from allworlds import __version__
from allworlds.agents.log_files import Lists
from allworlds.agents.reports import Decision, ValueRange
from allworlds.learners import Learner

MOST_SIGHTS = 1_000_000
"""A log says who shows whom if these are at most so many pairs."""


class Era(NamedTuple):
    """What stays the same until arms come or go."""

    learner: Learner
    allowed: ValueRange
    sight: Sight
    header: dict[str, Any]

    @classmethod
    def of(cls, learner: Learner, allowed: ValueRange) -> Era:
        """That of a learner whose values are in this range."""
        sight = Sight(learner)
        header = {
            "learner": learner.title,
            "n_actions": learner.n_arms,
            "labels": None if learner.graph.labels is None else list(learner.graph.labels),
            "reward": allowed.reward,
            "low": allowed.low,
            "high": allowed.high,
            "shows": sight.as_data(),
            "package_version": __version__,
        }
        return cls(learner, allowed, sight, header)


class Sight:
    """Which arms a choice shows, and with which probability an arm is seen.

    Arms of one group show the same arms. Where the groups are a partition, as with cliques, an arm is seen with the
    probability of its group; elsewhere that of all groups that show it is added up.
    """

    def __init__(self, learner: Learner) -> None:
        self.where, self._starts, self._order = learner.visibility
        n_arms, n_groups = learner.n_arms, self._starts.size - 1
        self.sizes = np.diff(self._starts)
        self._lists = [self._order[self._starts[g] : self._starts[g + 1]] for g in range(n_groups)]
        self.own_place = np.array([_place(arm, self._lists[self.where[arm]]) for arm in range(n_arms)])
        self._is_partition = self._order.size == n_arms and bool(
            (self.where[self._order] == np.repeat(np.arange(n_groups), self.sizes)).all()
        )
        self._groups = csr_array((np.ones(n_arms), (np.arange(n_arms), self.where)), shape=(n_arms, n_groups))
        self._shows = csr_array((np.ones(self._order.size), self._order, self._starts), shape=(n_groups, n_arms))

    def observed(self, arms: NDArray[np.int64]) -> NDArray[np.int64]:
        """The arms that each of ``arms`` shows, one list after the other."""
        return np.concatenate([np.zeros(0, np.int64), *(self._lists[group] for group in self.where[arms].tolist())])

    def as_data(self) -> dict[str, list[int]] | None:
        """The group of each arm and the arms that each group shows; None if that is too much for a header."""
        if self._order.size + self.where.size > MOST_SIGHTS:
            return None
        return {"where": self.where.tolist(), "starts": self._starts.tolist(), "order": self._order.tolist()}

    def probabilities(self, arms: NDArray[np.int64], vectors: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """For each choice, the probability of seeing each arm that it shows."""
        groups = self.where[arms]
        if self._is_partition:
            by_group = np.add.reduceat(vectors[:, self._order], self._starts[:-1], axis=1)
            own = np.minimum(by_group[np.arange(arms.size), groups], 1.0)
            return [np.repeat(own, self.sizes[groups])]
        seen = np.minimum((vectors @ self._groups) @ self._shows, 1.0)
        return [seen[k][self._lists[group]] for k, group in enumerate(groups.tolist())]


def columns_of(rows: list[list[Any]], era: Era, most_arms: int) -> dict[str, Any]:
    """The rows as columns; what is not known is None, and lists of different lengths are :class:`Lists`."""
    count, sight, learner = len(rows), era.sight, era.learner
    keeps_all = learner.n_arms <= most_arms
    decisions: list[Decision] = [row[0] for row in rows]
    arms = np.fromiter((row[1] for row in rows), np.int64, count)
    seen_by = sight.sizes[sight.where[arms]]
    learnt = np.fromiter((row[7] is not None for row in rows), bool, count)
    values = np.concatenate([np.zeros(0), *(row[7] for row in rows if row[7] is not None)])
    values = _scaled(values, era.allowed)
    losses = Lists(values, np.where(learnt, seen_by, 0), ~learnt)
    own = np.full(count, np.nan)
    place = sight.own_place[arms]
    shown = learnt & (place >= 0)
    own[shown] = values[(losses.starts[:-1] + place)[shown]]
    known = np.fromiter((row[3] is not None for row in rows), bool, count)
    vectors = np.array([row[3] for row in rows if row[3] is not None]).reshape(-1, learner.n_arms)
    keeps = known & keeps_all
    kept = (vectors.ravel() if keeps_all else np.zeros(0)).astype(np.float32)
    seeing = np.concatenate([np.zeros(0), *sight.probabilities(arms[known], vectors)])
    details = [decision.details for decision in decisions]
    ended = [row[6] for row in rows]
    made = [row[2] for row in rows]
    return {
        "decision_id": np.fromiter((decision.id for decision in decisions), np.int64, count),
        "kind": [
            "outcome" if begin is None else "both" if end is not None else "decision"
            for begin, end in zip(made, ended, strict=True)
        ],
        "learner": [learner.title] * count,
        "round": np.fromiter((decision.round for decision in decisions), np.int64, count),
        "timestamp": made,
        "action": arms,
        "arm": [str(decision.arm) for decision in decisions],
        "n_actions": np.full(count, learner.n_arms),
        "loss": own,
        "reward": 1.0 - own,
        "pscore": np.fromiter((_pscore(row) for row in rows), np.float64, count),
        "clique": [detail.get("clique") for detail in details],
        "clique_pscore": [detail.get("clique_probability") for detail in details],
        "observed": Lists(sight.observed(arms), seen_by, np.zeros(count, bool)),
        "losses": losses,
        "seeing": Lists(seeing, np.where(known, seen_by, 0), ~known),
        "probabilities": Lists(kept, np.where(keeps, learner.n_arms, 0), ~keeps),
        "available": Lists.of([row[4] for row in rows]),
        "status": [row[5] for row in rows],
        "outcome_timestamp": ended,
        "package_version": [__version__] * count,
    }


def older_columns(rows: list[list[Any]], era: Era) -> dict[str, Any]:
    """Outcomes of decisions older than the arms: numbers of arms would be those of others, so there are none."""
    count, decisions = len(rows), [row[0] for row in rows]
    learnt = np.array([row[7] is not None for row in rows])
    values = [np.zeros(0) if row[7] is None else _scaled(row[7], era.allowed) for row in rows]
    own = np.full(count, np.nan)
    for k, decision in enumerate(decisions):
        if learnt[k] and decision.arm in decision.observes:
            own[k] = values[k][decision.observes.index(decision.arm)]
    nothing = Lists.of([None] * count)
    unknown = [None] * count
    return {
        "decision_id": np.fromiter((decision.id for decision in decisions), np.int64, count),
        "kind": ["outcome"] * count,
        "learner": [era.learner.title] * count,
        "round": np.fromiter((decision.round for decision in decisions), np.int64, count),
        "timestamp": unknown,
        "action": unknown,
        "arm": [str(decision.arm) for decision in decisions],
        "n_actions": unknown,
        "loss": own,
        "reward": 1.0 - own,
        "pscore": np.fromiter((decision.probability for decision in decisions), np.float64, count),
        "clique": unknown,
        "clique_pscore": unknown,
        "observed": nothing,
        "losses": Lists(np.concatenate(values), np.array([value.size for value in values]), ~learnt),
        "seeing": Lists(np.zeros(0), np.zeros(count, np.int64), np.ones(count, bool)),
        "probabilities": Lists(np.zeros(0, np.float32), np.zeros(count, np.int64), np.ones(count, bool)),
        "available": nothing,
        "status": [row[5] for row in rows],
        "outcome_timestamp": [row[6] for row in rows],
        "package_version": [__version__] * count,
    }


def _scaled(values: NDArray[np.float64], allowed: ValueRange) -> NDArray[np.float64]:
    """Reported values as losses in [0, 1]."""
    low, high = allowed.low, allowed.high
    return (high - values) / (high - low) if allowed.reward else (values - low) / (high - low)


def _place(arm: int, observed: NDArray[np.int64]) -> int:
    """Where ``arm`` stands in a sorted list, or -1."""
    place = int(np.searchsorted(observed, arm))
    return place if place < observed.size and observed[place] == arm else -1


def _pscore(row: list[Any]) -> float:
    """The probability of the choice, from the vector where the learner does not say it; NaN if it is not known."""
    known: float = row[0].probability
    return float(row[3][row[1]]) if math.isnan(known) and row[3] is not None else known
