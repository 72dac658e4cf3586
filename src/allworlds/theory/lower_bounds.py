"""What no learner can beat: lines to draw below the curves.

For stochastic losses, a learner that is good in every such world must look at every arm often enough to tell it
from the best one. The cheapest way to do so on a graph is a linear program, and its value times ``log T`` bounds the
regret from below for large ``T``. For hostile losses, some world on the graph forces a regret of order
``sqrt(alpha T)``, with ``alpha`` the independence number.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from allworlds.covers import clique_cover
from allworlds.foundation.errors import InvalidParameter
from allworlds.graphs import FeedbackGraph
from allworlds.graphs.storage import DisjointCliques

Array = NDArray[np.float64]

HOSTILE_FACTOR = 0.06  # Mannor and Shamir 2011, as quoted by Kocák and Carpentier 2023, Proposition 2.4
HOSTILE_START = 374  # proved for T >= 374 alpha^3


def stochastic_lower_bound(graph: FeedbackGraph, means: ArrayLike) -> float:
    """``c*``: on Bernoulli losses with these means, (N,), no uniformly good learner stays below ``c* log T`` for ever.

        c* = min x·delta   over x >= 0   with   sum of x_j over the arms j that see i >= 1 / kl(mu_i, mu*)

    for every arm ``i`` that is not best. Disjoint cliques are solved by hand, other graphs by SciPy.

    >>> from allworlds.graphs import disjoint_cliques
    >>> means = [0.4375] + [0.5625] * 9
    >>> round(stochastic_lower_bound(disjoint_cliques(2, 5), means), 2)
    3.98

    [Buccapatnam, Eryilmaz and Shroff 2014].
    """
    mu = np.asarray(means, dtype=np.float64)
    if mu.shape != (graph.n_arms,) or not np.all((mu >= 0.0) & (mu <= 1.0)):
        raise InvalidParameter(f"means have shape {mu.shape}; expected {graph.n_arms} numbers from 0 to 1")
    gaps = mu - mu.min()
    needed = np.array([1.0 / bernoulli_divergence(m, mu.min()) if m > mu.min() else 0.0 for m in mu.tolist()])
    if isinstance(graph._storage, DisjointCliques):
        cliques = clique_cover(graph).cliques
        return float(sum(gaps[arms].min() * needed[arms].max() for arms in cliques))
    return _by_linear_program(graph, gaps, needed)


def hostile_lower_bound(independent: int, horizon: int) -> float:
    """``0.06 sqrt(alpha T)``: some world forces it on every learner, for ``T >= 374 alpha^3``.

    >>> round(hostile_lower_bound(10, 374_000), 1)
    116.0

    [Mannor and Shamir 2011].
    """
    if independent < 1 or horizon < 1:
        raise InvalidParameter(f"{independent} arms and {horizon} rounds came; expected at least one of each")
    return HOSTILE_FACTOR * math.sqrt(independent * horizon)


def bernoulli_divergence(p: float, q: float) -> float:
    """``kl(p, q)``, the divergence of a coin with mean ``p`` from one with mean ``q``.

    >>> bernoulli_divergence(0.5, 0.5), bernoulli_divergence(0.5, 0.0)
    (0.0, inf)
    """

    def part(a: float, b: float) -> float:
        return 0.0 if a == 0.0 else math.inf if b == 0.0 else a * math.log(a / b)

    return part(p, q) + part(1.0 - p, 1.0 - q)


def _by_linear_program(graph: FeedbackGraph, gaps: Array, needed: Array) -> float:
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    edges = graph.edges()
    arms = np.arange(graph.n_arms)
    rows = np.concatenate([edges[:, 0], edges[:, 1], arms])
    columns = np.concatenate([edges[:, 1], edges[:, 0], arms])
    sees = coo_array((np.ones(rows.size), (rows, columns)), shape=(graph.n_arms, graph.n_arms)).tocsr()
    answer: Any = linprog(gaps, A_ub=-sees, b_ub=-needed, bounds=(0.0, None), method="highs")
    if not answer.success:
        raise InvalidParameter(f"the linear program of the lower bound has no answer: {answer.message}")
    return float(answer.fun)
