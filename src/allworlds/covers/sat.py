"""Covers with a given number of cliques by a SAT solver: found, or proved not to be there.

Group k holds arm v if a variable says so. Every arm has a group, and two arms that do not see each other never share
one. Independent arms are in different groups, so they get one each, which breaks most of the symmetry.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.covers.branching import search_smallest
from allworlds.covers.budget import Budget
from allworlds.covers.independence import independent_set
from allworlds.foundation.checks import Ints
from allworlds.foundation.errors import InvalidCover
from allworlds.graphs.graph import FeedbackGraph

SOLVER = "glucose4"
NEVER = 10.0**9


class Answer(NamedTuple):
    """A cover with the groups asked for, or that there is none, or neither: the budget was spent."""

    owner: Ints | None
    refuted: bool


def sat_is_installed() -> bool:
    """Whether a SAT solver can be had."""
    try:
        import pysat.solvers  # noqa: F401
    except ImportError:
        return False
    return True


def solver_name() -> str:
    """The solver with its version, for certificates."""
    import pysat

    return f"{SOLVER} of python-sat {pysat.__version__}"


class Refutation:
    """A SAT solver at work in a thread of its own: ``wait`` for its answer, or ``stop`` it.

    >>> import pytest; _ = pytest.importorskip("pysat")
    >>> ring = np.array([[(i - j) % 5 in (2, 3) for j in range(5)] for i in range(5)])
    >>> Refutation(ring, np.array([0, 2]), n_groups=2).wait(Budget())
    Answer(owner=None, refuted=True)
    """

    def __init__(self, stranger: NDArray[np.bool_], apart: Ints, n_groups: int) -> None:
        self._n_arms, self._n_groups = len(stranger), n_groups
        self._stranger, self._apart = stranger, apart
        self._answer: Answer | None = Answer(None, True) if len(apart) > n_groups else None
        self._solver: Any = None
        self._stopping = False
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _work(self) -> None:
        if self._answer is not None:
            return
        try:
            from pysat.solvers import Solver

            with Solver(name=SOLVER) as solver:
                for clauses in _clauses(self._stranger, self._apart, self._n_groups):
                    if self._stopping:
                        return
                    solver.append_formula(clauses)
                self._solver = solver
                found = None if self._stopping else solver.solve_limited(expect_interrupt=True)
                if found:
                    true = np.array(solver.get_model()[: self._n_arms * self._n_groups]) > 0
                    self._answer = Answer(np.argmax(true.reshape(self._n_arms, self._n_groups), axis=1), False)
                elif found is False:
                    self._answer = Answer(None, True)
                self._solver = None
        except BaseException as error:  # told to who waits
            self._error = error

    def finished(self) -> bool:
        """Whether the solver is through."""
        return not self._thread.is_alive()

    def stop(self) -> None:
        """Interrupt the solver and wait until it has stopped."""
        self._stopping = True
        while self._thread.is_alive():
            solver = self._solver
            if solver is not None:
                solver.interrupt()
            self._thread.join(0.02)

    def wait(self, budget: Budget) -> Answer:
        """The answer when it is there or the budget is spent."""
        try:
            while self._thread.is_alive() and not budget.spent():
                self._thread.join(min(0.05, budget.left()))
        finally:
            self.stop()
        if self._error is not None:
            raise self._error
        return self._answer or Answer(None, False)


def find_smaller_cover(graph: FeedbackGraph, n_cliques: int) -> Ints | None:
    """A cover with less than ``n_cliques`` cliques, (n_arms,), or None if there is none; takes as long as it takes.

    >>> from allworlds.graphs import cycle
    >>> find_smaller_cover(cycle(5), 3) is None, len(find_smaller_cover(cycle(5), 4))
    (True, 5)
    """
    stranger, apart = ~graph.adjacency(), independent_set(graph)
    if len(apart) >= n_cliques:
        return None
    if sat_is_installed():
        answer = Refutation(stranger, apart, n_cliques - 1).wait(Budget())
        if answer.owner is None and not answer.refuted:
            raise InvalidCover(
                f"the solver gave up on {n_cliques - 1} cliques; the bound is neither proved nor refuted"
            )
        return answer.owner
    search = search_smallest(stranger, apart, np.arange(graph.n_arms), n_cliques - 1, Budget(NEVER))
    return search.owner if search.owner.max() + 1 < n_cliques else None


def _clauses(stranger: NDArray[np.bool_], apart: Ints, n_groups: int) -> Iterator[list[list[int]]]:
    """Clauses, arm by arm. Variable ``v * n_groups + k + 1``: arm v is in group k."""
    yield [[arm * n_groups + group + 1] for group, arm in enumerate(apart.tolist())]
    for arm in range(len(stranger)):
        mine = range(arm * n_groups + 1, (arm + 1) * n_groups + 1)
        others = (arm + 1 + np.flatnonzero(stranger[arm, arm + 1 :])).tolist()
        yield [list(mine), *([-one, -(one + (other - arm) * n_groups)] for other in others for one in mine)]
