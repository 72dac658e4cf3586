"""The learner of the paper with every loss that is seen: a heuristic, for which no bound is claimed.

The idea. The learner of [EK21] uses of each choice the losses of the clique only; an arm may see more. Here the same
leader, on the same cliques, is told all of it:

    p_t = argmin  Lhat·p + Psi(p) / eta_t + Phi(p),          draw I_t from p_t,
    Lhat_i += (l_i - b) / P_t(i)   for every arm i that is seen,     P_t(i) = sum of p_t over the neighbourhood of i.

Estimates are still right on average up to the common ``b``, and vary less, as ``P_t(i)`` is at least the mass of the
clique. The proof needs that one estimate cannot lift the mean estimated loss by more than one, and that fails: an arm
that sees several cliques lifts it once for each. On disjoint cliques the two learners are the same. Constants are
those of ``tsallis-shannon``, and so is what holds back an estimate that would put a clique too far behind.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from allworlds.covers import CliqueCover
from allworlds.foundation.checks import real
from allworlds.foundation.errors import InvalidState
from allworlds.ftrl.clique_mass import MAX_STEPS, TIGHT, Masses, Problem, new_masses, solve_masses
from allworlds.ftrl.clock import (
    BARRIER,
    DAMPING,
    MEAN,
    MULTIPLIER,
    RATE,
    ROUND,
    Rates,
    excess_of,
    new_clock,
    rates_of,
    tick,
)
from allworlds.ftrl.constants import Constants
from allworlds.ftrl.solve import fill_distribution, set_lowest
from allworlds.ftrl.within_clique import least
from allworlds.graphs import AnyGraph
from allworlds.kernels.jit import lean_jit
from allworlds.learners.base import CliqueLearner
from allworlds.learners.dispatch import Visibility, register_kernels, visibility_of
from allworlds.learners.dividing import DividingLearner, neighbourhood_masses, note_divisors
from allworlds.learners.recipe import LearnerRecipe
from allworlds.learners.sampling import pick
from allworlds.learners.tsallis_shannon import constants_on


class Cliques(NamedTuple):
    """The cover and what is constant for each clique, for kernels."""

    owner: NDArray[np.int64]
    """(N,) the clique of each arm."""
    starts: NDArray[np.int64]
    order: NDArray[np.int64]
    """(N,) the arms, clique by clique."""
    place: NDArray[np.int64]
    """(N,) where each arm is in ``order``."""
    alpha: NDArray[np.float64]
    factors: NDArray[np.float64]
    """(K,) of the learning rate."""


class State(NamedTuple):
    """What the next round needs; the distribution is already that of the coming round."""

    cumulative_losses: NDArray[np.float64]
    """(N,) ``Lhat``, in clique order."""
    distribution: NDArray[np.float64]
    """(N,) ``p_t`` of the coming round, by arm."""
    temperature: NDArray[np.float64]
    """(K,) one over the root of each clique's mass: also part of ``masses``."""
    clock: NDArray[np.float64]
    """What the coming round knows of time: :mod:`allworlds.ftrl.clock`."""
    masses: Masses
    eta: NDArray[np.float64]
    """(K,) the rate of the coming round."""
    observed: NDArray[np.float64]
    """``P_t`` of the coming round: for each list of the visibility, the mass of the arms in it."""
    sorted_distribution: NDArray[np.float64]
    """(N,) room for the distribution in clique order."""
    raised: NDArray[np.float64]
    """Room for what is added to the arms that are seen."""
    divisors: NDArray[np.float64]
    """What the losses of the arms that the last drawn arm shows are divided by, in their order; room for the most."""
    cliques: Cliques
    visibility: Visibility
    rates: Rates


class Drawn(NamedTuple):
    """One choice, as kernels hand it on."""

    arm: int
    probability: float
    baseline: float
    """``b``."""
    round: int


class Ticket(NamedTuple):
    """One choice, with all that its estimate needs."""

    arm: int
    probability: float
    divisors: NDArray[np.float64]
    """``P_t(i)``, plus implicit exploration if there is any, of the arms that are seen, in their order."""
    baseline: float
    """``b``."""
    round: int


