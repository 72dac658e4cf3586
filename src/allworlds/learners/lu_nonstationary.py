"""UCB-N with change detection, our reconstruction of an algorithm for graph feedback in non-stationary environments.

Lu, Hu and Zhang, "Stochastic bandits with graph feedback in non-stationary environments", AAAI 2021, study means that
change ``changes`` times and bound the dynamic regret by about ``sqrt(alpha changes T)`` if the number is known. Their
algorithms were not available to us. What follows is ours, in their setting: the detector and the constants are those
of M-UCB for bandits (Cao, Wen, Kveton and Xie, "Nearly optimal adaptive procedure with change detection for
piecewise-stationary bandit", AISTATS 2019), and the graph enters twice. No bound is claimed.

The idea. Play UCB-N on what was seen since the last restart. An arm that is not played may become the best unnoticed,
so a few rounds look at all arms, by the domination of the graph (``learners/domination.py``), where bandits play all
in turn:

    with probability gamma play j with probability z*_j / Z,  Z = sum_j z*_j,
    else argmin_i  mean_i - sqrt(2 log(t - restart) / O_i).

Every arm that is *seen* has its last ``w`` losses compared, the newer half with the older. If the sums differ by more
than ``b``, the world has changed, and all that was seen is forgotten:

    b = sqrt(w log(2 N T²) / 2),        gamma = sqrt(changes Z (2 b + 3 sqrt(w)) / (2 T)).

Without a horizon the round stands for it. ``explore`` sets ``gamma`` by hand. A change is noticed if a mean moves by
more than about ``2 b / w``: 0.26 for the default ``w = 800`` at ``N = 12`` and ``T = 20,000``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.foundation.checks import real, whole
from allworlds.kernels.jit import lean_jit
from allworlds.learners.base import Learner, Ticket
from allworlds.learners.dispatch import Visibility, register_kernels
from allworlds.learners.domination import fractional_domination
from allworlds.learners.indices import mix_lowest, write_optimistic
from allworlds.learners.recipe import LearnerRecipe
from allworlds.learners.sampling import draw_arm

ROUND, RESTARTED, RESTARTS = 0, 1, 2
"""Places in ``State.clock``."""


class Rates(NamedTuple):
    """The scalars of the learner, for kernels."""

    horizon: float
    """``T``, or 0 where there is none."""
    demand: float
    """``changes Z``."""
    explore: float
    """``gamma`` if it is set by hand, else -1."""
    width: float


class State(NamedTuple):
    """What the next round needs; all sums are of what was seen since the last restart."""

    totals: NDArray[np.float64]
    """(N,) the sum of the losses seen."""
    seen: NDArray[np.float64]
    """(N,) how often each arm was seen."""
    recent: NDArray[np.float64]
    """(N, w) the last losses of each arm, in turn."""
    newer: NDArray[np.float64]
    """(N,) the sum of the last ``w / 2`` losses."""
    older: NDArray[np.float64]
    """(N,) the sum of the ``w / 2`` before them."""
    distribution: NDArray[np.float64]
    """(N,) of the coming round."""
    clock: NDArray[np.float64]
    """(3,) round, the last round before the restart, the number of restarts."""
    indices: NDArray[np.float64]
    """(N,) room for the index of each arm."""
    exploration: NDArray[np.float64]
    """(N,) ``z*_j / Z``."""
    visibility: Visibility
    rates: Rates


@dataclass(frozen=True)
class LuNonstationary(Learner[State, Ticket]):
    """UCB over observations that starts again when it notices a change; our reconstruction.

    >>> from allworlds.graphs import star
    >>> learner = LuNonstationary(star(4), explore=0.2)
    >>> state = learner.init()
    >>> learner.distribution(state)
    array([0.4, 0.2, 0.2, 0.2])
    """

    name: ClassVar[str] = "lu-nonstationary"
    accepts: ClassVar[frozenset[str]] = frozenset({"directed"})
    positive: ClassVar[tuple[str, ...]] = (
        "changes",
        "width",
    )
    saved: ClassVar[tuple[str, ...]] = ("totals", "seen", "recent", "newer", "older", "clock")
    scratch: ClassVar[tuple[str, ...]] = ("indices",)

    window: int = 800
    changes: float = 1.0
    explore: float | None = None
    width: float = 2.0
    horizon: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "window", 2 * math.ceil(whole("window", self.window, at_least=2) / 2))
        if self.explore is not None:
            object.__setattr__(self, "explore", real("explore", self.explore, at_least=0, at_most=1))

    @cached_property
    def plays(self) -> NDArray[np.float64]:
        """(N,) ``z*``."""
        return fractional_domination(self.graph)

    def init(self) -> State:
        """Nothing seen, round one."""
        n, value = self.n_arms, float(self.plays.sum())
        explore = -1.0 if self.explore is None else self.explore
        state = State(
            totals=np.zeros(n),
            seen=np.zeros(n),
            recent=np.zeros((n, self.window)),
            newer=np.zeros(n),
            older=np.zeros(n),
            distribution=np.empty(n),
            clock=np.array([1.0, 0.0, 0.0]),
            indices=np.empty(n),
            exploration=self.plays / value,
            visibility=self.visibility,
            rates=Rates(float(self.horizon or 0), self.changes * value, explore, self.width),
        )
        resolve(state)
        return state

    def restarts(self, state: State) -> int:
        """How often a change was noticed."""
        return int(state.clock[RESTARTS])


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def update(state: State, ticket: Ticket, losses: NDArray[np.float64]) -> None:
    """Count every arm that is seen; start again if the halves of some arm's last losses differ too much."""
    window, most = state.recent.shape[1], threshold(state)
    start = state.visibility.starts[state.visibility.where[ticket.arm]]
    changed = False
    for j in range(losses.size):
        i = state.visibility.order[start + j]
        remember(state, i, losses[j])
        if state.seen[i] >= window and abs(state.newer[i] - state.older[i]) > most:
            changed = True
    if changed:
        for i in range(state.seen.size):
            state.totals[i] = state.seen[i] = state.newer[i] = state.older[i] = 0.0
            state.recent[i] = 0.0
        state.clock[RESTARTED] = state.clock[ROUND]
        state.clock[RESTARTS] += 1.0
    state.clock[ROUND] += 1.0
    resolve(state)


