"""A log as arrays, for evaluation: which arms were seen in each round, how they did, how likely that was."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.agents.log_reading import table_of
from allworlds.foundation.errors import InvalidParameter, counted

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
NEEDED = ("action", "pscore")
SIDE = ("observed", "losses", "seeing")


class Sightings(NamedTuple):
    """One entry for each arm that was seen in a round; entries are in the order of rounds."""

    round: Ints
    """Which of the rounds, from 0."""
    arm: Ints
    loss: Floats
    probability: Floats
    """With which the arm was to be seen (or, in the ordinary view, played) in this round."""


@dataclass(frozen=True)
class LoggedRounds:
    """What a log says about its usable rounds, those with an outcome and with known probabilities."""

    n_rounds: int
    n_arms: int
    labels: tuple[str, ...]
    seen: Sightings
    played: Sightings
    places: Ints
    """Where the rounds stand in the table."""
    table: Any
    notes: tuple[str, ...]
    missing: int
    """Decisions without an outcome."""
    void: int
    """Decisions that were taken back."""
    available: NDArray[np.bool_] | None
    """(n, N) which arms could be chosen; None if all could, always. Nothing is counted as seen of the others."""

    def only(self, chosen: NDArray[np.bool_]) -> LoggedRounds:
        """The rounds that are ``chosen``, (n,), alone."""
        number = np.cumsum(chosen) - 1

        def cut(sightings: Sightings) -> Sightings:
            kept = kept_of(sightings, chosen[sightings.round])
            return kept._replace(round=number[kept.round])

        available = None if self.available is None else self.available[chosen]
        places = self.places[chosen]
        seen, played = cut(self.seen), cut(self.played)
        return replace(self, n_rounds=places.size, seen=seen, played=played, places=places, available=available)


def kept_of(sightings: Sightings, kept: NDArray[np.bool_] | Ints) -> Sightings:
    """Some of the sightings, or all in another order."""
    rounds, arms, losses, probabilities = sightings
    return Sightings(rounds[kept], arms[kept], losses[kept], probabilities[kept])


def logged_rounds(log: Any, *, missing: str = "drop") -> LoggedRounds:
    """From a file, rows as a function is told them, or a table with the columns of a log.

    A table of others needs ``action`` (from 0), ``pscore`` and ``loss`` or ``reward`` in [0, 1]; without the columns of
    side observations, only the chosen arm was seen. ``missing`` says what is done about decisions without an outcome:
    "drop" leaves them out, "worst" keeps them, with any loss possible, so that the intervals hold whatever was lost.
    """
    table = table_of(log)
    columns = table.columns
    if missing not in ("drop", "worst"):
        raise InvalidParameter(f'missing is {missing!r}; expected "drop" or "worst"')
    absent = [name for name in NEEDED if name not in columns]
    if "loss" not in columns and "reward" not in columns:
        absent.append("loss")
    if absent:
        raise InvalidParameter(f"the log has no column {absent[0]!r}; expected action, pscore and loss or reward")
    if len(table) == 0:
        raise InvalidParameter("the log has no decisions; expected at least one")
    return _rounds(table, missing)


def _rounds(table: Any, missing: str) -> LoggedRounds:
    action, pscore, loss = _chosen(table)
    has_sides = all(name in table.columns for name in SIDE)
    status = table["status"].to_numpy() if "status" in table.columns else np.where(np.isnan(loss), "open", "observed")
    void, observed = status == "void", status == "observed"
    known = ~np.isnan(pscore)
    if has_sides:
        known &= np.array([value is not None and np.ndim(value) == 1 for value in table["seeing"]])
    if not known.any():
        raise InvalidParameter(
            "the log has no probabilities, because its learner does not know them; nothing can be estimated from it"
        )
    usable = known & (observed if missing == "drop" else ~void)
    if not (usable & observed).any():
        raise InvalidParameter("the log has no decision with an outcome; expected at least one")
    places = np.flatnonzero(usable)
    n_arms, labels = _arms(table, action)
    with_outcome = np.flatnonzero(observed[places])
    rows = places[with_outcome]
    at = with_outcome[~np.isnan(loss[rows])]
    played = Sightings(at, action[places[at]], loss[places[at]], pscore[places[at]])
    seen = _sightings(table, rows, with_outcome) if has_sides else played
    available = _available(table, places, n_arms)
    if available is not None:
        seen, played = (kept_of(one, available[one.round, one.arm]) for one in (seen, played))
    kinds = ("loss", seen.loss, -1e-12, "from 0 to"), ("probability", seen.probability, 0.0, "above 0 and at most")
    for name, values, above, words in kinds:
        wrong = ~((values > above) & (values <= 1.0 + 1e-9))
        if wrong.any():
            raise InvalidParameter(f"a {name} in the log is {values[wrong][0]}; expected a number {words} 1")
    n_missing, n_void = int((~observed & ~void).sum()), int(void.sum())
    notes = (*_range(table), *_notes(n_missing, n_void, int((~known & observed).sum()), missing))
    return LoggedRounds(places.size, n_arms, labels, seen, played, places, table, notes, n_missing, n_void, available)


def _chosen(table: Any) -> tuple[Ints, Floats, Floats]:
    """Action, probability and loss of the chosen arms."""
    try:
        action = table["action"].to_numpy(dtype=np.int64)
        pscore = table["pscore"].to_numpy(dtype=np.float64)
        if "loss" in table.columns:
            loss = table["loss"].to_numpy(dtype=np.float64)
        else:
            loss = 1.0 - table["reward"].to_numpy(dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidParameter(f"a column of the log is not of numbers: {error}") from None
    if action.min() < 0:
        raise InvalidParameter(f"an action in the log is {action.min()}; expected arms from 0")
    return action, pscore, loss


def _sightings(table: Any, rows: Ints, rounds: Ints) -> Sightings:
    lists = {name: [np.asarray(value, dtype=float) for value in table[name].to_numpy()[rows]] for name in SIDE}
    lengths = np.array([value.size for value in lists["observed"]])
    for name in SIDE[1:]:
        wrong = np.flatnonzero(lengths != [value.size for value in lists[name]])
        if wrong.size:
            raise InvalidParameter(f"row {rows[wrong[0]]} of the log has {name!r} of another length than 'observed'")
    arm, loss, probability = (np.concatenate(lists[name]) for name in SIDE)
    made = Sightings(np.repeat(rounds, lengths), arm.astype(np.int64), loss.astype(float), probability.astype(float))
    return kept_of(made, np.lexsort((made.arm, made.round)))


def _available(table: Any, places: Ints, n_arms: int) -> NDArray[np.bool_] | None:
    """(n, N) which arms could be chosen, or None if the table has no masks."""
    masks = table["available"].to_numpy()[places] if "available" in table.columns else []
    if all(np.ndim(mask) != 1 for mask in masks):
        return None
    available = np.zeros((places.size, n_arms), dtype=bool)
    for k, mask in enumerate(masks):
        if np.ndim(mask) != 1:
            available[k] = True
            continue
        arms = np.asarray(mask, dtype=np.int64)
        if arms.size and not (arms.min() >= 0 and arms.max() < n_arms):
            raise InvalidParameter(f"row {places[k]} of the log has the available arms {mask}; expected {n_arms} arms")
        available[k, arms] = True
    return available


def _arms(table: Any, action: Ints) -> tuple[int, tuple[str, ...]]:
    header = getattr(table, "attrs", {}).get("log", {})
    n_arms = int(max(action.max() + 1, table["n_actions"].max() if "n_actions" in table.columns else 0))
    labels = header.get("labels")
    if labels is None or len(labels) != n_arms:
        labels = range(n_arms)
    return n_arms, tuple(str(label) for label in labels)


def _range(table: Any) -> tuple[str, ...]:
    """What a loss of 0 and of 1 is, where the log says that rewards or another range were reported."""
    header = getattr(table, "attrs", {}).get("log") or {}
    low, high, reward = header.get("low", 0.0), header.get("high", 1.0), header.get("reward", False)
    if (low, high, reward) == (0.0, 1.0, False):
        return ()
    best, worst = (high, low) if reward else (low, high)
    return (f"a loss of 0 is a {'reward' if reward else 'reported loss'} of {best:g}, a loss of 1 one of {worst:g}",)


def _notes(missing: int, void: int, unknown: int, how: str) -> tuple[str, ...]:
    notes = []
    if missing:
        treated = (
            "left out, which is right only if whether an outcome comes has nothing to do with the arm or its loss"
            if how == "drop"
            else "kept with any loss possible"
        )
        notes.append(f"{counted(missing, 'decision')} without an outcome: {treated}")
    if void:
        notes.append(f"{counted(void, 'decision')} taken back: left out")
    if unknown:
        notes.append(f"{counted(unknown, 'decision')} without known probabilities: left out")
    return tuple(notes)
