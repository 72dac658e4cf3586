"""What another policy would have lost, from the log of this one.

A round in which arm ``i`` was *seen*, played or not, says something about it. So the weight of its loss is
``1 / P_t(i is seen)``, and not ``1 / P_t(i is played)`` as elsewhere. For a policy with the distribution ``pi_t``,

    term_t = sum_i pi_t(i) 1{i seen} loss_t(i) / P_t(i is seen)

has the conditional mean ``sum_i pi_t(i) E loss_t(i)``, whatever the logging policy did before. Three estimates:

- ``ips``: the mean of the terms; unbiased.
- ``snips``: divided by the mean of the weights instead of by one (Swaminathan and Joachims 2015); smaller variance, a
  small bias that vanishes.
- ``dr``: doubly robust (Dudik, Langford and Li 2011): a guess of the loss, the mean of what was seen of the arm before,
  plus the weighted error of the guess; unbiased, because the guess is older than the round.

The interval is that of :mod:`allworlds.agents.confidence`; it belongs to the ``ips`` terms and holds at any time.

Where arms were not available in some rounds, an arm or a distribution is evaluated over those rounds in which all its
arms were: nobody could have played it in the others. Which rounds these are was known before the draw, so all of the
above still holds for them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.agents.confidence import intervals
from allworlds.agents.logged_rounds import Floats, Ints, LoggedRounds, Sightings, kept_of, logged_rounds
from allworlds.agents.replay import OnProgress, Replayed, replay
from allworlds.foundation.checks import numbers, real
from allworlds.foundation.errors import InvalidParameter, counted
from allworlds.learners import Learner

FEW = 50
"""An effective sample size below this is poor overlap."""
HEAVY = 0.1
"""One round with more than this share of all weight is poor overlap."""


@dataclass(frozen=True)
class View:
    """The estimates of one policy from one kind of weights."""

    ips: float
    snips: float | None
    """None where nothing was seen of the policy's arms."""
    dr: float
    low: float
    high: float
    """The interval, for the mean loss over the rounds in which the policy's arms were available."""
    variance: float
    """The sample variance of a term of ``ips``; over the number of rounds it is that of the estimate."""
    effective: float
    """The effective sample size: ``(sum of weights)^2 / sum of squared weights``."""
    heaviest: float
    """The share of the round with the most weight."""


@dataclass(frozen=True)
class PolicyValue:
    """What a policy would have lost a round."""

    policy: str
    seeing: View
    """With weights by the probability of seeing."""
    playing: View
    """With ordinary weights, by the probability of playing."""
    rounds: int
    """In which its arms were available: what it is evaluated over."""
    replayed: int | None
    """The rounds that a replayed learner learnt from; None for other policies."""
    notes: tuple[str, ...]

    @property
    def loss(self) -> float:
        """The estimate to read first: doubly robust, by the probability of seeing."""
        return self.seeing.dr


@dataclass(frozen=True)
class Evaluation:
    """The answer of :func:`evaluate`: a value for each policy; printed, it is a table."""

    values: tuple[PolicyValue, ...]
    n_rounds: int
    n_missing: int
    n_void: int
    logged_loss: float
    """The mean loss of the decisions as they were made."""
    level: float
    notes: tuple[str, ...]

    def __getitem__(self, policy: object) -> PolicyValue:
        found = [value for value in self.values if value.policy == str(policy)]
        if not found:
            raise InvalidParameter(f"there is no policy {policy!r}; expected one of {[v.policy for v in self.values]}")
        return found[0]

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)

    def to_frame(self) -> Any:
        """As a pandas table, a row for each policy."""
        from allworlds.foundation.errors import import_extra

        pandas = import_extra("pandas", "tables", "to_frame needs")
        rows = []
        for value in self.values:
            row: dict[str, Any] = {"policy": value.policy, "loss": value.loss}
            row |= asdict(value.seeing)
            row |= {f"ordinary_{name}": number for name, number in asdict(value.playing).items()}
            rows.append(row | {"rounds": value.rounds, "replayed": value.replayed, "notes": "; ".join(value.notes)})
        return pandas.DataFrame(rows)

    def __str__(self) -> str:
        width = max(6, *(len(value.policy) for value in self.values))
        lines = [f"{'policy':<{width}}    loss  {100 * self.level:g}% interval     ess  ordinary interval     ess"]
        for value in self.values:
            mine, other = value.seeing, value.playing
            lines.append(
                f"{value.policy:<{width}}  {value.loss:6.3f}  {mine.low:.3f} to {mine.high:.3f}  {mine.effective:6.0f}"
                f"     {other.low:.3f} to {other.high:.3f}  {other.effective:6.0f}"
            )
        lines.append(f"{counted(self.n_rounds, 'round')}, mean loss as logged {self.logged_loss:.3f}")
        lines += self.notes
        lines += [f"{value.policy}: {note}" for value in self.values for note in value.notes]
        return "\n".join(lines)


