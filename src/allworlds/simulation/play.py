"""A learner meets a world: the loop, compiled once for each learner and for all worlds.

A round is: draw an arm; the world shows the losses of the arms that it sees; learn. The loop also adds up what the
choice costs in mean, and what every candidate for the best fixed arm does. Nothing in a round is Python.

Randomness is a function of (seed, round): the same seed gives the same trace, bit for bit, whatever runs beside it,
and different learners with the same seed meet the same losses.
"""

from __future__ import annotations

import copy
import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allworlds.foundation.checks import shorten, whole
from allworlds.foundation.errors import InvalidParameter
from allworlds.graphs.round_graphs import RoundGraphs, add_noise, is_new, write_graph
from allworlds.kernels.jit import lean_jit
from allworlds.kernels.random import STREAM_LEARNER, as_seed, uniform_pair
from allworlds.learners import Learner
from allworlds.learners.dispatch import (
    Visibility,
    draw,
    regraph,
    safeguards,
    update,
    visibility,
    write_clique_masses,
)
from allworlds.simulation.python_loop import check_graphs, observers_in, python_loop, round_graphs_of
from allworlds.simulation.trace import Record, Trace, as_trace, new_record, record_rounds, write_regret
from allworlds.worlds import Reactive, World
from allworlds.worlds.losses import RunTotals, WorldArrays, loss_in, new_totals, play_round

OnFinish = Callable[[Trace], None]
NO_ROUNDS = np.zeros(1, dtype=np.int64)


def play(learner: Any, world: World | Reactive, horizon: int, seed: int = 0) -> Trace:
    """Let ``learner`` play ``horizon`` rounds in ``world``.

    A learner of this package runs compiled. One written as a plain class with ``choose() -> arm`` and
    ``observe(arm, losses)``, or a :class:`~allworlds.worlds.Reactive` world, is played round by round in Python; its
    ``losses`` are a dictionary, of the arms that ``learner.graph`` shows where it has one. If such a learner has a
    method ``start(seed)``, it is called first. The learner keeps what it has learnt.

    The learner's graph may change or be noisy. Where ``world.graph`` says which graph a round has, the learner must be
    made for it. A plain class that needs a round's graph before it chooses asks ``graph.graph_of(round, seed)``;
    after the choice, the keys of ``losses`` tell what was shown.

    >>> from allworlds.covers import clique_cover
    >>> from allworlds.graphs import disjoint_cliques
    >>> from allworlds.learners import TsallisShannon
    >>> from allworlds.worlds import one_good_arm
    >>> learner = TsallisShannon(clique_cover(disjoint_cliques(2, 5)))
    >>> trace = play(learner, one_good_arm(10, gap=0.25), horizon=1000, seed=1)
    >>> 0 < trace.final_regret < 0.25 * 1000
    True
    """
    seed = as_seed(seed)
    horizon = whole("horizon", horizon)
    rounds = record_rounds(horizon)
    _check_meeting(learner, world, horizon)
    if not isinstance(learner, Learner) or isinstance(world, Reactive):
        return python_loop(learner, world, horizon, seed, rounds)
    arrays = world.for_run(seed, horizon)
    record = new_record(rounds.size, learner.n_cliques, learner.n_arms)
    state = learner.init()
    seen = visibility(state)
    totals = new_totals(arrays.candidates.size)
    losses = np.empty(learner.n_arms)
    graphs = round_graphs_of(learner)
    observers = seen if graphs is None else observers_in(state)
    run(state, seen, observers, arrays, graphs, seed, NO_ROUNDS, losses, totals, record)  # compile the loop, untimed
    started = time.perf_counter()
    run(state, seen, observers, arrays, graphs, seed, rounds, losses, totals, record)
    seconds = time.perf_counter() - started
    return as_trace(learner.title, world.name, seed, rounds, record, seconds)


