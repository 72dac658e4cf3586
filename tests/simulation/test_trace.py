from __future__ import annotations

import sys

import numpy as np
import pytest

from allworlds.foundation.errors import InvalidParameter, MissingExtra
from allworlds.simulation import Trace, record_rounds


@pytest.mark.parametrize("horizon", [1, 2, 7, 150, 200, 201, 1_000, 30_000, 100_000, 10**7, 10**12])
def test_records_go_from_the_first_round_to_the_horizon(horizon):
    rounds = record_rounds(horizon)
    assert (rounds[0], rounds[-1]) == (1, horizon)
    assert (np.diff(rounds) > 0).all()
    assert rounds.size <= 200


@pytest.mark.parametrize("horizon", [10_000, 100_000, 10**7])
def test_about_two_hundred_records_are_evenly_spaced_in_the_logarithm(horizon):
    rounds = record_rounds(horizon)
    assert rounds.size > 130
    late = rounds[rounds > 100].astype(float)
    steps = np.diff(np.log(late))
    assert steps.max() / steps.min() < 1.5  # rounds are whole numbers


def test_short_runs_are_recorded_in_every_round():
    assert record_rounds(20).tolist() == list(range(1, 21))


@pytest.mark.parametrize("horizon", [0, -3, 1.5, 10.0, True, "many", None])
def test_a_horizon_that_is_no_number_of_rounds_is_refused(horizon):
    with pytest.raises(InvalidParameter, match=r"horizon is .*; expected an integer of at least 1"):
        record_rounds(horizon)


def a_trace(**changes) -> Trace:
    fields = {
        "learner": "mine",
        "world": "stochastic",
        "seed": 3,
        "horizon": 10,
        "rounds": np.array([1, 10]),
        "pseudo_regret": np.array([0.25, 1.5]),
        "clean_regret": np.array([0.25, 2.5]),
        "realised_regret": np.array([1.0, 1.0]),
        "corruption": np.zeros(2),
        "clique_mass": None,
        "regret_bound": None,
        "held_back": None,
        "handed_over": None,
        "counts": np.array([6, 4]),
        "seconds": 2.0,
    }
    return Trace(**(fields | changes))


def test_a_trace_knows_its_regret_and_its_speed():
    trace = a_trace()
    assert trace.final_regret == 1.5
    assert trace.rounds_per_second == 5.0
    assert a_trace(seconds=0.0).rounds_per_second == float("inf")
    assert repr(trace) == "Trace(mine in stochastic, 10 rounds, regret 1.5)"


def test_a_trace_is_read_and_not_written():
    with pytest.raises(ValueError, match="read-only"):
        a_trace().pseudo_regret[0] = 0.0


def test_a_trace_becomes_a_table_with_a_row_for_each_recorded_round():
    pytest.importorskip("pandas")
    masses = np.array([[0.5, 0.5], [0.75, 0.25]])
    bound, held_back = np.array([1.0, 3.0]), np.array([0.0, 0.5])
    table = a_trace(clique_mass=masses, regret_bound=bound, held_back=held_back, handed_over=7).to_pandas()
    assert (table.index.name, table.index.tolist()) == ("round", [1, 10])
    assert table.to_dict("list") == {
        "pseudo_regret": [0.25, 1.5],
        "clean_regret": [0.25, 2.5],
        "realised_regret": [1.0, 1.0],
        "corruption": [0.0, 0.0],
        "regret_bound": [1.0, 3.0],
        "held_back": [0.0, 0.5],
        "handed_over": [False, True],
        "clique_mass_0": [0.5, 0.75],
        "clique_mass_1": [0.5, 0.25],
    }
    assert list(a_trace().to_pandas()) == ["pseudo_regret", "clean_regret", "realised_regret", "corruption"]


def test_without_pandas_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtra, match=r'pandas is not installed; try pip install "allworlds\[tables\]"'):
        a_trace().to_pandas()
