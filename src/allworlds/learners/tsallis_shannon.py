"""The learner of the paper: good in all worlds at once [EK21, Algorithm 1].

The idea. Arms that see each other form a clique, so drawing any arm of a clique shows the losses of
all of it. Inside a clique one may therefore follow the best arm quickly, as with full information (Shannon
entropy); between cliques one must explore, as with bandits (Tsallis entropy). Follow the regularised leader
with the product of the two entropies and a log barrier on the cliques:

    p_t = argmin  Lhat·p + Psi(p) / eta_t + Phi(p),          draw I_t from p_t,
    Lhat_i += (l_i - b) / p_t(V(I_t))   for i in V(I_t),

with ``b = 0`` in the paper. ``Constants.practical``, which this learner plays unless it is given others, takes off a
share ``b`` of a running mean loss, gives each clique a rate of its own, lets the barrier follow ``b``, and holds back
what would put a clique further behind than 4 % of the rounds so far plus six times their root
(``docs/practical.md``); the proof still holds (``docs/default_proof.md``).

For worlds that move there is an option that no theorem covers: with a ``half_life`` of ``H`` rounds everything learnt
counts half after ``H`` rounds, ``Lhat <- 2^(-1/H) Lhat`` in every round, and rate, baseline and deficit limit see an
age that stops growing at about ``H / log 2``. It has constants of its own, with four times the rate
(``Constants.forgetting``).

The regret is about ``sqrt(K T)`` against any losses, and about ``sum_k log(T) / Delta_k`` if they are
stochastic, with ``K`` cliques instead of ``N`` arms; the learner need not be told which.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

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
    LANES,
    LAST_FREE,
    LOWEST,
    REFERENCE,
    TEMPERATURE,
    column,
    new_table,
)
from allworlds.ftrl.clock import (
    BARRIER,
    DAMPING,
    MEAN,
    MULTIPLIER,
    RATE,
    ROUND,
    new_clock,
    rates_of,
    set_rates,
    tick,
)
from allworlds.ftrl.constants import Constants
from allworlds.ftrl.expansion import new_work
from allworlds.ftrl.regret_bound import (
    BIAS,
    LATE,
    bound_terms,
    new_ledger,
)
from allworlds.ftrl.solve import fill_distribution, set_lowest
from allworlds.graphs import AnyGraph, FeedbackGraph
from allworlds.learners.base import CliqueLearner, saved_array
from allworlds.learners.tsallis_shannon_round import (
    State,
    Ticket,
    age_of,
    resolve,
    restore,
    shrinkage,
    tick_and_forget,
)

Floats = NDArray[np.float64]


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
