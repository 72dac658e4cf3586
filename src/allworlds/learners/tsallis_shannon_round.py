"""One round of the Tsallis-Shannon learner, compiled: its state, draw an arm, learn what it shows, forget.

The rule and its reasons are in :mod:`allworlds.learners.tsallis_shannon`; how the step is solved, in
:mod:`allworlds.ftrl.lazy_step`. Here is what happens to the state in between.

Forgetting. With a half-life all entries of ``Lhat`` shrink by one factor ``g``, so none is touched: the state holds
``Lhat / g``, and the step is solved with the rate ``g eta`` and the barrier ``beta / g``: the argmin is the same. After
``HALVINGS`` half-lives what is stored is brought back to scale.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.ftrl.clique_table import (
    COOLNESS,
    FIRST_PINNED,
    INVERSE,
    LAST_FREE,
    LOWEST,
    RATE_FACTOR,
    REFERENCE,
    TEMPERATURE,
    place,
)
from allworlds.ftrl.clock import (
    BARRIER,
    DAMPING,
    MEAN,
    MULTIPLIER,
    RATE,
    ROUND,
    Rates,
    excess_of,
    tick,
)
from allworlds.ftrl.expansion import CHUNK, FAR, WEIGHT, expand, weigh
from allworlds.ftrl.floor_step import expand_up_to, expand_with_floor, log_top_of, solve_with_floor
from allworlds.ftrl.lazy_step import solve_lazily
from allworlds.ftrl.regret_bound import (
    BIAS,
    LATE,
    SPREAD,
    BoundTerms,
    add_round,
    bound_now,
    spread_of,
)
from allworlds.ftrl.within_clique import least
from allworlds.kernels.exponential import exp
from allworlds.kernels.jit import inline_jit, lean_jit
from allworlds.learners.dispatch import Visibility, register_kernels

Floats = NDArray[np.float64]


HALVINGS = 16
"""After so many half-lives what is stored is brought back to scale."""


class State(NamedTuple):
    """What the next round needs; arms are in clique order, and the masses are already those of the coming round."""

    cumulative_losses: NDArray[np.float64]
    """(N + LANES,) ``Lhat / g``, in clique order, with ``g = 1`` unless the past is forgotten; the last few are
    padding: kernels read eight at a time."""
    table: NDArray[np.float64]
    """What is known of each clique, its mass among it: :mod:`allworlds.ftrl.clique_table`."""
    clock: NDArray[np.float64]
    """What the coming round knows of time: :mod:`allworlds.ftrl.clock`."""
    owner: NDArray[np.int64]
    order: NDArray[np.int64]
    starts: NDArray[np.int64]
    work: NDArray[np.float64]
    sums: NDArray[np.float64]
    """Room for what is computed of one clique; nothing in it lasts."""
    ledger: NDArray[np.float64]
    """What the bound on the regret so far adds up: :mod:`allworlds.ftrl.regret_bound`."""
    rates: Rates
    terms: BoundTerms
    half_life: float
    """After how many rounds what was learnt counts half; 0 if nothing is forgotten."""


class Ticket(NamedTuple):
    """One choice, with all that its estimate needs."""

    arm: int
    probability: float
    clique: int
    clique_probability: float
    baseline: float
    damping: float
    """What the estimate adds to the clique's probability before it divides by it."""
    round: int


# --- kernels --------------------------------------------------------------------------------------------


@inline_jit
def draw(state: State, first: float, second: float) -> Ticket:
    """Draw clique ``k`` with probability ``q_k``, then an arm of it with probability ``y_i``."""
    table, clock = state.table, state.clock
    k = _draw_clique(table, state.starts.size - 1, first)
    start, stop = state.starts[k], state.starts[k + 1]
    x = table[place(k) + TEMPERATURE]
    q = 1.0 / (x * x)
    floor = state.rates.gamma * x * x
    sharpness = clock[RATE] * table[place(k) + RATE_FACTOR] / x
    chosen, y = _draw_arm(table, k, state.cumulative_losses, start, stop, sharpness, floor, second, state.work)
    baseline = float(clock[MEAN]) if state.rates.uses_baseline else 0.0
    return Ticket(
        int(state.order[chosen]), float(q * y), k, float(q), baseline, float(clock[DAMPING]), int(clock[ROUND])
    )


