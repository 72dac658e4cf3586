"""What an agent hands out and what it gets back: decisions, and the losses reported for them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allworlds.foundation.checks import flag, real, shorten
from allworlds.foundation.errors import InvalidLosses, InvalidParameter
from allworlds.graphs import FeedbackGraph
from allworlds.graphs.inputs import Label

Losses = Mapping[Any, float] | Sequence[float] | NDArray[np.float64] | float


@dataclass(frozen=True, slots=True)
class Decision:
    """One choice: what to do, how likely it was, and whose losses to report."""

    id: int
    """Counts from 1; an outcome is reported under it."""
    arm: Label
    """The arm to play: its label, or its number where the graph has no labels."""
    probability: float
    """The probability with which this arm was chosen."""
    round: int
    """One plus the number of outcomes learnt when it was drawn."""
    observes: tuple[Label, ...]
    """The arms whose losses the learner uses; report all of them."""
    details: Mapping[str, float] = field(default_factory=dict, hash=False)
    """What else this learner says is worth logging, such as the ``clique_probability`` of Tsallis-Shannon."""

    available: tuple[Label, ...] | None = None
    """The arms that it was chosen among; None where all were available."""

    def is_same(self, other: Decision) -> bool:
        """Whether both are one decision of one agent; probabilities may be NaN, which equals nothing."""
        mine = self.id, self.arm, self.round, self.observes
        return self is other or mine == (other.id, other.arm, other.round, other.observes)


@dataclass(frozen=True, slots=True)
class ValueRange:
    """The values that may be reported: losses or rewards from ``low`` to ``high``."""

    reward: bool
    low: float
    high: float

    def __post_init__(self) -> None:
        low, high = real("low", self.low), real("high", self.high)
        if not 0.0 < high - low < math.inf:
            raise InvalidParameter(f"the range is {low!r} to {high!r}; expected two finite numbers, low < high")
        for name, clean in (("reward", flag("reward", self.reward)), ("low", low), ("high", high)):
            object.__setattr__(self, name, clean)

    @property
    def what(self) -> str:
        """What a reported value is."""
        return "reward" if self.reward else "loss"

    def as_losses(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values in range as losses in [0, 1]."""
        if self.low == 0.0 and self.high == 1.0 and not self.reward:
            return values
        scaled = (values - self.low) / (self.high - self.low)
        return 1.0 - scaled if self.reward else scaled

    def complain(self, arm: Any, value: float, owner: str = "Agent") -> InvalidLosses:
        """The error for a value out of range; ``owner`` is the class whose options set the range."""
        return InvalidLosses(
            f"the {self.what} of arm {arm!r} is {value}; expected a number from {self.low:g} to {self.high:g}; "
            f"{owner}(..., low=..., high=...) sets the range"
        )


def reported_values(
    decision: Decision, losses: Losses, graph: FeedbackGraph | None, allowed: ValueRange
) -> NDArray[np.float64]:
    """The reported values in the order of ``decision.observes``, not yet checked against the range.

    ``graph`` is None where the decision is older than the arms of today. Raise InvalidLosses if one is missing, is not
    a number or is of an arm that the chosen one does not see.
    """
    observes = decision.observes
    if isinstance(losses, list | tuple | np.ndarray):  # the common forms first: checks of abstract classes are slow
        values = as_numbers(losses)
    elif isinstance(losses, Mapping):
        missing = [arm for arm in observes if arm not in losses]
        if missing and decision.available is not None and decision.arm in losses:
            asleep = set(missing).difference(decision.available)
            losses = dict.fromkeys(asleep, losses[decision.arm]) | dict(losses)
            missing = [arm for arm in missing if arm not in asleep]
        if missing:
            raise InvalidLosses(
                f"the {allowed.what} of arm {missing[0]!r} is missing; decision {decision.id} needs those of "
                f"{few(observes)}"
            )
        if len(losses) > len(observes) and graph is None:
            raise InvalidLosses(
                f"losses has {len(losses)} arms, but decision {decision.id}, made before the arms changed, needs those "
                f"of {few(observes)} alone"
            )
        if len(losses) > len(observes) and graph is not None:
            _check_others(decision, losses, graph, allowed)
        values = as_numbers([losses[arm] for arm in observes])
    else:
        values = as_numbers([losses] if isinstance(losses, Real) else losses)
    if values.shape != (len(observes),):
        raise InvalidLosses(
            f"losses have shape {values.shape}; decision {decision.id} needs {len(observes)} of them, for "
            f"{few(observes)}"
        )
    return values


def _check_others(decision: Decision, losses: Mapping[Any, float], graph: FeedbackGraph, allowed: ValueRange) -> None:
    """Losses beyond those used must be of neighbours, and in range."""
    chosen = graph.index_of(decision.arm)
    used = set(decision.observes)
    for arm, value in losses.items():
        if arm in used:
            continue
        try:
            other = graph.index_of(arm)
        except InvalidParameter as error:
            raise InvalidLosses(f"losses has a key that is not an arm: {error}") from None
        if other not in graph.sees(chosen):
            raise InvalidLosses(
                f"losses has arm {arm!r}, but decision {decision.id} chose arm {decision.arm!r}, which does not see "
                f"it; report those of {few(decision.observes)}"
            )
        number = as_numbers([value])
        if number.shape != (1,):
            raise InvalidLosses(f"the {allowed.what} of arm {arm!r} is {value!r}; expected one number")
        if not allowed.low <= number[0] <= allowed.high:
            raise allowed.complain(arm, number[0])


def as_numbers(values: Any) -> NDArray[np.float64]:
    """The values as an array of doubles, in the shape they have.

    >>> as_numbers([0, 0.5])
    array([0. , 0.5])
    """
    try:
        array = np.asarray(values)
    except (TypeError, ValueError):
        raise InvalidLosses(f"losses are {few(values)}; expected one number for each arm") from None
    if array.dtype.kind not in "biuf":
        raise InvalidLosses(
            f"losses are {few(values)}, which are not numbers; expected a mapping, list or array of numbers"
        )
    return array if array.dtype == np.float64 else array.astype(np.float64)


def few(values: Any) -> str:
    """At most five of them, for a sentence."""
    if isinstance(values, str | bytes):
        return repr(values)
    try:
        listed = list(values)
    except TypeError:
        return shorten(values, 40)
    return "[" + ", ".join(shorten(value, 40) for value in listed[:5]) + (", …]" if len(listed) > 5 else "]")
