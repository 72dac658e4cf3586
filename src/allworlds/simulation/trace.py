"""What a run leaves behind: about two hundred rows, and how often each arm was played."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from allworlds.foundation.checks import whole

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Trace:
    """One run of one learner in one world, recorded at ``rounds``; arrays are (R,) unless said.

    Pseudo-regret counts means, not luck: the mean loss of what was played less that of the best fixed arm up to the
    round. Under corruption it is on the losses as played, as in [EK21]; ``clean_regret`` is on the clean ones.
    """

    learner: str
    world: str
    seed: int
    horizon: int
    rounds: NDArray[np.int64]
    """The recorded rounds, log-spaced; the last is the horizon."""
    pseudo_regret: Floats
    clean_regret: Floats
    realised_regret: Floats
    """The losses that came, less those of the arm that is best in mean."""
    corruption: Floats
    """``C`` up to the round, as it was really spent."""
    clique_mass: Floats | None
    """(R, K) the probability of each clique, where the learner has cliques."""
    regret_bound: Floats | None
    """A bound on the expected regret up to the round, with the values of this run: its mean over runs is at least the
    mean regret. None where the learner has none."""
    counts: NDArray[np.int64]
    """(N,) how often each arm was played."""
    seconds: float
    """How long the run took, compiling left out."""

    def __post_init__(self) -> None:
        """Results are read and not written."""
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    @property
    def final_regret(self) -> float:
        """Pseudo-regret at the horizon."""
        return float(self.pseudo_regret[-1])

    @property
    def rounds_per_second(self) -> float:
        """How fast it went."""
        return self.horizon / self.seconds if self.seconds > 0.0 else float("inf")

    def __repr__(self) -> str:
        return f"Trace({self.learner} in {self.world}, {self.horizon} rounds, regret {self.final_regret:.1f})"


def record_rounds(horizon: int, most: int = 200) -> NDArray[np.int64]:
    """About ``most`` rounds from 1 to the horizon, evenly spaced in their logarithm.

    >>> record_rounds(10).tolist()
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    >>> record_rounds(10**6).size <= 200
    True
    """
    whole("horizon", horizon)
    rounds = np.unique(np.round(np.geomspace(1, horizon, most)).astype(np.int64))
    rounds[-1] = horizon
    return rounds
