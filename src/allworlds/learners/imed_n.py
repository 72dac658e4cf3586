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
from typing import ClassVar

from allworlds.kernels.jit import lean_jit
from allworlds.learners.dispatch import register_kernels
from allworlds.learners.indices import (
    IndexLearner,
    IndexState,
    bernoulli_divergence,
    count_seen,
    draw_lowest,
    mean,
)
from allworlds.learners.recipe import LearnerRecipe


class State(IndexState):
    """What the next round needs."""

    __slots__ = ()


class IMEDN(IndexLearner[State]):
    """Indexed minimum empirical divergence over observations.

    >>> import numpy as np
    >>> from allworlds.graphs import disjoint_cliques
    >>> learner = IMEDN(disjoint_cliques(1, 3))
    >>> state = learner.init()
    >>> learner.update(state, learner.draw(state, 0.3, 0.0), np.array([0.5, 0.25, 1.0]))
    >>> learner.distribution(state)
    array([0., 1., 0.])
    """

    name: ClassVar[str] = "imed-n"
    state_class: ClassVar[type] = State


# --- kernels --------------------------------------------------------------------------------------------


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


register_kernels(State, draw_lowest, count_seen, index_kernel=write_indices)

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
