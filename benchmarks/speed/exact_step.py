"""The paper's learner with every step solved from all arms: the yardstick of the lazy step.

It is the learner of ``learners/tsallis_shannon.py`` in all but how a round's step is found: here Newton's method reads
the losses of all ``N`` arms a few times a round (``ftrl/clique_mass.py``), as :func:`~allworlds.solve_ftrl` does, but
starts from the last round's answer. The lazy step must give the same masses, and be faster. It is not in the registry:
there is nothing that it does better.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.ftrl.clique_mass import MAX_STEPS, Masses, Problem, appraise_all, new_masses, residual_of, solve_masses
from allworlds.ftrl.clock import (
    BARRIER,
    DAMPING,
    MEAN,
    MULTIPLIER,
    RATE,
    ROUND,
    Rates,
    excess_of,
    new_clock,
    rates_of,
    tick,
)
from allworlds.ftrl.solve import set_lowest
from allworlds.ftrl.within_clique import least, probability
from allworlds.kernels.jit import lean_jit
from allworlds.learners.dispatch import Visibility, register_kernels
from allworlds.learners.tsallis_shannon import TsallisShannon
from allworlds.learners.tsallis_shannon_round import Ticket, hold_back

TOLERANCE = 1e-12
"""Residual at which a round's step stops; Newton's last step usually leaves it far below."""


class ExactState(NamedTuple):
    """What the next round needs; arms are in clique order, and ``masses`` is already solved for it."""

    cumulative_losses: NDArray[np.float64]
    """(N,) ``Lhat``, in clique order."""
    masses: Masses
    clock: NDArray[np.float64]
    """As that of the lazy step; the multiplier is less the lowest loss."""
    owner: NDArray[np.int64]
    order: NDArray[np.int64]
    starts: NDArray[np.int64]
    alpha: NDArray[np.float64]
    factor: NDArray[np.float64]
    eta: NDArray[np.float64]
    """(K,) the learning rate of each clique, written anew whenever the step is stated as a problem."""
    rates: Rates
    half_life: float = 0.0
    """As in the state of the lazy step; here nothing is forgotten."""


class ExactStep(TsallisShannon):
    """Algorithm 1 of [EK21] with ``O(N)`` work a round.

    >>> from allworlds.graphs import disjoint_cliques
    >>> learner = ExactStep(disjoint_cliques(2, 2))
    >>> learner.distribution(learner.init())
    array([0.25, 0.25, 0.25, 0.25])
    """

    name: ClassVar[str] = "exact-step"
    scratch: ClassVar[tuple[str, ...]] = ()

    def init(self) -> ExactState:  # type: ignore[override]
        """No losses, round one."""
        c, cover = self.constants, self.cover
        rates = rates_of(c)
        state = ExactState(
            cumulative_losses=np.zeros(self.n_arms),
            masses=new_masses(cover.sizes, c.gamma),
            clock=new_clock(rates),
            owner=cover.owner,
            order=cover.order,
            starts=cover.starts,
            alpha=np.array(c.alpha),
            factor=c.rate_factors,
            eta=c.rate_factors,
            rates=rates,
        )
        resolve(state)
        return state

    def clique_mass(self, state: Any) -> NDArray[np.float64]:
        """(K,) the probability of each clique in the coming round."""
        mass: NDArray[np.float64] = state.masses.temperature**-2.0
        return mass

    def residual(self, state: Any) -> float:
        """The certificate of the coming round's distribution."""
        return float(residual_of(state.masses, state.clock[MULTIPLIER]))

    def _appraised(self, state: Any) -> Masses:
        masses: Masses = state.masses
        return masses

    def pack(self, state: Any) -> dict[str, NDArray[np.float64]]:
        """Losses, temperatures and clock: the rest follows from them."""
        return {
            "cumulative_losses": state.cumulative_losses.copy(),
            "temperature": state.masses.temperature.copy(),
            "clock": state.clock.copy(),
        }

    def unpack(self, arrays: dict[str, NDArray[np.float64]]) -> ExactState:  # type: ignore[override]
        """The state as it was; nothing is solved again."""
        state = self.init()
        state.cumulative_losses[:] = arrays["cumulative_losses"]
        state.masses.temperature[:] = arrays["temperature"]
        state.clock[:] = arrays["clock"]
        set_lowest(as_problem(state), state.masses)
        appraise_all(as_problem(state), state.masses)
        return state


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def draw(state: ExactState, first: float, second: float) -> Ticket:
    """Draw clique ``k`` with probability ``q_k``, then an arm of it with probability ``y_i``."""
    masses, clock = state.masses, state.clock
    k = _draw_clique(masses.temperature, first)
    x = masses.temperature[k]
    sharpness, floor = clock[RATE] * state.factor[k] / x, state.rates.gamma * x * x
    chosen, y = state.starts[k], 0.0
    rest = second
    for i in range(state.starts[k], state.starts[k + 1]):
        weight = probability(state.cumulative_losses[i] - masses.lowest[k], masses.log_top[k], sharpness, floor)
        if weight > 0.0:
            chosen, y = i, weight
            rest -= weight
            if rest < 0.0:
                break
    q = 1.0 / (x * x)
    baseline = float(clock[MEAN]) if state.rates.uses_baseline else 0.0
    return Ticket(
        int(state.order[chosen]), float(q * y), k, float(q), baseline, float(clock[DAMPING]), int(clock[ROUND])
    )


