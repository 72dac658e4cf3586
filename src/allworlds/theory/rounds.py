"""One round of the learner as the proofs see it: the distribution, and every half step it could take.

The half step ``p_t^+`` minimises the same function as ``p_t`` with this round's loss estimates added
[EK21, Theorem 2]. It depends on the clique that is drawn. The proofs take an expectation over that draw, so a round
has one half step for each clique: nothing is simulated, everything is enumerated.

:class:`Round` has the estimates ``(l - b) / p(V)``, where the baseline ``b`` is 0 with the paper's and the sharp
constants. :class:`PracticalRound` adds what only the proof for ``Constants.practical`` speaks of, in the notation of
``practical_coefficients``: prices, and estimates that are held back.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from allworlds.covers import CliqueCover
from allworlds.foundation.errors import InvalidConstants, InvalidParameter
from allworlds.ftrl.constants import Constants
from allworlds.ftrl.solve import FTRLSolution, solve_ftrl
from allworlds.theory.hessian import dual_norm_squared
from allworlds.theory.practical_coefficients import KAPPA, Numbers, growth, highest_baseline, numbers_of
from allworlds.theory.regulariser import clique_entropies, log_barrier

Array = NDArray[np.float64]

SEGMENT_POINTS = 17  # an intermediate point is known only to lie between two others, so many are tried


def masses(cover: CliqueCover, p: Array) -> Array:
    """``p(V_k)`` for each clique: shape (..., K) for ``p`` of shape (..., N)."""
    summed: Array = np.add.reduceat(p[..., cover.order], cover.starts[:-1], axis=-1)
    return summed


def mass_beside(cover: CliqueCover, p: Array, best_arm: int) -> Array:
    """``x``, the mass of the best arm's clique without that arm: shape (...) for ``p`` of shape (..., N)."""
    clique = cover.cliques[int(cover.owner[best_arm])]
    summed: Array = p[..., clique[clique != best_arm]].sum(axis=-1)
    return summed


