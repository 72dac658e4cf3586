"""The steps of the sharp regret proof that speak of a whole run: ``docs/sharp_constants.md``, steps 2 to 4 and 7.

A run comes as arrays with one row a round. What holds only in expectation in the theorem is taken here in the form
in which it holds for every single run, so that one recorded run can refute it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from allworlds.covers import CliqueCover
from allworlds.foundation.errors import InvalidParameter
from allworlds.ftrl.constants import Constants
from allworlds.theory import coefficients as number
from allworlds.theory.arguments import checked_gaps
from allworlds.theory.check import Check
from allworlds.theory.regulariser import log_barrier, tsallis_shannon
from allworlds.theory.rounds import masses

Array = NDArray[np.float64]


def decomposition(
    cover: CliqueCover,
    constants: Constants,
    estimates: Array,
    distributions: Array,
    half_steps: Array,
    rates: Array,
    comparator: Array,
) -> Check:
    """Regret on the estimates is at most penalty plus stability: ``sum lhat·(p_t - u) <= penalty + sum stability_t``.

    ``estimates``, ``distributions`` and ``half_steps`` (of the drawn clique) have shape (T, N), ``rates`` (T,) is
    ``eta_t`` and ``comparator`` (N,) is ``u``. The right side has the minima themselves and no dual norm.

    ``docs/sharp_constants.md``, penalty and stability. [EK21, Theorem 3] is the same with a norm.
    """
    before = np.cumsum(estimates, axis=0) - estimates
    psi_u = tsallis_shannon(comparator, cover, constants.alpha)
    psi = np.array([tsallis_shannon(p, cover, constants.alpha) for p in distributions])
    psi_half = np.array([tsallis_shannon(p, cover, constants.alpha) for p in half_steps])
    phi = np.array([log_barrier(p, cover, constants.beta) for p in distributions])
    phi_half = np.array([log_barrier(p, cover, constants.beta) for p in half_steps])

    penalty = log_barrier(comparator, cover, constants.beta) - float(phi[0])
    penalty += float(np.diff(1.0 / rates, prepend=0.0) @ (psi_u - psi))
    moves = distributions - half_steps
    stability = ((before + estimates) * moves).sum(axis=1) + (psi - psi_half) / rates + phi - phi_half
    left = float((estimates * (distributions - comparator)).sum())
    right = penalty + float(stability.sum())
    rounding = 1e-13 * float(np.abs(before * distributions).sum())
    text = "sum lhat·(p - u) <= penalty + stability"
    return Check(text, "sharp-decomposition", left, right, tolerance=1e-12, rounding=rounding)


def corrupted_play(distributions: Array, losses: Array, clean_losses: Array, best_arm: int) -> Check:
    """Step 7: on the clean losses a run costs at most ``2 C`` more than on the losses as played.

    All arrays have shape (T, N). The left side is ``sum p_t·(l~_t - l~*)``, whose expectation is ``P``; the right
    side is the regret against ``best_arm`` plus twice ``sum max_i |l_ti - l~_ti|``.

    >>> p, clean, played = np.array([[0.0, 1.0]]), np.array([[0.25, 0.75]]), np.array([[0.5, 0.5]])
    >>> check = corrupted_play(p, played, clean, best_arm=0)
    >>> check.left, check.right
    (0.5, 0.5)
    """
    spent = float(np.abs(losses - clean_losses).max(axis=1).sum())
    left = float((distributions * clean_losses).sum() - clean_losses[:, best_arm].sum())
    incurred = float((distributions * losses).sum())
    regret = incurred - float(losses[:, best_arm].sum())
    rounding = 1e-14 * (incurred + len(losses))
    return Check("P <= R + 2 C", "sharp-7-corruption", left, regret + 2.0 * spent, tolerance=1e-12, rounding=rounding)


def youngs_line(distributions: Array, cover: CliqueCover, means: ArrayLike, z: float) -> Check:
    """Step 7: Young's inequality turns the roots of Theorem B (i) into ``z W / 2 + P / (2 z)``, for every ``z > 0``.

    ``distributions`` has shape (T, N); ``means`` (N,) are the clean ones, with a unique best arm.

    [EK21, equation eqn:cor-bound-1], with the sharp ``B_k``.
    """
    mu = np.asarray(means, dtype=np.float64)
    gaps = mu - mu.min()
    best_arm, horizon = int(mu.argmin()), len(distributions)
    if not z > 0.0 or np.count_nonzero(gaps == 0.0) != 1:
        raise InvalidParameter(f"z is {z!r} and the means are {means!r}; expected z above 0 and a unique best arm")
    best = int(cover.owner[best_arm])
    clique_gaps = np.array([min((gaps[i] for i in c if i != best_arm), default=0.0) for c in cover.cliques])
    cost = number.weights(cover.sizes, best)
    mass = np.array([masses(cover, p) for p in distributions])
    mass[:, best] = np.delete(distributions, best_arm, axis=1)[:, np.delete(cover.owner, best_arm) == best].sum(axis=1)
    left = float((np.sqrt(mass) @ cost) @ (1.0 / np.sqrt(np.arange(1, horizon + 1))))
    w = number.difficulty(cover.sizes, checked_gaps(clique_gaps, cover.n_cliques), best, horizon)
    right = z / 2.0 * w + float((distributions @ gaps).sum()) / (2.0 * z)
    return Check("sum B sqrt(q/t) <= z W/2 + P/(2z)", "sharp-7-young", left, right)
