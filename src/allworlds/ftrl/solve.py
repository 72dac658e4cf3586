"""The step of Algorithm 1: from cumulative losses to the next distribution, with its certificate.

    p = argmin  L·p + Psi(p) / eta + Phi(p)    over  sum p = 1, p_i >= gamma        [EK21, Algorithm 1]

The problem is convex in N variables, but it splits: inside a clique the answer is a softmax
(``within_clique``), and between the cliques there is one equation in K masses (``clique_mass``). So the
argmin is exact to rounding in a few passes over the losses.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from allworlds.covers import CliqueCover
from allworlds.covers.cover import check_cover
from allworlds.foundation.checks import real, whole
from allworlds.foundation.errors import InvalidLosses, InvalidParameter
from allworlds.ftrl.clique_mass import GOOD, MAX_STEPS, TIGHT, Masses, Problem, new_masses, solve_masses
from allworlds.ftrl.constants import Constants
from allworlds.ftrl.within_clique import least, probability
from allworlds.kernels.jit import lean_jit


@dataclass(frozen=True, eq=False)
class FTRLSolution:
    """The minimiser of one step, and the proof that it is one."""

    distribution: NDArray[np.float64]
    """(N,) probability of each arm."""
    clique_mass: NDArray[np.float64]
    """(K,) probability of each clique."""
    multiplier: float
    """``lambda``, the common price ``V_k'`` of all cliques above their floor."""
    residual: float
    """Largest violation of the optimality conditions, relative to the terms of ``V_k'``, and ``|sum p - 1|``."""
    iterations: int
    """Newton steps; one more than the limit if bisection had to finish."""


def solve_ftrl(
    cover: CliqueCover,
    cumulative_losses: ArrayLike,
    learning_rate: float,
    constants: Constants,
    *,
    max_steps: int = MAX_STEPS,
) -> FTRLSolution:
    """Minimise ``L·p + Psi(p) / eta + Phi(p)`` over the shrunk simplex.

    Where the constants have a rate factor for each clique, the clique's part of ``Psi`` is divided by it.

    ``cumulative_losses`` has shape (N,), in the order of the arms. ``max_steps`` limits Newton's steps; with 0
    the answer comes from bisection alone.

    >>> from allworlds.covers import clique_cover
    >>> from allworlds.graphs import disjoint_cliques
    >>> cover = clique_cover(disjoint_cliques(2, 1))
    >>> answer = solve_ftrl(cover, [0.0, 0.0], 1.0, Constants.sharp(cover))
    >>> answer.distribution
    array([0.5, 0.5])
    """
    check_cover(cover)
    if not isinstance(constants, Constants):
        raise InvalidParameter(
            f"constants is {type(constants).__name__}; expected Constants, such as Constants.sharp(cover)"
        )
    constants.check_fits(cover)
    losses = _checked_losses(cumulative_losses, cover.n_arms)
    eta = real("learning_rate", learning_rate, at_least=1e-30, at_most=1e30)
    whole("max_steps", max_steps, at_least=0)
    rates = eta * constants.rate_factors
    problem = Problem(
        losses[cover.order], cover.starts, np.array(constants.alpha), constants.beta, constants.gamma, rates
    )
    masses = new_masses(cover.sizes, constants.gamma)
    set_lowest(problem, masses)
    multiplier, residual, iterations = solve_masses(problem, masses, 0.0, TIGHT, max_steps)
    if not residual <= GOOD:
        raise InvalidParameter(
            f"these losses, rate and constants leave the range of doubles: the best answer violates its conditions by "
            f"{residual:.1g}; bring them closer together"
        )
    by_clique = np.empty(cover.n_arms)
    fill_distribution(problem, masses, by_clique)
    distribution = np.empty(cover.n_arms)
    distribution[cover.order] = by_clique
    return FTRLSolution(
        distribution=distribution,
        clique_mass=masses.temperature**-2.0,
        multiplier=multiplier + float(losses.min()),
        residual=max(residual, abs(math.fsum(by_clique) - 1.0)),
        iterations=iterations,
    )


def _checked_losses(cumulative_losses: ArrayLike, n_arms: int) -> NDArray[np.float64]:
    try:
        losses = np.asarray(cumulative_losses, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidLosses(f"cumulative_losses cannot be read ({error}); expected a number for each arm") from None
    if losses.shape != (n_arms,):
        raise InvalidLosses(f"cumulative_losses has shape {losses.shape}; expected ({n_arms},), one for each arm")
    if not np.isfinite(losses).all():
        arm = int(np.flatnonzero(~np.isfinite(losses))[0])
        raise InvalidLosses(f"the cumulative loss of arm {arm} is {losses[arm]}; expected finite numbers")
    if not np.ptp(losses / 4.0) < 1e299 / 4.0:
        raise InvalidLosses("cumulative_losses are more than 1e299 apart; expected a smaller spread")
    return losses


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def set_lowest(problem: Problem, masses: Masses) -> None:
    """The lowest loss of every clique."""
    for k in range(masses.lowest.size):
        masses.lowest[k] = least(problem.losses[problem.starts[k] : problem.starts[k + 1]])


@lean_jit
def fill_distribution(problem: Problem, masses: Masses, distribution: NDArray[np.float64]) -> None:
    """Write ``p``, in clique order."""
    for k in range(masses.lowest.size):
        x = masses.temperature[k]
        at_floor = problem.gamma > 0.0 and x >= masses.hottest[k]
        for i in range(problem.starts[k], problem.starts[k + 1]):
            if at_floor:
                distribution[i] = problem.gamma
            else:
                y = probability(
                    problem.losses[i] - masses.lowest[k],
                    masses.log_top[k],
                    problem.eta[k] / x,
                    problem.gamma * x * x,
                )
                distribution[i] = max(problem.gamma, y / (x * x))
