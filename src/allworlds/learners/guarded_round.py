"""One round of the guarded learner, compiled: its state, draw an arm, learn what it shows, keep the account.

The rule and its reasons are in :mod:`allworlds.learners.guarded`; the theorem, in ``docs/guarded_proof.md``. Here is
what happens to the state in between. Arms are in clique order. After the handover all is left to the kernels of
:mod:`allworlds.learners.tsallis_shannon_round`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.ftrl.clock import MEMORY_START
from allworlds.kernels.exponential import exp
from allworlds.kernels.jit import inline_jit, lean_jit
from allworlds.learners import tsallis_shannon_round as algorithm_1
from allworlds.learners.dispatch import Visibility, register_kernels
from allworlds.learners.tsallis_shannon_round import Ticket

Floats = NDArray[np.float64]

SEEN, LEAST, AVERAGE, MEAN, LOWEST, ADDED, PAST, PLAYS, MOST, PAST_INSIDE, ALLOWED, INSIDE = range(12)
ROOM, PROOF, BASELINE, MASS = range(12, 16)
"""Columns of the table. Of what was seen of a clique: how often; the lowest sum of losses of an arm; the sum of the
mean losses of its arms; the lowest mean as the next choice sees it. Of the account: the lowest estimate of an arm,
without what every round adds, and that. Of the plays: ``sum sqrt(M)`` of the epochs that have ended, the plays of this
epoch and those of the arm played most, the same sum inside the clique, and both sums with this epoch. And of the coming
round: the room, how much of its probability is for proof, its baseline, and its probability."""

ROUND, INCURRED, RECENT, NEXT_EPOCH, BEST, HANDED_OVER, EARLIER, REASON, UP, DOWN, HELD_BACK, BOUND, LATE, COINS = (
    range(14)
)
"""Places in the clock: the round; the losses incurred so far, and their running mean; when the next epoch begins; the
lowest mean; the first round that was left to Algorithm 1 (0 if there is none yet), how many rounds it has not counted,
and why; both sides of the alarm; what was held back; the largest estimated regret so far; how many outcomes were learnt
late. From ``COINS`` on, of the leader and of the others: what the losses would vary if they were coins, and what they
do."""
ACCOUNT, ALARM, MOVED = 1.0, 2.0, 3.0
"""Why all was left to Algorithm 1: an arm had no room left, losses moved, or arms came or went."""
MASKED = 1.0
"""The ``damping`` of a ticket that was drawn while some clique was masked; else it is 0."""
TINY = 40.0
"""No weight is between 0 and ``exp(-TINY)``: one that would be is either, as it is quicker to see."""


class Rules(NamedTuple):
    """The numbers of the rule, for kernels; see :class:`allworlds.learners.guarded.Guarded`."""

    start: float
    allowance: float
    sharpness: float
    proof: float
    least_proof: float
    most_proof: float
    share: float
    memory: float
    room_limit: float
    room_root: float
    most_exploration: float
    alarm: float
    drift: float
    least_seen: float
    prior: float
    most_precise: float


class State(NamedTuple):
    """What the next round needs; the probabilities of the cliques are already those of the coming round."""

    sums: Floats
    """(N,) the losses seen of each arm."""
    estimates: Floats
    """(N,) ``Lhat`` without what every round adds to a clique, which is a column of the table."""
    plays: Floats
    """(N,) how often each arm was played in this epoch."""
    table: Floats
    """(K, 16) what is known of each clique."""
    clock: Floats
    """(17,) what is known beside it."""
    rules: Rules
    owner: NDArray[np.int64]
    order: NDArray[np.int64]
    starts: NDArray[np.int64]
    then: algorithm_1.State
    """Of Algorithm 1, which starts from nothing at the handover."""


# --- kernels --------------------------------------------------------------------------------------------


@inline_jit
def divergence(p: float, q: float) -> float:
    """``kl(p, q)`` of two coins, both between 0 and 1."""
    return p * math.log(p / q) + (1.0 - p) * math.log((1.0 - p) / (1.0 - q))


@inline_jit
def precision(clock: Floats, rules: Rules) -> float:
    """How many times less the losses vary than coins of the same means would, from 1 to ``most_precise``.

    Of the leader and of the others, whichever is less; ``prior`` coins with variance 1/4 count as seen before.
    """
    start = 0.25 * rules.prior
    leader = (clock[COINS] + start) / (clock[COINS + 1] + start)
    others = (clock[COINS + 2] + start) / (clock[COINS + 3] + start)
    return float(min(max(1.0, min(leader, others)), rules.most_precise))


@inline_jit
def evidence_needed(gap: float, best: float, baseline: float, precise: float) -> float:
    """``N``: if a clique is drawn with probability ``N / room``, the chance that it loses its room falls like 1 / room.

    A draw multiplies the room by ``1 + (l - b) / N``, and without one it falls by ``f = m - b`` a round, ``m`` the
    lowest mean and ``b`` the baseline. The mean of 1 / room is constant if ``E 1 / (1 + (l - b) / N) = 1 - f / N``. For
    losses of 0 and 1 with mean ``m + gap`` that is

        gap N^2 - (m (1 - m) + f^2) N + f b (1 - b) = 0,

    whose larger root is safe. Losses that vary less by a factor ``precise``, down to none, are between this and
    ``N = f (f + gap) / gap``.
    """
    fall = best - baseline
    spread = best * (1.0 - best) / precise + fall * fall + (1.0 - 1.0 / precise) * fall * gap
    product = 4.0 * gap * fall * baseline * (1.0 - baseline) / precise
    return (spread + math.sqrt(max(0.0, spread * spread - product))) / (2.0 * max(gap, 1e-3))


@lean_jit
def resolve(state: State) -> None:
    """The account, and the probabilities of the coming round, or the handover."""
    table, clock, rules = state.table, state.clock, state.rules
    if clock[HANDED_OVER] > 0.0:
        return
    settle(state)
    if clock[REASON] > 0.0:
        clock[HANDED_OVER], clock[EARLIER] = clock[ROUND], clock[ROUND] - 1.0
        return
    best = clock[BEST]
    baseline, precise = rules.share * clock[RECENT], precision(clock, rules)
    n_cliques = table.shape[0]
    weights, proofs = 0.0, 0.0
    for k in range(n_cliques):
        seen, mean = table[k, SEEN], table[k, MEAN]
        weight, proof = 1.0, 0.0  # of a leader, and of a clique never seen
        if seen > 0.0 and mean > best:
            gap = mean - best
            sharp = rules.sharpness * precise * seen
            weight = 0.0
            if 2.0 * sharp * gap * gap < TINY:  # kl >= 2 gap^2
                weight = exp(-min(TINY, sharp * divergence(mean, best)))
            proof = rules.proof * evidence_needed(gap, best, baseline, precise)
            proof = min(max(proof, rules.least_proof), rules.most_proof)
            proof = min(rules.most_exploration / n_cliques, proof / table[k, ROOM])
        table[k, MASS], table[k, PROOF] = weight, proof
        weights += weight
        proofs += proof
    for k in range(n_cliques):
        table[k, MASS] = (1.0 - proofs) * table[k, MASS] / weights + table[k, PROOF]
        table[k, BASELINE] = min(baseline, 0.9 * table[k, MASS] * table[k, ROOM])


@inline_jit
def settle(state: State) -> None:
    """Write mean and room of each clique; one without room is a reason to hand over.

    The room of clique ``k`` is its allowance less the largest estimated regret against an arm of it:

        room_k = start sqrt(K) + allowance (sum_{j != k} sum_e sqrt(M_je) + sum_e sqrt(X_ke)) - max_i Z_i.
    """
    table, clock, rules = state.table, state.clock, state.rules
    n_cliques = table.shape[0]
    start, total, best, largest = rules.start * math.sqrt(n_cliques), 0.0, 1.0, -math.inf
    for k in range(n_cliques):
        total += table[k, ALLOWED]
    for k in range(n_cliques):
        if table[k, SEEN] > 0.0:
            table[k, MEAN] = (table[k, LEAST] + 0.5) / (table[k, SEEN] + 1.0)
            best = min(best, table[k, MEAN])
        regret = clock[INCURRED] - table[k, LOWEST] - table[k, ADDED]
        table[k, ROOM] = start + rules.allowance * (total - table[k, ALLOWED] + table[k, INSIDE]) - regret
        largest = max(largest, regret)
        if not table[k, ROOM] > 0.0:
            clock[REASON] = ACCOUNT
    clock[BOUND], clock[BEST] = max(clock[BOUND], largest), best


@inline_jit
def draw(state: State, first: float, second: float) -> Ticket:
    """Draw a clique by its probability, then the arm of it with the lowest mean; any of several."""
    if state.clock[HANDED_OVER] > 0.0:
        return renumbered(algorithm_1.draw(state.then, first, second), int(state.clock[ROUND]))
    table = state.table
    k = _draw_clique(table, first)
    start, stop = state.starts[k], state.starts[k + 1]
    least, ties = lowest_in(state.sums, start, stop)
    skip, arm = int(second * ties), start
    for i in range(start, stop):
        if state.sums[i] == least:
            if skip == 0:
                arm = i
                break
            skip -= 1
    mass, baseline = table[k, MASS], table[k, BASELINE]
    return Ticket(
        int(state.order[arm]), float(mass / ties), k, float(mass), float(baseline), 0.0, int(state.clock[ROUND])
    )


@inline_jit
def renumbered(ticket: Ticket, round: int) -> Ticket:
    """The ticket with another round, and not masked: Algorithm 1 counts from the handover on, and knows no masks."""
    return Ticket(ticket.arm, ticket.probability, ticket.clique, ticket.clique_probability, ticket.baseline, 0.0, round)


@inline_jit
def _draw_clique(table: Floats, uniform: float) -> int:
    """Clique ``k`` with its probability; what rounding leaves over goes to the likeliest."""
    rest, likeliest = uniform, 0
    for k in range(table.shape[0]):
        rest -= table[k, MASS]
        if rest < 0.0:
            return k
        if table[k, MASS] > table[likeliest, MASS]:
            likeliest = k
    return likeliest


@inline_jit
def lowest_in(values: Floats, start: int, stop: int) -> tuple[float, int]:
    """The lowest of some values, and how many are equal to it."""
    least, ties = math.inf, 0
    for i in range(start, stop):
        if values[i] < least:
            least, ties = values[i], 1
        elif values[i] == least:
            ties += 1
    return least, ties


@lean_jit
def write_distribution(state: State, distribution: Floats) -> None:
    """The probability of each arm in the coming round."""
    if state.clock[HANDED_OVER] > 0.0:
        algorithm_1.write_distribution(state.then, distribution)
        return
    for k in range(state.table.shape[0]):
        start, stop = state.starts[k], state.starts[k + 1]
        least, ties = lowest_in(state.sums, start, stop)
        for i in range(start, stop):
            best = state.sums[i] == least
            distribution[state.order[i]] = state.table[k, MASS] / ties if best else 0.0


@inline_jit
def update(state: State, ticket: Ticket, losses: Floats) -> None:
    """Learn the losses of the drawn clique, and prepare the coming round."""
    learn(state, ticket, losses, -1.0)


@lean_jit
def learn(state: State, ticket: Ticket, losses: Floats, excess: float) -> float:
    """:func:`update`, holding back ``excess`` after the handover; before it, what is held back follows from the state.

    Return what was held back of an estimate of Algorithm 1.
    """
    clock = state.clock
    if clock[HANDED_OVER] > 0.0:
        own = renumbered(ticket, int(ticket.round - clock[EARLIER]))
        held_back = algorithm_1.learn(state.then, own, losses, excess)
        clock[ROUND] += 1.0
        return held_back
    incurred = incurred_of(state, ticket, losses)
    if ticket.damping == MASKED:
        clock[LATE] += 1.0
    else:
        clock[LATE] += 1.0 if ticket.round != clock[ROUND] else 0.0
        enter(state, ticket, losses, incurred)
    watch(state, ticket, losses, incurred)
    count(state, ticket, losses)
    clock[RECENT] += min(1.0, state.rules.memory / (clock[ROUND] + MEMORY_START)) * (incurred - clock[RECENT])
    clock[ROUND] += 1.0
    if clock[ROUND] >= clock[NEXT_EPOCH]:
        begin_epoch(state)
    resolve(state)
    return 0.0


@inline_jit
def incurred_of(state: State, ticket: Ticket, losses: Floats) -> float:
    """The loss of the arm that was played."""
    incurred = 0.0
    for j in range(losses.size):
        if state.order[state.starts[ticket.clique] + j] == ticket.arm:
            incurred = losses[j]
    return float(incurred)


@inline_jit
def enter(state: State, ticket: Ticket, losses: Floats, incurred: float) -> None:
    """Enter the round into the account: ``Lhat_i += b + 1{drawn} (l_i - b) / q``, the loss incurred and the play.

    No estimate may rise above the one that gives its clique the most room it can have; what is lowered by that counts
    as held back. A round in which some clique was masked is not entered: nobody could have played its arms, and what
    is not drawn would only seem the better for it.
    """
    table, clock, rules = state.table, state.clock, state.rules
    drawn, start = ticket.clique, state.starts[ticket.clique]
    t = clock[ROUND] + MEMORY_START
    most = rules.room_limit * t + rules.room_root * math.sqrt(t) - table[drawn, ROOM] + table[drawn, LOWEST]
    lowest, unlimited = math.inf, math.inf
    for j in range(losses.size):
        i = start + j
        before = state.estimates[i]
        after = before + (losses[j] - ticket.baseline) / ticket.clique_probability
        unlimited = min(unlimited, after)
        if after > before:
            after = max(before, min(after, most))
        state.estimates[i] = after
        lowest = min(lowest, after)
        if state.order[i] == ticket.arm:
            state.plays[i] += 1.0
            table[drawn, MOST] = max(table[drawn, MOST], state.plays[i])
    for k in range(table.shape[0]):
        table[k, ADDED] += ticket.baseline if k == drawn else table[k, BASELINE]
    clock[HELD_BACK] += ticket.clique_probability * (unlimited - lowest)
    table[drawn, LOWEST] = lowest
    clock[INCURRED] += incurred
    table[drawn, PLAYS] += 1.0
    table[drawn, ALLOWED] = table[drawn, PAST] + math.sqrt(table[drawn, PLAYS])
    table[drawn, INSIDE] = table[drawn, PAST_INSIDE] + math.sqrt(table[drawn, PLAYS] - table[drawn, MOST])


@inline_jit
def watch(state: State, ticket: Ticket, losses: Floats, incurred: float) -> None:
    """How much losses vary, and whether those of cliques that do not lead have moved, which is a reason to hand over.

    What a draw deviates from the mean before it, over ``sqrt(1 + 1/n)``, has the same variance in every draw if means
    stay as they are. Its sums, less a drift in each draw, are the two sides of a cumulative sum test.
    """
    table, clock, rules = state.table, state.clock, state.rules
    drawn, seen = ticket.clique, state.table[ticket.clique, SEEN]
    if seen < 1.0:
        return
    leads = table[drawn, MEAN] <= clock[BEST]
    average = 0.0
    for j in range(losses.size):
        average += losses[j] / losses.size
        if state.order[state.starts[drawn] + j] == ticket.arm:
            mean = (state.sums[state.starts[drawn] + j] + 0.5) / (seen + 1.0)
            at = COINS if leads else COINS + 2
            clock[at] += mean * (1.0 - mean)
            clock[at + 1] += (incurred - mean) ** 2 / (1.0 + 1.0 / (seen + 1.0))
    if not leads and seen >= rules.least_seen:
        deviation = 2.0 * math.sqrt(precision(clock, rules)) * (average - table[drawn, AVERAGE] / seen)
        deviation /= math.sqrt(1.0 + 1.0 / seen)
        clock[UP] = max(0.0, clock[UP] + deviation - rules.drift)
        clock[DOWN] = max(0.0, clock[DOWN] - deviation - rules.drift)
        if max(clock[UP], clock[DOWN]) > rules.alarm:
            clock[REASON] = ALARM


@inline_jit
def count(state: State, ticket: Ticket, losses: Floats) -> None:
    """What was seen."""
    table, drawn, start = state.table, ticket.clique, state.starts[ticket.clique]
    least, average = math.inf, 0.0
    for j in range(losses.size):
        state.sums[start + j] += losses[j]
        least = min(least, state.sums[start + j])
        average += losses[j] / losses.size
    table[drawn, SEEN] += 1.0
    table[drawn, LEAST] = least
    table[drawn, AVERAGE] += average


@lean_jit
def begin_epoch(state: State) -> None:
    """Each epoch is twice as long as the last; plays are counted anew."""
    state.clock[NEXT_EPOCH] *= 2.0
    table = state.table
    for k in range(table.shape[0]):
        table[k, PAST], table[k, PAST_INSIDE] = table[k, ALLOWED], table[k, INSIDE]
        table[k, PLAYS], table[k, MOST] = 0.0, 0.0
    for i in range(state.plays.size):
        state.plays[i] = 0.0


def visibility_of(state: State) -> Visibility:
    """An arm shows its clique."""
    return Visibility(state.owner, state.starts, state.order)


@lean_jit
def write_masses(state: State, masses: Floats) -> None:
    """The clique masses of the coming round."""
    if state.clock[HANDED_OVER] > 0.0:
        algorithm_1.write_masses(state.then, masses)
        return
    for k in range(masses.size):
        masses[k] = state.table[k, MASS]


@lean_jit
def read_safeguards(state: State) -> tuple[float, float, float]:
    """The bound on the regret so far, what was held back, and the round of the handover.

    The first two are those of the account, and of Algorithm 1 after it.
    """
    clock = state.clock
    bound, held_back, handed_over = clock[BOUND], clock[HELD_BACK], math.nan
    if clock[HANDED_OVER] > 0.0:
        after = algorithm_1.read_safeguards(state.then)
        bound, held_back, handed_over = bound + after[0], held_back + after[1], clock[HANDED_OVER]
    return bound if clock[LATE] == 0.0 else math.nan, held_back, handed_over


register_kernels(
    State,
    draw,
    update,
    resolve,
    visibility_getter=visibility_of,
    masses_kernel=write_masses,
    safeguards_kernel=read_safeguards,
    distribution_kernel=write_distribution,
    learn_kernel=learn,
)
