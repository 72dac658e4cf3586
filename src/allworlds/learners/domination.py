"""How often to play each arm so that all are seen: the fractional domination of a graph.

The problem. Play arm j at the rate ``z_j``. Every arm is to be seen at a rate of at least one, by as few plays as
possible:

    z* = argmin sum_j z_j   subject to   sum over the arms j that show i of z_j >= 1 for every arm i,   z >= 0.

The value is at most the independence number of an undirected graph whose arms see themselves, and often far less: it
is 1 for a star. The linear program may have many solutions, as in a clique, where any arm may be played. Which one a
solver returns depends on the numbers of the arms, so we take the one with the least sum of squares, which is unique.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from allworlds.foundation.errors import InvalidParameter
from allworlds.graphs import FeedbackGraph
from allworlds.graphs.changing import AnyGraph

LARGEST = 400
"""In graphs with more arms a solution of the linear program is taken as it comes: the squares would take too long."""
WEIGHT = 0.1
"""Of the squares, to begin with; quartered until the optimum is that of the linear program."""
ACCURACY = 1e-9
"""How far above the optimum, relatively, the plays may be."""


def fractional_domination(graph: AnyGraph, arms: Sequence[int] | None = None) -> NDArray[np.float64]:
    """(N,) ``z*``: the least total rate of plays by which every arm is seen at a rate of at least one.

    Where ``arms`` are given, only these need be seen.

    >>> from allworlds.graphs import cycle, star
    >>> fractional_domination(star(4)), fractional_domination(cycle(6)).round(6)
    (array([1., 0., 0., 0.]), array([0.333333, 0.333333, 0.333333, 0.333333, 0.333333, 0.333333]))
    """
    from scipy.optimize import linprog  # here, because it takes long to load
    from scipy.sparse import csr_array

    if not isinstance(graph, FeedbackGraph):
        raise InvalidParameter(f"graph is a {type(graph).__name__}; expected a FeedbackGraph, which does not change")
    n = graph.n_arms
    lists = [graph.seen_by(arm) for arm in (range(n) if arms is None else arms)]
    starts = np.cumsum([0, *(each.size for each in lists)])
    shown = csr_array((np.ones(starts[-1]), np.concatenate(lists), starts), shape=(len(lists), n))
    found = linprog(np.ones(n), A_ub=-shown, b_ub=-np.ones(len(lists)), bounds=(0, None), method="highs")
    plays: NDArray[np.float64] = np.maximum(0.0, found.x)
    if n > LARGEST:
        return plays
    weight = WEIGHT
    for _ in range(8):  # a small weight of the squares leaves the optimum of the linear program
        even = _with_squares(shown.toarray(), weight)
        if even.sum() <= found.fun * (1.0 + ACCURACY) and (shown @ even).min() >= 1.0 - ACCURACY:
            return even
        weight /= 4.0
    return plays


def _with_squares(shown: NDArray[np.float64], weight: float) -> NDArray[np.float64]:
    """``argmin sum_j z_j + weight/2 sum_j z_j²`` under the same constraints.

    With ``w = z + 1/weight`` that is the point of a polyhedron ``G w >= h`` nearest to the origin, which nonnegative
    least squares finds (Lawson and Hanson, "Solving least squares problems", 1974, chapter 23): for ``u >= 0`` with the
    least residual ``r`` of ``[G^T; h^T] u = (0, ..., 0, 1)``, ``w = -r[:n] / r[n]``.
    """
    from scipy.optimize import nnls

    n_wanted, n = shown.shape
    sides = np.vstack([shown, np.eye(n)])
    levels = np.concatenate([np.ones(n_wanted), np.zeros(n)]) + sides.sum(axis=1) / weight
    size = np.abs(levels).max()
    system = np.vstack([sides.T, levels / size])  # in units of ``size``, so that all entries are about one
    target = np.zeros(n + 1)
    target[n] = 1.0
    residual = system @ nnls(system, target, maxiter=50 * n + 100)[0] - target
    plays: NDArray[np.float64] = -residual[:n] / residual[n] * size - 1.0 / weight
    return np.maximum(0.0, plays).round(12)  # so that rounding does not depend on the numbers of the arms
