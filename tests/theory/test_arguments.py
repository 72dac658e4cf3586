"""What the bounds accept and refuse, at the very edges."""

from __future__ import annotations

import math

import numpy as np
import pytest

from allworlds.foundation.errors import InvalidParameter
from allworlds.theory import arguments


def test_sizes_are_positive_integers_in_one_row() -> None:
    assert arguments.checked_sizes([1, 4]).tolist() == [1, 4]
    assert arguments.checked_sizes(np.array([3], dtype=np.uint8)).tolist() == [3]
    for wrong in ([], np.array([], dtype=int), [[1, 2]], [1.0], [0, 1], [-1], 3, ["a"], [[1], [1, 2]]):
        with pytest.raises(InvalidParameter, match="a positive integer for each clique"):
            arguments.checked_sizes(wrong)


def test_a_play_is_a_distribution_in_every_round_up_to_rounding() -> None:
    off = 0.9e-6
    assert arguments.checked_play([[0.5, 0.5]], [0.5 + 1e-6], 0).shape == (1, 2)  # the limit itself
    q = arguments.checked_play([[0.5, 0.5], [0.0, 1.0]], [0.5, 0.0], 0)
    assert q.tolist() == [[0.5, 0.5], [0.0, 1.0]]
    assert arguments.checked_play([[0.5, 0.5 + off]], [0.5 + off], 0, n_cliques=2).shape == (1, 2)
    for mass, others in (
        ([[0.5, 0.5 + 2e-6]], [0.0]),
        ([[0.5, 0.5 - 2e-6]], [0.0]),
        ([[1.0 + 1e-9, -1e-9]], [0.0]),
        ([[0.5, 0.5], [0.5, 0.6]], [0.0, 0.0]),
    ):
        with pytest.raises(InvalidParameter, match="is not a distribution"):
            arguments.checked_play(mass, others, 0)
    for others in ([0.5 + 2e-6], [-1e-9]):
        with pytest.raises(InvalidParameter, match="others is below 0"):
            arguments.checked_play([[0.5, 0.5]], others, 0)


def test_the_shapes_of_a_play_belong_together() -> None:
    for mass, others in (
        ([0.5, 0.5], [0.0, 0.0]),
        ([[0.5, 0.5]], [0.0, 0.0]),
        ([[1.0]], [[0.0]]),
        (np.ones((1, 0)), [0.0]),
    ):
        with pytest.raises(InvalidParameter, match="T and K at least 1"):
            arguments.checked_play(mass, others, 0)
    with pytest.raises(InvalidParameter, match="2 columns but there are 3"):
        arguments.checked_play([[0.5, 0.5]], [0.0], 0, n_cliques=3)
    with pytest.raises(InvalidParameter, match="best_clique is 2; expected an integer from 0 to 1"):
        arguments.checked_play([[0.5, 0.5]], [0.0], 2)


def test_masses_are_probabilities_one_a_round() -> None:
    assert arguments.checked_masses("half", [0.0, 1.0, 1.0 + 0.9e-6], 3).tolist() == [0.0, 1.0, 1.0 + 0.9e-6]
    for wrong in ([0.0, 0.5], [0.0, 0.5, 1.0 + 2e-6], [-1e-9, 0.0, 0.0], [0.0, 0.0, math.nan], [[0.0, 0.0, 0.0]]):
        with pytest.raises(InvalidParameter, match="expected 3 numbers from 0 to 1, one a round"):
            arguments.checked_masses("half", wrong, 3)


def test_gaps_go_from_zero_to_one() -> None:
    assert arguments.checked_gaps([0.0, 1.0], 2).tolist() == [0.0, 1.0]
    for wrong in ([0.0], [0.0, 1.0 + 1e-9], [-1e-9, 0.5], [math.nan, 0.5]):
        with pytest.raises(InvalidParameter, match="2 numbers from 0 to 1"):
            arguments.checked_gaps(wrong, 2)
