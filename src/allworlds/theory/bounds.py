"""The regret theorems as numbers: what each one promises, with its constants, for given arrays.

Theorems 1 and 2 are those of [EK21]. Theorem B (``sharp_...``) is from ``docs/sharp_constants.md``, where ``d_k`` is a
clique's size and ``alpha_k = sharp_alpha(d_k)``. Theorem C (``practical_...``) is from ``docs/default_proof.md``; it
takes two or more cliques and optionally constants other than ``Constants.practical``, and raises ``InvalidConstants``
where :func:`~allworlds.theory.practical.covers` says no. Theorem D (``guarded_...``) is from
``docs/guarded_proof.md``; it takes the two numbers of ``learners.Guarded`` that the bound depends on. Expectations are
passed as arrays; nothing is simulated. Regret is against a fixed arm ``i*``. The general and adversarial bounds of
Theorems B to D hold for every fixed arm; the corrupted ones need ``i*`` to be the unique best arm of the clean means.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from allworlds.foundation.checks import index, real, whole
from allworlds.foundation.errors import InvalidParameter
from allworlds.ftrl.constants import Constants
from allworlds.ftrl.sharp import sharp_alpha
from allworlds.theory import sharp
from allworlds.theory.arguments import (
    checked_gaps,
    checked_masses,
    checked_play,
    checked_sizes,
)
from allworlds.theory.guarded import (
    ALLOWANCE,
    START,
    GuardedNumbers,
    allowed_at_once,
    checked_allowance,
    checked_roots,
    guarded_numbers,
    summed_epochs,
)
from allworlds.theory.practical_coefficients import KAPPA, Numbers, numbers_of
from allworlds.theory.sharp import SharpNumbers

Array = NDArray[np.float64]

PAPER_MINIMUM = 3**11  # [EK21, Theorems 1 and 2, restated] need N T >= 3^11


@dataclass(frozen=True)
class Bound:
    """An upper bound on the pseudo-regret of a run.

    ``vacuous``: no better than ``trivial``, which bounds the regret of every play: the largest gap times the horizon,
    plus twice the corruption, and never more than the horizon. ``applies``: the theorem's own conditions hold.
    ``terms``: the parts by name.
    """

    value: float
    vacuous: bool
    applies: bool
    terms: Mapping[str, float] = field(default_factory=dict)
    trivial: float = math.inf


def theorem_2_bound(
    n_arms: int,
    clique_mass: ArrayLike,
    others: ArrayLike,
    half_others: ArrayLike,
    best_clique: int,
    *,
    largest_gap: float = 1.0,
) -> Bound:
    """The general bound of the paper, from the expected play of each round.

    ``clique_mass`` (T, K) is ``E q_k``; ``others`` and ``half_others`` (T,) are ``E x`` and ``E x+``: the
    best clique's mass without the best arm, in the step and in the half step. ``largest_gap`` is the largest mean
    loss of a round beyond the best arm's, for the trivial bound.

    >>> theorem_2_bound(2, np.full((4, 2), 0.5), np.zeros(4), np.zeros(4), best_clique=0).applies
    False

    [EK21, Theorem 2, restated]
    """
    arms = whole("n_arms", n_arms)
    q = checked_play(clique_mass, others, best_clique)
    horizon, n_cliques = q.shape
    _check_arms(arms, n_cliques)
    x, x_half = np.asarray(others, dtype=np.float64), checked_masses("half_others", half_others, horizon)
    log_nt = math.log(arms * horizon)
    rate = 1.0 / np.sqrt(np.arange(1, horizon + 1))
    elsewhere = np.sqrt(np.delete(q, best_clique, axis=1)).sum(axis=1)
    terms = {
        "barrier": 9.0 * n_cliques * log_nt,
        "other cliques": 6.0 * log_nt**2 * float(rate @ elsewhere),
        "best clique": 2.0 * log_nt * float(rate @ np.sqrt(x)),
        "half step": 16.0 * float(rate @ np.sqrt(x_half)),
    }
    applies = arms * horizon >= PAPER_MINIMUM
    return _bound(sum(terms.values()), horizon, terms, largest_gap, applies=applies)


def theorem_1_bound(
    n_arms: int,
    n_cliques: int,
    horizon: int,
    clique_gaps: ArrayLike,
    corruption: float = 0.0,
    *,
    largest_gap: float | None = None,
) -> Bound:
    """The paper's main theorem: the smaller of an adversarial and a C-corrupted stochastic bound.

    ``clique_gaps`` (K,) holds ``Delta_k``, 0 where the best clique is a single arm. ``largest_gap`` is the largest gap
    of an arm, for the trivial bound; the largest of ``clique_gaps`` if not given. Both branches are in ``terms``.
    The proof uses ``sum 1/t <= 2 log T``, so it needs ``T >= 3`` beside ``N T >= 3^11``.

    >>> bound = theorem_1_bound(100, 10, 10**6, [0.125] * 10)
    >>> bound.applies, bound.vacuous
    (True, True)

    [EK21, Theorem 1, restated]
    """
    arms, cliques, rounds = whole("n_arms", n_arms), whole("n_cliques", n_cliques), whole("horizon", horizon)
    _check_arms(arms, cliques)
    gaps = checked_gaps(clique_gaps, cliques)
    spent = real("corruption", corruption, at_least=0)
    squared = math.log(arms * rounds) ** 2
    difficulty = math.log(rounds) * float((1.0 / gaps[gaps > 0.0]).sum())
    terms = {
        "adversarial": 184.0 * squared * math.sqrt(cliques * rounds),
        "corrupted": 184.0 * squared * (squared * difficulty + math.sqrt(spent * difficulty)),
    }
    applies = arms * rounds >= PAPER_MINIMUM and rounds >= 3
    gap = float(gaps.max()) if largest_gap is None else largest_gap
    return _bound(min(terms.values()), rounds, terms, gap, spent, applies=applies)


def sharp_general_bound(
    sizes: ArrayLike, clique_mass: ArrayLike, others: ArrayLike, best_clique: int, *, largest_gap: float = 1.0
) -> Bound:
    """The general bound with sharp constants: the expected play of each round, and no half step.

    ``sizes`` (K,), ``clique_mass`` (T, K) is ``E q_k``, ``others`` (T,) is ``E x``; ``largest_gap`` as in
    :func:`theorem_2_bound`.

    >>> bound = sharp_general_bound([1, 1], [[0.5, 0.5]], [0.0], best_clique=0)
    >>> round(bound.value, 2)
    15.13

    ``docs/sharp_constants.md``, Theorem B (i).
    """
    return _general(SharpNumbers(checked_sizes(sizes)), clique_mass, others, best_clique, largest_gap)


def sharp_adversarial_bound(sizes: ArrayLike, horizon: int) -> Bound:
    """The bound that holds against every arm, whatever the losses: of order ``sqrt(K T)``.

    ``sqrt(T) (sqrt(sum_k (alpha_k + log d_k)^2) + 5.21 sqrt(K)) + 9 (K - 1) log T + 1``.

    >>> round(sharp_adversarial_bound([1] * 10, horizon=10**6).value)
    23920

    ``docs/sharp_constants.md``, Theorem B (ii).
    """
    size, rounds = checked_sizes(sizes), whole("horizon", horizon)
    terms = {
        "barrier": sharp.BETA * (len(size) - 1) * math.log(rounds) + 1.0,
        "penalty": math.sqrt(rounds) * float(np.linalg.norm(SharpNumbers(size).reach)),
        "stability": sharp.ADVERSARIAL * math.sqrt(len(size) * rounds),
    }
    return _bound(sum(terms.values()), rounds, terms)


def clique_penalty(size: int) -> float:
    """What a clique of this size adds to the adversarial bound, squared: ``(alpha_d + log d)^2 + 5.21^2``.

    That bound is ``sqrt(T)`` times ``sqrt(sum_k (alpha_k + log d_k)^2) + 5.21 sqrt(K)``, up to the barrier. The sum of
    two roots is at most ``sqrt(2)`` times the root of the sum, and at least that root. So a cover with the least sum of
    penalties has the least bound up to a factor of ``sqrt(2)``: it is the objective for
    ``clique_cover(graph, objective=clique_penalty)``.

    >>> [round(clique_penalty(size), 1) for size in (1, 2, 10, 100)]
    [31.1, 38.2, 83.6, 319.6]

    ``docs/sharp_constants.md``, Theorem B (ii).
    """
    return (sharp_alpha(size) + math.log(size)) ** 2 + sharp.ADVERSARIAL**2


def sharp_corrupted_bound(
    sizes: ArrayLike,
    clique_gaps: ArrayLike,
    best_clique: int,
    horizon: int,
    corruption: float = 0.0,
    *,
    largest_gap: float | None = None,
) -> Bound:
    """The bound for stochastic losses with corruption ``C``: ``A + W/2 + sqrt(W (W/4 + A + 2C))``.

    ``W = (1 + log T) sum_k B_k^2 / Delta_k`` over the gaps above 0; at most ``2 A + W + sqrt(2 C W)``.
    ``clique_gaps`` (K,) is 0 only for the best clique, and only where it is a single arm; ``largest_gap`` as in
    :func:`theorem_1_bound`. The trivial bound below is a gap of 0.125 times a million rounds.

    >>> bound = sharp_corrupted_bound([1] * 10, [0.0] + [0.125] * 9, best_clique=0, horizon=10**6)
    >>> bound.vacuous, round(bound.value), bound.trivial
    (True, 180027, 125000.0)

    ``docs/sharp_constants.md``, Theorem B (iii).
    """
    return _corrupted(SharpNumbers(checked_sizes(sizes)), clique_gaps, best_clique, horizon, corruption, largest_gap)


def practical_adversarial_bound(sizes: ArrayLike, horizon: int, *, constants: Constants | None = None) -> Bound:
    """The bound that holds against every arm, whatever the losses: of order ``sqrt(T sum_k R_k)``.

    >>> bound = practical_adversarial_bound([1] * 10, horizon=10**6)
    >>> bound.vacuous, round(bound.value)
    (False, 202500)

    ``docs/default_proof.md``, Theorem C (ii).
    """
    numbers, rounds = numbers_of(sizes, constants), whole("horizon", horizon)
    c = numbers.constants
    range_of_entropy = float(np.linalg.norm(numbers.reach / c.rate_factors))
    spread = float(np.linalg.norm(c.rate_factors))
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
    return _general(numbers_of(sizes, constants), clique_mass, others, best_clique, largest_gap)


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
    numbers = numbers_of(sizes, constants)
    return _corrupted(numbers, clique_gaps, best_clique, horizon, corruption, largest_gap)


def guarded_adversarial_bound(
    sizes: ArrayLike, horizon: int, *, start: float = START, allowance: float = ALLOWANCE
) -> Bound:
    """The bound that holds against every arm, whatever the losses: of order ``sqrt(T sum_k R_k)``.

    What the account allows, ``start sqrt(K) + 1 + allowance sqrt(K) S(T)`` with ``S(T) <= 2.62 sqrt(T + 1)``, and what
    Algorithm 1 can lose after it: Theorem C (ii), or ``sqrt(T log d)`` for one clique.

    >>> bound = guarded_adversarial_bound([1] * 10, horizon=10**6)
    >>> bound.vacuous, {name: round(value) for name, value in bound.terms.items()}
    (False, {'start': 64, 'allowance': 9242, 'after': 202500})

    ``docs/guarded_proof.md``, Theorem D (ii).
    """
    size, rounds = checked_sizes(sizes), whole("horizon", horizon)
    first, each = checked_allowance(start, allowance)
    one = math.sqrt(rounds * math.log(size[0]))
    terms = {
        "start": allowed_at_once(first, len(size)),
        "allowance": each * math.sqrt(len(size)) * summed_epochs(rounds),
        "after": one if len(size) == 1 else practical_adversarial_bound(size, rounds).value,
    }
    return _bound(sum(terms.values()), rounds, terms)


def guarded_general_bound(
    sizes: ArrayLike,
    before: ArrayLike,
    after: ArrayLike,
    best_clique: int,
    horizon: int,
    *,
    largest_gap: float = 1.0,
    start: float = START,
    allowance: float = ALLOWANCE,
) -> Bound:
    """The general bound, from the expected play of each clique before and after the handover.

    ``before`` (K,) is ``E sum_e sqrt(M_ke)`` over the epochs, and ``after`` (K,) is ``E sum_s sqrt(q_k / (s + h))``
    over the rounds from the handover on (:func:`allworlds.theory.guarded.roots_after`). In the best clique both count
    what is played beside ``i*``.

    >>> bound = guarded_general_bound([1, 1], [0.0, 5.0], [0.0, 0.0], best_clique=0, horizon=100)
    >>> bound.terms["before"]
    6.0

    ``docs/guarded_proof.md``, Theorem D (i).
    """
    own, rounds = guarded_numbers(sizes, start, allowance), whole("horizon", horizon)
    best = index("best_clique", best_clique, len(own.sizes))
    roots_before = checked_roots("before", before, len(own.sizes))
    roots_after = checked_roots("after", after, len(own.sizes))
    terms = {
        "constant": own.constant(best, rounds),
        "before": own.allowance * float(roots_before.sum()),
        "after": float(own.weights(best) @ roots_after),
    }
    return _bound(sum(terms.values()), rounds, terms, largest_gap)


def guarded_corrupted_bound(
    sizes: ArrayLike,
    clique_gaps: ArrayLike,
    best_clique: int,
    horizon: int,
    corruption: float = 0.0,
    *,
    largest_gap: float | None = None,
    start: float = START,
    allowance: float = ALLOWANCE,
) -> Bound:
    """The bound for stochastic losses with corruption ``C``: ``A + W/2 + sqrt(W (W/4 + A + 2C))``.

    ``W = sum_k (c^2 E_T + Lambda_T B_k^2) / Delta_k``; ``clique_gaps`` as in :func:`practical_corrupted_bound`.

    >>> bound = guarded_corrupted_bound([1, 1], [0.0, 0.5], best_clique=0, horizon=10**6)
    >>> sorted(bound.terms)
    ['W', 'constant']

    ``docs/guarded_proof.md``, Theorem D (iii).
    """
    own = guarded_numbers(sizes, start, allowance)
    return _corrupted(own, clique_gaps, best_clique, horizon, corruption, largest_gap)


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


def difficulty(
    numbers: SharpNumbers | Numbers | GuardedNumbers, clique_gaps: Array, best_clique: int, horizon: int
) -> float:
    """``W``: the sum of ``B_k^2 / Delta_k`` over the gaps above 0, times a logarithm of the horizon.

    In Theorem D every gap also pays for the rounds before the handover.
    """
    used = clique_gaps > 0.0
    squares = numbers.harmonic(horizon) * numbers.weights(best_clique)[used] ** 2
    if isinstance(numbers, GuardedNumbers):
        squares += numbers.per_gap(horizon)
    return float((squares / clique_gaps[used]).sum())


def _general(
    numbers: SharpNumbers | Numbers, clique_mass: ArrayLike, others: ArrayLike, best_clique: int, largest_gap: float
) -> Bound:
    """Part (i) of Theorems B and C."""
    q = checked_play(clique_mass, others, best_clique, n_cliques=len(numbers.sizes))
    x, weight = np.asarray(others, dtype=np.float64), numbers.weights(best_clique)
    rate = 1.0 / np.sqrt(np.arange(1, len(q) + 1) + numbers.head_start)
    elsewhere = np.delete(np.sqrt(q) * weight, best_clique, axis=1).sum(axis=1)
    terms = {
        "constant": numbers.constant(best_clique, len(q)),
        "other cliques": float(rate @ elsewhere),
        "best clique": float(weight[best_clique]) * float(rate @ np.sqrt(x)),
    }
    return _bound(sum(terms.values()), len(q), terms, largest_gap)


def _corrupted(
    numbers: SharpNumbers | Numbers | GuardedNumbers,
    clique_gaps: ArrayLike,
    best_clique: int,
    horizon: int,
    corruption: float,
    largest_gap: float | None,
) -> Bound:
    """Part (iii) of Theorems B, C and D: Young's inequality with its best parameter."""
    size, rounds, spent = numbers.sizes, whole("horizon", horizon), real("corruption", corruption, at_least=0)
    gaps, best = checked_gaps(clique_gaps, len(size)), index("best_clique", best_clique, len(size))
    expected_zero = (np.arange(len(size)) == best) & (size == 1)
    if np.any((gaps == 0.0) != expected_zero):
        raise InvalidParameter(
            f"clique_gaps is {clique_gaps!r}; expected 0 exactly for a best clique of a single arm, "
            "because the best arm must be unique"
        )
    w, a = difficulty(numbers, gaps, best, rounds), numbers.constant(best, rounds)
    gap = float(gaps.max()) if largest_gap is None else largest_gap
    value = a + w / 2.0 + math.sqrt(w * (w / 4.0 + a + 2.0 * spent))
    return _bound(value, rounds, {"constant": a, "W": w}, gap, spent)


def _bound(
    value: float,
    horizon: int,
    terms: Mapping[str, float],
    largest_gap: float = 1.0,
    corruption: float = 0.0,
    *,
    applies: bool = True,
) -> Bound:
    """Compare with what no play can exceed: ``P <= largest_gap T`` on clean losses, ``R <= P + 2C``, ``R <= T``."""
    trivial = min(float(horizon), real("largest_gap", largest_gap, at_least=0, at_most=1) * horizon + 2.0 * corruption)
    return Bound(float(value), bool(value >= trivial), applies, terms, trivial)


def _check_arms(n_arms: int, n_cliques: int) -> None:
    if n_cliques > n_arms:
        raise InvalidParameter(f"n_cliques is {n_cliques}; expected at most n_arms = {n_arms}")
