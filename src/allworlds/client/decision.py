"""A decision as a client sees it, and the losses that are reported for it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

from allworlds.foundation.errors import InvalidLosses, InvalidParameter

Losses = Mapping[Any, float] | Sequence[float] | float


@dataclass(frozen=True, slots=True)
class Decision:
    """One choice of a learner of the service: what to do, how likely it was, and whose losses to report.

    >>> Decision("order-17", "b", 0.25, 1, ("a", "b"), "prices").observes
    ('a', 'b')
    """

    id: str
    """Identifies the decision permanently; any process can report the outcome under it."""
    arm: str
    """The arm to play."""
    probability: float
    """The probability with which this arm was chosen."""
    round: int
    """One plus the number of outcomes learnt when it was drawn."""
    observes: tuple[str, ...]
    """The arms whose losses the learner uses; report all of them."""
    learner: str
    """The name of the learner."""
    also_visible: tuple[str, ...] = ()
    """Further neighbours of the arm, whose losses may be reported; they are kept and not used."""
    clique_probability: float | None = None
    """The probability with which the arm's clique was chosen, for learners that play on cliques."""
    deadline: float | None = None
    """When the decision expires, in seconds since the epoch by the service's clock; None if never."""

    @classmethod
    def from_answer(cls, learner: str, answer: Mapping[str, Any]) -> Decision:
        """From the service's JSON; fields of later versions are ignored."""
        return cls(
            id=answer["id"],
            arm=answer["arm"],
            probability=answer["probability"],
            round=answer["round"],
            observes=tuple(answer["observe"]),
            learner=learner,
            also_visible=tuple(answer.get("also_visible", ())),
            clique_probability=answer.get("clique_probability"),
            deadline=answer.get("deadline"),
        )


def which(decision: Decision | str, learner: str | None) -> tuple[str, str]:
    """The learner and the id of a decision that is given whole or by its id."""
    if isinstance(decision, Decision):
        if learner not in (None, decision.learner):
            raise InvalidParameter(f"learner is {learner!r}; expected {decision.learner!r}, which made the decision")
        return decision.learner, decision.id
    if learner is None:
        raise InvalidParameter(
            f"the decision is given by its id, {decision!r}; expected learner=, the name of the learner that made it"
        )
    return learner, text("the id", decision)


def reported(decision: Decision | str, losses: Losses) -> dict[str, float]:
    """Losses as they are sent: by arm, as finite numbers.

    >>> reported(Decision("order-17", "b", 0.25, 1, ("a", "b"), "prices"), [0.5, 1])
    {'a': 0.5, 'b': 1.0}
    """
    if isinstance(losses, Mapping):
        pairs: Iterable[tuple[Any, Any]] = losses.items()
    elif isinstance(decision, Decision):
        values = [losses] if _is_number(losses) else list(losses)  # type: ignore[arg-type]
        if len(values) != len(decision.observes):
            raise InvalidLosses(
                f"got {len(values)} losses; expected {len(decision.observes)}, one for each of "
                f"{', '.join(decision.observes)}"
            )
        pairs = zip(decision.observes, values, strict=True)
    else:
        raise InvalidLosses(f"losses is {losses!r}; expected a mapping from arms to losses where only the id is given")
    return {label(arm): _loss(arm, value) for arm, value in pairs}


def text(name: str, value: object) -> str:
    """``value`` as it is, if it is a string that is not empty."""
    if isinstance(value, str) and value:
        return value
    raise InvalidParameter(f"{name} is {value!r}; expected a string that is not empty")


def label(arm: object) -> str:
    """The label of an arm; those of a family are numbers, which the service writes as strings."""
    if isinstance(arm, str):
        return arm
    if hasattr(arm, "__index__") and not isinstance(arm, bool):
        return str(arm.__index__())
    raise InvalidParameter(f"the arm is {arm!r}; expected a label, which is a string")


def _loss(arm: object, value: Any) -> float:
    if not _is_number(value) or not math.isfinite(value):
        raise InvalidLosses(f"the loss of arm {arm!r} is {value!r}; expected a finite number")
    return float(value)


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
