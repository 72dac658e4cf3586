"""What every learner is: a frozen configuration, an explicit state, and a few functions on it.

A learner file has one shape. The idea in a paragraph; ``State``, a named tuple of what the next round needs; its own
ticket, if the estimate of a choice needs more than a :class:`Ticket`; the class that a user meets, with ``init``; the
kernels ``draw`` and ``update``; and :func:`~allworlds.learners.dispatch.register_kernels`, which tells the compiled
loop about them. What families of learners share is in ``sampling`` (a draw from a distribution), ``dividing`` (losses
divided by the probability of seeing them) and ``indices`` (the arm with the lowest index).

A state has the fields ``clock``, whose first number is the coming round, ``visibility``, unless ``register_kernels`` is
told how to get it, and ``distribution``, unless the class overrides the method of that name.

- ``init()`` makes the state before the first round.
- ``draw(state, first, second)`` chooses an arm from two uniforms and returns a *ticket*: all that the estimate of
  this choice will need, however late its outcome arrives. Drawing changes nothing.
- ``update(state, ticket, losses)`` learns from the losses of ``observes(ticket.arm)``, in that order, in place.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from allworlds.covers import CliqueCover, clique_cover
from allworlds.foundation.checks import real, whole
from allworlds.foundation.errors import InvalidGraph, InvalidLosses, InvalidParameter, InvalidState
from allworlds.graphs import AnyGraph, ChangingGraph, FeedbackGraph
from allworlds.graphs.graph import check_graph
from allworlds.learners import dispatch
from allworlds.learners.dispatch import Shows, Visibility, observers_of, visibility_of

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    StateT = TypeVar("StateT", default=Any)
    TicketT = TypeVar("TicketT", default=Any)
else:  # defaults of type variables are new in Python 3.13; a bare ``Learner`` is one of any state
    from typing import TypeVar

    StateT, TicketT = TypeVar("StateT"), TypeVar("TicketT")


class Ticket(NamedTuple):
    """One choice, with all that most estimates need; a learner that needs more has a ticket with more fields."""

    arm: int
    probability: float
    round: int


@dataclass(frozen=True)
class Learner(ABC, Generic[StateT, TicketT]):
    """A way to choose and to learn; it holds no state, so one learner serves many runs.

    A subclass that is configured by more than the graph is a frozen dataclass too; its fields are plain values.
    """

    name: ClassVar[str]
    """The name it is saved under."""
    shows: ClassVar[Shows] = "neighbours"
    """What it is shown after a choice; "everything" makes it a reference that sees more than the graph shows; reported
    but not ranked."""
    takes_cover: ClassVar[bool] = False
    """Whether a cover may stand in for the graph."""
    accepts: ClassVar[frozenset[str]] = frozenset()
    """What it accepts beyond undirected graphs whose arms see themselves: some of ``graphs.features.FEATURES``."""
    exact_probability: ClassVar[bool] = True
    """False where the probability of a choice has no closed form: tickets say NaN, ``distribution`` estimates."""
    ticket_class: ClassVar[type] = Ticket
    saved: ClassVar[tuple[str, ...]]
    """The fields of the state that change: what is saved of it."""
    scratch: ClassVar[tuple[str, ...]] = ()
    """The fields of the state in which nothing lasts: room that kernels compute in."""
    redrawn: ClassVar[bool] = False
    """Whether an agent may draw from another distribution, as masks and minimum shares ask: see ``ticket_from``."""
    movable: ClassVar[bool] = False
    """Whether it can go on with other arms: see ``moved``. Its state is ``cumulative_losses`` and ``clock``."""
    logged: ClassVar[tuple[str, ...]] = ()
    """The fields of a ticket that are worth logging beside its arm, probability and round."""
    positive: ClassVar[tuple[str, ...]] = ()
    """The settings that are real numbers above 0, which are checked here; so is a ``horizon``."""
    fractions: ClassVar[tuple[str, ...]] = ()
    """The settings that are real numbers above 0 and at most 1; None where one is not given."""

    graph: AnyGraph
    """Who sees whom."""

    def __post_init__(self) -> None:
        if not isinstance(self.graph, AnyGraph):
            kind = type(self.graph).__name__
            raise InvalidParameter(f"graph is a {kind}; expected a FeedbackGraph; cover.graph is that of a cover")
        check_accepted(type(self), self.graph)
        for name in self.positive:
            object.__setattr__(self, name, real(name, getattr(self, name), above=0))
        for name in self.fractions:
            if getattr(self, name) is not None:
                object.__setattr__(self, name, real(name, getattr(self, name), above=0, at_most=1))
        horizon = getattr(self, "horizon", None)
        if horizon is not None:
            object.__setattr__(self, "horizon", whole("horizon", horizon))

    @property
    def n_arms(self) -> int:
        """The number of arms."""
        return self.graph.n_arms

    @property
    def n_cliques(self) -> int:
        """The number of cliques that it keeps a probability for; most learners keep none."""
        return 0

    @property
    def title(self) -> str:
        """Its name in tables."""
        return self.name

    @property
    def visibility(self) -> Visibility:
        """The arms that each arm shows to this learner, as kernels take them; new room if the graph changes."""
        changes = isinstance(self.graph, ChangingGraph)
        return visibility_of(self.graph, self.shows) if changes else self._visibility

    @cached_property
    def _visibility(self) -> Visibility:
        return visibility_of(self.graph, self.shows)

    @property
    def observers(self) -> Visibility:
        """The arms that show each arm, as kernels take them; the same as ``visibility`` in an undirected graph."""
        return observers_of(self.graph, self.visibility)

    def observes(self, arm: int) -> NDArray[np.int64]:
        """The arms whose losses ``update`` takes after ``arm`` was chosen, sorted; unknown if the graph changes."""
        if isinstance(self.graph, ChangingGraph) and self.shows == "neighbours":
            raise InvalidParameter("the graph changes; expected a fixed graph to say what an arm shows; try play")
        where, starts, order = self.visibility
        return order[starts[where[arm]] : starts[where[arm] + 1]]

    @abstractmethod
    def init(self) -> StateT:
        """The state before the first round."""

    def distribution(self, state: StateT) -> NDArray[np.float64]:
        """(N,) the probability of each arm in the coming round."""
        distribution: NDArray[np.float64] = state.distribution.copy()  # type: ignore[attr-defined]
        return distribution

    def logged_distribution(self, state: StateT) -> NDArray[np.float64] | None:
        """(N,) the probabilities a log may divide by; None where they are only estimated."""
        return self.distribution(state) if self.exact_probability else None

    def draw(self, state: StateT, first: float, second: float) -> TicketT:
        """Choose an arm by two uniforms in [0, 1); return its ticket and change nothing."""
        return self.keep(state, dispatch.draw(state, first, second))

    def ticket_from(self, state: StateT, arm: int, distribution: NDArray[np.float64]) -> TicketT:
        """The ticket of an arm that was drawn from ``distribution`` (N,) instead of the learner's own.

        All that the estimate divides by is computed from ``distribution``. Only for learners that are ``redrawn``.
        """
        ticket: TicketT = self.ticket_class(arm, float(distribution[arm]), self.round(state))
        return ticket

    def update(self, state: StateT, ticket: TicketT, losses: NDArray[np.float64]) -> None:
        """Learn the losses, in [0, 1], of the arms that ``ticket.arm`` observes; kernels do not check their number."""
        expected = self.observes(ticket.arm).shape  # type: ignore[attr-defined]
        if np.shape(losses) != expected:
            raise InvalidLosses(f"losses have shape {np.shape(losses)}; expected {expected}, those of observes(arm)")
        dispatch.update(state, self.recall(state, ticket), losses)

    def keep(self, state: StateT, drawn: Any) -> TicketT:
        """The ticket of what the kernel drew, with all that the next draw would overwrite in the state."""
        ticket: TicketT = drawn
        return ticket

    def recall(self, state: StateT, ticket: TicketT) -> Any:
        """The inverse of :meth:`keep`: what the kernel takes."""
        return ticket

    def details(self, ticket: TicketT) -> dict[str, float]:
        """What is worth logging of a choice beside its arm, probability and round."""
        return {name: getattr(ticket, name) for name in self.logged}

    def round(self, state: StateT) -> int:
        """The coming round: one plus the number of outcomes learnt."""
        return int(state.clock[0])  # type: ignore[attr-defined]

    def regret_bound(self, state: StateT) -> float | None:
        """A bound on the expected regret so far, evaluated along the run; None where there is none."""
        bound = float(dispatch.safeguards(state)[0])
        return None if math.isnan(bound) else bound

    def held_back(self, state: StateT) -> float | None:
        """What a limit on single estimates has held back so far; None where the learner does not count it."""
        held_back = float(dispatch.safeguards(state)[1])
        return None if math.isnan(held_back) else held_back

    def handed_over(self, state: StateT) -> int | None:
        """The first round that was left to another learner, as ``guarded`` may do; None while there is none."""
        handed_over = float(dispatch.safeguards(state)[2])
        return None if math.isnan(handed_over) else int(handed_over)

    def handover_reason(self, state: StateT) -> str:
        """Why all further rounds were left to another learner, in words; empty while they were not."""
        return ""

    def pack(self, state: StateT) -> dict[str, NDArray[Any]]:
        """The part of the state that must be saved, bit for bit."""
        return {name: getattr(state, name).copy() for name in self.saved}

    def unpack(self, arrays: Mapping[str, NDArray[Any]]) -> StateT:
        """The inverse of :meth:`pack`."""
        state = self.init()
        for name in self.saved:
            place = getattr(state, name)
            place[...] = saved_array(arrays, name, place.shape)
        dispatch.resolve(state)
        return state

    def estimates(self, state: StateT) -> NDArray[np.float64]:
        """(N,) the cumulative loss estimates, in the order of the arms; only for learners that are ``movable``."""
        estimates: NDArray[np.float64] = self.pack(state)["cumulative_losses"]
        return estimates

    def moved(
        self, state: StateT, where: FeedbackGraph | CliqueCover, losses: NDArray[np.float64]
    ) -> tuple[Self, StateT]:
        """The learner on another graph or cover, and its state with these loss estimates in the same round."""
        learner = type(self).from_settings(where, self.settings())
        return learner, learner.unpack({"cumulative_losses": losses, "clock": self.pack(state)["clock"]})

    def with_estimates(self, state: StateT, losses: NDArray[np.float64], incurred: float) -> StateT:
        """The state one round later with these loss estimates; ``incurred`` is the loss of the chosen arm."""
        clock = self.pack(state)["clock"]
        clock[0] += 1.0
        return self.unpack({"cumulative_losses": losses, "clock": clock})

    def weights_of(self, ticket: Any) -> tuple[NDArray[np.float64], float]:
        """What a ticket's estimate divides each observed loss by, and what it takes off before."""
        divisors = getattr(ticket, "divisors", None)
        return (np.array([ticket.probability]) if divisors is None else divisors.copy()), 0.0

    def ticket(self, values: list[Any]) -> TicketT:
        """A saved ticket, from the list of its fields; raise InvalidState unless a draw could have made it."""
        ticket = self.ticket_class(*(_from_plain(value) for value in values))
        self.check_ticket(ticket)
        made: TicketT = ticket
        return made

    def check_ticket(self, ticket: Any) -> None:
        """Raise InvalidState unless a draw could have made this ticket: kernels check nothing."""
        if not whole("a ticket's arm", ticket.arm, at_least=0, error=InvalidState) < self.n_arms:
            raise InvalidState(f"a ticket is for arm {ticket.arm}; expected an arm from 0 to {self.n_arms - 1}")
        whole("a ticket's round", ticket.round, error=InvalidState)
        likely = ticket.probability
        if self.exact_probability or not (isinstance(likely, float) and math.isnan(likely)):
            real("a ticket's probability", likely, above=0, at_most=1 + 1e-9, error=InvalidState)  # a sum may round up

    def settings(self) -> dict[str, Any]:
        """The configuration as plain data, without graph and cover."""
        names = [each.name for each in fields(self)]
        return {name: getattr(self, name) for name in names if name not in ("graph", "cover")}

    @classmethod
    def from_settings(cls, graph: AnyGraph | CliqueCover, settings: dict[str, Any]) -> Self:
        """The inverse of :meth:`settings`; a learner that takes no cover takes the graph of one."""
        made: Any = cls
        learner: Self = made(graph_for(cls, graph), **settings)
        return learner


