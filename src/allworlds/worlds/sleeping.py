"""Which arms are available in each round: beside any world, for agents that choose with a mask.

Arms sleep: a product is out of stock, a server is down. ``SleepingArms`` says who is awake, as a pure function of the
seed and the round, and the world says what the arms lose. Regret against the best fixed arm has no meaning then, since
nobody could have played it in every round; two others do: the regret against the best arm *available* in each round,
and, for each arm, the regret over the rounds in which *it* was available.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from allworlds.foundation.checks import real, whole
from allworlds.kernels.random import as_seed


@dataclass(frozen=True)
class SleepingArms:
    """Each arm is awake with probability ``awake``, drawn anew every ``block`` rounds; at least one is.

    >>> sleeping = SleepingArms(4, awake=0.5, block=10, seed=1)
    >>> [sleeping.available(t) for t in (1, 10, 11)]
    [[2], [2], [0, 3]]
    """

    n_arms: int
    awake: float = 0.6
    block: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        whole("n_arms", self.n_arms)
        real("awake", self.awake, at_least=0, at_most=1)
        whole("block", self.block)
        as_seed(self.seed)

    def mask(self, round: int) -> NDArray[np.bool_]:
        """(N,) whether each arm is awake in a round, counted from 1."""
        rng = np.random.default_rng([self.seed, (whole("round", round) - 1) // self.block])
        mask: NDArray[np.bool_] = rng.random(self.n_arms) < self.awake
        if not mask.any():
            mask[rng.integers(self.n_arms)] = True
        return mask

    def available(self, round: int) -> list[int]:
        """The arms that are awake in a round, sorted."""
        arms: list[int] = np.flatnonzero(self.mask(round)).tolist()
        return arms
