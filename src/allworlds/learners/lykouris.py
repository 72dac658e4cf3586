"""The multi-layer race: several eliminations at different speeds, the slow ones safe from tampering.

The idea. Action elimination fails when a few losses are tampered with: the best arm is dropped and never comes back.
So run many eliminations at once. Layer ``l`` is drawn with probability ``2^-l`` only, and so meets only a share
``2^-l`` of the corruption: where this is about one, it is safe. A slow layer that drops an arm overrules all faster
ones:

    l drawn with probability 2^-l, l = 1, ..., ceil(log2 T), and l = 1 with what is left over;
    play the arm of the layer's active set A_l that the layer has played least; learn in layer l only;
    width_l(i) = sqrt(W / n_l(i)) + W / n_l(i),    W = log(4 N T log2(T) / delta),
    while mean_l(i) - width_l(i) > mean_l(j) + width_l(j) for some i, j in A_l:  drop i from A_1, ..., A_l.

If ``A_l`` is empty, an arm of the next non-empty ``A_l'``, ``l' > l``, is played and nothing is learnt. With
probability ``1 - delta`` the regret is at most of order ``sum_i (N C log(N T / delta) + log T) / Delta_i * log(N T /
delta)``, ``C`` the corruption, which need not be known (Lykouris, Mirrokni and Paes Leme, "Stochastic bandits robust
to adversarial corruptions", STOC 2018). The rule is written from memory; the number inside the logarithm may differ
from the print.

Arms that were played equally often are equally likely, here, so that the numbers of the arms do not matter. The graph
is ignored beyond the chosen arm. ``scale`` multiplies ``W``; below 1 nothing is proved. ``failure`` is ``delta``, ``1
/ T`` unless given.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.foundation.checks import index
from allworlds.foundation.errors import InvalidState
from allworlds.kernels.jit import lean_jit
from allworlds.learners.base import Learner
from allworlds.learners.dispatch import Shows, Visibility, register_kernels
from allworlds.learners.recipe import LearnerRecipe


class State(NamedTuple):
    """What every layer knows; the distribution follows from it. Layer 1 is row 0."""

    totals: NDArray[np.float64]
    """(L, N) the sum of the losses that each layer has seen."""
    played: NDArray[np.float64]
    """(L, N) how often each layer has played each arm."""
    active: NDArray[np.int64]
    """(L, N) 1 where an arm is in the active set of a layer."""
    distribution: NDArray[np.float64]
    """(N,) of the coming round."""
    clock: NDArray[np.float64]
    """(1,) round."""
    visibility: Visibility
    width: float
    """``W``."""


class Ticket(NamedTuple):
    """One choice, and the layer that made it."""

    arm: int
    probability: float
    """Of the arm, through any layer."""
    layer: int
    """The layer drawn, from 0; an outcome is learnt there, and nowhere if its active set was empty: -1."""
    round: int


@dataclass(frozen=True)
class Lykouris(Learner[State, Ticket]):
    """The multi-layer active arm elimination race; ``scale`` narrows the confidence intervals.

    >>> from allworlds.graphs import bandit
    >>> learner = Lykouris(bandit(2), horizon=1000)
    >>> state = learner.init()
    >>> state.active.shape
    (10, 2)
    >>> learner.update(state, learner.draw(state, 0.3, 0.0), np.array([1.0]))
    >>> learner.distribution(state)  # layer 1 plays the other arm next; it is drawn with probability 1/2 + 2^-10
    array([0.24951172, 0.75048828])
    """

    name: ClassVar[str] = "lykouris"
    shows: ClassVar[Shows] = "itself"
    accepts: ClassVar[frozenset[str]] = frozenset({"directed", "changing", "uninformed"})
    ticket_class: ClassVar[type] = Ticket
    positive: ClassVar[tuple[str, ...]] = ("scale",)
    fractions: ClassVar[tuple[str, ...]] = ("failure",)
    saved: ClassVar[tuple[str, ...]] = ("totals", "played", "active", "clock")

    horizon: int
    scale: float = 1.0
    failure: float | None = None

    @property
    def n_layers(self) -> int:
        """``ceil(log2 T)``, at least one."""
        return max(1, math.ceil(math.log2(self.horizon)))

    def init(self) -> State:
        """All arms are active in all layers."""
        shape, logarithm = (self.n_layers, self.n_arms), math.log2(max(self.horizon, 2))
        failure = self.failure or 1.0 / self.horizon
        state = State(
            totals=np.zeros(shape),
            played=np.zeros(shape),
            active=np.ones(shape, dtype=np.int64),
            distribution=np.empty(self.n_arms),
            clock=np.array([1.0]),
            visibility=self.visibility,
            width=self.scale * math.log(4.0 * self.n_arms * self.horizon * logarithm / failure),
        )
        resolve(state)
        return state

    def check_ticket(self, ticket: Ticket) -> None:
        """Raise InvalidState also unless there is such a layer."""
        super().check_ticket(ticket)
        if ticket.layer != -1:
            index("a ticket's layer", ticket.layer, self.n_layers, InvalidState)


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def draw(state: State, first: float, second: float) -> Ticket:
    """Draw a layer by the first uniform, one of its least played arms by the second."""
    layer = drawn_layer(first, state.active.shape[0])
    place, least, ties = -1, math.inf, 0
    for offset in range(state.active.shape[0]):  # the layer itself, or the next that is not empty
        place = layer + offset
        least, ties = least_played(state.active[place], state.played[place])
        if ties > 0:
            break
    arm, left = 0, int(second * ties)
    for i in range(state.distribution.size):
        if state.active[place, i] == 1 and state.played[place, i] == least:
            arm = i
            if left == 0:
                break
            left -= 1
    learns = layer if place == layer else -1
    return Ticket(arm, float(state.distribution[arm]), learns, int(state.clock[0]))


@lean_jit
def drawn_layer(uniform: float, n_layers: int) -> int:
    """Layer ``l``, from 0, with probability ``2^-(l+1)``; what is left over, ``2^-L``, goes to layer 0."""
    rest = uniform
    for layer in range(n_layers):
        rest -= 0.5 ** (layer + 1)
        if rest < 0.0:
            return layer
    return 0


@lean_jit
def least_played(active: NDArray[np.int64], played: NDArray[np.float64]) -> tuple[float, int]:
    """The fewest plays of an active arm of a layer, and how many active arms have them; 0 arms if none is active."""
    least, ties = math.inf, 0
    for i in range(active.size):
        if active[i] == 1:
            if played[i] < least:
                least, ties = played[i], 1
            elif played[i] == least:
                ties += 1
    return least, ties


@lean_jit
def update(state: State, ticket: Ticket, losses: NDArray[np.float64]) -> None:
    """Learn in the layer that chose; what it drops is dropped in all faster layers too."""
    if ticket.layer >= 0:
        state.totals[ticket.layer, ticket.arm] += losses[0]
        state.played[ticket.layer, ticket.arm] += 1.0
        eliminate(state.totals[ticket.layer], state.played[ticket.layer], state.active, ticket.layer, state.width)
    state.clock[0] += 1.0
    resolve(state)


@lean_jit
def eliminate(
    totals: NDArray[np.float64],
    played: NDArray[np.float64],
    active: NDArray[np.int64],
    layer: int,
    width: float,
) -> None:
    """Drop the active arms whose interval lies above that of some active arm, from this layer and all before."""
    best = math.inf
    for i in range(totals.size):
        if active[layer, i] == 1 and played[i] > 0.0:
            best = min(best, totals[i] / played[i] + math.sqrt(width / played[i]) + width / played[i])
    for i in range(totals.size):
        lowest = (
            totals[i] / played[i] - math.sqrt(width / played[i]) - width / played[i] if played[i] > 0.0 else -math.inf
        )
        if active[layer, i] == 1 and lowest > best:
            for faster in range(layer + 1):
                active[faster, i] = 0


@lean_jit
def resolve(state: State) -> None:
    """``p``: every layer's probability, shared by its least played active arms; an empty one hands it to the next."""
    n_layers, p = state.active.shape[0], state.distribution
    for i in range(p.size):
        p[i] = 0.0
    waiting = 0.5**n_layers  # what is left over belongs to the first layer
    for layer in range(n_layers):
        waiting += 0.5 ** (layer + 1)
        least, ties = least_played(state.active[layer], state.played[layer])
        if ties > 0:
            for i in range(p.size):
                if state.active[layer, i] == 1 and state.played[layer, i] == least:
                    p[i] += waiting / ties
            waiting = 0.0


register_kernels(State, draw, update, resolve)

RECIPES = (
    LearnerRecipe(
        "lykouris",
        Lykouris,
        "sum_i (N C log(NT/delta) + log T) log(NT/delta) / Delta_i with probability 1 - delta [Lykouris et al. 2018]",
        "lykouris:scale=0.1",
        {"scale": "number", "failure": "number"},
        kind=Lykouris,
        world="corrupted",
        told="horizon",
        horizon="needed",
        source='Lykouris, Mirrokni and Paes Leme, "Stochastic bandits robust to adversarial corruptions", STOC 2018',
        rendering="from memory",
    ),
)