@lean_jit
def write_distribution(state: State, distribution: Floats) -> None:
    """``q_k y_i`` of every arm: the same numbers as :func:`draw` compares its uniforms with."""
    table, clock, work = state.table, state.clock, state.work
    for k in range(state.starts.size - 1):
        start, stop = state.starts[k], state.starts[k + 1]
        x = table[place(k) + TEMPERATURE]
        q = 1.0 / (x * x)
        floor = state.rates.gamma * x * x
        sharpness = clock[RATE] * table[place(k) + RATE_FACTOR] / x
        top = exp(log_top_of(table, k, stop - start, sharpness, floor))
        lowest = table[place(k) + LOWEST]
        for first in range(start, stop, CHUNK):
            size = min(CHUNK, stop - first)
            weigh(state.cumulative_losses, first, size, lowest, sharpness, FAR, work)
            for j in range(size):
                half = work[np.uint64(j) + WEIGHT]
                distribution[state.order[first + j]] = q * max(floor, top * half * half)


@inline_jit
def _draw_arm(
    table: Floats,
    clique: int,
    losses: Floats,
    start: int,
    stop: int,
    sharpness: float,
    floor: float,
    uniform: float,
    work: Floats,
) -> tuple[int, float]:
    """An arm of a clique with probability ``y_i = max(floor, exp(log_top - s (L_i - min L)))``, and that."""
    top = exp(log_top_of(table, clique, stop - start, sharpness, floor))
    lowest = table[place(clique) + LOWEST]
    likeliest, highest = start, 0.0
    rest = uniform
    for first in range(start, stop, CHUNK):
        size = min(CHUNK, stop - first)
        weigh(losses, first, size, lowest, sharpness, FAR, work)
        for j in range(size):
            half = work[np.uint64(j) + WEIGHT]
            weight = max(floor, top * half * half)
            rest -= weight
            if rest < 0.0:
                return first + j, weight
            if weight > highest:
                likeliest, highest = first + j, weight
    return likeliest, highest  # what rounding leaves over


@inline_jit
def _draw_clique(table: NDArray[np.float64], n_cliques: int, uniform: float) -> int:
    """Clique ``k`` with probability ``q_k``; what rounding leaves over goes to the likeliest, never to a rare one."""
    rest = uniform
    for k in range(n_cliques):
        cool = table[place(k) + COOLNESS]
        rest -= cool * cool
        if rest < 0.0:
            return k
    likeliest = 0
    for k in range(n_cliques):
        if table[place(k) + COOLNESS] > table[place(likeliest) + COOLNESS]:
            likeliest = k
    return likeliest


@inline_jit
def update(state: State, ticket: Ticket, losses: Floats) -> None:
    """``Lhat_i += (l_i - b) / (q + c)`` on the drawn clique, then the next round's step."""
    learn(state, ticket, losses, -1.0)


