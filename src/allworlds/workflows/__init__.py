"""What the commands do, callable from Python too."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any


def plain_data(value: Any) -> Any:
    """Results as JSON can write them: dictionaries, lists, and None for a number that is not finite.

    >>> plain_data({"low": float("nan"), "values": (1, 2.5)})
    {'low': None, 'values': [1, 2.5]}
    """
    value = value.item() if hasattr(value, "item") else value  # a NumPy scalar
    value = vars(value) if is_dataclass(value) else value._asdict() if hasattr(value, "_asdict") else value
    if isinstance(value, Mapping):
        return {key: plain_data(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [plain_data(member) for member in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def machine_line(machine: Mapping[str, Any]) -> str:
    """The machine of a stored description in one line, without its instruction sets.

    >>> machine_line({"cores": 2, "math_library": "glibc 2.36", "simd": ["AVX2"]})
    'cores 2, math library glibc 2.36'
    """
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in machine.items() if name != "simd")