@dataclass(frozen=True, init=False)
class CliqueLearner(Learner[StateT, TicketT]):
    """A learner that plays on the cliques of a cover: drawing an arm shows the losses of its clique.

    It takes a graph, and computes a cover with ``clique_cover(graph)``, or it takes the cover.
    """

    takes_cover: ClassVar[bool] = True

    graph: FeedbackGraph = field(repr=False, compare=False)
    cover: CliqueCover

    def __init__(self, graph: AnyGraph | CliqueCover) -> None:
        if not isinstance(graph, AnyGraph | CliqueCover):
            raise InvalidParameter(
                f"graph is a {type(graph).__name__}; expected a FeedbackGraph or a CliqueCover of one; "
                "allworlds.clique_cover(graph) computes a cover"
            )
        if not isinstance(graph, CliqueCover):
            check_accepted(type(self), graph)
        object.__setattr__(self, "cover", graph if isinstance(graph, CliqueCover) else clique_cover(check_graph(graph)))
        object.__setattr__(self, "graph", self.cover.graph)

    @property
    def n_cliques(self) -> int:
        """The number of cliques of the cover."""
        return self.cover.n_cliques

    @cached_property
    def _visibility(self) -> Visibility:
        """An arm shows its clique; its other neighbours are seen but not used."""
        return Visibility(self.cover.owner, self.cover.starts, self.cover.order)


