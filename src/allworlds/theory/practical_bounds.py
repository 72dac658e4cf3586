"""The regret theorem for the default constants as numbers: Theorem C of ``docs/default_proof.md``.

Each function takes the sizes of the cliques, two or more, and optionally constants other than
``Constants.practical``; it raises ``InvalidConstants`` where :func:`~allworlds.theory.practical.covers` says no.
Regret is against a fixed arm; the corrupted bound needs it to be the unique best arm of the clean means.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from allworlds.foundation.checks import index, real, whole
from allworlds.foundation.errors import InvalidParameter
from allworlds.ftrl.constants import Constants
from allworlds.theory.arguments import checked_gaps, checked_play
from allworlds.theory.bounds import Bound
from allworlds.theory.practical_coefficients import KAPPA, numbers_of


def practical_adversarial_bound(sizes: ArrayLike, horizon: int, *, constants: Constants | None = None) -> Bound:
    """The bound that holds against every arm, whatever the losses: of order ``sqrt(T sum_k R_k)``.

    >>> bound = practical_adversarial_bound([1] * 10, horizon=10**6)
    >>> bound.vacuous, round(bound.value)
    (False, 145084)

    ``docs/default_proof.md``, Theorem C (ii).
    """
    numbers, rounds = numbers_of(sizes, constants), whole("horizon", horizon)
    c = numbers.constants
    range_of_entropy = float(np.linalg.norm(numbers.reach / numbers.factors))
    spread = float(np.linalg.norm(numbers.factors))
    terms = {
        "logarithms": numbers.logarithms(rounds),
        "penalty": math.sqrt(rounds + c.head_start) / c.eta0 * range_of_entropy,
        "stability": numbers.growth / (2.0 * KAPPA) * spread * numbers.summed_rates(rounds),
    }
    return _bound(sum(terms.values()), rounds, terms)


def practical_general_bound(
    sizes: ArrayLike,
    clique_mass: ArrayLike,
    others: ArrayLike,
    best_clique: int,
    *,
    largest_gap: float = 1.0,
    constants: Constants | None = None,
) -> Bound:
    """The general bound from the expected play of each round: ``clique_mass`` (T, K) and ``others`` (T,).

    >>> bound = practical_general_bound([1, 1], [[0.5, 0.5]], [0.0], best_clique=0)
    >>> sorted(bound.terms)
    ['best clique', 'constant', 'other cliques']

    ``docs/default_proof.md``, Theorem C (i).
    """
    numbers = numbers_of(sizes, constants)
    q = checked_play(clique_mass, others, best_clique, n_cliques=len(numbers.sizes))
    x, horizon = np.asarray(others, dtype=np.float64), len(q)
    weight = numbers.weights(best_clique)
    rate = 1.0 / np.sqrt(np.arange(1, horizon + 1) + numbers.constants.head_start)
    elsewhere = np.delete(np.sqrt(q) * weight, best_clique, axis=1).sum(axis=1)
    terms = {
        "constant": numbers.constant(best_clique, horizon),
        "other cliques": float(rate @ elsewhere),
        "best clique": float(weight[best_clique]) * float(rate @ np.sqrt(x)),
    }
    return _bound(sum(terms.values()), horizon, terms, largest_gap)


def practical_corrupted_bound(
    sizes: ArrayLike,
    clique_gaps: ArrayLike,
    best_clique: int,
    horizon: int,
    corruption: float = 0.0,
    *,
    largest_gap: float | None = None,
    constants: Constants | None = None,
) -> Bound:
    """The bound for stochastic losses with corruption ``C``: ``A + W/2 + sqrt(W (W/4 + A + 2C))``.

    ``clique_gaps`` (K,) is 0 only for the best clique, and only where it is a single arm.

    >>> bound = practical_corrupted_bound([1, 1], [0.0, 0.5], best_clique=0, horizon=10**6)
    >>> sorted(bound.terms)
    ['W', 'constant']

    ``docs/default_proof.md``, Theorem C (iii).
    """
    numbers, rounds = numbers_of(sizes, constants), whole("horizon", horizon)
    size = numbers.sizes
    gaps, best = checked_gaps(clique_gaps, len(size)), index("best_clique", best_clique, len(size))
    spent = real("corruption", corruption, at_least=0)
    expected_zero = (np.arange(len(size)) == best) & (size == 1)
    if np.any((gaps == 0.0) != expected_zero):
        raise InvalidParameter(
            "a clique's gap is 0 where it may not be, or not 0 where it must; expected 0 exactly for a best "
            "clique of a single arm, because the best arm must be unique"
        )
    used = gaps > 0.0
    w = numbers.harmonic(rounds) * float((numbers.weights(best)[used] ** 2 / gaps[used]).sum())
    a = numbers.constant(best, rounds)
    gap = float(gaps.max()) if largest_gap is None else largest_gap
    value = a + w / 2.0 + math.sqrt(w * (w / 4.0 + a + 2.0 * spent))
    return _bound(value, rounds, {"constant": a, "W": w}, gap, spent)


def unnoticed_chance(draws_per_factor_e: float, begin: float = 0.35, end: float = 0.9) -> float:
    """The chance that an arm drawn independently with probability ``N / t`` is not drawn from ``begin T`` to ``end T``.

    >>> round(2000 * unnoticed_chance(8.05), 2), round(2000 * unnoticed_chance(7.25, end=1.0), 2)
    (1.0, 0.99)

    ``docs/default_proof.md``, the frontier.
    """
    if not (draws_per_factor_e >= 0.0 and 0.0 < begin < end):
        raise InvalidParameter(
            f"draws_per_factor_e is {draws_per_factor_e}, begin {begin} and end {end}; expected at least 0 and "
            "0 < begin < end"
        )
    chance: float = (begin / end) ** draws_per_factor_e
    return chance


def _bound(
    value: float, horizon: int, terms: dict[str, float], largest_gap: float = 1.0, corruption: float = 0.0
) -> Bound:
    trivial = min(float(horizon), real("largest_gap", largest_gap, at_least=0, at_most=1) * horizon + 2.0 * corruption)
    return Bound(float(value), bool(value >= trivial), True, terms, trivial)
