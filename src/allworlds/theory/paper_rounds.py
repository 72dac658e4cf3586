"""The displays of the proof of Lemma 5, as printed, for one round.

``sharp.py`` has the same steps with smaller constants; here are the paper's own. The draw is enumerated. An
intermediate point is known only to lie between ``p_t`` and the half step, so a left side is the largest over that
segment, for each draw. ``s`` is the sum of ``sqrt(q_k)`` over the cliques other than the best.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from allworlds.theory.check import Check
from allworlds.theory.hessian import dual_norm_squared
from allworlds.theory.rounds import Round, masses

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
    parts = [float(_chosen(state, k, state.segment(k)).max()) for k in range(state.cover.n_cliques)]
    half_others = state.half_steps[:, state.others].sum(axis=1)
    right = 16.0 * state.root_sum + 4.0 * math.sqrt(state.expected(half_others))
    left = state.expected(np.array(parts))
    return Check("drawn clique <= 16 s + 4 sqrt(E x+)", "eqn:stability-chosen-clique", left, right)


def other_cliques(state: Round) -> Check:
    """The part of the cliques that were not drawn, in expectation, is at most ``12 s``.

    [EK21, proof of Lemma 5: eqn:stability-other-cliques]
    """
    parts = [float(_others(state, k, state.segment(k)).max()) for k in range(state.cover.n_cliques)]
    left = state.expected(np.array(parts))
    return Check("cliques not drawn <= 12 s", "eqn:stability-other-cliques", left, 12.0 * state.root_sum)


def masses_not_drawn(state: Round) -> Check:
    """Lemma 7 in the others' part: ``E sum q~_k^(3/2) <= 6 E sum q_k^(3/2)`` over the cliques not drawn.

    [EK21, proof of Lemma 5: eqn:q-stab-neg]
    """
    n_cliques = state.cover.n_cliques
    before, between = np.zeros(n_cliques), np.zeros(n_cliques)
    for k in range(n_cliques):
        moved = np.array([masses(state.cover, p) for p in state.segment(k)])
        between[k] = (np.delete(moved, k, axis=1) ** 1.5).sum(axis=1).max()
        before[k] = (np.delete(state.mass, k) ** 1.5).sum()
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
    clique = np.asarray(state.cover.cliques[drawn])
    squares = (state.estimates[drawn, clique] - state.losses[state.best_arm]) ** 2
    part: Array = np.sqrt(points[:, clique].sum(axis=1)) * (points[:, clique] @ squares)
    return part


def _others(state: Round, drawn: int, points: Array) -> Array:
    """``sum_k p~(V_k)^(3/2) (l*)^2`` over the cliques that were not drawn, for each point."""
    q = np.delete(np.array([masses(state.cover, p) for p in points]), drawn, axis=1)
    part: Array = (q**1.5).sum(axis=1) * state.losses[state.best_arm] ** 2
    return part
