"""What the statements are checked on: random points, random rounds, and real runs of the learner.

Random rounds are solved to the last digit from random cumulative losses; no distribution is invented. A run records
everything that the proofs speak of: each round's distribution, losses, estimates and the half step of the clique that
was drawn. A half step is one more solved step a round, so it is solved only where it is needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from allworlds.covers import CliqueCover, clique_cover
from allworlds.ftrl import Constants
from allworlds.graphs import FeedbackGraph, disjoint_cliques
from allworlds.learners import TsallisShannon
from allworlds.theory import Check, Round, round_state
from allworlds.theory.practical_coefficients import numbers_of
from allworlds.theory.rounds import PracticalRound, mass_beside, masses

Array = NDArray[np.float64]
World = Literal["stochastic", "adversarial", "corrupted"]
WORLDS: tuple[World, ...] = ("stochastic", "adversarial", "corrupted")
Made = TypeVar("Made")
State = TypeVar("State")

LATEST = 5.0  # rounds go from 1 to 10^5, evenly in their logarithm
LONG_HORIZON = 1800
LONG_COVER = {"paper": (10, 10), "sharp": (2, 5), "practical": (2, 5)}
"""100 arms, so that N T >= 3^11 and the paper's theorems apply; 10 arms, so that the sharp bounds are not vacuous."""
RANDOM_ROUNDS = {"paper": (40, 100), "sharp": (40, 100), "practical": (150, 600)}
"""How many, quick and full: so many that each condition of a step is met by some."""
STREAMS = {
    "random": {"paper": 3, "sharp": 4, "practical": 9},
    "short": {"paper": 5, "sharp": 6, "practical": 15},
    "long": {"paper": 7, "sharp": 8, "practical": 16},
}


def constants_of(which: str, cover: CliqueCover, horizon: int) -> Constants:
    """The ``paper``, the ``sharp`` or the ``practical`` constants."""
    if which == "paper":
        return Constants.paper(cover, horizon)
    return Constants.sharp(cover) if which == "sharp" else Constants.practical(cover)


def cover_of(sizes: list[int]) -> CliqueCover:
    """Disjoint cliques of the given sizes, arms in shuffled order, the same for the same sizes.

    >>> cover_of([2, 1]).sizes.tolist()
    [2, 1]
    """
    order = np.random.default_rng(sum(sizes)).permutation(sum(sizes))
    ends = np.cumsum(sizes)
    groups = [sorted(order[end - size : end].tolist()) for size, end in zip(sizes, ends, strict=True)]
    return CliqueCover(FeedbackGraph.from_cliques(sum(sizes), groups), groups)


def random_round(rng: np.random.Generator, which: str = "sharp") -> Round:
    """One round with these constants: few or many cliques, early or late, undecided or nearly sure.

    1 to 5 cliques of 1 to 39 arms, losses uniform or 0 and 1; usually the best arm is the leading one.

    >>> random_round(np.random.default_rng(0)).learning_rate <= 1.0
    True
    """
    if which == "practical":
        return random_practical_round(rng)
    n_cliques = int(rng.integers(1, 6))
    sizes = [int(size) for size in rng.integers(1, 7, n_cliques)]
    if rng.random() < 0.2:
        sizes[0] = int(rng.integers(10, 40))
    cover = cover_of(sizes)
    eta = 1.0 / math.sqrt(int(10.0 ** rng.uniform(0.0, LATEST)))
    reach = 1.0 if which == "sharp" else 30.0  # the paper's alpha is large: it takes large losses to move it
    cumulative = _cumulative(rng, cover, reach / eta)
    best_arm, losses = _losses(rng, cumulative)
    return round_state(cover, cumulative, losses, eta, constants_of(which, cover, 10**6), best_arm)


