"""What every world is: its means and losses, its best arm, and the arms that regret compares with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allworlds.foundation.checks import index, whole
from allworlds.foundation.errors import InvalidParameter
from allworlds.graphs import AnyGraph, ChangingGraph, FeedbackGraph, NoisyGraph
from allworlds.kernels.random import as_seed
from allworlds.worlds.losses import (
    ALTERNATING,
    AT_ONCE,
    FLIP,
    NO_ATTACK,
    PHASES,
    STATIONARY,
    SWITCHING,
    TABLE,
    WorldArrays,
    phase_of,
    reveal,
    strikes,
)


@dataclass(frozen=True, eq=False)
class World:
    """A pure function of (seed, round, arm); make one with ``allworlds.worlds.stochastic`` and its neighbours.

    >>> from allworlds.worlds import stochastic
    >>> world = stochastic([0.25, 0.5])
    >>> world.best_arm, world.mean(1, 1), world.loss(0, 1, 1) in (0.0, 1.0)
    (0, 0.5, True)
    """

    name: str
    arrays: WorldArrays = field(repr=False)
    budget: float | None = None
    """How much corruption the attack may spend; None without an attack."""
    stationary: bool = False
    """Whether the clean means never change, so that gaps are defined."""
    graph: AnyGraph | None = field(default=None, repr=False)
    """The graph of each round where the world says it; None where it is the learner's."""

    @property
    def n_arms(self) -> int:
        """Number of arms."""
        return int(self.arrays.centres.size)

    @property
    def best_arm(self) -> int:
        """The arm with the lowest clean mean over the run, or the first leader where leaders change."""
        return int(self.arrays.best)

    @property
    def means(self) -> NDArray[np.float64] | None:
        """(N,) the clean means where they never change, else None."""
        return self.arrays.means if self.stationary else None

    @property
    def longest(self) -> int | None:
        """The number of recorded rounds; None if the world has no last round."""
        return int(self.arrays.table.shape[0]) if self.arrays.kind == TABLE else None

    def with_graph(self, graph: AnyGraph | None) -> World:
        """The same losses in a world that says which graph a round has; learners must be made for that graph.

        >>> from allworlds.graphs import random_edges
        >>> from allworlds.worlds import stochastic
        >>> world = stochastic([0.25, 0.5]).with_graph(random_edges(2, 0.5))
        >>> world.graph_of(3, seed=1).n_edges
        1
        """
        if graph is not None and not isinstance(graph, AnyGraph):
            raise InvalidParameter(f"graph is a {type(graph).__name__}; expected a graph of allworlds.graphs, or None")
        if graph is not None and graph.n_arms != self.n_arms:
            raise InvalidParameter(
                f"the graph has {graph.n_arms} arms; expected {self.n_arms}, as many as the world has"
            )
        return replace(self, graph=graph)

    def graph_of(self, round: int, seed: int = 0, horizon: int | None = None) -> FeedbackGraph:
        """The graph of one round of a run with this seed, for a world that says which graph a round has."""
        if self.graph is None:
            raise InvalidParameter(
                f"{self.name!r} has no graph; expected a world with one; try world.with_graph(graph)"
            )
        if isinstance(self.graph, ChangingGraph):
            hinge = self.graph.hinge
            loss = self.loss(seed, round, hinge, horizon) if hinge >= 0 else None
            return self.graph.graph_of(round, seed, hinge_loss=loss)
        return self.graph.graph if isinstance(self.graph, NoisyGraph) else self.graph

    def for_run(self, seed: int, horizon: int) -> WorldArrays:
        """The arrays for one run: with the rounds of phases and attacks, and the arms that regret compares with."""
        arrays = change_arrays(self.arrays, candidates=candidates_of(self.arrays, horizon))
        if arrays.kind == PHASES:
            arrays = change_arrays(arrays, turns=1 + np.rint(arrays.shares * horizon).astype(np.int64))
        if arrays.attack == NO_ATTACK or self.budget is None:
            return arrays
        return change_arrays(arrays, struck=strikes(arrays, seed, self.budget, horizon))

    def loss(self, seed: int, round: int, arm: int, horizon: int | None = None) -> float:
        """The loss as a learner meets it; attacks and phases are laid out for ``horizon`` rounds, or ``round``."""
        return self._reveal(seed, round, arm, horizon)[2]

    def clean_loss(self, seed: int, round: int, arm: int, horizon: int | None = None) -> float:
        """The loss before any tampering."""
        return self._reveal(seed, round, arm, horizon)[3]

    def mean(self, round: int, arm: int, seed: int = 0, horizon: int | None = None) -> float:
        """The mean of the loss as a learner meets it."""
        return self._reveal(seed, round, arm, horizon)[0]

    def clean_mean(self, round: int, arm: int, seed: int = 0, horizon: int | None = None) -> float:
        """The mean of the loss before any tampering."""
        return self._reveal(seed, round, arm, horizon)[1]

    def _reveal(self, seed: int, round: int, arm: int, horizon: int | None) -> list[float]:
        """Played mean, clean mean, loss and clean loss."""
        seed, round, arm = as_seed(seed), self._round(round), index("arm", arm, self.n_arms)
        end = round if horizon is None else self._round(horizon)
        if end < round:
            raise InvalidParameter(f"round is {round}; expected at most the horizon, {end}")
        row = np.empty((4, 1))
        reveal(self.for_run(seed, end), seed, round, np.array([arm]), row)
        numbers: list[float] = row[:, 0].tolist()
        return numbers

    def _round(self, round: int) -> int:
        number, last = whole("round", round), self.longest
        if last is not None and number > last:
            raise InvalidParameter(
                f"round is {number}; expected at most {last}, the last one recorded in {self.name!r}"
            )
        return number


