"""Hedge inside the cliques, bandits between them: minimax on disjoint cliques; our reconstruction of Chen et al. 2024.

The idea. Drawing an arm shows its whole clique. So each clique ``k``, of ``m_k`` arms, has a Hedge of its own, with
the rate ``eta_k``, and a leader with Tsallis entropy of index 1/2 divides the rounds between the cliques. It does not
charge a clique the mean loss of its Hedge but what the Hedge's weights lose, which is less:

    p_t(i) = y_t(k) x_t(i),    x_t(i) ∝ exp(-eta_k Lhat_i) within k,    y_t = argmin  C·y - (2 / eta) sum_k sqrt(y_k),
    and where an arm of clique k is drawn,      lhat_i = l_i / y_t(k)   for its arms i,
    C_k += (1 - sum_i x_t(i) exp(-eta_k lhat_i)) / eta_k,      Lhat_i += lhat_i,
    eta = 1 / sqrt(T),      eta_k = log(m_k + 1) / sqrt(T S),      S = sum_k log(m_k + 1).

Why. As ``1 - x <= -log x``, the charges of a clique sum to at most ``min Lhat_i + log(m_k) / eta_k`` over its arms:
Hedge's own regret has no second-order term. What a charge leaves out of the mean loss is on average at most
``eta_k / 2`` a round for each clique, however rare it is, and the leader's regret on the charges is at most
``2 sqrt(K) / eta + eta T sqrt(K)``. So the regret against any losses is at most ``3 sqrt(K T) + 1.5 sqrt(T S)``, and no
learner does better than a constant times ``sqrt(T S)`` on disjoint cliques (Chen, He and Zhang, "On interpolating
experts and multi-armed bandits", ICML 2024, who prove both orders, and extend the rule to clique covers).

We could not read their algorithm: that it has two levels is known to us, the charge and the rates are our
reconstruction, and the constants above follow from the argument above. Without a horizon the round ``t`` stands for
``T``; the same argument then gives ``4 sqrt(K T) + 2 sqrt(T S)``. ``scale`` multiplies ``eta``, ``within_scale`` every
``eta_k``. With late outcomes a charge uses the weights of when the outcome arrives.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.covers import CliqueCover
from allworlds.foundation.checks import real, whole
from allworlds.foundation.errors import InvalidState
from allworlds.graphs import AnyGraph
from allworlds.kernels.jit import lean_jit
from allworlds.learners.base import CliqueLearner
from allworlds.learners.dispatch import Visibility, register_kernels
from allworlds.learners.recipe import LearnerRecipe
from allworlds.learners.sampling import pick
from allworlds.learners.separable import Regulariser, separable_step

ROUND, DISTANCE = 0, 1
"""Places in ``State.clock``."""


class Rates(NamedTuple):
    """The scalars of the learner, for kernels."""

    between: float
    """``eta sqrt(T)``."""
    horizon: float
    """0 where it is not known."""


class State(NamedTuple):
    """What the next round needs; the masses are already those of the coming round."""

    cumulative_losses: NDArray[np.float64]
    """(N,) ``Lhat``."""
    charges: NDArray[np.float64]
    """(K,) ``C``."""
    clique_mass: NDArray[np.float64]
    """(K,) ``y_t`` of the coming round."""
    conditional: NDArray[np.float64]
    """(N,) ``x_t`` of the coming round."""
    distribution: NDArray[np.float64]
    """(N,) ``p_t`` of the coming round."""
    clock: NDArray[np.float64]
    """(2,) round, the solution of the last step."""
    within: NDArray[np.float64]
    """(K,) ``eta_k sqrt(T)``."""
    visibility: Visibility
    """An arm shows its clique: ``where`` is the clique of each arm."""
    rates: Rates


class Ticket(NamedTuple):
    """One choice, with all that its estimate needs."""

    arm: int
    probability: float
    clique_probability: float
    round: int


@dataclass(frozen=True, init=False)
class Chen2024(CliqueLearner[State, Ticket]):
    """Two levels on the cliques of a graph or of a cover, anytime unless a horizon is given.

    >>> from allworlds.graphs import disjoint_cliques
    >>> learner = Chen2024(disjoint_cliques(2, 2))
    >>> state = learner.init()
    >>> ticket = learner.draw(state, 0.6, 0.0)
    >>> ticket.arm, ticket.clique_probability, learner.observes(ticket.arm)
    (2, 0.5, array([2, 3]))
    >>> learner.update(state, ticket, np.array([1.0, 0.0]))
    >>> learner.distribution(state).round(2)
    array([0.31, 0.31, 0.1 , 0.28])
    """

    name: ClassVar[str] = "chen-2024"
    ticket_class: ClassVar[type] = Ticket
    saved: ClassVar[tuple[str, ...]] = ("cumulative_losses", "charges", "clique_mass", "clock")
    logged: ClassVar[tuple[str, ...]] = ("clique_probability",)

    horizon: int | None
    scale: float
    within_scale: float

    def __init__(
        self,
        graph: AnyGraph | CliqueCover,
        horizon: int | None = None,
        scale: float = 1.0,
        within_scale: float = 1.0,
    ) -> None:
        super().__init__(graph)
        object.__setattr__(self, "horizon", None if horizon is None else whole("horizon", horizon))
        object.__setattr__(self, "scale", real("scale", scale, above=0))
        object.__setattr__(self, "within_scale", real("within_scale", within_scale, above=0))

    def init(self) -> State:
        """No losses, round one."""
        sizes = np.log(self.cover.sizes + 1.0)
        state = State(
            cumulative_losses=np.zeros(self.n_arms),
            charges=np.zeros(self.n_cliques),
            clique_mass=np.full(self.n_cliques, 1.0 / self.n_cliques),
            conditional=np.empty(self.n_arms),
            distribution=np.empty(self.n_arms),
            clock=np.array([1.0, 1.0]),
            within=self.within_scale * sizes / math.sqrt(sizes.sum()),
            visibility=self.visibility,
            rates=Rates(self.scale, float(self.horizon or 0)),
        )
        step(state)
        return state

    def clique_mass(self, state: State) -> NDArray[np.float64]:
        """(K,) the probability of each clique in the coming round."""
        return state.clique_mass.copy()

    def check_ticket(self, ticket: Ticket) -> None:
        """Raise InvalidState also unless the clique's probability is possible."""
        super().check_ticket(ticket)
        real("a ticket's clique_probability", ticket.clique_probability, above=0, at_most=1 + 1e-9, error=InvalidState)


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def draw(state: State, first: float, second: float) -> Ticket:
    """Draw ``I_t`` from ``p_t``; note the mass of its clique."""
    arm = pick(state.distribution, first)
    mass = float(state.clique_mass[state.visibility.where[arm]])
    return Ticket(arm, float(state.distribution[arm]), mass, int(state.clock[ROUND]))


