"""The cells for reporting: some drawn from wide ranges, some named by the goals.

The draw has a fixed seed, and each group its own generator, so that a change in one group leaves the others as they
are. Nobody chose these cells, and no setting may be chosen by them: their seeds start at 5,000.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.random import Generator

import allworlds as aw
from allworlds.worlds import World
from allworlds.worlds.corrupted import ATTACKS
from regret_suite.cells import Cell, Group, in_words, late_switch, one_better, sizes_of

DRAW_SEED = 20_261_117
MOST_PLAYED = 6_000_000
"""Arms times rounds of a drawn cell: Thompson sampling draws a number for every arm in every round."""


def reporting_cells() -> list[Cell]:
    """The drawn cells, then the named ones."""
    return [*drawn_cells(), *named_cells()]


def drawn_cells() -> list[Cell]:
    """Cells from ranges that are wider than those of the tuning cells."""
    cells = []
    for number, group in enumerate(get_args(Group)):
        rng = np.random.default_rng([DRAW_SEED, number])
        count = COUNTS[group]
        spread = (rng.permuted(np.tile(np.arange(count), (2, 1)), axis=1) + rng.random((2, count))) / count
        for index, (first, second) in enumerate(spread.T):
            sizes = _sizes(rng)
            horizon = _horizon(rng, sum(sizes))
            setting = Setting(rng, index, sum(sizes), horizon, float(first), float(second))
            name, world, gap, attack = DRAWS[group](setting)
            title = f"{group} {in_words(sizes)} {name}"
            cells.append(Cell(title, group, sizes, world, horizon, gap, attack, "drawn"))
    return cells


class Setting(NamedTuple):
    """What a world is drawn from."""

    rng: Generator
    number: int
    """Of the cell in its group, from 0."""
    n_arms: int
    horizon: int
    first: float
    second: float
    """Uniform in [0, 1) and spread evenly over the cells of the group, so that eight gaps are not all small."""


Drawn = tuple[str, World, float | None, str | None]
"""What is said of a world, the world, its gap and its attack."""


def _log_between(low: float, high: float, uniform: float) -> float:
    """A number from ``low`` to ``high``, rounded to three digits so that a name can tell it."""
    return float(f"{low * (high / low) ** uniform:.3g}")


def _log_uniform(rng: Generator, low: float, high: float) -> float:
    return _log_between(low, high, rng.random())


def _sizes(rng: Generator) -> tuple[int, ...]:
    """Single arms (2 to 100), equal cliques (up to 30 of up to 100 arms) or uneven ones; at most 500 arms."""
    kind = rng.integers(3)
    if kind == 0:
        return (1,) * round(_log_uniform(rng, 2, 100))
    if kind == 1:
        cliques = round(_log_uniform(rng, 2, 30))
        return (round(_log_uniform(rng, 2, min(100, 500 / cliques))),) * cliques
    return tuple(round(_log_uniform(rng, 1, 60)) for _ in range(rng.integers(2, 9)))


def _horizon(rng: Generator, n_arms: int) -> int:
    return 1000 * round(min(_log_uniform(rng, 10_000, 100_000), max(10_000, MOST_PLAYED / n_arms)) / 1000)


def _means(rng: Generator, n_arms: int, gap: float, kind: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """One best arm anywhere, the others alike, spread above it, or one of them close behind the best."""
    low = round(float(rng.uniform(0.1, 0.9 - gap)), 3)
    means = np.full(n_arms, low + gap)
    if kind == "graded":
        means = rng.uniform(low + gap, 1.0, n_arms)
    best, second = rng.choice(n_arms, 2, replace=False)
    means[best] = low
    means[second] = low + (gap / 8 if kind == "two near-equal best" else gap)
    return means


def _stochastic(s: Setting) -> Drawn:
    rng, n_arms = s.rng, s.n_arms
    gap = _log_between(1 / 50, 1 / 8 if s.number % 4 else 1 / 4, s.first)
    kind = ("one good", "graded", "one good", "two near-equal best")[s.number % 4]
    means = _means(rng, n_arms, gap, kind)
    smallest = float(np.diff(np.sort(means))[0])
    return f"{kind} gap {gap:g}", aw.worlds.stochastic(means), smallest, None


def _large_gaps(s: Setting) -> Drawn:
    rng, n_arms = s.rng, s.n_arms
    gap, kind = _log_between(1 / 4, 1 / 2, s.first), ("one good", "graded")[s.number % 2]
    return f"{kind} gap {gap:g}", aw.worlds.stochastic(_means(rng, n_arms, gap, kind)), gap, None


def _low_variance(s: Setting) -> Drawn:
    rng, n_arms = s.rng, s.n_arms
    gap, best = _log_between(1 / 20, 1 / 5, s.first), int(rng.integers(n_arms))
    noise, width = (
        ("bernoulli", None),
        ("beta", _log_uniform(rng, 10, 100)),
        ("deterministic", None),
        ("gaussian-clipped", _log_uniform(rng, 0.02, 0.15)),
    )[s.number % 4]
    low = _log_uniform(rng, 0.01, 0.1) if noise == "bernoulli" else round(float(rng.uniform(0.1, 0.9 - gap)), 3)
    return f"{noise} {low:g} gap {gap:g}", one_better(n_arms, low, gap, best, noise, width), gap, None


def _high_variance(s: Setting) -> Drawn:
    rng, n_arms = s.rng, s.n_arms
    gap, best = _log_between(1 / 20, 1 / 5, s.first), int(rng.integers(n_arms))
    noise, width = (("beta", _log_uniform(rng, 0.1, 1)), ("gaussian-clipped", _log_uniform(rng, 0.3, 1)))[s.number % 2]
    return f"{noise} gap {gap:g}", one_better(n_arms, 0.5 - gap / 2, gap, best, noise, width), gap, None


def _adversary(s: Setting) -> Drawn:
    rng, n_arms = s.rng, s.n_arms
    gap, growth = _log_between(1 / 40, 1 / 2, s.first), _log_between(1.1, 6, s.second)
    best = int(rng.integers(n_arms))
    world = aw.worlds.constrained_adversary(n_arms, best, gap, growth)
    return f"gap {gap:g} growth {growth:g}", world, gap, None


def _corruption(s: Setting) -> Drawn:
    rng, n_arms = s.rng, s.n_arms
    attack, gap = [*ATTACKS][s.number % len(ATTACKS)], _log_between(1 / 16, 1 / 3, s.first)
    budget = round(s.horizon * _log_between(0.005, 0.15, s.second))
    best, decoy = (int(arm) for arm in rng.choice(n_arms, 2, replace=False))
    clean = aw.worlds.one_good_arm(n_arms, gap, best)
    period = round(_log_uniform(rng, 20, 2000))
    world = aw.worlds.corrupted(clean, budget, attack, decoy=decoy, period=period)
    return f"{attack} {budget} gap {gap:g}", world, gap, attack


def _lock_in(s: Setting) -> Drawn:
    rng, n_arms = s.rng, s.n_arms
    quiet, trap = round(0.1 + 0.5 * s.first, 3), _log_between(0.005, 0.15, s.second)
    world = aw.worlds.lock_in(
        n_arms,
        int(rng.integers(n_arms)),
        quiet,
        trap,
        quiet_level=round(float(rng.uniform(0.02, 0.95)), 3),
        trap_levels=(round(float(rng.uniform(0.7, 1.0)), 3), round(float(rng.uniform(0.0, 0.5)), 3)),
        end_levels=(round(float(rng.uniform(0.0, 0.2)), 3), round(float(rng.uniform(0.5, 1.0)), 3)),
        constant=[bool(flag) for flag in rng.integers(0, 2, 3)],
    )
    return f"quiet {quiet:g} trap {trap:g}", world, None, None


def _moving(s: Setting) -> Drawn:
    rng, n_arms = s.rng, s.n_arms
    gap = _log_between(1 / 10, 1 / 2, s.first)
    if s.number % 3 == 0:
        growth = _log_uniform(rng, 1.2, 4)
        leaders = rng.permutation(n_arms)[: int(rng.integers(2, 6))].tolist()
        world = aw.worlds.switching(n_arms, gap, growth=growth, leaders=leaders)
        return f"switching gap {gap:g} growth {growth:g}", world, None, None
    if s.number % 3 == 1:
        period, amplitude = round(s.horizon * _log_uniform(rng, 0.1, 2)), _log_uniform(rng, 0.05, 0.3)
        world = aw.worlds.drifting(rng.uniform(0.4, 0.6, n_arms).round(3), amplitude, period)
        return f"drifting by {amplitude:g} period {period}", world, None, None
    share, (first, second) = round(0.3 + 0.65 * s.second, 3), rng.choice(n_arms, 2, replace=False)
    world = late_switch(n_arms, int(first), int(second), share, gap)
    return f"switch at {share:g} gap {gap:g}", world, None, None


COUNTS: dict[Group, int] = {
    "stochastic": 16,
    "large gaps": 8,
    "low variance": 8,
    "high variance": 4,
    "adversary": 8,
    "corruption": 2 * len(ATTACKS),
    "lock-in": 4,
    "moving": 6,
}
DRAWS = {
    "stochastic": _stochastic,
    "large gaps": _large_gaps,
    "low variance": _low_variance,
    "high variance": _high_variance,
    "adversary": _adversary,
    "corruption": _corruption,
    "lock-in": _lock_in,
    "moving": _moving,
}


def named_cells() -> list[Cell]:
    """The cells that the goals name: 10x10 and its neighbours, each attack with both budgets, the first lock-in."""
    cells = []
    stochastic: Group = "stochastic"
    large: Group = "large gaps"
    for group, text, gap, horizon in (
        (stochastic, "10x10", 1 / 8, 100_000),
        (stochastic, "10x10", 1 / 16, 100_000),
        (stochastic, "10x1", 1 / 8, 30_000),
        (stochastic, "10x1", 1 / 16, 30_000),
        (stochastic, "2x5", 1 / 8, 30_000),
        (stochastic, "2x5", 1 / 16, 30_000),
        (large, "10x10", 1 / 4, 30_000),
        (large, "10x1", 1 / 4, 30_000),
        (large, "2x5", 1 / 4, 30_000),
        (large, "4x8", 0.4, 30_000),
    ):
        world = aw.worlds.one_good_arm(sum(sizes_of(text)), gap, sum(sizes_of(text)) // 2)
        cells.append(_named(f"{group} {text} gap {gap:g}", group, text, world, horizon, gap))
    for text in ("10x1", "2x5"):
        world = one_better(10, 0.05, 0.125, 5)
        cells.append(_named(f"low variance {text} 0.05", "low variance", text, world, 30_000, 0.125))
    for text, horizon in (("10x10", 100_000), ("10x1", 30_000), ("2x5", 30_000)):
        n_arms = sum(sizes_of(text))
        world = aw.worlds.constrained_adversary(n_arms, n_arms // 2, 1 / 8)
        cells.append(_named(f"adversary {text} gap 0.125", "adversary", text, world, horizon, 1 / 8))
    for attack in ATTACKS:
        for budget in (1000, 5000):
            world = aw.worlds.corrupted(aw.worlds.one_good_arm(100, 1 / 8, 50), budget, attack)
            name = f"corruption 10x10 {attack} {budget}"
            cells.append(_named(name, "corruption", "10x10", world, 50_000, 1 / 8, attack))
    cells.append(_named("lock-in 2x1", "lock-in", "2x1", aw.worlds.lock_in(2, 0), 100_000))
    return cells


def _named(
    name: str,
    group: Group,
    text: str,
    world: World,
    horizon: int,
    gap: float | None = None,
    attack: str | None = None,
    purpose: Literal["named"] = "named",
) -> Cell:
    return Cell(name, group, sizes_of(text), world, horizon, gap, attack, purpose)
