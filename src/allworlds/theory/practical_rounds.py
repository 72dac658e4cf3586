"""One round of the learner with its default constants: what it knows, what it plays, every half step it could take.

Notation as in ``practical_coefficients``; ``S`` is the sum of ``sqrt(q_k)`` over the cliques other than the best one.
``rounds`` has the same for the paper's estimates, without a baseline and without a limit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from allworlds.covers import CliqueCover
from allworlds.foundation.errors import InvalidParameter
from allworlds.ftrl.constants import Constants
from allworlds.ftrl.solve import FTRLSolution, solve_ftrl
from allworlds.theory import practical_coefficients as number
from allworlds.theory.practical_coefficients import KAPPA, Numbers, numbers_of
from allworlds.theory.rounds import SEGMENT_POINTS, masses

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PracticalRound:
    """One round of the learner with the constants of Theorem C; ``distribution`` and all half steps are solved.

    ``baseline`` is ``b_t`` and ``highest`` the highest baseline up to now. Arrays named by clique have row ``k`` for
    the draw of clique ``k``.
    """

    cover: CliqueCover
    constants: Constants
    round: int
    baseline: float
    highest: float
    cumulative_losses: Array
    losses: Array
    best_arm: int

    def __post_init__(self) -> None:
        top = number.highest_baseline(self.constants)
        if not 0.0 <= self.baseline <= self.highest <= top:
            raise InvalidParameter(
                f"baseline is {self.baseline} and highest {self.highest}; expected 0 <= baseline <= highest <= {top:g}"
            )
        if not np.all((self.losses >= 0.0) & (self.losses <= 1.0)):
            raise InvalidParameter("losses leave [0, 1]; the proof needs losses between 0 and 1")

    @cached_property
    def numbers(self) -> Numbers:
        """The numbers of the theorem; raises ``InvalidConstants`` where it does not hold."""
        return numbers_of(self.cover.sizes, self.constants)

    @property
    def barrier(self) -> float:
        """``beta_t``."""
        return self.constants.beta + self.constants.barrier_slope * self.highest

    @property
    def effective_round(self) -> float:
        """``s_t = t + h``."""
        return self.round + self.constants.head_start

    @property
    def rates(self) -> Array:
        """``eta_{t,k} = eta_t sigma_k``, shape (K,)."""
        return self.constants.learning_rate(self.round) * self.constants.rate_factors

    @cached_property
    def solution(self) -> FTRLSolution:
        """The step."""
        return self.solve(self.cumulative_losses)

    def solve(self, cumulative_losses: Array) -> FTRLSolution:
        """The minimiser with this round's rate and barrier for other cumulative losses."""
        now = replace(self.constants, beta=self.barrier, barrier_slope=0.0)
        return solve_ftrl(self.cover, cumulative_losses, self.constants.learning_rate(self.round), now)

    @property
    def distribution(self) -> Array:
        """``p_t``, shape (N,)."""
        return self.solution.distribution

    @property
    def mass(self) -> Array:
        """``q_k``, shape (K,)."""
        return self.solution.clique_mass

    @cached_property
    def raw_estimates(self) -> Array:
        """``g_i = (l_i - b) / q_k`` in the drawn clique, else 0, shape (K, N)."""
        owner = np.asarray(self.cover.owner)
        drawn = owner[None, :] == np.arange(self.cover.n_cliques)[:, None]
        raw: Array = np.where(drawn, (self.losses - self.baseline) / self.mass[owner], 0.0)
        return raw

    @cached_property
    def excess(self) -> Array:
        """``z_k``: how far the drawn clique's lowest loss would rise above the limit, shape (K,)."""
        limit = self.solution.multiplier + self.constants.deficit_limit * self.effective_round
        excess = np.zeros(self.cover.n_cliques)
        for k, clique in enumerate(self.cover.cliques):
            before = self.cumulative_losses[clique]
            after = before + self.raw_estimates[k, clique]
            excess[k] = max(0.0, float(after.min()) - max(float(before.min()), limit))
        return excess

    @cached_property
    def estimates(self) -> Array:
        """``lhat``: what is added to the cumulative losses, shape (K, N)."""
        held: Array = np.minimum(self.excess[:, None], np.maximum(self.raw_estimates, 0.0))
        return self.raw_estimates - held

    @cached_property
    def half_solutions(self) -> tuple[FTRLSolution, ...]:
        """The half step for each drawn clique."""
        return tuple(self.solve(self.cumulative_losses + row) for row in self.estimates)

    @cached_property
    def half_mass(self) -> Array:
        """``q_j^+`` if clique ``k`` is drawn, at ``[k, j]``, shape (K, K)."""
        return np.array([half.clique_mass for half in self.half_solutions])

    @cached_property
    def best_clique(self) -> int:
        """``k*``."""
        return int(self.cover.owner[self.best_arm])

    @cached_property
    def others(self) -> NDArray[np.intp]:
        """The arms of the best clique without the best arm."""
        return np.setdiff1d(np.asarray(self.cover.cliques[self.best_clique], dtype=np.intp), [self.best_arm])

    @property
    def best_mass(self) -> float:
        """``q*``."""
        return float(self.mass[self.best_clique])

    @property
    def others_mass(self) -> float:
        """``x``."""
        return float(self.distribution[self.others].sum())

    @property
    def root_sum(self) -> float:
        """``S``."""
        return float(np.sqrt(np.delete(self.mass, self.best_clique)).sum())

    @property
    def growth(self) -> float:
        """``rho_t^(3/2) delta_t^2`` of this round."""
        return number.growth(self.barrier, self.baseline, self.numbers.rebound)

    def entropy(self, p: Array) -> float:
        """``Psi(p) = -sum_k sqrt(q_k) (alpha_k + H(y)) / sigma_k``."""
        total, sigma = 0.0, self.constants.rate_factors
        for k, clique in enumerate(self.cover.cliques):
            x = p[clique]
            q = float(x.sum())
            y = x[x > 0.0] / q
            total -= math.sqrt(q) * (self.constants.alpha[k] - float(y @ np.log(y))) / sigma[k]
        return total

    def barrier_value(self, p: Array) -> float:
        """``-sum_k log q_k``."""
        return -float(np.log(masses(self.cover, p)).sum())

    def price(self, clique: int, mass: float, cumulative_losses: Array) -> float:
        """``V_k'(q; L) = L·y - (alpha + H(y)) / (2 eta_k sqrt(q)) - beta_t / q``, ``y`` the softmax at that mass."""
        y, log_y, losses = self._conditional(clique, mass, cumulative_losses)
        range_part = (self.constants.alpha[clique] - float(y @ log_y)) / (2.0 * self.rates[clique] * math.sqrt(mass))
        return float(losses @ y - range_part - self.barrier / mass)

    def price_slope(self, clique: int, mass: float, cumulative_losses: Array) -> float:
        """``V_k''(q; L) = (alpha + H - Var(log y)) / (4 eta_k q^(3/2)) + beta_t / q^2``."""
        y, log_y, _ = self._conditional(clique, mass, cumulative_losses)
        entropy = -float(y @ log_y)
        bracket = self.constants.alpha[clique] + entropy - float(y @ (log_y + entropy) ** 2)
        return float(bracket / (4.0 * self.rates[clique] * mass**1.5) + self.barrier / mass**2)

    def _conditional(self, clique: int, mass: float, cumulative_losses: Array) -> tuple[Array, Array, Array]:
        losses = cumulative_losses[self.cover.cliques[clique]]
        exponent = -self.rates[clique] * math.sqrt(mass) * (losses - losses.min())
        log_y = exponent - math.log(np.exp(exponent).sum())
        return np.exp(log_y), log_y, losses

    def shares(self, drawn: int, arms: NDArray[np.intp], shift: float) -> float:
        """The largest ``sum eta_k sqrt(q~_k) p~_i (lhat_i - c)^2 / (2 kappa)`` over ``arms``, up to the half step."""
        weight = np.linspace(0.0, 1.0, SEGMENT_POINTS)[:, None]
        points = (1.0 - weight) * self.distribution + weight * self.half_solutions[drawn].distribution
        roots = np.sqrt((1.0 - weight) * self.mass + weight * self.half_mass[drawn]) * self.rates
        squares = (self.estimates[drawn] - shift) ** 2
        terms = roots[:, np.asarray(self.cover.owner)] * points * squares
        return float(terms[:, arms].sum(axis=1).max()) / (2.0 * KAPPA)

    def reach_price(self, x: Array) -> Array:
        """``R_k x / (2 eta_k) + beta_t x^2`` at ``x = 1 / sqrt(q_k)``, shape (K,)."""
        price: Array = self.numbers.reach * x / (2.0 * self.rates) + self.barrier * x**2
        return price

    def members(self, clique: int) -> NDArray[np.intp]:
        """The arms of a clique."""
        return np.asarray(self.cover.cliques[clique], dtype=np.intp)
