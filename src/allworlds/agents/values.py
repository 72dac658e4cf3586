"""What a user reports, as losses: numbers checked, brought to [0, 1], or refused in a sentence."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allworlds.foundation.checks import flag, shorten
from allworlds.foundation.errors import InvalidLosses, InvalidParameter
from allworlds.kernels.jit import lean_jit


def as_numbers(values: Any) -> NDArray[np.float64]:
    """The values as an array of doubles, of whatever shape they have.

    >>> as_numbers([0, 0.5])
    array([0. , 0.5])
    """
    try:
        array = np.asarray(values)
    except (TypeError, ValueError):
        raise InvalidLosses(f"losses are {few(values)}; expected one number for each arm") from None
    if array.dtype.kind not in "biuf":
        raise InvalidLosses(
            f"losses are {few(values)}, which are no numbers; expected a mapping, list or array of numbers"
        )
    return array.astype(np.float64, copy=False)


def check_range(reward: bool, low: float, high: float) -> None:
    """Refuse what is no range of values."""
    flag("reward", reward)
    if not (_is_number(low) and _is_number(high) and low < high and math.isfinite(float(high) - float(low))):
        raise InvalidParameter(f"the range is {low!r} to {high!r}; expected two finite numbers, low < high")


def _is_number(value: object) -> bool:
    try:
        return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # an integer beyond all doubles
        return False


def few(values: Any) -> str:
    """At most five of them, for a sentence."""
    if isinstance(values, str | bytes):
        return repr(values)
    try:
        listed = list(values)
    except TypeError:
        return shorten(values, 40)
    return "[" + ", ".join(shorten(value, 40) for value in listed[:5]) + (", …]" if len(listed) > 5 else "]")


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def scale_losses(
    values: NDArray[np.float64], low: float, high: float, reward: bool, scaled: NDArray[np.float64]
) -> int:
    """Bring values to losses in [0, 1]; the place of the first that is out of range or NaN, or -1."""
    for i in range(values.size):
        if not low <= values[i] <= high:
            return i
        scaled[i] = (high - values[i]) / (high - low) if reward else (values[i] - low) / (high - low)
    return -1
