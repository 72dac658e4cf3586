"""Regret, gaps and corruption, section 2 of [EK21].

Rounds run along the first axis, arms along the last. An expectation in the paper is here a mean over a leading
axis of independent runs, where there is one; with a single run it is that run's value.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from allworlds.covers import CliqueCover
from allworlds.foundation.checks import numbers
from allworlds.foundation.errors import InvalidParameter

Array = NDArray[np.float64]


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
