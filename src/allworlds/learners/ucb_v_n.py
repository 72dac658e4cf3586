"""UCB-V-N: a bonus that is small where losses hardly vary.

The idea. UCB-N gives every arm the bonus of a fair coin. If the losses of an arm vary little, its mean is known much
better, and the variance can be estimated along with the mean (a bound of Bernstein's kind):

    index_i = mean_i - sqrt(2 V_i E / O_i) - 3 E / O_i,   E = zeta log(t),   V_i = mean of squares - mean_i²,

with ``O_i`` the number of times arm i was *seen*, chosen or not; ``I_t = argmin_i index_i``. An arm never seen comes
first; arms with the same index are equally likely.

For bandits this is UCB-V for losses in [0, 1] with ``c = 1`` (Audibert, Munos and Szepesvári,
"Exploration-exploitation tradeoff using variance estimates in multi-armed bandits", Theoretical Computer Science
2009). With ``zeta = 1.2``, the default, its regret is at most ``10 log(T) sum_i (sigma_i² / Delta_i + 2)``. To count
side observations is ours; no bound is claimed. Where means move the regret can be linear.
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
from allworlds.learners.indices import IndexLearner, count_losses, draw_lowest
from allworlds.learners.recipe import LearnerRecipe


class State(NamedTuple):
    """What the next round needs."""

    totals: NDArray[np.float64]
    """(N,) the sum of the losses seen."""
    squares: NDArray[np.float64]
    """(N,) the sum of their squares."""
    seen: NDArray[np.float64]
    """(N,) how often each arm was seen."""
    clock: NDArray[np.float64]
    """(1,) round."""
    indices: NDArray[np.float64]
    """(N,) room for the index of each arm."""
    visibility: Visibility
    zeta: float


@dataclass(frozen=True)
class UCBVN(IndexLearner[State]):
    """UCB with estimated variances over observations.

    >>> from allworlds.graphs import disjoint_cliques
    >>> learner = UCBVN(disjoint_cliques(1, 2))
    >>> state = learner.init()
    >>> for losses in ([0.5, 1.0], [0.5, 0.0]):
    ...     learner.update(state, learner.draw(state, 0.3, 0.0), np.array(losses))
    >>> learner.distribution(state)
    array([0., 1.])
    """

    name: ClassVar[str] = "ucb-v-n"
    saved: ClassVar[tuple[str, ...]] = ("totals", "squares", "seen", "clock")
    positive: ClassVar[tuple[str, ...]] = ("zeta",)

    zeta: float = 1.2

    def init(self) -> State:
        """Nothing seen, round one."""
        n = self.n_arms
        zeros = np.zeros(n)
        return State(zeros, zeros.copy(), zeros.copy(), np.array([1.0]), np.empty(n), self.visibility, self.zeta)


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def update(state: State, ticket: Ticket, losses: NDArray[np.float64]) -> None:
    """Count every arm that is seen, its loss and its square."""
    count_losses(state.visibility, ticket.arm, losses, state.totals, state.seen)
    start = state.visibility.starts[state.visibility.where[ticket.arm]]
    for j in range(losses.size):
        state.squares[state.visibility.order[start + j]] += losses[j] * losses[j]
    state.clock[0] += 1.0


@lean_jit
def write_indices(state: State) -> None:
    """``mean_i - sqrt(2 V_i E / O_i) - 3 E / O_i``; minus infinity where an arm was never seen."""
    level = state.zeta * math.log(state.clock[0])
    for i in range(state.seen.size):
        seen = state.seen[i]
        if seen > 0.0:
            mean = state.totals[i] / seen
            variance = max(0.0, state.squares[i] / seen - mean * mean)  # rounding may take it below
            state.indices[i] = mean - math.sqrt(2.0 * variance * level / seen) - 3.0 * level / seen
        else:
            state.indices[i] = -math.inf


register_kernels(State, draw_lowest, update, index_kernel=write_indices)

RECIPES = (
    LearnerRecipe(
        "ucb-v-n",
        UCBVN,
        "10 log T sum (sigma²/Delta + 2) for bandits [Audibert et al. 2009]; none claimed with side observations",
        "ucb-v-n:zeta=1",
        {"zeta": "number"},
        kind=UCBVN,
        world="stochastic",
        source='Audibert, Munos and Szepesvári, "Exploration-exploitation tradeoff using variance estimates", 2009',
        rendering="from memory",
    ),
)
