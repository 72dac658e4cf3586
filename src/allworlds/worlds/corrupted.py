"""Friendly worlds, tampered with: an adversary may change the losses within a budget.

The corruption of a run is ``C = sum_t max_i |l_ti - l~_ti|`` [EK21, section 2]. An attack stops before it would
exceed its budget, and a trace reports what it really spent.
"""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np

from allworlds.errors import InvalidParameter
from allworlds.worlds.base import World, change_nature
from allworlds.worlds.nature import ALTERNATING, BEST_WORST, DECOY_BEST, FLIP, NO_ATTACK, STATIONARY, SWITCHING
from allworlds.worlds.stochastic import check_arm

Attack = Literal["flip", "best-worst", "decoy-best", "spread", "periodic"]
SPREAD_LATER = 0
"""The spacing of a spread attack is chosen when the horizon is known."""


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

    >>> from allworlds.worlds import stochastic
    >>> world = corrupted(stochastic([0.25, 0.75]), budget=100, attack="best-worst")
    >>> world.mean(1, 0), world.clean_mean(1, 0)
    (1.0, 0.25)
    """
    if not isinstance(world, World) or world.nature.attack != NO_ATTACK:
        raise InvalidParameter("a world that is not yet corrupted was expected, such as stochastic(means)")
    if isinstance(budget, bool) or not 0.0 <= budget < math.inf:
        raise InvalidParameter(f"budget is {budget!r}; expected a finite number of at least 0")
    if attack not in get_args(Attack):
        raise InvalidParameter(f"attack is {attack!r}; expected one of {get_args(Attack)}")
    if isinstance(period, bool) or not isinstance(period, int) or period < 1:
        raise InvalidParameter(f"period is {period!r}; expected a number of rounds, at least 1")
    bait = _worst_arm(world) if decoy is None else check_arm(world.n_arms, decoy)[1]
    kind = {"flip": FLIP, "decoy-best": DECOY_BEST}.get(attack, BEST_WORST)
    every = {"spread": SPREAD_LATER, "periodic": -period}.get(attack, 1)
    nature = change_nature(
        world.nature, attack=kind, decoy=bait, every=every, candidates=_candidates(world, bait), until=0
    )
    return World(name or f"{world.name}, {attack} {budget:g}", nature, float(budget), world.stationary)


def _worst_arm(world: World) -> int:
    if world.stationary:
        return int(world.nature.means.argmax())
    return (world.best_arm + 1) % world.n_arms


def _candidates(world: World, bait: int) -> np.ndarray:  # type: ignore[type-arg]
    """Who can be the best fixed arm: with means that keep their order, only few arms.

    Totals are then linear in the mean for a flip, and changed for one arm by the other attacks: the two best, the
    worst and the decoy are enough.
    """
    nature = world.nature
    if nature.kind == STATIONARY:
        order = np.argsort(nature.means, kind="stable")
        return np.unique(np.concatenate([order[:2], order[-1:], [bait]])).astype(np.int64)
    if nature.kind == ALTERNATING:
        other = (world.best_arm + 1) % world.n_arms
        return np.unique(np.array([world.best_arm, other, bait], dtype=np.int64))
    if nature.kind == SWITCHING:
        idle = np.setdiff1d(np.arange(world.n_arms), nature.leaders)[:1]
        return np.unique(np.concatenate([nature.leaders, idle, [bait]])).astype(np.int64)
    return np.arange(world.n_arms)
