"""UCB-N and UCB-MaxN: trust the means, plus a bonus for what is rarely seen.

The idea. Keep for each arm the mean of its losses over all times it was *seen*, chosen or not. Believe of every arm the
best that its observations allow, and choose the one that then looks best (UCB-N):

    J = argmin_i  mean_i - sqrt(2 log(t) / O_i),        O_i observations of arm i.

UCB-N often chooses an arm only to look at it. Any neighbour shows it as well, so UCB-MaxN plays the neighbour (or the
arm itself) that has the best mean so far:

    I_t = argmin of mean_j over the neighbours j of J and J.

An arm never seen comes first as ``J`` and last as ``I_t``; the paper leaves the latter open. Arms that look equally
good are equally likely, so the numbers of the arms do not matter. Both rules are those of Caron, Kveton, Lelarge and
Bhagat, "Leveraging side observations in stochastic bandits", UAI 2012, who leave ties open. ``width`` is their 2;
smaller is bolder. In a stochastic world the regret of UCB-N is at most about ``log(T) log(NT)`` times the largest sum
of ``1/Delta`` over independent arms (Lykouris, Tardos and Wali, "Feedback graph regret bounds for Thompson sampling and
UCB", ALT 2020). Caron et al. print a bound of clique-cover form for UCB-MaxN; Hu, Mehta and Pan (UAI 2019) report a
subtle issue in its proof, so none is claimed here. Where means move the regret of both can be linear.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.foundation.checks import real
from allworlds.kernels.jit import lean_jit
from allworlds.learners.base import Learner, Ticket
from allworlds.learners.dispatch import Visibility, register_kernels
from allworlds.learners.recipe import LearnerRecipe


class State(NamedTuple):
    """What the next round needs."""

    totals: NDArray[np.float64]
    """(N,) the sum of the losses seen."""
    seen: NDArray[np.float64]
    """(N,) how often each arm was seen."""
    clock: NDArray[np.float64]
    """(1,) round."""
    visibility: Visibility
    width: float


class MaxNState(State):
    """The same for UCB-MaxN: kernels are chosen by the class of the state."""

    __slots__ = ()


@dataclass(frozen=True)
class UCBN(Learner[State, Ticket]):
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
    accepts: ClassVar[frozenset[str]] = frozenset({"directed", "changing", "uninformed"})
    saved: ClassVar[tuple[str, ...]] = ("totals", "seen", "clock")
    state_class: ClassVar[type[State]] = State

    width: float = 2.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "width", real("width", self.width, above=0))

    def init(self) -> State:
        """Nothing seen, round one."""
        return self.state_class(
            np.zeros(self.n_arms), np.zeros(self.n_arms), np.array([1.0]), self.visibility, self.width
        )

    def distribution(self, state: State) -> NDArray[np.float64]:
        """(N,) the arms that look best share the coming round equally."""
        bonus = state.width * math.log(state.clock[0])
        least, ties = lowest_index(state.totals, state.seen, bonus)
        indices = [index(total, seen, bonus) for total, seen in zip(state.totals, state.seen, strict=True)]
        return np.where(np.array(indices) == least, 1.0 / ties, 0.0)


class UCBMaxN(UCBN):
    """UCB over observations, playing the best neighbour.

    >>> from allworlds.graphs import disjoint_cliques
    >>> learner = UCBMaxN(disjoint_cliques(1, 3))
    >>> state = learner.init()
    >>> learner.update(state, learner.draw(state, 0.9, 0.0), np.array([0.5, 0.25, 1.0]))
    >>> learner.distribution(state)
    array([0., 1., 0.])
    """

    name: ClassVar[str] = "ucb-maxn"
    accepts: ClassVar[frozenset[str]] = frozenset()
    state_class: ClassVar[type[State]] = MaxNState

    def distribution(self, state: State) -> NDArray[np.float64]:
        """(N,) ties of either choice share equally."""
        bonus = state.width * math.log(state.clock[0])
        least, ties = lowest_index(state.totals, state.seen, bonus)
        return np.array([chance(state, bonus, least, ties, arm) for arm in range(self.n_arms)])


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def draw_n(state: State, first: float, second: float) -> Ticket:
    """``argmin_i mean_i - sqrt(width log(t) / O_i)``, one of the best by the first uniform."""
    bonus = state.width * math.log(state.clock[0])
    least, ties = lowest_index(state.totals, state.seen, bonus)
    arm = arm_with_index(state.totals, state.seen, bonus, least, int(first * ties))
    return Ticket(arm, 1.0 / ties, int(state.clock[0]))


@lean_jit
def draw_maxn(state: State, first: float, second: float) -> Ticket:
    """``J`` by the first uniform among equals, its best neighbour by the second."""
    visibility = state.visibility
    bonus = state.width * math.log(state.clock[0])
    least, ties = lowest_index(state.totals, state.seen, bonus)
    wanted = arm_with_index(state.totals, state.seen, bonus, least, int(first * ties))
    where = visibility.where[wanted]
    arms = visibility.order[visibility.starts[where] : visibility.starts[where + 1]]
    best, equals = lowest_mean(state.totals, state.seen, arms)
    place = int(second * equals)
    arm = wanted
    for j in range(arms.size):
        if mean(state.totals[arms[j]], state.seen[arms[j]]) == best:
            arm = int(arms[j])
            if place == 0:
                break
            place -= 1
    probability = 1.0 / equals if ties == 1 else chance(state, bonus, least, ties, arm)
    return Ticket(arm, probability, int(state.clock[0]))


@lean_jit
def update(state: State, ticket: Ticket, losses: NDArray[np.float64]) -> None:
    """``O_i += 1`` and ``totals_i += l_i`` for every arm that is seen."""
    start = state.visibility.starts[state.visibility.where[ticket.arm]]
    for j in range(losses.size):
        i = state.visibility.order[start + j]
        state.totals[i] += losses[j]
        state.seen[i] += 1.0
    state.clock[0] += 1.0


@lean_jit
def index(total: float, seen: float, bonus: float) -> float:
    """The lowest mean that the observations of one arm allow; minus infinity where there are none."""
    return total / seen - math.sqrt(bonus / seen) if seen > 0.0 else -math.inf


@lean_jit
def lowest_index(totals: NDArray[np.float64], seen: NDArray[np.float64], bonus: float) -> tuple[float, int]:
    """The lowest index, and how many arms have it."""
    least, ties = math.inf, 0
    for i in range(totals.size):
        value = index(totals[i], seen[i], bonus)
        if value < least:
            least, ties = value, 1
        elif value == least:
            ties += 1
    return least, ties


@lean_jit
def arm_with_index(
    totals: NDArray[np.float64], seen: NDArray[np.float64], bonus: float, value: float, place: int
) -> int:
    """The arm at ``place``, from 0, among those whose index is ``value``."""
    arm = 0
    for i in range(totals.size):
        if index(totals[i], seen[i], bonus) == value:
            arm = i
            if place == 0:
                break
            place -= 1
    return arm


@lean_jit
def chance(state: State, bonus: float, least: float, ties: int, arm: int) -> float:
    """How likely ``arm`` is: through each ``J`` among its neighbours that may be chosen."""
    visibility = state.visibility
    own = mean(state.totals[arm], state.seen[arm])
    where = visibility.where[arm]
    last, best, equals = -1, 0.0, 1
    probability = 0.0
    for j in visibility.order[visibility.starts[where] : visibility.starts[where + 1]]:
        if index(state.totals[j], state.seen[j], bonus) == least:
            there = visibility.where[j]
            if there != last:  # arms of a clique share their list
                arms = visibility.order[visibility.starts[there] : visibility.starts[there + 1]]
                best, equals = lowest_mean(state.totals, state.seen, arms)
                last = there
            if own == best:
                probability += 1.0 / (ties * equals)
    return probability


@lean_jit
def mean(total: float, seen: float) -> float:
    """The mean loss of one arm; infinity where it was never seen."""
    return total / seen if seen > 0.0 else math.inf


@lean_jit
def lowest_mean(totals: NDArray[np.float64], seen: NDArray[np.float64], arms: NDArray[np.int64]) -> tuple[float, int]:
    """The lowest mean among ``arms``, and how many of them have it."""
    best, ties = math.inf, 0
    for j in range(arms.size):
        value = mean(totals[arms[j]], seen[arms[j]])
        if value < best:
            best, ties = value, 1
        elif value == best:
            ties += 1
    return best, ties


register_kernels(State, draw_n, update)
register_kernels(MaxNState, draw_maxn, update)

RECIPES = (
    LearnerRecipe(
        "ucb-n",
        UCBN,
        "log T log(NT) max over independent I of sum_I 1/Delta [Lykouris et al. 2020]",
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
