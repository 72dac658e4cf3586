"""The smallest cover by branch and bound, for up to a few hundred arms and no more than the budget.

DSATUR made exact [Brélaz 1979]: take the arm that the fewest groups can still take, and try each group that can, then a
new one. A branch ends as soon as it has as many groups as the best cover known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.covers.budget import Budget
from allworlds.foundation.checks import Ints
from allworlds.kernels.jit import jit

MOST_ARMS = 500


class Search(NamedTuple):
    """The best cover found, its clique of each arm, and whether the search went through everything."""

    owner: Ints
    finished: bool


class Tree(NamedTuple):
    """Where the search is: a path of choices that can be taken up again."""

    stranger: NDArray[np.bool_]
    group: Ints
    blocked: NDArray[np.int32]
    n_blocked: Ints
    chosen: Ints
    used: Ints
    place: Ints
    """Depth, the depth of the fixed arms, and the fewest groups known."""


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

    ``stranger`` (n_arms, n_arms) says who does not see whom. The arms ``apart`` are in different groups in every cover,
    so they are fixed first. A cover with ``lower`` cliques ends the search, and so do the budget, a number of ``nodes``
    and ``until()``. Only covers with less than ``fewest`` cliques are looked for, if that is given.

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
        np.array([0, len(apart), n_cliques if fewest is None else min(fewest, n_cliques)]),
    )
    _fix(tree, apart)
    best = owner.copy()
    nodes = budget.nodes(n_arms) if nodes is None else nodes
    while nodes > 0 and not budget.spent() and not until():
        chunk = min(nodes, budget.node_chunk(n_arms))
        if _branch(tree, best, lower, chunk):
            return Search(best, True)
        nodes -= chunk
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
def _fix(tree: Tree, apart: Ints) -> None:
    """Give each arm of ``apart`` a group of its own, for good."""
    for depth in range(len(apart)):
        tree.chosen[depth] = apart[depth]
        _put(tree, apart[depth], depth, 1)
        tree.used[depth + 1] = depth + 1
    tree.place[0] = len(apart)


@jit
def _next_arm(tree: Tree) -> int:
    """The arm without a group that the most groups refuse, then the one with the most such strangers."""
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
    """Go on for so many nodes; True when the search is over. ``best`` keeps the smallest cover found."""
    n_arms = len(best)
    depth, fixed, fewest = tree.place[0], tree.place[1], tree.place[2]
    over = fewest <= lower
    while nodes > 0 and not over:
        nodes -= 1
        if depth == n_arms:
            fewest = tree.used[depth]
            best[:] = tree.group
            over = fewest <= lower
            depth -= 1
        elif tree.chosen[depth] < 0:
            tree.chosen[depth] = _next_arm(tree)
        if depth < fixed:
            over = True
            break
        arm = tree.chosen[depth]
        group = tree.group[arm] + 1
        if group > 0:
            _put(tree, arm, group - 1, -1)
        last = min(tree.used[depth], fewest - 2) if tree.used[depth] < fewest else -1
        while group <= last and tree.blocked[arm, group] > 0:
            group += 1
        if group > last:
            tree.chosen[depth] = -1
            depth -= 1
            over = depth < fixed
        else:
            _put(tree, arm, group, 1)
            tree.used[depth + 1] = max(tree.used[depth], group + 1)
            depth += 1
    tree.place[0], tree.place[2] = depth, fewest
    return bool(over)
