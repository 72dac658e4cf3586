"""Learners of other packages, as their users play them: round by round from Python.

They solve easier problems (no side observations, or no guarantee in hostile worlds), so this says what a round costs
there, not who learns better. Each plays in a process of its own; what does not install, crashes or does not end is
skipped with a sentence.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, NamedTuple

import numpy as np

from allworlds.agents import Agent
from allworlds.covers import clique_cover
from allworlds.graphs import disjoint_cliques
from allworlds.learners import TsallisShannon
from speed.child import ChildFailed, ask
from speed.config import GAP, Scale
from speed.rows import Row, median_row, take_turns

Play = Callable[[], None]


class Rival(NamedTuple):
    """How to make a function that plays one round per call, and how many cliques of how many arms it is given."""

    make: Callable[[int, int], Play]
    n_cliques: int = 10
    size: int = 10
    note: str = "sees one arm"


def time_rivals(scale: Scale) -> Iterator[Row]:
    """Seconds a round of every rival; they take turns."""
    failures: dict[str, str] = {}

    def one(name: str) -> float:
        if name not in failures:
            try:
                return float(ask("rival", name, scale.rival_seconds, patience=scale.patience))
            except ChildFailed as failure:
                failures[name] = str(failure)
        return float("nan")

    names = list(RIVALS) if scale.rivals is None else list(scale.rivals)
    spent = take_turns({name: lambda name=name: one(name) for name in names}, min(3, scale.repeats))  # type: ignore[misc]
    for name, values in spent.items():
        rival = RIVALS[name]
        size = f"{rival.n_cliques}x{rival.size}"
        if name in failures:
            yield Row("rivals", name, size, "s/round", None, note=f"skipped: {failures[name]}")
        else:
            yield median_row("rivals", name, size, "s/round", values, rival.note)


def play_rival(name: str, seconds: str) -> float:
    """In a child: seconds a round, over about so many seconds and at least three rounds."""
    rival = RIVALS[name]
    play = rival.make(rival.n_cliques, rival.size)
    play()
    rounds, started = 0, time.perf_counter()
    while rounds < 3 or time.perf_counter() - started < float(seconds):
        play()
        rounds += 1
    return (time.perf_counter() - started) / rounds


def bernoulli(n_arms: int) -> Callable[[int], float]:
    """The world: the loss of an arm, 0 or 1."""
    random, means = Random(1), [0.5 + GAP / 2] * n_arms
    means[0] = 0.5 - GAP / 2
    return lambda arm: float(random.random() < means[arm])


class NumpyTsallisInf:
    """Tsallis-INF in plain NumPy, as one would write it in an afternoon [Zimmert and Seldin 2021].

    It follows the regularised leader with the 1/2-Tsallis entropy on bandit feedback.

    ``w_i = 4 / (eta (L_i - x))^2`` with ``x`` such that they sum to one, by Newton's method from the last ``x``;
    ``eta = 2 / sqrt(t)``.

    >>> learner = NumpyTsallisInf(4)
    >>> learner.observe(2, 1.0)
    >>> learner.weights.round(3).tolist()
    [0.318, 0.318, 0.047, 0.318]
    """

    def __init__(self, n_arms: int, seed: int = 1) -> None:
        self.losses = np.zeros(n_arms)
        self.round = 1
        self.random = np.random.default_rng(seed)
        self.offset = -np.sqrt(n_arms)
        self.weights = np.full(n_arms, 1.0 / n_arms)

    def choose(self) -> int:
        """An arm by the weights."""
        place = int(np.searchsorted(np.cumsum(self.weights), self.random.random()))
        return min(place, self.losses.size - 1)

    def observe(self, arm: int, loss: float) -> None:
        """Importance-weighted estimate, then the weights of the next round."""
        self.losses[arm] += loss / self.weights[arm]
        self.round += 1
        eta = 2.0 / np.sqrt(self.round)
        x = min(self.offset, self.losses.min() - 2.0 / eta)
        for _ in range(100):
            weights = 4.0 / (eta * (self.losses - x)) ** 2
            excess = weights.sum() - 1.0
            if abs(excess) < 1e-10:
                break
            x -= excess / (eta * (weights**1.5).sum())
        self.offset, self.weights = x, weights / weights.sum()


def _agent(n_cliques: int, size: int) -> Play:
    agent = Agent(TsallisShannon(clique_cover(disjoint_cliques(n_cliques, size))), seed=1)
    loss = bernoulli(n_cliques * size)

    def play() -> None:
        decision = agent.choose()
        agent.observe(decision, [loss(int(arm)) for arm in decision.observes])

    return play


def _numpy(n_cliques: int, size: int) -> Play:
    learner, loss = NumpyTsallisInf(n_cliques * size), bernoulli(n_cliques * size)

    def play() -> None:
        arm = learner.choose()
        learner.observe(arm, loss(arm))

    return play


def _smpybandits(n_cliques: int, size: int) -> Play:
    from SMPyBandits.Policies import Exp3

    policy, loss = Exp3(n_cliques * size, gamma=0.05), bernoulli(n_cliques * size)
    policy.startGame()

    def play() -> None:
        arm = policy.choice()
        policy.getReward(arm, 1.0 - loss(arm))

    return play


def _river(n_cliques: int, size: int) -> Play:
    from river import bandit

    arms, loss = list(range(n_cliques * size)), bernoulli(n_cliques * size)
    policy = bandit.Exp3(gamma=0.05, seed=1)

    def play() -> None:
        arm = policy.pull(arms)
        policy.update(arm, 1.0 - loss(arm))

    return play


def _mabwiser(n_cliques: int, size: int) -> Play:
    from mabwiser.mab import MAB, LearningPolicy

    loss = bernoulli(n_cliques * size)
    bandit = MAB(list(range(n_cliques * size)), LearningPolicy.ThompsonSampling(), seed=1)
    bandit.fit([0], [1.0 - loss(0)])

    def play() -> None:
        arm = bandit.predict()
        bandit.partial_fit([arm], [1.0 - loss(arm)])

    return play


def _vowpal_wabbit(n_cliques: int, size: int) -> Play:
    from vowpalwabbit import Workspace

    n_arms, random = n_cliques * size, Random(2)
    workspace, loss = Workspace("--cb_explore_adf --graph_feedback --quiet --random_seed 1"), bernoulli(n_arms)
    edges = (f"{i},{j},1" for i in range(n_arms) for j in range(n_arms) if i // size == j // size)
    shared = f"shared graph {' '.join(edges)} | s"

    def play() -> None:
        p: Any = workspace.predict([shared, *(f"| a{i}" for i in range(n_arms))])
        arm = random.choices(range(n_arms), weights=p)[0]
        labels = (f"{i}:{loss(i)}:{max(p[arm], 1e-6)} " if i // size == arm // size else "" for i in range(n_arms))
        workspace.learn([shared, *(f"{label}| a{i}" for i, label in enumerate(labels))])

    return play


RIVALS = {
    "allworlds.Agent": Rival(_agent, note="choose and observe from Python, sees a clique"),
    "NumPy Tsallis-INF": Rival(_numpy),
    "SMPyBandits Exp3": Rival(_smpybandits),
    "river Exp3": Rival(_river),
    "mabwiser Thompson": Rival(_mabwiser),
    "Vowpal Wabbit --graph_feedback": Rival(
        _vowpal_wabbit, 2, 5, "sees a clique; 10 arms: with 100, ten rounds did not end within five minutes"
    ),
}
