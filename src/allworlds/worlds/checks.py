"""What the constructors of worlds check, in the same words."""

from __future__ import annotations

import math
from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from allworlds.foundation.errors import InvalidParameter


def whole(name: str, value: object) -> int:
    """``value`` as a whole number of at least 1, or an error.

    >>> whole("block", 100)
    100
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise InvalidParameter(f"{name} is {value!r}; expected a whole number of at least 1")
    return int(value)


def between(name: str, value: object, low: float, high: float) -> float:
    """``value`` as a finite number from ``low`` to ``high``, or an error.

    >>> between("amplitude", 0.2, 0.0, 1.0)
    0.2
    """
    bounds = f"from {low:g} to {high:g}" if high < math.inf else f"of at least {low:g}"
    if isinstance(value, bool) or not isinstance(value, Real) or not low <= float(value) <= high:
        raise InvalidParameter(f"{name} is {value!r}; expected a number {bounds}")
    if math.isinf(value):
        raise InvalidParameter(f"{name} is {value!r}; expected a finite number {bounds}")
    return float(value)


def above(name: str, value: object, low: float, high: float = math.inf) -> float:
    """``value`` as a finite number above ``low``, at most ``high``, or an error.

    >>> above("growth", 1.6, 1.0)
    1.6
    """
    bounds = f"above {low:g}" + (f", at most {high:g}" if high < math.inf else "")
    if isinstance(value, bool) or not isinstance(value, Real) or not low < float(value) <= high or math.isinf(value):
        raise InvalidParameter(f"{name} is {value!r}; expected a finite number {bounds}")
    return float(value)


def gap_within(gap: object) -> float:
    """A gap: above 0, at most 1."""
    return above("gap", gap, 0.0, 1.0)


def arm_of(n_arms: int, arm: object) -> int:
    """``arm`` as one of ``n_arms`` arms, or an error.

    >>> arm_of(3, 2)
    2
    """
    if isinstance(arm, bool) or not isinstance(arm, Integral) or not 0 <= int(arm) < n_arms:
        raise InvalidParameter(f"no arm {arm!r}; the arms are 0 to {n_arms - 1}")
    return int(arm)


def as_means(means: ArrayLike) -> NDArray[np.float64]:
    """(N,) one number from 0 to 1 for each arm, or an error."""
    try:
        array = np.array(means, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameter(f"means are {means!r}; expected one number from 0 to 1 for each arm") from None
    if array.ndim != 1 or array.size == 0:
        raise InvalidParameter(f"means have shape {array.shape}; expected one number for each arm, shape (N,)")
    wrong = np.flatnonzero(~((array >= 0.0) & (array <= 1.0)))
    if wrong.size:
        raise InvalidParameter(f"the mean of arm {wrong[0]} is {array[wrong[0]]}; expected numbers from 0 to 1")
    return array


def levels_around(centre: object, gap: float) -> tuple[float, float]:
    """``centre - gap/2`` and ``centre + gap/2``, both in [0, 1], or an error.

    >>> levels_around(0.5, 0.25)
    (0.375, 0.625)
    """
    middle = between("centre", centre, 0.0, 1.0)
    low, high = middle - gap / 2.0, middle + gap / 2.0
    if low < 0.0 or high > 1.0:
        raise InvalidParameter(
            f"centre {centre} and gap {gap} give the means {low} and {high}; expected both from 0 to 1, so choose a "
            "smaller gap or a centre nearer to 1/2"
        )
    return low, high
