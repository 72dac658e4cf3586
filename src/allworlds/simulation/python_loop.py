"""The same loop in Python, for learners and worlds that are plain classes: no registration, less speed."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allworlds.foundation.checks import is_whole
from allworlds.foundation.errors import InvalidLosses, InvalidParameter
from allworlds.graphs import ChangingGraph, NoisyGraph
from allworlds.graphs.round_graphs import RoundGraphs, add_noise, blank_lists, is_new, write_graph
from allworlds.kernels.random import STREAM_LEARNER, uniform_pair
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
from allworlds.simulation.trace import Trace, as_trace, new_record, write_regret
from allworlds.worlds import Reactive, World
from allworlds.worlds.losses import loss_in, new_totals, play_round

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def python_loop(learner: Any, world: World | Reactive, horizon: int, seed: int, rounds: Ints) -> Trace:
    """Play round by round; see :func:`allworlds.play`."""
    player = _Compiled(learner, seed) if isinstance(learner, Learner) else _Plain(learner, world, seed)
    stage = _Reactive(world, seed) if isinstance(world, Reactive) else _Pure(world, seed, horizon)
    record = new_record(rounds.size, player.n_cliques, world.n_arms)
    write_regret(stage.totals, record.rows[0])  # to compile it; player and stage have compiled their kernels
    row = 0
    started = time.perf_counter()
    for t in range(1, horizon + 1):
        recorded = t == rounds[row]
        if recorded:
            player.write_clique_masses(record.masses[row])
        stage.begin_round(t)
        hinge = -1 if player.graphs is None else player.graphs.hinge
        player.begin_round(t, stage.loss_in(t, hinge) if hinge >= 0 else 0.0)
        arm, seen = player.choose(t)
        losses = stage.play_round(t, arm, seen)
        if player.graphs is not None:
            add_noise(player.graphs, seed, t, arm, seen, losses)
        player.observe(arm, seen, losses)
        record.counts[arm] += 1
        if recorded:
            write_regret(stage.totals, record.rows[row])
            record.safeguards[row] = player.safeguards()
            row += 1
    return as_trace(player.title, _name_of(world), seed, rounds, record, time.perf_counter() - started)


def round_graphs_of(learner: Any) -> RoundGraphs | None:
    """The graph of each round where it changes or is noisy; None where it is fixed, or the learner ignores it."""
    graph = getattr(learner, "graph", None)
    if not isinstance(graph, ChangingGraph | NoisyGraph) or getattr(learner, "shows", "neighbours") != "neighbours":
        return None
    return graph.round_graphs()


def check_graphs(learner: Any, world: World | Reactive) -> None:
    """Raise unless the learner is made for the graph that the world has, if it has one."""
    theirs, mine = world.graph, getattr(learner, "graph", None)
    if theirs is None and getattr(mine, "hinge", -1) >= 0:
        raise InvalidParameter(
            f"the graph of the learner depends on the losses of a world, and {_name_of(world)!r} has no graph; "
            "expected a world that says which graph a round has; try world.with_graph(graph)"
        )
    if theirs is not None and theirs != mine and (mine is not None or isinstance(learner, Learner)):
        raise InvalidParameter(
            f"{_name_of(world)!r} says which graph a round has, and the learner was made for another; expected one "
            "made for world.graph; try make_learner(name, world.graph)"
        )


def _name_of(world: World | Reactive) -> str:
    return str(getattr(world, "name", type(world).__name__))


def observers_in(state: Any) -> Visibility:
    """Where a state has the lists of who shows each arm; room for them where it has none."""
    found: Visibility | None = getattr(state, "observers", None)
    return blank_lists(visibility(state).where.size)[1] if found is None else found


class _Compiled:
    """A learner of this package, a round at a time."""

    def __init__(self, learner: Learner, seed: int) -> None:
        self.title, self.seed = learner.title, seed
        self.n_cliques = learner.n_cliques
        self.ticket: Any = None
        self.graphs = round_graphs_of(learner)
        self.state = learner.init()
        self.begin_round(1, 0.0)  # call every kernel once, to compile it, on a state that is thrown away
        arm, seen = self.choose(1)
        self.observe(arm, seen, np.zeros(seen.size))
        self.write_clique_masses(np.empty(self.n_cliques))
        self.safeguards()
        self.state = learner.init()

    def begin_round(self, round: int, hinge_loss: float) -> None:
        if self.graphs is not None and is_new(self.graphs, round):
            write_graph(self.graphs, self.seed, round, hinge_loss, visibility(self.state), observers_in(self.state))
            regraph(self.state)

    def choose(self, round: int) -> tuple[int, Ints]:
        self.ticket = draw(self.state, *uniform_pair(self.seed, STREAM_LEARNER, round, 0))
        seen = visibility(self.state)
        where = seen.where[self.ticket.arm]
        return int(self.ticket.arm), seen.order[seen.starts[where] : seen.starts[where + 1]]

    def observe(self, arm: int, seen: Ints, losses: Floats) -> None:
        update(self.state, self.ticket, losses)

    def write_clique_masses(self, masses: Floats) -> None:
        write_clique_masses(self.state, masses)

    def safeguards(self) -> tuple[float, float, float]:
        return safeguards(self.state)


class _Plain:
    """An object of the user's own class, with ``choose`` and ``observe``."""

    n_cliques = 0

    def __init__(self, learner: Any, world: World | Reactive, seed: int) -> None:
        able = all(callable(getattr(learner, verb, None)) for verb in ("choose", "observe"))
        if not able or isinstance(learner, type):
            what = f"the class {learner.__name__}" if isinstance(learner, type) else f"a {type(learner).__name__}"
            raise InvalidParameter(
                f"learner is {what}; expected a learner of allworlds, or an object with choose() -> arm and "
                "observe(arm, losses)"
            )
        self.learner, self.n_arms, self.seed = learner, world.n_arms, seed
        graph = getattr(learner, "graph", None)
        self.graph: Any = world.graph if graph is None else graph
        self.graphs = round_graphs_of(learner if world.graph is None else world)
        self.lists = blank_lists(self.n_arms if self.graphs is not None else 0)
        self.title = str(getattr(learner, "name", type(learner).__name__))
        if callable(getattr(learner, "start", None)):
            learner.start(seed)

    def begin_round(self, round: int, hinge_loss: float) -> None:
        if self.graphs is not None and is_new(self.graphs, round):
            write_graph(self.graphs, self.seed, round, hinge_loss, *self.lists)

    def choose(self, round: int) -> tuple[int, Ints]:
        arm = self.learner.choose()
        if not is_whole(arm) or not 0 <= arm < self.n_arms:
            raise InvalidParameter(
                f"choose() returned {arm!r} in round {round}; expected an arm, 0 to {self.n_arms - 1}"
            )
        if self.graphs is not None:
            shown = self.lists[0]
            return int(arm), shown.order[shown.starts[arm] : shown.starts[arm + 1]]
        return int(arm), np.array([arm], dtype=np.int64) if self.graph is None else self.graph.sees(int(arm))

    def observe(self, arm: int, seen: Ints, losses: Floats) -> None:
        self.learner.observe(arm, dict(zip(seen.tolist(), losses.tolist(), strict=True)))

    def write_clique_masses(self, masses: Floats) -> None:
        pass

    def safeguards(self) -> tuple[float, float, float]:
        return math.nan, math.nan, math.nan