@dataclass(frozen=True, eq=False)
class Round:
    """The state of one round, with ``K`` cliques and ``N`` arms; its steps are solved when they are needed.

    ``baseline`` is ``b_t`` and ``highest`` the highest baseline so far; ``losses`` (N,) are those of this round, in
    [0, 1]. The learning rate is that of ``round``, unless another ``rate`` is given. Row ``k`` of an array of shape
    (K, N) is for the draw of clique ``k``.
    """

    cover: CliqueCover
    constants: Constants
    round: int
    baseline: float
    highest: float
    cumulative_losses: Array
    losses: Array
    best_arm: int
    rate: float | None = None

    def __post_init__(self) -> None:
        if not np.all((self.losses >= 0.0) & (self.losses <= 1.0)):
            low, high = float(np.min(self.losses)), float(np.max(self.losses))
            raise InvalidParameter(f"losses go from {low:g} to {high:g}; expected numbers between 0 and 1")
        if not 0 <= self.best_arm < self.cover.n_arms:
            raise InvalidParameter(f"best_arm is {self.best_arm!r}; expected an arm from 0 to {self.cover.n_arms - 1}")

    @property
    def learning_rate(self) -> float:
        """``eta_t``."""
        return self.constants.learning_rate(self.round) if self.rate is None else self.rate

    @property
    def barrier(self) -> float:
        """``beta_t``."""
        return self.constants.beta + self.constants.barrier_slope * self.highest

    def solve(self, cumulative_losses: Array) -> FTRLSolution:
        """The minimiser with this round's rate and barrier for other cumulative losses."""
        now = replace(self.constants, beta=self.barrier, barrier_slope=0.0)
        return solve_ftrl(self.cover, cumulative_losses, self.learning_rate, now)

    @cached_property
    def solution(self) -> FTRLSolution:
        """The step."""
        return self.solve(self.cumulative_losses)

    @cached_property
    def distribution(self) -> Array:
        """``p_t``, shape (N,)."""
        return self.solution.distribution

    @cached_property
    def half_steps(self) -> Array:
        """``p_t^+`` for each drawn clique, shape (K, N)."""
        return np.array([self.solve(self.cumulative_losses + row).distribution for row in self.estimates])

    @cached_property
    def raw_estimates(self) -> Array:
        """``g_i = (l_i - b) / q_k`` in the drawn clique, else 0, shape (K, N)."""
        return _where_drawn(self.cover, self.losses - self.baseline, self.mass)

    @cached_property
    def estimates(self) -> Array:
        """``lhat``: what is added to the cumulative losses, shape (K, N)."""
        return self.raw_estimates

    @cached_property
    def mass(self) -> Array:
        """``q_k = p_t(V_k)``, shape (K,)."""
        return masses(self.cover, self.distribution)

    @cached_property
    def half_mass(self) -> Array:
        """``p_t^+(V_j)`` if clique ``k`` is drawn, at ``[k, j]``, shape (K, K)."""
        return masses(self.cover, self.half_steps)

    @cached_property
    def best_clique(self) -> int:
        """``k*``, the clique of the best arm."""
        return int(self.cover.owner[self.best_arm])

    @cached_property
    def others(self) -> NDArray[np.intp]:
        """The arms of the best clique without the best arm."""
        return np.setdiff1d(self.members(self.best_clique), [self.best_arm])

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
        """``s`` or ``S``, the sum of ``sqrt(q_k)`` over the other cliques; at least ``sqrt(1 - q*)``."""
        return float(np.sqrt(np.delete(self.mass, self.best_clique)).sum())

    @property
    def larger_root(self) -> float:
        """``sqrt(max(x, x+))`` for a draw of the best clique."""
        after = float(self.half_steps[self.best_clique, self.others].sum())
        return math.sqrt(max(self.others_mass, after))

    def in_roots(self, on_x: float, on_s: float, on_log: float) -> float:
        """``a sqrt(x) + (b + c sqrt(log d*)) S``, the form of the half-step lemmas."""
        log_size = math.log(1 + len(self.others))
        return on_x * math.sqrt(self.others_mass) + (on_s + on_log * math.sqrt(log_size)) * self.root_sum

    def members(self, clique: int) -> NDArray[np.intp]:
        """The arms of a clique."""
        return np.asarray(self.cover.cliques[clique], dtype=np.intp)

    def segment(self, clique: int) -> Array:
        """Points from ``p_t`` to the half step of ``clique``, both ends among them, shape (17, N)."""
        weight = np.linspace(0.0, 1.0, SEGMENT_POINTS)[:, None]
        points: Array = (1.0 - weight) * self.distribution + weight * self.half_steps[clique]
        return points

    def largest_sum(self, drawn: int, arms: NDArray[np.intp], shift: float, weights: ArrayLike = 1.0) -> float:
        """The largest ``sum w_k sqrt(q~_k) p~_i (lhat_i - shift)^2`` over ``arms``, on the segment of ``drawn``."""
        points = self.segment(drawn)
        roots = np.sqrt(masses(self.cover, points)) * weights
        terms = roots[:, np.asarray(self.cover.owner)] * points * (self.estimates[drawn] - shift) ** 2
        return float(terms[:, arms].sum(axis=1).max())

    def expected(self, values: ArrayLike) -> float:
        """The expectation over the drawn clique of one value for each clique."""
        return float(self.mass @ np.asarray(values))

    def largest_dual_norm(self, clique: int, g: Array) -> float:
        """The largest squared dual local norm of ``g`` over the segment of ``clique``."""
        return float(dual_norm_squared(g, self.segment(clique), self.cover, self.constants.alpha).max())

    def entropy(self, p: Array) -> float:
        """``Psi(p) = -sum_k sqrt(q_k) (alpha_k + H(y)) / sigma_k``."""
        return float((clique_entropies(p, self.cover, self.constants.alpha) / self.constants.rate_factors).sum())

    def barrier_value(self, p: Array) -> float:
        """``-sum_k log q_k``."""
        return log_barrier(p, self.cover, 1.0)

    def stability(self, estimate: Array, half: Array) -> float:
        """``lhat·p + F(p) - F+(p+)``, ``F`` what ``p`` minimises and ``F+`` what ``p+`` does.

        A common shift of the losses cancels.
        """
        p, losses = self.distribution, self.cumulative_losses - self.cumulative_losses.min()
        smooth = (self.entropy(p) - self.entropy(half)) / self.learning_rate
        walls = self.barrier * (self.barrier_value(p) - self.barrier_value(half))
        return float((losses + estimate) @ (p - half)) + smooth + walls

    @cached_property
    def stabilities(self) -> Array:
        """The stability of each draw, shape (K,)."""
        return np.array([self.stability(*draw) for draw in zip(self.estimates, self.half_steps, strict=True)])


