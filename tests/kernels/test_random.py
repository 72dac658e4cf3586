"""Counter-based random numbers: the published vectors, and statistics with fixed seeds."""

from __future__ import annotations

import secrets

import numpy as np
import pytest
from scipy import stats

from allworlds.foundation.errors import InvalidParameter
from allworlds.kernels.random import as_seed, philox, uniform, uniform_pair, write_uniforms

ONES = 0xFFFFFFFF
VECTORS = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((ONES, ONES, ONES, ONES), (ONES, ONES), (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]
"""Counter, key, answer: the known-answer tests that come with Random123 1.14, philox4x32, ten rounds."""

UNLIKELY = 1e-6
"""A p-value below this, with a seed that was never chosen for the answer, is a defect."""


def pairs(n: int, *, seed: int = 2021, stream: int = 1, lane: int = 0, first: int = 0, step: int = 1) -> np.ndarray:
    """(n, 2) the draws of n counters."""
    return np.array([uniform_pair(seed, stream, first + step * t, lane) for t in range(n)])


def assert_uniform(sample: np.ndarray, bins: int = 32) -> None:
    counts = np.histogram(sample, bins=bins, range=(0.0, 1.0))[0]
    assert counts.sum() == sample.size
    assert stats.chisquare(counts).pvalue > UNLIKELY


def assert_independent(one: np.ndarray, other: np.ndarray, bins: int = 8) -> None:
    """Chi-square against the *known* uniform law on the square: finds dependence and non-uniformity."""
    counts = np.histogram2d(one, other, bins=bins, range=[(0.0, 1.0), (0.0, 1.0)])[0]
    assert counts.sum() == one.size
    assert stats.chisquare(counts.ravel()).pvalue > UNLIKELY


@pytest.mark.parametrize(("counter", "key", "answer"), VECTORS)
def test_philox_gives_the_published_answers(counter, key, answer):
    words = [np.uint64(word) for word in counter + key]
    assert tuple(int(word) for word in philox(*words)) == answer


def test_a_pair_is_made_of_the_published_words():
    # Lane and stream are the upper words of the counter, so the zero vector is seed 0, counter 0.
    w0, w1, w2, w3 = VECTORS[0][2]
    first, second = uniform_pair(0, 0, 0, 0)
    assert first == (w0 * 2**21 + (w1 >> 11)) / 2**53
    assert second == (w2 * 2**21 + (w3 >> 11)) / 2**53


def test_four_lanes_share_the_words_of_a_published_block():
    answer = VECTORS[0][2]
    assert [uniform(0, 0, 0, lane) for lane in range(4)] == [word / 2**32 for word in answer]
    words = philox(*(np.uint64(word) for word in (5, 0, 3, 16, 7, 0)))
    assert [uniform(7, 16, 5, lane) for lane in range(12, 16)] == [int(word) / 2**32 for word in words]


@pytest.mark.parametrize("first", [0, 1, 2, 3, 1001])
@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 5, 7, 8, 10, 37])
def test_many_lanes_at_once_give_what_each_gives_alone(first, size):
    rng = np.random.default_rng([first, size])
    following = np.arange(first, first + size)
    for lanes in (following, 3 * following, following[::-1].copy(), rng.permutation(following)):
        out = np.full(size, np.nan)
        write_uniforms(9, 16, 12, lanes, out)
        assert out.tolist() == [uniform(9, 16, 12, lane) for lane in lanes]


def test_the_lanes_of_one_block_are_uniform_and_independent():
    out = np.empty(40_000)
    write_uniforms(2021, 16, 3, np.arange(40_000), out)
    lanes = out.reshape(-1, 4)
    assert 0.0 <= out.min() <= out.max() < 1.0
    for one in range(4):
        assert_uniform(lanes[:, one])
        for other in range(one):
            assert_independent(lanes[:, one], lanes[:, other])


def test_seed_counter_lane_and_stream_each_have_their_own_words():
    counter, key, (w0, w1, _, _) = VECTORS[2]
    seed = key[0] + 2**32 * key[1]
    number = counter[0] + 2**32 * counter[1]
    # This seed has bit 61 set and this counter bit 63, which an int64 cannot hold: use the largest that fit.
    assert seed < 2**63 <= number
    words = philox(*(np.uint64(word) for word in (counter[0], counter[1] % 2**31, *counter[2:], *key)))
    first, _ = uniform_pair(seed, counter[3], number % 2**63, counter[2])
    assert first == (int(words[0]) * 2**21 + (int(words[1]) >> 11)) / 2**53
    assert first != (w0 * 2**21 + (w1 >> 11)) / 2**53


def test_draws_are_uniform_over_counters():
    sample = pairs(20_000)
    assert sample.min() >= 0.0
    assert sample.max() < 1.0
    assert_uniform(sample[:, 0])
    assert_uniform(sample[:, 1])
    assert stats.kstest(sample.ravel(), "uniform").pvalue > UNLIKELY


def test_all_53_bits_are_fair():
    sample = (pairs(4_000) * 2.0**53).astype(np.uint64).ravel()
    for bit in range(53):
        ones = int((sample >> np.uint64(bit) & np.uint64(1)).sum())
        assert abs(ones - sample.size / 2) < 5 * np.sqrt(sample.size) / 2


def test_the_two_numbers_of_a_pair_are_independent():
    sample = pairs(10_000)
    assert_independent(sample[:, 0], sample[:, 1])


def test_neighbouring_counters_are_independent():
    sample = pairs(10_000)[:, 0]
    assert_independent(sample[:-1], sample[1:])


@pytest.mark.parametrize("other", [{"lane": 1}, {"stream": 2}, {"seed": 2022}, {"first": 2**32}], ids=str)
def test_lanes_streams_seeds_and_far_counters_are_independent(other):
    assert_independent(pairs(10_000)[:, 0], pairs(10_000, **other)[:, 0])


@pytest.mark.parametrize("axis", ["lane", "stream", "seed"])
def test_draws_are_uniform_over_lanes_streams_and_seeds(axis):
    sample = np.array([uniform_pair(*_at(axis, value))[0] for value in range(10_000)])
    assert_uniform(sample)


def _at(axis: str, value: int) -> tuple[int, int, int, int]:
    at = {"seed": 7, "stream": 1, "counter": 5, "lane": 0} | {axis: value}
    return at["seed"], at["stream"], at["counter"], at["lane"]


@pytest.mark.parametrize("seed", [0, 7, 2**63 - 1, np.int64(9), np.uint8(255)])
def test_a_seed_is_any_integer_of_63_bits(seed):
    assert as_seed(seed) == int(seed)
    assert type(as_seed(seed)) is int


@pytest.mark.parametrize("seed", [-1, 2**63, 1.0, 1.5, True, "7", float("nan"), np.float64(3.0), [1]])
def test_any_other_seed_is_refused(seed):
    with pytest.raises(InvalidParameter, match=r"expected an integer from 0 to 2\*\*63 - 1"):
        as_seed(seed)


def test_no_seed_takes_a_fresh_one_from_the_system(monkeypatch):
    asked = []
    monkeypatch.setattr(secrets, "randbits", lambda bits: asked.append(bits) or 41)
    assert as_seed(None) == 41
    assert asked == [63]
