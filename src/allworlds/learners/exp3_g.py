"""EXP3.G: exponential weights with a share of uniform play, for any graph in which every arm can be seen.

The idea. Follow exponential weights on the estimated losses, but give a share ``gamma_t`` of every draw to all arms
alike, so that each arm is seen with some least probability; divide a seen loss by the probability ``P_t(i)`` that it
was seen:

    q_t ∝ exp(-eta_t Lhat_{t-1}),      p_t = (1 - gamma_t) q_t + gamma_t / N,      eta_t = 2 gamma_t,
    Lhat_i += l_i / P_t(i)   for every arm i that is seen,   P_t(i) = sum of p_t over the neighbourhood of i,
    gamma_t = min{1 / sqrt(alpha T), 1/2}.

The regret is at most about ``sqrt(alpha T) log(N T)`` against any losses, ``alpha`` the independence number (Alon,
Cesa-Bianchi, Dekel and Koren, "Online learning with feedback graphs: beyond bandits", COLT 2015: their rule for
strongly observable graphs, of which ours, undirected with loops, are the simplest). Two things are ours. Without a
horizon the round ``t`` stands for ``T``, and the distribution is computed afresh from all losses (the paper multiplies
the last one); their constants are not claimed for this. And ``alpha`` is hard to compute: the number of cliques of a
cover, which is never below it, stands for it unless it is given.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.covers import CliqueCover, clique_cover
from allworlds.foundation.checks import whole
from allworlds.graphs import FeedbackGraph
from allworlds.kernels.jit import lean_jit
from allworlds.learners.base import DividingLearner, Ticket
from allworlds.learners.dispatch import Visibility, register_kernels
from allworlds.learners.recipe import LearnerRecipe
from allworlds.learners.sampling import exponential_weights, pick

ROUND = 0
"""The place in ``State.clock``."""


class Rates(NamedTuple):
    """The scalars of the learner, for kernels."""

    independence: float
    horizon: float
    """0 where it is not known."""


class State(NamedTuple):
    """What the next round needs; the distribution follows from losses and round."""

    cumulative_losses: NDArray[np.float64]
    """(N,) ``Lhat``."""
    distribution: NDArray[np.float64]
    """(N,) ``p_t`` of the coming round."""
    clock: NDArray[np.float64]
    """(1,) round."""
    divisors: NDArray[np.float64]
    """``P_t(i)`` of the arms that the last drawn arm shows, in their order; room for the most."""
    visibility: Visibility
    rates: Rates


class DividedTicket(NamedTuple):
    """One choice, with all that its estimate needs."""

    arm: int
    probability: float
    divisors: NDArray[np.float64]
    """``P_t(i)`` of the arms that are seen, in their order."""
    round: int


@dataclass(frozen=True, init=False)
class Exp3G(DividingLearner[State, DividedTicket]):
    """EXP3.G on an undirected graph, anytime unless a horizon is given.

    ``independence`` is the independence number of the graph, or a bound above it. The default is the number of cliques
    of a cover: the one that is given in place of the graph, or else ``clique_cover(graph)``.

    >>> from allworlds.graphs import star
    >>> learner = Exp3G(star(5))
    >>> state = learner.init()
    >>> ticket = learner.draw(state, 0.0, 0.0)
    >>> ticket.arm, learner.observes(ticket.arm)
    (0, array([0, 1, 2, 3, 4]))
    >>> learner.update(state, ticket, np.array([1.0, 1.0, 0.0, 1.0, 1.0]))
    >>> learner.distribution(state).argmax()
    np.int64(2)
    """

    name: ClassVar[str] = "exp3-g"
    ticket_class: ClassVar[type] = DividedTicket
    takes_cover: ClassVar[bool] = True
    saved: ClassVar[tuple[str, ...]] = ("cumulative_losses", "clock")

    horizon: int | None
    independence: int

    def __init__(
        self, graph: FeedbackGraph | CliqueCover, horizon: int | None = None, independence: int | None = None
    ) -> None:
        super().__init__(graph.graph if isinstance(graph, CliqueCover) else graph)
        if independence is None:
            independence = (graph if isinstance(graph, CliqueCover) else clique_cover(graph)).n_cliques
        object.__setattr__(self, "horizon", None if horizon is None else whole("horizon", horizon))
        object.__setattr__(self, "independence", whole("independence", independence))

    def init(self) -> State:
        """No losses, round one."""
        state = State(
            cumulative_losses=np.zeros(self.n_arms),
            distribution=np.empty(self.n_arms),
            clock=np.array([1.0]),
            divisors=self.room_for_divisors(),
            visibility=self.visibility,
            rates=Rates(float(self.independence), float(self.horizon or 0)),
        )
        resolve(state)
        return state


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def draw(state: State, first: float, second: float) -> Ticket:
    """Draw ``I_t`` from ``p_t``; note ``P_t(i)`` of what it shows."""
    arm = pick(state.distribution, first)
    visibility = state.visibility
    chances_of_seen(state.distribution, arm, visibility.where, visibility.starts, visibility.order, state.divisors)
    return Ticket(arm, float(state.distribution[arm]), int(state.clock[ROUND]))


@lean_jit
def chances_of_seen(
    p: NDArray[np.float64],
    arm: int,
    where: NDArray[np.int64],
    starts: NDArray[np.int64],
    order: NDArray[np.int64],
    out: NDArray[np.float64],
) -> None:
    """``P(i)`` of every arm ``i`` that ``arm`` shows; arms that share a list, as in a clique, share the sum."""
    start = starts[where[arm]]
    summed, mass = -1, 0.0
    for j in range(starts[where[arm] + 1] - start):
        w = where[order[start + j]]
        if w != summed:
            summed, mass = w, 0.0
            for k in range(starts[w], starts[w + 1]):
                mass += p[order[k]]
        out[j] = mass


@lean_jit
def update(state: State, ticket: Ticket, losses: NDArray[np.float64]) -> None:
    """``Lhat_i += l_i / P_t(i)`` on the arms that are seen, then the next round's distribution."""
    start = state.visibility.starts[state.visibility.where[ticket.arm]]
    for j in range(losses.size):
        state.cumulative_losses[state.visibility.order[start + j]] += losses[j] / state.divisors[j]
    state.clock[ROUND] += 1.0
    resolve(state)


@lean_jit
def resolve(state: State) -> None:
    """``p = (1 - gamma) q + gamma / N`` with ``q ∝ exp(-2 gamma Lhat)``."""
    p, rates = state.distribution, state.rates
    rounds = rates.horizon if rates.horizon > 0.0 else state.clock[ROUND]
    share = min(1.0 / math.sqrt(rates.independence * rounds), 0.5)
    exponential_weights(state.cumulative_losses, 2.0 * share, p)
    for i in range(p.size):
        p[i] = (1.0 - share) * p[i] + share / p.size


register_kernels(State, draw, update, resolve)

RECIPES = (
    LearnerRecipe(
        "exp3-g",
        Exp3G,
        "sqrt(alpha T) log(NT) with the horizon [Alon et al. 2015]",
        "exp3-g:independence=5",
        {"independence": "integer"},
        kind=Exp3G,
        world="adversarial",
        told="nothing; takes a horizon",
        horizon="taken",
        source='Alon, Cesa-Bianchi, Dekel and Koren, "Online learning with feedback graphs: beyond bandits", COLT 2015',
        rendering="as printed",
    ),
)
