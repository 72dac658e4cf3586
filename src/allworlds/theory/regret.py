"""Regret, gaps and corruption, section 2 of [EK21], and what regret no learner can avoid.

Rounds run along the first axis, arms along the last. An expectation in the paper is here a mean over a leading
axis of independent runs, where there is one; with a single run it is that run's value.

The lower bounds are lines to draw below the curves. For stochastic losses, a learner that is good in every such world
must look at every arm often enough to tell it from the best one. The cheapest way to do so on a graph is a linear
program, and its value times ``log T`` bounds the regret from below for large ``T``. For hostile losses, some world on
the graph forces a regret of order ``sqrt(alpha T)``, with ``alpha`` the independence number.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from allworlds.covers import CliqueCover, clique_cover
from allworlds.foundation.checks import numbers
from allworlds.foundation.errors import InvalidParameter
from allworlds.graphs import FeedbackGraph
from allworlds.graphs.round_graphs import lists_of
from allworlds.graphs.storage import DisjointCliques

Array = NDArray[np.float64]

HOSTILE_FACTOR = 0.06  # Mannor and Shamir 2011, as quoted by Kocák and Carpentier 2023, Proposition 2.4
HOSTILE_START = 374  # proved for T >= 374 alpha^3


def corruption_level(losses: ArrayLike, clean_losses: ArrayLike) -> float:
    """``C = sum_t max_i |l_ti - l~_ti|``, the mean over runs if there are several; shapes ([runs,] T, N).

    >>> corruption_level([[0.0, 1.0], [0.5, 0.5]], [[0.0, 0.25], [0.5, 0.0]])
    1.25
    """
    played, clean = _tables("losses", losses, "clean_losses", clean_losses)
    return float(np.abs(played - clean).max(axis=-1).sum(axis=-1).mean())


def pseudo_regret(distributions: ArrayLike, losses: ArrayLike) -> float:
    """``E sum_t p_t·l_t - min_i E sum_t l_ti``; both of shape ([runs,] T, N).

    >>> pseudo_regret([[0.5, 0.5], [1.0, 0.0]], [[0.0, 1.0], [0.0, 1.0]])
    0.5
    """
    shares, lost = _tables("distributions", distributions, "losses", losses)
    suffered = (shares * lost).sum(axis=(-2, -1)).mean()
    totals = lost.sum(axis=-2).reshape(-1, lost.shape[-1]).mean(axis=0)
    return float(suffered - totals.min())


def realised_regret(arms: ArrayLike, losses: ArrayLike) -> float:
    """``sum_t l_{t,I_t} - min_i sum_t l_ti`` of one run; shapes (T,) and (T, N).

    >>> realised_regret([1, 0], [[0.0, 1.0], [0.0, 1.0]])
    1.0
    """
    chosen, lost = np.asarray(arms), _table("losses", losses)
    if lost.ndim != 2 or chosen.shape != lost.shape[:1] or chosen.dtype.kind not in "iu":
        raise InvalidParameter(
            f"arms have shape {chosen.shape} and losses {lost.shape}; expected arm numbers (rounds,) and (rounds, arms)"
        )
    if not 0 <= chosen.min() <= chosen.max() < lost.shape[1]:
        raise InvalidParameter(f"arms go from {chosen.min()} to {chosen.max()}; expected 0 to {lost.shape[1] - 1}")
    return float(lost[np.arange(chosen.size), chosen].sum() - lost.sum(axis=0).min())


def arm_gaps(means: ArrayLike) -> Array:
    """``delta_i = mu_i - min mu``, shape (N,).

    >>> arm_gaps([0.25, 0.5])
    array([0.  , 0.25])
    """
    mu = _finite("means", means)
    if mu.ndim != 1 or mu.size == 0:
        raise InvalidParameter(f"means have shape {mu.shape}; expected one finite number for each arm")
    gaps: Array = mu - mu.min()
    return gaps


def clique_gaps(means: ArrayLike, cover: CliqueCover) -> Array:
    """``Delta_k``, the smallest gap of an arm of clique ``k`` other than the best arm, shape (K,).

    The clique of the best arm gets 0 if it has no other arm. The best arm must be unique, as in the paper.

    >>> from allworlds.covers import clique_cover
    >>> from allworlds.graphs import disjoint_cliques
    >>> clique_gaps([0.25, 0.5, 0.75], clique_cover(disjoint_cliques([2, 1])))
    array([0.25, 0.5 ])
    """
    gaps = arm_gaps(means)
    if gaps.size != cover.n_arms:
        raise InvalidParameter(f"got {gaps.size} means for {cover.n_arms} arms; expected one for each")
    if np.count_nonzero(gaps == 0.0) > 1:
        raise InvalidParameter("two arms share the lowest mean; expected a unique best arm, as in the paper")
    others = np.where(gaps > 0.0, gaps, np.inf)
    smallest = np.minimum.reduceat(others[cover.order], cover.starts[:-1])
    return np.where(np.isfinite(smallest), smallest, 0.0)


def stochastic_lower_bound(graph: FeedbackGraph, means: ArrayLike) -> float:
    """``c*``: on Bernoulli losses with these means, (N,), no uniformly good learner stays below ``c* log T`` forever.

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
        raise InvalidParameter(f"independent is {independent} and horizon {horizon}; expected at least 1 of each")
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
    from scipy.optimize import linprog  # here, because it takes long to load
    from scipy.sparse import csr_array

    starts, observers = lists_of(graph, back=True)
    seen_by = csr_array((np.ones(observers.size), observers, starts), shape=(graph.n_arms, graph.n_arms))
    answer: Any = linprog(gaps, A_ub=-seen_by, b_ub=-needed, bounds=(0.0, None), method="highs")
    if not answer.success:
        raise InvalidParameter(f"the linear program of the lower bound failed: {answer.message}")
    return float(answer.fun)


def _tables(name: str, values: ArrayLike, other_name: str, others: ArrayLike) -> tuple[Array, Array]:
    one, other = _table(name, values), _table(other_name, others)
    if one.shape != other.shape:
        raise InvalidParameter(
            f"{name} have shape {one.shape}, {other_name} {other.shape}; expected equal ones, ([runs,] rounds, arms)"
        )
    return one, other


def _table(name: str, values: ArrayLike) -> NDArray[np.float64]:
    array = _finite(name, values)
    if array.ndim < 2 or array.size == 0:
        raise InvalidParameter(f"{name} have shape {array.shape}; expected ([runs,] rounds, arms), none of them 0")
    return array


def _finite(name: str, values: ArrayLike) -> NDArray[np.float64]:
    array = numbers(name, values)
    if not np.isfinite(array).all():
        raise InvalidParameter(f"{name} contains a number that is not finite; expected finite numbers")
    return array
