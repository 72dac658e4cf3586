"""Hostile worlds: the means of the losses change over time, in a way that is fixed before the first round."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from allworlds.foundation.checks import index, real, whole
from allworlds.foundation.errors import InvalidParameter
from allworlds.worlds.base import World, make_arrays
from allworlds.worlds.losses import ALTERNATING, BERNOULLI, DETERMINISTIC, DRIFTING, RANDOM, SWITCHING
from allworlds.worlds.recorded import recorded
from allworlds.worlds.stochastic import as_means, levels_around

FAR = 2**62
"""A round that no run reaches."""
MOST_PHASES = 100_000
"""At most so many phases, of which the last has no end. It begins after 5e9 rounds or more, as phases keep growing."""


def adversarial(kind: str = "switching", *arguments: Any, **options: Any) -> World:
    """A hostile world by name: ``switching``, ``drifting``, ``random`` or ``table``, with that function's arguments.

    >>> adversarial("switching", 4, gap=0.25).name
    'switching'
    """
    kinds: dict[str, Callable[..., World]] = {
        "switching": switching,
        "drifting": drifting,
        "random": random_sequence,
        "table": loss_table,
    }
    if kind not in kinds:
        raise InvalidParameter(f"kind is {kind!r}; expected one of {', '.join(kinds)}")
    try:
        inspect.signature(kinds[kind]).bind(*arguments, **options)
    except TypeError as error:
        raise InvalidParameter(f"the {kind} world does not take these arguments: {error}") from None
    return kinds[kind](*arguments, **options)


def constrained_adversary(
    n_arms: int, best_arm: int = 0, gap: float = 0.125, growth: float = 1.6, *, name: str = "constrained adversary"
) -> World:
    """Zimmert and Seldin's stochastically constrained adversary.

    The best arm is always better by ``gap``, but all means move: those of (best, others) alternate between
    (0, gap) and (1 - gap, 1), and each phase is ``growth`` times as long as the one before. Index rules, which
    trust old means, confuse the two.

    >>> world = constrained_adversary(10, gap=0.125)
    >>> world.mean(1, 0), world.mean(1, 5), world.mean(2, 0)
    (0.0, 0.125, 0.875)
    """
    n_arms = whole("n_arms", n_arms)
    arrays = make_arrays(
        n_arms,
        kind=ALTERNATING,
        noise=BERNOULLI,
        levels=[real("gap", gap, above=0, at_most=1), 0.0],
        turns=growing_turns(growth),
        best=index("best_arm", best_arm, n_arms),
    )
    return World(name, arrays)


def switching(
    n_arms: int,
    gap: float = 0.25,
    *,
    phases: Sequence[int] | None = None,
    growth: float = 1.6,
    leaders: Sequence[int] | None = None,
    centre: float = 0.5,
    name: str = "switching",
) -> World:
    """The best arm changes: the leader of a phase has the mean ``centre - gap/2``, the others ``centre + gap/2``.

    ``phases`` are their lengths, and the last phase has no end; without them each is ``growth`` times as long as
    the one before. ``leaders`` are the best arms of the phases in turn, repeated (default: all arms, from 0).

    >>> world = switching(4, phases=[10, 10])
    >>> [world.mean(t, 1) for t in (10, 11)]
    [0.625, 0.375]
    """
    n_arms = whole("n_arms", n_arms)
    levels = levels_around(centre, gap)
    turns = growing_turns(growth) if phases is None else _given_turns(phases)
    cycle = np.arange(n_arms) if leaders is None else np.array([index("a leader", arm, n_arms) for arm in leaders])
    if not cycle.size:
        raise InvalidParameter("leaders are empty; expected at least one arm")
    order = cycle[np.arange(turns.size) % cycle.size]
    arrays = make_arrays(
        n_arms, kind=SWITCHING, noise=BERNOULLI, levels=levels, turns=turns, leaders=order, best=order[0]
    )
    return World(name, arrays)


def drifting(means: ArrayLike, amplitude: float = 0.2, period: float = 10_000.0, *, name: str = "drifting") -> World:
    """Means that swing by ``amplitude`` around ``means``, each arm at its own point of the cycle of ``period`` rounds.

    >>> world = drifting([0.5, 0.5], amplitude=0.25, period=4)
    >>> round(world.mean(1, 0), 3), round(world.mean(1, 1), 3)
    (0.75, 0.25)
    """
    centres = as_means(means)
    arrays = make_arrays(
        centres.size,
        kind=DRIFTING,
        noise=BERNOULLI,
        means=centres,
        levels=[real("amplitude", amplitude, at_least=0, at_most=1), real("period", period, at_least=1)],
        best=centres.argmin(),
    )
    return World(name, arrays)


def random_sequence(n_arms: int, block: int = 100, *, name: str = "random sequence") -> World:
    """A random oblivious sequence: each arm's loss is drawn from [0, 1] for a block of rounds, then drawn again.

    >>> world = random_sequence(3, block=10)
    >>> world.loss(1, 11, 0) == world.loss(1, 20, 0) != world.loss(1, 21, 0)
    True
    """
    n_arms = whole("n_arms", n_arms)
    arrays = make_arrays(n_arms, kind=RANDOM, noise=DETERMINISTIC, levels=[whole("block", block), 0.0])
    return World(name, arrays)


def loss_table(table: ArrayLike, *, name: str = "loss table") -> World:
    """A fixed table of losses, shape (T, N): the most general oblivious adversary."""
    return recorded(table, name=name)


def growing_turns(growth: float) -> NDArray[np.int64]:
    """First rounds of phases each ``growth`` times as long as the one before, rounded up: 1, 2, 4, 7, 12, … for 1.6.

    >>> growing_turns(1.6)[:6].tolist()
    [1, 2, 4, 8, 15, 27]
    """
    growth = real("growth", growth, above=1)
    turns, length = [1], 1
    while len(turns) < MOST_PHASES and turns[-1] + length < FAR:
        turns.append(turns[-1] + length)
        length = math.ceil(min(length * growth, FAR))
    return np.array(turns, dtype=np.int64)


def _given_turns(phases: Sequence[int]) -> NDArray[np.int64]:
    """First rounds of phases of these lengths; the last length does not matter, as that phase has no end."""
    lengths = np.asarray(phases)
    if lengths.ndim != 1 or lengths.size == 0 or lengths.dtype.kind not in "iu" or lengths.min() < 1:
        raise InvalidParameter(f"phases are {phases!r}; expected lengths of at least one round")
    return np.concatenate([[1], 1 + np.cumsum(lengths[:-1])]).astype(np.int64)
