"""Counter-based random numbers: a draw is a pure function of (seed, stream, counter, lane).

A generator with a hidden state must be stepped in order, saved, split and locked. A counter-based one
has no state: the u-th number can be asked for directly, from any thread, in any order, for ever. A saved
agent needs two integers, a world can be started at any round, and equal seeds give equal losses whatever
else runs.

The function is Philox4x32 with ten rounds (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as
easy as 1, 2, 3", SC 2011). Its four 32-bit words make two doubles in [0, 1).
"""

from __future__ import annotations

import secrets
from numbers import Integral

import numpy as np

from allworlds.errors import InvalidParameter
from allworlds.kernels.jit import jit

Word = np.uint64

STREAM_AGENT = 1
"""Streams keep users of one seed apart; worlds and learners will have their own."""

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


@jit
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


@jit
def uniform_pair(seed: int, stream: int, counter: int, lane: int) -> tuple[float, float]:
    """Two independent uniforms in [0, 1), each with 53 random bits; ``stream`` and ``lane`` fit 32 bits."""
    key = np.uint64(seed)
    count = np.uint64(counter)
    w0, w1, w2, w3 = philox(count & _LOW, count >> _HALF, np.uint64(lane), np.uint64(stream), key & _LOW, key >> _HALF)
    first = float((w0 << np.uint64(21)) ^ (w1 >> np.uint64(11))) * _TO_UNIT
    second = float((w2 << np.uint64(21)) ^ (w3 >> np.uint64(11))) * _TO_UNIT
    return first, second
