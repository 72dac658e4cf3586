"""The same loop in Python, for learners and worlds that are plain classes: no registration, less speed."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allworlds.errors import InvalidLosses, InvalidParameter
from allworlds.kernels.random import STREAM_LEARNER, uniform_pair
from allworlds.learners import Learner
from allworlds.learners.dispatch import draw, peek, sight, update
from allworlds.simulation.trace import Trace
from allworlds.worlds import Reactive, World
from allworlds.worlds.nature import clean_mean, corruption_of, played_loss, played_mean


def play_by_hand(
    learner: Any, world: World | Reactive, horizon: int, seed: int, rounds: NDArray[np.int64]
) -> Trace:
    """Play round by round; see :func:`allworlds.play`."""
    player = _Compiled(learner, seed) if isinstance(learner, Learner) else _Plain(learner)
    table = _Reactive(world, seed) if isinstance(world, Reactive) else _Pure(world, seed, horizon)
    n_arms = world.n_arms
    totals = np.zeros((3, n_arms))  # played mean, clean mean and loss of every arm
    mine = np.zeros(3)
    counts = np.zeros(n_arms, dtype=np.int64)
    rows = {name: np.zeros(rounds.size) for name in ("played", "clean", "realised", "corruption")}
    masses = np.zeros((rounds.size, player.n_cliques))
    spent, row = 0.0, 0
    started = time.perf_counter()
    for t in range(1, horizon + 1):
        if t == rounds[row]:
            player.peek(masses[row])
        now = table.round(t)
        arm = player.play(t, now[2])
        table.chosen(t, arm)
        counts[arm] += 1
        totals += now
        mine += now[:, arm]
        spent += table.corruption(t)
        if t == rounds[row]:
            best = int(totals[0].argmin())
            rows["played"][row] = mine[0] - totals[0].min()
            rows["clean"][row] = mine[1] - totals[1].min()
            rows["realised"][row] = mine[2] - totals[2, best]
            rows["corruption"][row] = spent
            row += 1
    return Trace(
        learner=player.title,
        world=getattr(world, "name", type(world).__name__),
        seed=seed,
        horizon=horizon,
        rounds=rounds,
        pseudo_regret=rows["played"],
        clean_regret=rows["clean"],
        realised_regret=rows["realised"],
        corruption=rows["corruption"],
        clique_mass=masses if player.n_cliques else None,
        counts=counts,
        seconds=time.perf_counter() - started,
    )


class _Compiled:
    """A learner of this package, a round at a time."""

    def __init__(self, learner: Learner, seed: int) -> None:
        self.title, self.seed = learner.title, seed
        self.n_cliques = learner.cover.n_cliques if learner.has_cliques else 0
        self.state = learner.init()

    def play(self, round: int, losses: NDArray[np.float64]) -> int:
        ticket = draw(self.state, *uniform_pair(self.seed, STREAM_LEARNER, round, 0))
        seen = sight(self.state)
        where = seen.where[ticket.arm]
        arms = seen.order[seen.starts[where] : seen.starts[where + 1]]
        update(self.state, ticket, losses[arms])
        return int(ticket.arm)

    def peek(self, masses: NDArray[np.float64]) -> None:
        peek(self.state, masses)


class _Plain:
    """A class of the user's, with ``choose`` and ``observe``."""

    n_cliques = 0

    def __init__(self, learner: Any) -> None:
        if not callable(getattr(learner, "choose", None)) or not callable(getattr(learner, "observe", None)):
            raise InvalidParameter(
                f"learner is a {type(learner).__name__}; expected a learner of allworlds, or an object with "
                "choose() -> arm and observe(arm, losses)"
            )
        self.learner = learner
        self.title = str(getattr(learner, "name", type(learner).__name__))

    def play(self, round: int, losses: NDArray[np.float64]) -> int:
        arm = self.learner.choose()
        if isinstance(arm, bool) or not isinstance(arm, int | np.integer) or not 0 <= arm < losses.size:
            raise InvalidParameter(f"choose() returned {arm!r} in round {round}; expected an arm, 0 to {losses.size - 1}")
        graph = getattr(self.learner, "graph", None)
        seen = [int(arm)] if graph is None else graph.sees(int(arm)).tolist()
        self.learner.observe(int(arm), {i: float(losses[i]) for i in seen})
        return int(arm)

    def peek(self, masses: NDArray[np.float64]) -> None:
        pass


class _Pure:
    """A world of this package: played means, clean means and losses of all arms, shape (3, N)."""

    def __init__(self, world: World, seed: int, horizon: int) -> None:
        self.nature, self.seed, self.n_arms = world.for_run(seed, horizon), seed, world.n_arms

    def round(self, t: int) -> NDArray[np.float64]:
        rows = [
            [kernel(self.nature, self.seed, t, i) for i in range(self.n_arms)]
            for kernel in (played_mean, clean_mean, played_loss)
        ]
        return np.array(rows)

    def chosen(self, t: int, arm: int) -> None:
        pass

    def corruption(self, t: int) -> float:
        return float(corruption_of(self.nature, self.seed, t))


class _Reactive:
    """A world of the user's: what it says is loss and mean at once."""

    def __init__(self, world: Reactive, seed: int) -> None:
        self.world = world
        world.start(seed)

    def round(self, t: int) -> NDArray[np.float64]:
        losses = np.asarray(self.world.losses(t), dtype=np.float64)
        if losses.shape != (self.world.n_arms,) or not np.all((losses >= 0.0) & (losses <= 1.0)):
            raise InvalidLosses(
                f"the world's losses of round {t} have shape {losses.shape}; expected ({self.world.n_arms},), each "
                "from 0 to 1"
            )
        return np.tile(losses, (3, 1))

    def chosen(self, t: int, arm: int) -> None:
        self.world.chosen(t, arm)

    def corruption(self, t: int) -> float:
        return 0.0
