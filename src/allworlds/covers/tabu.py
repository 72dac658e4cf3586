"""Fewer cliques by tabu search, for up to some thousand arms.

Dissolve one clique, put its arms into other groups, and count the pairs of strangers: arms of one group that do not see
each other. Move one arm at a time to the group where the fewest such pairs result, and forbid it to return for a while
[Hertz and de Werra 1987]. Without such pairs, the groups are a cover with one clique less.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from allworlds.covers.budget import Budget
from allworlds.foundation.checks import Ints
from allworlds.graphs.storage import matrix_of
from allworlds.kernels.jit import jit

Shorts = NDArray[np.int32]

MOST_STRANGERS = 16_000_000
"""Entries in the lists of strangers: 64 megabytes, or 4,000 arms without edges."""


def strangers_of(indptr: Ints, indices: Ints) -> tuple[Ints, Shorts] | None:
    """Lists of the arms that each arm does not see; None if they would be too long.

    >>> starts, strangers = strangers_of(np.array([0, 2, 5, 7]), np.array([0, 1, 0, 1, 2, 1, 2]))
    >>> starts.tolist(), strangers.tolist()
    ([0, 1, 1, 2], [2, 0])
    """
    n_arms = len(indptr) - 1
    if n_arms * n_arms - len(indices) > MOST_STRANGERS:
        return None
    rows, strangers = np.nonzero(~matrix_of(indptr, indices))
    return np.searchsorted(rows, np.arange(n_arms + 1)), strangers.astype(np.int32)


def improve(indptr: Ints, indices: Ints, owner: Ints, lower: int, budget: Budget) -> Ints | None:
    """A cover with as few cliques as tabu search finds, beginning with ``owner``, (n_arms,); not below ``lower``.

    None if there are too many arms for it.

    >>> from allworlds.graphs import cycle
    >>> ring = cycle(6)._storage.neighbours()
    >>> int(improve(*ring, np.array([0, 0, 1, 2, 2, 3]), 3, Budget()).max()) + 1
    3
    """
    lists = strangers_of(indptr, indices)
    if lists is None:
        return None
    starts, strangers = lists
    random = np.array([0x9E3779B97F4A7C15], dtype=np.uint64)
    best, n_cliques = owner, int(owner.max()) + 1
    total = 10 * budget.tabu_steps(len(owner))
    while n_cliques > max(lower, 1) and total > 0:
        group = _dissolve_smallest(best, n_cliques)
        counts = np.zeros((len(owner), n_cliques - 1), dtype=np.int32)
        tabu = np.zeros((len(owner), n_cliques - 1), dtype=np.int64)
        _place_rest(starts, strangers, group, counts)
        done, left = 0, 1
        for chunk in budget.tabu_chunks(len(owner)):
            left = _tabu_steps(starts, strangers, group, counts, tabu, done, done + chunk, random)
            done += chunk
            if not left:
                break
        if left:
            break
        total -= done
        best, n_cliques = group, n_cliques - 1
    return np.unique(best, return_inverse=True)[1].ravel()


def _dissolve_smallest(owner: Ints, n_cliques: int) -> Ints:
    """The same groups without the smallest, whose arms get -1; the last group takes its number."""
    smallest = int(np.argmin(np.bincount(owner, minlength=n_cliques)))
    group = np.where(owner == n_cliques - 1, smallest, owner)
    group[owner == smallest] = -1
    return group


@jit
def _place_rest(starts: Ints, strangers: Shorts, group: Ints, counts: Shorts) -> None:
    """Put arms without a group where they meet the fewest strangers; ``counts[v, k]``: strangers of v in group k."""
    for arm in range(len(group)):
        if group[arm] >= 0:
            for other in strangers[starts[arm] : starts[arm + 1]]:
                counts[other, group[arm]] += 1
    for arm in range(len(group)):
        if group[arm] < 0:
            group[arm] = np.argmin(counts[arm])
            for other in strangers[starts[arm] : starts[arm + 1]]:
                counts[other, group[arm]] += 1


@jit
def _tabu_steps(
    starts: Ints,
    strangers: Shorts,
    group: Ints,
    counts: Shorts,
    tabu: Ints,
    first: int,
    last: int,
    random: NDArray[np.uint64],
) -> int:
    """Make the moves ``first`` to ``last``, or until no pair of strangers is left; returns their number.

    Only arms that meet a stranger move. ``tabu[v, k]`` is the step from which v may enter group k again; a move that
    leads to fewer pairs than ever is always allowed. Ties are broken at random, by a xorshift of one word.
    """
    n_arms, n_groups = counts.shape
    met, place = np.empty(n_arms, dtype=np.int64), np.full(n_arms, -1)
    # List the arms that meet strangers, and count the pairs.
    n_met, total = 0, 0
    for arm in range(n_arms):
        if counts[arm, group[arm]] > 0:
            place[arm] = n_met
            met[n_met] = arm
            n_met += 1
            total += counts[arm, group[arm]]
    total //= 2
    fewest = total
    word = random[0]
    for step in range(first, last):
        if total == 0:
            break
        # The best allowed move.
        best, ties, mover, target = 1 << 30, 0, -1, -1
        for number in range(n_met):
            arm = met[number]
            row = counts[arm]
            here = row[group[arm]]
            for clique in range(n_groups):
                change = row[clique] - here
                if change > best or clique == group[arm]:
                    continue
                if tabu[arm, clique] > step and total + change >= fewest:
                    continue
                if change < best:
                    best, ties, mover, target = change, 1, arm, clique
                else:
                    ties += 1
                    word = _xorshift(word)
                    if (word >> np.uint64(11)) % np.uint64(ties) == np.uint64(0):
                        mover, target = arm, clique
        if mover < 0:
            continue
        # Make it, and forbid the way back for about 0.6 times as many steps as arms meet strangers.
        source = group[mover]
        group[mover] = target
        total += best
        fewest = min(fewest, total)
        word = _xorshift(word)
        tabu[mover, source] = step + 1 + int(0.6 * n_met) + int((word >> np.uint64(11)) % np.uint64(10))
        for other in strangers[starts[mover] : starts[mover + 1]]:
            counts[other, source] -= 1
            counts[other, target] += 1
            if group[other] == source or group[other] == target:
                n_met = _keep_met(other, counts[other, group[other]] > 0, met, place, n_met)
        n_met = _keep_met(mover, counts[mover, target] > 0, met, place, n_met)
    random[0] = word
    return total


@jit
def _xorshift(word: np.uint64) -> np.uint64:
    word ^= word << np.uint64(13)
    word ^= word >> np.uint64(7)
    return word ^ (word << np.uint64(17))


@jit
def _keep_met(arm: int, meets: bool, met: Ints, place: Ints, n_met: int) -> int:
    """Keep ``arm`` in the list of those that meet strangers exactly if it ``meets`` one; returns the list's length."""
    if meets and place[arm] < 0:
        place[arm] = n_met
        met[n_met] = arm
        return n_met + 1
    if not meets and place[arm] >= 0:
        last = met[n_met - 1]
        met[place[arm]] = last
        place[last] = place[arm]
        place[arm] = -1
        return n_met - 1
    return n_met
