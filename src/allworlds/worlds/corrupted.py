"""Worlds under attack: an adversary changes the losses within a budget.

The corruption of a run is ``C = sum_t max_i |l_ti - l~_ti|`` [EK21, section 2]. A round may cost 1, so an attack
strikes as long as 1 is left of its budget, and a trace reports what was really spent.
"""

from __future__ import annotations

from dataclasses import dataclass

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


@dataclass(frozen=True)
class Attack:
    """What an attack does: to whom, and when."""

    sentence: str
    """For the report of a race."""
    code: int
    """What the kernel ``tampered`` does to a loss in a struck round."""
    pace: int | None = AT_ONCE
    """See :data:`~allworlds.worlds.losses.AT_ONCE`; None stands for the ``period`` of the call."""
    on_decoy: bool = False
    """Whether the victim is the decoy; otherwise it is the best arm."""
    changes_best: bool = True
    """Whether it can make another arm the best in hindsight."""


ATTACKS: dict[str, Attack] = {
    "flip": Attack("Every loss l of the first rounds becomes 1 - l, until the budget is spent.", FLIP),
    "best-worst": Attack("The best arm loses 1 in every round until the budget is spent.", MAKE_WORST),
    "decoy-best": Attack("A bad arm loses 0 in every round until the budget is spent.", MAKE_BEST, on_decoy=True),
    "spread": Attack("The best arm loses 1 in some rounds, evenly over the whole run.", MAKE_WORST, EVENLY),
    "periodic": Attack(
        "The best arm loses 1 in every second stretch of rounds until the budget is spent.", MAKE_WORST, None
    ),
    "all-worst": Attack(
        "Every arm loses 1 until the budget is spent: it misleads rules that trust averages, because whatever is tried "
        "first afterwards looks far better than all that was seen before.",
        ALL_WORST,
        changes_best=False,
    ),
}
"""The attacks by name."""


def corrupted(
    world: World,
    budget: float,
    attack: str = "best-worst",
    *,
    decoy: int | None = None,
    period: int = 500,
    name: str | None = None,
) -> World:
    """``world`` under an attack of :data:`ATTACKS` that spends at most ``budget``.

    ``flip`` turns all losses round; ``best-worst``, ``spread`` and ``periodic`` make the best arm lose 1: at once,
    evenly over the run, or in every second stretch of ``period`` rounds; ``decoy-best`` makes the arm ``decoy``
    (default: the worst) lose 0; ``all-worst`` makes every arm lose 1.

    >>> from allworlds.worlds import stochastic
    >>> world = corrupted(stochastic([0.25, 0.75]), budget=100, attack="best-worst")
    >>> world.mean(1, 0), world.clean_mean(1, 0)
    (1.0, 0.25)
    """
    if not isinstance(world, World):
        raise InvalidParameter(f"world is a {type(world).__name__}; expected a world, such as stochastic(means)")
    if world.arrays.attack != NO_ATTACK:
        raise InvalidParameter(f"{world.name!r} is corrupted already; expected a clean world")
    if attack not in ATTACKS:
        raise InvalidParameter(f"attack is {attack!r}; expected one of {', '.join(ATTACKS)}")
    budget, period = real("budget", budget, at_least=0), whole("period", period)
    bait = _worst_arm(world) if decoy is None else index("decoy", decoy, world.n_arms)
    how = ATTACKS[attack]
    arrays = change_arrays(
        world.arrays,
        attack=how.code,
        victim=bait if how.on_decoy else world.best_arm,
        pace=period if how.pace is None else how.pace,
    )
    return World(name or f"{world.name}, {attack} {budget:g}", arrays, budget, world.stationary, world.graph)


def _worst_arm(world: World) -> int:
    """The arm with the highest clean mean; where that arm changes, the one after the best."""
    arrays = world.arrays
    if arrays.kind in (STATIONARY, DRIFTING, PHASES):
        return int(arrays.means.argmax())
    if arrays.kind == TABLE:
        return int(arrays.table.sum(axis=0).argmax())
    return (world.best_arm + 1) % world.n_arms
