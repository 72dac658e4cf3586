"""Worlds by name: ``make_world("stochastic:gap=0.125", n_arms=100)``.

Where one arm is better than the others and the spec does not say which, it is the one in the middle. Rules that break
ties towards low numbers would otherwise be favoured.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from allworlds.foundation.errors import InvalidParameter
from allworlds.foundation.specs import Recipe, Registry, Spec, check_known
from allworlds.worlds.adversarial import constrained_adversary, drifting, random_sequence, switching
from allworlds.worlds.base import World
from allworlds.worlds.corrupted import corrupted
from allworlds.worlds.misleading import misleading_graph
from allworlds.worlds.phases import lock_in, phases
from allworlds.worlds.recorded import recorded
from allworlds.worlds.stochastic import one_good_arm, stochastic


def make_world(spec: str | Spec, n_arms: int) -> World:
    """The world that a spec names, for ``n_arms`` arms; see :mod:`allworlds.foundation.specs` for the grammar.

    >>> make_world("stochastic:gap=0.25", 4).means.tolist()
    [0.625, 0.625, 0.375, 0.625]
    >>> make_world("corrupted:attack=flip,budget=10,gap=0.25", 4).budget
    10.0
    """
    world: World = WORLDS.build(spec, n_arms=n_arms)
    if world.n_arms != n_arms:
        raise InvalidParameter(f"'{spec}' has {world.n_arms} arms; expected {n_arms}, as many as the graph has")
    return world


def _stochastic(
    n_arms: int,
    gap: float = 0.125,
    best: int | None = None,
    centre: float = 0.5,
    means: list[float] | None = None,
    noise: Any = "bernoulli",
    width: float | None = None,
) -> World:
    if means is None:
        world = one_good_arm(n_arms, gap, _middle(n_arms, best), centre=centre)
        assert world.means is not None
        means = world.means.tolist()
    return stochastic(means, noise, width=width)


def _constrained(n_arms: int, gap: float = 0.125, growth: float = 1.6, best: int | None = None) -> World:
    return constrained_adversary(n_arms, _middle(n_arms, best), gap, growth)


def _switching(n_arms: int, gap: float = 0.25, **options: Any) -> World:
    return switching(n_arms, gap, **options)


def _drifting(n_arms: int, means: list[float] | None = None, **options: Any) -> World:
    return drifting(np.full(n_arms, 0.5) if means is None else means, **options)


def _phases(n_arms: int, lengths: list[float], levels: list[float], constant: list[int] | None = None) -> World:
    """Levels and flags come phase after phase, and in each either for every arm or one number for all arms."""
    return phases(
        _by_phase("levels", levels, len(lengths), n_arms),
        lengths,
        None if constant is None else _by_phase("constant", constant, len(lengths), n_arms),
    )


def _by_phase(name: str, values: list[Any], n_phases: int, n_arms: int) -> NDArray[Any]:
    if len(values) not in (n_phases, n_phases * n_arms):
        raise InvalidParameter(
            f"{name} are {len(values)} numbers for {n_phases} phases and {n_arms} arms; expected {n_phases * n_arms}, "
            f"phase after phase, or {n_phases}, the same for all arms"
        )
    return np.broadcast_to(np.reshape(values, (n_phases, -1)), (n_phases, n_arms))


def _lock_in(n_arms: int, constant: list[int] | None = None, **options: Any) -> World:
    if constant is None:
        return lock_in(n_arms, **options)
    return lock_in(n_arms, constant=constant, **options)  # type: ignore[arg-type]  # 0 and 1 are checked there


def _misleading(n_arms: int, gap: float = 0.05, best: int | None = None) -> World:
    return misleading_graph(n_arms, gap, best)


def _recorded(n_arms: int, path: str) -> World:
    return recorded(path)


def _corrupted(
    n_arms: int, budget: float, attack: str = "best-worst", world: str = "stochastic", **options: Any
) -> World:
    """The options of the attack stay here; the others make the world that is attacked."""
    check_known(world, [name for name in WORLDS if name not in ("corrupted", "recorded")], "world to corrupt")
    for key in options.keys() - {"decoy", "period"}:
        check_known(key, [*WORLDS[world].takes, *WORLDS["corrupted"].takes], "option of corrupted:")
    mine = {key: options.pop(key) for key in ("decoy", "period") if key in options}
    clean: World = WORLDS.build(Spec(world, (), options), n_arms=n_arms)
    return corrupted(clean, budget, attack, **mine)


def _middle(n_arms: int, best: int | None) -> int:
    return n_arms // 2 if best is None else best


WORLDS = Registry(
    "world",
    Recipe(
        "stochastic",
        _stochastic,
        "losses drawn around means that never change",
        "stochastic:gap=0.125",
        {
            "gap": "number",
            "best": "integer",
            "centre": "number",
            "means": "numbers",
            "noise": "word",
            "width": "number",
        },
    ),
    Recipe(
        "constrained-adversary",
        _constrained,
        "one arm stays better by the gap while all means jump together",
        "constrained-adversary:gap=0.125,growth=1.6",
        {"gap": "number", "growth": "number", "best": "integer"},
    ),
    Recipe(
        "corrupted",
        _corrupted,
        "another world, with losses changed within a budget",
        "corrupted:attack=best-worst,budget=1000,gap=0.125",
        {"attack": "word", "budget": "number", "decoy": "integer", "period": "integer", "world": "word"},
        ("budget",),
        open=True,
    ),
    Recipe(
        "switching",
        _switching,
        "the best arm changes, in phases that grow or are given",
        "switching:gap=0.25,phases=1000/1000",
        {"gap": "number", "growth": "number", "phases": "integers", "leaders": "integers", "centre": "number"},
    ),
    Recipe(
        "drifting",
        _drifting,
        "means that swing, each arm at its own point of the cycle",
        "drifting:amplitude=0.2,period=10000",
        {"amplitude": "number", "period": "number", "means": "numbers"},
    ),
    Recipe(
        "random",
        random_sequence,
        "in each block every arm loses an amount drawn anew",
        "random:block=100",
        {"block": "integer"},
    ),
    Recipe(
        "lock-in",
        _lock_in,
        "the arm that will be best is made worst for a while, after a long quiet phase",
        "lock-in:quiet=0.43,trap=0.087",
        {
            "quiet": "number",
            "trap": "number",
            "best": "integer",
            "quiet_level": "number",
            "trap_levels": "numbers",
            "end_levels": "numbers",
            "constant": "integers",
        },
    ),
    Recipe(
        "phases",
        _phases,
        "means that change between phases, whose lengths are shares of the horizon",
        "phases:lengths=0.5/0.5,levels=0.1/0.9",
        {"lengths": "numbers", "levels": "numbers", "constant": "integers"},
        ("lengths", "levels"),
    ),
    Recipe(
        "misleading-graph",
        _misleading,
        "the graph shows the best arm more often when it loses; only on the graph misleading-edges",
        "misleading-graph:gap=0.05",
        {"gap": "number", "best": "integer"},
    ),
    Recipe(
        "recorded",
        _recorded,
        "your own losses, a row a round, from a .csv or .parquet file",
        "recorded:losses.csv",
        {"path": "path"},
        ("path",),
    ),
)
"""The worlds by name, in the order in which they are listed."""
