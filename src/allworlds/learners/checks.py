"""What the constructors of learners check, in the same words."""

from __future__ import annotations

import math
from numbers import Integral, Real

from allworlds.foundation.errors import InvalidParameter


def whole(name: str, value: object) -> int:
    """``value`` as a whole number of at least 1, or an error.

    >>> whole("horizon", 1000)
    1000
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise InvalidParameter(f"{name} is {value!r}; expected a whole number of at least 1")
    return int(value)


def positive(name: str, value: object) -> float:
    """``value`` as a finite number above 0, or an error.

    >>> positive("scale", 1)
    1.0
    """
    if isinstance(value, bool) or not isinstance(value, Real) or not 0.0 < float(value) < math.inf:
        raise InvalidParameter(f"{name} is {value!r}; expected a finite number above 0")
    return float(value)


def flag(name: str, value: object) -> bool:
    """``value`` as True or False, or an error."""
    if not isinstance(value, bool):
        raise InvalidParameter(f"{name} is {value!r}; expected True or False")
    return value
