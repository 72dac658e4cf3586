"""Lines of JSON from a kernel: every number reads back to the one that was written."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import allworlds as aw
from allworlds.agents.log_files import Lists, Words, as_dictionaries, json_lines
from allworlds.agents.log_rows import Block
from allworlds.agents.log_text import DOUBLE, LEAST, MOST, SHARE, SMALL, WHOLE, WORD, gather, text_of

NUMBERS = st.floats(LEAST, MOST, exclude_min=True, exclude_max=True)
HARD = [0.0, 0.1, 0.3, 1.0, 5e-5, 9.999999999999999e-5, 2.0**-30, 2.0**53 - 1.0, 1763495000.123456, 1e15 + 0.125]
HARD += [float(x) for k in range(-269, 16) for x in (10.0**k, np.nextafter(10.0**k, 0), np.nextafter(10.0**k, 1e300))]


def as_lines(columns):
    return text_of(gather(columns))


def read(text):
    return [json.loads(line)["x"] for line in text.splitlines()]


@given(st.lists(NUMBERS | NUMBERS.map(lambda x: -x) | st.floats(0.001, 1.0), min_size=1, max_size=20))
@example(HARD)
def test_a_number_in_full_reads_back_to_the_same_bits(numbers):
    found = read(as_lines({"x": (DOUBLE, np.array(numbers))}))
    assert found == numbers
    assert all(isinstance(value, float) for value in found)


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=20))
@example([1.0, 1.0 - 1e-12, 0.1, 1e-44, 0.0, 0.99999999949, 1e-5, 0.09999999999])
def test_a_probability_reads_back_to_the_same_one_in_single_precision(numbers):
    found = read(as_lines({"x": (SHARE, np.array(numbers))}))
    for value, number in zip(found, numbers, strict=True):
        assert value == (0.0 if number <= SMALL else pytest.approx(number, rel=5.1e-9))


def test_short_numbers_are_written_short():
    text = as_lines({"x": (DOUBLE, np.array([0.1, 0.25, 120.0, 1.5e-9, -0.0625, 7e14]))})
    assert [line[6:-1] for line in text.decode().splitlines()] == [
        "0.1",
        "0.25",
        "120.0",
        "1.5e-9",
        "-0.0625",
        "700000000000000.0",
    ]


def test_rows_of_all_kinds_say_what_json_says():
    lists = Lists(np.array([0.5, np.nan, 3.0]), np.array([2, 0, 1]), np.array([False, True, False]))
    columns = {
        "word": (WORD, Words(np.array([1, 0, 1]), ['a "quoted" one', "größer"])),
        "whole": (WHOLE, np.array([12, -305, 0])),
        "unknown": (WHOLE, np.array([1.0, np.nan, 2.0])),
        "list": (DOUBLE, lists),
        "other": (WORD, Words(np.zeros(3, np.int64), ["x"])),
    }
    assert [json.loads(line) for line in as_lines(columns).splitlines()] == [
        {"word": "größer", "whole": 12, "unknown": 1, "list": [0.5, None], "other": "x"},
        {"word": 'a "quoted" one', "whole": -305, "unknown": None, "list": None, "other": "x"},
        {"word": "größer", "whole": 0, "unknown": 2, "list": [3.0], "other": "x"},
    ]


@pytest.mark.parametrize("number", [1e-300, 5e-324, 1e17])
def test_a_number_beyond_the_kernel_is_written_all_the_same(number):
    assert as_lines({"x": (DOUBLE, np.array([0.5, number]))}) is None
    text = json_lines({"loss": np.array([0.5, number])})()
    assert [json.loads(line)["loss"] for line in text.splitlines()] == [0.5, number]


def test_a_loss_as_small_as_can_be_survives_a_log(tmp_path):
    agent = aw.Agent(aw.graphs.disjoint_cliques(1, 2), seed=1, log=tmp_path / "log.jsonl")
    agent.observe(agent.choose(), [5e-324, 0.25])
    agent.log.flush()
    assert list(aw.load_log(tmp_path / "log.jsonl")["losses"][0]) == [5e-324, 0.25]


def test_both_ways_of_writing_say_the_same():
    agent = aw.Agent(aw.graphs.disjoint_cliques(2, 2), seed=1, log=[].append)
    block = Block(agent.log._block.era)
    for _ in range(5):
        decision = agent.choose()
        block.chose(decision, decision.arm, 12.5, agent.distribution, None)
        block.ended(decision, decision.arm, 1, 13.25, np.array([0.1, 1 / 3]))
    columns = block.columns(256)
    plain = as_dictionaries(columns)
    for row, line in zip(plain, json_lines(columns)().splitlines(), strict=True):
        found = json.loads(line)
        assert found.pop("probabilities") == pytest.approx(row.pop("probabilities"), rel=1e-7)
        assert found == row