class _Pure:
    """A world of this package."""

    def __init__(self, world: World, seed: int, horizon: int) -> None:
        self.arrays, self.seed = world.for_run(seed, horizon), seed
        self.totals = new_totals(self.arrays.candidates.size)
        self.play_round(1, 0, np.zeros(1, dtype=np.int64))  # to compile it; then totals start anew
        self.totals = new_totals(self.arrays.candidates.size)

    def begin_round(self, round: int) -> None:
        pass

    def loss_in(self, round: int, arm: int) -> float:
        return float(loss_in(self.arrays, self.seed, round, arm))

    def play_round(self, round: int, arm: int, seen: Ints) -> Floats:
        losses = np.empty(seen.size)
        play_round(self.arrays, self.seed, round, arm, seen, losses, self.totals)
        return losses


class _Reactive:
    """A world of the user's own class: its losses are also the means, and any arm may be the best."""

    def __init__(self, world: Reactive, seed: int) -> None:
        self.world, self.now = world, np.zeros(world.n_arms)
        self.totals = new_totals(world.n_arms)
        world.start(seed)

    def begin_round(self, round: int) -> None:
        """Ask for the losses before the learner chooses."""
        self.now = self._checked("losses", round, self.world.losses(round), np.arange(self.world.n_arms))

    def loss_in(self, round: int, arm: int) -> float:
        return float(self.now[arm])

    def play_round(self, round: int, arm: int, seen: Ints) -> Floats:
        self.totals.learner[:3] += self.now[arm]
        self.totals.candidates[...] += self.now[:, None]
        shown = self._checked("shown losses", round, self.world.shown(round, arm, seen, self.now.copy()), seen)
        self.world.chosen(round, arm)
        return shown

    def _checked(self, what: str, round: int, values: Any, arms: Ints) -> Floats:
        """What the world returned, as an array with one loss from 0 to 1 for each arm: kernels check nothing."""
        try:
            losses = np.array(values, dtype=np.float64)
        except (TypeError, ValueError):
            raise InvalidLosses(
                f"the world's {what} of round {round} are not numbers; expected {arms.size} from 0 to 1"
            ) from None
        if losses.shape != arms.shape:
            raise InvalidLosses(
                f"the world's {what} of round {round} have shape {losses.shape}; expected one for each arm, "
                f"{arms.shape}"
            )
        wrong = np.flatnonzero(~((losses >= 0.0) & (losses <= 1.0)))
        if wrong.size:
            raise InvalidLosses(
                f"the world's {what} of round {round} have {losses[wrong[0]]} for arm {arms[wrong[0]]}; expected 0 to 1"
            )
        return losses
