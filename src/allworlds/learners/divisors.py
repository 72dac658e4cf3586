"""Estimates that divide by a number for each arm that is seen: noted when the arm is drawn, however late the losses.

Kernels of a round make no arrays, so ``draw`` writes the divisors into the state and ``update`` reads them there. A
choice that a person holds must outlive the next draw: its ticket takes a copy along and brings it back.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from allworlds.learners import dispatch
from allworlds.learners.base import Learner
from allworlds.learners.dispatch import Visibility


class DividingLearner(Learner):
    """A learner whose ``State.divisors`` has room for all that an arm shows, and whose tickets carry them."""

    scratch: ClassVar[tuple[str, ...]] = ("divisors",)
    drawn_class: ClassVar[type]
    """What the kernels hand on: a ticket without its third field, the divisors."""

    def draw(self, state: Any, first: float, second: float) -> Any:
        """Choose an arm; its ticket has a copy of the divisors."""
        drawn = dispatch.draw(state, first, second)
        n_seen = self.observes(drawn.arm).size
        return self.ticket_class(drawn.arm, drawn.probability, state.divisors[:n_seen].copy(), *drawn[2:])

    def update(self, state: Any, ticket: Any, losses: NDArray[np.float64]) -> None:
        """Learn the losses with the divisors of the ticket."""
        state.divisors[: ticket.divisors.size] = ticket.divisors
        dispatch.update(state, self.drawn_class(ticket.arm, ticket.probability, *ticket[3:]), losses)


def room_for_divisors(visibility: Visibility) -> NDArray[np.float64]:
    """As many places as the arm that shows most."""
    return np.empty(int(np.diff(visibility.starts).max()))
