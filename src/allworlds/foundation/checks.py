"""Checks of arguments, all in one order, ``(name, value, ...)``, and with one grammar of errors.

``gap is 2.0; expected a number above 0 and at most 1``: what was given, then what was expected. The error is
:class:`InvalidParameter` unless ``error`` names another class, such as :class:`InvalidGraph` where a graph is built.
"""

from __future__ import annotations

import math
import operator
from numbers import Number, Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from allworlds.foundation.errors import AllWorldsError, InvalidParameter

Ints: TypeAlias = NDArray[np.int64]
Error: TypeAlias = type[AllWorldsError]

LIMIT = 2**62
"""Integers stay below this, so that sums of two fit into 64 bits."""


def whole(
    name: str, value: Any, *, at_least: int = 1, at_most: int | None = None, error: Error = InvalidParameter
) -> int:
    """``value`` as an int from ``at_least`` to ``at_most``.

    >>> whole("horizon", np.int64(1000))
    1000
    """
    integer = operator.index(value) if is_whole(value) else at_least - 1
    if at_least <= integer <= (LIMIT - 1 if at_most is None else at_most):
        return integer
    bounds = f"of at least {at_least}" if at_most is None else f"from {at_least} to {at_most}"
    if at_most is None and integer >= LIMIT:
        bounds = "below 2**62"
    raise error(f"{name} is {shorten(value)}; expected an integer {bounds}")


def index(name: str, value: Any, count: int, error: Error = InvalidParameter) -> int:
    """``value`` as the number of one of ``count`` things: 0 to ``count - 1``.

    >>> index("best_arm", 2, 3)
    2
    """
    return whole(name, value, at_least=0, at_most=count - 1, error=error)


def real(
    name: str,
    value: Any,
    *,
    above: float | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
    below: float | None = None,
    error: Error = InvalidParameter,
) -> float:
    """``value`` as a finite float within the bounds that are given.

    >>> real("gap", 1, above=0, at_most=1)
    1.0
    """
    try:
        number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    except OverflowError:
        number = math.inf
    too_low = (above is not None and number <= above) or (at_least is not None and number < at_least)
    too_high = (at_most is not None and number > at_most) or (below is not None and number >= below)
    if math.isfinite(number) and not too_low and not too_high:
        return number
    if at_least is not None and at_most is not None:
        bounds = f" from {at_least:g} to {at_most:g}"
    else:
        low = f" above {above:g}" if above is not None else f" of at least {at_least:g}" if at_least is not None else ""
        high = f" at most {at_most:g}" if at_most is not None else f" below {below:g}" if below is not None else ""
        bounds = low + (" and" if low and high else "") + high
    finite = "finite " if at_most is None and below is None else ""
    raise error(f"{name} is {shorten(value)}; expected a {finite}number{bounds}")


def flag(name: str, value: Any, error: Error = InvalidParameter) -> bool:
    """``value`` as True or False."""
    if not isinstance(value, bool | np.bool_):
        raise error(f"{name} is {shorten(value)}; expected True or False")
    return bool(value)


def integers(name: str, values: Any, error: Error = InvalidParameter) -> Ints:
    """``values`` as a new int64 array of the same shape, which may be empty; floats and bools are not integers."""
    try:
        array = np.asarray(values if isinstance(values, np.ndarray | list | tuple) else list(values))
    except (TypeError, ValueError):
        raise error(f"{name} is {shorten(values)}; expected integers in a regular shape") from None
    if array.size == 0:
        return np.zeros(array.shape, dtype=np.int64)
    if array.dtype.kind not in "iu":
        raise error(f"{name} is {shorten(values)}, of type {array.dtype}; expected integers")
    if array.dtype.kind == "u" and array.max() >= 2**63:
        raise error(f"{name} contains {array.max()}; expected integers below 2**63")
    return array.astype(np.int64)


def numbers(name: str, values: Any, error: Error = InvalidParameter) -> NDArray[np.float64]:
    """``values`` as a new array of doubles of the same shape, which may contain NaN and infinities.

    Text and bools are not numbers; fractions and decimals are.
    """
    try:
        array = np.asarray(values)
        others = array.flat if array.dtype.kind == "O" else ()
        if array.dtype.kind in "iufO" and all(isinstance(v, Number) and not isinstance(v, bool) for v in others):
            return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    raise error(f"{name} is {shorten(values)}; expected numbers in a regular shape")


def check_arms(name: str, arms: Ints, n_arms: int, error: Error = InvalidParameter) -> None:
    """Raise ``error`` unless all numbers are arms, 0 to ``n_arms - 1``."""
    wrong = arms[(arms < 0) | (arms >= n_arms)]
    if wrong.size:
        raise error(f"{name} contains {wrong[0]}; expected arms from 0 to {n_arms - 1}")


def is_whole(value: object) -> bool:
    """Whether ``value`` is an integer, of Python or NumPy, and not a bool."""
    return hasattr(value, "__index__") and not isinstance(value, bool | np.bool_ | np.ndarray)


def frozen(array: Ints) -> Ints:
    """The same array, read-only from now on."""
    array.flags.writeable = False
    return array


def shorten(value: object, most: int = 60) -> str:
    """``repr(value)``, cut to ``most`` characters.

    >>> shorten("a long word", 10)
    "'a long..."
    """
    text = repr(value)
    return text if len(text) <= most else text[: most - 3] + "..."
