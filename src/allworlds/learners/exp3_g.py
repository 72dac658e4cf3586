"""EXP3.G: exponential weights with a share of exploration, for any graph in which every arm can be seen.

The idea. Follow exponential weights on the estimated losses, but give a share ``gamma`` of every draw to a fixed
distribution ``u`` that sees all arms, so that each is seen with some least probability; divide a seen loss by the
probability ``P_t(i)`` that it was seen:

    q_t ∝ exp(-eta Lhat_{t-1}),      p_t = (1 - gamma) q_t + gamma u,
    Lhat_i += l_i / P_t(i)   for every arm i that is seen,   P_t(i) = sum of p_t over the arms that show i.

Graphs may be directed, and arms need not see themselves. How much to explore, and where, depends on how arms are seen:

- strongly observable, each by itself or by all others: ``u`` is uniform, ``gamma = min{1 / sqrt(alpha T), 1/2}`` and
  ``eta = 2 gamma`` with the independence number ``alpha``; the regret is at most about ``sqrt(alpha T) log(N T)``;
- each by all others and not by itself, the loopless clique: ``u`` is uniform, ``eta = sqrt(log N / 2T)`` and
  ``gamma = 2 eta``; at most ``5 sqrt(T log N)``;
- weakly observable: ``u`` is uniform on ``delta`` arms that together show all arms that are not strongly observable,
  ``gamma = min{(delta log N / T)^(1/3), 1/2}`` and ``eta = gamma^2 / delta``; of order ``(delta log N)^(1/3) T^(2/3)``
  from ``T >= N^3 log N / delta^2`` on, and no learner does better than ``T^(2/3)``

(Alon, Cesa-Bianchi, Dekel and Koren, "Online learning with feedback graphs: beyond bandits", COLT 2015). Two things are
ours. Without a horizon the round ``t`` stands for ``T``, and the distribution is computed afresh from all losses (the
paper multiplies the last one); their constants are not claimed for this. And ``alpha`` is hard to compute: the number
of cliques of a cover, where one-way edges count as mutual, is never below it and stands for it unless it is given.
``gamma`` is at most 1/2 on the loopless clique, too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.covers import CliqueCover, clique_cover, greedy_domination
from allworlds.foundation.checks import real, whole
from allworlds.graphs import FeedbackGraph
from allworlds.kernels.jit import lean_jit
from allworlds.learners.base import Ticket, fixed_graph
from allworlds.learners.dispatch import Visibility, register_kernels
from allworlds.learners.dividing import DividedTicket, DividingLearner, draw_summed, learn_divided
from allworlds.learners.recipe import LearnerRecipe
from allworlds.learners.sampling import explore, exponential_weights

ROUND = 0
"""The place in ``State.clock``."""
STRONG, LOOPLESS, WEAK = 0, 1, 2
"""How arms are seen: strongly, each by all others and not by itself, or some only weakly."""


class Rates(NamedTuple):
    """The scalars of the learner, for kernels."""

    kind: int
    """STRONG, LOOPLESS or WEAK."""
    size: float
    """``alpha`` where arms are strongly observable, ``delta`` where weakly."""
    log_arms: float
    horizon: float
    """0 where it is not known."""
    exploration: float
    """What ``gamma`` is multiplied by."""


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
    observers: Visibility
    """Who shows each arm."""
    explorers: NDArray[np.float64]
    """(N,) ``u``."""
    rates: Rates


@dataclass(frozen=True, init=False)
class Exp3G(DividingLearner[State, DividedTicket]):
    """EXP3.G on an undirected or directed graph, anytime unless a horizon is given.

    ``independence`` is the independence number of the graph, or a bound above it. The default is the number of cliques
    of a cover: the one that is given in place of the graph, or else ``clique_cover(graph.symmetrised())``. It is not
    used, and None, on the loopless clique and where arms are weakly observable. ``exploration`` is what ``gamma`` is
    multiplied by, with ``eta`` as it is: 1 is the paper's, and 0 explores nothing.

    >>> from allworlds.graphs import star
    >>> learner = Exp3G(star(5))
    >>> state = learner.init()
    >>> ticket = learner.draw(state, 0.0, 0.0)
    >>> ticket.arm, learner.observes(ticket.arm)
    (0, array([0, 1, 2, 3, 4]))
    >>> learner.update(state, ticket, np.array([1.0, 1.0, 0.0, 1.0, 1.0]))
    >>> learner.distribution(state).argmax()
    np.int64(2)

    Arm 0 shows all arms, the others nothing:

    >>> revealing = FeedbackGraph(4, [(0, 1), (0, 2), (0, 3)], directed=True, self_loops=[0])
    >>> Exp3G(revealing, horizon=100_000).explorers
    array([1., 0., 0., 0.])
    """

    name: ClassVar[str] = "exp3-g"
    redrawn: ClassVar[bool] = True
    accepts: ClassVar[frozenset[str]] = frozenset({"directed", "loopless", "weak"})
    takes_cover: ClassVar[bool] = True
    saved: ClassVar[tuple[str, ...]] = ("cumulative_losses", "clock")

    horizon: int | None
    independence: int | None
    exploration: float

    def __init__(
        self,
        graph: FeedbackGraph | CliqueCover,
        horizon: int | None = None,
        independence: int | None = None,
        exploration: float = 1.0,
    ) -> None:
        super().__init__(graph.graph if isinstance(graph, CliqueCover) else graph)
        if independence is not None:
            independence = whole("independence", independence)
        if self.kind != STRONG:
            independence = None
        elif independence is None:
            cover = graph if isinstance(graph, CliqueCover) else clique_cover(fixed_graph(self.graph).symmetrised())
            independence = cover.n_cliques
        object.__setattr__(self, "horizon", None if horizon is None else whole("horizon", horizon))
        object.__setattr__(self, "independence", independence)
        object.__setattr__(self, "exploration", real("exploration", exploration, at_least=0, at_most=1))

    @cached_property
    def kind(self) -> int:
        """How arms are seen: STRONG, LOOPLESS or WEAK."""
        if self.graph.observability == "weak":
            return WEAK
        return STRONG if fixed_graph(self.graph).self_loops.any() else LOOPLESS

    @cached_property
    def explorers(self) -> NDArray[np.float64]:
        """(N,) the distribution ``u`` that it explores by."""
        weak = self.kind == WEAK
        arms = greedy_domination(fixed_graph(self.graph)) if weak else np.arange(self.n_arms)
        u = np.zeros(self.n_arms)
        u[arms] = 1.0 / len(arms)
        return u

    def init(self) -> State:
        """No losses, round one."""
        u = self.explorers
        size = float(np.count_nonzero(u)) if self.independence is None else float(self.independence)
        rates = Rates(self.kind, size, math.log(self.n_arms), float(self.horizon or 0), self.exploration)
        state = State(
            cumulative_losses=np.zeros(self.n_arms),
            distribution=np.empty(self.n_arms),
            clock=np.array([1.0]),
            divisors=self.room_for_divisors(),
            visibility=self.visibility,
            observers=self.observers,
            explorers=u.copy(),
            rates=rates,
        )
        resolve(state)
        return state


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def update(state: State, ticket: Ticket, losses: NDArray[np.float64]) -> None:
    """``Lhat_i += l_i / P_t(i)`` on the arms that are seen, then the next round's distribution."""
    learn_divided(state, ticket, losses)
    resolve(state)


