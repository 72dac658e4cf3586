"""Checks of what the bounds take: sizes of cliques, distributions over cliques, gaps."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from allworlds.foundation.checks import index, numbers
from allworlds.foundation.errors import InvalidParameter

Array = NDArray[np.float64]

ROUNDING = 1e-6  # what a mean over runs may lose of a sum


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
    q, x = numbers("clique_mass", clique_mass), numbers("others", others)
    if q.ndim != 2 or q.size == 0 or x.shape != q.shape[:1]:
        raise InvalidParameter(
            f"clique_mass has shape {q.shape} and others {x.shape}; expected (T, K) and (T,), T and K at least 1"
        )
    if n_cliques is not None and q.shape[1] != n_cliques:
        raise InvalidParameter(
            f"clique_mass has {q.shape[1]} columns but there are {n_cliques} cliques; expected one for each"
        )
    best = index("best_clique", best_clique, q.shape[1])
    if not np.all(q >= 0.0) or not np.all(np.abs(q.sum(axis=1) - 1.0) <= ROUNDING):
        raise InvalidParameter(
            "clique_mass has a row that is not a distribution; expected numbers of at least 0 that sum to 1"
        )
    if not np.all((x >= 0.0) & (x <= q[:, best] + ROUNDING)):
        raise InvalidParameter(
            "others is below 0 or above the best clique's mass; expected the mass of that clique's other arms"
        )
    return q


def checked_masses(name: str, values: ArrayLike, horizon: int) -> Array:
    """``values`` as one probability for each round, shape (T,)."""
    masses = numbers(name, values)
    if masses.shape != (horizon,) or not np.all((masses >= 0.0) & (masses <= 1.0 + ROUNDING)):
        raise InvalidParameter(f"{name} has shape {masses.shape}; expected {horizon} numbers from 0 to 1, one a round")
    return masses


def checked_gaps(clique_gaps: ArrayLike, n_cliques: int) -> Array:
    """``clique_gaps`` as one number from 0 to 1 for each clique, shape (K,)."""
    gaps = numbers("clique_gaps", clique_gaps)
    if gaps.shape != (n_cliques,) or not np.all((gaps >= 0.0) & (gaps <= 1.0)):
        raise InvalidParameter(f"clique_gaps is {clique_gaps!r}; expected {n_cliques} numbers from 0 to 1")
    return gaps
