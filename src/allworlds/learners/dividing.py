"""What learners share that divide a loss by the probability that its arm is seen.

The idea. On a graph an arm is seen whenever any of its observers is drawn, so the loss of every arm that is seen,
divided by the probability of seeing it, is right on average:

    lhat_i = l_i / P_t(i)   for every arm i that is seen,        P_t(i) = sum of p_t over the arms that show i.

``draw`` notes these divisors, so that an outcome that comes late is divided by what it was drawn with, and ``update``
divides. The learners of this family differ in the distribution that they make of the estimates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.foundation.errors import InvalidState
from allworlds.graphs import ChangingGraph
from allworlds.kernels.jit import lean_jit
from allworlds.learners.base import Learner, StateT, Ticket, TicketT
from allworlds.learners.dispatch import Visibility
from allworlds.learners.sampling import ROUND, pick


class EstimateState(NamedTuple):
    """What the next round of most such learners needs; a saved or compiled state belongs to one, so each derives."""

    cumulative_losses: NDArray[np.float64]
    """(N,) ``Lhat``."""
    distribution: NDArray[np.float64]
    """(N,) ``p_t`` of the coming round."""
    observed: NDArray[np.float64]
    """``P_t`` of the coming round: for each list of the observers, the mass of the arms in it."""
    clock: NDArray[np.float64]
    """Round, and what else changes with it."""
    divisors: NDArray[np.float64]
    """What the losses of the arms that the last drawn arm shows are divided by, in their order; room for the most."""
    visibility: Visibility
    observers: Visibility
    """Who shows each arm."""
    rates: Any
    """What else the rule needs: a named tuple."""


class DividedTicket(NamedTuple):
    """One choice of a :class:`DividingLearner`, with all that its estimate needs."""

    arm: int
    probability: float
    divisors: NDArray[np.float64]
    """The probability of being seen, of each arm that is seen, in their order."""
    round: int


class SpreadTicket(NamedTuple):
    """The same with what the round adds to a sum of the learner's, such as ``Q_t`` of Exp3-IX."""

    arm: int
    probability: float
    divisors: NDArray[np.float64]
    """What the loss of each arm that is seen is divided by, in their order."""
    spread: float
    round: int


class DrawnSpread(NamedTuple):
    """A :class:`SpreadTicket` as kernels hand it on."""

    arm: int
    probability: float
    spread: float
    round: int


class DividingLearner(Learner[StateT, TicketT]):
    """A learner that divides each loss by a number noted when the arm was drawn, however late the loss arrives.

    Kernels of a round make no arrays, so ``draw`` writes the divisors into ``state.divisors`` and ``update`` reads them
    there. A choice that a person holds must outlive the next draw: its ticket, whose third field is ``divisors``, takes
    a copy along and brings it back.
    """

    scratch: ClassVar[tuple[str, ...]] = ("divisors",)
    ticket_class: ClassVar[type] = DividedTicket
    drawn_class: ClassVar[type] = Ticket
    """What the kernels hand on: the ticket without the divisors."""
    state_class: ClassVar[type] = EstimateState

    def keep(self, state: StateT, drawn: Any) -> TicketT:
        """The ticket with a copy of the divisors."""
        divisors = state.divisors[: self.observes(drawn.arm).size].copy()  # type: ignore[attr-defined]
        ticket: TicketT = self.ticket_class(drawn[0], drawn[1], divisors, *drawn[2:])
        return ticket

    def ticket_from(self, state: StateT, arm: int, distribution: NDArray[np.float64]) -> TicketT:
        """The ticket whose divisors are the probabilities under ``distribution`` that each arm is seen."""
        ticket: TicketT = self.ticket_class(
            arm, float(distribution[arm]), self.chances_under(distribution, arm), self.round(state)
        )
        return ticket

    def chances_under(self, distribution: NDArray[np.float64], arm: int) -> NDArray[np.float64]:
        """The probability that each arm which ``arm`` shows is seen, if the choice follows ``distribution``."""
        where, starts, order = self.observers
        lists = (order[starts[where[i]] : starts[where[i] + 1]] for i in self.observes(arm))
        return np.array([float(distribution[shown_by].sum()) for shown_by in lists])

    def recall(self, state: StateT, ticket: Any) -> Any:
        """Put the divisors back."""
        state.divisors[: ticket.divisors.size] = ticket.divisors  # type: ignore[attr-defined]
        return self.drawn_class(ticket[0], ticket[1], *ticket[3:])

    def check_ticket(self, ticket: Any) -> None:
        """Raise InvalidState also unless there is a divisor for each observed arm."""
        super().check_ticket(ticket)
        expected = self.observes(ticket.arm).shape
        if np.shape(ticket.divisors) != expected:
            raise InvalidState(f"a ticket's divisors have shape {np.shape(ticket.divisors)}; expected {expected}")

    def room_for_divisors(self) -> NDArray[np.float64]:
        """A buffer for the longest list of observed arms."""
        changes = isinstance(self.graph, ChangingGraph)
        return np.empty(self.n_arms if changes else int(np.diff(self.visibility.starts).max()))

    def new_state(self, clock: Sequence[float], rates: Any) -> StateT:
        """An :class:`EstimateState` of this learner's class without losses; its distribution is uniform."""
        observers, n = self.observers, self.n_arms
        state: StateT = self.state_class(
            np.zeros(n),
            np.full(n, 1.0 / n),
            np.empty(observers.starts.size - 1),
            np.array(clock),
            self.room_for_divisors(),
            self.visibility,
            observers,
            rates,
        )
        return state


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def draw_seen(state: Any, first: float, second: float) -> Ticket:
    """Draw ``I_t`` from ``p_t``; note ``P_t(i)`` of what it shows, from ``state.observed``."""
    arm = pick_seen(state, first, 0.0)
    return Ticket(arm, float(state.distribution[arm]), int(state.clock[ROUND]))


