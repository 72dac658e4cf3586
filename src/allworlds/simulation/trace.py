"""What a run leaves behind: about two hundred rows, and how often each arm was played.

A loop writes a :class:`Record` of arrays; :func:`as_trace` turns it into the :class:`Trace` that a user meets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.foundation.checks import whole
from allworlds.foundation.errors import import_extra
from allworlds.kernels.jit import lean_jit
from allworlds.worlds.losses import RunTotals

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
    """The losses incurred, less those of the arm that is best in mean."""
    corruption: Floats
    """``C`` up to the round: what the attack has spent."""
    clique_mass: Floats | None
    """(R, K) the probability of each clique, where the learner has cliques."""
    regret_bound: Floats | None
    """A bound on the expected regret up to the round, with the values of this run: its expectation is at least the
    expected regret against any arm fixed beforehand, which is not the arm that turns out best where losses react to
    the learner. None where the learner has none."""
    held_back: Floats | None
    """What a limit on single estimates has held back up to the round: it rises where the limit fired. With Algorithm 1
    it is a part of ``regret_bound``. None where the learner does not count it."""
    handed_over: int | None
    """The first round that was left to another learner, as the default leaves all to Algorithm 1 when its means can no
    longer be trusted. None where there was none, also if it would have been the round after the last."""
    counts: NDArray[np.int64]
    """(N,) how often each arm was played."""
    seconds: float
    """How long the run took, compiling left out."""

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    @property
    def final_regret(self) -> float:
        """Pseudo-regret at the horizon."""
        return float(self.pseudo_regret[-1])

    @property
    def rounds_per_second(self) -> float:
        """Rounds of the run over its seconds."""
        return self.horizon / self.seconds if self.seconds > 0.0 else float("inf")

    def to_pandas(self) -> Any:
        """A DataFrame with a row for each recorded round, its index, and a column for each recorded quantity.

        Clique ``k`` has the column ``clique_mass_k``; ``handed_over`` says whether the round was left to another
        learner. What was not recorded has no column.
        """
        pandas = import_extra("pandas", "tables")
        columns: dict[str, NDArray[Any]] = {
            "pseudo_regret": self.pseudo_regret,
            "clean_regret": self.clean_regret,
            "realised_regret": self.realised_regret,
            "corruption": self.corruption,
        }
        if self.regret_bound is not None:
            columns["regret_bound"] = self.regret_bound
        if self.held_back is not None:
            columns["held_back"] = self.held_back
        if self.handed_over is not None:
            columns["handed_over"] = self.rounds >= self.handed_over
        if self.clique_mass is not None:
            columns |= {f"clique_mass_{k}": mass for k, mass in enumerate(self.clique_mass.T)}
        return pandas.DataFrame(columns, index=pandas.Index(self.rounds, name="round"))

    def __repr__(self) -> str:
        return f"Trace({self.learner} in {self.world}, {self.horizon} rounds, regret {self.final_regret:.1f})"


MOST_RECORDED = 200


def record_rounds(horizon: int) -> NDArray[np.int64]:
    """About ``MOST_RECORDED`` rounds from 1 to the horizon, evenly spaced in their logarithm.

    >>> record_rounds(10).tolist()
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    >>> record_rounds(10**6).size <= 200
    True
    """
    whole("horizon", horizon)
    rounds = np.unique(np.round(np.geomspace(1, horizon, MOST_RECORDED)).astype(np.int64))
    rounds[-1] = horizon
    return rounds


class Record(NamedTuple):
    """What a loop writes: a row for each recorded round, and the counts of the arms."""

    rows: Floats
    """(R, 4) regret in played means, in clean means and in losses; and the corruption."""
    masses: Floats
    """(R, K) clique masses; no column where the learner has no cliques."""
    safeguards: Floats
    """(R, 3) the bound on the expected regret so far, what was held back, and the first round that was left to another
    learner; NaN where there is none."""
    counts: NDArray[np.int64]
    """(N,)"""


def new_record(n_rounds: int, n_cliques: int, n_arms: int) -> Record:
    """An empty record; ``n_cliques`` is 0 for a learner without cliques."""
    return Record(
        np.zeros((n_rounds, 4)),
        np.zeros((n_rounds, n_cliques)),
        np.full((n_rounds, 3), np.nan),
        np.zeros(n_arms, dtype=np.int64),
    )


def as_trace(learner: str, world: str, seed: int, rounds: NDArray[np.int64], record: Record, seconds: float) -> Trace:
    """The record under its names."""
    played, clean, realised, corruption = record.rows.T.copy()
    bound, held_back, handed_over = record.safeguards.T.copy()
    return Trace(
        learner=learner,
        world=world,
        seed=seed,
        horizon=int(rounds[-1]),
        rounds=rounds,
        pseudo_regret=played,
        clean_regret=clean,
        realised_regret=realised,
        corruption=corruption,
        clique_mass=record.masses if record.masses.shape[1] else None,
        regret_bound=None if np.isnan(bound[-1]) else bound,
        held_back=None if np.isnan(held_back[-1]) else held_back,
        handed_over=int(handed_over[-1]) if handed_over[-1] <= rounds[-1] else None,  # also None if it is NaN
        counts=record.counts,
        seconds=seconds,
    )


@lean_jit
def write_regret(totals: RunTotals, row: Floats) -> None:
    """Write the four numbers of ``Record.rows``.

    Regret in played means is against the candidate that is best in played means, as is regret in losses; regret in
    clean means is against the one that is best in clean means.
    """
    mine, theirs = totals.learner, totals.candidates
    best, clean = 0, 0
    for j in range(1, theirs.shape[0]):
        if theirs[j, 0] < theirs[best, 0]:
            best = j
        if theirs[j, 1] < theirs[clean, 1]:
            clean = j
    row[0] = mine[0] - theirs[best, 0]
    row[1] = mine[1] - theirs[clean, 1]
    row[2] = mine[2] - theirs[best, 2]
    row[3] = mine[3]