def random_practical_round(rng: np.random.Generator) -> PracticalRound:
    """One round with ``Constants.practical``: early or late, any baseline, undecided or nearly sure.

    2 to 5 cliques of 1 to 30 arms. Sometimes one of them has almost no mass, or is so far behind that its estimates
    are held back.

    >>> bool(0.0 <= random_practical_round(np.random.default_rng(0)).baseline <= 0.85)
    True
    """
    sizes = [int(size) for size in rng.integers(1, 7, int(rng.integers(2, 6)))]
    if rng.random() < 0.3:
        sizes[int(rng.integers(len(sizes)))] = int(rng.integers(8, 31))
    cover = cover_of(sizes)
    constants = Constants.practical(cover)
    early = numbers_of(cover.sizes).last_early_round
    t = early + int(10.0 ** rng.uniform(0.0, LATEST)) if rng.random() < 0.6 else int(rng.integers(1, early + 1))
    highest = constants.baseline_share * float(rng.choice([0.0, 1.0, rng.random()]))
    baseline = highest * float(rng.choice([0.0, 1.0, rng.random()]))
    cumulative = _cumulative(rng, cover, 1.0 / constants.learning_rate(t))
    far = rng.random()
    if far < 0.15:
        cumulative[cover.owner == 0] += 10.0 ** rng.uniform(3.0, 8.0)
    elif far < 0.4:
        cumulative[cover.owner == 0] += _deficit_limit(constants, t) * rng.uniform(0.2, 1.0)
    best_arm, losses = _losses(rng, cumulative)
    if rng.random() < 0.2:
        losses[:] = float(rng.integers(2))
    return PracticalRound(cover, constants, t, baseline, highest, cumulative, losses, best_arm)


def held_back_round(rng: np.random.Generator) -> PracticalRound:
    """A round with ``Constants.practical`` in which one clique of 2 or 3 is close to where its estimates are held back.

    Nothing else tells the arms apart and all of them lose 1, so the bounds on what is held back come close.

    >>> float(held_back_round(np.random.default_rng(0)).losses.min())
    1.0
    """
    cover = cover_of([int(size) for size in rng.integers(1, 7, int(rng.integers(2, 4)))])
    constants = Constants.practical(cover)
    t = int(10.0 ** rng.uniform(0.0, LATEST))
    behind = np.where(cover.owner == 0, _deficit_limit(constants, t) * rng.uniform(0.2, 1.0), 0.0)
    return PracticalRound(cover, constants, t, 0.0, 0.0, behind, np.ones(cover.n_arms), cover.n_arms - 1)


def _deficit_limit(constants: Constants, t: int) -> float:
    """How far behind a clique may be in round ``t``."""
    rounds = t + constants.head_start
    return constants.deficit_limit * rounds + constants.deficit_root * math.sqrt(rounds)


def _cumulative(rng: np.random.Generator, cover: CliqueCover, scale: float) -> Array:
    """Cumulative losses that differ inside the cliques and between them, by little or by much."""
    cumulative: Array = rng.random(cover.n_arms) * scale * 10.0 ** rng.uniform(-1.5, 1.3)
    cumulative += rng.random(cover.n_cliques)[cover.owner] * scale * 10.0 ** rng.uniform(-1.5, 1.3)
    return cumulative


def _losses(rng: np.random.Generator, cumulative: Array) -> tuple[int, Array]:
    """The best arm, and the losses of the round."""
    best_arm = int(cumulative.argmin()) if rng.random() < 0.8 else int(rng.integers(cumulative.size))
    losses = rng.random(cumulative.size)
    if rng.random() < 0.6:
        losses = (losses < rng.random()).astype(np.float64)
    if rng.random() < 0.3:
        losses[best_arm] = 1.0
    return best_arm, losses


@dataclass(frozen=True)
class Losses:
    """The losses of one run: as played and clean, (T, N) each, and the clean means (N,)."""

    played: Array
    clean: Array
    means: Array

    @property
    def best_arm(self) -> int:
        """The arm with the lowest clean mean."""
        return int(self.means.argmin())


