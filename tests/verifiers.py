"""Definitions as plain functions, which know nothing of the package: tests check answers against these."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import mpmath
import networkx
import numpy as np
import pytest


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


def proved_bound(adjacency, certificate):
    """The number of cliques that a certificate, as plain data, proves to be needed; None if it proves nothing."""
    adjacency = np.asarray(adjacency, dtype=bool)
    kind = certificate["kind"]
    if kind == "independent arms":
        arms = certificate["arms"]
        return len(arms) if len(set(arms)) == len(arms) and is_independent(adjacency, arms) else None
    if kind == "odd components":
        return _bound_by_odd_components(adjacency, certificate)
    if kind == "fractional packing":
        weights = [Fraction(weight, certificate["unit"]) for weight in certificate["weights"]]
        cliques = networkx.find_cliques(_as_networkx(adjacency))
        wrong = min(weights) < 0 or any(sum(weights[arm] for arm in clique) > 1 for clique in cliques)
        return None if wrong else math.ceil(sum(weights))
    if kind == "exhausted":
        return None if can_be_covered(adjacency, certificate["bound"] - 1) else certificate["bound"]
    parts = [part["arms"] for part in certificate["parts"]]
    if len({arm for part in parts for arm in part}) < sum(len(part) for part in parts):
        return None
    if any(adjacency[np.ix_(one, other)].any() for one, other in combinations(parts, 2)):
        return None
    bounds = [
        proved_bound(adjacency[np.ix_(part["arms"], part["arms"])], part["certificate"])
        for part in certificate["parts"]
    ]
    return None if None in bounds else sum(bounds)


def _bound_by_odd_components(adjacency, certificate):
    """Berge's bound: a clique is an arm or an edge, and the barrier matches few of the odd components."""
    graph, barrier = _as_networkx(adjacency), certificate["barrier"]
    if any(networkx.triangles(graph).values()):
        return None
    graph.remove_nodes_from(barrier)
    odd = sum(len(part) % 2 for part in networkx.connected_components(graph))
    return math.ceil((len(adjacency) + odd - len(barrier)) / 2)


def can_be_covered(adjacency, n_cliques):
    """Whether so many cliques can hold all arms: by brute force for a dozen, by a SAT solver for more."""
    n = len(adjacency)
    if n <= 12:
        return clique_cover_number(adjacency) <= n_cliques
    pysat = pytest.importorskip("pysat.solvers")
    apart = networkx.maximal_independent_set(_as_networkx(adjacency), seed=0)
    if len(apart) > n_cliques:
        return False
    clauses = [[1 + v + n * k for k in range(n_cliques)] for v in range(n)]
    clauses += [[1 + v + n * k] for k, v in enumerate(apart)]
    strangers = [(v, w) for v, w in combinations(range(n), 2) if not adjacency[v][w]]
    clauses += [[-(1 + v + n * k), -(1 + w + n * k)] for v, w in strangers for k in range(n_cliques)]
    with pysat.Cadical195(bootstrap_with=clauses) as solver:
        return solver.solve()


def _as_networkx(adjacency):
    graph = networkx.from_numpy_array(np.asarray(adjacency, dtype=bool))
    graph.remove_edges_from(list(networkx.selfloop_edges(graph)))
    return graph


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