Policy = str | int | Learner | Mapping[Any, float] | Sequence[float] | NDArray[np.float64]


def evaluate(
    log: Any,
    policy: Policy = "each",
    *,
    level: float = 0.95,
    missing: str = "drop",
    acceptance: float | None = None,
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> Evaluation:
    """What ``policy`` would have lost a round, estimated from logged decisions, with intervals that hold at any time.

    Parameters
    ----------
    log:
        What :func:`load_log` takes, or the table that it gives. A table of others needs the columns ``action``,
        ``pscore`` and ``loss`` or ``reward``, in [0, 1].
    policy:
        ``"each"`` (every arm alone), an arm (label or number), a distribution (a mapping from arms, or one number for
        each arm, which add up to one), or a learner, which is replayed.
    level:
        Of each interval.
    missing:
        ``"drop"`` leaves decisions without an outcome out; ``"worst"`` gives intervals that hold whatever was lost.
    acceptance, seed:
        For a learner; see :func:`allworlds.agents.replay.replay`.

    Examples
    --------
    >>> import pandas
    >>> log = pandas.DataFrame({"action": [0, 1] * 500, "loss": [0.2, 0.6] * 500, "pscore": 0.5, "n_actions": 2})
    >>> round(evaluate(log, 1).values[0].seeing.ips, 9)
    0.6
    """
    level = real("level", level, above=0, below=1)
    rounds = logged_rounds(log, missing=missing)
    alpha = 1.0 - level
    wanted: list[tuple[str, Floats | Replayed]]
    if isinstance(policy, Learner):
        wanted = [(policy.title, replay(policy, rounds, acceptance=acceptance, seed=seed, on_progress=on_progress))]
    elif isinstance(policy, str) and policy == "each" and "each" not in rounds.labels:
        wanted = [(label, np.eye(1, rounds.n_arms, arm)[0]) for arm, label in enumerate(rounds.labels)]
    else:
        wanted = [_distribution(policy, rounds)]
    values = []
    for number, (name, what) in enumerate(wanted):
        values.append(_value(name, what, rounds, alpha))
        if on_progress is not None:
            on_progress(number + 1, len(wanted), f"policy {name}")
    return Evaluation(
        tuple(values),
        rounds.n_rounds,
        rounds.missing,
        rounds.void,
        float(rounds.played.loss.mean()) if rounds.played.loss.size else float("nan"),
        level,
        rounds.notes,
    )


def _distribution(policy: Any, rounds: LoggedRounds) -> tuple[str, Floats]:
    """Name and probabilities of an arm or a distribution."""
    n_arms, labels = rounds.n_arms, rounds.labels
    if isinstance(policy, str | int | np.integer) and not isinstance(policy, bool):
        arm = _arm(policy, labels)
        return labels[arm], np.eye(1, n_arms, arm)[0]
    if isinstance(policy, Mapping):
        given = numbers("the probabilities of policy", list(policy.values()))
        shares = np.zeros(n_arms)
        np.add.at(shares, [_arm(arm, labels) for arm in policy], given)
    elif isinstance(policy, list | tuple | np.ndarray):
        shares = numbers("policy", policy)
        if shares.shape != (n_arms,):
            raise InvalidParameter(
                f"policy has shape {shares.shape}; expected one probability for each of {n_arms} arms"
            )
    else:
        raise InvalidParameter(
            f'policy is a {type(policy).__name__}; expected "each", an arm, a distribution or a learner'
        )
    wrong = np.flatnonzero(~(shares >= 0.0))
    if wrong.size:
        raise InvalidParameter(f"policy gives arm {labels[wrong[0]]!r} {shares[wrong[0]]:g}; expected a probability")
    if not abs(shares.sum() - 1.0) <= 1e-9:
        raise InvalidParameter(f"policy adds up to {shares.sum():.9g}; expected probabilities that add up to 1")
    return "distribution", shares


def _arm(arm: Any, labels: tuple[str, ...]) -> int:
    if str(arm) in labels:
        return labels.index(str(arm))
    shown = ", ".join(labels[:5]) + (", …" if len(labels) > 5 else "")
    raise InvalidParameter(f'policy names arm {arm!r}; expected "each", or one of the arms {shown}')


def _value(name: str, what: Floats | Replayed, rounds: LoggedRounds, alpha: float) -> PolicyValue:
    notes = list(what.notes) if isinstance(what, Replayed) else []
    if rounds.available is not None and not isinstance(what, Replayed):
        could: NDArray[np.bool_] = np.all(rounds.available[:, what > 0.0], axis=1)
        if not could.all():
            notes.append(f"available in {could.sum():,} of {rounds.n_rounds:,} rounds, over which it is evaluated")
            rounds = rounds.only(could)
    mine, other = (_view(sightings, what, rounds, alpha) for sightings in (rounds.seen, rounds.played))
    if mine.effective == 0.0:
        notes.append("never seen: the log says nothing about it")
    elif mine.effective < FEW or mine.heaviest > HEAVY:
        notes.append(
            f"poor overlap: {mine.effective:.0f} effective rounds, and one round has {100 * mine.heaviest:.0f}% of the "
            "weight; trust the interval, not the estimate"
        )
    learnt = what.n_learnt if isinstance(what, Replayed) else None
    return PolicyValue(name, mine, other, rounds.n_rounds, learnt, tuple(notes))


class Terms(NamedTuple):
    """Of the estimates, one a round; 0 where nothing was seen of the policy's arms."""

    weights: Floats
    losses: Floats
    """``weight x loss``"""
    complements: Floats
    """``weight x (1 - loss)``"""
    robust: Floats


def terms_of(sightings: Sightings, what: Floats | Replayed, n_rounds: int) -> Terms:
    """The terms of a policy with one distribution, or of one that moves."""
    if isinstance(what, Replayed):
        used, share = sightings, what.distributions[what.version[sightings.round], sightings.arm]
        arms = np.arange(what.distributions.shape[1])
        policy = what.distributions[what.version]
    else:
        used = kept_of(sightings, what[sightings.arm] > 0.0)
        share, arms = what[used.arm], np.flatnonzero(what > 0.0)
        policy = what[arms]

    def by_round(values: Floats) -> Floats:
        return np.bincount(used.round, weights=values, minlength=n_rounds).astype(np.float64)

    each = share / used.probability
    guesses = _guesses(used, arms, n_rounds)
    own = guesses[used.round, np.searchsorted(arms, used.arm)]
    return Terms(
        by_round(each),
        by_round(each * used.loss),
        by_round(each * (1.0 - used.loss)),
        (guesses * policy).sum(axis=1) + by_round(each * (used.loss - own)),
    )


def _view(sightings: Sightings, what: Floats | Replayed, rounds: LoggedRounds, alpha: float) -> View:
    if rounds.n_rounds == 0:
        return View(math.nan, None, math.nan, 0.0, 1.0, 0.0, 0.0, 0.0)
    weights, terms, complements, robust = terms_of(sightings, what, rounds.n_rounds)
    low, high = intervals(terms, complements, alpha)
    total, squares = float(weights.sum()), float(np.square(weights).sum())
    return View(
        ips=float(terms.mean()),
        snips=float(terms.sum() / total) if total > 0.0 else None,
        dr=float(robust.mean()),
        low=float(low[0]),
        high=float(high[0]),
        variance=float(terms.var(ddof=1)) if terms.size > 1 else 0.0,
        effective=total * total / squares if squares > 0.0 else 0.0,
        heaviest=float(weights.max() / total) if total > 0.0 else 0.0,
    )


def parse_policy(text: str, labels: Sequence[Any]) -> str | dict[str, float]:
    """ "each", an arm, or a distribution as a dictionary.

    >>> parse_policy("a=b", ["a=b"]), parse_policy("red=0.25,blue=0.75", ["red", "blue"])
    ('a=b', {'red': 0.25, 'blue': 0.75})
    """
    if text in labels or "=" not in text:
        return text
    shares: dict[str, float] = {}
    for piece in text.split(","):
        arm, _, share = piece.rpartition("=")
        try:
            shares[arm.strip()] = float(share)
        except ValueError:
            raise InvalidParameter(
                f"policy is {text!r}; expected each, an arm, or a distribution such as a=0.5,b=0.5"
            ) from None
    return shares


def _guesses(sightings: Sightings, arms: Ints, n_rounds: int) -> Floats:
    """(n, A) for each round and arm of ``arms`` the mean of the losses seen before, started with one of 1/2."""
    sums, counts = np.zeros((n_rounds + 1, arms.size)), np.zeros((n_rounds + 1, arms.size))
    where = sightings.round + 1, np.searchsorted(arms, sightings.arm)
    np.add.at(sums, where, sightings.loss)
    np.add.at(counts, where, 1.0)
    means: Floats = (0.5 + np.cumsum(sums, axis=0)) / (1.0 + np.cumsum(counts, axis=0))
    return means[:-1]
