"""The displays of the paper that speak of a whole run: Theorem 3's two parts, Lemma 4's and Theorem 1's proofs.

Arrays have one row a round. The displays of Theorem 1's proof are about expectations, which come in as arrays; where
the clean losses are their means in every round, they hold for every single run.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from allworlds.covers import CliqueCover
from allworlds.foundation.checks import real
from allworlds.foundation.errors import InvalidParameter
from allworlds.theory.check import Check
from allworlds.theory.regulariser import tsallis_shannon
from allworlds.theory.rounds import masses
from allworlds.theory.simplex import shrunk_comparator

Array = NDArray[np.float64]


def penalty_mid_term(distributions: Array, cover: CliqueCover, best_arm: int, gamma: float) -> Check:
    """The entropy's penalty before the best clique's entropy is bounded; ``distributions`` (T, N) are above ``gamma``.

    Right side: ``5 log^2(1/gamma) sum sqrt(q_k/t)`` over the other cliques plus
    ``sum_t (t q*)^(-1/2) sum_i p_i log(q*/p_i)`` over the best one. Needs ``gamma <= 1/e``.

    [EK21, proof of Lemma 4: eqn:penalty-mid-term]
    """
    horizon, n_arms = distributions.shape
    log_floor = math.log(1.0 / real("gamma", gamma, above=0, at_most=1.0 / n_arms))
    if log_floor < 1.0:
        raise InvalidParameter(f"gamma is {gamma!r}; expected at most 1/e, because 2 (log^2 + 1) + log <= 5 log^2")
    alpha = 2.0 * (log_floor**2 + 1.0)
    target = tsallis_shannon(shrunk_comparator(n_arms, best_arm, gamma), cover, alpha)
    gains = np.array([target - tsallis_shannon(p, cover, alpha) for p in distributions])
    rounds = np.arange(1, horizon + 1)
    left = float(np.diff(np.sqrt(rounds), prepend=0.0) @ gains)

    best = int(cover.owner[best_arm])
    q = np.array([masses(cover, p) for p in distributions])
    inside = distributions[:, np.asarray(cover.cliques[best])]
    entropy = (inside * np.log(q[:, [best]] / inside)).sum(axis=1)
    right = 5.0 * log_floor**2 * float((np.sqrt(np.delete(q, best, axis=1)).sum(axis=1) / np.sqrt(rounds)).sum())
    right += float((entropy / np.sqrt(rounds * q[:, best])).sum())
    return Check("penalty of Psi <= its bound", "eqn:penalty-mid-term", left, right, scale=alpha)


def young_for_the_step(
    play: Array, cover: CliqueCover, means: ArrayLike, factor: float, z: float, regret: float, corruption: float
) -> Check:
    """Young's inequality: ``B sum sqrt(q/t) <= B^2 z sum log T/Delta_k + (R + 2C)/(2z)``.

    ``play`` (T, N) is ``E p_t``, ``means`` (N,) are the clean ones, ``factor`` is ``B``; ``regret`` is ``R`` and
    ``corruption`` is ``C``. Needs ``T >= 3``, because the proof uses ``sum 1/t <= 2 log T``.

    [EK21, proof of Theorem 1: eqn:cor-bound-1]
    """
    at = _instance(play, cover, means, z)
    spent = real("corruption", corruption, at_least=0)
    left = factor * (float(at.rate @ at.elsewhere) + float(at.rate @ np.sqrt(at.beside)))
    right = factor**2 * z * at.difficulty + (regret + 2.0 * spent) / (2.0 * z)
    return Check("B sum sqrt(q/t) <= B^2 z W + (R + 2C)/(2z)", "eqn:cor-bound-1", left, right)


def young_for_the_half_step(
    half_play: Array, losses: Array, cover: CliqueCover, means: ArrayLike, z: float, corruption: float
) -> Check:
    """The same for the half step: ``16 sum sqrt(x+/t) <= 256 z sum log T/Delta_k + C/z + sum p+·(l - l*)/(2z)``.

    ``half_play`` (T, N) is ``p_t^+`` and ``losses`` (T, N) are the losses as played. The printed proof takes ``p_t^+``
    and the clean losses of round ``t`` for independent, which they are not: slip 9 of ``docs/paper_map.md``.

    [EK21, proof of Theorem 1: eqn:phalf-regret]
    """
    at = _instance(half_play, cover, means, z)
    spent = real("corruption", corruption, at_least=0)
    left = 16.0 * float(at.rate @ np.sqrt(at.beside))
    lost = float((half_play * (losses - losses[:, [at.best_arm]])).sum())
    right = 256.0 * z * at.difficulty + spent / z + lost / (2.0 * z)
    return Check("16 sum sqrt(x+/t) <= 256 z W + C/z + R+/(2z)", "eqn:phalf-regret", left, right)


def half_steps_and_regret(
    half_play: Array,
    cover: CliqueCover,
    means: ArrayLike,
    z: float,
    regret: float,
    corruption: float,
    *,
    printed: bool = False,
) -> Check:
    """What follows for the half steps: ``16 sum sqrt(x+/t) <= 256 z sum log T/Delta_k + (R + 2C)/(2z)``.

    With ``printed``, as the paper has it: all masses of cliques with a gap on the left, and no ``z`` before the sum on
    the right. That is false: slip 1 of ``docs/paper_map.md``.

    [EK21, proof of Theorem 1: eqn:cor-bound-2]
    """
    at = _instance(half_play, cover, means, z)
    shared = (regret + 2.0 * real("corruption", corruption, at_least=0)) / (2.0 * z)
    if printed:
        q = np.array([masses(cover, p) for p in half_play])[:, at.clique_gaps > 0.0]
        left, right = 16.0 * float(at.rate @ np.sqrt(q).sum(axis=1)), 256.0 * at.difficulty + shared
    else:
        left, right = 16.0 * float(at.rate @ np.sqrt(at.beside)), 256.0 * z * at.difficulty + shared
    return Check("16 sum sqrt(x+/t) <= 256 z W + (R + 2C)/(2z)", "eqn:cor-bound-2", left, right)


class _Instance(NamedTuple):
    """What the displays of Theorem 1's proof share, for one play."""

    best_arm: int
    rate: Array
    """``1 / sqrt(t)``, shape (T,)."""
    elsewhere: Array
    """``sum sqrt(q_k)`` over the cliques other than the best, shape (T,)."""
    beside: Array
    """``x``, the mass beside the best arm in its clique, shape (T,)."""
    clique_gaps: Array
    difficulty: float
    """``sum log T / Delta_k`` over the gaps above 0."""


def _instance(play: Array, cover: CliqueCover, means: ArrayLike, z: float) -> _Instance:
    mu = np.asarray(means, dtype=np.float64)
    horizon, best_arm = len(play), int(mu.argmin())
    gaps = mu - mu[best_arm]
    if not z > 0.0 or horizon < 3 or np.count_nonzero(gaps == 0.0) != 1:
        raise InvalidParameter(
            f"z is {z!r}, there are {horizon} rounds and the means are {means!r}; "
            "expected z above 0, at least 3 rounds and a unique best arm"
        )
    best = int(cover.owner[best_arm])
    clique_gaps = np.array([min((gaps[i] for i in c if i != best_arm), default=0.0) for c in cover.cliques])
    q = np.array([masses(cover, p) for p in play])
    return _Instance(
        best_arm,
        rate=1.0 / np.sqrt(np.arange(1, horizon + 1)),
        elsewhere=np.sqrt(np.delete(q, best, axis=1)).sum(axis=1),
        beside=play[:, [int(i) for i in cover.cliques[best] if i != best_arm]].sum(axis=1),
        clique_gaps=clique_gaps,
        difficulty=math.log(horizon) * float((1.0 / clique_gaps[clique_gaps > 0.0]).sum()),
    )
