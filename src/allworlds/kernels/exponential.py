"""An exponential of our own: the same bits on every machine, and short enough for the compiler to do several at once.

``exp`` of the C library depends on the processor: with and without fused multiply-add its last bit differs, and a
learner that has drawn a million times then draws something else. Here are only additions, multiplications and a shift,
which IEEE arithmetic fixes to the last bit.

The method. ``x = k log 2 + r`` with ``|r| <= log(2) / 2``; ``exp(r)`` is a polynomial of degree 11 whose coefficients
interpolate at Chebyshev points (relative error below 2e-17); ``2^k`` is written into the exponent. The result is
within one unit in the last place.
"""

from __future__ import annotations

import numpy as np

from allworlds.kernels.jit import lean_jit

LOWEST = -708.0
"""Below this the answer is zero: ``exp(-708)`` is 3e-308, and smaller doubles lose digits."""
HIGHEST = 709.0
"""Above this the answer is infinite."""

_LOG2_E = float.fromhex("0x1.71547652b82fep+0")
_ROUNDER = 6755399441055744.0  # 1.5 * 2**52: adding it rounds to the nearest integer, which its low bits then hold
_LN2_HIGH = float.fromhex("0x1.62e42fee00000p-1")  # 32 bits of log(2): its product with k is exact
_LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
_BIAS = np.uint64(1023)
_EXPONENT = np.uint64(52)
_C3 = float.fromhex("0x1.5555555555555p-3")
_C4 = float.fromhex("0x1.5555555554cb7p-5")
_C5 = float.fromhex("0x1.1111111110e6ap-7")
_C6 = float.fromhex("0x1.6c16c1738ff55p-10")
_C7 = float.fromhex("0x1.a01a01a4b322fp-13")
_C8 = float.fromhex("0x1.a019c9a5652d3p-16")
_C9 = float.fromhex("0x1.71de17e40edfep-19")
_C10 = float.fromhex("0x1.2880411bad1aap-22")
_C11 = float.fromhex("0x1.af236aac51d05p-26")


@lean_jit
def exp(x: float) -> float:
    """``e**x``, within one unit in the last place; zero below ``LOWEST``, infinite above ``HIGHEST``."""
    inside = min(max(x, LOWEST), HIGHEST)
    shifted = inside * _LOG2_E + _ROUNDER
    k = shifted - _ROUNDER
    near, rest = inside - k * _LN2_HIGH, k * _LN2_LOW
    r = near - rest
    lost = (near - r) - rest
    square = r * r
    low = (_C3 + _C4 * r) + square * (_C5 + _C6 * r)
    high = (_C7 + _C8 * r) + square * ((_C9 + _C10 * r) + square * _C11)
    tail = square * (0.5 + r * (low + square * square * high))
    bits = (np.float64(shifted).view(np.uint64) + _BIAS) << _EXPONENT
    scale = np.uint64(bits).view(np.float64)
    near_one = 1.0 + r
    value = scale * (near_one + (((1.0 - near_one) + r) + (tail + lost)))
    if x < LOWEST:
        return 0.0
    return np.inf if x > HIGHEST else value
