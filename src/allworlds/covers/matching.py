"""The largest matching and its certificate, which give the smallest cover of a graph without triangles.

Without triangles a clique is an arm or an edge, so the smallest cover is the largest matching and the unmatched arms.
"""

from __future__ import annotations

import numpy as np

from allworlds.covers.certificate import Certificate, IndependentArms, OddComponents
from allworlds.covers.structure import component_of, two_sides
from allworlds.foundation.checks import Ints
from allworlds.graphs.storage import induced
from allworlds.kernels.jit import jit

OUTER, INNER, FREE = 1, 2, 0


def matching_cover(indptr: Ints, indices: Ints) -> tuple[Ints, Certificate]:
    """The smallest cover of a graph without triangles, and its certificate.

    Edmonds' algorithm grows a tree of alternating paths from each unmatched arm, in which an odd cycle counts as one
    arm [Edmonds 1965]. A tree that reaches no other unmatched arm is kept: its inner arms are a barrier that separates
    the outer ones into odd components, which is Berge's certificate. If the graph is bipartite, the outer arms and one
    side of the arms outside all trees are as many independent arms as there are cliques [Kőnig 1931].

    Returns the clique of each arm, (n_arms,), and the certificate.

    >>> from allworlds.graphs import cycle
    >>> owner, certificate = matching_cover(*cycle(5)._storage.neighbours())
    >>> int(owner.max()) + 1, certificate.bound
    (3, 3)
    """
    n_arms = len(indptr) - 1
    mate, label = _largest_matching(indptr, indices)
    arms = np.arange(n_arms)
    first = np.where(mate >= 0, np.minimum(arms, mate), arms)
    owner = np.unique(first, return_inverse=True)[1].ravel()
    side = two_sides(indptr, indices)
    if side is not None:
        return owner, IndependentArms(arms[(label == OUTER) | ((label == FREE) & (side == 0))])
    barrier = np.flatnonzero(label == INNER)
    rest = np.flatnonzero(label != INNER)
    sizes = np.bincount(component_of(*induced(indptr, indices, rest)))
    return owner, OddComponents(barrier, n_arms, int(np.count_nonzero(sizes % 2)))


@jit
def _largest_matching(indptr: Ints, indices: Ints) -> tuple[Ints, Ints]:
    """The partner of each arm or -1, and its role in the trees that were kept: OUTER, INNER or FREE; (n_arms,) both."""
    n_arms = len(indptr) - 1
    mate, label = np.full(n_arms, -1), np.zeros(n_arms, dtype=np.int64)
    parent, base = np.full(n_arms, -1), np.arange(n_arms)
    queue, tree, mark = np.empty(n_arms, dtype=np.int64), np.empty(n_arms, dtype=np.int64), np.full(n_arms, -1)
    stamp = 0
    for root in range(n_arms):
        if mate[root] >= 0:
            continue
        label[root] = OUTER
        queue[0], tree[0] = root, root
        head, tail, size, end = 0, 1, 1, -1
        while head < tail and end < 0:
            arm = queue[head]
            head += 1
            # Grow the tree from an outer arm.
            for other in indices[indptr[arm] : indptr[arm + 1]]:
                if label[other] == INNER or base[arm] == base[other]:
                    continue
                if label[other] == OUTER:
                    # Two outer arms see each other: shrink the odd cycle, whose inner arms become outer.
                    stamp += 1
                    common = _common_base(base, parent, mate, mark, stamp, arm, other)
                    stamp += 1
                    _shrink(base, parent, mate, mark, stamp, arm, other, common)
                    _shrink(base, parent, mate, mark, stamp, other, arm, common)
                    for inside in tree[:size]:
                        if mark[base[inside]] == stamp:
                            base[inside] = common
                            if label[inside] == INNER:
                                label[inside] = OUTER
                                queue[tail] = inside
                                tail += 1
                else:
                    parent[other] = arm
                    if mate[other] < 0:
                        end = other
                        break
                    # A matched pair joins the tree.
                    label[other], label[mate[other]] = INNER, OUTER
                    tree[size], tree[size + 1] = other, mate[other]
                    size += 2
                    queue[tail] = mate[other]
                    tail += 1
        if end < 0:
            continue
        # Swap the matching along the path to the unmatched arm, and free the tree.
        while end >= 0:
            before = parent[end]
            mate[end], mate[before], end = before, end, mate[before]
        for inside in tree[:size]:
            label[inside], base[inside] = FREE, inside
    return mate, label


@jit
def _common_base(base: Ints, parent: Ints, mate: Ints, mark: Ints, stamp: int, one: int, other: int) -> int:
    """The base at which the paths from two outer arms to the root meet."""
    arm = base[one]
    mark[arm] = stamp
    while mate[arm] >= 0:
        arm = base[parent[mate[arm]]]
        mark[arm] = stamp
    arm = base[other]
    while mark[arm] != stamp:
        arm = base[parent[mate[arm]]]
    return int(arm)


@jit
def _shrink(base: Ints, parent: Ints, mate: Ints, mark: Ints, stamp: int, arm: int, child: int, common: int) -> None:
    """Mark the bases on the path from ``arm`` to ``common``, and let its inner arms lead on to ``child``."""
    while base[arm] != common:
        mark[base[arm]] = stamp
        mark[base[mate[arm]]] = stamp
        parent[arm] = child
        child = mate[arm]
        arm = parent[mate[arm]]
