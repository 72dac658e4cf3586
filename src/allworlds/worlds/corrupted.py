"""Friendly worlds, tampered with: an adversary may change the losses within a budget.

The corruption of a run is ``C = sum_t max_i |l_ti - l~_ti|`` [EK21, section 2]. A round may cost 1, so an attack
strikes as long as 1 is left of its budget, and a trace reports what it really spent.
"""

from __future__ import annotations

from typing import Literal, get_args

from allworlds.foundation.checks import index, real, whole
from allworlds.foundation.errors import InvalidParameter
from allworlds.worlds.base import World, change_arrays
from allworlds.worlds.losses import (
    ALL_WORST,
    AT_ONCE,
    DRIFTING,
    EVENLY,
    FLIP,
    MAKE_BEST,
    MAKE_WORST,
    NO_ATTACK,
    PHASES,
    STATIONARY,
    TABLE,
)

Attack = Literal["flip", "best-worst", "decoy-best", "spread", "periodic", "all-worst"]


def corrupted(
    world: World,
    budget: float,
    attack: Attack = "best-worst",
    *,
    decoy: int | None = None,
    period: int = 500,
    name: str | None = None,
) -> World:
    """``world`` under an attack that spends at most ``budget``.

    - ``flip``: all losses of the first rounds become ``1 - l``.
    - ``best-worst``: the best arm loses 1 until the budget is spent.
    - ``decoy-best``: the arm ``decoy`` (default: the worst) loses 0 until the budget is spent.
    - ``spread``: ``best-worst``, but evenly over the whole run.
    - ``periodic``: ``best-worst`` in every second stretch of ``period`` rounds.
    - ``all-worst``: every arm loses 1 until the budget is spent. It takes no side, and is aimed at rules that trust
      averages: afterwards whatever is tried first looks far better than all that was seen before.

    >>> from allworlds.worlds import stochastic
    >>> world = corrupted(stochastic([0.25, 0.75]), budget=100, attack="best-worst")
    >>> world.mean(1, 0), world.clean_mean(1, 0)
    (1.0, 0.25)
    """
    if not isinstance(world, World):
        raise InvalidParameter(f"world is a {type(world).__name__}; expected a world, such as stochastic(means)")
    if world.arrays.attack != NO_ATTACK:
        raise InvalidParameter(f"{world.name!r} is corrupted already; expected a clean world")
    if attack not in get_args(Attack):
        raise InvalidParameter(f"attack is {attack!r}; expected one of {', '.join(get_args(Attack))}")
    budget, period = real("budget", budget, at_least=0), whole("period", period)
    bait = _worst_arm(world) if decoy is None else index("decoy", decoy, world.n_arms)
    arrays = change_arrays(
        world.arrays,
        attack={"flip": FLIP, "decoy-best": MAKE_BEST, "all-worst": ALL_WORST}.get(attack, MAKE_WORST),
        victim=bait if attack == "decoy-best" else world.best_arm,
        pace={"spread": EVENLY, "periodic": period}.get(attack, AT_ONCE),
    )
    return World(name or f"{world.name}, {attack} {budget:g}", arrays, budget, world.stationary)


def _worst_arm(world: World) -> int:
    """The arm with the highest clean mean; where that changes, one beside the best."""
    arrays = world.arrays
    if arrays.kind in (STATIONARY, DRIFTING, PHASES):
        return int(arrays.means.argmax())
    if arrays.kind == TABLE:
        return int(arrays.table.sum(axis=0).argmax())
    return (world.best_arm + 1) % world.n_arms
