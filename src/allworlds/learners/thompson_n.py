"""Thompson-N: act as if a guess from the posterior were true.

The idea. Count for every arm the losses and the rewards it was *seen* to give, chosen or not. In each round guess its
mean loss from what these counts allow, and play the arm with the best guess:

    guess_i ~ Beta(1 + losses_i, 1 + rewards_i),        I_t = argmin_i guess_i.

A loss between 0 and 1 counts as a whole loss with that probability (Agrawal and Goyal, "Analysis of Thompson sampling
for the multi-armed bandit problem", COLT 2012). The rule is TS-N of Hu, Mehta and Pan, "Problem-dependent regret
bounds for online learning with feedback graphs", UAI 2019; the regret in a stochastic world is at most about
``log(T) log(NT)`` times the largest sum of ``1/Delta`` over independent arms (Lykouris, Tardos and Wali, ALT 2020).
Where means move it can be linear.

All random numbers are functions of the two uniforms of the draw, which the ticket keeps: an outcome that comes late,
or after a restart, is rounded to the same counts. The probability of a choice has no closed form, so the ticket says
NaN and ``distribution`` counts 2,000 guesses.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.kernels.jit import lean_jit
from allworlds.kernels.random import beta, uniform_pair
from allworlds.learners.base import Learner, StateT
from allworlds.learners.dispatch import Visibility, register_kernels
from allworlds.learners.recipe import LearnerRecipe

STREAM_GUESS = 4
"""Guesses use this stream and the next."""
STREAM_ROUND = 6
"""Losses between 0 and 1 are rounded with this one."""
STREAM_COUNT = 7
"""``distribution`` has its own two uniforms."""
GUESSES = 2000
TO_WHOLE = 2.0**53


class State(NamedTuple):
    """What the next round needs."""

    losses: NDArray[np.float64]
    """(N,) how many losses each arm was seen to give."""
    rewards: NDArray[np.float64]
    """(N,) how many rewards, likewise."""
    clock: NDArray[np.float64]
    """(1,) round."""
    visibility: Visibility


class Ticket(NamedTuple):
    """One choice, and the uniforms that its rounding needs."""

    arm: int
    probability: float
    """NaN: not known."""
    first: float
    second: float
    round: int


class Guessing(Learner[StateT, Ticket]):
    """A learner that guesses a mean for each arm from its counts ``losses`` and ``rewards``, and plays the lowest."""

    accepts: ClassVar[frozenset[str]] = frozenset({"directed", "changing", "uninformed"})
    exact_probability: ClassVar[bool] = False
    ticket_class: ClassVar[type] = Ticket
    saved: ClassVar[tuple[str, ...]] = ("losses", "rewards", "clock")

    def distribution(self, state: Any) -> NDArray[np.float64]:
        """(N,) how often each arm is played in 2,000 guesses, always the same ones: an estimate."""
        counts = np.zeros(self.n_arms)
        count_guesses(state.losses, state.rewards, GUESSES, counts)
        return counts / GUESSES


class ThompsonN(Guessing[State]):
    """Thompson sampling over observations.

    >>> from allworlds.graphs import disjoint_cliques
    >>> learner = ThompsonN(disjoint_cliques(1, 2))
    >>> state = learner.init()
    >>> learner.update(state, learner.draw(state, 0.3, 0.6), np.array([0.0, 1.0]))
    >>> state.losses, state.rewards
    (array([0., 1.]), array([1., 0.]))
    """

    name: ClassVar[str] = "thompson-n"

    def init(self) -> State:
        """Nothing seen, round one."""
        zeros = np.zeros(self.n_arms)
        return State(zeros, zeros.copy(), np.array([1.0]), self.visibility)

    def logged_distribution(self, state: State) -> NDArray[np.float64]:
        """(N,) by integration, to about 1e-6: the integral of ``f_i prod_(j != i) (1 - F_j)``.

        >>> from allworlds.graphs import bandit
        >>> learner = ThompsonN(bandit(2))
        >>> state = learner.init()
        >>> state.losses[:] = 0.0, 1.0  # guesses are uniform and, for arm 1, of density 2x
        >>> learner.logged_distribution(state).round(6)
        array([0.666667, 0.333333])
        """
        return chance_of_lowest(1.0 + state.losses, 1.0 + state.rewards)


def chance_of_lowest(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """(N,) the probability that ``Beta(a_i, b_i)`` is the lowest of independent ones; parameters are at least one."""
    from scipy.integrate import cumulative_simpson
    from scipy.special import betaln, xlog1py, xlogy

    mean = a / (a + b)
    spread = np.sqrt(mean * (1.0 - mean) / (a + b + 1.0))
    low = max(0.0, float((mean - 12.0 * spread).min()))
    high = min(1.0, float((mean + 12.0 * spread).min()))
    n_points = int(np.clip(10.0 * (high - low) / spread.min(), 256.0, 20_000.0)) | 1
    x = np.linspace(low, high, n_points)
    density = np.exp(xlogy(a[:, None] - 1.0, x) + xlog1py(b[:, None] - 1.0, -x) - betaln(a, b)[:, None])
    above = np.clip(1.0 - cumulative_simpson(density, x=x, initial=0.0), 1e-300, 1.0)
    logs = np.log(above)
    chances = cumulative_simpson(density * np.exp(logs.sum(axis=0) - logs), x=x)[:, -1]
    return np.asarray(chances / chances.sum())


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def draw(state: Any, first: float, second: float) -> Ticket:
    """``argmin_i guess_i`` with ``guess_i ~ Beta(1 + losses_i, 1 + rewards_i)``."""
    arm = guess(state.losses, state.rewards, first, second)
    return Ticket(arm, math.nan, first, second, int(state.clock[0]))


@lean_jit
def guess(losses: NDArray[np.float64], rewards: NDArray[np.float64], first: float, second: float) -> int:
    """The arm with the lowest guess; the two uniforms name the random numbers of all arms."""
    key, counter = int(first * TO_WHOLE), int(second * TO_WHOLE)
    arm, lowest = 0, math.inf
    for i in range(losses.size):
        value = beta(key, STREAM_GUESS, counter, i, 1.0 + losses[i], 1.0 + rewards[i])
        if value < lowest:
            arm, lowest = i, value
    return arm


@lean_jit
def count_guesses(
    losses: NDArray[np.float64], rewards: NDArray[np.float64], n_guesses: int, counts: NDArray[np.float64]
) -> None:
    """How often each arm has the lowest guess."""
    for k in range(n_guesses):
        first, second = uniform_pair(0, STREAM_COUNT, k, 0)
        counts[guess(losses, rewards, first, second)] += 1.0


@lean_jit
def update(state: State, ticket: Ticket, losses: NDArray[np.float64]) -> None:
    """Count what is seen."""
    count_rounded(state, ticket, losses)
    state.clock[0] += 1.0


@lean_jit
def count_rounded(state: Any, ticket: Ticket, losses: NDArray[np.float64]) -> None:
    """Each arm that is seen gives a loss with probability ``l_i``, else a reward."""
    key, counter = int(ticket.first * TO_WHOLE), int(ticket.second * TO_WHOLE)
    start = state.visibility.starts[state.visibility.where[ticket.arm]]
    for j in range(losses.size):
        i = state.visibility.order[start + j]
        loss = losses[j]
        if 0.0 < loss < 1.0:
            loss = 1.0 if uniform_pair(key, STREAM_ROUND, counter, i)[0] < loss else 0.0
        state.losses[i] += loss
        state.rewards[i] += 1.0 - loss


register_kernels(State, draw, update)

RECIPES = (
    LearnerRecipe(
        "thompson-n",
        ThompsonN,
        "log T log(NT) max over independent I of sum_I 1/Delta, undirected [Lykouris et al. 2020]",
        "thompson-n",
        kind=ThompsonN,
        world="stochastic",
        source='Hu, Mehta and Pan, "Problem-dependent regret bounds", UAI 2019',
        rendering="as printed",
    ),
)
