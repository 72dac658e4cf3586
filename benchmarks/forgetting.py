"""Three ways to forget; what a ``half_life`` is worth where the world moves, and what it costs where it does not.

    python benchmarks/forgetting.py --tune     # forms of forgetting, on the graphs and seeds on which one was chosen
    python benchmarks/forgetting.py            # graph, horizon and seeds on which nothing was chosen

The forms are discounted losses (``half_life``), a window of the schedule (rate, baseline and deficit limit stay as they
are after so many rounds; losses are not discounted) and restarts on a test. The last two are only here:

    window:rounds=500
    restarts:delta=0.05,half_life=1000     # both; any option of tsallis-shannon may follow

Where the world moves, no fixed arm is good all the time. So tables have the mean loss above that of the best arm of
each round: with ``--tune`` over that of ``imed-n``, else with the usual regret against the best fixed arm in brackets.
"""

from __future__ import annotations

import argparse
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import allworlds as aw
from allworlds.ftrl.clock import ROUND
from allworlds.kernels.jit import lean_jit
from allworlds.kernels.random import STREAM_LEARNER, uniform_pair
from allworlds.worlds.losses import reveal

REFERENCE = "imed-n"
FORMS = (
    REFERENCE,
    "tsallis-shannon",
    "tsallis-shannon:half_life=400,setting=practical",
    "tsallis-shannon:half_life=800,setting=practical",
    "tsallis-shannon:half_life=800",
    "tsallis-shannon:half_life=1000",
    "tsallis-shannon:half_life=1000,eta0=32",
    "window:rounds=500",
    "window:rounds=1000,setting=forgetting",
    "restarts:delta=0.05",
    "restarts:delta=1",
    "restarts:delta=0.05,setting=forgetting",
    "restarts:delta=1,setting=forgetting",
    "restarts:delta=20,setting=forgetting",
    "restarts:delta=0.05,half_life=1000",
)
LEARNERS = (
    "tsallis-shannon",
    "tsallis-shannon:half_life=1000",
    "tsallis-shannon:half_life=800",
    "window:rounds=500",
    "restarts:delta=0.05,setting=forgetting",
    "restarts:delta=1,setting=forgetting",
    "thompson-discounted",
    "thompson-n",
    "ucb-window:window=2000",
    "ucb-discounted:discount=0.999",
    REFERENCE,
)
MOVING = ("switching", "drifting")
STILL = ("stochastic:gap=0.125", "constrained-adversary:gap=0.125")
EVERY = 10
"""Every so many observations of an arm it is tested, with a change after every so many of them."""


class Setting(NamedTuple):
    """On what the learners are measured."""

    graph: str
    horizon: int
    seeds: range


TUNING = tuple(Setting(f"disjoint-cliques:{size}", 20_000, range(1_000, 1_004)) for size in ("5x5", "12x6", "8x4"))
REPORTED = Setting("disjoint-cliques:10x10", 30_000, range(2_000, 2_006))


class Forgetting:
    """The default learner that forgets in a way which the package does not have."""

    def __init__(self, name: str, graph: aw.FeedbackGraph) -> None:
        options = dict(option.split("=") for option in name.partition(":")[2].split(","))
        self.name, self.graph = name, graph
        self.rounds, self.delta = float(options.pop("rounds", "inf")), float(options.pop("delta", "0"))
        others = ",".join(f"{option}={value}" for option, value in options.items())
        self.learner: Any = aw.make_learner(f"tsallis-shannon:{others}" if others else "tsallis-shannon", graph)

    def start(self, seed: int) -> None:
        """A new run."""
        self.seed, self.round, self.n_restarts = seed, 0, 0
        self.begin()

    def begin(self) -> None:
        """Forget everything."""
        self.state = self.learner.init()
        self.counts = np.zeros(self.graph.n_arms, np.int64)
        self.sums = np.zeros((self.graph.n_arms, 64))

    def choose(self) -> int:
        """Draw an arm."""
        self.round += 1
        self.ticket = self.learner.draw(self.state, *uniform_pair(self.seed, STREAM_LEARNER, self.round, 0))
        return int(self.ticket.arm)

    def observe(self, arm: int, losses: dict[int, float]) -> None:
        """Learn; then begin anew if a test fires."""
        seen = self.learner.observes(arm)
        values = np.array([losses[i] for i in seen.tolist()])
        clock = self.state.clock
        clock[ROUND] = min(clock[ROUND], self.rounds - 1.0)
        self.learner.update(self.state, self.ticket, values)
        if self.delta:
            if self.counts.max() + 2 > self.sums.shape[1]:
                self.sums = np.concatenate([self.sums, np.zeros_like(self.sums)], axis=1)
            if has_changed(self.sums, self.counts, seen, values, self.delta):
                self.n_restarts += 1
                self.begin()