@lean_jit
def _draw_clique(temperature: NDArray[np.float64], uniform: float) -> int:
    """Clique ``k`` with probability ``1 / x_k^2``; what rounding leaves over goes to the likeliest."""
    rest = uniform
    likeliest = 0
    for k in range(temperature.size):
        rest -= 1.0 / (temperature[k] * temperature[k])
        if rest < 0.0:
            return k
        if temperature[k] < temperature[likeliest]:
            likeliest = k
    return likeliest


@lean_jit
def update(state: ExactState, ticket: Ticket, losses: NDArray[np.float64]) -> None:
    """``Lhat_i += (l_i - b) / (q + c)`` on the drawn clique, then the next round's step."""
    start = state.starts[ticket.clique]
    weight = 1.0 / (ticket.clique_probability + ticket.damping)
    lowest, incurred = math.inf, 0.0
    for j in range(losses.size):
        state.cumulative_losses[start + j] += (losses[j] - ticket.baseline) * weight
        lowest = min(lowest, state.cumulative_losses[start + j])
        if state.order[start + j] == ticket.arm:
            incurred = losses[j]
    multiplier = state.clock[MULTIPLIER] + least(state.masses.lowest)
    excess = excess_of(state.clock, state.rates, multiplier, state.masses.lowest[ticket.clique], lowest)
    if excess > 0.0:
        mine = state.cumulative_losses[start : start + losses.size]
        lowest = hold_back(mine, losses, ticket.baseline, weight, excess)
    state.masses.lowest[ticket.clique] = lowest
    tick(state.clock, state.rates, incurred)
    resolve(state)


@lean_jit
def resolve(state: ExactState) -> None:
    """Solve the coming round's step, starting from the last one's answer."""
    multiplier, _residual, _steps = solve_masses(
        as_problem(state), state.masses, state.clock[MULTIPLIER], TOLERANCE, MAX_STEPS
    )
    state.clock[MULTIPLIER] = multiplier


@lean_jit
def as_problem(state: ExactState) -> Problem:
    """The coming round's step."""
    for k in range(state.eta.size):
        state.eta[k] = state.clock[RATE] * state.factor[k]
    return Problem(
        state.cumulative_losses,
        state.starts,
        state.alpha,
        state.clock[BARRIER],
        state.rates.gamma,
        state.eta,
    )


def visibility_of(state: ExactState) -> Visibility:
    """An arm shows its clique."""
    return Visibility(state.owner, state.starts, state.order)


@lean_jit
def write_masses(state: ExactState, masses: NDArray[np.float64]) -> None:
    """The clique masses of the coming round."""
    for k in range(masses.size):
        masses[k] = 1.0 / (state.masses.temperature[k] * state.masses.temperature[k])


register_kernels(ExactState, draw, update, visibility_getter=visibility_of, masses_kernel=write_masses)
