"""A learner meets a world: the loop, compiled once for each learner and for all worlds.

A round is: draw an arm; the world shows the losses of what that arm sees; learn. Besides, the loop adds up what the
choice costs in mean against every candidate for the best fixed arm. Nothing in a round is Python.

Randomness is a function of (seed, round): the same seed gives the same trace, bit for bit, whatever runs beside it,
and different learners with the same seed meet the same losses.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.errors import InvalidParameter
from allworlds.kernels.jit import jit
from allworlds.kernels.random import STREAM_LEARNER, as_seed, uniform_pair
from allworlds.learners import Learner
from allworlds.learners.dispatch import Sight, draw, peek, sight, update
from allworlds.simulation.by_hand import play_by_hand
from allworlds.simulation.trace import Trace, record_rounds
from allworlds.worlds import Reactive, World
from allworlds.worlds.nature import Nature, Totals, meet

OnFinish = Callable[[Trace], None]


def play(learner: Any, world: World | Reactive, horizon: int, seed: int = 0) -> Trace:
    """Let ``learner`` play ``horizon`` rounds in ``world``.

    A learner of this package runs compiled. One written as a plain class with ``choose() -> arm`` and
    ``observe(arm, losses)``, or a :class:`~allworlds.worlds.Reactive` world, is played round by round in Python.

    >>> from allworlds.graphs import clique_cover, disjoint_cliques
    >>> from allworlds.learners import TsallisShannon
    >>> from allworlds.worlds import one_good_arm
    >>> learner = TsallisShannon(clique_cover(disjoint_cliques(2, 5)))
    >>> trace = play(learner, one_good_arm(10, gap=0.25), horizon=1000, seed=1)
    >>> 0 < trace.final_regret < 0.25 * 1000
    True
    """
    seed = as_seed(seed)
    rounds = record_rounds(horizon)
    _check_meeting(learner, world, int(horizon))
    if not isinstance(learner, Learner) or isinstance(world, Reactive):
        return play_by_hand(learner, world, int(horizon), seed, rounds)
    state = learner.init()
    record = new_record(rounds.size, world.nature.candidates.size, learner)
    nature = world.for_run(seed, int(horizon))
    started = time.perf_counter()
    run(state, nature, seed, rounds, record)
    seconds = time.perf_counter() - started
    return as_trace(learner.title, world, seed, rounds, record, seconds)


def play_many(
    learner: Any,
    world: World | Reactive,
    horizon: int,
    seeds: Iterable[int] = range(10),
    jobs: int | None = None,
    on_finish: OnFinish | None = None,
) -> list[Trace]:
    """One trace a seed, in the order of the seeds, on ``jobs`` threads (default: all cores).

    ``on_finish`` is called with each trace as it ends, from whichever thread ran it.
    """
    listed = [as_seed(seed) for seed in seeds]
    workers = os.cpu_count() or 1 if jobs is None else jobs
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise InvalidParameter(f"jobs is {jobs!r}; expected a number of threads, at least 1")

    def one(seed: int) -> Trace:
        trace = play(learner, world, horizon, seed)
        if on_finish is not None:
            on_finish(trace)
        return trace

    if workers == 1 or len(listed) < 2:
        return [one(seed) for seed in listed]
    with ThreadPoolExecutor(max_workers=min(workers, len(listed))) as pool:
        return list(pool.map(one, listed))


class Record(NamedTuple):
    """What the loop writes: a row a recorded round, and the counts of the arms."""

    mine: NDArray[np.float64]
    """(R, 4) totals of the learner: played mean, clean mean, loss; and the corruption."""
    theirs: NDArray[np.float64]
    """(R, 3, C) the same three of every candidate for the best fixed arm."""
    masses: NDArray[np.float64]
    """(R, K), or no column."""
    counts: NDArray[np.int64]


def new_record(n_rounds: int, n_candidates: int, learner: Learner) -> Record:
    """An empty record."""
    n_cliques = learner.cover.n_cliques if learner.has_cliques else 0
    return Record(
        np.zeros((n_rounds, 4)),
        np.zeros((n_rounds, 3, n_candidates)),
        np.zeros((n_rounds, n_cliques)),
        np.zeros(learner.n_arms, dtype=np.int64),
    )


def as_trace(
    learner: str, world: World, seed: int, rounds: NDArray[np.int64], record: Record, seconds: float
) -> Trace:
    """Regret from totals: what was incurred less the best candidate's."""
    mine, theirs = record.mine, record.theirs
    best = theirs[:, 0].argmin(axis=1)
    return Trace(
        learner=learner,
        world=world.name,
        seed=seed,
        horizon=int(rounds[-1]),
        rounds=rounds,
        pseudo_regret=mine[:, 0] - theirs[:, 0].min(axis=1),
        clean_regret=mine[:, 1] - theirs[:, 1].min(axis=1),
        realised_regret=mine[:, 2] - theirs[np.arange(rounds.size), 2, best],
        corruption=mine[:, 3],
        clique_mass=record.masses if record.masses.shape[1] else None,
        counts=record.counts,
        seconds=seconds,
    )


def _check_meeting(learner: Any, world: Any, horizon: int) -> None:
    if not isinstance(world, World | Reactive):
        raise InvalidParameter(
            f"world is a {type(world).__name__}; expected a world, such as allworlds.worlds.stochastic(means)"
        )
    n_arms = getattr(learner, "n_arms", None)
    if n_arms is not None and n_arms != world.n_arms:
        raise InvalidParameter(f"the learner has {n_arms} arms and the world {world.n_arms}; they must agree")
    if isinstance(world, World) and world.longest is not None and horizon > world.longest:
        raise InvalidParameter(
            f"horizon is {horizon}, but {world.name!r} has {world.longest} recorded rounds; play at most those"
        )


# --- kernels --------------------------------------------------------------------------------------------


@jit
def run(state: Any, nature: Nature, seed: int, rounds: NDArray[np.int64], record: Record) -> None:
    """All rounds; totals are written out at the recorded ones."""
    totals = Totals(np.zeros(4), np.zeros((3, nature.candidates.size)))
    losses = np.empty(record.counts.size)
    row = 0
    for t in range(1, rounds[-1] + 1):
        recorded = t == rounds[row]
        if recorded:
            peek(state, record.masses[row])
        seen = sight_at(state, nature, t)
        first, second = uniform_pair(seed, STREAM_LEARNER, t, 0)
        ticket = draw(state, first, second)
        where = seen.where[ticket.arm]
        arms = seen.order[seen.starts[where] : seen.starts[where + 1]]
        meet(nature, seed, t, ticket.arm, arms, losses, totals)
        update(state, ticket, losses[: arms.size])
        record.counts[ticket.arm] += 1
        if recorded:
            record.mine[row] = totals.mine
            record.theirs[row] = totals.theirs
            row += 1


@jit
def sight_at(state: Any, nature: Nature, round: int) -> Sight:
    """The graph of this round: today always the learner's, one day the world's."""
    return sight(state)