@lean_jit
def has_changed(
    sums: NDArray[np.float64],
    counts: NDArray[np.int64],
    arms: NDArray[np.int64],
    losses: NDArray[np.float64],
    delta: float,
) -> bool:
    """Add losses to ``sums[i, n]``, the sum of the first ``n`` of arm ``i``; whether the test of one of the arms fires.

    The test is that of GLR-klUCB with global restarts (Besson, Kaufmann, Maillard and Seznec, "Efficient change-point
    detection for tackling piecewise-stationary bandits", JMLR 23, 2022): :func:`likelihood_ratio` above
    ``log(3 n^(3/2) / delta)``. It also holds for losses in [0, 1] that are no coins. Here an arm's losses are all that
    were seen of it, side observations among them.
    """
    fires = False
    for j in range(arms.size):
        arm = arms[j]
        n = counts[arm] + 1
        counts[arm] = n
        sums[arm, n] = sums[arm, n - 1] + losses[j]
        if n % EVERY == 0:
            fires |= likelihood_ratio(sums[arm], n) > math.log(3.0 * n**1.5 / delta)
    return fires


@lean_jit
def likelihood_ratio(sums: NDArray[np.float64], n: int) -> float:
    """``max_s s kl(mean of the first s, mean of n) + (n - s) kl(mean of the rest, mean of n)``."""
    mean, highest = sums[n] / n, 0.0
    for s in range(EVERY, n, EVERY):
        before, after = sums[s] / s, (sums[n] - sums[s]) / (n - s)
        highest = max(highest, s * divergence(before, mean) + (n - s) * divergence(after, mean))
    return highest


@lean_jit
def divergence(p: float, q: float) -> float:
    """``kl(p, q)`` of two coins, where ``q`` is 0 or 1 only if ``p`` is, too."""
    head = p * math.log(p / q) if p > 0.0 else 0.0
    return head + ((1.0 - p) * math.log((1.0 - p) / (1.0 - q)) if p < 1.0 else 0.0)


def make(name: str, graph: aw.FeedbackGraph, horizon: int) -> Any:
    """A learner by name, or one of the forms that are only here."""
    is_ours = name.startswith(("window:", "restarts:"))
    return Forgetting(name, graph) if is_ours else aw.make_learner(name, graph, horizon)


def above_fixed(world: aw.worlds.World, horizon: int) -> float:
    """How much less the best arm of each round loses in total than the best fixed arm, in means."""
    rows, totals, best = np.empty((4, world.n_arms)), np.zeros(world.n_arms), 0.0
    arrays, arms = world.for_run(0, horizon), np.arange(world.n_arms)
    for round in range(1, horizon + 1):
        reveal(arrays, 0, round, arms, rows)
        totals += rows[1]
        best += rows[1].min()
    return float(totals.min() - best)


class Cell:
    """A world on a graph."""

    def __init__(self, setting: Setting, world: str) -> None:
        self.setting, self.graph = setting, aw.make_graph(setting.graph)
        self.world = aw.make_world(world, self.graph.n_arms)
        self.name = f"{setting.graph.split(':')[1]} {world.split(':')[0]}"
        self.gain = above_fixed(self.world, setting.horizon)

    def play(self, name: str) -> tuple[float, float]:
        """The mean loss above the best arm of each round, and the regret against the best fixed arm."""
        _, horizon, seeds = self.setting
        traces = aw.play_many(make(name, self.graph, horizon), self.world, horizon, seeds, jobs=1)
        regret = float(np.mean([trace.final_regret for trace in traces]))
        return regret + self.gain, regret


def print_table(names: tuple[str, ...], cells: list[Cell], compare: bool) -> None:
    """A row as soon as it is known; if asked, over the figures of the first row."""
    print("| learner | " + " | ".join(cell.name for cell in cells) + " |\n|---|" + "---:|" * len(cells))
    unit: list[float] = []
    for name in names:
        found = [cell.play(name) for cell in cells]
        unit = unit or [moving for moving, _ in found]
        shown = [f"{moving:,.0f} ({fixed:,.0f})" for moving, fixed in found]
        if compare:
            shown = [f"{moving / one:.2f}" for (moving, _), one in zip(found, unit, strict=True)]
        print(f"| `{name}` | " + " | ".join(shown) + " |", flush=True)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--tune", action="store_true", help="play on the graphs and seeds of the tuning")
    options.add_argument("--learners", nargs="+", help="learners to play, by name")
    options.add_argument("--worlds", nargs="+", help="worlds to play in")
    chosen = options.parse_args()
    settings: tuple[Setting, ...] = (REPORTED,)
    names, worlds = LEARNERS, (*MOVING, *STILL)
    if chosen.tune:
        settings, names, worlds = TUNING, FORMS, MOVING
    names = names if chosen.learners is None else tuple(chosen.learners)
    if chosen.tune:
        names = (REFERENCE, *(name for name in names if name != REFERENCE))
    cells = [Cell(setting, world) for setting in settings for world in chosen.worlds or worlds]
    for graph, horizon, seeds in settings:
        print(f"{graph}: {horizon:,} rounds, {len(seeds)} seeds from {seeds[0]}")
    print_table(names, cells, compare=chosen.tune)


if __name__ == "__main__":
    main()
