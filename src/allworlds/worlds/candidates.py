"""Who can be the best fixed arm in hindsight: few arms, where it can be known beforehand.

Regret compares with the best fixed arm up to each round, and its total must be kept from the first round on. Keeping
all totals costs a draw for every arm in every round. Where means keep their order, a few arms are enough.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from allworlds.worlds.nature import ALTERNATING, FLIP, NO_ATTACK, PHASES, STATIONARY, SWITCHING, WorldArrays, phase_of


def candidates_of(nature: WorldArrays, horizon: int) -> NDArray[np.int64]:
    """Arms, sorted, with the lowest total mean after every round up to ``horizon``: as played, and clean.

    A flip makes totals linear in the mean, so that only the ends count; the other attacks change one arm, or all
    alike, so that the victim and the best of the rest count. With phases, one arm stands for all that have its means
    in every phase. Drifting, random and recorded worlds need all arms.

    >>> from allworlds.worlds import corrupted, stochastic
    >>> world = stochastic([0.5, 0.25, 0.75, 0.5])
    >>> candidates_of(world.nature, 100), candidates_of(corrupted(world, 10, "best-worst").nature, 100)
    (array([1]), array([0, 1]))
    """
    attacked = nature.attack != NO_ATTACK
    victim = nature.victim if attacked else nature.best
    if nature.kind == STATIONARY:
        arms = [nature.best, victim, _best_of_rest(nature, victim) if attacked else victim]
    elif nature.kind == ALTERNATING:
        arms = [nature.best, victim, _first_beside(nature, [nature.best]) if attacked else victim]
    elif nature.kind == SWITCHING:
        led = np.unique(nature.leaders[: phase_of(nature.turns, horizon) + 1]).tolist()
        arms = [*led, *([victim, _first_beside(nature, led)] if attacked else [])]
    elif nature.kind == PHASES:
        is_victim = np.arange(nature.centres.size) == (victim if attacked else -1)
        arms = np.unique(np.vstack([nature.table, is_victim]), axis=1, return_index=True)[1].tolist()
    else:
        return np.arange(nature.centres.size)
    return np.unique(np.array(arms, dtype=np.int64))


def _best_of_rest(nature: WorldArrays, victim: int) -> int:
    """The arm that wins if the victim does not; under a flip, the one that was worst."""
    if nature.attack == FLIP:
        return int(nature.means.argmax())
    others = nature.means.copy()
    others[victim] = np.inf
    return int(others.argmin())


def _first_beside(nature: WorldArrays, arms: list[int]) -> int:
    """The first arm that is none of these; the first of them if there is none."""
    taken = set(arms)
    return next((arm for arm in range(nature.centres.size) if arm not in taken), arms[0])
