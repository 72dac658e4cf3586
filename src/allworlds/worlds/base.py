"""What every world is: who is best, what it loses, and how much of it was tampered with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allworlds.foundation.checks import index, whole
from allworlds.foundation.errors import InvalidParameter
from allworlds.kernels.random import as_seed
from allworlds.worlds.candidates import candidates_of
from allworlds.worlds.nature import AT_ONCE, NO_ATTACK, PHASES, TABLE, WorldArrays, reveal, strikes


@dataclass(frozen=True, eq=False)
class World:
    """A pure function of (seed, round, arm); make one with ``allworlds.worlds.stochastic`` and its neighbours.

    >>> from allworlds.worlds import stochastic
    >>> world = stochastic([0.25, 0.5])
    >>> world.best_arm, world.mean(1, 1), world.loss(0, 1, 1) in (0.0, 1.0)
    (0, 0.5, True)
    """

    name: str
    """What it is called in tables."""
    nature: WorldArrays = field(repr=False)
    budget: float | None = None
    """How much corruption the attack may spend; None where there is none."""
    stationary: bool = False
    """Whether the clean means never change, so that there are gaps."""

    @property
    def n_arms(self) -> int:
        """How many arms there are."""
        return int(self.nature.centres.size)

    @property
    def best_arm(self) -> int:
        """The arm with the lowest clean mean over the run, or the first leader where leaders change."""
        return int(self.nature.best)

    @property
    def means(self) -> NDArray[np.float64] | None:
        """(N,) the clean means where they never change, else None."""
        return self.nature.means if self.stationary else None

    @property
    def longest(self) -> int | None:
        """How many rounds there are, where losses are recorded; else None: no end."""
        return int(self.nature.table.shape[0]) if self.nature.kind == TABLE else None

    def for_run(self, seed: int, horizon: int) -> WorldArrays:
        """The compiled face for one run: when phases turn and attacks strike, and whom regret compares with."""
        nature = change_nature(self.nature, candidates=candidates_of(self.nature, horizon))
        if nature.kind == PHASES:
            nature = change_nature(nature, turns=1 + np.rint(nature.shares * horizon).astype(np.int64))
        if nature.attack == NO_ATTACK or self.budget is None:
            return nature
        return change_nature(nature, struck=strikes(nature, seed, self.budget, horizon))

    def loss(self, seed: int, round: int, arm: int, horizon: int | None = None) -> float:
        """The loss as a learner meets it; attacks and phases are laid out for ``horizon`` rounds, or ``round``."""
        return self._bare(seed, round, arm, horizon)[2]

    def clean_loss(self, seed: int, round: int, arm: int, horizon: int | None = None) -> float:
        """The loss before any tampering."""
        return self._bare(seed, round, arm, horizon)[3]

    def mean(self, round: int, arm: int, seed: int = 0, horizon: int | None = None) -> float:
        """The mean of the loss as a learner meets it."""
        return self._bare(seed, round, arm, horizon)[0]

    def clean_mean(self, round: int, arm: int, seed: int = 0, horizon: int | None = None) -> float:
        """The mean of the loss before any tampering."""
        return self._bare(seed, round, arm, horizon)[1]

    def _bare(self, seed: int, round: int, arm: int, horizon: int | None) -> list[float]:
        """Played mean, clean mean, loss and clean loss."""
        seed, round, arm = as_seed(seed), self._round(round), index("arm", arm, self.n_arms)
        end = round if horizon is None else self._round(horizon)
        if end < round:
            raise InvalidParameter(f"round {round} is after the horizon, {end}; expected a round up to it")
        row = np.empty((4, 1))
        reveal(self.for_run(seed, end), seed, round, np.array([arm]), row)
        numbers: list[float] = row[:, 0].tolist()
        return numbers

    def _round(self, round: int) -> int:
        number, last = whole("round", round), self.longest
        if last is not None and number > last:
            raise InvalidParameter(f"there is no round {number}; {self.name!r} has {last} recorded rounds")
        return number


class Reactive(ABC):
    """A world that sees past choices: written in Python, met one round at a time, and slower for it.

    Subclass it, say ``n_arms``, and return the losses of each round; ``chosen`` tells what was played. The model of
    [EK21] forbids the adversary to see the choice of the round whose losses it sets; so does this interface.
    """

    n_arms: int

    def start(self, seed: int) -> None:  # noqa: B027  # may be left out
        """Begin a run."""

    @abstractmethod
    def losses(self, round: int) -> NDArray[np.float64]:
        """(N,) the losses of this round, in [0, 1]."""

    def chosen(self, round: int, arm: int) -> None:  # noqa: B027  # may be left out
        """Told after the round: the arm that was chosen."""


def make_nature(n_arms: int, **fields: Any) -> WorldArrays:
    """A :class:`WorldArrays` with what is given and nothing else."""
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
    return change_nature(blank, **(blank._asdict() | fields))


def change_nature(nature: WorldArrays, **fields: Any) -> WorldArrays:
    """The same with other fields, of the same types, so that all worlds compile as one.

    Arrays are taken over, not copied, and become read-only.
    """
    return nature._replace(**{name: _like(getattr(nature, name), value) for name, value in fields.items()})


def _like(model: Any, value: Any) -> Any:
    if not isinstance(model, np.ndarray):
        return type(model)(value)
    array = np.ascontiguousarray(value, dtype=model.dtype)
    array.flags.writeable = False
    return array
