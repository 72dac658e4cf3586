"""KL-UCB-N: believe of every arm the best mean that its observations allow, measured by the divergence of coins.

The idea. UCB-N allows a mean to be off by ``sqrt(2 log(t) / O_i)``, whatever it is. A coin that came up nearly always
is known much better than a fair one, and the Kullback-Leibler divergence says how much:

    index_i = min { q: O_i kl(mean_i, q) <= log(t) + c log(log(t)) },        I_t = argmin_i index_i,

with ``O_i`` the number of times arm i was *seen*, chosen or not, and ``kl(p, q) = p log(p/q) + (1-p)
log((1-p)/(1-q))``. An arm never seen comes first; arms with the same index are equally likely.

For bandits this is KL-UCB (Garivier and Cappé, "The KL-UCB algorithm for bounded stochastic bandits and beyond", COLT
2011). Its regret is the best possible one, ``log(T) sum_i Delta_i / kl_i``, to first order, if ``c >= 3``; its
authors recommend ``c = 0`` in practice, the default. To count side observations is ours; no bound is claimed. Where
means move the regret can be linear.

The root is found by Newton's method in ``x = log q``. There ``kl`` is convex and falls, so from a point left of the
root every step stays left of it and none is wasted. The start is the better of two points: Pinsker's ``q = p -
sqrt(level / 2)``, and ``q = exp(-(level + H(p)) / p)``, which leaves out the second term of ``kl``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from allworlds.foundation.checks import real
from allworlds.kernels.jit import lean_jit
from allworlds.learners.dispatch import register_kernels
from allworlds.learners.indices import IndexLearner, IndexState, bernoulli_divergence, count_seen, draw_lowest
from allworlds.learners.recipe import LearnerRecipe

STEPS = 60
"""More than Newton's method ever needs: it takes about five."""
ENOUGH = 1e-12
"""A step of ``log q`` below this is the last."""
CLEARLY = 1e-9
"""More than rounding can add to an index."""


class Rates(NamedTuple):
    """The scalar of the formula."""

    c: float


class State(IndexState):
    """What the next round needs."""

    __slots__ = ()


@dataclass(frozen=True)
class KLUCBN(IndexLearner[State]):
    """KL-UCB over observations; ``c`` weighs ``log(log(t))`` in the level.

    >>> import numpy as np
    >>> from allworlds.graphs import disjoint_cliques
    >>> learner = KLUCBN(disjoint_cliques(1, 3))
    >>> state = learner.init()
    >>> learner.update(state, learner.draw(state, 0.3, 0.0), np.array([0.5, 0.25, 1.0]))
    >>> learner.distribution(state)
    array([0., 1., 0.])
    """

    name: ClassVar[str] = "kl-ucb-n"
    state_class: ClassVar[type] = State

    c: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "c", real("c", self.c, at_least=0))

    def rates(self) -> Rates:
        """The weight of ``log(log(t))``."""
        return Rates(self.c)


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def write_indices(state: State) -> None:
    """``min { q: O_i kl(mean_i, q) <= log(t) + c log(log(t)) }``; minus infinity where an arm was never seen.

    An arm that Pinsker's inequality rules out has the bound for its index: only the lowest counts.
    """
    level = math.log(state.clock[0])
    level += state.rates.c * math.log(max(1.0, level))
    least = math.inf
    for i in range(state.seen.size):
        seen = state.seen[i]
        value = -math.inf
        if seen > 0.0:
            value = state.totals[i] / seen - math.sqrt(0.5 * level / seen)
            if value <= least + CLEARLY:
                value = lowest_allowed(state.totals[i] / seen, level / seen)
        state.indices[i] = value
        least = min(least, value)


@lean_jit
def lowest_allowed(p: float, level: float) -> float:
    """``min { q: kl(p, q) <= level }`` by Newton's method in ``x = log q``, from the left.

    ``kl`` as a function of ``x`` has the slope ``(e^x - p) / (1 - e^x)``.
    """
    if p <= 0.0 or level <= 0.0:
        return max(0.0, p)
    if p >= 1.0:
        return math.exp(-level)
    entropy = -p * math.log(p) - (1.0 - p) * math.log(1.0 - p)
    x = -(level + entropy) / p  # left of the root: kl(p, q) >= -entropy - p log(q)
    pinsker = p - math.sqrt(0.5 * level)  # and so is this, if it is a probability
    if pinsker > 0.0:
        x = max(x, math.log(pinsker))
    q = math.exp(x)
    if q <= 0.0:  # too small for a double
        return 0.0
    for _ in range(STEPS):
        step = (bernoulli_divergence(p, q) - level) * (1.0 - q) / (p - q)
        if not step > 0.0:  # at the root, up to rounding
            break
        x += step
        q = min(math.exp(x), p)
        if step < ENOUGH or q == p:
            break
    return q


register_kernels(State, draw_lowest, count_seen, index_kernel=write_indices)

RECIPES = (
    LearnerRecipe(
        "kl-ucb-n",
        KLUCBN,
        "log T sum Delta / kl for bandits if c >= 3 [Garivier and Cappé 2011]; none claimed with side observations",
        "kl-ucb-n:c=3",
        {"c": "number"},
        kind=KLUCBN,
        world="stochastic",
        source='Garivier and Cappé, "The KL-UCB algorithm for bounded stochastic bandits and beyond", COLT 2011',
        rendering="from memory",
    ),
)
