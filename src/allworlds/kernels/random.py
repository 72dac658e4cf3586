"""Counter-based random numbers: a draw is a pure function of (seed, stream, counter, lane).

A generator with a hidden state must be stepped in order, saved, split and locked. A counter-based one
has no state: the u-th number can be asked for directly, from any thread, in any order, for ever. A saved
agent needs two integers, a world can be started at any round, and equal seeds give equal losses whatever
else runs.

The function is Philox4x32 with ten rounds (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as
easy as 1, 2, 3", SC 2011). Its four 32-bit words make two doubles in [0, 1).
"""

from __future__ import annotations

import math
import secrets
from numbers import Integral

import numpy as np

from allworlds.foundation.errors import InvalidParameter
from allworlds.kernels.jit import lean_jit

Word = np.uint64

STREAM_AGENT = 1
STREAM_LEARNER = 2
STREAM_WORLD = 16
"""Streams keep users of one seed apart; a learner that needs more numbers has the streams 4 to 15."""

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_FACTOR_0 = np.uint64(0xD2511F53)
_FACTOR_1 = np.uint64(0xCD9E8D57)
_STEP_0 = np.uint64(0x9E3779B9)
_STEP_1 = np.uint64(0xBB67AE85)
_TO_UNIT = 1.0 / 9007199254740992.0  # 2**-53


def as_seed(seed: int | None) -> int:
    """Check a seed, or take a fresh one from the system: seeds are integers from 0 to 2**63 - 1.

    >>> as_seed(7)
    7
    """
    if seed is None:
        return secrets.randbits(63)
    if isinstance(seed, bool) or not isinstance(seed, Integral) or not 0 <= int(seed) < 2**63:
        raise InvalidParameter(f"seed is {seed!r}; expected an integer from 0 to 2**63 - 1, or None for a fresh one")
    return int(seed)


@lean_jit
def philox(c0: Word, c1: Word, c2: Word, c3: Word, k0: Word, k1: Word) -> tuple[Word, Word, Word, Word]:
    """Ten rounds of Philox4x32 on a counter of four 32-bit words with a key of two, each held in a uint64."""
    for _ in range(10):
        first = _FACTOR_0 * c0
        second = _FACTOR_1 * c2
        c0 = (second >> _HALF) ^ c1 ^ k0
        c1 = second & _LOW
        c2 = (first >> _HALF) ^ c3 ^ k1
        c3 = first & _LOW
        k0 = (k0 + _STEP_0) & _LOW
        k1 = (k1 + _STEP_1) & _LOW
    return c0, c1, c2, c3


@lean_jit
def uniform_pair(seed: int, stream: int, counter: int, lane: int) -> tuple[float, float]:
    """Two independent uniforms in [0, 1), each with 53 random bits; ``stream`` and ``lane`` fit 32 bits."""
    key = np.uint64(seed)
    count = np.uint64(counter)
    w0, w1, w2, w3 = philox(count & _LOW, count >> _HALF, np.uint64(lane), np.uint64(stream), key & _LOW, key >> _HALF)
    first = float((w0 << np.uint64(21)) ^ (w1 >> np.uint64(11))) * _TO_UNIT
    second = float((w2 << np.uint64(21)) ^ (w3 >> np.uint64(11))) * _TO_UNIT
    return first, second


@lean_jit
def normal(seed: int, stream: int, counter: int, lane: int) -> float:
    """One standard normal, by Box and Muller."""
    first, second = uniform_pair(seed, stream, counter, lane)
    return math.sqrt(-2.0 * math.log(1.0 - first)) * math.cos(2.0 * math.pi * second)


@lean_jit
def gamma(seed: int, stream: int, counter: int, lane: int, shape: float) -> float:
    """One gamma variate of scale 1, by Marsaglia and Tsang; tries move on along the stream."""
    boosted = shape if shape >= 1.0 else shape + 1.0
    d = boosted - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    value = d
    for attempt in range(64):  # one try fails with probability below 0.05
        z = normal(seed, stream + (2 * attempt << 16), counter, lane)
        u, w = uniform_pair(seed, stream + (2 * attempt + 1 << 16), counter, lane)
        v = 1.0 + c * z
        if v > 0.0:
            v = v * v * v
            if math.log(1.0 - u) < 0.5 * z * z + d - d * v + d * math.log(v):
                value = d * v
                if shape < 1.0:
                    value *= (1.0 - w) ** (1.0 / shape)
                break
    return value


@lean_jit
def beta(seed: int, stream: int, counter: int, lane: int, a: float, b: float) -> float:
    """One beta variate from two gammas; uses the streams ``stream`` and ``stream + 1``."""
    x = gamma(seed, stream, counter, lane, a)
    y = gamma(seed, stream + 1, counter, lane, b)
    return x / (x + y) if x + y > 0.0 else a / (a + b)
