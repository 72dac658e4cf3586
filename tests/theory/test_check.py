from __future__ import annotations

import math

from allworlds.theory import Check


def test_a_check_holds_when_left_is_at_most_right() -> None:
    assert Check("", "", 1.0, 2.0).holds
    assert not Check("", "", 2.0, 1.0).holds
    assert Check("", "", 1.0, 2.0).slack == 1.0
    assert Check("", "", 1.0, 2.0).ratio == 0.5


def test_rounding_is_forgiven_relative_to_the_sides_or_to_the_given_scale() -> None:
    assert Check("", "", 1.0 + 1e-10, 1.0).holds
    assert not Check("", "", 1e-10, 0.0).holds
    assert Check("", "", 1e-10, 0.0, scale=1.0).holds
    assert not Check("", "", 1e-10, 0.0, scale=1.0, tolerance=1e-12).holds


def test_what_is_not_a_number_does_not_hold() -> None:
    assert not Check("", "", math.nan, 1.0).holds
    assert not Check("", "", 1.0, math.nan).holds


def test_nothing_used_of_nothing_is_nothing() -> None:
    assert Check("", "", 0.0, 0.0).ratio == 0.0
    assert Check("", "", 1.0, 0.0).ratio == math.inf


def test_the_rounding_of_large_numbers_is_forgiven_once_and_no_more() -> None:
    assert Check("", "", 1.0 + 5e-8, 1.0, rounding=1e-7).holds
    assert not Check("", "", 1.0 + 2e-7, 1.0, rounding=1e-7).holds


def test_room_is_relative_to_the_sides_or_to_the_scale() -> None:
    assert Check("", "", 9.0, 10.0).room == 0.1
    assert Check("", "", 0.0, 0.25).room == 1.0
    assert Check("", "", 0.0, 0.25, scale=1.0).room == 0.25
    assert Check("", "", 1.0, 2.0, rounding=0.5).room == 0.75
    assert Check("", "", 0.0, 0.0).room == math.inf


def test_a_check_forgives_a_billionth_unless_told_otherwise() -> None:
    check = Check("", "", 1.0, 2.0)
    assert (check.scale, check.tolerance, check.rounding) == (0.0, 1e-9, 0.0)
    assert Check("", "", 1.0, 1.0).holds
    assert not Check("", "", 1.0 + 2e-9, 1.0).holds


def test_the_size_of_a_check_is_its_larger_side_or_its_scale() -> None:
    assert Check("", "", -3.0, 2.0).size == 3.0
    assert Check("", "", 1.0, -2.0).size == 2.0
    assert Check("", "", 1.0, 2.0, scale=5.0).size == 5.0
    assert Check("", "", -1.0, 0.0).ratio == 0.0
