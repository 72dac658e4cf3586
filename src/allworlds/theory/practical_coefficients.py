"""The numbers of Theorem C, ``docs/default_proof.md``, and which constants the theorem is about.

Notation, as there: ``n`` is the rebound of the largest clique, ``beta_t`` the barrier and ``b`` the baseline of a
round, ``phi`` the highest that a baseline can be, ``rho = beta_t / (beta_t - b - n)`` how much a drawn mass can grow,
``sigma_k`` the rate factor of a clique, ``R_k = alpha_k + log d_k`` its reach, ``s_t = t + h`` the round with the head
start.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from allworlds.covers import CliqueCover, clique_cover
from allworlds.foundation.checks import index
from allworlds.foundation.errors import InvalidConstants
from allworlds.ftrl.constants import Constants
from allworlds.ftrl.sharp import rebound, sharp_alphas
from allworlds.graphs import disjoint_cliques
from allworlds.theory.arguments import checked_sizes

Array = NDArray[np.float64]

KAPPA = 0.25
OTHERS_GROWTH = 4.0  # by how much the half step can raise a mass if the best clique is drawn and has half the mass
WEIGHT = 0.59  # 1 / (1 + sqrt(1/2)) = 0.5858: the entropy's weight grows by at most this over eta0 sqrt(s_t)

# The half-step lemma: sqrt(max(x, x+)) <= STEP_X sqrt(x) + (STEP_S + STEP_LOG sqrt(log d*)) S, where one late round
# changes the odds inside the best clique by at most omega = exp(kappa sqrt(2)) = 1.4242, and 1 - tau <= 6 (1 - q*)
STEP_X = 4.0  # sqrt(4 e omega) = 3.936
STEP_S = 4.83  # sqrt(6 e omega) = 4.820
STEP_LOG = 2.45  # sqrt(6) = 2.4495

BEST_ARM = 1.42  # 2 * 2 * (1/2)^1.5 = 1.4142, (b)
NOT_DRAWN = 8.0  # 2 * 4, (c)
OTHER_ARMS = 4.0  # 1 / kappa, (d)


@dataclass(frozen=True)
class Verdict:
    """Whether Theorem C holds for some constants, and why or why not; true if it does."""

    holds: bool
    reason: str

    def __bool__(self) -> bool:
        return self.holds


def covers(constants: Constants, cover: CliqueCover) -> Verdict:
    """Say whether Theorem C is about these constants on this cover.

    >>> from allworlds.covers import clique_cover
    >>> from allworlds.graphs import disjoint_cliques
    >>> cover = clique_cover(disjoint_cliques(2, 5))
    >>> bool(covers(Constants.practical(cover), cover))
    True
    >>> covers(Constants.unproved(cover), cover).reason
    'implicit_exploration is 57.6185; the proof needs 0'

    ``docs/default_proof.md``, setting.
    """
    c, sizes = constants, cover.sizes
    if len(c.alpha) != len(sizes):
        return Verdict(False, f"there are {len(c.alpha)} alphas for {len(sizes)} cliques")
    if len(sizes) < 2:
        return Verdict(False, "there is one clique; the theorem is about two or more")
    for name, needed in (("implicit_exploration", 0.0), ("gamma", 0.0), ("power", 0.5), ("variance_floor", 1.0)):
        if getattr(c, name) != needed:
            return Verdict(False, f"{name} is {getattr(c, name):g}; the proof needs {needed:g}")
    needed_alpha = sharp_alphas(sizes, KAPPA)
    short = np.flatnonzero(np.array(c.alpha) < needed_alpha * (1.0 - 1e-12))
    if short.size:
        k = int(short[0])
        return Verdict(False, f"alpha is {c.alpha[k]:g} for clique {k}; the proof needs at least {needed_alpha[k]:g}")
    room, at = _least_room(c, rebound(int(sizes.max())))
    if not room > 0.0:
        return Verdict(
            False, f"the barrier exceeds b + n by {room:g} at baseline b = {at:g}; the proof needs more than 0"
        )
    return Verdict(True, f"the barrier exceeds b + n by {room:g} or more, and all other conditions hold")


@dataclass(frozen=True)
class Numbers:
    """What Theorem C computes from the sizes of the cliques and the constants; made by :func:`numbers_of`."""

    sizes: NDArray[np.intp]
    constants: Constants

    @property
    def head_start(self) -> float:
        """``h``."""
        return self.constants.head_start

    @cached_property
    def reach(self) -> Array:
        """``R_k = alpha_k + log d_k``, shape (K,)."""
        reach: Array = np.array(self.constants.alpha) + np.log(self.sizes)
        return reach

    @cached_property
    def rebound(self) -> float:
        """``n``."""
        return rebound(int(self.sizes.max()))

    @property
    def highest_barrier(self) -> float:
        """``beta_max``: the barrier once the mean loss has been 1."""
        return self.constants.beta + _slope(self.constants) * self.constants.baseline_share

    @cached_property
    def growth(self) -> float:
        """``rho_bar``, the largest ``rho^(3/2) max(b, 1 - b)^2`` for ``b`` up to ``phi``.

        ``rho`` falls as the barrier rises, so the highest baseline is ``b`` there. From ``b = 1/2`` on the value rises
        with ``b``, because ``-b rho'/rho < 1``. Below, its logarithm is stationary only at the roots of a quadratic. So
        the ends and these roots are all candidates; further points from 0 to ``phi`` do no harm.
        """
        c, n = self.constants, self.rebound
        slope, top = _slope(c), highest_baseline(c)
        # rho'/rho = (beta - slope n) / ((beta + slope b) (beta - n + (slope - 1) b))
        product = np.polymul([slope, c.beta], [slope - 1.0, c.beta - n])
        rise = 1.5 * (c.beta - slope * n)
        roots = np.roots(np.polysub(2.0 * product, [-rise, rise]))  # where rho^1.5 (1 - b)^2 is stationary
        candidates = np.clip([0.0, top, *roots.real], 0.0, top).tolist()
        return max(growth(c.beta + slope * b, b, n) for b in candidates)

    @cached_property
    def limits(self) -> Array:
        """``G_k``: a clique whose estimate is held back has less than ``G_k / s_t`` of the mass, shape (K,).

        They are 0 without a limit, where ``deficit_limit`` is infinite.
        """
        c = self.constants
        by_rate = (self.reach / (c.deficit_limit * c.eta0 * self.constants.rate_factors)) ** 2
        limits: Array = np.maximum(by_rate, 2.0 * (self.highest_barrier + 1.0) / c.deficit_limit)
        return limits

    @cached_property
    def last_early_round(self) -> int:
        """``t0``: the last round that is not late, 0 if there is none.

        A round is late if every rate ``eta_{t,k}`` is at most ``kappa / (sqrt(2) (1 + n))``, so that no other mass
        grows by more than 4, and if ``s_t >= 2 max G``, so that a best clique with half the mass is not held back.
        """
        c = self.constants
        by_rate = 2.0 * (c.eta0 * float(self.constants.rate_factors.max()) * (1.0 + self.rebound) / KAPPA) ** 2
        return max(0, math.ceil(max(by_rate, 2.0 * float(self.limits.max())) - c.head_start) - 1)

    def is_late(self, round: int) -> bool:
        """Is the round after ``t0``?"""
        return round > self.last_early_round

    def best_clique_weight(self, best_clique: int) -> float:
        """``M``: what ``eta_t sigma_* S`` costs."""
        root = math.sqrt(math.log(self.sizes[best_clique]))
        return max(self.growth / (2.0 * KAPPA), BEST_ARM + OTHER_ARMS * (STEP_S + STEP_LOG * root))

    def weights(self, best_clique: int) -> Array:
        """``B_k``: what a root of the clique's mass costs, and of ``x`` for the best clique, shape (K,)."""
        best = index("best_clique", best_clique, len(self.sizes))
        eta0, sigma = self.constants.eta0, self.constants.rate_factors
        per_clique = self.growth / (2.0 * KAPPA) + NOT_DRAWN
        costs: Array = eta0 * (per_clique * sigma + self.best_clique_weight(best) * sigma[best])
        costs += WEIGHT * self.reach / (eta0 * sigma)
        entropy = (1.0 + math.log(self.sizes[best])) / sigma[best]
        costs[best] = OTHER_ARMS * STEP_X * eta0 * sigma[best] + WEIGHT * entropy / eta0
        return costs

    def harmonic(self, horizon: int) -> float:
        """At least ``sum_{t <= T} 1 / s_t``: ``log((T + h) / h)``, or ``1 + log T``, whichever is smaller."""
        h = self.head_start
        return min(1.0 + math.log(horizon), math.log((horizon + h) / h) if h > 0.0 else math.inf)

    def summed_rates(self, rounds: int) -> float:
        """At least ``sum_{t <= rounds} eta_t``: ``2 eta0 (sqrt(rounds + h) - sqrt(h))``."""
        h = self.head_start
        return 2.0 * self.constants.eta0 * (math.sqrt(rounds + h) - math.sqrt(h))

    def constant(self, best_clique: int, horizon: int) -> float:
        """``A`` of Theorem C (i)."""
        c, best = self.constants, index("best_clique", best_clique, len(self.sizes))
        penalty = float(np.linalg.norm(self.reach / self.constants.rate_factors))
        early = self.summed_rates(min(self.last_early_round, horizon)) * float(
            np.linalg.norm(self.constants.rate_factors)
        )
        first = math.sqrt(1.0 + c.head_start)
        rest = (
            (math.sqrt(horizon + c.head_start) - first) * c.alpha[best] / (self.constants.rate_factors[best] * horizon)
        )
        total = self.logarithms(horizon) + self.growth / (2.0 * KAPPA) * early
        return float(total + (first * penalty + rest) / c.eta0)

    def logarithms(self, horizon: int) -> float:
        """``beta_max (K - 1) log T + sum_k G_k sum_t 1/s_t + 1``: barrier, estimates held back, comparator."""
        barrier = self.highest_barrier * (len(self.sizes) - 1) * math.log(horizon)
        return barrier + float(self.limits.sum()) * self.harmonic(horizon) + 1.0


