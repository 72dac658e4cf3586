"""Friendly worlds: losses drawn independently around means that never change."""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from allworlds.foundation.checks import index, numbers, real, whole
from allworlds.foundation.errors import InvalidParameter
from allworlds.worlds.base import World, make_arrays
from allworlds.worlds.losses import BERNOULLI, BETA, DETERMINISTIC, GAUSSIAN, STATIONARY

Noise = Literal["bernoulli", "beta", "deterministic", "gaussian-clipped"]
CODES = {"bernoulli": BERNOULLI, "beta": BETA, "deterministic": DETERMINISTIC, "gaussian-clipped": GAUSSIAN}
WIDTHS = {"beta": 4.0, "gaussian-clipped": 0.1}
"""The default width of each noise that has one."""


def stochastic(
    means: ArrayLike, noise: Noise = "bernoulli", *, width: float | None = None, name: str = "stochastic"
) -> World:
    """Losses drawn independently in every round around ``means``, shape (N,), each in [0, 1].

    ``width`` is the concentration of ``beta`` noise (default 4: more is narrower) and the standard deviation of
    ``gaussian-clipped`` noise (default 0.1). Clipping moves means near 0 and 1; ``World.means`` are those after it.

    >>> stochastic([0.5, 0.25]).best_arm
    1
    """
    centres = as_means(means)
    if noise not in get_args(Noise):
        raise InvalidParameter(f"noise is {noise!r}; expected one of {', '.join(get_args(Noise))}")
    if width is not None and noise not in WIDTHS:
        raise InvalidParameter(f"width is {width} for {noise} noise; expected none, or noise from {', '.join(WIDTHS)}")
    spread = WIDTHS.get(noise, 0.0) if width is None else real("width", width, above=0)
    actual = _clipped_means(centres, spread) if noise == "gaussian-clipped" else centres
    arrays = make_arrays(
        centres.size,
        kind=STATIONARY,
        noise=CODES[noise],
        width=spread,
        centres=centres,
        means=actual,
        best=actual.argmin(),
    )
    return World(name, arrays, stationary=True)


def one_good_arm(n_arms: int, gap: float, best_arm: int = 0, *, centre: float = 0.5, name: str = "stochastic") -> World:
    """Zimmert and Seldin's stochastic world: one arm with mean ``centre - gap/2``, all others with ``+ gap/2``.

    >>> one_good_arm(3, 0.25).means.tolist()
    [0.375, 0.625, 0.625]
    """
    n_arms = whole("n_arms", n_arms)
    low, high = levels_around(centre, gap)
    means = np.full(n_arms, high)
    means[index("best_arm", best_arm, n_arms)] = low
    return stochastic(means, name=name)


def one_bad_arm(n_arms: int, gap: float = 0.125, bad_arm: int = 0, *, name: str = "many best arms") -> World:
    """Zimmert and Seldin's world with many best arms: one arm with mean ``1/2 + gap/2``, all others with ``- gap/2``.

    >>> one_bad_arm(3).means.tolist()
    [0.5625, 0.4375, 0.4375]
    """
    n_arms = whole("n_arms", n_arms)
    low, high = levels_around(0.5, gap)
    means = np.full(n_arms, low)
    means[index("bad_arm", bad_arm, n_arms)] = high
    return stochastic(means, name=name)


def as_means(means: ArrayLike) -> NDArray[np.float64]:
    """(N,) one number from 0 to 1 for each arm; raise InvalidParameter otherwise."""
    array = numbers("means", means)
    if array.ndim != 1 or array.size == 0:
        raise InvalidParameter(f"means have shape {array.shape}; expected one number for each arm, shape (N,)")
    wrong = np.flatnonzero(~((array >= 0.0) & (array <= 1.0)))
    if wrong.size:
        raise InvalidParameter(f"the mean of arm {wrong[0]} is {array[wrong[0]]}; expected numbers from 0 to 1")
    return array


def levels_around(centre: float, gap: float) -> tuple[float, float]:
    """``centre - gap/2`` and ``centre + gap/2``; raise InvalidParameter unless both are in [0, 1].

    >>> levels_around(0.5, 0.25)
    (0.375, 0.625)
    """
    middle, half = real("centre", centre, at_least=0, at_most=1), real("gap", gap, above=0, at_most=1) / 2.0
    low, high = middle - half, middle + half
    if low < 0.0 or high > 1.0:
        raise InvalidParameter(
            f"centre {centre} and gap {gap} give the means {low} and {high}; expected both from 0 to 1, so choose a "
            "smaller gap or a centre nearer to 1/2"
        )
    return low, high


def _clipped_means(centres: NDArray[np.float64], width: float) -> NDArray[np.float64]:
    """``E min(1, max(0, c + width Z))`` in closed form."""
    ramps = (_ramp(c / width, width) - _ramp((c - 1.0) / width, width) for c in centres.tolist())
    return np.array([min(1.0, max(0.0, ramp)) for ramp in ramps])


def _ramp(u: float, width: float) -> float:
    """``E max(0, width (u + Z))``."""
    density = math.exp(-0.5 * u * u) / math.sqrt(2.0 * math.pi)
    return width * (u * 0.5 * math.erfc(-u / math.sqrt(2.0)) + density)
