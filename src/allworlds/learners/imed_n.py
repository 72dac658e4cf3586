"""IMED-N: play the arm for which the evidence that it is not the best is weakest.

The idea. If arm i were as good as the best mean seen so far, observations as bad as its own would have a probability
of about ``exp(-O_i kl(mean_i, best))``. Play the arm for which this is likeliest, counted against how often it was
seen:

    index_i = O_i kl(mean_i, min_j mean_j) + log(O_i),        I_t = argmin_i index_i,

with ``O_i`` the number of times arm i was *seen*, chosen or not, and ``kl`` the divergence of two coins. There is
nothing to tune, no horizon and no root to find. An arm never seen comes first; arms with the same index are equally
likely.

For bandits this is IMED for Bernoulli losses (Honda and Takemura, "Non-asymptotic analysis of a new bandit algorithm
for semi-bounded rewards", JMLR 2015), whose regret is the best possible one, ``log(T) sum_i Delta_i / kl_i``, to
first order. To count side observations is ours, and no bound is claimed for it. Where means move the regret can be
linear.
"""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.kernels.jit import lean_jit
from allworlds.learners.base import Learner, Ticket
from allworlds.learners.dispatch import Visibility, register_kernels
from allworlds.learners.indices import bernoulli_divergence, count_losses, mean, pick_lowest, share_lowest
from allworlds.learners.recipe import LearnerRecipe


class State(NamedTuple):
    """What the next round needs."""

    totals: NDArray[np.float64]
    """(N,) the sum of the losses seen."""
    seen: NDArray[np.float64]
    """(N,) how often each arm was seen."""
    clock: NDArray[np.float64]
    """(1,) round."""
    indices: NDArray[np.float64]
    """(N,) room for the index of each arm."""
    visibility: Visibility


class IMEDN(Learner[State, Ticket]):
    """Indexed minimum empirical divergence over observations.

    >>> from allworlds.graphs import disjoint_cliques
    >>> learner = IMEDN(disjoint_cliques(1, 3))
    >>> state = learner.init()
    >>> learner.update(state, learner.draw(state, 0.3, 0.0), np.array([0.5, 0.25, 1.0]))
    >>> learner.distribution(state)
    array([0., 1., 0.])
    """

    name: ClassVar[str] = "imed-n"
    accepts: ClassVar[frozenset[str]] = frozenset({"directed", "changing", "uninformed"})
    saved: ClassVar[tuple[str, ...]] = ("totals", "seen", "clock")
    scratch: ClassVar[tuple[str, ...]] = ("indices",)

    def init(self) -> State:
        """Nothing seen, round one."""
        n = self.n_arms
        return State(np.zeros(n), np.zeros(n), np.array([1.0]), np.empty(n), self.visibility)

    def distribution(self, state: State) -> NDArray[np.float64]:
        """(N,) the arms with the lowest index share the coming round equally."""
        write_indices(state)
        return share_lowest(state.indices)


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def draw(state: State, first: float, second: float) -> Ticket:
    """``argmin_i O_i kl(mean_i, best) + log(O_i)``, one of the best by the first uniform."""
    write_indices(state)
    arm, probability = pick_lowest(state.indices, first)
    return Ticket(arm, probability, int(state.clock[0]))


@lean_jit
def update(state: State, ticket: Ticket, losses: NDArray[np.float64]) -> None:
    """``O_i += 1`` and ``totals_i += l_i`` for every arm that is seen."""
    count_losses(state.visibility, ticket.arm, losses, state.totals, state.seen)
    state.clock[0] += 1.0


@lean_jit
def write_indices(state: State) -> None:
    """``O_i kl(mean_i, best) + log(O_i)``; minus infinity where an arm was never seen."""
    best = math.inf
    for i in range(state.seen.size):
        best = min(best, mean(state.totals[i], state.seen[i]))
    for i in range(state.seen.size):
        seen = state.seen[i]
        if seen > 0.0:
            state.indices[i] = seen * bernoulli_divergence(state.totals[i] / seen, best) + math.log(seen)
        else:
            state.indices[i] = -math.inf


register_kernels(State, draw, update)

RECIPES = (
    LearnerRecipe(
        "imed-n",
        IMEDN,
        "log T sum Delta / kl for bandits [Honda and Takemura 2015]; none claimed with side observations",
        "imed-n",
        kind=IMEDN,
        world="stochastic",
        source='Honda and Takemura, "Non-asymptotic analysis of a new bandit algorithm", JMLR 2015',
        rendering="from memory",
    ),
)
