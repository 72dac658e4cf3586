"""The regret theorems as numbers: what each one promises, with its constants, for given arrays.

The paper's theorems come from [EK21]; the sharp ones from ``docs/sharp_constants.md``, where ``d_k`` is a
clique's size and ``alpha_k = sharp_alpha(d_k)``. Expectations come in as arrays; nothing is simulated.
Regret is against a fixed arm ``i*``. The sharp general and adversarial bounds hold for every fixed arm;
the corrupted ones need ``i*`` to be the unique best arm of the clean means.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from allworlds.errors import InvalidParameter
from allworlds.ftrl.sharp import sharp_alphas
from allworlds.theory import coefficients as number

Array = NDArray[np.float64]

PAPER_MINIMUM = 3**11  # [EK21, Theorems 1 and 2, restated] need N T >= 3^11


@dataclass(frozen=True)
class Bound:
    """An upper bound on the pseudo-regret of a run.

    ``vacuous``: no better than the horizon, which bounds every regret. ``applies``: the theorem's own
    conditions hold. ``terms``: the parts by name.
    """

    value: float
    vacuous: bool
    applies: bool
    terms: Mapping[str, float] = field(default_factory=dict)


def theorem_2_bound(
    n_arms: int, clique_mass: ArrayLike, others: ArrayLike, half_others: ArrayLike, best_clique: int
) -> Bound:
    """The general bound of the paper, from the expected play of each round.

    ``clique_mass`` (T, K) is ``E q_k``; ``others`` and ``half_others`` (T,) are ``E x`` and ``E x+``: the
    best clique's mass without the best arm, in the step and in the half step.

    >>> theorem_2_bound(2, np.full((4, 2), 0.5), np.zeros(4), np.zeros(4), best_clique=0).applies
    False

    [EK21, Theorem 2, restated]
    """
    q, x, x_half = _play(clique_mass, best_clique, others, half_others)
    horizon, n_cliques = q.shape
    log_nt = math.log(n_arms * horizon)
    rate = 1.0 / np.sqrt(np.arange(1, horizon + 1))
    elsewhere = np.sqrt(np.delete(q, best_clique, axis=1)).sum(axis=1)
    terms = {
        "barrier": 9.0 * n_cliques * log_nt,
        "other cliques": 6.0 * log_nt**2 * float(rate @ elsewhere),
        "best clique": 2.0 * log_nt * float(rate @ np.sqrt(x)),
        "half step": 16.0 * float(rate @ np.sqrt(x_half)),
    }
    return _bound(sum(terms.values()), horizon, terms, applies=n_arms * horizon >= PAPER_MINIMUM)


def theorem_1_bound(
    n_arms: int, n_cliques: int, horizon: int, clique_gaps: ArrayLike, corruption: float = 0.0
) -> Bound:
    """The paper's main theorem: the smaller of an adversarial and a C-corrupted stochastic bound.

    ``clique_gaps`` (K,) holds ``Delta_k``, 0 where the best clique is a single arm. Both branches are in
    ``terms``. The proof uses ``sum 1/t <= 2 log T``, so it needs ``T >= 3`` beside ``N T >= 3^11``.

    >>> bound = theorem_1_bound(100, 10, 10**6, [0.125] * 10)
    >>> bound.applies, bound.vacuous
    (True, True)

    [EK21, Theorem 1, restated]
    """
    gaps = _gaps(clique_gaps, n_cliques)
    _check_corruption(corruption)
    _check_horizon(horizon)
    squared = math.log(n_arms * horizon) ** 2
    difficulty = math.log(horizon) * float((1.0 / gaps[gaps > 0.0]).sum())
    terms = {
        "adversarial": 184.0 * squared * math.sqrt(n_cliques * horizon),
        "corrupted": 184.0 * squared * (squared * difficulty + math.sqrt(corruption * difficulty)),
    }
    applies = n_arms * horizon >= PAPER_MINIMUM and horizon >= 3
    return _bound(min(terms.values()), horizon, terms, applies=applies)


def sharp_general_bound(sizes: ArrayLike, clique_mass: ArrayLike, others: ArrayLike, best_clique: int) -> Bound:
    """The general bound with sharp constants: the expected play of each round, and no half step.

    ``sizes`` (K,), ``clique_mass`` (T, K) is ``E q_k``, ``others`` (T,) is ``E x``.

    >>> bound = sharp_general_bound([1, 1], [[0.5, 0.5]], [0.0], best_clique=0)
    >>> round(bound.value, 2)
    15.13

    ``docs/sharp_constants.md``, Theorem B (i).
    """
    size = _sizes(sizes)
    q, x, _ = _play(clique_mass, best_clique, others, others)
    horizon = len(q)
    weight = _weights(size, best_clique)
    rate = 1.0 / np.sqrt(np.arange(1, horizon + 1))
    elsewhere = np.delete(np.sqrt(q) * weight, best_clique, axis=1).sum(axis=1)
    terms = {
        "constant": _constant(size, best_clique, horizon),
        "other cliques": float(rate @ elsewhere),
        "best clique": float(weight[best_clique]) * float(rate @ np.sqrt(x)),
    }
    return _bound(sum(terms.values()), horizon, terms)


def sharp_adversarial_bound(sizes: ArrayLike, horizon: int) -> Bound:
    """The bound that holds against every arm, whatever the losses: of order ``sqrt(K T)``.

    ``sqrt(T) (sqrt(sum_k (alpha_k + log d_k)^2) + 5.21 sqrt(K)) + 9 (K - 1) log T + 1``.

    >>> round(sharp_adversarial_bound([1] * 10, horizon=10**6).value)
    23920

    ``docs/sharp_constants.md``, Theorem B (ii).
    """
    size = _sizes(sizes)
    _check_horizon(horizon)
    reach = sharp_alphas(size) + np.log(size)
    terms = {
        "barrier": number.BETA * (len(size) - 1) * math.log(horizon) + 1.0,
        "penalty": math.sqrt(horizon) * float(np.linalg.norm(reach)),
        "stability": number.ADVERSARIAL * math.sqrt(len(size) * horizon),
    }
    return _bound(sum(terms.values()), horizon, terms)


def sharp_corrupted_bound(
    sizes: ArrayLike, clique_gaps: ArrayLike, best_clique: int, horizon: int, corruption: float = 0.0
) -> Bound:
    """The bound for stochastic losses with corruption ``C``: ``A + W/2 + sqrt(W (W/4 + A + 2C))``.

    ``W = (1 + log T) sum_k B_k^2 / Delta_k`` over the gaps above 0; at most ``2 A + W + sqrt(2 C W)``.
    ``clique_gaps`` (K,) is 0 only for the best clique, and only where it is a single arm.

    >>> bound = sharp_corrupted_bound([1] * 10, [0.0] + [0.125] * 9, best_clique=0, horizon=10**6)
    >>> bound.vacuous, round(bound.value)
    (False, 180027)

    ``docs/sharp_constants.md``, Theorem B (iii).
    """
    size = _sizes(sizes)
    gaps = _gaps(clique_gaps, len(size))
    _check_best(best_clique, len(size))
    _check_corruption(corruption)
    _check_horizon(horizon)
    expected_zero = (np.arange(len(size)) == best_clique) & (size == 1)
    if np.any((gaps == 0.0) != expected_zero):
        raise InvalidParameter(
            "a clique's gap is 0 where it may not be, or not 0 where it must; expected 0 exactly for a best "
            "clique of a single arm, because the best arm must be unique"
        )
    used = gaps > 0.0
    spread = _weights(size, best_clique)[used] ** 2 / gaps[used]
    w = (1.0 + math.log(horizon)) * float(spread.sum())
    a = _constant(size, best_clique, horizon)
    terms = {"constant": a, "W": w}
    return _bound(a + w / 2.0 + math.sqrt(w * (w / 4.0 + a + 2.0 * corruption)), horizon, terms)


def _weights(size: NDArray[np.intp], best_clique: int) -> Array:
    """``B_k``: what a root of the clique's mass costs, and of ``x`` for the best clique, shape (K,)."""
    _check_best(best_clique, len(size))
    log_best = math.log(size[best_clique])
    weights: Array = sharp_alphas(size) + np.log(size) + number.STABILITY_S
    weights += number.STABILITY_LOG * math.sqrt(log_best)
    weights[best_clique] = 1.0 + log_best + number.STABILITY_X
    return weights


