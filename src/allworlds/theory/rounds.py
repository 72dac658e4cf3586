"""One round of Algorithm 1 as the proofs see it: the distribution, and every half step it could take.

The half step ``p_t^+`` minimises the same function as ``p_t`` with this round's loss estimates added
[EK21, Theorem 2]. It depends on the clique that was drawn. The proofs take an expectation over that
draw, so a round carries one half step for each clique: nothing is simulated, everything is enumerated.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from allworlds.covers import CliqueCover
from allworlds.foundation.errors import InvalidConstants, InvalidParameter
from allworlds.ftrl.constants import Constants
from allworlds.ftrl.solve import solve_ftrl
from allworlds.theory.hessian import dual_norm_squared

Array = NDArray[np.float64]

SEGMENT_POINTS = 17  # the proofs know of an intermediate point only that it lies between: look at many


@dataclass(frozen=True)
class Round:
    """The state of one round, with ``K`` cliques and ``N`` arms.

    ``distribution`` (N,) is ``p_t``; row ``k`` of ``half_steps`` (K, N) is ``p_t^+`` if an arm of clique
    ``k`` is drawn; ``losses`` (N,) are the losses of this round, in [0, 1].
    """

    cover: CliqueCover
    distribution: Array
    half_steps: Array
    cumulative_losses: Array
    losses: Array
    learning_rate: float
    constants: Constants
    best_arm: int

    @cached_property
    def mass(self) -> Array:
        """``q_k = p_t(V_k)``, shape (K,)."""
        return masses(self.cover, self.distribution)

    @cached_property
    def half_mass(self) -> Array:
        """``p_t^+(V_j)`` if clique ``k`` is drawn, at ``[k, j]``, shape (K, K)."""
        return np.array([masses(self.cover, step) for step in self.half_steps])

    @cached_property
    def best_clique(self) -> int:
        """``k*``, the clique of the best arm."""
        return int(self.cover.owner[self.best_arm])

    @cached_property
    def others(self) -> NDArray[np.intp]:
        """The arms of the best clique without the best arm."""
        clique = np.asarray(self.cover.cliques[self.best_clique], dtype=np.intp)
        return np.setdiff1d(clique, [self.best_arm])

    @property
    def best_mass(self) -> float:
        """``q* = p_t(V*)``."""
        return float(self.mass[self.best_clique])

    @property
    def others_mass(self) -> float:
        """``x = p_t(V* minus i*)``."""
        return float(self.distribution[self.others].sum())

    @property
    def root_sum(self) -> float:
        """``s``, the sum of ``sqrt(q_k)`` over the cliques other than the best; at least ``sqrt(1 - q*)``."""
        return float(np.sqrt(np.delete(self.mass, self.best_clique)).sum())

    @cached_property
    def estimates(self) -> Array:
        """Row ``k``: the loss estimates if clique ``k`` is drawn, ``l_i / q_k`` there, else 0, (K, N)."""
        estimates = np.zeros((self.cover.n_cliques, self.cover.n_arms))
        for k, clique in enumerate(self.cover.cliques):
            estimates[k, list(clique)] = self.losses[list(clique)] / self.mass[k]
        return estimates

    def segment(self, clique: int) -> Array:
        """Points from ``p_t`` to the half step of ``clique``, both ends among them, shape (17, N)."""
        weight = np.linspace(0.0, 1.0, SEGMENT_POINTS)[:, None]
        points: Array = (1.0 - weight) * self.distribution + weight * self.half_steps[clique]
        return points

    def largest_dual_norm(self, clique: int, g: Array) -> float:
        """The largest squared dual local norm of ``g`` over the segment of ``clique``."""
        return float(dual_norm_squared(g, self.segment(clique), self.cover, self.constants.alpha).max())

    def expected(self, values: Array) -> float:
        """The expectation over the drawn clique of one value for each clique."""
        return float(self.mass @ values)


def check_unbiased(constants: Constants) -> None:
    """Refuse constants whose estimates are not those of Algorithm 1: no statement here is about others."""
    if not constants.is_unbiased:
        raise InvalidConstants(
            f"the paper's statements are about estimates l / p(V), but {constants.label} constants have others; "
            "take Constants.paper or Constants.sharp"
        )


def masses(cover: CliqueCover, p: Array) -> Array:
    """``p(V_k)`` for each clique, shape (K,)."""
    summed = np.zeros(cover.n_cliques)
    np.add.at(summed, np.asarray(cover.owner), p)
    return summed


def half_steps(
    cover: CliqueCover,
    cumulative_losses: Array,
    distribution: Array,
    losses: Array,
    learning_rate: float,
    constants: Constants,
) -> Array:
    """Every half step of a round: row ``k`` is ``p_t^+`` if an arm of clique ``k`` is drawn, shape (K, N).

    [EK21, Theorem 2: ``p_t^+`` minimises ``Lhat_t·p + R_t(p)``]
    """
    check_unbiased(constants)
    q = masses(cover, distribution)
    steps = np.empty((cover.n_cliques, cover.n_arms))
    for k, clique in enumerate(cover.cliques):
        after = np.array(cumulative_losses, dtype=np.float64)
        after[list(clique)] += losses[list(clique)] / q[k]
        steps[k] = solve_ftrl(cover, after, learning_rate, constants).distribution
    return steps


def round_state(
    cover: CliqueCover,
    cumulative_losses: Array,
    losses: Array,
    learning_rate: float,
    constants: Constants,
    best_arm: int,
) -> Round:
    """Solve a round: its distribution and all its half steps.

    >>> from allworlds.covers import clique_cover
    >>> from allworlds.graphs import disjoint_cliques
    >>> cover = clique_cover(disjoint_cliques(2, 1))
    >>> state = round_state(cover, np.zeros(2), np.ones(2), 0.5, Constants.sharp(cover), best_arm=0)
    >>> state.distribution.round(9).tolist(), bool(state.half_steps[0, 0] < 0.5)
    ([0.5, 0.5], True)
    """
    losses = np.asarray(losses, dtype=np.float64)
    if not np.all((losses >= 0.0) & (losses <= 1.0)):
        raise InvalidParameter("losses leave [0, 1]; the proofs need losses between 0 and 1")
    if not 0 <= best_arm < cover.n_arms:
        raise InvalidParameter(f"best_arm is {best_arm!r}; expected an arm from 0 to {cover.n_arms - 1}")
    p = solve_ftrl(cover, cumulative_losses, learning_rate, constants).distribution
    steps = half_steps(cover, cumulative_losses, p, losses, learning_rate, constants)
    return Round(cover, p, steps, np.asarray(cumulative_losses), losses, learning_rate, constants, best_arm)
