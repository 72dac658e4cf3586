"""What directed feedback allows: who is observed, and by how few arms.

Here feedback need not be mutual, and an arm need not see itself. ``sees[i, j]`` says that choosing arm i shows the loss
of arm j, (n_arms, n_arms). An arm is observable if some arm sees it, and strongly so if it sees itself or all others
do. The regret of the best learner is of order sqrt(T) if all arms are strongly observable, T^(2/3) if all are
observable, and T otherwise [Alon, Cesa-Bianchi, Dekel and Koren 2015].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from allworlds.covers.budget import Budget, check_time_limit
from allworlds.covers.set_cover import choose_sets
from allworlds.foundation.checks import Ints
from allworlds.foundation.errors import InvalidGraph

Observability = Literal["strong", "weak", "none"]


def observability(sees: ArrayLike) -> Observability:
    """How well a directed graph lets losses be observed.

    >>> observability([[1, 1], [0, 0]])  # apple tasting: the other arm sees the second
    'strong'
    >>> observability([[0, 1, 1], [0, 0, 0], [1, 0, 0]])
    'weak'
    >>> observability([[1, 0], [0, 0]])
    'none'
    """
    matrix = _checked(sees)
    if not matrix.any(axis=0).all():
        return "none"
    return "strong" if _strongly(matrix).all() else "weak"


@dataclass(frozen=True, eq=False)
class Domination:
    """Arms that together see all arms in question, sorted, and a number that every such set needs."""

    arms: Ints
    lower: int

    @property
    def upper(self) -> int:
        """The number of arms."""
        return len(self.arms)

    @property
    def is_exact(self) -> bool:
        """Whether no smaller set does it."""
        return self.lower == self.upper


def weak_domination(sees: ArrayLike, time_limit: float | None = None) -> Domination:
    """The fewest arms that together see every arm that is not strongly observable.

    Exact by HiGHS where SciPy is installed and the time limit allows; else greedily, the arm that sees the most first,
    with a bound by counting. A graph with an arm that no one sees has no such set.

    >>> weak_domination([[0, 1, 1], [0, 0, 0], [1, 0, 0]]).arms
    array([0, 2])

    [Alon, Cesa-Bianchi, Dekel and Koren 2015, Definition 5].
    """
    matrix = _checked(sees)
    check_time_limit(time_limit)
    blind = np.flatnonzero(~matrix.any(axis=0))
    if blind.size:
        raise InvalidGraph(f"no arm sees arm {blind[0]}, so no set of arms dominates it; the graph is not observable")
    wanted = matrix[:, ~_strongly(matrix)]
    if wanted.shape[1] == 0:
        return Domination(np.zeros(0, dtype=np.int64), 0)
    greedy = _greedily(wanted)
    lower = -(-wanted.shape[1] // int(wanted.sum(axis=1).max()))
    if len(greedy) == lower:
        return Domination(greedy, lower)
    chosen, bound = choose_sets(wanted.T, Budget(time_limit))
    best = greedy if chosen is None or len(chosen) >= len(greedy) else np.sort(chosen)
    return Domination(best, min(max(lower, bound), len(best)))


def _strongly(sees: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which arms see themselves or are seen by all others, (n_arms,)."""
    return np.diagonal(sees) | (sees | np.eye(len(sees), dtype=np.bool_)).all(axis=0)


def _greedily(wanted: NDArray[np.bool_]) -> Ints:
    """Arms that see all columns, (size,)."""
    left, arms = wanted.copy(), []
    while left.any():
        arm = int(left.sum(axis=1).argmax())
        arms.append(arm)
        left[:, left[arm]] = False
    return np.sort(np.array(arms, dtype=np.int64))


def _checked(sees: ArrayLike) -> NDArray[np.bool_]:
    matrix = np.asarray(sees)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] == 0:
        raise InvalidGraph(f"sees has shape {matrix.shape}; expected a square matrix, one row and one column an arm")
    if matrix.dtype.kind not in "biuf" or not np.isin(matrix, (0, 1)).all():
        raise InvalidGraph("sees must hold 0 and 1 only: 1 in row i and column j where choosing arm i shows arm j")
    return matrix.astype(np.bool_)
