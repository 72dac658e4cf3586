"""q-FTRL: Tsallis entropy whose index follows the independence number, minimax on undirected graphs.

The idea. With full information the leader should be regularised by Shannon entropy, with bandits by the Tsallis
entropy of index 1/2. A graph whose independence number ``alpha`` is between 1 and ``N`` is between the two, and so is
its index:

    p_t = argmin  eta Lhat·p + (1 - sum_i p_i^q) / (1 - q),
    Lhat_i += l_i / P_t(i)   for every arm i that is seen,     P_t(i) = sum of p_t over the neighbourhood of i,
    q = (1 + c / (sqrt(c^2 + 4) + 2)) / 2,                     c = log(N / alpha),
    eta = sqrt(2 q N^(1 - q) / (T (1 - q) alpha^q)).

An arm that does not see itself is seen by all others, but hardly ever once it has most of the probability. While it has
more than half, its loss is estimated from its distance to one: ``Lhat_i += 1 + (l_i - 1) / P_t(i) 1{i is seen}``.

The regret is at most ``2 sqrt(e alpha T (2 + log(N / alpha)))`` against any losses (Eldowa, Esposito, Cesari and
Cesa-Bianchi, "On the minimax regret for online learning with feedback graphs", NeurIPS 2023); index and rate are the
optimum of their bound, derived again. On graphs that change, ``alpha`` is the average of theirs; the authors learn it
by restarts, here it is given or computed. Three things are ours: without a horizon the round ``t`` stands for ``T``;
of graphs drawn at random ``N`` stands for ``alpha`` unless it is given; and the estimate for arms that do not see
themselves is from memory.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.covers import independence_number
from allworlds.foundation.checks import real, whole
from allworlds.foundation.errors import InvalidParameter, InvalidState
from allworlds.graphs import FeedbackGraph
from allworlds.graphs.changing import AnyGraph, ChangingGraph
from allworlds.kernels.jit import lean_jit
from allworlds.learners.dispatch import register_kernels
from allworlds.learners.dividing import DividingLearner, EstimateState, pick_seen, write_observed
from allworlds.learners.recipe import LearnerRecipe
from allworlds.learners.separable import Regulariser, best_index, separable_step

ROUND, DISTANCE = 0, 1
"""Places in ``State.clock``: round, the solution of the last step."""


class Rates(NamedTuple):
    """The scalars of the learner, for kernels."""

    tsallis_index: float
    scale: float
    """``eta sqrt(T)``."""
    horizon: float
    """0 where it is not known."""


class State(EstimateState):
    """What the next round needs; the distribution is already that of the coming round."""

    __slots__ = ()


class Drawn(NamedTuple):
    """One choice, as kernels hand it on."""

    arm: int
    probability: float
    shifted: int
    """The likely arm that does not see itself; -1 where there is none."""
    round: int


class Ticket(NamedTuple):
    """One choice, with all that its estimate needs."""

    arm: int
    probability: float
    divisors: NDArray[np.float64]
    """``P_t(i)`` of the arms that are seen, in their order."""
    shifted: int
    """The likely arm that does not see itself; -1 where there is none."""
    round: int


@dataclass(frozen=True, init=False)
class QFTRL(DividingLearner[State, Ticket]):
    """q-FTRL on an undirected graph, anytime unless a horizon is given.

    ``independence`` is the independence number of the graph, or a bound above it; of graphs that change, their average.
    ``index`` is ``q``, chosen by it unless given.

    >>> from allworlds.graphs import star
    >>> learner = QFTRL(star(5))
    >>> learner.independence, round(learner.index, 3)
    (4.0, 0.528)
    >>> state = learner.init()
    >>> ticket = learner.draw(state, 0.3, 0.0)
    >>> ticket.arm, ticket.divisors
    (1, array([1. , 0.4]))
    >>> learner.update(state, ticket, np.array([0.0, 1.0]))
    >>> learner.distribution(state).argmin()
    np.int64(1)
    """

    name: ClassVar[str] = "q-ftrl"
    accepts: ClassVar[frozenset[str]] = frozenset({"loopless", "changing", "uninformed"})
    ticket_class: ClassVar[type] = Ticket
    drawn_class: ClassVar[type] = Drawn
    state_class: ClassVar[type] = State
    saved: ClassVar[tuple[str, ...]] = ("cumulative_losses", "distribution", "clock")

    horizon: int | None
    index: float
    independence: float

    def __init__(
        self,
        graph: AnyGraph,
        horizon: int | None = None,
        index: float | None = None,
        independence: float | None = None,
    ) -> None:
        super().__init__(graph)
        apart = average_independence(graph) if independence is None else real("independence", independence, at_least=1)
        index = best_index(self.n_arms, apart) if index is None else real("index", index, above=0)
        if index >= 1.0:
            raise InvalidParameter(f"index is {index}; expected a number above 0 and below 1")
        object.__setattr__(self, "horizon", None if horizon is None else whole("horizon", horizon))
        object.__setattr__(self, "index", index)
        object.__setattr__(self, "independence", min(apart, float(self.n_arms)))

    def init(self) -> State:
        """No losses, round one."""
        n, q = self.n_arms, self.index
        scale = math.sqrt(2.0 * q * n ** (1.0 - q) / ((1.0 - q) * self.independence**q))
        state = self.new_state([1.0, 1.0], Rates(q, scale, float(self.horizon or 0)))
        step(state)
        return state

    def check_ticket(self, ticket: Ticket) -> None:
        """Raise InvalidState also unless the shifted arm is one or -1."""
        super().check_ticket(ticket)
        whole("a ticket's shifted arm", ticket.shifted, at_least=-1, at_most=self.n_arms - 1, error=InvalidState)


def average_independence(graph: AnyGraph) -> float:
    """The independence number, on average over the rounds; of graphs that are drawn at random, the number of arms."""
    if isinstance(graph, ChangingGraph) and graph.chances is None:
        return float(np.mean([average_independence(each) for each in graph.graphs]))
    if not isinstance(graph, FeedbackGraph):
        return float(graph.n_arms)
    return float(independence_number(graph.mutual() if graph.demands() else graph).upper)


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def draw(state: State, first: float, second: float) -> Drawn:
    """Draw ``I_t`` from ``p_t``; note ``P_t(i)`` of what it shows, and the likely arm that does not see itself."""
    arm = pick_seen(state, first, 0.0)
    visibility = state.visibility
    shifted = unseen_favourite(state.distribution, visibility.where, visibility.starts, visibility.order)
    return Drawn(arm, float(state.distribution[arm]), shifted, int(state.clock[ROUND]))


@lean_jit
def unseen_favourite(
    p: NDArray[np.float64], where: NDArray[np.int64], starts: NDArray[np.int64], order: NDArray[np.int64]
) -> int:
    """The arm with more than half of the probability, if it does not see itself; else -1."""
    for i in range(p.size):
        if p[i] > 0.5:
            for j in range(starts[where[i]], starts[where[i] + 1]):
                if order[j] == i:
                    return -1
            return i
    return -1


@lean_jit
def update(state: State, ticket: Drawn, losses: NDArray[np.float64]) -> None:
    """``Lhat_i += l_i / P_t(i)`` on the arms that are seen; ``1 + (l_i - 1) / P_t(i)`` for the shifted arm."""
    start = state.visibility.starts[state.visibility.where[ticket.arm]]
    if ticket.shifted >= 0:
        state.cumulative_losses[ticket.shifted] += 1.0
    for j in range(losses.size):
        i = state.visibility.order[start + j]
        shift = 1.0 if i == ticket.shifted else 0.0
        state.cumulative_losses[i] += (losses[j] - shift) / state.divisors[j]
    state.clock[ROUND] += 1.0
    step(state)


@lean_jit
def step(state: State) -> None:
    """The coming round's ``p``, starting from the last round's: ``q / (1 - q) p_i^(q - 1) = eta (Lhat_i - lambda)``."""
    rates, clock = state.rates, state.clock
    eta = rates.scale / math.sqrt(rates.horizon if rates.horizon > 0.0 else clock[ROUND])
    q = rates.tsallis_index
    entropy = Regulariser(q / ((1.0 - q) * eta), 1.0 - q, 0.0, 1.0, 0.0)
    clock[DISTANCE] = separable_step(state.cumulative_losses, entropy, 1.0, clock[DISTANCE], state.distribution)
    write_observed(state)


register_kernels(State, draw, update, write_observed, graph_kernel=write_observed)

RECIPES = (
    LearnerRecipe(
        "q-ftrl",
        QFTRL,
        "2 sqrt(e alpha T (2 + log(N/alpha))) with the horizon and self-loops [Eldowa et al. 2023]",
        "q-ftrl:index=0.5",
        {"index": "number", "independence": "number"},
        kind=QFTRL,
        world="adversarial",
        told="nothing; takes a horizon",
        horizon="taken",
        source='Eldowa, Esposito, Cesari and Cesa-Bianchi, "On the minimax regret for online learning with feedback '
        'graphs", NeurIPS 2023',
        rendering="from memory",
    ),
)