def round_state(
    cover: CliqueCover,
    cumulative_losses: Array,
    losses: Array,
    learning_rate: float,
    constants: Constants,
    best_arm: int,
) -> Round:
    """A round with the estimates ``l / p(V)`` of Algorithm 1, for any learning rate.

    Raises ``InvalidConstants`` for constants that have other estimates.

    >>> from allworlds.covers import clique_cover
    >>> from allworlds.graphs import disjoint_cliques
    >>> cover = clique_cover(disjoint_cliques(2, 1))
    >>> state = round_state(cover, np.zeros(2), np.ones(2), 0.5, Constants.sharp(cover), best_arm=0)
    >>> state.distribution.round(9).tolist(), bool(state.half_steps[0, 0] < 0.5)
    ([0.5, 0.5], True)
    """
    _check_unbiased(constants)
    before, now = np.asarray(cumulative_losses), np.asarray(losses, dtype=np.float64)
    return Round(cover, constants, 1, 0.0, 0.0, before, now, best_arm, rate=learning_rate)


def half_steps(
    cover: CliqueCover,
    cumulative_losses: Array,
    distribution: Array,
    losses: Array,
    learning_rate: float,
    constants: Constants,
) -> Array:
    """Every half step of a round: row ``k`` is ``p_t^+`` if an arm of clique ``k`` is drawn, shape (K, N).

    Raises ``InvalidConstants`` unless the constants have the estimates ``l / p(V)`` of Algorithm 1.

    [EK21, Theorem 2: ``p_t^+`` minimises ``Lhat_t·p + R_t(p)``]
    """
    _check_unbiased(constants)
    after = np.asarray(cumulative_losses) + _where_drawn(cover, losses, masses(cover, distribution))
    return np.array([solve_ftrl(cover, row, learning_rate, constants).distribution for row in after])


class PracticalRound(Round):
    """One round of the learner with the constants of Theorem C."""

    def __post_init__(self) -> None:
        super().__post_init__()
        top = highest_baseline(self.constants)
        if not 0.0 <= self.baseline <= self.highest <= top:
            raise InvalidParameter(
                f"baseline is {self.baseline} and highest {self.highest}; expected 0 <= baseline <= highest <= {top:g}"
            )

    @cached_property
    def numbers(self) -> Numbers:
        """The numbers of the theorem; raises ``InvalidConstants`` where it does not hold."""
        return numbers_of(self.cover.sizes, self.constants)

    @property
    def effective_round(self) -> float:
        """``s_t = t + h``."""
        return self.round + self.constants.head_start

    @property
    def rates(self) -> Array:
        """``eta_{t,k} = eta_t sigma_k``, shape (K,)."""
        return self.learning_rate * self.constants.rate_factors

    @property
    def growth(self) -> float:
        """``rho_t^(3/2) delta_t^2`` of this round."""
        return growth(self.barrier, self.baseline, self.numbers.rebound)

    @cached_property
    def excess(self) -> Array:
        """``z_k``: how far the drawn clique's lowest loss would rise above the limit, shape (K,)."""
        c, rounds = self.constants, self.effective_round
        limit = self.solution.multiplier + c.deficit_limit * rounds + c.deficit_root * math.sqrt(rounds)
        before = [self.cumulative_losses[clique] for clique in self.cover.cliques]
        raised = [self.raw_estimates[k, clique] for k, clique in enumerate(self.cover.cliques)]
        pairs = zip(before, raised, strict=True)
        return np.array([max(0.0, (old + raw).min() - max(old.min(), limit)) for old, raw in pairs])

    @cached_property
    def estimates(self) -> Array:
        """``lhat``: what is added to the cumulative losses, shape (K, N)."""
        held: Array = np.minimum(self.excess[:, None], np.maximum(self.raw_estimates, 0.0))
        return self.raw_estimates - held

    def shares(self, drawn: int, arms: NDArray[np.intp], shift: float) -> float:
        """The largest ``sum eta_k sqrt(q~_k) p~_i (lhat_i - c)^2 / (2 kappa)`` over ``arms``, up to the half step."""
        return self.largest_sum(drawn, arms, shift, self.rates / (2.0 * KAPPA))

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


def _where_drawn(cover: CliqueCover, losses: Array, mass: Array) -> Array:
    """``losses / mass`` in clique ``k``, else 0, in row ``k``, shape (K, N)."""
    owner = np.asarray(cover.owner)
    drawn = owner == np.arange(cover.n_cliques)[:, None]
    return np.where(drawn, losses / mass[owner], 0.0)


def _check_unbiased(constants: Constants) -> None:
    if not constants.is_unbiased:
        raise InvalidConstants(
            f"{constants.label} constants have other estimates than l / p(V), which the paper's statements are about; "
            "try Constants.paper or Constants.sharp"
        )
