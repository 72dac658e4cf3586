"""Many runs of one learner in one world: what a mean and a band are drawn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from allworlds.foundation.errors import InvalidParameter
from allworlds.simulation.trace import Trace

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Runs:
    """S runs recorded at the same R rounds; arrays are (S, R) unless said."""

    learner: str
    world: str
    seeds: tuple[int, ...]
    rounds: NDArray[np.int64]
    """(R,), the last is the horizon."""
    pseudo_regret: Floats
    clean_regret: Floats
    realised_regret: Floats
    corruption: Floats
    clique_mass: Floats | None
    """(R, K) the mean over the runs, where the learner has cliques."""
    regret_bound: Floats | None
    """Bounds on the expected regret, where the learner has them."""
    seconds: Floats
    """(S,) how long each run took."""

    @property
    def horizon(self) -> int:
        """The last round."""
        return int(self.rounds[-1])

    @property
    def final(self) -> Floats:
        """(S,) pseudo-regret at the horizon."""
        return self.pseudo_regret[:, -1]

    @property
    def rounds_per_second(self) -> float:
        """Rounds of one run in a second, over all runs."""
        total = float(self.seconds.sum())
        return self.horizon * len(self.seeds) / total if total > 0.0 else float("inf")


def gather(traces: Sequence[Trace], learner: str, world: str) -> Runs:
    """Traces of equal horizon as arrays, under the names that the caller uses.

    >>> from allworlds.covers import clique_cover
    >>> from allworlds.graphs import disjoint_cliques
    >>> from allworlds.learners import TsallisShannon
    >>> from allworlds.simulation import play_many
    >>> from allworlds.worlds import one_good_arm
    >>> learner = TsallisShannon(clique_cover(disjoint_cliques(2, 2)))
    >>> runs = gather(play_many(learner, one_good_arm(4, 0.25), 50, seeds=[3, 5]), "ours", "friendly")
    >>> runs.seeds, runs.pseudo_regret.shape == (2, runs.rounds.size)
    ((3, 5), True)
    """
    if not traces or any(trace.horizon != traces[0].horizon for trace in traces):
        raise InvalidParameter("traces of one horizon were expected, at least one; play them all equally long")
    masses = [trace.clique_mass for trace in traces if trace.clique_mass is not None]
    bounds = [trace.regret_bound for trace in traces if trace.regret_bound is not None]
    return Runs(
        learner=learner,
        world=world,
        seeds=tuple(trace.seed for trace in traces),
        rounds=traces[0].rounds,
        pseudo_regret=np.array([trace.pseudo_regret for trace in traces]),
        clean_regret=np.array([trace.clean_regret for trace in traces]),
        realised_regret=np.array([trace.realised_regret for trace in traces]),
        corruption=np.array([trace.corruption for trace in traces]),
        clique_mass=np.mean(masses, axis=0) if masses else None,
        regret_bound=np.array(bounds) if len(bounds) == len(traces) else None,
        seconds=np.array([trace.seconds for trace in traces]),
    )


def join(parts: Sequence[Runs]) -> Runs:
    """The runs of several parts as one; the mean masses are weighted by the number of runs."""
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    weights = np.array([len(part.seeds) for part in parts], dtype=np.float64)
    masses = [part.clique_mass for part in parts if part.clique_mass is not None]
    bounds = [part.regret_bound for part in parts if part.regret_bound is not None]
    return Runs(
        learner=first.learner,
        world=first.world,
        seeds=tuple(seed for part in parts for seed in part.seeds),
        rounds=first.rounds,
        pseudo_regret=np.concatenate([part.pseudo_regret for part in parts]),
        clean_regret=np.concatenate([part.clean_regret for part in parts]),
        realised_regret=np.concatenate([part.realised_regret for part in parts]),
        corruption=np.concatenate([part.corruption for part in parts]),
        clique_mass=np.average(masses, axis=0, weights=weights) if masses else None,
        regret_bound=np.concatenate(bounds) if len(bounds) == len(parts) else None,
        seconds=np.concatenate([part.seconds for part in parts]),
    )
