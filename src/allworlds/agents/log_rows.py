"""The rows of a log: what is known of decisions and outcomes, as columns.

Rows wait in a :class:`Block`: numbers in flat arrays that are filled from the front, so that a block is written without
a step in Python for each row. An outcome whose decision is older than the arms waits beside it, as a list.
"""

from __future__ import annotations

import math
import struct
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from allworlds import __version__
from allworlds.agents.log_files import COLUMNS, Lists, Words
from allworlds.agents.reports import Decision, ValueRange
from allworlds.graphs.inputs import Label
from allworlds.learners import Learner

STATUSES = ("open", "observed", "void")
OPEN, OBSERVED, VOID = range(3)
KINDS = ("both", "decision", "outcome")
MOST_PAIRS = 1_000_000
"""A log says who shows whom if these are at most so many pairs."""


class Era(NamedTuple):
    """What stays the same until arms come or go."""

    learner: Learner
    allowed: ValueRange
    visibility: VisibilityTable
    header: dict[str, Any]
    arms: tuple[Label, ...]
    """All arms, by label or number: a function is told them with each decision, since it is told no header."""
    rows: dict[int, tuple[dict[str, Any], int]]
    """What :meth:`row_of_arm` has made."""

    @classmethod
    def of(cls, learner: Learner, allowed: ValueRange) -> Era:
        """That of a learner whose values are in this range."""
        visibility = VisibilityTable(learner)
        header = {
            "learner": learner.title,
            "n_actions": learner.n_arms,
            "labels": None if learner.graph.labels is None else list(learner.graph.labels),
            "reward": allowed.reward,
            "low": allowed.low,
            "high": allowed.high,
            "shows": visibility.as_data(),
            "package_version": __version__,
        }
        arms = learner.graph.labels or tuple(range(learner.n_arms))
        return cls(learner, allowed, visibility, header, arms, {})

    def row_of_arm(self, arm: int) -> tuple[dict[str, Any], int]:
        """A row in which all is said that follows from the arm, and where the arm stands among those it shows."""
        kept = self.rows.get(arm)
        if kept is None:
            row: dict[str, Any] = dict.fromkeys(COLUMNS)
            row |= {"learner": self.learner.title, "action": arm, "arm": self.visibility.labels[arm]}
            row |= {"n_actions": self.learner.n_arms, "observed": self.visibility.shown(arm).tolist()}
            row |= {"package_version": __version__}
            kept = self.rows[arm] = row, int(self.visibility.own_place[arm])
        return kept[0].copy(), kept[1]


