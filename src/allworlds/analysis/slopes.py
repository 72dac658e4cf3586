"""How fast does regret grow? Slopes through the means of seeds, with intervals from the seeds.

A power law ``y = c x^s`` is a line on two logarithmic axes, and ``s`` is its slope; growth with the logarithm,
``y = a + b log2 x``, is a line on one. Both are fitted by least squares through the means over seeds. The interval is
a percentile bootstrap: the seeds of each point are drawn again with replacement, independently, since runs at
different ``x`` share no losses. Few seeds, drawn again, differ less than new ones would; so the interval is widened
by ``sqrt(n / (n - 1))`` and by Student's quantile over the normal one. It knows the noise of the seeds; it does not
know whether the points lie on a line.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.analysis.comparison import student_quantile

Floats = NDArray[np.float64]

LEAST_POINTS = 3
"""Through two points there is always a line."""
RESAMPLES = 2000
SEED = 0
"""The seed of the bootstrap, so that the same results give the same interval."""
COVER = 0.95
NORMAL = 1.959963984540054
"""The 97.5 % quantile of the normal distribution."""
MOST_LOST = 0.05
"""There is no interval if a larger share of the resamples has no slope, because a mean is not positive."""


class Slope(NamedTuple):
    """A fitted slope with its 95 % interval; without one where there is a single run, or where noise is too large."""

    value: float
    low: float | None
    high: float | None
    n_points: int
    """How many points were fitted."""
    left_out: int
    """How many had no logarithm: their mean is not positive."""


def power_slope(
    x: Sequence[float], samples: Sequence[Floats], base: Floats | None = None, *, least: int = LEAST_POINTS
) -> Slope | None:
    """The slope of ``log mean`` against ``log x``; ``samples`` has the values of all seeds for each of ``x > 0``.

    With ``base``, the values at ``x = 0``, it is the slope of the excess over their mean. None where fewer than
    ``least`` points are left.

    >>> slope = power_slope([1.0, 10.0, 100.0], [np.array([2.0]), np.array([20.0]), np.array([200.0])])
    >>> round(slope.value, 9)
    1.0
    """
    floor = 0.0 if base is None else float(base.mean())
    positive = [(at, sample) for at, sample in zip(x, samples, strict=True) if sample.mean() > floor]
    if len(positive) < least:
        return None
    slope = _slope(np.log([at for at, _ in positive]), [sample for _, sample in positive], np.log, base)
    return slope._replace(left_out=len(samples) - len(positive))


def doubling_slope(x: Sequence[float], samples: Sequence[Floats]) -> Slope | None:
    """By how much the mean grows when ``x > 0`` is doubled: the slope against ``log2 x``; None below three points.

    >>> slope = doubling_slope([1.0, 2.0, 4.0], [np.array([5.0]), np.array([8.0]), np.array([11.0])])
    >>> round(slope.value, 9)
    3.0
    """
    return None if len(samples) < LEAST_POINTS else _slope(np.log2(x), samples, np.asarray)


def fitted(slope: Slope, x: Floats, means: Floats, *, power: bool) -> Floats:
    """The fitted line at ``x``, (P,): ``means`` are those that it was fitted to.

    >>> fitted(Slope(1.0, None, None, 3, 0), np.array([1.0, 2.0, 4.0]), np.array([3.0, 6.0, 12.0]), power=True).round(9)
    array([ 3.,  6., 12.])
    """
    places, heights = (np.log(x), np.log(means)) if power else (np.log2(x), means)
    line: Floats = heights.mean() + slope.value * (places - places.mean())
    return np.exp(line) if power else line


def _slope(
    places: Floats, samples: Sequence[Floats], height: Callable[[Floats], Floats], base: Floats | None = None
) -> Slope:
    """The slope of the ``height`` of the means, less that of ``base``, with its interval where there is one."""
    several = [*samples, np.zeros(2) if base is None else base]  # without a base, 0 is subtracted
    means = np.array([sample.mean() for sample in several])
    value = float(_fit(places, height(means[:-1] - means[-1])))
    bare = Slope(value, None, None, len(samples), 0)
    if min(sample.size for sample in several) < 2:
        return bare
    random = np.random.default_rng(SEED)
    drawn = np.column_stack(
        [one[random.integers(one.size, size=(RESAMPLES, one.size))].mean(axis=1) for one in several]
    )
    above = drawn[:, :-1] - drawn[:, -1:]
    kept = above[(above > 0.0).all(axis=1)] if height is np.log else above
    if len(kept) < (1.0 - MOST_LOST) * RESAMPLES:
        return bare
    low, high = _interval(value, _fit(places, height(kept)), samples)
    return bare._replace(low=low, high=high)


def _fit(places: Floats, heights: Floats) -> Floats:
    """Least squares; ``heights`` is (P,) or (B, P), the answer a number or (B,)."""
    centred = places - places.mean()
    slopes: Floats = heights @ centred / (centred @ centred)
    return slopes


def _interval(value: float, slopes: Floats, samples: Sequence[Floats]) -> tuple[float, float]:
    """The middle 95 % of the resampled slopes, widened around ``value`` for few seeds."""
    sizes = [sample.size for sample in samples]
    wider = math.sqrt(min(sizes) / (min(sizes) - 1)) * student_quantile(sum(sizes) - len(sizes)) / NORMAL
    low, high = np.quantile(slopes, [(1.0 - COVER) / 2.0, (1.0 + COVER) / 2.0])
    return value + wider * (float(low) - value), value + wider * (float(high) - value)
