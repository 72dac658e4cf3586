"""What every learner is: a frozen configuration, an explicit state, and three functions.

A learner file has one shape. The idea in a paragraph; ``State``, what the next round needs; ``init``,
``draw`` and ``update`` on it; the class that a user meets; the kernels. Who has read one can read all.

- ``init()`` makes the state before the first round.
- ``draw(state, first, second)`` chooses an arm from two uniforms and returns a *ticket*: all that the estimate
  of this choice will need, however late its outcome comes. Drawing changes nothing.
- ``update(state, ticket, losses)`` learns from the losses of ``observes(ticket.arm)``, in that order, in
  place.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from allworlds.graphs import CliqueCover, FeedbackGraph


class Ticket(Protocol):
    """The part of a ticket that every learner has; the rest is the learner's own."""

    @property
    def arm(self) -> int:
        """The chosen arm."""
        ...

    @property
    def probability(self) -> float:
        """The probability with which it was chosen."""
        ...

    @property
    def clique_probability(self) -> float:
        """The probability with which its losses are seen, by which they are weighted."""
        ...

    @property
    def baseline(self) -> float:
        """What is taken off the losses before they are weighted; 0 where nothing is."""
        ...

    @property
    def round(self) -> int:
        """The coming round when it was drawn."""
        ...


class Learner(ABC):
    """A way to choose and to learn; it holds no state, so one learner serves many runs."""

    name: ClassVar[str]
    """The name it is saved and listed under."""

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

    @abstractmethod
    def init(self) -> Any:
        """The state before the first round."""

    @abstractmethod
    def draw(self, state: Any, first: float, second: float) -> Any:
        """Choose an arm by two uniforms in [0, 1); return its ticket and change nothing."""

    @abstractmethod
    def update(self, state: Any, ticket: Any, losses: NDArray[np.float64]) -> None:
        """Learn the losses, in [0, 1], of the arms that ``ticket.arm`` observes."""

    @abstractmethod
    def observes(self, arm: int) -> NDArray[np.int64]:
        """The arms whose losses ``update`` takes after ``arm`` was chosen, sorted."""

    @abstractmethod
    def distribution(self, state: Any) -> NDArray[np.float64]:
        """(N,) the probability of each arm in the coming round."""

    @abstractmethod
    def round(self, state: Any) -> int:
        """The coming round: one plus the number of outcomes learnt."""

    @abstractmethod
    def pack(self, state: Any) -> dict[str, NDArray[np.float64]]:
        """A copy of the part of the state that must be saved, bit for bit."""

    @abstractmethod
    def unpack(self, arrays: dict[str, NDArray[np.float64]]) -> Any:
        """The inverse of :meth:`pack`."""

    @abstractmethod
    def ticket(self, fields: list[Any]) -> NamedTuple:
        """A saved ticket, from the list of its fields."""

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """The configuration as plain data, without the graph and the cover."""

    @classmethod
    @abstractmethod
    def from_settings(cls, cover: CliqueCover, settings: dict[str, Any]) -> Learner:
        """The inverse of :meth:`settings`."""
