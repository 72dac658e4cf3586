"""What no learner can beat: lower bounds on regret, each with its source.

Some hold for every learner in some world that the bound does not name (:func:`adversarial_lower_bound`,
:func:`weak_lower_bound`, :func:`cliques_lower_bound`). Others hold in a given world for every learner that is good in
all worlds of its kind (:func:`stochastic_lower_bound`). What is proved only up to a constant that is not named is
returned without one, as the *order* of the regret, and says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from allworlds.foundation.checks import real, shorten, whole
from allworlds.foundation.errors import InvalidGraph, InvalidParameter
from allworlds.graphs import FeedbackGraph
from allworlds.graphs.round_graphs import lists_of
from allworlds.graphs.storage import DisjointCliques

Array = NDArray[np.float64]

HOSTILE_FACTOR = 0.06
HOSTILE_START = 374
"""``0.06 sqrt(alpha T)`` holds for ``T >= 374 alpha^3`` [Mannor and Shamir 2011, Theorem 4]."""


def adversarial_lower_bound(independence: int, horizon: int) -> float:
    """``0.06 sqrt(alpha T)``: some world forces it on every learner, for ``T >= 374 alpha^3``.

    >>> round(adversarial_lower_bound(10, 374_000), 1)
    116.0

    [Mannor and Shamir 2011].
    """
    return HOSTILE_FACTOR * math.sqrt(whole("independence", independence) * whole("horizon", horizon))


def cliques_lower_bound(sizes: Iterable[int], horizon: int) -> float:
    """``sqrt(T sum_k log(m_k + 1))``: the order of the best regret on disjoint cliques of these sizes.

    Single arms give ``sqrt(N T log 2)``, one clique ``sqrt(T log(N + 1))``.

    >>> round(cliques_lower_bound([1, 1, 1, 1], 10_000) / 100, 3), round(cliques_lower_bound([10], 10_000) / 100, 3)
    (1.665, 1.549)

    [Chen, He and Zhang 2024].
    """
    listed = [whole("a clique's size", size) for size in sizes]
    if not listed:
        raise InvalidParameter("sizes is empty; expected the number of arms of each clique")
    return math.sqrt(whole("horizon", horizon) * sum(math.log(size + 1) for size in listed))


def weak_lower_bound(domination: float, n_arms: int, horizon: int) -> float:
    """``delta^(1/3) T^(2/3) / log(N)^(2/3)``: the order of what some world forces where arms are weakly observable.

    ``domination`` is the weak domination number, :func:`~allworlds.covers.weak_domination`.

    >>> round(weak_lower_bound(1, 2, 1_000))
    128

    [Alon, Cesa-Bianchi, Dekel and Koren 2015, Theorem 7].
    """
    delta, horizon = real("domination", domination, above=0), whole("horizon", horizon)
    return float((delta * horizon**2 / math.log(whole("n_arms", n_arms, at_least=2)) ** 2) ** (1 / 3))


def corruption_lower_bounds(corruption: float, logarithmic: float) -> tuple[float, float]:
    """What corruption must add, in order: ``C`` to the regret on clean losses, ``sqrt(C Z)`` on the losses as played.

    ``logarithmic`` is the regret ``Z`` without corruption. With experts both are necessary [Ito 2021]; with bandits the
    first is [Lykouris, Mirrokni and Paes Leme 2018].
    """
    c, z = real("corruption", corruption, at_least=0), real("logarithmic", logarithmic, at_least=0)
    return c, math.sqrt(c * z)


def stochastic_lower_bound(graph: FeedbackGraph, means: ArrayLike) -> float:
    """``c*``: on Bernoulli losses with these means, (N,), no uniformly good learner stays below ``c* log T`` forever.

        c* = min x·delta   over x >= 0   with   sum of x_j over the arms j that see i >= 1 / kl(mu_i, mu*)

    for every arm ``i`` that is not best. A best arm that does not see itself must be told from the second best, with
    ``1 / kl(mu*, mu_2)``. Disjoint cliques are solved by hand, other graphs by SciPy.

    >>> from allworlds.graphs import disjoint_cliques
    >>> means = [0.4375] + [0.5625] * 9
    >>> round(stochastic_lower_bound(disjoint_cliques(2, 5), means), 2)
    3.98

    [Buccapatnam, Eryilmaz and Shroff 2014; Wu, György and Szepesvári 2015].
    """
    mu = _means(graph, means)
    gaps, least = mu - mu.min(), float(mu.min())
    needed = np.array([1.0 / bernoulli_divergence(m, least) if m > least else 0.0 for m in mu.tolist()])
    if isinstance(graph._storage, DisjointCliques):
        _, order, starts = graph._storage.arrays()
        lowest = np.minimum.reduceat(gaps[order], starts[:-1])
        return float(lowest @ np.maximum.reduceat(needed[order], starts[:-1]))
    best = int(mu.argmin())
    if not graph.self_loops[best] and np.count_nonzero(gaps == 0.0) == 1 < graph.n_arms:
        needed[best] = 1.0 / bernoulli_divergence(least, float(np.delete(mu, best).min()))
    return _cheapest_exploration(graph, gaps, needed)


def finite_time_lower_bound(graph: FeedbackGraph, means: ArrayLike) -> float:
    """What it costs, up to constants and before any logarithm of T, to find out which arms are near the best.

    For each level ``s`` take the arms within ``2^(1-s)`` of the best, and let the others' gaps count as they are and
    theirs as ``2^-s`` at least: how much must be paid to see each of those arms ``4^s`` times?

        max over s of   min x·max(delta, 2^-s)   over x >= 0   with   sum over the observers j of i of x_j >= 4^s

    There are graphs on which ``c* log T`` is out of reach until T is exponential in a power of N; this is the line to
    draw before. Our reading of a text in which the sign of one exponent is not legible.

    >>> from allworlds.graphs import bandit
    >>> finite_time_lower_bound(bandit(3), [0.5, 0.75, 0.75])
    12.0

    [Marinov, Mohri and Zimmert 2022].
    """
    gaps = _means(graph, means)
    gaps = gaps - gaps.min()
    positive = gaps[gaps > 0.0]
    if positive.size == 0:
        return 0.0
    worst = 0.0
    for s in range(math.ceil(math.log2(1.0 / positive.min())) + 1):
        near = gaps <= 2.0 ** (1 - s)
        if np.count_nonzero(near) > 1:
            worst = max(worst, _cheapest_exploration(graph, np.maximum(gaps, 2.0**-s), np.where(near, 4.0**s, 0.0)))
    return worst


def bernoulli_divergence(p: float, q: float) -> float:
    """``kl(p, q)``, the divergence of a coin with mean ``p`` from one with mean ``q``.

    >>> bernoulli_divergence(0.5, 0.5), bernoulli_divergence(0.5, 0.0)
    (0.0, inf)
    """

    def part(a: float, b: float) -> float:
        return 0.0 if a == 0.0 else math.inf if b == 0.0 else a * math.log(a / b)

    return part(p, q) + part(1.0 - p, 1.0 - q)


def _means(graph: FeedbackGraph, means: ArrayLike) -> Array:
    if not isinstance(graph, FeedbackGraph):
        raise InvalidParameter(f"graph is of type {type(graph).__name__}; expected a FeedbackGraph")
    mu = np.asarray(means, dtype=np.float64)
    if mu.shape != (graph.n_arms,) or not np.all((mu >= 0.0) & (mu <= 1.0)):
        raise InvalidParameter(f"means is {shorten(means)}; expected {graph.n_arms} numbers from 0 to 1")
    if graph.observability == "none":
        arm = graph.observability.arms[0]
        raise InvalidGraph(f"no arm sees arm {arm}; expected that some arm sees each arm, or regret is linear")
    return mu


def _cheapest_exploration(graph: FeedbackGraph, costs: Array, needed: Array) -> float:
    """``min x·costs`` over ``x >= 0`` such that each arm is seen as often as needed."""
    from scipy.optimize import linprog  # here, because it takes long to load
    from scipy.sparse import csr_array

    starts, observers = lists_of(graph, back=True)
    seen_by = csr_array((np.ones(observers.size), observers, starts), shape=(graph.n_arms, graph.n_arms))
    answer = linprog(costs, A_ub=-seen_by, b_ub=-needed, bounds=(0.0, None), method="highs")
    if not answer.success:
        raise InvalidParameter(f"the linear program of the lower bound failed: {answer.message}")
    return float(answer.fun)
