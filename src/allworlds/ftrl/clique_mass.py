"""Between cliques: how the probability is shared among them.

The problem. With the inside of every clique already optimal (``within_clique``), clique ``k`` costs
``V_k(q_k)`` when it holds the mass ``q_k``. Which masses minimise ``sum V_k`` under ``sum q_k = 1``?
At the optimum one multiplier serves all: ``V_k'(q_k) = lambda``, and ``V_k' >= lambda`` where a mass is at
its floor ``d_k gamma``.

The variable. Everything is written in the *temperature* ``x = 1 / sqrt(q)``: the conditional distribution is
a softmax of ``eta L`` at that temperature, and the *price* ``V'`` is nearly linear in it:

    V'(x)     = min L + (log_top + (H - alpha) / 2) x / eta - beta x^2
    dV'/dx    = slope - 2 beta x
    slope     = [2 log_top + 3 H / 2 - alpha / 2 + 2 - 2 / free - 2 mean + free variance / 2] / eta

(without pins ``slope = -(H + alpha - Var(log y)) / (2 eta)``, negative as soon as ``alpha`` is above the
convexity limit of the clique's size). Masses from 1e-300 to 1 become temperatures from 1 to 1e150, and the
slope stays within a small factor of constant: Newton's method in ``x`` takes a few steps where Newton's
method in ``q`` divides by zero.

The method. Each step replaces every price by ``V' + slope (x' - x) - beta (x'^2 - x^2)``, exact for single
arms, and solves *that* problem exactly for ``lambda`` (``_model_multiplier``). If the certificate is not reached
within ``max_steps``, ``_bracket`` solves the true problem by bisection alone: slower, but it cannot fail, because
``V'`` is monotone and a bracket for ``lambda`` is known from the start.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.ftrl.within_clique import Moments, least, moments
from allworlds.kernels.jit import jit, lean_jit

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

HOTTEST = 1e150
"""The temperature of a mass of 1e-300, where doubles end: a numerical floor under every mass."""
TIGHT = 4e-16
"""Ask for this to iterate until rounding is all that is left."""
GOOD = 1e-10
"""The certificate that every answer must have."""
MAX_STEPS = 60


class Problem(NamedTuple):
    """One FTRL step; arms are in clique order, clique ``k`` at ``starts[k]:starts[k + 1]``."""

    losses: Floats
    """(N,) cumulative loss estimates."""
    starts: Ints
    """(K + 1,) where each clique begins."""
    alpha: Floats
    """(K,) Tsallis weight of each clique."""
    beta: float
    gamma: float
    eta: Floats
    """(K,) learning rate of each clique."""


class Masses(NamedTuple):
    """What is known of each clique, all (K,) and overwritten by :func:`solve_masses`."""

    lowest: Floats
    """``min L`` of the clique: an input, to be kept true by the caller."""
    temperature: Floats
    """``1 / sqrt(q)``: the start on entry, the answer on return."""
    log_top: Floats
    """``log y`` of the clique's best arm, at that temperature."""
    price: Floats
    """``V'`` less the lowest loss of all."""
    slope: Floats
    scale: Floats
    """What the residual is measured against."""
    coldest: Floats
    """Temperature with all the mass that the floors leave: no clique can be colder."""
    even: Floats
    """Temperature with an equal share of what the floors leave: not all cliques can be colder."""
    hottest: Floats
    """Temperature at the floor ``d gamma``, or at the numerical one."""


class Appraisal(NamedTuple):
    """One clique at one temperature."""

    log_top: float
    price: float
    slope: float
    scale: float


# --- kernels --------------------------------------------------------------------------------------------


@jit
def new_masses(sizes: Ints, gamma: float) -> Masses:
    """Room for cliques of these sizes, starting from equal shares."""
    floors = np.maximum(sizes * gamma, HOTTEST**-2.0)
    left = max(0.0, 1.0 - gamma * sizes.sum())
    hottest = np.minimum(HOTTEST, floors**-0.5)
    coldest = np.minimum(hottest, (floors + left) ** -0.5)
    even = np.minimum(hottest, (floors + left / sizes.size) ** -0.5)
    n = sizes.size
    zeros = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
    return Masses(zeros[0], even.copy(), zeros[1], zeros[2], zeros[3], zeros[4], coldest, even, hottest)


# What is called once for each clique takes scalars and one array: passing a tuple of arrays to a function
# that is not inlined costs more than the arithmetic here.


