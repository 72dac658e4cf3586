"""A bound on the expected regret so far, added up along a run: ``docs/default_proof.md``, "Along a run".

The proof bounds the regret after ``T`` rounds by the expectation of

    1 - 1/K + beta_T (K - 1) log T                       comparator and barrier
      + sum_t (1/eta_t - 1/eta_{t-1}) (-Psi(p_t) - m)    penalty
      + sum_t S_t                                        stability: :func:`stability_of`
      + sum_t q_k z_t                                    bias: z_t is what the deficit limit took off in clique k

where ``-Psi(p) = sum_k sqrt(q_k) (alpha_k + H_k) / sigma_k`` and ``1/eta_0 = 0``. No value of ``-Psi`` is below
``m = min_k alpha_k / sigma_k``, the comparator's neither. A worst-case bound puts the largest possible value in every
place; here are the values as they were.
Every term is at least 0, so the bound never falls.

It holds for losses in [0, 1] whose outcomes are learnt one by one, each before the next draw. The sums are kept in a
small array, the ledger, which is saved with the clock, bit for bit.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.covers import CliqueCover
from allworlds.ftrl.clique_table import BLOCK, COOLNESS, REACH, TAIL
from allworlds.ftrl.clock import BARRIER, RATE, ROUND
from allworlds.ftrl.constants import Constants
from allworlds.ftrl.sharp import rebound, sharp_alpha
from allworlds.kernels.jit import inline_jit, lean_jit

Floats = NDArray[np.float64]

SPREAD, INVERSE_RATE, LAST_BARRIER, PENALTY, STABILITY, BIAS, LATE = range(7)
"""Places in a ledger: ``-Psi`` of the coming round; ``1/eta`` and the barrier of the last round; the three sums; and
how many outcomes were learnt late."""

SHIPPED = (0.25, 0.5)
"""The kappas of the shipped settings, tried before a search."""


class BoundTerms(NamedTuple):
    """What the bound needs to know of constants and cover, for kernels."""

    holds: bool
    """Whether the theorem covers the constants; if not, nothing is added up."""
    kappa: float
    """By how much the entropy is curved: the largest for which every ``alpha_k`` is at least ``alpha_kappa(d_k)``."""
    rebound: float
    """How far losses in [0, 1] can lower the price of a clique."""
    least: float
    """``min_k alpha_k / sigma_k``."""
    widest: float
    """``max_k sigma_k``; 0 with one clique, where no other can move."""
    n_cliques: int


def bound_terms(constants: Constants, cover: CliqueCover) -> BoundTerms:
    """Check what the theorem asks of the constants, and collect what the bound needs.

    There must be no floor under the arms, no implicit exploration and a barrier that never falls. One clique, other
    powers and barriers without ``beta_t > b_t + n`` are included on purpose: Theorem C needs more than this bound does.
    """
    c, one = constants, cover.n_cliques == 1
    kappa = 1.0 if one else kappa_of(np.array(c.alpha), cover.sizes)
    holds = c.gamma == 0.0 and c.implicit_exploration == 0.0 and c.variance_floor == 1.0 and kappa > 0.0
    factors = c.rate_factors
    least = float(np.min(np.array(c.alpha) / factors))
    widest = 0.0 if one else float(factors.max())
    return BoundTerms(holds, kappa, rebound(int(cover.sizes.max())), least, widest, cover.n_cliques)


def kappa_of(alpha: Floats, sizes: NDArray[np.int64]) -> float:
    """The largest kappa for which every alpha is at least ``sharp_alpha(size, kappa)``; 0 if there is none.

    >>> from allworlds.ftrl.sharp import sharp_alphas
    >>> kappa_of(sharp_alphas([2, 10], 0.25), np.array([2, 10]))
    0.25
    >>> round(kappa_of(sharp_alphas([3], 0.4), np.array([3])), 6)
    0.4
    """
    smallest = {int(size): float(alpha[sizes == size].min()) for size in np.unique(sizes)}

    def enough(kappa: float) -> bool:
        return all(sharp_alpha(size, kappa) <= value * (1.0 + 1e-12) for size, value in smallest.items())

    for kappa in SHIPPED:
        if all(sharp_alpha(size, kappa) == value for size, value in smallest.items()):
            return kappa
    low, high = 0.0, 0.999
    for _ in range(30):
        middle = (low + high) / 2.0
        low, high = (middle, high) if enough(middle) else (low, middle)
    return low


def new_ledger() -> Floats:
    """(7,) before the first round."""
    return np.zeros(LATE + 1)


# --- kernels --------------------------------------------------------------------------------------------


@inline_jit
def spread_of(table: Floats) -> float:
    """``-Psi(p) = sum_k sqrt(q_k) (alpha_k + H_k) / sigma_k``; four sums at once, so that none waits for another."""
    one, two, three, four = 0.0, 0.0, 0.0, 0.0
    for block in range(0, table.size - TAIL, BLOCK):
        for lane in range(0, 8, 4):
            q, r = np.uint64(block + lane) + COOLNESS, np.uint64(block + lane) + REACH
            one += table[q] * table[r]
            two += table[q + np.uint64(1)] * table[r + np.uint64(1)]
            three += table[q + np.uint64(2)] * table[r + np.uint64(2)]
            four += table[q + np.uint64(3)] * table[r + np.uint64(3)]
    return (one + two) + (three + four)


@inline_jit
def add_round(
    ledger: Floats, terms: BoundTerms, clock: Floats, factor: float, cool: float, low: float, high: float, excess: float
) -> None:
    """Add penalty, stability and bias of the round just played; ``low`` and ``high`` are of ``l - b``, over ``q``.

    The deficit limit takes ``min(excess, g^+)`` off an estimate ``g``, which keeps their order.
    """
    inverse = 1.0 / clock[RATE]
    ledger[PENALTY] += (inverse - ledger[INVERSE_RATE]) * (ledger[SPREAD] - terms.least)
    low -= min(excess, max(0.0, low))
    high -= min(excess, max(0.0, high))
    ledger[STABILITY] += stability_of(terms, clock[RATE], clock[BARRIER], factor, cool, low, high)
    ledger[BIAS] += cool * cool * excess
    ledger[INVERSE_RATE] = inverse
    ledger[LAST_BARRIER] = clock[BARRIER]


@inline_jit
def stability_of(
    terms: BoundTerms, eta: float, beta: float, factor: float, cool: float, low: float, high: float
) -> float:
    """What one round's estimates, from ``low`` to ``high`` in clique ``k``, can cost: ``min_c S(c)``,

        S(c) = [ eta_k Q_k^{3/2} max((high - c)^2, (low - c)^2) + c^2 eta sigma_max Q^{3/2} ] / (2 kappa),

    with ``Q_k`` what the drawn mass can grow to in the half step, and ``Q`` what all others together can. Let ``n`` be
    the rebound. The price of the clique falls by at most ``fall = n (high - low) - low`` and rises by at most
    ``rise = high + n (high - low)``. So ``sqrt(q_k / Q_k)`` is at least the root ``tau`` of

        (2 kappa sqrt(q_k) / eta_k) (1 - tau) + beta (1 - tau^2) = q_k fall,

    and ``1 / sqrt(Q)`` at least ``1 / sqrt(1 - q_k) - eta sigma_max rise / (2 kappa)``; no mass grows beyond one.
    """
    rate, q = eta * factor, cool * cool
    bend = terms.rebound * (high - low)
    # the drawn clique
    stiff = 2.0 * terms.kappa * cool / rate
    fall = max(0.0, q * (bend - low))
    room = stiff + beta - fall
    root = cool
    if fall > 0.0:
        root = 1.0 if room <= 0.0 else cool * (stiff + math.sqrt(stiff * stiff + 4.0 * beta * room)) / (2.0 * room)
    root = min(1.0, root)
    own = rate * root * root * root
    # the others
    rest = math.sqrt(max(0.0, 1.0 - q))
    room = 1.0 - eta * terms.widest * rest * max(0.0, high + bend) / (2.0 * terms.kappa)
    root = rest / room if room > rest else 1.0
    others = eta * terms.widest * root * root * root
    # the best c: the middle of the estimates, or nearer to zero
    middle, half = 0.5 * abs(high + low), 0.5 * (high - low)
    if own * half >= others * middle:
        return (own * half * half + others * middle * middle) / (2.0 * terms.kappa)
    return own * others / (own + others) * (half + middle) * (half + middle) / (2.0 * terms.kappa)


@lean_jit
def bound_now(ledger: Floats, terms: BoundTerms, clock: Floats) -> float:
    """The bound after the rounds learnt so far; NaN if no theorem covers the run."""
    rounds = clock[ROUND] - 1.0
    if not terms.holds or ledger[LATE] > 0.0:
        return math.nan
    if rounds == 0.0:
        return 0.0
    others = terms.n_cliques - 1.0
    barrier = ledger[LAST_BARRIER] * others * math.log(rounds)
    return float(others / terms.n_cliques + barrier + ledger[PENALTY] + ledger[STABILITY] + ledger[BIAS])