@lean_jit
def learn(state: State, ticket: Ticket, losses: Floats, excess: float) -> float:
    """:func:`update`, holding back ``excess``, or as much as the deficit limit asks for if it is negative; return it.

    How much that is depends on the solver, which rounds as it likes; with ``excess`` given, what is learnt is a sum.
    """
    # the estimates, as if nothing were held back
    start = state.starts[ticket.clique]
    weight = 1.0 / ((ticket.clique_probability + ticket.damping) * shrinkage(state))
    lowest = math.inf
    incurred = 0.0
    smallest, largest = math.inf, -math.inf
    for j in range(losses.size):
        smallest, largest = min(smallest, losses[j]), max(largest, losses[j])
        total = state.cumulative_losses[start + j] + (losses[j] - ticket.baseline) * weight
        state.cumulative_losses[start + j] = total
        lowest = min(lowest, total)
        if state.order[start + j] == ticket.arm:
            incurred = losses[j]
    # what the deficit limit takes off
    at = place(ticket.clique)
    if excess < 0.0:
        excess = excess_now(state, state.table[at + LOWEST], lowest)
    if excess > 0.0:
        lowest = hold_back(
            state.cumulative_losses[start : start + losses.size], losses, ticket.baseline, weight, excess
        )
    state.table[at + LOWEST] = lowest
    # the bound on the regret so far
    if state.terms.holds:
        low, high = (smallest - ticket.baseline) * weight, (largest - ticket.baseline) * weight
        enter(state, ticket, low, high, excess)
    # the coming round
    if state.half_life == 0.0:
        tick(state.clock, state.rates, incurred)
    else:
        tick_and_forget(state, incurred)
    read_clique(state, ticket.clique, state.clock[RATE] * state.table[at + RATE_FACTOR] * state.table[at + COOLNESS])
    resolve(state, ticket.clique)
    return excess


@inline_jit
def shrinkage(state: State) -> float:
    """``g``: by how much what is stored is larger than ``Lhat``; from 1 down to ``2^-HALVINGS``, then 1 again."""
    if state.half_life == 0.0:
        return 1.0
    return float(2.0 ** (-(((state.clock[ROUND] - 1.0) % (HALVINGS * state.half_life)) / state.half_life)))


@lean_jit
def age_of(state: State) -> float:
    """``1 + l + l^2 + ... + l^(t-1)`` with ``l = 2^(-1/H)``: the rounds so far, as far as they are remembered."""
    if state.half_life == 0.0:
        return float(state.clock[ROUND])
    rate = math.log(2.0) / state.half_life
    return math.expm1(-rate * state.clock[ROUND]) / math.expm1(-rate)


@inline_jit
def excess_now(state: State, before: float, after: float) -> float:
    """:func:`excess_of` for what is stored, at the age of the learner."""
    clock = state.clock
    if state.half_life == 0.0:
        return excess_of(clock, state.rates, clock[MULTIPLIER], before, after)
    g, round = shrinkage(state), clock[ROUND]
    clock[ROUND] = age_of(state)
    excess = excess_of(clock, state.rates, clock[MULTIPLIER] * g, before * g, after * g) / g
    clock[ROUND] = round
    return excess


@lean_jit
def tick_and_forget(state: State, incurred: float) -> None:
    """One round later: everything but the new loss is older, and rate and barrier fit what is stored."""
    clock, round = state.clock, state.clock[ROUND]
    clock[ROUND] = age_of(state) * 2.0 ** (-1.0 / state.half_life)
    tick(clock, state.rates, incurred)
    clock[ROUND] = round + 1.0
    if round % (HALVINGS * state.half_life) == 0.0:
        rescale(state)
    g = shrinkage(state)
    clock[RATE] *= g
    clock[BARRIER] /= g


@lean_jit
def rescale(state: State) -> None:
    """``g`` becomes 1 again. A power of two changes no bit of a result; it takes all arms, once in many rounds."""
    small, table = 2.0**-HALVINGS, state.table
    for i in range(state.starts[state.starts.size - 1]):
        state.cumulative_losses[i] *= small
    for k in range(state.starts.size - 1):
        at = place(k)
        table[at + LOWEST] *= small
        table[at + INVERSE] *= small
        table[at + REFERENCE] /= small
        table[at + LAST_FREE] *= small
        table[at + FIRST_PINNED] *= small
    state.clock[MULTIPLIER] *= small


@inline_jit
def enter(state: State, ticket: Ticket, low: float, high: float, excess: float) -> None:
    """Enter the round into the ledger; the theorem says nothing about estimates from an older distribution."""
    at = place(ticket.clique)
    factor, cool = state.table[at + RATE_FACTOR], state.table[at + COOLNESS]
    if ticket.round == state.clock[ROUND]:
        add_round(state.ledger, state.terms, state.clock, factor, cool, low, high, excess)
    else:
        state.ledger[LATE] += 1.0
        state.ledger[BIAS] += ticket.clique_probability * excess


