"""Worlds in phases whose lengths are shares of the horizon: the simplest sequences that mislead learners.

Means and noise change only between phases, so a few numbers describe an oblivious adversary, and a search can look for
the worst one (``benchmarks/attacks.py``). The phases stretch with the horizon, so that linear regret can be told from
regret that grows like its square root.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from allworlds.foundation.checks import index, numbers, real, whole
from allworlds.foundation.errors import InvalidParameter
from allworlds.worlds.base import World, make_arrays
from allworlds.worlds.losses import MIXED
from allworlds.worlds.losses import PHASES as PHASES_KIND


def phases(levels: ArrayLike, lengths: ArrayLike, constant: ArrayLike | None = None, *, name: str = "phases") -> World:
    """Losses with mean ``levels[p, i]`` for arm ``i`` in phase ``p``, shape (P, N), each in [0, 1].

    ``lengths`` are the shares of the horizon that the phases take, shape (P,), above 0; they are divided by their sum.
    A phase begins in round ``1 + round(share of all phases before it * horizon)``; a short horizon can leave it
    without rounds. Losses are Bernoulli, or the level itself where ``constant``, shape (P, N), is True.

    >>> world = phases([[0.5, 0.5], [0.0, 1.0]], [0.75, 0.25], [[False, False], [True, True]])
    >>> [world.mean(t, 1, horizon=100) for t in (75, 76)], world.loss(0, 76, 1, horizon=100)
    ([0.5, 1.0], 1.0)
    """
    means = numbers("levels", levels)
    if means.ndim != 2 or means.size == 0:
        raise InvalidParameter(f"levels have shape {means.shape}; expected (phases, arms), at least one of each")
    wrong = np.argwhere(~((means >= 0.0) & (means <= 1.0)))
    if wrong.size:
        phase, arm = (int(i) for i in wrong[0])
        raise InvalidParameter(
            f"the level of arm {arm} in phase {phase} is {means[phase, arm]}; expected a number from 0 to 1"
        )
    shares = _shares(lengths, means.shape[0])
    average = shares @ means
    arrays = make_arrays(
        means.shape[1],
        kind=PHASES_KIND,
        noise=MIXED,
        means=average,
        shares=np.concatenate([[0.0], np.cumsum(shares[:-1])]),
        table=means,
        steady=_flags(constant, means.shape),
        best=average.argmin(),
    )
    return World(name, arrays)


def lock_in(
    n_arms: int,
    best: int | None = None,
    quiet: float = 0.43,
    trap: float = 0.087,
    *,
    quiet_level: float = 0.1,
    trap_levels: Sequence[float] = (0.9, 0.02),
    end_levels: Sequence[float] = (0.05, 1.0),
    constant: Sequence[bool] = (False, False, True),
    name: str = "lock-in",
) -> World:
    """Mislead a learner about the arm that will be best, once it is too certain to change its mind.

    For a share ``quiet`` of the horizon all arms have the mean ``quiet_level``. Then, for a share ``trap``, the arm
    ``best`` (default: the one in the middle) and the others have the means ``trap_levels``; for the rest of the run
    ``end_levels``. ``constant`` says of each of the three phases whether its losses are their means or Bernoulli.

    A learner whose baseline follows the arm that it plays sees no evidence against that arm in the last phase and
    stays with it in a fixed share of the runs, so that its mean regret is linear.

    >>> world = lock_in(2, quiet=0.5, trap=0.25)
    >>> world.best_arm, [world.mean(t, 1, horizon=100) for t in (50, 51, 75, 76)]
    (1, [0.1, 0.9, 0.9, 0.05])
    """
    n_arms = whole("n_arms", n_arms)
    favoured = index("best", n_arms // 2 if best is None else best, n_arms)
    quiet, trap = real("quiet", quiet, above=0, at_most=1), real("trap", trap, above=0, at_most=1)
    if quiet + trap >= 1.0:
        raise InvalidParameter(f"quiet is {quiet:g} and trap {trap:g}; expected a sum below 1, to leave a last phase")
    pairs = [[real("quiet_level", quiet_level, at_least=0, at_most=1)] * 2, trap_levels, end_levels]
    for label, pair in (("trap_levels", trap_levels), ("end_levels", end_levels)):
        if len(pair) != 2:
            raise InvalidParameter(f"{label} are {pair!r}; expected two numbers, of the best arm and of the others")
    if len(constant) != 3:
        raise InvalidParameter(f"constant is {constant!r}; expected three flags, one for each phase")
    others = np.arange(n_arms) != favoured
    levels = np.array([[real("a level", level, at_least=0, at_most=1) for level in pair] for pair in pairs])
    flags = np.repeat(np.asarray(constant)[:, None], n_arms, axis=1)
    return phases(levels[:, others.astype(np.int64)], [quiet, trap, 1.0 - quiet - trap], flags, name=name)


def _shares(lengths: ArrayLike, n_phases: int) -> NDArray[np.float64]:
    """(P,) the lengths divided by their sum."""
    given = numbers("lengths", lengths)
    if given.shape != (n_phases,):
        raise InvalidParameter(f"lengths have shape {given.shape}; expected one number for each phase, ({n_phases},)")
    wrong = np.flatnonzero(~(np.isfinite(given) & (given > 0.0)))
    if wrong.size:
        raise InvalidParameter(f"the length of phase {wrong[0]} is {given[wrong[0]]}; expected a finite number above 0")
    scaled = given / given.max()  # so that the sum of huge lengths stays finite
    shares: NDArray[np.float64] = scaled / scaled.sum()
    return shares


def _flags(constant: ArrayLike | None, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """(P, N) 1 where constant, else 0."""
    if constant is None:
        return np.zeros(shape)
    flags = np.asarray(constant)
    if flags.shape != shape:
        raise InvalidParameter(f"constant has shape {flags.shape}; expected that of levels, {shape}")
    if flags.dtype.kind not in "biu" or not np.isin(flags, (0, 1)).all():
        raise InvalidParameter("constant has values other than True and False; expected only these")
    return flags.astype(np.float64)
