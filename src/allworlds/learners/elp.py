"""ELP: exponential weights that explore by a linear program.

The idea. Whoever explores arms at random need not choose them alike: an arm that shows many is worth more. Let ``s`` be
the distribution under which the arm that is seen least is seen most; it solves a linear program. Exponential weights
on the estimated gains ``g = 1 - l`` give a share of every draw to it, just as large as keeps the estimates in bounds:

    s = argmax over distributions of  v = min_i sum of s over the arms that show i,         gamma = beta / v,
    p_t = (1 - gamma) w_t + gamma s,      w_t ∝ exp(beta Ghat_{t-1}),
    Ghat_i += g_i / P_t(i)   for every arm i that is seen,   P_t(i) = sum of p_t over the arms that show i,
    beta = min{sqrt(log N / (3 alpha T)), 1 / (2N)}.

On undirected graphs the regret is at most ``3 beta alpha T + log(N) / beta``, which is ``2 sqrt(3 alpha T log N)`` for
the first of the two, with the independence number ``alpha``; on directed ones the same holds in order with the number
of cliques of a cover by arms that see each other (Mannor and Shamir, "From bandits to experts: on the value of
side-observations", NeurIPS 2011). Rule and constants are written from memory and were not compared with the print.

Three things are ours. Without a horizon the round ``t`` stands for ``T``, and the weights are computed afresh from all
gains. The number of cliques of a cover, which is never below ``alpha``, stands for it unless it is given. And of the
many solutions that the program may have we take one that treats arms alike that the graph does not tell apart. The
authors' graphs may change from round to round; ours is fixed, so that one program is solved before the first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.covers import CliqueCover, clique_cover
from allworlds.foundation.checks import Ints, whole
from allworlds.graphs import FeedbackGraph
from allworlds.kernels.jit import lean_jit
from allworlds.learners.base import Ticket, fixed_graph
from allworlds.learners.dispatch import Visibility, register_kernels
from allworlds.learners.dividing import DividedTicket, DividingLearner, draw_summed
from allworlds.learners.recipe import LearnerRecipe
from allworlds.learners.sampling import explore, exponential_weights

ROUND = 0
"""The place in ``State.clock``."""


class Rates(NamedTuple):
    """The scalars of the learner, for kernels."""

    independence: float
    least: float
    """``v``, the probability with which ``s`` sees the arm that it sees least."""
    horizon: float
    """0 where it is not known."""


class State(NamedTuple):
    """What the next round needs; the distribution follows from gains and round."""

    negative_gains: NDArray[np.float64]
    """(N,) ``-Ghat``."""
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
    """(N,) ``s``."""
    rates: Rates


@dataclass(frozen=True, init=False)
class ELP(DividingLearner[State, DividedTicket]):
    """ELP on a fixed graph whose arms see themselves, anytime unless a horizon is given.

    ``independence`` is the independence number of the graph, or a bound above it. The default is the number of cliques
    of a cover: the one that is given in place of the graph, or else ``clique_cover(graph.mutual())``.

    >>> from allworlds.graphs import star
    >>> learner = ELP(star(5))
    >>> learner.explorers
    array([1., 0., 0., 0., 0.])
    >>> state = learner.init()
    >>> ticket = learner.draw(state, 0.0, 0.0)
    >>> learner.update(state, ticket, np.array([1.0, 1.0, 0.0, 1.0, 1.0]))
    >>> learner.distribution(state)[1:].argmax()
    np.int64(1)
    """

    name: ClassVar[str] = "elp"
    redrawn: ClassVar[bool] = True
    accepts: ClassVar[frozenset[str]] = frozenset({"directed"})
    takes_cover: ClassVar[bool] = True
    saved: ClassVar[tuple[str, ...]] = ("negative_gains", "clock")

    horizon: int | None
    independence: int

    def __init__(
        self,
        graph: FeedbackGraph | CliqueCover,
        horizon: int | None = None,
        independence: int | None = None,
    ) -> None:
        super().__init__(graph.graph if isinstance(graph, CliqueCover) else graph)
        if independence is None:
            cover = graph if isinstance(graph, CliqueCover) else clique_cover(fixed_graph(self.graph).mutual())
            independence = cover.n_cliques
        object.__setattr__(self, "horizon", None if horizon is None else whole("horizon", horizon))
        object.__setattr__(self, "independence", whole("independence", independence))

    @cached_property
    def explorers(self) -> NDArray[np.float64]:
        """(N,) the distribution ``s`` that it explores by."""
        return most_seen(fixed_graph(self.graph))

    def init(self) -> State:
        """No gains, round one."""
        s, observers = self.explorers, self.observers
        least = min(float(s[fixed_graph(self.graph).seen_by(arm)].sum()) for arm in range(self.n_arms))
        state = State(
            negative_gains=np.zeros(self.n_arms),
            distribution=np.empty(self.n_arms),
            clock=np.array([1.0]),
            divisors=self.room_for_divisors(),
            visibility=self.visibility,
            observers=observers,
            explorers=s.copy(),
            rates=Rates(float(self.independence), least, float(self.horizon or 0)),
        )
        resolve(state)
        return state


def most_seen(graph: FeedbackGraph) -> NDArray[np.float64]:
    """(N,) a distribution under which the arm that is seen least is seen most, by HiGHS.

    Arms of one colour have as many arms of each colour among those that they show, and among those that show them; so
    the mean over arms of a colour of what solves the program solves it, too, and one variable a colour is enough.
    Colours are numbered by the shape of the graph alone: graphs that differ in the numbers of arms have equal answers.
    """
    from scipy.optimize import linprog

    colours = stable_colours(graph)
    _, members, sizes = np.unique(colours, return_index=True, return_counts=True)
    n_colours = len(members)
    shown = [np.bincount(colours[graph.seen_by(arm)], minlength=n_colours) for arm in members.tolist()]
    # Maximise v with sum_c shown[d, c] x_c >= v for each colour d, and sum_c sizes[c] x_c = 1.
    solved = linprog(
        np.append(np.zeros(n_colours), -1.0),
        A_ub=np.column_stack([-np.array(shown, dtype=np.float64), np.ones(n_colours)]),
        b_ub=np.zeros(n_colours),
        A_eq=np.append(sizes, 0.0)[None, :],
        b_eq=np.ones(1),
        method="highs",
    )
    x: NDArray[np.float64] = np.maximum(solved.x[:n_colours], 0.0)
    return x[colours] / (sizes @ x)


def stable_colours(graph: FeedbackGraph) -> Ints:
    """(N,) the colour of each arm, such that arms of one colour show, and are shown by, equally many of each colour.

    >>> from allworlds.graphs import path
    >>> stable_colours(path(5)).tolist()
    [0, 1, 2, 1, 0]
    """
    arms = range(graph.n_arms)
    colours = np.zeros(graph.n_arms, dtype=np.int64)
    while True:
        kinds = [
            (int(colours[i]), *(tuple(np.sort(colours[seen]).tolist()) for seen in (graph.sees(i), graph.seen_by(i))))
            for i in arms
        ]
        number = {kind: place for place, kind in enumerate(sorted(set(kinds)))}
        finer = np.array([number[kind] for kind in kinds], dtype=np.int64)
        if finer.max() == colours.max():
            return finer
        colours = finer


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def update(state: State, ticket: Ticket, losses: NDArray[np.float64]) -> None:
    """``Ghat_i += (1 - l_i) / P_t(i)`` on the arms that are seen, then the next round's distribution."""
    start = state.visibility.starts[state.visibility.where[ticket.arm]]
    for j in range(losses.size):
        state.negative_gains[state.visibility.order[start + j]] -= (1.0 - losses[j]) / state.divisors[j]
    state.clock[ROUND] += 1.0
    resolve(state)


@lean_jit
def resolve(state: State) -> None:
    """``p = (1 - gamma) w + gamma s`` with ``w ∝ exp(beta Ghat)`` and ``gamma = beta / v``."""
    p, rates = state.distribution, state.rates
    rounds = rates.horizon if rates.horizon > 0.0 else state.clock[ROUND]
    rate = min(math.sqrt(math.log(p.size) / (3.0 * rates.independence * rounds)), 0.5 / p.size)
    share = rate / rates.least
    exponential_weights(state.negative_gains, rate, p)
    explore(p, share, state.explorers)


register_kernels(State, draw_summed, update, resolve)

RECIPES = (
    LearnerRecipe(
        "elp",
        ELP,
        "2 sqrt(3 alpha T log N) with the horizon, theta for alpha if directed [Mannor and Shamir 2011]",
        "elp:independence=5",
        {"independence": "integer"},
        kind=ELP,
        world="adversarial",
        told="nothing; takes a horizon",
        horizon="taken",
        source='Mannor and Shamir, "From bandits to experts: on the value of side-observations", NeurIPS 2011',
        rendering="from memory",
    ),
)
