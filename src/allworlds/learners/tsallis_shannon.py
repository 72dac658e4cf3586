"""The learner of the paper: good in all worlds at once [EK21, Algorithm 1].

The idea. Arms that see each other form a clique, so whoever draws any arm of a clique learns the losses of
all of it. Inside a clique one may therefore follow the best arm quickly, as with full information (Shannon
entropy); between cliques one must explore, as with bandits (Tsallis entropy). Follow the regularised leader
with the product of the two entropies and a log barrier on the cliques:

    p_t = argmin  Lhat·p + Psi(p) / eta_t + Phi(p),          draw I_t from p_t,
    Lhat_i += (l_i - b) / p_t(V(I_t))   for i in V(I_t),     b = 0 in the paper, or a running mean loss.

The regret is about ``sqrt(K T)`` against any losses, and about ``sum_k log(T) / Delta_k`` if they are
stochastic, with ``K`` cliques instead of ``N`` arms; nobody has to say which.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.errors import InvalidParameter, InvalidState
from allworlds.ftrl.clique_mass import MAX_STEPS, Masses, Problem, new_masses, solve_masses
from allworlds.ftrl.constants import Constants
from allworlds.ftrl.solve import fill_distribution, set_lowest
from allworlds.ftrl.within_clique import moments, probability
from allworlds.graphs import CliqueCover
from allworlds.graphs.cover import check_cover
from allworlds.kernels.jit import jit
from allworlds.learners.base import Learner
from allworlds.learners.dispatch import Sight, serves

TOLERANCE = 1e-12
"""Residual at which a round's step stops; Newton's last step usually leaves it far below."""
WINDOW = 200.0
"""Mean and variance are those of the losses incurred, of about the last 200 once there are so many."""
MEAN_START, VARIANCE_START = 0.5, 0.25
"""What is taken for granted before the first loss: as much as losses in [0, 1] can vary."""

ROUND, MEAN, VARIANCE, MULTIPLIER, RESIDUAL = range(5)
"""Places in ``State.clock``."""


class Rates(NamedTuple):
    """The scalars of :class:`~allworlds.Constants`, for kernels."""

    beta: float
    gamma: float
    eta0: float
    power: float
    beta_floor: float
    uses_baseline: bool


class State(NamedTuple):
    """What the next round needs; arms are in clique order, and ``masses`` is already solved for it."""

    cumulative_losses: NDArray[np.float64]
    """(N,) ``Lhat``, in clique order."""
    masses: Masses
    """The solved masses of the coming round."""
    clock: NDArray[np.float64]
    """(5,) round; mean and variance of the losses incurred; multiplier and residual of the step."""
    owner: NDArray[np.int64]
    order: NDArray[np.int64]
    starts: NDArray[np.int64]
    alpha: NDArray[np.float64]
    rates: Rates


class Ticket(NamedTuple):
    """One choice, with all that its estimate needs."""

    arm: int
    probability: float
    clique: int
    clique_probability: float
    baseline: float
    round: int


@dataclass(frozen=True)
class TsallisShannon(Learner):
    """Algorithm 1 of [EK21] on a clique cover, with practical constants unless others are given.

    >>> from allworlds.graphs import clique_cover, disjoint_cliques
    >>> learner = TsallisShannon(clique_cover(disjoint_cliques(2, 2)))
    >>> state = learner.init()
    >>> learner.distribution(state)
    array([0.25, 0.25, 0.25, 0.25])
    >>> ticket = learner.draw(state, 0.9, 0.1)
    >>> ticket.arm, learner.observes(ticket.arm)
    (2, array([2, 3]))
    >>> learner.update(state, ticket, np.array([1.0, 0.0]))
    >>> learner.distribution(state).argmax()
    np.int64(3)
    """

    name: ClassVar[str] = "tsallis-shannon"
    has_cliques: ClassVar[bool] = True
    ticket_class: ClassVar[type] = Ticket

    cover: CliqueCover
    constants: Constants | None = None

    def __post_init__(self) -> None:
        """Take the practical constants by default; refuse constants that do not fit the cover."""
        check_cover(self.cover)
        if self.constants is None:
            object.__setattr__(self, "constants", Constants.practical(self.cover))
        elif not isinstance(self.constants, Constants):
            raise InvalidParameter(
                f"constants is a {type(self.constants).__name__}; expected Constants, such as "
                "Constants.practical(cover)"
            )
        self._constants.check_fits(self.cover)

    @property
    def _constants(self) -> Constants:
        assert self.constants is not None
        return self.constants

    @property
    def title(self) -> str:
        """The name, with the setting of the constants unless it is the practical one."""
        label = self._constants.label
        return self.name if label == "practical" else f"{self.name} ({label})"

    def init(self) -> State:
        """No losses, round one."""
        c = self._constants
        state = State(
            cumulative_losses=np.zeros(self.n_arms),
            masses=new_masses(self.cover.sizes, c.gamma),
            clock=np.array([1.0, MEAN_START, VARIANCE_START, 0.0, 0.0]),
            owner=self.cover.owner,
            order=self.cover.order,
            starts=self.cover.starts,
            alpha=np.array(c.alpha),
            rates=Rates(c.beta, c.gamma, c.eta0, c.power, c.beta_floor, c.estimator == "baseline"),
        )
        resolve(state)
        return state

    def observes(self, arm: int) -> NDArray[np.int64]:
        """The clique of ``arm``: its other neighbours are seen but not used."""
        return self.cover.cliques[int(self.cover.owner[arm])]

    def distribution(self, state: State) -> NDArray[np.float64]:
        """(N,) the probability of each arm in the coming round."""
        by_clique = np.empty(self.n_arms)
        fill_distribution(as_problem(state), state.masses, by_clique)
        distribution = np.empty(self.n_arms)
        distribution[state.order] = by_clique
        return distribution

    def clique_mass(self, state: State) -> NDArray[np.float64]:
        """(K,) the probability of each clique in the coming round."""
        mass: NDArray[np.float64] = state.masses.temperature**-2.0
        return mass

    def constants_now(self, state: State) -> Constants:
        """The constants of the coming round: the same, but for a barrier that follows the variance."""
        return replace(self._constants, beta=float(as_problem(state).beta), beta_floor=1.0)

    def residual(self, state: State) -> float:
        """The certificate of the coming round's distribution."""
        return float(state.clock[RESIDUAL])

    def cumulative_losses(self, state: State) -> NDArray[np.float64]:
        """(N,) ``Lhat`` in the order of the arms."""
        losses = np.empty(self.n_arms)
        losses[state.order] = state.cumulative_losses
        return losses

    def pack(self, state: State) -> dict[str, NDArray[np.float64]]:
        """Losses, temperatures and clock: the rest follows from them."""
        return {
            "cumulative_losses": state.cumulative_losses.copy(),
            "temperature": state.masses.temperature.copy(),
            "clock": state.clock.copy(),
        }

    def unpack(self, arrays: dict[str, NDArray[np.float64]]) -> State:
        """The state as it was, solved masses included; nothing is solved again."""
        state = self.init()
        saved = (state.cumulative_losses, state.masses.temperature, state.clock)
        for name, place in zip(("cumulative_losses", "temperature", "clock"), saved, strict=True):
            if arrays[name].shape != place.shape or not np.isfinite(arrays[name]).all():
                raise InvalidState(f"{name} has shape {arrays[name].shape}; expected finite numbers, {place.shape}")
            place[:] = arrays[name]
        if not state.clock[ROUND] >= 1.0 or not (state.masses.temperature > 0.0).all():
            raise InvalidState("the saved round or the saved temperatures are not positive; the file is damaged")
        restore(state)
        return state

    def check_ticket(self, ticket: Ticket) -> None:
        """Beside the arm, the clique must be its own, with a probability."""
        super().check_ticket(ticket)
        good = isinstance(ticket.clique_probability, float) and 0.0 < ticket.clique_probability <= 1.0
        good = good and isinstance(ticket.baseline, float) and 0.0 <= ticket.baseline <= 1.0
        if not good or ticket.clique != int(self.cover.owner[ticket.arm]):
            raise InvalidState(f"a ticket for arm {ticket.arm} does not fit the cover; the file is damaged")

    def settings(self) -> dict[str, Any]:
        """The constants."""
        return {"constants": self._constants.to_dict()}

    @classmethod
    def from_settings(cls, cover: CliqueCover, settings: dict[str, Any]) -> TsallisShannon:
        """The inverse of :meth:`settings`."""
        return cls(cover, Constants.from_dict(settings["constants"]))


