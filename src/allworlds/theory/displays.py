"""The displays inside the proofs of Lemmas 4 and 5 and of Theorem 1, as printed, and step 7 of the sharp proof.

Those of Lemma 5 are about one round. The draw is enumerated. An intermediate point is known only to lie between
``p_t`` and the half step, so a left side is the largest over that segment, for each draw; ``s`` is the sum of
``sqrt(q_k)`` over the cliques other than the best. ``sharp`` has the same steps with smaller constants.

The others are about a whole run, as arrays with one row a round. The proof of Theorem 1 is about expectations, which
are passed as arrays; where the clean losses are their means in every round, its displays hold for every single run.
Step 7 of ``docs/sharp_constants.md`` is taken in the form that holds for every single run, so that one can refute it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from allworlds.covers import CliqueCover
from allworlds.foundation.checks import real
from allworlds.foundation.errors import InvalidParameter
from allworlds.theory.bounds import difficulty
from allworlds.theory.check import Check
from allworlds.theory.hessian import dual_norm_squared
from allworlds.theory.penalty_stability import entropy_penalty
from allworlds.theory.regret import clique_gaps
from allworlds.theory.rounds import Round, mass_beside, masses
from allworlds.theory.sharp import SharpNumbers

Array = NDArray[np.float64]


def split_by_draw(state: Round) -> Check:
    """The squared dual norm is at most twice the drawn clique's part plus twice the others'.

    For the draw and the intermediate point with the least room.

    [EK21, proof of Lemma 5: the display that ends in eqn:stability-chosen-clique and eqn:stability-other-cliques]
    """
    lefts, rights = [], []
    for k in range(state.cover.n_cliques):
        g = state.estimates[k] - state.losses[state.best_arm]
        points = state.segment(k)
        lefts.append(dual_norm_squared(g, points, state.cover, state.constants.alpha))
        rights.append(2.0 * (_chosen(state, k, points) + _others(state, k, points)))
    left, right = np.concatenate(lefts), np.concatenate(rights)
    tightest = int(np.argmin(right - left))
    text = "|lhat - l*|*^2 <= 2 drawn + 2 others"
    return Check(text, "eqn:stability-split", float(left[tightest]), float(right[tightest]), scale=float(right.max()))


def chosen_clique(state: Round) -> Check:
    """The drawn clique's part, in expectation, is at most ``16 s + 4 sqrt(E x+)``.

    The printed proof drops a term (slip 3 of ``docs/paper_map.md``); the inequality held on every state that was tried.

    [EK21, proof of Lemma 5: eqn:stability-chosen-clique]
    """
    left = state.expected([_chosen(state, k, state.segment(k)).max() for k in range(state.cover.n_cliques)])
    half_others = state.half_steps[:, state.others].sum(axis=1)
    right = 16.0 * state.root_sum + 4.0 * math.sqrt(state.expected(half_others))
    return Check("drawn clique <= 16 s + 4 sqrt(E x+)", "eqn:stability-chosen-clique", left, right)


def other_cliques(state: Round) -> Check:
    """The part of the cliques that were not drawn, in expectation, is at most ``12 s``.

    [EK21, proof of Lemma 5: eqn:stability-other-cliques]
    """
    left = state.expected([_others(state, k, state.segment(k)).max() for k in range(state.cover.n_cliques)])
    return Check("cliques not drawn <= 12 s", "eqn:stability-other-cliques", left, 12.0 * state.root_sum)


def masses_not_drawn(state: Round) -> Check:
    """Lemma 7 in the others' part: ``E sum q~_k^(3/2) <= 6 E sum q_k^(3/2)`` over the cliques not drawn.

    [EK21, proof of Lemma 5: eqn:q-stab-neg]
    """
    draws = range(state.cover.n_cliques)
    between = [_without(masses(state.cover, state.segment(k)), k).max() for k in draws]
    before = [_without(state.mass, k) for k in draws]
    left, right = state.expected(between), 6.0 * state.expected(before)
    return Check("E sum q~^1.5 <= 6 E sum q^1.5", "eqn:q-stab-neg", left, right)


def chance_not_drawn(state: Round) -> Check:
    """Clique ``k`` is not drawn with probability ``1 - q_k``: ``6 sum (1 - q_k) q_k^(3/2) <= 12 s``.

    The left side equals the right side of :func:`masses_not_drawn`.

    [EK21, proof of Lemma 5: eqn:prob-not-chosen and the line after it]
    """
    q = state.mass
    left = 6.0 * float(((1.0 - q) * q**1.5).sum())
    return Check("6 sum (1 - q) q^1.5 <= 12 s", "eqn:prob-not-chosen", left, 12.0 * state.root_sum, rounding=1e-13)


def _chosen(state: Round, drawn: int, points: Array) -> Array:
    """``sqrt(p~(V)) sum_i p~_i (lhat_i - l*)^2`` over the drawn clique, for each point."""
    clique = state.members(drawn)
    squares = (state.estimates[drawn, clique] - state.losses[state.best_arm]) ** 2
    part: Array = np.sqrt(points[:, clique].sum(axis=1)) * (points[:, clique] @ squares)
    return part


def _others(state: Round, drawn: int, points: Array) -> Array:
    """``sum_k p~(V_k)^(3/2) (l*)^2`` over the cliques that were not drawn, for each point."""
    return _without(masses(state.cover, points), drawn) * float(state.losses[state.best_arm] ** 2)


def _without(q: Array, drawn: int) -> Array:
    """``sum q_k^(3/2)`` over the cliques that were not drawn, along the last axis."""
    summed: Array = (np.delete(q, drawn, axis=-1) ** 1.5).sum(axis=-1)
    return summed


def penalty_mid_term(distributions: Array, cover: CliqueCover, best_arm: int, gamma: float) -> Check:
    """The entropy's penalty before the best clique's entropy is bounded; ``distributions`` (T, N) are above ``gamma``.

    Right side: ``5 log^2(1/gamma) sum sqrt(q_k/t)`` over the other cliques plus
    ``sum_t (t q*)^(-1/2) sum_i p_i log(q*/p_i)`` over the best one. Needs ``gamma <= 1/e``.

    [EK21, proof of Lemma 4: eqn:penalty-mid-term]
    """
    log_floor = math.log(1.0 / real("gamma", gamma, above=0, at_most=1.0 / cover.n_arms))
    if log_floor < 1.0:
        raise InvalidParameter(f"gamma is {gamma!r}; expected at most 1/e, because 2 (log^2 + 1) + log <= 5 log^2")
    left, alpha = entropy_penalty(distributions, cover, best_arm, gamma), 2.0 * (log_floor**2 + 1.0)
    rounds, best = np.arange(1, len(distributions) + 1), int(cover.owner[best_arm])
    q, inside = masses(cover, distributions), distributions[:, np.asarray(cover.cliques[best])]
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
    at, spent = _long_instance(play, cover, means, z), real("corruption", corruption, at_least=0)
    left = factor * float(at.rate @ np.sqrt(at.mass).sum(axis=1))
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
    at, spent = _long_instance(half_play, cover, means, z), real("corruption", corruption, at_least=0)
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
    at = _long_instance(half_play, cover, means, z)
    shared = (regret + 2.0 * real("corruption", corruption, at_least=0)) / (2.0 * z)
    if printed:
        q = masses(cover, half_play)[:, at.gaps > 0.0]
        left, right = 16.0 * float(at.rate @ np.sqrt(q).sum(axis=1)), 256.0 * at.difficulty + shared
    else:
        left, right = 16.0 * float(at.rate @ np.sqrt(at.beside)), 256.0 * z * at.difficulty + shared
    return Check("16 sum sqrt(x+/t) <= 256 z W + (R + 2C)/(2z)", "eqn:cor-bound-2", left, right)


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
    at, mu = _instance(distributions, cover, means, z), np.asarray(means, dtype=np.float64)
    numbers = SharpNumbers(cover.sizes)
    left = float(at.rate @ (np.sqrt(at.mass) @ numbers.weights(at.best_clique)))
    w = difficulty(numbers, at.gaps, at.best_clique, len(distributions))
    right = z / 2.0 * w + float((distributions @ (mu - mu.min())).sum()) / (2.0 * z)
    return Check("sum B sqrt(q/t) <= z W/2 + P/(2z)", "sharp-7-young", left, right)


class _Instance(NamedTuple):
    """What Theorem 1's displays and Young's line share, for one play."""

    best_arm: int
    best_clique: int
    rate: Array
    """``1 / sqrt(t)``, shape (T,)."""
    mass: Array
    """``q_k``, and ``x`` in the column of the best clique, shape (T, K)."""
    gaps: Array
    """``Delta_k``, shape (K,)."""

    @property
    def beside(self) -> Array:
        """``x``, the mass beside the best arm in its clique, shape (T,)."""
        return self.mass[:, self.best_clique]

    @property
    def difficulty(self) -> float:
        """``sum log T / Delta_k`` over the gaps above 0."""
        return math.log(len(self.rate)) * float((1.0 / self.gaps[self.gaps > 0.0]).sum())


def _instance(play: Array, cover: CliqueCover, means: ArrayLike, z: float) -> _Instance:
    if not z > 0.0:
        raise InvalidParameter(f"z is {z!r}; expected a number above 0")
    gaps, best_arm = clique_gaps(means, cover), int(np.argmin(means))
    best, mass = int(cover.owner[best_arm]), masses(cover, play)
    mass[:, best] = mass_beside(cover, play, best_arm)
    return _Instance(best_arm, best, 1.0 / np.sqrt(np.arange(1, len(play) + 1)), mass, gaps)


def _long_instance(play: Array, cover: CliqueCover, means: ArrayLike, z: float) -> _Instance:
    if len(play) < 3:
        raise InvalidParameter(f"there are {len(play)} rounds; expected at least 3, so that sum 1/t <= 2 log T")
    return _instance(play, cover, means, z)
