"""UCB-N and UCB-MaxN: trust the means, plus a bonus for what is rarely seen.

The idea. Keep for each arm the mean of its losses over all times it was *seen*, chosen or not. Believe of every arm
the best that its observations allow, and choose the one that then looks best (UCB-N):

    J = argmin_i  mean_i - sqrt(2 log(t) / O_i),        O_i observations of arm i.

UCB-N often chooses an arm only to look at it. Any neighbour shows it as well, so UCB-MaxN plays the neighbour (or the
arm itself) that has the best mean so far; in a directed graph, of the arms that show ``J``:

    I_t = argmin of mean_j over the arms j that show J, J among them.

That needs arms that see themselves. Where the best arm does not, it has the best index in most rounds, and the rule
then plays another arm to look at it: the regret is linear.

An arm never seen comes first as ``J`` and last as ``I_t``; the paper leaves the latter open. Arms that look equally
good are equally likely, so the numbers of the arms do not matter. Both rules are those of Caron, Kveton, Lelarge and
Bhagat, "Leveraging side observations in stochastic bandits", UAI 2012, who leave ties open. ``width`` is their 2;
smaller is bolder. In a stochastic world the regret of UCB-N is at most about ``log(T) log(NT)`` times the largest sum
of ``1/Delta`` over independent arms (Lykouris, Tardos and Wali, "Feedback graph regret bounds for Thompson sampling
and UCB", ALT 2020). Caron et al. print a bound of clique-cover form for UCB-MaxN; Hu, Mehta and Pan (UAI 2019) report
a subtle issue in its proof, so none is claimed here. Where means move the regret of both can be linear.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.kernels.jit import lean_jit
from allworlds.learners.base import Ticket
from allworlds.learners.dispatch import Visibility, register_kernels
from allworlds.learners.indices import (
    IndexLearner,
    IndexState,
    count_seen,
    draw_lowest,
    lowest,
    lowest_mean,
    mean,
    place_of,
    write_optimistic,
)
from allworlds.learners.recipe import LearnerRecipe


class Rates(NamedTuple):
    """The scalar of the formula."""

    width: float


class State(IndexState):
    """What the next round needs."""

    __slots__ = ()


class MaxNState(NamedTuple):
    """The same for UCB-MaxN, which also looks at who shows an arm."""

    totals: NDArray[np.float64]
    seen: NDArray[np.float64]
    clock: NDArray[np.float64]
    indices: NDArray[np.float64]
    visibility: Visibility
    observers: Visibility
    """Who shows each arm."""
    rates: Rates


@dataclass(frozen=True)
class UCBN(IndexLearner[State]):
    """UCB over observations.

    >>> from allworlds.graphs import disjoint_cliques
    >>> learner = UCBN(disjoint_cliques(2, 2))
    >>> state = learner.init()
    >>> learner.distribution(state)
    array([0.25, 0.25, 0.25, 0.25])
    >>> learner.update(state, learner.draw(state, 0.3, 0.0), np.array([0.5, 1.0]))
    >>> learner.distribution(state)
    array([0. , 0. , 0.5, 0.5])
    """

    name: ClassVar[str] = "ucb-n"
    positive: ClassVar[tuple[str, ...]] = ("width",)
    state_class: ClassVar[type] = State

    width: float = 2.0

    def rates(self) -> Rates:
        """The factor of the logarithm."""
        return Rates(self.width)


@dataclass(frozen=True)
class UCBMaxN(IndexLearner[MaxNState]):
    """UCB over observations, playing the best arm that shows the one with the best index.

    >>> from allworlds.graphs import disjoint_cliques
    >>> learner = UCBMaxN(disjoint_cliques(1, 3))
    >>> state = learner.init()
    >>> learner.update(state, learner.draw(state, 0.9, 0.0), np.array([0.5, 0.25, 1.0]))
    >>> learner.distribution(state)
    array([0., 1., 0.])
    """

    name: ClassVar[str] = "ucb-maxn"
    accepts: ClassVar[frozenset[str]] = frozenset({"directed", "changing"})
    positive: ClassVar[tuple[str, ...]] = ("width",)

    width: float = 2.0

    def init(self) -> MaxNState:
        """Nothing seen, round one."""
        n, clock = self.n_arms, np.array([1.0])
        lists = self.visibility, self.observers
        return MaxNState(np.zeros(n), np.zeros(n), clock, np.empty(n), *lists, Rates(self.width))

    def distribution(self, state: MaxNState) -> NDArray[np.float64]:
        """(N,) ties of either choice share equally."""
        write_indices(state)
        least, ties = lowest(state.indices)
        return np.array([chance(state, least, ties, arm) for arm in range(self.n_arms)])


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def draw_maxn(state: MaxNState, first: float, second: float) -> Ticket:
    """``J`` by the first uniform among equals, the best arm that shows it by the second."""
    write_indices(state)
    least, ties = lowest(state.indices)
    wanted = place_of(state.indices, least, int(first * ties))
    where = state.observers.where[wanted]
    arms = state.observers.order[state.observers.starts[where] : state.observers.starts[where + 1]]
    best, equals = lowest_mean(state.totals, state.seen, arms)
    skip = int(second * equals)
    arm = wanted
    for j in range(arms.size):
        if mean(state.totals[arms[j]], state.seen[arms[j]]) == best:
            arm = int(arms[j])
            if skip == 0:
                break
            skip -= 1
    probability = 1.0 / equals if ties == 1 else chance(state, least, ties, arm)
    return Ticket(arm, probability, int(state.clock[0]))


@lean_jit
def write_indices(state: State | MaxNState) -> None:
    """The lowest mean that the observations of each arm allow; minus infinity where there are none."""
    write_optimistic(state.totals, state.seen, state.rates.width * math.log(state.clock[0]), state.indices)


@lean_jit
def chance(state: MaxNState, least: float, ties: int, arm: int) -> float:
    """How likely ``arm`` is: through each ``J`` that it shows and that may be chosen."""
    visibility, observers = state.visibility, state.observers
    own = mean(state.totals[arm], state.seen[arm])
    where = visibility.where[arm]
    last, best, equals = -1, 0.0, 1
    probability = 0.0
    for j in visibility.order[visibility.starts[where] : visibility.starts[where + 1]]:
        if state.indices[j] == least:
            there = observers.where[j]
            if there != last:  # arms of a clique share their list
                arms = observers.order[observers.starts[there] : observers.starts[there + 1]]
                best, equals = lowest_mean(state.totals, state.seen, arms)
                last = there
            if own == best:
                probability += 1.0 / (ties * equals)
    return probability


register_kernels(State, draw_lowest, count_seen, index_kernel=write_indices)
register_kernels(MaxNState, draw_maxn, count_seen, index_kernel=write_indices)

RECIPES = (
    LearnerRecipe(
        "ucb-n",
        UCBN,
        "log T log(NT) max over independent I of sum_I 1/Delta, undirected [Lykouris et al. 2020]",
        "ucb-n:width=0.5",
        {"width": "number"},
        kind=UCBN,
        world="stochastic",
        source='Caron, Kveton, Lelarge and Bhagat, "Leveraging side observations in stochastic bandits", UAI 2012',
        rendering="as printed",
    ),
    LearnerRecipe(
        "ucb-maxn",
        UCBMaxN,
        "none claimed; the proof of [Caron et al. 2012] has an issue [Hu et al. 2019]",
        "ucb-maxn:width=0.5",
        {"width": "number"},
        kind=UCBMaxN,
        world="stochastic",
        source='Caron, Kveton, Lelarge and Bhagat, "Leveraging side observations in stochastic bandits", UAI 2012',
        rendering="as printed",
    ),
)
