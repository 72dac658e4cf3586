"""What every learner is: a frozen configuration, an explicit state, and a few functions on it.

A learner file has one shape. The idea in a paragraph; ``State``, what the next round needs, with a ``clock`` whose
first number is the coming round; ``Ticket``, what the estimate of one choice needs; the class that a user meets, with
``init``; the kernels ``draw`` and ``update``; and :func:`~allworlds.learners.dispatch.register_kernels`, which tells
the compiled loop about them. Who has read one can read all.

- ``init()`` makes the state before the first round.
- ``draw(state, first, second)`` chooses an arm from two uniforms and returns a *ticket*: all that the estimate of
  this choice will need, however late its outcome comes. Drawing changes nothing.
- ``update(state, ticket, losses)`` learns from the losses of ``observes(ticket.arm)``, in that order, in place.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from allworlds.covers import CliqueCover
from allworlds.foundation.checks import index, whole
from allworlds.foundation.errors import InvalidState
from allworlds.graphs import FeedbackGraph
from allworlds.learners import dispatch


class Learner(ABC):
    """A way to choose and to learn; it holds no state, so one learner serves many runs.

    A subclass is a frozen dataclass whose first field is ``cover`` and whose other fields are plain values.
    """

    name: ClassVar[str]
    """The name it is saved and listed under."""
    has_cliques: ClassVar[bool] = False
    """Whether it keeps a probability for each clique of the cover."""
    exact_probability: ClassVar[bool] = True
    """False where the probability of a choice has no closed form: tickets say NaN, ``distribution`` estimates."""
    sees_everything: ClassVar[bool] = False
    """True for a line drawn beside the learners: it takes all losses, whatever the graph shows."""
    ticket_class: ClassVar[type]
    """The class of its tickets, whose first fields are ``arm`` and ``probability``."""
    saved: ClassVar[tuple[str, ...]]
    """The fields of the state that change: what is saved of it."""

    scratch: ClassVar[tuple[str, ...]] = ()
    """The fields of the state in which nothing lasts: room that kernels compute in."""

    cover: CliqueCover
    """How the arms are grouped; a learner that needs no groups keeps it for its graph."""

    @property
    def graph(self) -> FeedbackGraph:
        """Who sees whom."""
        return self.cover.graph

    @property
    def n_arms(self) -> int:
        """How many arms there are."""
        return self.graph.n_arms

    @property
    def title(self) -> str:
        """What it is called in tables."""
        return self.name

    @abstractmethod
    def init(self) -> Any:
        """The state before the first round."""

    @abstractmethod
    def distribution(self, state: Any) -> NDArray[np.float64]:
        """(N,) the probability of each arm in the coming round."""

    def draw(self, state: Any, first: float, second: float) -> Any:
        """Choose an arm by two uniforms in [0, 1); return its ticket and change nothing."""
        return dispatch.draw(state, first, second)

    def update(self, state: Any, ticket: Any, losses: NDArray[np.float64]) -> None:
        """Learn the losses, in [0, 1], of the arms that ``ticket.arm`` observes."""
        dispatch.update(state, ticket, losses)

    def observes(self, arm: int) -> NDArray[np.int64]:
        """The arms whose losses ``update`` takes after ``arm`` was chosen, sorted."""
        return self.graph.sees(arm)

    def round(self, state: Any) -> int:
        """The coming round: one plus the number of outcomes learnt."""
        return int(state.clock[0])

    def regret_bound(self, state: Any) -> float | None:
        """A bound on the expected regret so far, evaluated along the run; None where there is none."""
        bound = float(dispatch.regret_bound(state))
        return None if math.isnan(bound) else bound

    def pack(self, state: Any) -> dict[str, NDArray[Any]]:
        """The part of the state that must be saved, bit for bit."""
        return {name: getattr(state, name).copy() for name in self.saved}

    def unpack(self, arrays: dict[str, NDArray[Any]]) -> Any:
        """The inverse of :meth:`pack`."""
        state = self.init()
        for name in self.saved:
            place, array = getattr(state, name), arrays[name]
            if array.shape != place.shape or not np.isfinite(array).all():
                raise InvalidState(f"{name} has shape {array.shape}; expected finite numbers, {place.shape}")
            place[...] = array
        return state

    def ticket(self, values: list[Any]) -> Any:
        """A saved ticket, from the list of its fields."""
        return self.ticket_class(*(_from_plain(value) for value in values))

    def check_ticket(self, ticket: Any) -> None:
        """Refuse a loaded ticket that no draw of this learner could have made: kernels check nothing."""
        index("a ticket's arm", ticket.arm, self.n_arms, error=InvalidState)
        whole("a ticket's round", ticket.round, error=InvalidState)

    def settings(self) -> dict[str, Any]:
        """The configuration as plain data, without the cover."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "cover"}  # type: ignore[arg-type]

    @classmethod
    def from_settings(cls, cover: CliqueCover, settings: dict[str, Any]) -> Learner:
        """The inverse of :meth:`settings`."""
        return cls(cover, **settings)  # type: ignore[call-arg]


def _from_plain(value: Any) -> Any:
    """A ticket's field as it was: JSON has lists for arrays and no NaN."""
    if value is None:
        return math.nan
    return np.asarray(value, dtype=np.float64) if isinstance(value, list) else value
