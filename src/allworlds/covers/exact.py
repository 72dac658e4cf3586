"""The smallest cover by exact search, for up to a few hundred arms: branch and bound, and a SAT solver.

Branch and bound is DSATUR made exact [Brélaz 1979]: take the arm that the fewest groups can still take, try each of
these groups, then a new one, and leave a branch as soon as it has as many groups as the best cover known.

The SAT solver is asked for a cover with a given number of groups. A variable says that group k contains arm v; every
arm has a group, and two arms that do not see each other never share one. In both searches independent arms, which are
in different groups, are put into one group each in advance, which breaks most of the symmetry.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.covers.budget import Budget, in_thread
from allworlds.covers.independence import independent_set
from allworlds.foundation.checks import Ints
from allworlds.graphs.graph import FeedbackGraph
from allworlds.kernels.jit import jit

MOST_ARMS = 500
SOLVER = "glucose4"
NEVER = 10.0**9


class Search(NamedTuple):
    """The clique of each arm in the best cover found, and whether the search was finished."""

    owner: Ints
    finished: bool


class Tree(NamedTuple):
    """The state of the search, a path of choices, from which it can be continued."""

    stranger: NDArray[np.bool_]
    group: Ints
    blocked: NDArray[np.int32]
    n_blocked: Ints
    chosen: Ints
    used: Ints
    place: Ints
    """The depth, the depth of the fixed arms, and the fewest groups known."""


def search_smallest(
    stranger: NDArray[np.bool_],
    apart: Ints,
    owner: Ints,
    lower: int,
    budget: Budget,
    nodes: int | None = None,
    until: Callable[[], bool] = lambda: False,
    fewest: int | None = None,
) -> Search:
    """The smallest cover of a graph, from a cover ``owner`` (n_arms,) and independent arms ``apart``.

    ``stranger`` (n_arms, n_arms) says who does not see whom. The search ends with a cover of ``lower`` cliques, with
    the budget, after a number of ``nodes``, or when ``until()`` is true. If ``fewest`` is given, only covers with fewer
    cliques than that are searched for.

    >>> ring = np.array([[(i - j) % 5 in (2, 3) for j in range(5)] for i in range(5)])
    >>> search = search_smallest(ring, np.array([0, 2]), np.arange(5), 2, Budget())
    >>> search.finished, int(search.owner.max()) + 1
    (True, 3)
    """
    n_arms, n_cliques = len(owner), int(owner.max()) + 1
    tree = Tree(
        stranger,
        np.full(n_arms, -1),
        np.zeros((n_arms, n_cliques + 1), dtype=np.int32),
        np.zeros(n_arms, dtype=np.int64),
        np.full(n_arms + 1, -1),
        np.zeros(n_arms + 1, dtype=np.int64),
        np.array([len(apart), len(apart), n_cliques if fewest is None else min(fewest, n_cliques)]),
    )
    for depth, arm in enumerate(apart.tolist()):  # independent arms get a group each, for good
        tree.chosen[depth] = arm
        _put(tree, arm, depth, 1)
        tree.used[depth + 1] = depth + 1
    best = owner.copy()
    for chunk in budget.node_chunks(n_arms, nodes):
        if until():
            break
        if _branch(tree, best, lower, chunk):
            return Search(best, True)
    return Search(best, False)


@jit
def _put(tree: Tree, arm: int, group: int, change: int) -> None:
    """Put ``arm`` into ``group`` (change 1), or take it out again (change -1)."""
    tree.group[arm] = group if change > 0 else -1
    for other in range(len(tree.group)):
        if tree.stranger[arm, other]:
            if tree.blocked[other, group] == (0 if change > 0 else 1):
                tree.n_blocked[other] += change
            tree.blocked[other, group] += change


@jit
def _next_arm(tree: Tree) -> int:
    """The arm without a group that the most groups cannot take; of those, the one with the most such strangers."""
    n_arms = len(tree.group)
    best, most, widest = -1, -1, -1
    for arm in range(n_arms):
        if tree.group[arm] >= 0 or tree.n_blocked[arm] < most:
            continue
        width = 0
        for other in range(n_arms):
            if tree.stranger[arm, other] and tree.group[other] < 0:
                width += 1
        if tree.n_blocked[arm] > most or width > widest:
            best, most, widest = arm, tree.n_blocked[arm], width
    return best


@jit
def _branch(tree: Tree, best: Ints, lower: int, nodes: int) -> bool:
    """Continue for so many nodes; True if the search is finished. ``best`` keeps the smallest cover found."""
    n_arms = len(best)
    depth, fixed, fewest = tree.place[0], tree.place[1], tree.place[2]
    over = fewest <= lower
    while nodes > 0 and not over:
        nodes -= 1
        if depth == n_arms:
            # All arms are placed: a smaller cover.
            fewest = tree.used[depth]
            best[:] = tree.group
            over = fewest <= lower
            depth -= 1
        elif tree.chosen[depth] < 0:
            tree.chosen[depth] = _next_arm(tree)
        if depth < fixed:
            over = True
            break
        # Take the arm out of its group, and find the next one that can take it.
        arm = tree.chosen[depth]
        group = tree.group[arm] + 1
        if group > 0:
            _put(tree, arm, group - 1, -1)
        last = min(tree.used[depth], fewest - 2) if tree.used[depth] < fewest else -1
        while group <= last and tree.blocked[arm, group] > 0:
            group += 1
        if group > last:
            # None is left: go back.
            tree.chosen[depth] = -1
            depth -= 1
            over = depth < fixed
        else:
            _put(tree, arm, group, 1)
            tree.used[depth + 1] = max(tree.used[depth], group + 1)
            depth += 1
    tree.place[0], tree.place[2] = depth, fewest
    return bool(over)


# --- SAT ------------------------------------------------------------------------------------------------


class SatAnswer(NamedTuple):
    """A cover with the groups asked for, or a refutation, or neither if the budget was spent."""

    owner: Ints | None
    refuted: bool


def sat_is_installed() -> bool:
    """Whether a SAT solver is installed."""
    found = importlib.util.find_spec
    return found("pysat") is not None and found("pysat.solvers") is not None  # another package is called pysat, too


def sat_solver_name() -> str:
    """The solver with its version, for certificates."""
    import pysat

    return f"{SOLVER} of python-sat {pysat.__version__}"


class SatSearch:
    """A SAT solver in a thread of its own, which ends with the ``with`` block.

    >>> import pytest; _ = pytest.importorskip("pysat")
    >>> ring = np.array([[(i - j) % 5 in (2, 3) for j in range(5)] for i in range(5)])
    >>> with SatSearch(ring, np.array([0, 2]), n_groups=2) as search:
    ...     search.wait(Budget())
    SatAnswer(owner=None, refuted=True)
    """

    def __init__(self, stranger: NDArray[np.bool_], apart: Ints, n_groups: int) -> None:
        self._solver: Any = None
        self._stopping = False
        self._answer = in_thread(lambda: self._solve(stranger, apart, n_groups))

    def _solve(self, stranger: NDArray[np.bool_], apart: Ints, n_groups: int) -> SatAnswer:
        from pysat.solvers import Solver

        with Solver(name=SOLVER) as solver:
            for clauses in _clauses(stranger, apart, n_groups):
                if self._stopping:
                    return SatAnswer(None, False)
                solver.append_formula(clauses)
            self._solver = solver
            found = None if self._stopping else solver.solve_limited(expect_interrupt=True)
            self._solver = None
            if not found:
                return SatAnswer(None, found is False)
            true = np.array(solver.get_model()[: len(stranger) * n_groups]) > 0
            return SatAnswer(np.argmax(true.reshape(len(stranger), n_groups), axis=1), False)

    def __enter__(self) -> SatSearch:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def finished(self) -> bool:
        """Whether the solver has finished."""
        return self._answer.done()

    def stop(self) -> None:
        """Interrupt the solver and wait until it has stopped."""
        self._stopping = True
        while not self._answer.done():
            solver = self._solver
            if solver is not None:
                solver.interrupt()
            Budget(0.02).wait(self._answer)

    def wait(self, budget: Budget) -> SatAnswer:
        """The answer, or neither answer once the budget is spent."""
        budget.wait(self._answer)
        self.stop()
        return self._answer.result()


def find_smaller_cover(graph: FeedbackGraph, n_cliques: int) -> Ints | None:
    """A cover with fewer than ``n_cliques`` cliques, (n_arms,), or None if there is none; has no time limit.

    >>> from allworlds.graphs import cycle
    >>> find_smaller_cover(cycle(5), 3) is None, len(find_smaller_cover(cycle(5), 4))
    (True, 5)
    """
    stranger, apart = ~graph.adjacency(), independent_set(graph)
    if len(apart) >= n_cliques:
        return None
    if sat_is_installed():
        with SatSearch(stranger, apart, n_cliques - 1) as search:
            return search.wait(Budget()).owner
    owner = search_smallest(stranger, apart, np.arange(graph.n_arms), n_cliques - 1, Budget(NEVER)).owner
    return owner if owner.max() + 1 < n_cliques else None


def _clauses(stranger: NDArray[np.bool_], apart: Ints, n_groups: int) -> Iterator[list[list[int]]]:
    """Clauses, arm by arm. Variable ``v * n_groups + k + 1`` says that arm v is in group k."""
    yield [[arm * n_groups + group + 1] for group, arm in enumerate(apart.tolist())]
    for arm in range(len(stranger)):
        mine = range(arm * n_groups + 1, (arm + 1) * n_groups + 1)
        others = (arm + 1 + np.flatnonzero(stranger[arm, arm + 1 :])).tolist()
        yield [list(mine), *([-one, -(one + (other - arm) * n_groups)] for other in others for one in mine)]
