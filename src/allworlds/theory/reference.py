"""The step again, by another method and in as many digits as wanted: slow, and only for checking.

``solve`` splits the problem into cliques and works in doubles. Here nothing is split: Newton's method on
the optimality conditions of the whole problem in ``z = log p`` and ``lambda``, with the gradient of
equation (3) and (4) of [EK21] and an active set for the floor, in ``mpmath`` arithmetic. A point that
satisfies the conditions is the minimiser, because the problem is convex.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from allworlds.covers import CliqueCover
from allworlds.foundation.errors import AllWorldsError, import_extra
from allworlds.ftrl.constants import Constants


def solve_reference(
    cover: CliqueCover,
    cumulative_losses: Sequence[float],
    learning_rate: float,
    constants: Constants,
    *,
    digits: int = 50,
    max_steps: int = 3000,
) -> list[Any]:
    """The distribution of one step as ``mpmath`` numbers, correct to about ``digits`` digits.

    For small instances: every Newton step solves a dense system of N + 1 equations.

    >>> from allworlds.covers import clique_cover
    >>> from allworlds.graphs import disjoint_cliques
    >>> cover = clique_cover(disjoint_cliques(2, 1))
    >>> p = solve_reference(cover, [0.0, 0.0], 1.0, Constants.sharp(cover))
    >>> float(p[0])
    0.5
    """
    mp = import_extra("mpmath", "reference").mp
    constants.check_fits(cover)
    with mp.workdps(digits + 20):
        if 1 - cover.n_arms * mp.mpf(constants.gamma) < mp.mpf(10) ** -15:  # the floors leave nothing to share
            return [mp.mpf(1) / cover.n_arms] * cover.n_arms
        problem = _Problem(mp, cover, cumulative_losses, learning_rate, constants)
        pinned: set[int] = set()
        while True:
            p, multiplier = problem.newton(pinned, max_steps, mp.mpf(10) ** (-digits))
            below = {i for i, value in enumerate(p) if i not in pinned and value < problem.gamma}
            if below:
                pinned |= {min(below, key=lambda i: p[i])}
                continue
            gradient = problem.gradient(p)
            free = [i for i in pinned if gradient[i] < multiplier - abs(multiplier) * mp.mpf(10) ** (5 - digits)]
            if not free:
                return p
            pinned -= {min(free, key=lambda i: gradient[i])}


class _Problem:
    """The objective of one step in ``mpmath`` numbers."""

    def __init__(self, mp: Any, cover: CliqueCover, losses: Sequence[float], eta: float, constants: Constants) -> None:
        self.mp = mp
        self.cliques = [[int(i) for i in clique] for clique in cover.cliques]
        self.owner = [int(k) for k in cover.owner]
        self.losses = [mp.mpf(float(loss)) for loss in losses]
        self.alpha = [mp.mpf(value) for value in constants.alpha]
        self.beta, self.gamma = mp.mpf(constants.beta), mp.mpf(constants.gamma)
        self.eta = [mp.mpf(eta) * mp.mpf(float(factor)) for factor in constants.rate_factors]

    def gradient(self, p: list[Any]) -> list[Any]:
        """``L + grad Psi / eta + grad Phi``: equations (3) and (4) differentiated by hand."""
        mp = self.mp
        out = list(self.losses)
        for k, clique in enumerate(self.cliques):
            q = mp.fsum(p[i] for i in clique)
            inner = mp.fsum(p[i] * mp.log(p[i] / q) for i in clique)
            common = -self.alpha[k] / (2 * mp.sqrt(q)) - inner / (2 * q * mp.sqrt(q))
            for i in clique:
                out[i] += (common + mp.log(p[i] / q) / mp.sqrt(q)) / self.eta[k] - self.beta / q
        return out

    def hessian_entry(self, i: int, j: int, p: list[Any], q: list[Any], inner: list[Any]) -> Any:
        """Second derivative for two arms of one clique."""
        k = self.owner[i]
        mass = q[k]
        root = mass * self.mp.sqrt(mass)
        value = self.alpha[k] / (4 * root) + 3 * inner[k] / (4 * mass * root)
        value -= (self.mp.log(p[i] / mass) + self.mp.log(p[j] / mass)) / (2 * root)
        value -= 1 / root
        if i == j:
            value += 1 / (p[i] * self.mp.sqrt(mass))
        return value / self.eta[k] + self.beta / mass**2

    def newton(self, pinned: set[int], max_steps: int, tolerance: Any) -> tuple[list[Any], Any]:
        """Solve ``gradient_i = lambda`` for the free arms and ``sum p = 1``; damped, so that no p jumps."""
        mp = self.mp
        n_arms = len(self.losses)
        free = [i for i in range(n_arms) if i not in pinned]
        p = [self.gamma if i in pinned else (1 - len(pinned) * self.gamma) / len(free) for i in range(n_arms)]
        multiplier = min(self.gradient(p))
        for _ in range(max_steps):
            gradient = self.gradient(p)
            q = [mp.fsum(p[i] for i in clique) for clique in self.cliques]
            inner = [mp.fsum(p[i] * mp.log(p[i] / q[k]) for i in clique) for k, clique in enumerate(self.cliques)]
            size = len(free)
            system, right = mp.matrix(size + 1, size + 1), mp.matrix(size + 1, 1)
            for a, i in enumerate(free):
                for b, j in enumerate(free):
                    if self.owner[i] == self.owner[j]:
                        system[a, b] = self.hessian_entry(i, j, p, q, inner) * p[j]
                system[a, size] = -1
                system[size, a] = p[i]
                right[a] = multiplier - gradient[i]
            right[size] = 1 - mp.fsum(p)
            step = mp.lu_solve(system, right)
            largest = max(abs(step[a]) for a in range(size))
            damping = mp.mpf(1)
            for a, i in enumerate(free):  # a probability may grow by a factor e, shrink to its own root
                limit = 1 if step[a] > 0 else 1 + abs(mp.log(p[i])) / 2
                damping = min(damping, limit / abs(step[a])) if step[a] != 0 else damping
            for a, i in enumerate(free):
                p[i] *= mp.exp(damping * step[a])
            multiplier += damping * step[size]
            if largest < tolerance:
                return p, multiplier
        raise AllWorldsError(f"the reference did not converge in {max_steps} steps; raise max_steps")
