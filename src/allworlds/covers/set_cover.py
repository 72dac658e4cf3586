"""Covers as set cover over maximal cliques, by HiGHS: good where there are few of them.

A linear program chooses cliques, in fractions, such that every arm is held once. Its dual gives weights to the arms
such that no clique weighs more than one, which is a certificate. Whole choices are an integer program.
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.covers.budget import Budget
from allworlds.covers.certificate import FractionalPacking
from allworlds.foundation.checks import Ints

MOST_ARMS = 3000
MOST_CLIQUES = 30_000
UNIT = 10**6
"""Weights are rounded down to this part of one."""


class Choice(NamedTuple):
    """A cover by HiGHS, (n_arms,), or None, and the number of cliques that it proved to be needed."""

    owner: Ints | None
    bound: int


def solver_name() -> str:
    """The solver with its version, for certificates."""
    import scipy

    return f"HiGHS of SciPy {scipy.__version__}"


def fractional_packing(n_arms: int, cliques: list[list[int]], budget: Budget) -> FractionalPacking | None:
    """The heaviest weights of the arms such that no maximal clique weighs more than one, rounded safely.

    The solver's weights are rounded down to whole parts of a unit. If a clique is too heavy all the same, the unit
    grows to its weight: the certificate is exact, whatever the solver did. None where the budget is too small.

    >>> fractional_packing(5, [[0, 1], [1, 2], [2, 3], [3, 4], [0, 4]], Budget()).bound
    3
    """
    from scipy import optimize  # here, because it takes long to load and most covers need none of it

    holds = _incidence(n_arms, cliques)
    options = {"time_limit": min(budget.left(), 1e6)}
    answer: Any = optimize.linprog(
        -np.ones(n_arms), A_ub=holds.T, b_ub=np.ones(len(cliques)), bounds=(0, 1), method="highs", options=options
    )
    if answer.x is None:
        return None
    weights = np.floor(np.clip(answer.x, 0.0, 1.0) * UNIT + 1e-3).astype(np.int64)
    heaviest = max(int(weights[clique].sum()) for clique in cliques)
    return FractionalPacking(weights, max(UNIT, heaviest))


def choose_cliques(n_arms: int, cliques: list[list[int]], budget: Budget) -> Choice:
    """The fewest maximal cliques that hold all arms, within the budget.

    >>> choose_cliques(3, [[0, 1], [1, 2]], Budget(10.0)).bound
    2
    """
    chosen, bound = choose_sets(_incidence(n_arms, cliques), budget)
    return Choice(None if chosen is None else _owner(n_arms, [cliques[k] for k in chosen]), bound)


def choose_sets(holds: Any, budget: Budget) -> tuple[Ints | None, int]:
    """The fewest columns of ``holds`` (members, sets) that hold every member, or None, and how many are needed.

    HiGHS works in a thread, so that Ctrl-C and a late answer do not hold anyone up.

    >>> choose_sets(np.array([[1, 1, 0], [0, 1, 1]]), Budget(10.0))
    (array([1]), 1)
    """
    from scipy import optimize

    n_sets = holds.shape[1]
    answers: list[Any] = []
    options = {"time_limit": min(budget.left(), 1e6)}

    def work() -> None:
        answers.append(
            optimize.milp(
                np.ones(n_sets),
                constraints=optimize.LinearConstraint(holds, 1.0, np.inf),
                integrality=np.ones(n_sets),
                bounds=optimize.Bounds(0.0, 1.0),
                options=options,
            )
        )

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    while thread.is_alive() and not budget.spent():
        thread.join(min(0.05, budget.left()))
    if not answers:
        return None, 1
    dual = answers[0].mip_dual_bound
    bound = 1 if dual is None or not np.isfinite(dual) else int(np.ceil(dual - 1e-6))
    return None if answers[0].x is None else np.flatnonzero(answers[0].x > 0.5), bound


def _owner(n_arms: int, chosen: list[list[int]]) -> Ints:
    """Every arm in the first of the chosen cliques that holds it, largest first; empty ones vanish."""
    owner = np.full(n_arms, -1)
    for number, clique in enumerate(sorted(chosen, key=len, reverse=True)):
        arms = np.array(clique)
        owner[arms[owner[arms] < 0]] = number
    return np.unique(owner, return_inverse=True)[1].ravel()


def _incidence(n_arms: int, cliques: list[list[int]]) -> Any:
    """Who is in which clique, (n_arms, n_cliques), sparse."""
    from scipy import sparse

    arms = np.concatenate([np.array(clique) for clique in cliques])
    number: NDArray[np.int64] = np.repeat(np.arange(len(cliques)), [len(clique) for clique in cliques])
    return sparse.csr_array((np.ones(len(arms)), (arms, number)), shape=(n_arms, len(cliques)))