@lean_jit
def hold_back(cumulative: Floats, losses: Floats, baseline: float, weight: float, excess: float) -> float:
    """Take ``excess`` back from what was added to each arm, at most what raised it; return the lowest loss then."""
    lowest = math.inf
    for j in range(losses.size):
        raised = max(0.0, (losses[j] - baseline) * weight)
        cumulative[j] -= min(excess, raised)
        lowest = min(lowest, cumulative[j])
    return lowest


@inline_jit
def read_clique(state: State, clique: int, sharpness: float) -> None:
    """Read the arms of a clique, and expand it at a sharpness."""
    start, stop = state.starts[clique], state.starts[clique + 1]
    losses, work, sums, gamma = state.cumulative_losses, state.work, state.sums, state.rates.gamma
    if gamma == 0.0:
        expand(state.table, clique, losses, start, stop, sharpness, np.inf, work, sums)
    else:
        x = state.table[place(clique) + TEMPERATURE]
        expand_with_floor(state.table, clique, losses, start, stop, sharpness, gamma * x * x, work, sums)


@inline_jit
def resolve(state: State, drawn: int) -> None:
    """The coming round's step, starting from the last one's answer; only ``drawn`` has new losses."""
    table, losses, starts, clock = state.table, state.cumulative_losses, state.starts, state.clock
    work, sums = state.work, state.sums
    eta, beta, gamma, guess = clock[RATE], clock[BARRIER], state.rates.gamma, clock[MULTIPLIER]
    if gamma == 0.0:
        clock[MULTIPLIER] = solve_lazily(table, losses, starts, work, sums, eta, beta, guess, drawn)[0]
    else:
        clock[MULTIPLIER] = solve_with_floor(table, losses, starts, work, sums, eta, beta, gamma, guess)[0]
    if state.terms.holds:
        state.ledger[SPREAD] = spread_of(state.table)


@lean_jit
def restore(state: State, temperature: Floats, reference: Floats, last_free: Floats) -> None:
    """What follows from losses, temperatures and references: each clique's lowest loss and its expansion.

    With a floor, the arms up to ``last_free`` above the lowest are those that were expanded.
    """
    for k in range(temperature.size):
        at = place(k)
        state.table[at + TEMPERATURE] = temperature[k]
        state.table[at + COOLNESS] = 1.0 / temperature[k]
        losses, start, stop = state.cumulative_losses, state.starts[k], state.starts[k + 1]
        state.table[at + LOWEST] = least(losses[start:stop])
        if state.rates.gamma == 0.0:
            read_clique(state, k, reference[k])
        else:
            cut = reference[k] * last_free[k]
            expand_up_to(state.table, k, losses, start, stop, reference[k], cut, state.work, state.sums)


def visibility_of(state: State) -> Visibility:
    """An arm shows its clique."""
    return Visibility(state.owner, state.starts, state.order)


@lean_jit
def write_masses(state: State, masses: NDArray[np.float64]) -> None:
    """The clique masses of the coming round."""
    for k in range(masses.size):
        masses[k] = state.table[place(k) + COOLNESS] ** 2


@lean_jit
def read_safeguards(state: State) -> tuple[float, float, float]:
    """The bound on the regret so far, and what was held back; NaN where nothing is entered into the ledger.

    Nothing is ever left to another learner.
    """
    held_back = state.ledger[BIAS] if state.terms.holds else math.nan
    return bound_now(state.ledger, state.terms, state.clock), held_back, math.nan


register_kernels(
    State,
    draw,
    update,
    visibility_getter=visibility_of,
    masses_kernel=write_masses,
    safeguards_kernel=read_safeguards,
    distribution_kernel=write_distribution,
    learn_kernel=learn,
)