@dataclass(frozen=True, init=False)
class TsallisShannonAll(DividingLearner[State, Ticket], CliqueLearner[State, Ticket]):
    """``TsallisShannon`` that also uses the losses of neighbours outside the clique; a heuristic.

    >>> from allworlds.graphs import star
    >>> learner = TsallisShannonAll(star(4))
    >>> learner.observes(0), learner.n_cliques
    (array([0, 1, 2, 3]), 3)
    >>> state = learner.init()
    >>> ticket = learner.draw(state, 0.0, 0.0)
    >>> learner.update(state, ticket, np.array([1.0, 1.0, 0.0, 1.0]))
    >>> learner.distribution(state).argmax()
    np.int64(2)
    """

    name: ClassVar[str] = "tsallis-shannon-all"
    redrawn: ClassVar[bool] = True
    ticket_class: ClassVar[type] = Ticket
    drawn_class: ClassVar[type] = Drawn
    saved: ClassVar[tuple[str, ...]] = ("cumulative_losses", "distribution", "temperature", "clock")
    scratch: ClassVar[tuple[str, ...]] = ("masses", "eta", "sorted_distribution", "raised", "divisors")
    logged: ClassVar[tuple[str, ...]] = ("baseline",)

    constants: Constants

    def __init__(self, graph: AnyGraph | CliqueCover, constants: Constants | None = None) -> None:
        CliqueLearner.__init__(self, graph)
        object.__setattr__(self, "constants", constants_on(self.cover, constants))

    @cached_property
    def _visibility(self) -> Visibility:
        """An arm shows all its neighbours, not its clique only."""
        return visibility_of(self.graph, "neighbours")

    def init(self) -> State:
        """No losses, round one."""
        c, cover, visibility = self.constants, self.cover, self.visibility
        masses = new_masses(cover.sizes, c.gamma)
        place = np.empty(self.n_arms, dtype=np.int64)
        place[cover.order] = np.arange(self.n_arms)
        rates = rates_of(c)
        state = State(
            cumulative_losses=np.zeros(self.n_arms),
            distribution=np.empty(self.n_arms),
            temperature=masses.temperature,
            clock=new_clock(rates),
            masses=masses,
            eta=np.empty(cover.n_cliques),
            observed=np.empty(visibility.starts.size - 1),
            sorted_distribution=np.empty(self.n_arms),
            raised=self.room_for_divisors(),
            divisors=self.room_for_divisors(),
            cliques=Cliques(cover.owner, cover.starts, cover.order, place, np.array(c.alpha), c.rate_factors),
            visibility=visibility,
            rates=rates,
        )
        step(state)
        return state

    def clique_mass(self, state: State) -> NDArray[np.float64]:
        """(K,) the probability of each clique in the coming round."""
        mass: NDArray[np.float64] = state.temperature**-2.0
        return mass

    def ticket_from(self, state: State, arm: int, distribution: NDArray[np.float64]) -> Ticket:
        """The ticket whose divisors follow from ``distribution``."""
        baseline = float(state.clock[MEAN]) if state.rates.uses_baseline else 0.0
        divisors = self.chances_under(distribution, arm) + float(state.clock[DAMPING])
        return Ticket(arm, float(distribution[arm]), divisors, baseline, self.round(state))

    def check_ticket(self, ticket: Ticket) -> None:
        """Raise InvalidState also unless the baseline is possible."""
        super().check_ticket(ticket)
        real("a ticket's baseline", ticket.baseline, at_least=0, at_most=1, error=InvalidState)

    def settings(self) -> dict[str, Any]:
        """The constants."""
        return {"constants": self.constants.to_dict()}

    @classmethod
    def from_settings(cls, graph: AnyGraph | CliqueCover, settings: dict[str, Any]) -> Self:
        """The inverse of :meth:`settings`."""
        return cls(graph, Constants.from_dict(settings["constants"]))


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def draw(state: State, first: float, second: float) -> Drawn:
    """Draw ``I_t`` from ``p_t``; note ``P_t(i)`` of what it shows."""
    visibility, clock = state.visibility, state.clock
    arm = pick(state.distribution, first)
    note_divisors(arm, visibility, visibility, state.observed, clock[DAMPING], state.divisors)
    baseline = float(clock[MEAN]) if state.rates.uses_baseline else 0.0
    return Drawn(arm, float(state.distribution[arm]), baseline, int(clock[ROUND]))