# --- kernels --------------------------------------------------------------------------------------------


@jit
def draw(state: State, first: float, second: float) -> Ticket:
    """Draw clique ``k`` with probability ``q_k``, then an arm of it with probability ``y_i``."""
    masses = state.masses
    k, likeliest = 0, 0.0
    rest = first
    for j in range(masses.temperature.size):
        q = 1.0 / (masses.temperature[j] * masses.temperature[j])
        rest -= q
        if rest < 0.0:
            k = j
            break
        if q > likeliest:  # what rounding leaves over goes to the likeliest clique, never to a rare one
            k, likeliest = j, q
    x = masses.temperature[k]
    sharpness = _learning_rate(state) / x
    floor = state.rates.gamma * x * x
    place, y = state.starts[k], 0.0
    rest = second
    for i in range(state.starts[k], state.starts[k + 1]):
        weight = probability(state.cumulative_losses[i] - masses.lowest[k], masses.log_top[k], sharpness, floor)
        if weight > 0.0:
            place, y = i, weight
            rest -= weight
            if rest < 0.0:
                break
    q = 1.0 / (x * x)
    baseline = float(state.clock[MEAN]) if state.rates.uses_baseline else 0.0
    return Ticket(int(state.order[place]), float(q * y), k, float(q), baseline, int(state.clock[ROUND]))