@lean_jit
def update(state: State, ticket: Ticket, losses: NDArray[np.float64]) -> None:
    """``C_k += sum_i x_i (1 - exp(-eta_k lhat_i)) / eta_k`` and ``Lhat_i += lhat_i``, then the next round's step."""
    k = state.visibility.where[ticket.arm]
    start = state.visibility.starts[k]
    rate = state.within[k] / root_of_rounds(state)
    charge = 0.0
    for j in range(losses.size):
        i = state.visibility.order[start + j]
        estimate = losses[j] / ticket.clique_probability
        charge -= state.conditional[i] * math.expm1(-rate * estimate) / rate
        state.cumulative_losses[i] += estimate
    state.charges[k] += charge
    state.clock[ROUND] += 1.0
    step(state)


@lean_jit
def root_of_rounds(state: State) -> float:
    """``sqrt(T)``, or ``sqrt(t)`` without a horizon."""
    return math.sqrt(state.rates.horizon if state.rates.horizon > 0.0 else state.clock[ROUND])


@lean_jit
def step(state: State) -> None:
    """The coming round's ``y``, starting from the last round's: ``1 / sqrt(y_k) = eta (C_k - lambda)``."""
    entropy = Regulariser(root_of_rounds(state) / state.rates.between, 0.5, 0.0, 1.0, 0.0)
    state.clock[DISTANCE] = separable_step(state.charges, entropy, 1.0, state.clock[DISTANCE], state.clique_mass)
    resolve(state)


@lean_jit
def resolve(state: State) -> None:
    """The coming round's ``x ∝ exp(-eta_k Lhat)`` within each clique, and ``p = y x``."""
    starts, order, losses, x = (
        state.visibility.starts,
        state.visibility.order,
        state.cumulative_losses,
        state.conditional,
    )
    root = root_of_rounds(state)
    for k in range(state.charges.size):
        rate, lowest, total = state.within[k] / root, math.inf, 0.0
        for j in range(starts[k], starts[k + 1]):
            lowest = min(lowest, losses[order[j]])
        for j in range(starts[k], starts[k + 1]):
            x[order[j]] = math.exp(-rate * (losses[order[j]] - lowest))
            total += x[order[j]]
        for j in range(starts[k], starts[k + 1]):
            x[order[j]] /= total
            state.distribution[order[j]] = state.clique_mass[k] * x[order[j]]


@lean_jit
def write_masses(state: State, masses: NDArray[np.float64]) -> None:
    """``y_t``, for a trace."""
    for k in range(masses.size):
        masses[k] = state.clique_mass[k]


register_kernels(State, draw, update, resolve, masses_kernel=write_masses)

RECIPES = (
    LearnerRecipe(
        "chen-2024",
        Chen2024,
        "none claimed; our reconstruction of [Chen et al. 2024], who prove sqrt(T sum_k log(m_k + 1))",
        "chen-2024:scale=2",
        {"scale": "number", "within_scale": "number"},
        kind=Chen2024,
        world="adversarial",
        told="nothing; takes a horizon",
        horizon="taken",
        source='Chen, He and Zhang, "On interpolating experts and multi-armed bandits", ICML 2024',
        rendering="reconstruction",
    ),
)