def numbers_of(sizes: ArrayLike, constants: Constants | None = None) -> Numbers:
    """The numbers of Theorem C for cliques of these sizes; ``Constants.practical`` if none are given.

    >>> numbers = numbers_of([1, 1])
    >>> round(numbers.growth, 3), numbers.limits.round(2).tolist(), numbers.last_early_round
    (3.869, [113.12, 113.12], 211)
    """
    size = checked_sizes(sizes)
    cover = clique_cover(disjoint_cliques(size.tolist()))
    chosen = Constants.practical(cover) if constants is None else constants
    verdict = covers(chosen, cover)
    if not verdict:
        raise InvalidConstants(f"Theorem C does not hold for {chosen.label} constants: {verdict.reason}")
    return Numbers(size, chosen)


def growth(barrier: float, baseline: float, n: float) -> float:
    """``rho^(3/2) max(b, 1 - b)^2``: how much larger than ``sqrt(q)`` the share of a drawn clique can be."""
    rho = barrier / (barrier - baseline - n)
    return float(rho**1.5 * max(baseline, 1.0 - baseline) ** 2)


def _slope(constants: Constants) -> float:
    """How fast the barrier follows the highest baseline; a baseline of fixed memory moves nothing."""
    return constants.barrier_slope if constants.memory > 0.0 else 0.0


def highest_baseline(constants: Constants) -> float:
    """``phi``: the largest value that the baseline can have."""
    if constants.estimator == "importance":
        return 0.0
    return constants.baseline_share if constants.memory > 0.0 else 1.0


def _least_room(constants: Constants, n: float) -> tuple[float, float]:
    """The least ``beta_t - b - n``, linear in ``b``, and the ``b`` where it is."""
    ends = (0.0, highest_baseline(constants))
    return min((constants.beta + (_slope(constants) - 1.0) * b - n, b) for b in ends)
