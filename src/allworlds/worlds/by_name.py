"""Worlds by name: ``make_world("stochastic:gap=0.125", n_arms=100)``.

Where one arm is better than the others and the spec does not say which, it is the one in the middle. Rules that break
ties towards low numbers would otherwise be favoured.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from allworlds.errors import InvalidParameter
from allworlds.specs import Kind, Recipe, Spec, build, nearest, parse_spec
from allworlds.worlds.adversarial import constrained_adversary, drifting, random_sequence, switching
from allworlds.worlds.base import World
from allworlds.worlds.corrupted import corrupted
from allworlds.worlds.recorded import recorded
from allworlds.worlds.stochastic import one_good_arm, stochastic

Kinds = dict[str, Kind]


def make_world(spec: str, n_arms: int) -> World:
    """The world that a spec names, for ``n_arms`` arms; see :mod:`allworlds.specs` for the grammar.

    >>> make_world("stochastic:gap=0.25", 4).means.tolist()
    [0.625, 0.625, 0.375, 0.625]
    >>> make_world("corrupted:attack=flip,budget=10,gap=0.25", 4).budget
    10.0
    """
    parsed = parse_spec(spec)
    world = _corrupted(parsed, n_arms) if parsed.name == "corrupted" else build(parsed, WORLDS, "world", n_arms=n_arms)
    if world.n_arms != n_arms:
        raise InvalidParameter(f"'{spec}' has {world.n_arms} arms, but the graph has {n_arms}; they must agree")
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


def _recorded(n_arms: int, path: str) -> World:
    return recorded(path)


def _not_alone(n_arms: int, **options: Any) -> World:
    raise InvalidParameter("corrupted worlds are made by make_world")


def _corrupted(spec: Spec, n_arms: int) -> World:
    """The options of the attack are taken out; the others make the world that is attacked."""
    attack: Kinds = {"attack": "word", "budget": "number", "decoy": "integer", "period": "integer", "world": "word"}
    inner = {key: value for key, value in spec.options.items() if key not in attack}
    outer = {key: value for key, value in spec.options.items() if key in attack}
    base = str(outer.pop("world", "stochastic"))
    nearest(base, [name for name in WORLDS if name not in ("corrupted", "recorded")], "world to corrupt")
    for key in inner:
        nearest(key, [*WORLDS[base].takes, *attack], "option of corrupted:")
    example = WORLDS["corrupted"].example

    def tamper(budget: float, attack: Any = "best-worst", **options: Any) -> World:
        clean = build(Spec(base, (), inner), WORLDS, "world", n_arms=n_arms)
        return corrupted(clean, budget, attack, **options)

    recipe = Recipe("corrupted", tamper, "", example, {k: v for k, v in attack.items() if k != "world"}, ("budget",))
    return build(Spec("corrupted", spec.positional, outer), {"corrupted": recipe}, "world")


def _middle(n_arms: int, best: int | None) -> int:
    return n_arms // 2 if best is None else best


WORLDS: dict[str, Recipe[World]] = {
    recipe.name: recipe
    for recipe in (
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
            _not_alone,
            "another world, with losses changed within a budget",
            "corrupted:attack=best-worst,budget=1000,gap=0.125",
            {"attack": "word", "budget": "number", "decoy": "integer", "period": "integer", "world": "word"},
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
            "recorded",
            _recorded,
            "your own losses, a row a round, from a .csv or .parquet file",
            "recorded:losses.csv",
            {"path": "path"},
            ("path",),
        ),
    )
}
"""The worlds by name, in the order in which they are listed."""
