"""What a loop writes down, and the trace that becomes of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.kernels.jit import lean_jit
from allworlds.learners import Learner
from allworlds.simulation.trace import Trace
from allworlds.worlds.nature import Totals


class Record(NamedTuple):
    """A row a recorded round, and the counts of the arms."""

    rows: NDArray[np.float64]
    """(R, 4) regret in played means, in clean means and in losses; and the corruption."""
    masses: NDArray[np.float64]
    """(R, K), or no column."""
    bounds: NDArray[np.float64]
    """(R,) the bound on the expected regret so far, NaN where there is none."""
    counts: NDArray[np.int64]
    """(N,)"""


def new_record(n_rounds: int, learner: Learner) -> Record:
    """An empty record of a learner of this package."""
    return Record(
        np.zeros((n_rounds, 4)),
        np.zeros((n_rounds, learner.n_cliques)),
        np.full(n_rounds, np.nan),
        np.zeros(learner.n_arms, dtype=np.int64),
    )


def as_trace(learner: str, world: str, seed: int, rounds: NDArray[np.int64], record: Record, seconds: float) -> Trace:
    """The record under its names."""
    played, clean, realised, corruption = record.rows.T.copy()
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
        regret_bound=None if np.isnan(record.bounds[-1]) else record.bounds,
        counts=record.counts,
        seconds=seconds,
    )


@lean_jit
def settle(totals: Totals, row: NDArray[np.float64]) -> None:
    """Regret from totals: what was incurred less the best candidate's; losses against the one best in played mean."""
    mine, theirs = totals.mine, totals.theirs
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
