"""What every world is: who is best, what it loses, and how much of it was tampered with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allworlds.errors import InvalidParameter
from allworlds.kernels.random import as_seed
from allworlds.worlds.nature import (
    NO_ATTACK,
    TABLE,
    Nature,
    clean_loss,
    clean_mean,
    last_affordable,
    played_loss,
    played_mean,
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
    """What it is called in tables."""
    nature: Nature = field(repr=False)
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
        """The arm with the lowest clean mean, or the first leader where leaders change."""
        return int(self.nature.best)

    @property
    def means(self) -> NDArray[np.float64] | None:
        """(N,) the clean means where they never change, else None."""
        return self.nature.means if self.stationary else None

    @property
    def longest(self) -> int | None:
        """How many rounds there are, where losses are recorded; else None: no end."""
        return int(self.nature.table.shape[0]) if self.nature.kind == TABLE else None

    def for_run(self, seed: int, horizon: int) -> Nature:
        """The compiled face for one seed: an attack knows where its budget ends."""
        if self.nature.attack == NO_ATTACK or self.budget is None:
            return self.nature
        spread = self.nature._replace(every=attack_spacing(self.nature, self.budget, horizon), until=horizon)
        return spread._replace(until=int(last_affordable(spread, seed, self.budget, horizon)))

    def loss(self, seed: int, round: int, arm: int, horizon: int | None = None) -> float:
        """The loss as a learner meets it; an attack is laid out for ``horizon`` rounds (default: up to ``round``)."""
        nature = self.for_run(as_seed(seed), horizon or round)
        return float(played_loss(nature, seed, self._round(round), self._arm(arm)))

    def clean_loss(self, seed: int, round: int, arm: int) -> float:
        """The loss before any tampering."""
        return float(clean_loss(self.nature, as_seed(seed), self._round(round), self._arm(arm)))

    def mean(self, round: int, arm: int, seed: int = 0, horizon: int | None = None) -> float:
        """The mean of the loss as a learner meets it."""
        nature = self.for_run(as_seed(seed), horizon or round)
        return float(played_mean(nature, seed, self._round(round), self._arm(arm)))

    def clean_mean(self, round: int, arm: int, seed: int = 0) -> float:
        """The mean of the loss before any tampering."""
        return float(clean_mean(self.nature, as_seed(seed), self._round(round), self._arm(arm)))

    def _arm(self, arm: int) -> int:
        if isinstance(arm, bool) or not isinstance(arm, Integral) or not 0 <= arm < self.n_arms:
            raise InvalidParameter(f"no arm {arm!r}; the arms are 0 to {self.n_arms - 1}")
        return int(arm)

    def _round(self, round: int) -> int:
        last = self.longest
        if isinstance(round, bool) or not isinstance(round, Integral) or round < 1 or (last and round > last):
            raise InvalidParameter(f"no round {round!r}; rounds are 1 to {last or 'any number'}")
        return int(round)


class Reactive(ABC):
    """A world that sees past choices: written in Python, met one round at a time, and slower for it.

    The model of [EK21] forbids it to see the choice of the round whose losses it sets; so does this interface.
    """

    n_arms: int

    def start(self, seed: int) -> None:
        """Begin a run."""

    @abstractmethod
    def losses(self, round: int) -> NDArray[np.float64]:
        """(N,) the losses of this round, in [0, 1]."""

    def chosen(self, round: int, arm: int) -> None:
        """Told after the round: the arm that was chosen."""


def attack_spacing(nature: Nature, budget: float, horizon: int) -> int:
    """How often an attack strikes: a spread one so rarely that it lasts for the whole run."""
    if nature.every != 0:
        return nature.every
    return max(1, int(horizon // max(budget, 1.0)))


def make_nature(n_arms: int, **fields: Any) -> Nature:
    """A :class:`Nature` with what is given and nothing else."""
    blank = {
        "kind": 0,
        "noise": 0,
        "centres": np.zeros(n_arms),
        "means": np.zeros(0),
        "levels": np.zeros(5),
        "turns": np.ones(1, dtype=np.int64),
        "leaders": np.zeros(0, dtype=np.int64),
        "table": np.zeros((0, 0)),
        "best": 0,
        "candidates": np.zeros(1, dtype=np.int64),
        "attack": NO_ATTACK,
        "decoy": 0,
        "until": 0,
        "every": 1,
    }
    return change_nature(Nature(**blank), **fields)  # type: ignore[arg-type]


def change_nature(nature: Nature, **fields: Any) -> Nature:
    """The same with other fields; all arrays become read-only, so that every world has one compiled type."""
    for name, value in (nature._asdict() | fields).items():
        if isinstance(value, np.ndarray):
            array = np.ascontiguousarray(value, dtype=getattr(nature, name).dtype)
            if array.flags.writeable:
                array = array.copy()
                array.flags.writeable = False
            fields[name] = array
        elif name in fields:
            fields[name] = int(value)
    return nature._replace(**fields)
