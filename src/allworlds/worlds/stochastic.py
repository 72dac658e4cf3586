"""Friendly worlds: losses drawn independently around means that never change."""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from allworlds.errors import InvalidParameter
from allworlds.worlds.base import World, make_nature
from allworlds.worlds.nature import BERNOULLI, BETA, DETERMINISTIC, GAUSSIAN, STATIONARY

Noise = Literal["bernoulli", "beta", "deterministic", "gaussian-clipped"]
CODES = {"bernoulli": BERNOULLI, "beta": BETA, "deterministic": DETERMINISTIC, "gaussian-clipped": GAUSSIAN}
WIDTHS = {"bernoulli": 0.0, "beta": 4.0, "deterministic": 0.0, "gaussian-clipped": 0.1}


def stochastic(
    means: ArrayLike, noise: Noise = "bernoulli", *, width: float | None = None, name: str = "stochastic"
) -> World:
    """Losses drawn independently in every round around ``means``, shape (N,), each in [0, 1].

    ``width`` is the concentration of ``beta`` noise (default 4: more is narrower) and the standard deviation of
    ``gaussian-clipped`` noise (default 0.1); clipping moves means near the ends, and the world knows by how much.

    >>> stochastic([0.5, 0.25]).best_arm
    1
    """
    centres = _means(means)
    if noise not in get_args(Noise):
        raise InvalidParameter(f"noise is {noise!r}; expected one of {get_args(Noise)}")
    spread = WIDTHS[noise] if width is None else float(width)
    if noise in ("beta", "gaussian-clipped") and not 0.0 < spread < math.inf:
        raise InvalidParameter(f"width is {width!r}; expected a positive number")
    actual = _clipped_means(centres, spread) if noise == "gaussian-clipped" else centres
    nature = make_nature(
        centres.size,
        kind=STATIONARY,
        noise=CODES[noise],
        centres=centres,
        means=actual,
        levels=np.array([0.0, 0.0, 0.0, 0.0, spread]),
        best=int(actual.argmin()),
        candidates=np.array([actual.argmin()], dtype=np.int64),
    )
    return World(name, nature, stationary=True)


def one_good_arm(
    n_arms: int, gap: float, best_arm: int = 0, *, centre: float = 0.5, name: str = "stochastic"
) -> World:
    """Zimmert and Seldin's stochastic world: one arm with mean ``centre - gap/2``, all others with ``+ gap/2``.

    >>> one_good_arm(3, 0.25).means.tolist()
    [0.375, 0.625, 0.625]
    """
    n_arms, best_arm = check_arm(n_arms, best_arm)
    check_gap(gap)
    means = np.full(n_arms, centre + gap / 2.0)
    means[best_arm] = centre - gap / 2.0
    return stochastic(means, name=name)


def check_arm(n_arms: int, arm: int) -> tuple[int, int]:
    """``n_arms`` and an arm of them as integers, or an error."""
    if isinstance(n_arms, bool) or not isinstance(n_arms, int | np.integer) or n_arms < 1:
        raise InvalidParameter(f"n_arms is {n_arms!r}; expected an integer of at least 1")
    if isinstance(arm, bool) or not isinstance(arm, int | np.integer) or not 0 <= arm < n_arms:
        raise InvalidParameter(f"no arm {arm!r}; the arms are 0 to {n_arms - 1}")
    return int(n_arms), int(arm)


def check_gap(gap: float) -> None:
    """A gap is a positive number of at most 1."""
    if not 0.0 < gap <= 1.0:
        raise InvalidParameter(f"gap is {gap!r}; expected a number above 0, at most 1")


def _means(means: ArrayLike) -> NDArray[np.float64]:
    try:
        array = np.array(means, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameter(f"means are {means!r}; expected one number from 0 to 1 for each arm") from None
    if array.ndim != 1 or array.size == 0 or not np.all((array >= 0.0) & (array <= 1.0)):
        raise InvalidParameter("means must be one number from 0 to 1 for each arm, shape (N,)")
    array.flags.writeable = False
    return array


def _clipped_means(centres: NDArray[np.float64], width: float) -> NDArray[np.float64]:
    """``E min(1, max(0, c + width Z))`` in closed form."""
    return np.array([_ramp(c / width, width) - _ramp((c - 1.0) / width, width) for c in centres])


def _ramp(u: float, width: float) -> float:
    """``E max(0, width (u + Z))``."""
    density = math.exp(-0.5 * u * u) / math.sqrt(2.0 * math.pi)
    return width * (u * 0.5 * math.erfc(-u / math.sqrt(2.0)) + density)
