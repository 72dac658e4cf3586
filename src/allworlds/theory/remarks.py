"""What the paper says in passing, without a label: each remark as a function.

Why the regulariser is a product of two entropies and not their sum, why the barrier is on cliques and not on arms, how
large the regulariser is, and the main theorem in its informal form.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from allworlds.foundation.checks import real, whole
from allworlds.foundation.errors import InvalidParameter
from allworlds.theory.arguments import checked_gaps
from allworlds.theory.bounds import theorem_1_bound
from allworlds.theory.check import Check
from allworlds.theory.regulariser import Partition, TsallisPerspective, tsallis_shannon

Array = NDArray[np.float64]

BETA = 9.0  # [EK21, Algorithm 1]


def sum_of_entropies(p: Array, cover: Partition, weight: float = 1.0) -> Check:
    """The sum of Shannon's entropy and ``weight`` times Tsallis' of the masses has no Hessian bound as Lemma 2 has.

    With ``D = diag(1/(p_i sqrt(q_k)))``, its Hessian dominates ``kappa D`` only if ``kappa <= sqrt(q_k)`` for every
    clique of two arms or more. Left side: the largest such ``kappa``; right side: the smallest such root, which tends
    to 0 with the mass. (Tsallis' entropy of the *arms* would dominate ``weight/4 D``, but its size is ``sqrt(N)``, not
    ``sqrt(K)``.)

    [EK21, Section 1.2]
    """
    largest, roots = math.inf, []
    for clique in cover.cliques:
        x = p[list(clique)]
        q = float(x.sum())
        hessian = np.diag(1.0 / x) + weight / 4.0 * q**-1.5
        root = np.sqrt(x * math.sqrt(q))
        largest = min(largest, float(np.linalg.eigvalsh(hessian * np.outer(root, root))[0]))
        if len(x) > 1:
            roots.append(math.sqrt(q))
    if not roots:
        raise InvalidParameter("every clique is a single arm; expected one of two arms or more")
    return Check("kappa <= sqrt(q_k)", "remark-sum", largest, min(roots))


def classical_perspective(perspective: TsallisPerspective, x: Array) -> Check:
    """``G(x) = |x| sum h(x_i/|x|)`` is convex for every convex ``h``, unlike the Tsallis-perspective.

    Its Hessian is ``sum_i h''(y_i)/|x| (e_i - y_i 1)(e_i - y_i 1)'``. Right side: the smallest eigenvalue, which is 0,
    because ``G`` is linear along ``x``; the scale is the largest.

    [EK21, Section 3.1]
    """
    eigenvalues = np.linalg.eigvalsh(classical_perspective_hessian(perspective, x))
    scale = float(np.abs(eigenvalues).max())
    return Check("Hess G >= 0", "remark-perspective", 0.0, float(eigenvalues[0]), scale=scale, tolerance=1e-12)


def classical_perspective_hessian(perspective: TsallisPerspective, x: Array) -> Array:
    """The Hessian of ``|x| sum h(x_i/|x|)``, shape (d, d)."""
    total = float(x.sum())
    return perspective.curved(x / total) / total


def entropy_magnitude(p: Array, cover: Partition, alpha: ArrayLike) -> Check:
    """``|Psi(p)| <= sqrt(sum_k (alpha_k + log d_k)^2)`` over the simplex.

    It is attained by even cliques with masses in proportion to ``(alpha_k + log d_k)^2``. So ``|Psi|`` is at most
    ``sqrt(K) (alpha + log N)``, and at least the smallest ``alpha_k``. The paper says ``O(sqrt(K) log N)``, which
    forgets ``alpha``: slip 8 of ``docs/paper_map.md``.

    [EK21, Sections 1.2 and 3.2]
    """
    sizes = np.array([len(clique) for clique in cover.cliques])
    reach = float(np.linalg.norm(np.asarray(alpha, dtype=np.float64) + np.log(sizes)))
    return Check("|Psi| <= |alpha + log d|", "remark-magnitude", abs(tsallis_shannon(p, cover, alpha)), reach)


def arm_barrier(n_arms: int, horizon: int) -> Check:
    """A barrier on arms costs of order ``N``: ``9 ((N - 1) log T - log N)`` at least, against ``p^gamma``.

    Right side: ``Phi(p^gamma) - Phi(p_1)`` for ``Phi = -9 sum_i log p_i``, whose minimum ``p_1`` is even, with
    ``gamma = 1/(N T)``. The barrier on cliques costs at most ``9 (K - 1) log T`` (``sharp.barrier_penalty``).

    >>> check = arm_barrier(n_arms=100, horizon=1000)
    >>> check.holds, round(check.right)
    (True, 6113)

    [EK21, Section 4]
    """
    arms, rounds = whole("n_arms", n_arms), whole("horizon", horizon)
    gamma = 1.0 / (arms * rounds)
    penalty = -(arms - 1) * math.log(gamma) - math.log(1.0 - (arms - 1) * gamma) - arms * math.log(arms)
    least = BETA * ((arms - 1) * math.log(rounds) - math.log(arms))
    return Check("9 ((N-1) log T - log N) <= penalty", "remark-barrier", least, BETA * penalty, scale=BETA * arms)


def informal_rate(n_cliques: int, horizon: int, clique_gaps: ArrayLike, corruption: float = 0.0) -> float:
    """``min(sqrt(K T), Z + sqrt(C Z))`` with ``Z = sum 1/Delta_k`` over the gaps above 0.

    >>> informal_rate(2, 10**6, [0.0, 0.5])
    2.0

    [EK21, Section 1.1, main theorem, informal]
    """
    cliques, rounds = whole("n_cliques", n_cliques), whole("horizon", horizon)
    gaps = checked_gaps(clique_gaps, cliques)
    z = float((1.0 / gaps[gaps > 0.0]).sum())
    return min(math.sqrt(cliques * rounds), z + math.sqrt(real("corruption", corruption, at_least=0) * z))


def informal_theorem(
    n_arms: int, n_cliques: int, horizon: int, clique_gaps: ArrayLike, corruption: float = 0.0
) -> Check:
    """Theorem 1 is the informal theorem up to logarithms: at most ``184 log^5(NT) min(sqrt(KT), Z + sqrt(CZ))``.

    [EK21, Section 1.1, main theorem, informal]
    """
    precise = theorem_1_bound(n_arms, n_cliques, horizon, clique_gaps, corruption)
    rate = informal_rate(n_cliques, horizon, clique_gaps, corruption)
    right = 184.0 * math.log(n_arms * horizon) ** 5 * rate
    return Check("Theorem 1 <= 184 log^5(NT) rate", "thm:informal", precise.value, right)
