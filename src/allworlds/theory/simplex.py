"""The truncated simplex of Algorithm 1, and the points that the regret proofs compare with.

A regret bound compares the learner with a fixed distribution close to "always play the best arm". It
must stay inside the domain, where every arm has at least ``gamma`` [EK21, Section 4], or, with
``gamma = 0``, at least where the log-barrier is finite: every clique needs some mass, an arm does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from allworlds.foundation.checks import index, whole
from allworlds.foundation.errors import InvalidParameter


class Partition(Protocol):
    """Anything that groups the arms: ``allworlds.CliqueCover``, or a stand-in with its cliques."""

    @property
    def cliques(self) -> Sequence[Sequence[int] | NDArray[np.intp]]:
        """The groups of arms; each arm is in exactly one."""
        ...


def in_shrunk_simplex(p: NDArray[np.float64], gamma: float = 0.0, tolerance: float = 1e-12) -> bool:
    """Is ``p``, shape (N,), a distribution in which every arm has at least ``gamma``?

    The sum and each floor may be missed by ``tolerance``.

    >>> in_shrunk_simplex(np.array([0.5, 0.5]), gamma=0.1), in_shrunk_simplex(np.array([1.0, 0.0]), gamma=0.1)
    (True, False)

    [EK21, Section 4, the set S^gamma_N]
    """
    p = np.asarray(p, dtype=np.float64)
    return bool(np.all(p >= gamma - tolerance) and abs(p.sum() - 1.0) <= tolerance)


def shrunk_comparator(n_arms: int, best_arm: int, gamma: float) -> NDArray[np.float64]:
    """The point of the truncated simplex next to the best arm: ``gamma`` on every other arm, shape (N,).

    >>> shrunk_comparator(3, best_arm=1, gamma=0.125).tolist()
    [0.125, 0.75, 0.125]

    [EK21, Lemma 4 and Lemma 9, the vector p^gamma]
    """
    whole("n_arms", n_arms)
    index("best_arm", best_arm, n_arms)
    if not 0.0 <= gamma <= 1.0 / n_arms:
        raise InvalidParameter(
            f"gamma is {gamma!r} with {n_arms} arms; expected 0 <= gamma <= 1/{n_arms}, "
            "so that the floors leave room for a distribution"
        )
    comparator = np.full(n_arms, float(gamma))
    comparator[best_arm] = 1.0 - (n_arms - 1) * gamma
    return comparator


def sharp_comparator(cover: Partition, best_arm: int, horizon: int) -> NDArray[np.float64]:
    """The comparator of the sharp proof: ``1/(KT)`` on one arm of each other clique, shape (N,).

    The best arm has the rest. Which arm of a clique is taken does not matter; it is the first one.

    >>> class Pairs:
    ...     cliques = ((0, 1), (2, 3))
    >>> sharp_comparator(Pairs(), best_arm=1, horizon=4).tolist()
    [0.0, 0.875, 0.125, 0.0]

    ``docs/sharp_constants.md``, step 2.
    """
    n_arms = sum(len(clique) for clique in cover.cliques)
    index("best_arm", best_arm, n_arms)
    share = 1.0 / (len(cover.cliques) * whole("horizon", horizon))
    comparator = np.zeros(n_arms)
    for clique in cover.cliques:
        if best_arm not in clique:
            comparator[clique[0]] = share
    comparator[best_arm] = 1.0 - share * (len(cover.cliques) - 1)
    return comparator
