"""The learner of the paper: good in all worlds at once [EK21, Algorithm 1].

The idea. Arms that see each other form a clique, so drawing any arm of a clique shows the losses of
all of it. Inside a clique one may therefore follow the best arm quickly, as with full information (Shannon
entropy); between cliques one must explore, as with bandits (Tsallis entropy). Follow the regularised leader
with the product of the two entropies and a log barrier on the cliques:

    p_t = argmin  Lhat·p + Psi(p) / eta_t + Phi(p),          draw I_t from p_t,
    Lhat_i += (l_i - b) / p_t(V(I_t))   for i in V(I_t),

with ``b = 0`` in the paper. The default takes off a share ``b`` of a running mean loss, gives each clique a rate of its
own, lets the barrier follow ``b``, and holds back what would put a clique further behind than 4 % of the rounds so far
plus six times their root (``docs/practical.md``); the proof still holds (``docs/default_proof.md``).

For worlds that move there is an option that no theorem covers: with a ``half_life`` of ``H`` rounds everything learnt
counts half after ``H`` rounds, ``Lhat <- 2^(-1/H) Lhat`` in every round, and rate, baseline and deficit limit see an
age that stops growing at about ``H / log 2``. All entries shrink by one factor ``g``, so none is touched: the state
holds ``Lhat / g``, and the step is solved with the rate ``g eta`` and the barrier ``beta / g``: the argmin is the same.
It has constants of its own, with four times the rate (``Constants.forgetting``).

The regret is about ``sqrt(K T)`` against any losses, and about ``sum_k log(T) / Delta_k`` if they are
stochastic, with ``K`` cliques instead of ``N`` arms; the learner need not be told which.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from allworlds.covers import CliqueCover, clique_cover
from allworlds.foundation.checks import whole
from allworlds.foundation.errors import InvalidParameter, InvalidState
from allworlds.ftrl.clique_mass import (
    MAX_STEPS,
    TIGHT,
    Masses,
    Problem,
    appraise_all,
    new_masses,
    residual_of,
    solve_masses,
)
from allworlds.ftrl.clique_table import (
    COOLNESS,
    FIRST_PINNED,
    INVERSE,
    LANES,
    LAST_FREE,
    LOWEST,
    RATE_FACTOR,
    REFERENCE,
    TEMPERATURE,
    column,
    new_table,
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
    new_clock,
    rates_of,
    set_rates,
    tick,
)
from allworlds.ftrl.constants import Constants
from allworlds.ftrl.expansion import CHUNK, FAR, WEIGHT, expand, new_work, weigh
from allworlds.ftrl.floor_step import expand_up_to, expand_with_floor, log_top_of, solve_with_floor
from allworlds.ftrl.lazy_step import solve_lazily
from allworlds.ftrl.regret_bound import (
    BIAS,
    LATE,
    SPREAD,
    BoundTerms,
    add_round,
    bound_now,
    bound_terms,
    new_ledger,
    spread_of,
)
from allworlds.ftrl.solve import fill_distribution, set_lowest
from allworlds.ftrl.within_clique import least
from allworlds.graphs import AnyGraph, FeedbackGraph
from allworlds.kernels.exponential import exp
from allworlds.kernels.jit import lean_jit
from allworlds.learners.base import CliqueLearner, saved_array
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


def constants_on(
    cover: CliqueCover, constants: Constants | None, usual: Callable[[CliqueCover], Constants] = Constants.practical
) -> Constants:
    """The given constants, which must fit the cover, or the usual ones."""
    if constants is not None and not isinstance(constants, Constants):
        raise InvalidParameter(
            f"constants is a {type(constants).__name__}; expected Constants, such as Constants.practical(cover)"
        )
    chosen = constants or usual(cover)
    chosen.check_fits(cover)
    return chosen


@dataclass(frozen=True, init=False)
class TsallisShannon(CliqueLearner[State, Ticket]):
    """Algorithm 1 of [EK21] on a graph or on a cover of it, with practical constants unless others are given.

    >>> from allworlds.graphs import disjoint_cliques
    >>> learner = TsallisShannon(disjoint_cliques(2, 2))
    >>> state = learner.init()
    >>> learner.distribution(state)
    array([0.25, 0.25, 0.25, 0.25])
    >>> ticket = learner.draw(state, 0.9, 0.1)
    >>> ticket.arm, learner.observes(ticket.arm)
    (2, array([2, 3]))
    >>> learner.update(state, ticket, np.array([1.0, 0.0]))
    >>> learner.distribution(state).argmin()
    np.int64(2)
    """

    name: ClassVar[str] = "tsallis-shannon"
    redrawn: ClassVar[bool] = True
    movable: ClassVar[bool] = True
    ticket_class: ClassVar[type] = Ticket
    scratch: ClassVar[tuple[str, ...]] = ("work", "sums")
    logged: ClassVar[tuple[str, ...]] = ("clique", "clique_probability", "baseline", "damping")

    constants: Constants
    half_life: int | None = None
    """After how many rounds what was learnt counts half, for worlds that move; None forgets nothing."""

    def __init__(
        self, graph: AnyGraph | CliqueCover, constants: Constants | None = None, *, half_life: int | None = None
    ) -> None:
        super().__init__(graph)
        life = None if half_life is None else whole("half_life", half_life, at_least=10, at_most=10**12)
        object.__setattr__(self, "half_life", life)
        usual = Constants.practical if life is None else Constants.forgetting
        object.__setattr__(self, "constants", constants_on(self.cover, constants, usual))

    @property
    def title(self) -> str:
        """The name, with the setting of the constants unless it is the practical one."""
        label = self.constants.label
        usual = "practical" if self.half_life is None else "forgetting"
        words = ([] if label in ("practical", usual) else [label]) + self.half_life_words
        return f"{self.name} ({', '.join(words)})" if words else self.name

    @property
    def half_life_words(self) -> list[str]:
        """What the title says of forgetting."""
        return [] if self.half_life is None else [f"half-life {self.half_life}"]

    def init(self) -> State:
        """No losses, round one."""
        c = self.constants
        rates = rates_of(c)
        start = new_masses(self.cover.sizes, c.gamma)
        work, sums = new_work()
        terms = bound_terms(c, self.cover)
        state = State(
            cumulative_losses=np.zeros(self.n_arms + LANES),
            table=new_table(np.array(c.alpha), c.rate_factors, start.hottest),
            clock=new_clock(rates),
            owner=self.cover.owner,
            order=self.cover.order,
            starts=self.cover.starts,
            work=work,
            sums=sums,
            ledger=new_ledger(),
            rates=rates,
            terms=terms if self.half_life is None else terms._replace(holds=False),
            half_life=float(self.half_life or 0),
        )
        restore(state, start.even, state.clock[RATE] * c.rate_factors / start.even, np.zeros(start.even.size))
        resolve(state, 0)
        return state

    def distribution(self, state: State) -> NDArray[np.float64]:
        """(N,) the probability of each arm in the coming round."""
        by_clique = np.empty(self.n_arms)
        fill_distribution(self._problem(state), self._appraised(state), by_clique)
        distribution = np.empty(self.n_arms)
        distribution[state.order] = by_clique
        return distribution

    def clique_mass(self, state: State) -> NDArray[np.float64]:
        """(K,) the probability of each clique in the coming round."""
        mass: NDArray[np.float64] = self._column(state, COOLNESS) ** 2.0
        return mass

    def constants_now(self, state: State) -> Constants:
        """The constants of the coming round: barrier and implicit exploration as they are now."""
        c, clock = self.constants, state.clock
        exploration = float(clock[DAMPING] * (age_of(state) + c.head_start))
        beta = float(clock[BARRIER] * shrinkage(state))
        return replace(c, beta=beta, implicit_exploration=exploration, variance_floor=1.0, barrier_slope=0.0)

    def residual(self, state: State) -> float:
        """The certificate of the coming round's distribution, from all arms."""
        masses = self._appraised(state)
        return float(residual_of(masses, state.clock[MULTIPLIER] - masses.lowest.min()))

    def regret_bound(self, state: State) -> float | None:
        """A number whose expectation is at least the expected regret so far against any fixed arm; it never falls.

        It adds up the terms of the proof as they were, usually far below their worst case: ``docs/default_proof.md``,
        "Along a run". None where that does not hold: constants with a floor, with implicit exploration or with a
        barrier that can fall, a learner that forgets (``half_life``: no theorem covers it), and runs in which
        an outcome was learnt after a later draw.

        >>> from allworlds.graphs import disjoint_cliques
        >>> learner = TsallisShannon(disjoint_cliques(2, 2))
        >>> learner.regret_bound(learner.init())
        0.0
        """
        return super().regret_bound(state)

    def held_back(self, state: State) -> float | None:
        """What the deficit limit has held back so far: the sum of ``q_k z_k``, a part of :meth:`regret_bound`.

        It rises in just those rounds in which the limit took something off an estimate, and goes on where the
        bound has ended. None where there never is a bound.

        >>> from allworlds.graphs import disjoint_cliques
        >>> learner = TsallisShannon(disjoint_cliques(2, 2))
        >>> learner.held_back(learner.init())
        0.0
        """
        return super().held_back(state)

    def cumulative_losses(self, state: State) -> NDArray[np.float64]:
        """(N,) ``Lhat`` in the order of the arms."""
        losses = np.empty(self.n_arms)
        losses[state.order] = state.cumulative_losses[: self.n_arms] * shrinkage(state)
        return losses

    def _column(self, state: State, row: np.uint64) -> NDArray[np.float64]:
        return column(state.table, row, self.cover.n_cliques)

    def _problem(self, state: State) -> Problem:
        """The coming round's step as a problem over all arms."""
        losses = state.cumulative_losses[: self.n_arms]
        c = self.constants
        rates = float(state.clock[RATE]) * c.rate_factors
        return Problem(losses, state.starts, np.array(c.alpha), float(state.clock[BARRIER]), c.gamma, rates)

    def _appraised(self, state: State) -> Masses:
        """The cliques at their temperatures, from all arms."""
        masses = new_masses(self.cover.sizes, self.constants.gamma)
        masses.lowest[:] = self._column(state, LOWEST)
        masses.temperature[:] = self._column(state, TEMPERATURE)
        appraise_all(self._problem(state), masses)
        return masses

    def pack(self, state: State) -> dict[str, NDArray[np.float64]]:
        """Losses, temperatures, where each clique was expanded, clock and ledger: the rest follows from them."""
        return {
            "cumulative_losses": state.cumulative_losses[: self.n_arms].copy(),
            "temperature": self._column(state, TEMPERATURE),
            "reference": self._column(state, REFERENCE),
            "last_free": self._column(state, LAST_FREE),
            "clock": state.clock.copy(),
            "ledger": state.ledger.copy(),
        }

    def unpack(self, arrays: Mapping[str, NDArray[np.float64]]) -> State:
        """The state as it was to the last bit, expansions included; nothing is solved again."""
        state = self.init()
        for name, array in self.pack(state).items():
            saved_array(arrays, name, array.shape)
        if not arrays["clock"][ROUND] >= 1.0 or not min(arrays["temperature"].min(), arrays["reference"].min()) > 0.0:
            raise InvalidState("the saved round, temperatures or references are not positive; the file is damaged")
        state.cumulative_losses[: self.n_arms] = arrays["cumulative_losses"]
        state.clock[:] = arrays["clock"]
        state.ledger[:] = arrays["ledger"]
        restore(state, arrays["temperature"], arrays["reference"], arrays["last_free"])
        return state

    def ticket_from(self, state: State, arm: int, distribution: NDArray[np.float64]) -> Ticket:
        """The ticket whose ``clique_probability`` is that of the clique under ``distribution``."""
        clock, clique = state.clock, int(self.cover.owner[arm])
        baseline = float(clock[MEAN]) if state.rates.uses_baseline else 0.0
        mass = min(1.0, float(distribution[self.cover.cliques[clique]].sum()))
        return Ticket(arm, float(distribution[arm]), clique, mass, baseline, float(clock[DAMPING]), self.round(state))

    def estimates(self, state: State) -> NDArray[np.float64]:
        """(N,) ``Lhat`` in the order of the arms."""
        return self.cumulative_losses(state)

    def moved(self, state: State, where: FeedbackGraph | CliqueCover, losses: Floats) -> tuple[Self, State]:
        """The learner with constants of the same setting on another graph or cover, and its state there."""
        cover = where if isinstance(where, CliqueCover) else clique_cover(where)
        constants = constants_like(self.constants, self.cover, cover, forgets=self.half_life is not None)
        learner = type(self)(cover, constants, half_life=self.half_life)
        later = learner._started_at(losses, state.clock)
        later.ledger[BIAS] = state.ledger[BIAS]
        return learner, later

    def with_estimates(self, state: State, losses: Floats, incurred: float) -> State:
        """One round later, with the step solved anew; the bound on the regret is lost."""
        if self.half_life is not None:
            later = self._started_at(losses, state.clock)
            tick_and_forget(later, incurred)
            return self._started_at(self.cumulative_losses(later), later.clock)
        clock = state.clock.copy()
        tick(clock, state.rates, incurred)
        later = self._started_at(losses, clock)
        later.ledger[BIAS] = state.ledger[BIAS]
        return later

    def _started_at(self, losses: Floats, clock: Floats) -> State:
        """The state with these loss estimates, in the order of the arms, at this time."""
        state = self.init()
        state.clock[:] = clock
        g, round = shrinkage(state), clock[ROUND]
        state.cumulative_losses[: self.n_arms] = losses[state.order] / g
        state.clock[ROUND] = age_of(state)
        set_rates(state.clock, state.rates)
        state.clock[ROUND] = round
        state.clock[RATE] *= g
        state.clock[BARRIER] /= g
        masses = new_masses(self.cover.sizes, self.constants.gamma)
        problem = self._problem(state)
        set_lowest(problem, masses)
        base = float(masses.lowest.min())
        state.clock[MULTIPLIER] = base + solve_masses(problem, masses, clock[MULTIPLIER] - base, TIGHT, MAX_STEPS)[0]
        reference = state.clock[RATE] * self.constants.rate_factors / masses.temperature
        restore(state, masses.temperature, reference, np.zeros(self.n_cliques))
        resolve(state, 0)
        state.ledger[LATE] += 1.0  # the theorem says nothing about a run whose arms changed
        return state

    def weights_of(self, ticket: Ticket) -> tuple[Floats, float]:
        """The clique's probability and damping for every arm of it, and the baseline."""
        size = int(self.cover.sizes[ticket.clique])
        return np.full(size, ticket.clique_probability + ticket.damping), ticket.baseline

    def check_ticket(self, ticket: Ticket) -> None:
        """Raise InvalidState unless arm and clique belong together and the numbers are possible."""
        super().check_ticket(ticket)
        good = isinstance(ticket.clique_probability, float) and 0.0 < ticket.clique_probability <= 1.0
        good = good and isinstance(ticket.baseline, float) and 0.0 <= ticket.baseline <= 1.0
        good = good and isinstance(ticket.damping, float) and 0.0 <= ticket.damping < math.inf
        if not good or ticket.clique != int(self.cover.owner[ticket.arm]):
            raise InvalidState(f"a ticket for arm {ticket.arm} does not fit the cover; the file is damaged")

    def settings(self) -> dict[str, Any]:
        """The constants, and the half-life if there is one."""
        forgets = {} if self.half_life is None else {"half_life": self.half_life}
        return {"constants": self.constants.to_dict(), **forgets}

    @classmethod
    def from_settings(cls, graph: AnyGraph | CliqueCover, settings: dict[str, Any]) -> Self:
        """The inverse of :meth:`settings`."""
        return cls(graph, Constants.from_dict(settings["constants"]), half_life=settings.get("half_life"))


