"""What the bounds accept: whole numbers, masses of a distribution, gaps; ``InvalidParameter`` otherwise."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from allworlds.foundation.checks import is_whole, whole_number
from allworlds.foundation.errors import InvalidParameter

Array = NDArray[np.float64]

ROUNDING = 1e-6  # what a mean over runs may lose of a sum


def count(value: Any, name: str) -> int:
    """``value`` as an integer of at least 1.

    >>> count(np.int64(7), "horizon")
    7
    """
    return whole_number(value, name, at_least=1, error=InvalidParameter)


def checked_clique(best_clique: Any, n_cliques: int) -> int:
    """``best_clique`` as the number of a clique."""
    if not is_whole(best_clique) or not 0 <= best_clique < n_cliques:
        raise InvalidParameter(f"best_clique is {best_clique!r}; expected a clique from 0 to {n_cliques - 1}")
    return int(best_clique)


def checked_sizes(sizes: ArrayLike) -> NDArray[np.intp]:
    """``sizes`` as one positive integer for each clique, shape (K,)."""
    try:
        size = np.asarray(sizes)
    except ValueError:
        size = np.empty(0)
    if size.ndim != 1 or size.size == 0 or size.dtype.kind not in "iu" or size.min() < 1:
        raise InvalidParameter(f"sizes is {sizes!r}; expected a positive integer for each clique")
    return size.astype(np.intp)


def checked_play(clique_mass: ArrayLike, others: ArrayLike, best_clique: Any, n_cliques: int | None = None) -> Array:
    """``clique_mass`` as a distribution over the cliques in each round, shape (T, K); ``others`` must fit in it."""
    q, x = _numbers(clique_mass, "clique_mass"), _numbers(others, "others")
    if q.ndim != 2 or q.size == 0 or x.shape != q.shape[:1]:
        raise InvalidParameter(
            f"clique_mass has shape {q.shape} and others {x.shape}; expected (T, K) and (T,), T and K at least 1"
        )
    if n_cliques is not None and q.shape[1] != n_cliques:
        raise InvalidParameter(
            f"clique_mass has {q.shape[1]} columns but there are {n_cliques} cliques; expected one for each"
        )
    best = checked_clique(best_clique, q.shape[1])
    if not np.all(q >= 0.0) or not np.all(np.abs(q.sum(axis=1) - 1.0) <= ROUNDING):
        raise InvalidParameter(
            "clique_mass has a row that is not a distribution; expected numbers of at least 0 that add up to 1"
        )
    if not np.all((x >= 0.0) & (x <= q[:, best] + ROUNDING)):
        raise InvalidParameter(
            f"others goes from {x.min():g} to {x.max():g}; expected the mass of the best clique's other arms, "
            "from 0 to the clique's mass"
        )
    return q


def checked_masses(values: ArrayLike, name: str, horizon: int) -> Array:
    """``values`` as one probability for each round, shape (T,)."""
    masses = _numbers(values, name)
    if masses.shape != (horizon,) or not np.all((masses >= 0.0) & (masses <= 1.0 + ROUNDING)):
        raise InvalidParameter(f"{name} has shape {masses.shape}; expected {horizon} numbers from 0 to 1, one a round")
    return masses


def checked_gaps(clique_gaps: ArrayLike, n_cliques: int) -> Array:
    """``clique_gaps`` as one number from 0 to 1 for each clique, shape (K,)."""
    gaps = _numbers(clique_gaps, "clique_gaps")
    if gaps.shape != (n_cliques,) or not np.all((gaps >= 0.0) & (gaps <= 1.0)):
        raise InvalidParameter(f"clique_gaps is {clique_gaps!r}; expected {n_cliques} numbers from 0 to 1")
    return gaps


def checked_gap(largest_gap: Any) -> float:
    """``largest_gap`` as a number from 0 to 1."""
    gap = float(largest_gap) if isinstance(largest_gap, Real) and not isinstance(largest_gap, bool) else math.nan
    if not 0.0 <= gap <= 1.0:
        raise InvalidParameter(f"largest_gap is {largest_gap!r}; expected a number from 0 to 1")
    return gap


def checked_corruption(corruption: Any) -> float:
    """``corruption`` as a finite number of at least 0."""
    spent = float(corruption) if isinstance(corruption, Real) and not isinstance(corruption, bool) else math.nan
    if not 0.0 <= spent < math.inf:
        raise InvalidParameter(f"corruption is {corruption!r}; expected a finite number of at least 0")
    return spent


def checked_floor(gamma: Any, n_arms: int) -> float:
    """``gamma`` as a floor of a distribution over ``n_arms`` arms, above 0 because its logarithm is used."""
    floor = float(gamma) if isinstance(gamma, Real) else math.nan
    if not 0.0 < floor <= 1.0 / n_arms:
        raise InvalidParameter(f"gamma is {gamma!r}; expected a floor above 0 and at most 1/{n_arms}")
    return floor


def _numbers(values: ArrayLike, name: str) -> Array:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameter(f"{name} is {values!r}; expected an array of numbers") from None