@dataclass(frozen=True)
class Trajectory:
    """One run; arrays have shape (T, N) unless said otherwise."""

    cover: CliqueCover
    constants: Constants
    losses: Losses
    distributions: Array
    cumulative_losses: Array
    """``Lhat_{t-1}``, what the round's step was solved for."""
    drawn: NDArray[np.intp]
    """(T,) the clique that was drawn."""
    baselines: Array
    """(T,) what is subtracted from the losses; 0 with the paper's and the sharp constants."""

    @cached_property
    def rates(self) -> Array:
        """(T,) learning rates."""
        return np.array([self.constants.learning_rate(t + 1) for t in range(len(self.drawn))])

    @cached_property
    def rounds(self) -> list[PracticalRound]:
        """(T,) each round as the proof of Theorem C sees it."""
        highest = np.maximum.accumulate(self.baselines).tolist()
        known = zip(self.baselines.tolist(), highest, self.cumulative_losses, self.losses.played, strict=True)
        best = self.losses.best_arm
        return [PracticalRound(self.cover, self.constants, t, *of, best) for t, of in enumerate(known, start=1)]

    @cached_property
    def estimates(self) -> Array:
        """``lhat_t`` of the clique that was drawn, from its definition and not from what the learner added."""
        return np.array([it.estimates[k] for it, k in zip(self.rounds, self.drawn, strict=True)])

    @cached_property
    def half_steps(self) -> Array:
        """``p_t^+`` of the clique that was drawn."""
        after = self.cumulative_losses + self.estimates
        return np.array([it.solve(losses).distribution for it, losses in zip(self.rounds, after, strict=True)])

    @property
    def clique_mass(self) -> Array:
        """(T, K) ``q_k``."""
        return masses(self.cover, self.distributions)

    def others(self, distributions: Array) -> Array:
        """(T,) mass of the best clique without the best arm."""
        return mass_beside(self.cover, distributions, self.losses.best_arm)

    @property
    def corrupted(self) -> bool:
        """Were the losses that were played not the clean ones?"""
        return bool(np.any(self.losses.played != self.losses.clean))