def constants_like(constants: Constants, old: CliqueCover, new: CliqueCover, forgets: bool = False) -> Constants:
    """The same setting for another cover; raise InvalidParameter if the constants were chosen by hand.

    With one clique the settings "practical" and "forgetting" are the same; ``forgets`` says which is meant.
    """
    number = constants.label.rpartition("= ")[2]
    makers: list[Callable[[CliqueCover], Constants]] = [Constants.practical, Constants.forgetting, Constants.unproved]
    if forgets:
        makers = [Constants.forgetting, Constants.practical, Constants.unproved]
    if constants.label.startswith("paper"):
        makers = [lambda cover: Constants.paper(cover, int(number))]
    elif constants.label.startswith("sharp"):
        makers = [lambda cover: Constants.sharp(cover, float(number))]
    alone = old.n_cliques == 1
    names = ("head_start",) if alone else ("baseline_share", "deficit_limit", "deficit_root")
    kept = {name: getattr(constants, name) for name in names}  # earlier defaults differ in these alone
    for make in makers:
        if replace(make(old), **kept) == constants:
            return replace(make(new), **kept) if alone == (new.n_cliques == 1) else make(new)
    raise InvalidParameter(
        f"the constants are {constants.label}, made for {old.n_cliques} cliques; expected a setting that can be "
        "computed for another cover: practical, forgetting, sharp, paper or unproved"
    )


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
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