@lean_jit
def solve_masses(
    problem: Problem, masses: Masses, guess: float, tolerance: float, max_steps: int
) -> tuple[float, float, int]:
    """Find the masses; return the multiplier (less the lowest loss), the residual and the steps taken.

    ``masses.temperature`` and ``guess``, for the multiplier, are where the search starts; any will do.
    A residual above ``GOOD`` means that even bisection failed, for numbers at the ends of what doubles hold.
    """
    multiplier = guess
    best = math.inf
    for step in range(1, max_steps + 1):
        appraise_all(problem, masses)
        multiplier = _model_multiplier(problem, masses, multiplier)
        residual = residual_of(masses, multiplier)
        if residual <= tolerance or (best <= 1e-12 and 0.5 * best < residual <= GOOD):
            return multiplier, residual, step
        best = min(best, residual)
        _move_all(problem, masses, multiplier)
    multiplier = _bracket(problem, masses)
    appraise_all(problem, masses)
    return multiplier, residual_of(masses, multiplier), max_steps + 1


@lean_jit
def appraise(
    losses: Floats, above: float, lowest: float, x: float, alpha: float, beta: float, gamma: float, eta: float
) -> Appraisal:
    """A clique whose best arm is ``above`` the best of all, at temperature ``x``, from its arms."""
    return price_of(moments(losses, lowest, eta / x, gamma * x * x), above, x, alpha, beta, eta)


@lean_jit
def price_of(at: Moments, above: float, x: float, alpha: float, beta: float, eta: float) -> Appraisal:
    """Price, slope and scale of a clique from its moments at temperature ``x``."""
    hot = x / eta
    barrier = beta * x * x
    price = above + (at.log_top + 0.5 * (at.entropy - alpha)) * hot - barrier
    slope = 2.0 * (at.log_top - at.mean + 1.0 - 1.0 / at.free) + 0.5 * (
        3.0 * at.entropy - alpha + at.free * at.variance
    )
    slope = min(slope, -1e-6 * (1.0 + alpha)) / eta  # the minimum only undoes rounding
    scale = max(0.5 * (alpha + at.entropy) * hot, barrier)
    return Appraisal(at.log_top, price, slope, scale)


@lean_jit
def appraise_all(problem: Problem, masses: Masses) -> None:
    """Every clique at its temperature."""
    lowest, temperature, starts = masses.lowest, masses.temperature, problem.starts
    losses, alpha = problem.losses, problem.alpha
    base = least(lowest)
    for k in range(lowest.size):
        at = appraise(
            losses[starts[k] : starts[k + 1]],
            lowest[k] - base,
            lowest[k],
            temperature[k],
            alpha[k],
            problem.beta,
            problem.gamma,
            problem.eta[k],
        )
        masses.log_top[k] = at.log_top
        masses.price[k] = at.price
        masses.slope[k] = at.slope
        masses.scale[k] = at.scale


@lean_jit
def residual_of(masses: Masses, multiplier: float) -> float:
    """Largest relative violation of ``V_k' = lambda``, one-sided at a floor, and ``|sum q - 1|``."""
    base = least(masses.lowest)
    total, worst = 0.0, 0.0
    for k in range(masses.price.size):
        x = masses.temperature[k]
        total += 1.0 / (x * x)
        gap = masses.price[k] - multiplier
        if x >= masses.hottest[k]:
            gap = min(gap, 0.0)
        if gap != 0.0:
            scale = max(masses.scale[k], abs(multiplier + base - masses.lowest[k]))
            worst = max(worst, abs(gap) / scale)
    return max(worst, abs(total - 1.0))


@lean_jit
def _moved(
    x: float, price: float, slope: float, beta: float, coldest: float, hottest: float, multiplier: float
) -> float:
    """Temperature at which a clique's model price is ``multiplier``, at most 16 times colder than now.

    The root of ``beta x'^2 + |slope| x' = price - multiplier + beta x^2 + |slope| x``, without cancellation.
    """
    right = price - multiplier + x * (beta * x - slope)
    moved = 0.0
    if right > 0.0:
        moved = 2.0 * right / (math.sqrt(slope * slope + 4.0 * beta * right) - slope)
    moved = max(moved, 0.0625 * x)
    moved = max(moved, coldest)
    return min(moved, hottest)


@lean_jit
def _move_all(problem: Problem, masses: Masses, multiplier: float) -> None:
    """Take the model's temperatures."""
    beta = problem.beta
    x, price, slope = masses.temperature, masses.price, masses.slope
    coldest, hottest = masses.coldest, masses.hottest
    for k in range(x.size):
        x[k] = _moved(x[k], price[k], slope[k], beta, coldest[k], hottest[k], multiplier)