def make_losses(world: World, n_arms: int, horizon: int, gap: float, best_arm: int, rng: np.random.Generator) -> Losses:
    """Bernoulli losses around 1/2.

    Adversarial: the means alternate between the ends of [0, 1]. Corrupted: the first tenth of the rounds is flipped.
    """
    means = np.full(n_arms, 0.5 + gap / 2.0)
    means[best_arm] = 0.5 - gap / 2.0
    if world == "adversarial":
        phases = (np.log1p(np.arange(horizon)) / np.log(1.6)).astype(int) % 2
        shifted = np.where(phases[:, None] == 0, 0.0, 1.0 - gap) + gap * (means > means.min())
        played = (rng.random((horizon, n_arms)) < shifted).astype(np.float64)
        return Losses(played, played, means)
    clean = (rng.random((horizon, n_arms)) < means).astype(np.float64)
    played = clean.copy()
    if world == "corrupted":
        played[: horizon // 10] = 1.0 - played[: horizon // 10]
    return Losses(played, clean, means)


def run(cover: CliqueCover, constants: Constants, losses: Losses, rng: np.random.Generator) -> Trajectory:
    """Play the learner on these losses and record everything."""
    learner = TsallisShannon(cover, constants)
    state = learner.init()
    horizon, n_arms = losses.played.shape
    p, before = np.empty((horizon, n_arms)), np.empty((horizon, n_arms))
    drawn, baselines = np.empty(horizon, dtype=np.intp), np.empty(horizon)
    for t in range(horizon):
        p[t] = learner.distribution(state)
        before[t] = learner.cumulative_losses(state)
        ticket = learner.draw(state, *rng.random(2).tolist())
        drawn[t], baselines[t] = ticket.clique, ticket.baseline
        learner.update(state, ticket, losses.played[t, learner.observes(ticket.arm)])
    return Trajectory(cover, constants, losses, p, before, drawn, baselines)


class Instances:
    """Everything is made once, from the seed, when it is first needed."""

    def __init__(self, seed: int, *, full: bool) -> None:
        self.full = full
        self._seed = seed
        self._made: dict[str, Any] = {}

    def rng(self, stream: int) -> np.random.Generator:
        """A generator for each purpose, so that no statement changes the instances of another."""
        return np.random.default_rng([self._seed, stream])

    def once(self, key: str, make: Callable[[], Made]) -> Made:
        """What was made under this key before, or ``make()``."""
        if key not in self._made:
            self._made[key] = make()
        made: Made = self._made[key]
        return made

    def often(self, which: str, world: str, few: int) -> int:
        """How many runs to average: ``few``, or four times as many.

        The practical setting needs four times as many under corruption even if not ``full``: there, the regret of a
        run varies from below 0 to three times its mean.
        """
        return few * (4 if self.full or (which, world) == ("practical", "corrupted") else 1)

    @cached_property
    def conditionals(self) -> list[Array]:
        """Distributions inside a clique, from even to extreme."""
        rng = self.rng(1)
        sizes = rng.integers(2, 9, size=300 if self.full else 60)
        return [rng.dirichlet(np.full(size, 10.0 ** rng.uniform(-1.5, 1.0))) + 1e-12 for size in sizes]

    @cached_property
    def points(self) -> list[tuple[CliqueCover, Array]]:
        """Points of the orthant on random covers; every arm has at least 1e-4 of its clique."""
        rng = self.rng(2)
        return [self._point(rng) for _ in range(100 if self.full else 20)]

    @cached_property
    def held_back(self) -> list[PracticalRound]:
        """Rounds in which a clique is nearly or just held back."""
        rng = self.rng(24)
        return [held_back_round(rng) for _ in range(400 if self.full else 100)]

    def states(self, which: str) -> list[Any]:
        """Rounds with the ``paper``, the ``sharp`` or the ``practical`` constants; ``both`` are the first two.

        Random ones, and those of short runs.
        """
        if which == "both":
            return [*self.states("paper"), *self.states("sharp")]
        return self.once(f"states {which}", lambda: self._states(which))

    def short(self, which: str) -> list[Trajectory]:
        """Short runs with these constants, one a world; ``both`` as for :meth:`states`."""
        if which == "both":
            return [*self.short("paper"), *self.short("sharp")]
        return self.once(f"short {which}", lambda: self._short(which))

    def long(self, which: str) -> dict[World, list[Trajectory]]:
        """Longer runs with the ``paper``, ``sharp`` or ``practical`` constants; several seeds a world."""
        return self.once(f"long {which}", lambda: self._long(which))

    def _point(self, rng: np.random.Generator) -> tuple[CliqueCover, Array]:
        cover = clique_cover(disjoint_cliques(rng.integers(1, 6, size=rng.integers(2, 5)).tolist()))
        p = np.empty(cover.n_arms)
        for clique in cover.cliques:
            y = rng.dirichlet(np.full(clique.size, 10.0 ** rng.uniform(-1.0, 1.0)))
            y = np.maximum(y, 2e-4)
            p[clique] = y / y.sum() * 10.0 ** rng.uniform(-4.0, 0.0)
        return cover, p

    def _states(self, which: str) -> list[Any]:
        rng, count = self.rng(STREAMS["random"][which]), RANDOM_ROUNDS[which][self.full]
        some = [t for t in range(self._short_horizon) if self.full or t < 3 or t % 4 == 3]
        return [
            *(random_round(rng, which) for _ in range(count)),
            *(it.rounds[t] for it in self.short(which) for t in some),
        ]

    @property
    def _short_horizon(self) -> int:
        return 150 if self.full else 40

    def _short(self, name: str) -> list[Trajectory]:
        rng = self.rng(STREAMS["short"][name])
        cover = clique_cover(disjoint_cliques([1, 2, 4]))
        constants = constants_of(name, cover, self._short_horizon)
        losses = (make_losses(world, 7, self._short_horizon, 0.4, 5, rng) for world in WORLDS)
        return [run(cover, constants, played, rng) for played in losses]

    def _long(self, name: str) -> dict[World, list[Trajectory]]:
        rng = self.rng(STREAMS["long"][name])
        cover = clique_cover(disjoint_cliques(*LONG_COVER[name]))
        constants = constants_of(name, cover, LONG_HORIZON)
        return {
            world: [
                run(cover, constants, make_losses(world, cover.n_arms, LONG_HORIZON, 0.25, 2, rng), rng)
                for _ in range(self.often(name, world, 1))
            ]
            for world in WORLDS
        }


@dataclass(frozen=True)
class Outcome:
    """A check, and what to report with it."""

    check: Check
    vacuous: bool = False
    note: str = ""


@dataclass(frozen=True)
class Statement:
    """A statement of a proof, with the checks that could refute it."""

    text: str
    label: str
    """The paper's label, or a step of ``docs/sharp_constants.md`` or ``docs/default_proof.md``."""
    check: Callable[[Instances], Iterable[Outcome | Check]]


def on_rounds(
    text: str,
    label: str,
    which: str,
    function: Callable[[State], Check],
    where: Callable[[State], bool] = lambda state: True,
) -> Statement:
    """A statement about one round, checked on every round with these constants that satisfies its condition."""
    return Statement(text, label, lambda of: (function(state) for state in of.states(which) if where(state)))


def several(state: Round) -> bool:
    """A condition: with one clique, some steps say ``0 <= 0`` or nothing."""
    return state.cover.n_cliques > 1