@lean_jit
def draw_summed(state: Any, first: float, second: float) -> Ticket:
    """The same for a state without ``observed``: the masses of what the arm shows are summed now."""
    arm = pick(state.distribution, first)
    chances_of_seen(state.distribution, arm, state.visibility, state.observers, state.divisors)
    return Ticket(arm, float(state.distribution[arm]), int(state.clock[ROUND]))


@lean_jit
def pick_seen(state: Any, first: float, bonus: float) -> int:
    """Draw ``I_t`` from ``p_t``; note ``P_t(i) + bonus`` of what it shows, from ``state.observed``."""
    arm = pick(state.distribution, first)
    note_divisors(arm, state.visibility, state.observers, state.observed, bonus, state.divisors)
    return arm


@lean_jit
def note_divisors(
    arm: int,
    visibility: Visibility,
    observers: Visibility,
    observed: NDArray[np.float64],
    bonus: float,
    out: NDArray[np.float64],
) -> None:
    """``P_t(i) + bonus`` of every arm ``i`` that ``arm`` shows, in their order."""
    start = visibility.starts[visibility.where[arm]]
    for j in range(visibility.starts[visibility.where[arm] + 1] - start):
        out[j] = observed[observers.where[visibility.order[start + j]]] + bonus


@lean_jit
def add_estimates(
    visibility: Visibility,
    arm: int,
    losses: NDArray[np.float64],
    divisors: NDArray[np.float64],
    cumulative_losses: NDArray[np.float64],
) -> None:
    """``Lhat_i += l_i / P_t(i)`` for every arm ``i`` that ``arm`` shows."""
    start = visibility.starts[visibility.where[arm]]
    for j in range(losses.size):
        cumulative_losses[visibility.order[start + j]] += losses[j] / divisors[j]


@lean_jit
def learn_divided(state: Any, ticket: Any, losses: NDArray[np.float64]) -> None:
    """``Lhat_i += l_i / P_t(i)`` for every arm that is seen, and the round is over."""
    add_estimates(state.visibility, ticket.arm, losses, state.divisors, state.cumulative_losses)
    state.clock[ROUND] += 1.0


@lean_jit
def write_observed(state: Any) -> None:
    """The ``P_t`` of the distribution on the round's graph."""
    neighbourhood_masses(state.observers.starts, state.observers.order, state.distribution, state.observed)


@lean_jit
def chances_of_seen(
    p: NDArray[np.float64], arm: int, visibility: Visibility, observers: Visibility, out: NDArray[np.float64]
) -> None:
    """``P(i)`` of every arm ``i`` that ``arm`` shows; arms that share a list, as in a clique, share the sum."""
    start = visibility.starts[visibility.where[arm]]
    summed, mass = -1, 0.0
    for j in range(visibility.starts[visibility.where[arm] + 1] - start):
        w = observers.where[visibility.order[start + j]]
        if w != summed:
            summed, mass = w, 0.0
            for k in range(observers.starts[w], observers.starts[w + 1]):
                mass += p[observers.order[k]]
        out[j] = mass


@lean_jit
def neighbourhood_masses(
    starts: NDArray[np.int64], order: NDArray[np.int64], p: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """``P(w) = sum of p_j for j in list w``: the mass of those who show the arms of that list."""
    for w in range(out.size):
        mass = 0.0
        for j in range(starts[w], starts[w + 1]):
            mass += p[order[j]]
        out[w] = mass


@lean_jit
def spread_of(p: NDArray[np.float64], observed: NDArray[np.float64], where: NDArray[np.int64], bonus: float) -> float:
    """``Q = sum_i p_i / (P(i) + gamma)``; an arm whose probability is too small for a double adds nothing."""
    spread = 0.0
    for i in range(p.size):
        if p[i] > 0.0:
            spread += p[i] / (observed[where[i]] + bonus)
    return spread