def saved_array(arrays: Mapping[str, NDArray[Any]], name: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """One saved array; raise InvalidState unless it is there, of this shape and finite."""
    if name not in arrays:
        raise InvalidState(f"{name} is missing; expected it among the saved arrays")
    array = arrays[name]
    if array.shape != shape:
        raise InvalidState(f"{name} has shape {array.shape}; expected {shape}")
    if not np.isfinite(array).all():
        raise InvalidState(f"{name} contains {array[~np.isfinite(array)][0]}; expected finite numbers")
    return array


def check_accepted(kind: type[Learner], graph: AnyGraph) -> None:
    """Raise InvalidGraph unless a kind of learner takes the graph: name the arm, and learners that do."""
    if graph.observability == "none":
        when = " in some round" if isinstance(graph, ChangingGraph) else ""
        raise InvalidGraph(
            f"no arm sees arm {graph.observability.arms[0]}{when}; expected that some arm sees each arm; add a "
            "self-loop or an edge"
        )
    for feature, fault in _demands_on(kind, graph).items():
        if feature not in kind.accepts:
            from allworlds.learners.by_name import LEARNERS

            rivals = [recipe for recipe in LEARNERS.values() if recipe.rival]
            others = [recipe.name for recipe in rivals if accepts_graph(recipe.kind, graph)]
            users = [recipe.name for recipe in rivals if recipe.kind.shows == "neighbours" and recipe.name in others]
            named = ", ".join((users or others)[:6])
            advice = f"learners that take this graph: {named}; try make_learner" if others else "no learner takes it"
            raise InvalidGraph(f"{fault}, which {kind.name} does not take; {advice}")


def accepts_graph(kind: type[Learner], graph: AnyGraph) -> bool:
    """Whether a kind of learner takes the graph.

    >>> from allworlds.graphs import loopy_star
    >>> from allworlds.learners import Exp3IX, TsallisShannon
    >>> accepts_graph(Exp3IX, loopy_star(3)), accepts_graph(TsallisShannon, loopy_star(3))
    (True, False)
    """
    return graph.observability != "none" and _demands_on(kind, graph).keys() <= kind.accepts


def _demands_on(kind: type[Learner], graph: AnyGraph) -> dict[str, str]:
    """What the graph asks of a kind of learner: nothing of one that sees everything."""
    return {} if kind.shows == "everything" else graph.demands()


def fixed_graph(graph: AnyGraph) -> FeedbackGraph:
    """The graph, of a learner that takes none that changes or is noisy."""
    if not isinstance(graph, FeedbackGraph):
        raise InvalidParameter(f"graph is a {type(graph).__name__}; expected a FeedbackGraph")
    return graph


def graph_for(kind: type[Learner], graph: AnyGraph | CliqueCover) -> AnyGraph | CliqueCover:
    """What a kind of learner takes of a cover: the cover, or else its graph."""
    return graph.graph if isinstance(graph, CliqueCover) and not kind.takes_cover else graph


def _from_plain(value: Any) -> Any:
    """A ticket's field as it was: JSON has lists for arrays and no NaN."""
    if value is None:
        return math.nan
    return np.asarray(value, dtype=np.float64) if isinstance(value, list) else value