@lean_jit
def remember(state: State, i: int, loss: float) -> None:
    """Add a loss of arm ``i``: one moves from the newer half to the older, one leaves; unused places are 0."""
    window = state.recent.shape[1]
    place = int(state.seen[i]) % window
    middle, leaving = state.recent[i, (place + window // 2) % window], state.recent[i, place]
    state.newer[i] += loss - middle
    state.older[i] += middle - leaving
    state.recent[i, place] = loss
    state.totals[i] += loss
    state.seen[i] += 1.0


@lean_jit
def threshold(state: State) -> float:
    """``b = sqrt(w log(2 N T²) / 2)``, with ``t`` for ``T`` where there is no horizon."""
    rounds = state.rates.horizon if state.rates.horizon > 0.0 else state.clock[ROUND]
    return math.sqrt(0.5 * state.recent.shape[1] * math.log(2.0 * state.seen.size * rounds * rounds))


@lean_jit
def resolve(state: State) -> None:
    """``p_t = gamma z* / Z`` and the rest shared by the arms with the lowest index since the restart."""
    rates, rounds = state.rates, state.clock[ROUND]
    gamma = rates.explore
    if gamma < 0.0:
        horizon = rates.horizon if rates.horizon > 0.0 else rounds
        spread = 2.0 * threshold(state) + 3.0 * math.sqrt(state.recent.shape[1])
        gamma = min(1.0, math.sqrt(rates.demand * spread / (2.0 * horizon)))
    bonus = rates.width * math.log(rounds - state.clock[RESTARTED])
    write_optimistic(state.totals, state.seen, bonus, state.indices)
    mix_lowest(state.indices, state.exploration, gamma, state.distribution)


register_kernels(State, draw_arm, update, resolve)

RECIPES = (
    LearnerRecipe(
        "lu-nonstationary",
        LuNonstationary,
        "none claimed; our reconstruction after Lu et al. 2021 with the change detection of Cao et al. 2019",
        "lu-nonstationary:window=400,changes=4",
        {"window": "integer", "changes": "number", "explore": "number", "width": "number"},
        kind=LuNonstationary,
        world="moving",
        told="how often means change; horizon, if known",
        horizon="taken",
        source='Lu, Hu and Zhang, "Stochastic bandits with graph feedback in non-stationary environments", AAAI 2021',
        rendering="reconstruction",
    ),
)
