"""Counter-based random numbers: a draw is a pure function of (seed, stream, counter, lane).

A generator with a hidden state must be stepped in order, saved, split and locked. A counter-based one
has no state: the u-th number can be asked for directly, from any thread, in any order, for ever. A saved
agent needs two integers, a world can be started at any round, and equal seeds give equal losses whatever
else runs.

The function is Philox4x32 with ten rounds (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as
easy as 1, 2, 3", SC 2011). Its four 32-bit words make two uniforms of 53 bits for one lane (:func:`uniform_pair`), or
one of 32 bits for each of four lanes (:func:`uniform`). The second way costs a quarter: an event of probability ``p``
that is read off such a number has a probability between ``p`` and ``p + 2**-32``.
"""

from __future__ import annotations

import math
import secrets
from numbers import Integral

import numpy as np
from numpy.typing import NDArray

from allworlds.foundation.errors import InvalidParameter
from allworlds.kernels.jit import inline_jit, lean_jit

Word = np.uint64

STREAM_AGENT = 1
STREAM_LEARNER = 2
STREAM_WORLD = 16
STREAM_GRAPH = 64
"""Streams keep users of one seed apart; a learner that needs more numbers has the streams 4 to 15."""

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_FACTOR_0 = np.uint64(0xD2511F53)
_FACTOR_1 = np.uint64(0xCD9E8D57)
_STEP_0 = np.uint64(0x9E3779B9)
_STEP_1 = np.uint64(0xBB67AE85)
_TO_UNIT = 1.0 / 9007199254740992.0  # 2**-53
_TO_SHORT_UNIT = 1.0 / 4294967296.0  # 2**-32
_TWO_52 = 4503599627370496.0
_TWO_52_BITS = np.uint64(0x4330000000000000)
_0, _1, _2, _3 = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3)


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


@inline_jit
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


@inline_jit
def block(seed: int, stream: int, counter: int, lane: Word) -> tuple[Word, Word, Word, Word]:
    """Four random words of 32 bits; ``stream`` and ``lane`` fit 32 bits."""
    key, count = np.uint64(seed), np.uint64(counter)
    return philox(count & _LOW, count >> _HALF, lane, np.uint64(stream), key & _LOW, key >> _HALF)


@inline_jit
def uniform_pair(seed: int, stream: int, counter: int, lane: int) -> tuple[float, float]:
    """Two independent uniforms in [0, 1), each with 53 random bits; ``stream`` and ``lane`` fit 32 bits."""
    w0, w1, w2, w3 = block(seed, stream, counter, np.uint64(lane))
    first = float((w0 << np.uint64(21)) ^ (w1 >> np.uint64(11))) * _TO_UNIT
    second = float((w2 << np.uint64(21)) ^ (w3 >> np.uint64(11))) * _TO_UNIT
    return first, second


@inline_jit
def _unit(word: Word) -> float:
    """``word / 2**32``: the word becomes the low bits of ``2**52``, because no vector instruction converts a uint64."""
    return float((np.uint64(word | _TWO_52_BITS).view(np.float64) - _TWO_52) * _TO_SHORT_UNIT)


@inline_jit
def uniform(seed: int, stream: int, counter: int, lane: int) -> float:
    """A uniform in [0, 1) with 32 random bits: word ``lane % 4`` of block ``lane // 4``."""
    at = np.uint64(lane)
    w0, w1, w2, w3 = block(seed, stream, counter, at >> _2)
    low = w0 if at & _1 == _0 else w1
    high = w2 if at & _1 == _0 else w3
    return _unit(low if at & _2 == _0 else high)


@lean_jit
def write_uniforms(seed: int, stream: int, counter: int, lanes: NDArray[np.int64], out: NDArray[np.float64]) -> None:
    """``out[j] = uniform(seed, stream, counter, lanes[j])``; lanes that follow one another share their blocks.

    The compiler puts several lanes, or several blocks, into one instruction.
    """
    size = lanes.size
    if size == 0:
        return
    gaps = 0
    for j in range(size):
        gaps |= lanes[j] ^ (lanes[0] + j)
    if gaps != 0:
        for j in range(size):
            out[j] = uniform(seed, stream, counter, lanes[j])
        return
    # A part of a block, whole blocks, and a part of a block; where nothing is left over, the last costs nothing.
    head = min(size, -lanes[0] % 4)
    n_blocks = (size - head) // 4
    first, whole = np.uint64((lanes[0] + head) // 4), out[head:]
    if head > 0:
        _write_part(seed, stream, counter, lanes[0], out[:head])
    for b in range(n_blocks):
        w0, w1, w2, w3 = block(seed, stream, counter, first + np.uint64(b))
        whole[4 * b] = _unit(w0)
        whole[4 * b + 1] = _unit(w1)
        whole[4 * b + 2] = _unit(w2)
        whole[4 * b + 3] = _unit(w3)
    if head + 4 * n_blocks < size:
        _write_part(seed, stream, counter, lanes[0] + head + 4 * n_blocks, whole[4 * n_blocks :])


@inline_jit
def _write_part(seed: int, stream: int, counter: int, lane: int, out: NDArray[np.float64]) -> None:
    """At most four uniforms from ``lane`` on, all of one block."""
    first = lane % 4
    w0, w1, w2, w3 = block(seed, stream, counter, np.uint64(lane) >> _2)
    if first == 0:
        out[0] = _unit(w0)
    if first <= 1 < first + out.size:
        out[1 - first] = _unit(w1)
    if first <= 2 < first + out.size:
        out[2 - first] = _unit(w2)
    if first + out.size == 4:
        out[3 - first] = _unit(w3)


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