@lean_jit
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


@lean_jit
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


@lean_jit
def update(state: State, ticket: Ticket, losses: Floats) -> None:
    """``Lhat_i += (l_i - b) / (q + c)`` on the drawn clique, then the next round's step."""
    learn(state, ticket, losses, -1.0)


@lean_jit
def learn(state: State, ticket: Ticket, losses: Floats, excess: float) -> float:
    """:func:`update`, holding back ``excess``, or as much as the deficit limit asks for if it is negative; return it.

    How much that is depends on the solver, which rounds as it likes; with ``excess`` given, what is learnt is a sum.
    """
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
    at = place(ticket.clique)
    if excess < 0.0:
        excess = excess_now(state, state.table[at + LOWEST], lowest)
    if excess > 0.0:
        lowest = hold_back(
            state.cumulative_losses[start : start + losses.size], losses, ticket.baseline, weight, excess
        )
    state.table[at + LOWEST] = lowest
    if state.terms.holds:
        low, high = (smallest - ticket.baseline) * weight, (largest - ticket.baseline) * weight
        enter(state, ticket, low, high, excess)
    if state.half_life == 0.0:
        tick(state.clock, state.rates, incurred)
    else:
        tick_and_forget(state, incurred)
    read_clique(state, ticket.clique, state.clock[RATE] * state.table[at + RATE_FACTOR] * state.table[at + COOLNESS])
    resolve(state, ticket.clique)
    return excess


@lean_jit
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


@lean_jit
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


@lean_jit
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


@lean_jit
def read_clique(state: State, clique: int, sharpness: float) -> None:
    """Read the arms of a clique, and expand it at a sharpness."""
    start, stop = state.starts[clique], state.starts[clique + 1]
    losses, work, sums, gamma = state.cumulative_losses, state.work, state.sums, state.rates.gamma
    if gamma == 0.0:
        expand(state.table, clique, losses, start, stop, sharpness, np.inf, work, sums)
    else:
        x = state.table[place(clique) + TEMPERATURE]
        expand_with_floor(state.table, clique, losses, start, stop, sharpness, gamma * x * x, work, sums)


@lean_jit
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
def read_bound(state: State) -> tuple[float, float]:
    """The bound on the regret so far, and what was held back; NaN where nothing is entered into the ledger."""
    held_back = state.ledger[BIAS] if state.terms.holds else math.nan
    return bound_now(state.ledger, state.terms, state.clock), held_back


register_kernels(
    State,
    draw,
    update,
    visibility_getter=visibility_of,
    masses_kernel=write_masses,
    bound_kernel=read_bound,
    distribution_kernel=write_distribution,
    learn_kernel=learn,
)