@lean_jit
def _model_multiplier(problem: Problem, masses: Masses, guess: float) -> float:
    """The ``lambda`` at which the model's masses sum to one.

    Their sum ``S`` increases with ``lambda``. Newton on ``S^(-1/2)``, which is nearly linear, in a bracket: no
    clique beyond its even share makes ``S <= 1``, one clique with everything makes ``S >= 1``.
    """
    beta = problem.beta
    now, price, slope = masses.temperature, masses.price, masses.slope
    even, coldest, hottest = masses.even, masses.coldest, masses.hottest
    # the bracket
    low, high = math.inf, math.inf
    for k in range(now.size):
        low = min(low, price[k] + (even[k] - now[k]) * (slope[k] - beta * (even[k] + now[k])))
        high = min(high, price[k] + (coldest[k] - now[k]) * (slope[k] - beta * (coldest[k] + now[k])))
    multiplier = min(max(guess, low), high)
    rounding = 2e-16 * (3.0 + math.sqrt(now.size))
    for _ in range(100):
        # the model's masses and how they grow with the multiplier; a mass at its limit does not
        total, gain = 0.0, 0.0
        for k in range(now.size):
            x = _moved(now[k], price[k], slope[k], beta, coldest[k], hottest[k], multiplier)
            q = 1.0 / (x * x)
            total += q
            if coldest[k] < x < hottest[k]:
                gain += 2.0 * q / (x * (2.0 * beta * x - slope[k]))
        # a step of Newton, or half of the bracket where that leaves it
        if total < 1.0:
            low = multiplier
        else:
            high = multiplier
        following = multiplier + 2.0 * total * (1.0 - math.sqrt(total)) / gain if gain > 0.0 else low
        if not low < following < high:
            following = 0.5 * (low + high)
        if abs(total - 1.0) <= rounding or not low < following < high:
            break
        multiplier = following
    return multiplier


@jit
def _bracket(problem: Problem, masses: Masses) -> float:
    """The true problem by bisection on ``lambda``, and for each ``lambda`` on every temperature.

    If every clique got its floor plus an equal share at most, the masses could not exceed one; if some
    clique got all that the floors leave, they could not fall short: prices there bracket ``lambda``.
    """
    masses.temperature[:] = masses.even
    appraise_all(problem, masses)
    low = least(masses.price)
    masses.temperature[:] = masses.coldest
    appraise_all(problem, masses)
    high = least(masses.price)
    for _ in range(300):
        multiplier = 0.5 * (low + high)
        if not low < multiplier < high:
            break
        if _mass_at(problem, masses, multiplier) < 1.0:
            low = multiplier
        else:
            high = multiplier
    multiplier = 0.5 * (low + high)
    _mass_at(problem, masses, multiplier)
    _rescale(masses)
    return multiplier


@lean_jit
def _mass_at(problem: Problem, masses: Masses, multiplier: float) -> float:
    """Set every clique to the temperature where its price is ``multiplier``; return the total mass."""
    base = least(masses.lowest)
    total = 0.0
    for k in range(masses.price.size):
        x = _temperature_at(
            problem.losses[problem.starts[k] : problem.starts[k + 1]],
            masses.lowest[k] - base,
            masses.lowest[k],
            problem.alpha[k],
            problem.beta,
            problem.gamma,
            problem.eta[k],
            masses.coldest[k],
            masses.hottest[k],
            multiplier,
        )
        masses.temperature[k] = x
        total += 1.0 / (x * x)
    return total


@lean_jit
def _temperature_at(
    losses: Floats,
    above: float,
    lowest: float,
    alpha: float,
    beta: float,
    gamma: float,
    eta: float,
    cold: float,
    hot: float,
    multiplier: float,
) -> float:
    """The temperature at which a clique's price is ``multiplier``, by bisection in ``log x``."""
    if appraise(losses, above, lowest, hot, alpha, beta, gamma, eta).price >= multiplier:
        return hot
    for _ in range(200):
        middle = math.sqrt(cold) * math.sqrt(hot)
        if not cold < middle < hot:
            break
        if appraise(losses, above, lowest, middle, alpha, beta, gamma, eta).price > multiplier:
            cold = middle
        else:
            hot = middle
    return hot


@lean_jit
def _rescale(masses: Masses) -> None:
    """Spread what is missing from one, a matter of rounding, over the masses that are not at their floor."""
    fixed, moving = 0.0, 0.0
    for k in range(masses.temperature.size):
        q = 1.0 / (masses.temperature[k] * masses.temperature[k])
        if masses.temperature[k] >= masses.hottest[k]:
            fixed += q
        else:
            moving += q
    if moving > 0.0:
        factor = math.sqrt(moving / (1.0 - fixed))
        for k in range(masses.temperature.size):
            if masses.temperature[k] < masses.hottest[k]:
                masses.temperature[k] = min(masses.temperature[k] * factor, masses.hottest[k])
