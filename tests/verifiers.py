"""Definitions as plain functions, which know nothing of the package: tests check answers against these."""

from __future__ import annotations

from itertools import combinations

import mpmath
import numpy as np


def is_clique(adjacency, arms):
    """Every two different arms are neighbours."""
    return all(adjacency[i][j] for i, j in combinations(arms, 2))


def is_independent(adjacency, arms):
    """No two different arms are neighbours."""
    return not any(adjacency[i][j] for i, j in combinations(arms, 2))


def is_clique_cover(adjacency, cliques):
    """Every arm is in exactly one group, no group is empty, and every group is a clique."""
    arms = sorted(int(arm) for clique in cliques for arm in clique)
    if arms != list(range(len(adjacency))) or any(len(clique) == 0 for clique in cliques):
        return False
    return all(is_clique(adjacency, clique) for clique in cliques)


def independence_number(adjacency):
    """The size of the largest independent set, by trying all sets; for a dozen arms."""
    n = len(adjacency)
    for size in range(n, 0, -1):
        if any(is_independent(adjacency, arms) for arms in combinations(range(n), size)):
            return size
    return 0


def clique_cover_number(adjacency):
    """The fewest cliques that partition the arms, by dynamic programming over all sets; for a dozen arms."""
    n = len(adjacency)
    rows = [sum(1 << j for j in range(n) if adjacency[i][j] or i == j) for i in range(n)]
    whole = [True] * (1 << n)
    fewest = [0] * (1 << n)
    for arms in range(1, 1 << n):
        low = (arms & -arms).bit_length() - 1
        rest = arms & (arms - 1)
        whole[arms] = whole[rest] and rest & rows[low] == rest
        # The clique of the lowest arm is some clique inside what it sees: try each.
        part, best = rest & rows[low], n
        choice = part
        while True:
            if whole[choice | 1 << low]:
                best = min(best, 1 + fewest[rest & ~choice])
            if choice == 0:
                break
            choice = (choice - 1) & part
        fewest[arms] = best
    return fewest[-1]


def relabelled(adjacency, permutation):
    """The matrix of the same graph when arm i is called ``permutation[i]``."""
    adjacency, permutation = np.asarray(adjacency), np.asarray(permutation)
    renamed = np.zeros_like(adjacency)
    renamed[np.ix_(permutation, permutation)] = adjacency
    return renamed


def kkt_violation(step, answer):
    """How far a distribution is from the minimum of one FTRL step, from the definition alone, in 50 digits.

    For each arm the derivative of ``L·p + Psi(p)/eta + Phi(p)`` must be the multiplier, or no less than it where
    the arm is at its floor (or too small for a double); relative to the largest term of its clique's price. The
    multiplier is taken from the likeliest arm: a double near a large lowest loss could not hold it.
    """
    with mpmath.workdps(50):
        number = mpmath.mpf
        eta, beta, gamma = number(step.learning_rate), number(step.beta), number(step.gamma)
        lowest = number(float(step.losses.min()))
        p = [number(max(float(x), 1e-290)) for x in answer.distribution]
        slopes, scales = [], []
        start = 0
        for k, size in enumerate(step.sizes):
            arms = range(start, start + size)
            start += size
            q = mpmath.fsum(p[i] for i in arms)
            inner = mpmath.fsum(p[i] * mpmath.log(p[i] / q) for i in arms)
            alpha, root = number(step.alpha[k]), mpmath.sqrt(q)
            common = (-alpha / (2 * root) - inner / (2 * q * root)) / eta - beta / q
            for i in arms:
                above = number(float(step.losses[i])) - lowest
                slopes.append(above + common + mpmath.log(p[i] / q) / (eta * root))
                scales.append(max((alpha - inner / q) / (2 * eta * root), beta / q))
        at_floor = [x <= 1e-290 or x <= gamma * (1 + number(10) ** -13) for x in p]
        multiplier = min(slopes) if all(at_floor) else slopes[max(range(len(p)), key=p.__getitem__)]
        gaps = [slope - multiplier for slope in slopes]
        wrong = [max(-gap, 0) if floored else abs(gap) for gap, floored in zip(gaps, at_floor, strict=True)]
        return float(max(w / max(scale, abs(multiplier)) for w, scale in zip(wrong, scales, strict=True)))
