"""Hostile worlds: losses that no fixed distribution makes, all laid out before the first round."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from allworlds.errors import InvalidParameter
from allworlds.worlds.base import World, make_nature
from allworlds.worlds.nature import ALTERNATING, BERNOULLI, DETERMINISTIC, DRIFTING, RANDOM, SWITCHING
from allworlds.worlds.recorded import recorded
from allworlds.worlds.stochastic import check_arm, check_gap

FAR = 2**62
"""No run is longer."""


def adversarial(kind: str = "switching", *arguments: Any, **options: Any) -> World:
    """A hostile world by name: ``switching``, ``drifting``, ``random`` or ``table``, with that function's arguments.

    >>> adversarial("switching", 4, gap=0.25).name
    'switching'
    """
    kinds = {"switching": switching, "drifting": drifting, "random": random_sequence, "table": loss_table}
    if kind not in kinds:
        raise InvalidParameter(f"kind is {kind!r}; expected one of {', '.join(kinds)}")
    make: Callable[..., World] = kinds[kind]
    return make(*arguments, **options)


def constrained_adversary(
    n_arms: int, best_arm: int = 0, gap: float = 0.125, growth: float = 1.6, *, name: str = "constrained adversary"
) -> World:
    """Zimmert and Seldin's stochastically constrained adversary.

    The best arm is always better by ``gap``, but the ground moves: the means of (best, others) alternate between
    (0, gap) and (1 - gap, 1), and each phase is ``growth`` times as long as the one before. Index rules, which
    trust old means, mix the two grounds up.

    >>> world = constrained_adversary(10, gap=0.125)
    >>> world.mean(1, 0), world.mean(1, 5), world.mean(2, 0)
    (0.0, 0.125, 0.875)
    """
    n_arms, best_arm = check_arm(n_arms, best_arm)
    check_gap(gap)
    nature = make_nature(
        n_arms,
        kind=ALTERNATING,
        noise=BERNOULLI,
        levels=np.array([gap, 0.0, 0.0, 0.0, 0.0]),
        turns=growing_turns(growth),
        best=best_arm,
        candidates=np.array([best_arm], dtype=np.int64),
    )
    return World(name, nature)


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
    """The best arm changes: with means ``centre - gap/2`` for the leader of the phase and ``+ gap/2`` for the others.

    ``phases`` are their lengths, the last one going on for ever; without them each is ``growth`` times as long as
    the one before. ``leaders`` are the best arms of the phases in turn (default: 0, 1, 2, …, and round again).

    >>> world = switching(4, phases=[10, 10])
    >>> [world.mean(t, 1) for t in (10, 11)]
    [0.625, 0.375]
    """
    n_arms, _ = check_arm(n_arms, 0)
    check_gap(gap)
    turns = growing_turns(growth) if phases is None else _given_turns(phases)
    cycle = list(range(n_arms)) if leaders is None else [check_arm(n_arms, arm)[1] for arm in leaders]
    if not cycle:
        raise InvalidParameter("leaders are empty; expected at least one arm")
    order = np.array([cycle[k % len(cycle)] for k in range(turns.size)], dtype=np.int64)
    candidates = np.unique(order)
    nature = make_nature(
        n_arms,
        kind=SWITCHING,
        noise=BERNOULLI,
        levels=np.array([centre - gap / 2.0, centre + gap / 2.0, 0.0, 0.0, 0.0]),
        turns=turns,
        leaders=order,
        best=int(order[0]),
        candidates=candidates,
    )
    return World(name, nature)


def drifting(
    means: ArrayLike, amplitude: float = 0.2, period: float = 10_000.0, *, name: str = "drifting"
) -> World:
    """Means that swing by ``amplitude`` around ``means``, each arm at its own point of the cycle of ``period`` rounds.

    >>> world = drifting([0.5, 0.5], amplitude=0.25, period=4)
    >>> round(world.mean(1, 0), 3), round(world.mean(1, 1), 3)
    (0.75, 0.25)
    """
    centres = np.array(means, dtype=np.float64)
    if centres.ndim != 1 or centres.size == 0 or not np.all((centres >= 0.0) & (centres <= 1.0)):
        raise InvalidParameter("means must be one number from 0 to 1 for each arm, shape (N,)")
    if not 0.0 <= amplitude <= 1.0 or not period >= 1.0:
        raise InvalidParameter(
            f"amplitude is {amplitude!r} and period {period!r}; expected 0 to 1, and at least 1 round"
        )
    nature = make_nature(
        centres.size,
        kind=DRIFTING,
        noise=BERNOULLI,
        centres=centres,
        levels=np.array([amplitude, period, 0.0, 0.0, 0.0]),
        best=int(centres.argmin()),
        candidates=np.arange(centres.size),
    )
    return World(name, nature)


def random_sequence(n_arms: int, block: int = 100, *, name: str = "random sequence") -> World:
    """A random oblivious sequence: in each block of rounds every arm loses an amount drawn anew from [0, 1].

    >>> world = random_sequence(3, block=10)
    >>> world.loss(1, 20, 0) == world.loss(1, 29, 0) != world.loss(1, 30, 0)
    True
    """
    n_arms, _ = check_arm(n_arms, 0)
    if isinstance(block, bool) or not isinstance(block, int) or block < 1:
        raise InvalidParameter(f"block is {block!r}; expected a number of rounds, at least 1")
    nature = make_nature(
        n_arms,
        kind=RANDOM,
        noise=DETERMINISTIC,
        levels=np.array([float(block), 0.0, 0.0, 0.0, 0.0]),
        candidates=np.arange(n_arms),
    )
    return World(name, nature)


def loss_table(table: ArrayLike, *, name: str = "loss table") -> World:
    """A fixed table of losses, shape (T, N): the oblivious adversary in full generality."""
    return recorded(table, name=name)


def growing_turns(growth: float) -> NDArray[np.int64]:
    """First rounds of phases of length 1, ``growth``, ``growth^2``, … each rounded up.

    >>> growing_turns(1.6)[:5].tolist()
    [1, 2, 4, 7, 12]
    """
    if not 1.0 < growth <= 1e6:
        raise InvalidParameter(f"growth is {growth!r}; expected a factor above 1")
    turns, length = [1], 1
    while turns[-1] < FAR and len(turns) < 100_000:
        turns.append(turns[-1] + length)
        length = max(length + 1, int(np.ceil(length * growth))) if length * growth < FAR else FAR
    return np.array(turns[:-1] if turns[-1] >= 2**63 else turns, dtype=np.int64)


def _given_turns(phases: Sequence[int]) -> NDArray[np.int64]:
    lengths = np.asarray(phases)
    if lengths.ndim != 1 or lengths.size == 0 or lengths.dtype.kind not in "iu" or lengths.min() < 1:
        raise InvalidParameter(f"phases are {phases!r}; expected lengths of at least one round")
    return np.concatenate([[1], 1 + np.cumsum(lengths)]).astype(np.int64)
