"""Checks of arguments: one order of arguments, one grammar of errors, and sharp edges."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from allworlds.foundation.checks import check_arms, flag, index, integers, numbers, real, shorten, whole
from allworlds.foundation.errors import InvalidCover, InvalidGraph, InvalidParameter


@pytest.mark.parametrize("value", [1, np.int64(1), np.uint8(1), 2**62 - 1])
def test_integers_of_python_and_numpy_are_whole(value: int) -> None:
    assert whole("n", value) == value
    assert type(whole("n", value)) is int


@pytest.mark.parametrize("value", [0, -1, 1.0, True, np.bool_(True), "1", None, math.nan, np.array(1)])
def test_what_is_not_an_integer_of_at_least_one_is_named(value: object) -> None:
    with pytest.raises(InvalidParameter, match=r"n is .*; expected an integer of at least 1$"):
        whole("n", value)


def test_integers_have_an_upper_end() -> None:
    with pytest.raises(InvalidGraph, match=r"n is \d+; expected an integer below 2\*\*62"):
        whole("n", 2**62, error=InvalidGraph)
    with pytest.raises(InvalidParameter, match="n is 6; expected an integer from 0 to 5"):
        whole("n", 6, at_least=0, at_most=5)


def test_an_index_is_one_of_so_many() -> None:
    assert [index("arm", arm, 3) for arm in (0, np.int64(2))] == [0, 2]
    for wrong in (-1, 3, 1.0, True, None):
        with pytest.raises(InvalidParameter, match=r"arm is .*; expected an integer from 0 to 2$"):
            index("arm", wrong, 3)


def test_real_numbers_keep_to_their_bounds() -> None:
    assert real("p", 0, at_least=0, at_most=1) == 0.0
    assert real("p", np.float32(1), at_least=0, at_most=1) == 1.0
    assert real("p", Fraction(1, 4), above=0) == 0.25
    assert real("p", -1e300) == -1e300
    for bounds, expected in (
        ({"above": 0, "at_most": 1}, "a number above 0 and at most 1"),
        ({"at_least": 0, "at_most": 1}, "a number from 0 to 1"),
        ({"above": 0}, "a finite number above 0"),
        ({"at_least": 0}, "a finite number of at least 0"),
    ):
        for wrong in (-0.1, math.nan, math.inf, -math.inf, True, "1", None, 10**400):
            with pytest.raises(InvalidParameter, match=rf"^p is .*; expected {expected}$"):
                real("p", wrong, **bounds)
    with pytest.raises(InvalidParameter, match="p is 0; expected a finite number above 0"):
        real("p", 0, above=0)
    with pytest.raises(InvalidParameter, match=r"p is 1\.5; expected a number at most 1"):
        real("p", 1.5, at_most=1)
    assert real("level", 0.95, above=0, below=1) == 0.95
    with pytest.raises(InvalidParameter, match=r"^level is 1\.0; expected a number above 0 and below 1$"):
        real("level", 1.0, above=0, below=1)


def test_a_flag_is_true_or_false_and_nothing_else() -> None:
    assert flag("on", True) is True
    assert flag("on", np.bool_(False)) is False
    for wrong in (0, 1, None, "yes"):
        with pytest.raises(InvalidParameter, match=r"on is .*; expected True or False"):
            flag("on", wrong)


def test_integers_keep_their_shape_and_nothing_is_rounded() -> None:
    assert integers("edges", [(0, 1), (2, 3)]).shape == (2, 2)
    assert integers("edges", iter([4])).tolist() == [4]
    assert integers("edges", []).dtype == np.int64
    for wrong, error in (
        ([0.5], "edges is .*, of type float64; expected integers"),
        ([[0], [1, 2]], "expected integers in a regular shape"),
        (3, "edges is 3; expected integers in a regular shape"),
        (np.array([2**63], dtype=np.uint64), r"edges contains 9223372036854775808; expected integers below 2\*\*63"),
    ):
        with pytest.raises(InvalidCover, match=error):
            integers("edges", wrong, InvalidCover)


def test_numbers_are_a_copy_in_the_same_shape():
    given = np.zeros((2, 3))
    assert numbers("levels", given).shape == (2, 3)
    assert not np.shares_memory(numbers("levels", given), given)
    assert np.isnan(numbers("levels", [np.nan, 1])[0])
    assert numbers("levels", [Fraction(1, 2), 2, 10**30]).tolist() == [0.5, 2.0, 1e30]
    assert numbers("levels", []).shape == (0,)
    for wrong in ([[1], [2, 3]], ["a"], [None, object()], [10**400], ["0.1", "0.5"], [True, False], [True, 10**30], 1j):
        with pytest.raises(InvalidGraph, match=r"levels is .*; expected numbers in a regular shape"):
            numbers("levels", wrong, InvalidGraph)


def test_numbers_that_are_not_arms_are_named() -> None:
    check_arms("clique 0", np.array([0, 4]), 5)
    with pytest.raises(InvalidGraph, match="clique 0 contains 5; expected arms from 0 to 4"):
        check_arms("clique 0", np.array([0, 5]), 5, InvalidGraph)


def test_long_values_are_cut() -> None:
    assert shorten([1, 2]) == "[1, 2]"
    assert len(shorten(list(range(1000)))) == 60