def play_many(
    learner: Any,
    world: World | Reactive,
    horizon: int,
    seeds: Iterable[int] = range(10),
    jobs: int | None = None,
    on_finish: OnFinish | None = None,
) -> list[Trace]:
    """One trace a seed, in the order of the seeds, on ``jobs`` threads (default: all cores).

    ``on_finish`` is called with each trace as it ends, in the thread that ran it. Each seed starts from its own copy
    of a plain Python learner or world.
    """
    if not isinstance(seeds, Iterable):
        raise InvalidParameter(f"seeds is {shorten(seeds)}; expected several integers, such as range(10)")
    listed = [as_seed(seed) for seed in seeds]
    workers = os.cpu_count() or 1 if jobs is None else whole("jobs", jobs)

    def one(seed: int) -> Trace:
        player = learner if isinstance(learner, Learner) else copy.deepcopy(learner)
        trace = play(player, copy.deepcopy(world) if isinstance(world, Reactive) else world, horizon, seed)
        if on_finish is not None:
            on_finish(trace)
        return trace

    if workers == 1 or len(listed) < 2:
        return [one(seed) for seed in listed]
    with ThreadPoolExecutor(max_workers=min(workers, len(listed))) as pool:
        return list(pool.map(one, listed))


def _check_meeting(learner: Any, world: Any, horizon: int) -> None:
    if not isinstance(world, World | Reactive):
        raise InvalidParameter(
            f"world is a {type(world).__name__}; expected a world, such as allworlds.worlds.stochastic(means)"
        )
    if not isinstance(getattr(world, "n_arms", None), Integral):
        raise InvalidParameter(
            f"{type(world).__name__} has no n_arms; expected a whole number, how many arms there are"
        )
    n_arms = getattr(learner, "n_arms", getattr(getattr(learner, "graph", None), "n_arms", None))
    if n_arms is not None and n_arms != world.n_arms:
        raise InvalidParameter(f"the learner has {n_arms} arms and the world {world.n_arms}; they must agree")
    check_graphs(learner, world)
    if isinstance(world, World) and world.longest is not None and horizon > world.longest:
        raise InvalidParameter(
            f"horizon is {horizon}, but {world.name!r} has {world.longest} recorded rounds; play at most those"
        )


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def run(
    state: Any,
    seen: Visibility,
    observers: Visibility,
    world: WorldArrays,
    graphs: RoundGraphs | None,
    seed: int,
    rounds: NDArray[np.int64],
    losses: NDArray[np.float64],
    totals: RunTotals,
    record: Record,
) -> None:
    """All rounds; regret is written at the recorded ones, and ``losses`` is room for those of one round.

    ``graphs`` is None where the graph never changes; then the compiler drops what concerns them. A learner that is told
    the graph only after its choice has a distribution that does not depend on it, so the graph is always written first.
    """
    row = 0
    for t in range(1, rounds[-1] + 1):
        recorded = t == rounds[row]
        if recorded:
            write_clique_masses(state, record.masses[row])
        if graphs is not None:  # noqa: SIM102  # alone in its line: so the compiler can drop the branch
            if is_new(graphs, t):
                hinge_loss = loss_in(world, seed, t, graphs.hinge) if graphs.hinge >= 0 else 0.0
                write_graph(graphs, seed, t, hinge_loss, seen, observers)
                regraph(state)
        first, second = uniform_pair(seed, STREAM_LEARNER, t, 0)
        ticket = draw(state, first, second)
        start, stop = shown_by(seen, ticket.arm)
        play_round(world, seed, t, ticket.arm, seen.order[start:stop], losses, totals)
        if graphs is not None:
            add_noise(graphs, seed, t, ticket.arm, seen.order[start:stop], losses)
        update(state, ticket, losses[: stop - start])
        record.counts[ticket.arm] += 1
        if recorded:
            write_regret(totals, record.rows[row])
            record.safeguards[row, 0], record.safeguards[row, 1], record.safeguards[row, 2] = safeguards(state)
            row += 1


@lean_jit
def shown_by(seen: Visibility, arm: int) -> tuple[int, int]:
    """Where in ``seen.order`` the arms are that ``arm`` shows."""
    where = seen.where[arm]
    return seen.starts[where], seen.starts[where + 1]