class Reactive(ABC):
    """A world that sees past choices: written in Python, played round by round, and slower.

    Subclass it, set ``n_arms``, and return the losses of each round; ``chosen`` receives what was played. In the model
    of [EK21] the adversary does not see the choice of the round whose losses it sets, and neither does a subclass.
    """

    n_arms: int
    graph: AnyGraph | None = None
    """The graph of each round if the world says it, as in :class:`World`."""

    def start(self, seed: int) -> None:  # noqa: B027  # may be left out
        """Begin a run."""

    @abstractmethod
    def losses(self, round: int) -> NDArray[np.float64]:
        """(N,) the losses of this round, in [0, 1]."""

    def shown(self, round: int, arm: int, seen: NDArray[np.int64], losses: NDArray[np.float64]) -> NDArray[np.float64]:
        """What the learner is shown of the arms in ``seen`` after it chose ``arm``: their losses, unless overridden.

        A world that tampers here attacks after it has seen the choice, which no learner of this package is proved
        against. Regret counts ``losses`` as they are.
        """
        shown: NDArray[np.float64] = losses[seen]
        return shown

    def chosen(self, round: int, arm: int) -> None:  # noqa: B027  # may be left out
        """Receive the arm that was chosen, after the round."""


def candidates_of(arrays: WorldArrays, horizon: int) -> NDArray[np.int64]:
    """Arms, sorted, among which the best fixed arm is after every round up to ``horizon``, in played and clean means.

    Regret compares with that arm, so totals must be kept from the first round on, and keeping them for all arms costs
    a draw for every arm in every round. Where means keep their order, a few arms are enough.

    A flip makes totals linear in the mean, so that only the ends count; the other attacks change one arm, or all
    alike, so that the victim and the best of the rest count. With phases, one arm stands for all that have its means
    in every phase. Drifting, random and recorded worlds need all arms.

    >>> from allworlds.worlds import corrupted, stochastic
    >>> world = stochastic([0.5, 0.25, 0.75, 0.5])
    >>> candidates_of(world.arrays, 100), candidates_of(corrupted(world, 10, "best-worst").arrays, 100)
    (array([1]), array([0, 1]))
    """
    attacked = arrays.attack != NO_ATTACK
    victim = arrays.victim if attacked else arrays.best
    if arrays.kind == STATIONARY:
        arms = [arrays.best, victim, _best_of_rest(arrays, victim) if attacked else victim]
    elif arrays.kind == ALTERNATING:
        arms = [arrays.best, victim, _first_beside(arrays, [arrays.best]) if attacked else victim]
    elif arrays.kind == SWITCHING:
        led = np.unique(arrays.leaders[: phase_of(arrays.turns, horizon) + 1]).tolist()
        arms = [*led, *([victim, _first_beside(arrays, led)] if attacked else [])]
    elif arrays.kind == PHASES:
        is_victim = np.arange(arrays.centres.size) == (victim if attacked else -1)
        arms = np.unique(np.vstack([arrays.table, is_victim]), axis=1, return_index=True)[1].tolist()
    else:
        return np.arange(arrays.centres.size)
    return np.unique(np.array(arms, dtype=np.int64))


def _best_of_rest(arrays: WorldArrays, victim: int) -> int:
    """The best arm other than the victim; under a flip, the worst of all."""
    if arrays.attack == FLIP:
        return int(arrays.means.argmax())
    others = arrays.means.copy()
    others[victim] = np.inf
    return int(others.argmin())


def _first_beside(arrays: WorldArrays, arms: list[int]) -> int:
    """The first arm that is not in ``arms``, or ``arms[0]`` if they are all of them."""
    taken = set(arms)
    return next((arm for arm in range(arrays.centres.size) if arm not in taken), arms[0])


def make_arrays(n_arms: int, **fields: Any) -> WorldArrays:
    """:class:`WorldArrays` with these fields; the others are zero or empty."""
    blank = WorldArrays(
        kind=0,
        noise=0,
        width=0.0,
        centres=np.zeros(n_arms),
        means=np.zeros(0),
        levels=np.zeros(2),
        turns=np.ones(1, dtype=np.int64),
        shares=np.zeros(0),
        leaders=np.zeros(0, dtype=np.int64),
        table=np.zeros((0, 0)),
        steady=np.zeros((0, 0)),
        best=0,
        candidates=np.zeros(0, dtype=np.int64),
        attack=NO_ATTACK,
        victim=0,
        pace=AT_ONCE,
        struck=np.zeros(0, dtype=np.bool_),
    )
    return change_arrays(blank, **(blank._asdict() | fields))


def change_arrays(arrays: WorldArrays, **fields: Any) -> WorldArrays:
    """Replace some fields by values of the same types, so that all worlds compile as one.

    Arrays are used, not copied, and become read-only.
    """
    return arrays._replace(**{name: _like(getattr(arrays, name), value) for name, value in fields.items()})


def _like(model: Any, value: Any) -> Any:
    if not isinstance(model, np.ndarray):
        return type(model)(value)
    array = np.ascontiguousarray(value, dtype=model.dtype)
    array.flags.writeable = False
    return array