class VisibilityTable:
    """Which arms a choice shows, and with which probability an arm is seen.

    Arms of one group show the same arms. Where the groups are a partition, as with cliques, an arm is seen with the
    probability of its group; elsewhere that of all groups that show it is added up.
    """

    def __init__(self, learner: Learner) -> None:
        self.where, self._starts, self._order = learner.visibility
        n_arms, n_groups = learner.n_arms, self._starts.size - 1
        self.sizes = np.diff(self._starts)
        self.labels = [str(label) for label in learner.graph.labels or range(n_arms)]
        lists = [self._order[self._starts[g] : self._starts[g + 1]] for g in range(n_groups)]
        self.own_place = np.array([_place(arm, lists[self.where[arm]]) for arm in range(n_arms)])
        self._is_partition = self._order.size == n_arms and bool(
            (self.where[self._order] == np.repeat(np.arange(n_groups), self.sizes)).all()
        )
        self._groups = csr_array((np.ones(n_arms), (np.arange(n_arms), self.where)), shape=(n_arms, n_groups))
        self._shows = csr_array((np.ones(self._order.size), self._order, self._starts), shape=(n_groups, n_arms))

    def observed(self, arms: NDArray[np.int64]) -> NDArray[np.int64]:
        """The arms that each of ``arms`` shows, one list after the other."""
        groups = self.where[arms]
        return self._order[ragged(self._starts[groups], self.sizes[groups])]

    def shown(self, arm: int) -> NDArray[np.int64]:
        """The arms that one arm shows."""
        group = self.where[arm]
        return self._order[self._starts[group] : self._starts[group + 1]]

    def chances(self, arm: int, vector: NDArray[np.float64], listed: list[float], shown: list[int]) -> list[float]:
        """The probability of seeing each arm that one choice shows; ``listed`` is the vector as a list."""
        if self._is_partition:
            return [min(sum([listed[i] for i in shown]), 1.0)] * len(shown)
        seen: list[float] = self.probabilities(np.array([arm]), vector[None]).tolist()
        return seen

    def as_data(self) -> dict[str, list[int]] | None:
        """The group of each arm and the arms that each group shows; None if that is too much for a header."""
        if self._order.size + self.where.size > MOST_PAIRS:
            return None
        return {"where": self.where.tolist(), "starts": self._starts.tolist(), "order": self._order.tolist()}

    def probabilities(self, arms: NDArray[np.int64], vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        """For each choice, the probability of seeing each arm that it shows, one list after the other."""
        groups = self.where[arms]
        if self._is_partition:
            own: NDArray[np.float64] = np.minimum((vectors @ self._groups)[np.arange(arms.size), groups], 1.0)
            return np.repeat(own, self.sizes[groups])
        seen: NDArray[np.float64] = np.minimum((vectors @ self._groups) @ self._shows, 1.0)
        return seen[np.repeat(np.arange(arms.size), self.sizes[groups]), self.observed(arms)]


class Block:
    """Rows that wait: decisions and, where the block that had the decision is written already, outcomes alone."""

    MADE, ENDED = struct.Struct("8d"), struct.Struct("4d")
    """The numbers of a row, and of what became of it."""

    def __init__(self, era: Era) -> None:
        self.era = era
        self.vectors = np.empty((1, era.learner.n_arms))
        self.older: list[tuple[Decision, int, float, NDArray[np.float64] | None]] = []
        self.clear_rows()

    def clear_rows(self) -> None:
        """None but :attr:`older` waits any more; the room is kept."""
        self._made, self._ended, self._values = bytearray(), bytearray(), bytearray()
        self._places: dict[int, int] = {}
        self._masks: dict[int, NDArray[np.int64]] = {}

    @property
    def has_rows(self) -> bool:
        """Whether there are rows but those of :attr:`older`."""
        return len(self._made) > 0

    def __len__(self) -> int:
        return len(self._made) // self.MADE.size + len(self.older)

    def chose(
        self, decision: Decision, arm: int, now: float, probabilities: NDArray[np.float64] | None, available: Any
    ) -> None:
        """A decision, with the probabilities of all arms if they are known."""
        row, details = len(self._made) // self.MADE.size, decision.details
        if row == len(self.vectors):
            self.vectors = np.concatenate([self.vectors, np.empty_like(self.vectors)])
        if probabilities is not None:
            self.vectors[row] = probabilities
        clique, mass = details.get("clique", math.nan), details.get("clique_probability", math.nan)
        is_known = probabilities is not None
        self._made += self.MADE.pack(
            decision.id, arm, decision.round, now, decision.probability, clique, mass, is_known
        )
        self._places[decision.id] = row
        if available is not None:
            self._masks[row] = available

    def ended(
        self, decision: Decision, arm: int | None, status: int, now: float, values: NDArray[np.float64] | None
    ) -> None:
        """What became of a decision; ``arm`` is None where it is older than the arms."""
        if arm is None:
            self.older.append((decision, status, now, None if values is None else values.copy()))
            return
        row = self._places.get(decision.id)
        if row is None:
            row = len(self._made) // self.MADE.size
            self.chose(decision, arm, math.nan, None, None)
        start = -1
        if values is not None:
            start = len(self._values) // 8
            self._values += values.tobytes()
        self._ended += self.ENDED.pack(row, status, now, start)

    def columns(self, most_arms: int) -> dict[str, Any]:
        """All rows but those of :attr:`older`; what is not known is NaN."""
        visibility, learner = self.era.visibility, self.era.learner
        made = np.frombuffer(bytes(self._made)).reshape(-1, 8).T.copy()
        count, arms = made.shape[1], made[1].astype(np.int64)
        groups = visibility.where[arms]
        outcome = np.frombuffer(bytes(self._ended)).reshape(-1, 4).T
        ended, status = np.full(count, np.nan), np.zeros(count, np.int64)
        starts = np.full(count, -1)
        rows = outcome[0].astype(np.int64)
        status[rows], ended[rows], starts[rows] = outcome[1], outcome[2], outcome[3]
        learnt = starts >= 0
        sizes = np.where(learnt, visibility.sizes[groups], 0)
        values = np.frombuffer(bytes(self._values))[ragged(starts, sizes)]
        losses = Lists(_scaled(values, self.era.allowed), sizes, ~learnt)
        own, place = np.full(count, np.nan), visibility.own_place[arms]
        shown = learnt & (place >= 0)
        own[shown] = losses.flat[(losses.starts[:-1] + place)[shown]]
        known = made[7] != 0.0
        keeps = known & (learner.n_arms <= most_arms)
        vectors = self.vectors[:count] if known.all() else self.vectors[:count][known]
        kept = vectors.astype(np.float32).ravel() if learner.n_arms <= most_arms else np.zeros(0, np.float32)
        pscore = made[4]
        unsaid = np.isnan(pscore) & known
        pscore[unsaid] = self.vectors[:count][unsaid, arms[unsaid]]
        nothing = np.zeros(count, np.int64)
        return {
            "decision_id": made[0].astype(np.int64),
            "kind": Words(np.where(np.isnan(made[3]), 2, np.isnan(ended)), KINDS),
            "learner": Words(nothing, [learner.title]),
            "round": made[2].astype(np.int64),
            "timestamp": made[3],
            "action": arms,
            "arm": Words(arms, visibility.labels),
            "n_actions": np.full(count, learner.n_arms),
            "loss": own,
            "reward": 1.0 - own,
            "pscore": pscore,
            "clique": made[5],
            "clique_pscore": made[6],
            "observed": Lists(visibility.observed(arms), visibility.sizes[groups], nothing != 0),
            "losses": losses,
            "seeing": Lists(
                visibility.probabilities(arms[known], vectors), np.where(known, visibility.sizes[groups], 0), ~known
            ),
            "probabilities": Lists(kept, np.where(keeps, learner.n_arms, 0), ~keeps),
            "available": Lists.of([self._masks.get(row) for row in range(count)] if self._masks else [None] * count),
            "status": Words(status, STATUSES),
            "outcome_timestamp": ended,
            "package_version": Words(nothing, [__version__]),
        }


def ragged(starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The places ``start, start + 1, ...`` of every run, one after the other.

    >>> ragged(np.array([5, 0]), np.array([2, 3]))
    array([5, 6, 0, 1, 2])
    """
    offsets = np.cumsum(sizes) - sizes
    return np.repeat(starts - offsets, sizes) + np.arange(sizes.sum())


def row_of_event(
    era: Era,
    decision: Decision,
    arm: int,
    now: float,
    status: int,
    vector: NDArray[np.float64] | None = None,
    available: NDArray[np.int64] | None = None,
    values: NDArray[np.float64] | None = None,
    most_arms: int = 0,
) -> dict[str, Any]:
    """One event as a dictionary: what a block that has only this one would say, in a twentieth of the time.

    A decision has the status OPEN and, if they are known, the probabilities of all arms; an outcome has neither.
    """
    row, place = era.row_of_arm(arm)
    row["arms"] = era.arms if status == OPEN and len(era.arms) <= most_arms else None
    shown, details, pscore = row["observed"], decision.details, decision.probability
    row["decision_id"], row["round"], row["status"] = decision.id, decision.round, STATUSES[status]
    row["observed"] = shown.copy()
    row["clique"], row["clique_pscore"] = details.get("clique"), details.get("clique_probability")
    if status == OPEN:
        row["kind"], row["timestamp"] = KINDS[1], now
    else:
        row["kind"], row["outcome_timestamp"] = KINDS[2], now
    if values is not None:
        losses: list[Any] = _scaled(values, era.allowed).tolist()
        if sum(losses) != sum(losses):  # one of them is NaN
            losses = [None if loss != loss else loss for loss in losses]
        row["losses"] = losses
        if place >= 0 and losses[place] is not None:
            row["loss"], row["reward"] = losses[place], 1.0 - losses[place]
    if vector is not None:
        listed = vector.tolist()
        row["seeing"] = era.visibility.chances(arm, vector, listed, shown)
        if len(listed) <= most_arms:
            row["probabilities"] = vector.astype(np.float32).tolist()
        if pscore != pscore:
            pscore = listed[arm]
    row["pscore"] = None if pscore != pscore else pscore
    if available is not None:
        row["available"] = np.asarray(available).tolist()
    return row


def older_columns(block: Block) -> dict[str, Any]:
    """Outcomes of decisions older than the arms: numbers of arms would be those of others, so there are none."""
    decisions, statuses, times, reported = zip(*block.older, strict=True)
    count, learnt = len(decisions), np.array([values is not None for values in reported])
    values = [np.zeros(0) if found is None else _scaled(found, block.era.allowed) for found in reported]
    own = np.full(count, np.nan)
    for k, decision in enumerate(decisions):
        if learnt[k] and decision.arm in decision.observes:
            own[k] = values[k][decision.observes.index(decision.arm)]
    nothing, unknown, each = Lists.of([None] * count), np.full(count, np.nan), np.arange(count)
    return {
        "decision_id": np.array([decision.id for decision in decisions]),
        "kind": Words(np.zeros(count, np.int64), ["outcome"]),
        "learner": Words(np.zeros(count, np.int64), [block.era.learner.title]),
        "round": np.array([decision.round for decision in decisions]),
        "timestamp": unknown,
        "action": unknown,
        "arm": Words(each, [str(decision.arm) for decision in decisions]),
        "n_actions": unknown,
        "loss": own,
        "reward": 1.0 - own,
        "pscore": np.array([decision.probability for decision in decisions]),
        "clique": unknown,
        "clique_pscore": unknown,
        "observed": nothing,
        "losses": Lists(np.concatenate(values), np.array([value.size for value in values]), ~learnt),
        "seeing": Lists(np.zeros(0), np.zeros(count, np.int64), np.ones(count, bool)),
        "probabilities": Lists(np.zeros(0, np.float32), np.zeros(count, np.int64), np.ones(count, bool)),
        "available": nothing,
        "status": Words(np.array(statuses), STATUSES),
        "outcome_timestamp": np.array(times),
        "package_version": Words(np.zeros(count, np.int64), [__version__]),
    }


def _scaled(values: NDArray[np.float64], allowed: ValueRange) -> NDArray[np.float64]:
    """Reported values as losses in [0, 1]."""
    low, high = allowed.low, allowed.high
    if low == 0.0 and high == 1.0 and not allowed.reward:
        return values
    return (high - values) / (high - low) if allowed.reward else (values - low) / (high - low)


def _place(arm: int, observed: NDArray[np.int64]) -> int:
    """Where ``arm`` stands in a sorted list, or -1."""
    place = int(np.searchsorted(observed, arm))
    return place if place < observed.size and observed[place] == arm else -1