def _constant(size: NDArray[np.intp], best_clique: int, horizon: int) -> float:
    """``9 (K - 1) log T + 4 + alpha* / sqrt(T)``."""
    barrier = number.BETA * (len(size) - 1) * math.log(horizon)
    alpha_best = float(sharp_alphas(size)[best_clique])
    return barrier + 1.0 + number.FREE_ROUNDS + alpha_best / math.sqrt(horizon)


def _bound(value: float, horizon: int, terms: Mapping[str, float], *, applies: bool = True) -> Bound:
    return Bound(float(value), bool(value >= horizon), applies, terms)


def _play(
    clique_mass: ArrayLike, best_clique: int, others: ArrayLike, half_others: ArrayLike
) -> tuple[Array, Array, Array]:
    q = np.asarray(clique_mass, dtype=np.float64)
    x, x_half = np.asarray(others, dtype=np.float64), np.asarray(half_others, dtype=np.float64)
    if q.ndim != 2 or x.shape != (len(q),) or x_half.shape != (len(q),):
        raise InvalidParameter(
            f"clique_mass has shape {q.shape}, others {x.shape} and {x_half.shape}; expected (T, K) and (T,)"
        )
    _check_best(best_clique, q.shape[1])
    return q, x, x_half


def _sizes(sizes: ArrayLike) -> NDArray[np.intp]:
    size = np.asarray(sizes)
    if size.ndim != 1 or size.size == 0 or not np.issubdtype(size.dtype, np.integer) or size.min() < 1:
        raise InvalidParameter(f"sizes is {sizes!r}; expected a positive integer for each clique")
    return size.astype(np.intp)


def _gaps(clique_gaps: ArrayLike, n_cliques: int) -> Array:
    gaps = np.asarray(clique_gaps, dtype=np.float64)
    if gaps.shape != (n_cliques,) or not np.all((gaps >= 0.0) & (gaps <= 1.0)):
        raise InvalidParameter(f"clique_gaps is {clique_gaps!r}; expected {n_cliques} numbers from 0 to 1")
    return gaps


def _check_best(best_clique: int, n_cliques: int) -> None:
    if not 0 <= best_clique < n_cliques:
        raise InvalidParameter(f"best_clique is {best_clique!r}; expected a clique from 0 to {n_cliques - 1}")


def _check_corruption(corruption: float) -> None:
    if not 0.0 <= corruption < math.inf:
        raise InvalidParameter(f"corruption is {corruption!r}; expected a finite number of at least 0")


def _check_horizon(horizon: int) -> None:
    if horizon < 1:
        raise InvalidParameter(f"horizon is {horizon!r}; expected at least one round")