@jit
def update(state: State, ticket: Ticket, losses: NDArray[np.float64]) -> None:
    """``Lhat_i += (l_i - b) / q`` on the drawn clique, then the next round's step."""
    k = ticket.clique
    start = state.starts[k]
    lowest = math.inf
    for j in range(losses.size):
        state.cumulative_losses[start + j] += (losses[j] - ticket.baseline) / ticket.clique_probability
        lowest = min(lowest, state.cumulative_losses[start + j])
    state.masses.lowest[k] = lowest
    incurred = losses[np.searchsorted(state.order[start : start + losses.size], ticket.arm)]
    _follow(state.clock, incurred)
    state.clock[ROUND] += 1.0
    resolve(state)


@jit
def _follow(clock: NDArray[np.float64], incurred: float) -> None:
    """Running mean and variance of the losses incurred."""
    step = 1.0 / min(clock[ROUND] + 1.0, WINDOW)
    before = incurred - clock[MEAN]
    clock[MEAN] += step * before
    clock[VARIANCE] += step * (before * (incurred - clock[MEAN]) - clock[VARIANCE])


@jit
def resolve(state: State) -> None:
    """Solve the coming round's step, starting from the last one's answer."""
    multiplier, residual, _steps = solve_masses(
        as_problem(state), state.masses, state.clock[MULTIPLIER], TOLERANCE, MAX_STEPS
    )
    state.clock[MULTIPLIER] = multiplier
    state.clock[RESIDUAL] = residual


@jit
def restore(state: State) -> None:
    """What follows from losses and temperatures: each clique's lowest loss and ``log_top``."""
    problem = as_problem(state)
    set_lowest(problem, state.masses)
    for k in range(state.alpha.size):
        x = state.masses.temperature[k]
        arms = state.cumulative_losses[state.starts[k] : state.starts[k + 1]]
        at = moments(arms, state.masses.lowest[k], problem.eta / x, problem.gamma * x * x)
        state.masses.log_top[k] = at.log_top


@jit
def as_problem(state: State) -> Problem:
    """The coming round's step."""
    return Problem(
        state.cumulative_losses,
        state.starts,
        state.alpha,
        state.rates.beta * min(1.0, max(state.rates.beta_floor, 4.0 * state.clock[VARIANCE])),
        state.rates.gamma,
        _learning_rate(state),
    )


@jit
def _learning_rate(state: State) -> float:
    """``eta0 / t**power``, with the exact square root for one half."""
    t = state.clock[ROUND]
    return state.rates.eta0 / (math.sqrt(t) if state.rates.power == 0.5 else t**state.rates.power)


@jit
def seen_by(state: State) -> Sight:
    """An arm shows its clique."""
    return Sight(state.owner, state.starts, state.order)


@jit
def write_masses(state: State, masses: NDArray[np.float64]) -> None:
    """The clique masses of the coming round."""
    for k in range(masses.size):
        masses[k] = 1.0 / (state.masses.temperature[k] * state.masses.temperature[k])


serves(State, draw, update, seen_by, write_masses)