@lean_jit
def resolve(state: State) -> None:
    """``p = (1 - gamma) q + gamma u`` with ``q ∝ exp(-eta Lhat)``."""
    p = state.distribution
    rate, share = rate_and_share(state.rates, state.clock[ROUND])
    exponential_weights(state.cumulative_losses, rate, p)
    explore(p, share, state.explorers)


@lean_jit
def rate_and_share(rates: Rates, now: float) -> tuple[float, float]:
    """``eta`` and ``gamma``, as the head of this file has them."""
    rounds = rates.horizon if rates.horizon > 0.0 else now
    if rates.kind == STRONG:
        share = min(1.0 / math.sqrt(rates.size * rounds), 0.5)
        rate = 2.0 * share
    elif rates.kind == LOOPLESS:
        share = min(2.0 * math.sqrt(rates.log_arms / (2.0 * rounds)), 0.5)
        rate = share / 2.0
    else:
        share = min((rates.size * rates.log_arms / rounds) ** (1.0 / 3.0), 0.5)
        rate = share**2 / rates.size
    return rate, rates.exploration * share


register_kernels(State, draw_summed, update, resolve)

RECIPES = (
    LearnerRecipe(
        "exp3-g",
        Exp3G,
        "sqrt(alpha T) log(NT), weakly observable (delta log N)^(1/3) T^(2/3), with the horizon [Alon et al. 2015]",
        "exp3-g:independence=5",
        {"independence": "integer", "exploration": "number"},
        kind=Exp3G,
        world="adversarial",
        told="nothing; takes a horizon",
        horizon="taken",
        source='Alon, Cesa-Bianchi, Dekel and Koren, "Online learning with feedback graphs: beyond bandits", COLT 2015',
        rendering="as printed",
    ),
)