@lean_jit
def update(state: State, ticket: Drawn, losses: NDArray[np.float64]) -> None:
    """``Lhat_i += (l_i - b) / P_t(i)`` on the arms that are seen, then the next round's step."""
    start = state.visibility.starts[state.visibility.where[ticket.arm]]
    incurred = 0.0
    for j in range(losses.size):
        arm = state.visibility.order[start + j]
        state.raised[j] = (losses[j] - ticket.baseline) / state.divisors[j]
        state.cumulative_losses[state.cliques.place[arm]] += state.raised[j]
        if arm == ticket.arm:
            incurred = losses[j]
    hold_back(state, start, losses.size)
    tick(state.clock, state.rates, incurred)
    step(state)


@lean_jit
def hold_back(state: State, start: int, n_seen: int) -> None:
    """Take back from the arms of a clique what lifts its lowest loss above the deficit limit.

    ``masses.price``, which the step computes anew, is room for what each clique has too much.
    """
    clock, cliques, excess = state.clock, state.cliques, state.masses.price
    for k in range(excess.size):
        after = least(state.cumulative_losses[cliques.starts[k] : cliques.starts[k + 1]])
        excess[k] = excess_of(clock, state.rates, clock[MULTIPLIER], state.masses.lowest[k], after)
    for j in range(n_seen):
        arm = state.visibility.order[start + j]
        state.cumulative_losses[cliques.place[arm]] -= min(excess[cliques.owner[arm]], max(0.0, state.raised[j]))


@lean_jit
def step(state: State) -> None:
    """The coming round's distribution by the exact step, starting from the last one's temperatures, and its ``P``."""
    clock, cliques, masses = state.clock, state.cliques, state.masses
    for k in range(state.eta.size):
        state.eta[k] = clock[RATE] * cliques.factors[k]
    problem = Problem(
        state.cumulative_losses, cliques.starts, cliques.alpha, clock[BARRIER], state.rates.gamma, state.eta
    )
    set_lowest(problem, masses)
    base = least(masses.lowest)
    clock[MULTIPLIER] = base + solve_masses(problem, masses, clock[MULTIPLIER] - base, TIGHT, MAX_STEPS)[0]
    fill_distribution(problem, masses, state.sorted_distribution)
    for i in range(state.distribution.size):
        state.distribution[i] = state.sorted_distribution[cliques.place[i]]
    resolve(state)


@lean_jit
def resolve(state: State) -> None:
    """What follows from losses and distribution: each clique's lowest loss, and ``P``."""
    visibility, starts = state.visibility, state.cliques.starts
    for k in range(state.masses.lowest.size):
        state.masses.lowest[k] = least(state.cumulative_losses[starts[k] : starts[k + 1]])
    neighbourhood_masses(visibility.starts, visibility.order, state.distribution, state.observed)


@lean_jit
def write_masses(state: State, masses: NDArray[np.float64]) -> None:
    """The clique masses of the coming round."""
    for k in range(masses.size):
        masses[k] = 1.0 / (state.temperature[k] * state.temperature[k])


register_kernels(State, draw, update, resolve, masses_kernel=write_masses)

RECIPES = (
    LearnerRecipe(
        "tsallis-shannon-all",
        TsallisShannonAll,
        "none claimed; a heuristic, tsallis-shannon with every loss that is seen",
        "tsallis-shannon-all",
        kind=TsallisShannonAll,
        world="any",
    ),
)
