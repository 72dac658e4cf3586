"""The clock against the formulas of docs/default_proof.md and of the unproved setting, written down again in Python."""

from __future__ import annotations

import math

import numpy as np
import pytest

import allworlds as aw
from allworlds.covers import clique_cover
from allworlds.ftrl.clock import BARRIER, DAMPING, HIGHEST, MEAN, RATE, ROUND, excess_of, new_clock, rates_of, tick
from allworlds.graphs import disjoint_cliques

COVER = clique_cover(disjoint_cliques(2, 3))
LOSSES = (1.0, 0.9, 0.2, 0.0, 0.7, 1.0, 1.0, 0.1, 0.4, 0.6, 0.0, 0.3)


def changed(setting, **fields):
    return aw.Constants(**{**vars(setting(COVER)), **fields, "label": "changed"})


def play_clock(constants, losses=LOSSES):
    """The clocks before each round."""
    rates = rates_of(constants)
    clock = new_clock(rates)
    clocks = [clock.copy()]
    for loss in losses:
        tick(clock, rates, loss)
        clocks.append(clock.copy())
    return clocks


@pytest.mark.parametrize("share", [1.0, 0.75, 0.5])
@pytest.mark.parametrize("memory", [20.0, 300.0])  # with 300 the first steps go the whole way
def test_the_baseline_is_a_share_of_a_mean_that_moves_ever_more_slowly(share, memory):
    constants = changed(aw.Constants.practical, baseline_share=share, memory=memory)
    mean = highest = 0.0
    for t, clock in enumerate(play_clock(constants), start=1):
        highest = max(highest, share * mean)
        assert clock[ROUND] == t
        assert clock[MEAN] == pytest.approx(share * mean, abs=1e-15)
        assert clock[HIGHEST] == pytest.approx(highest, abs=1e-15)
        assert clock[BARRIER] == pytest.approx(constants.beta + constants.barrier_slope * highest, rel=1e-14)
        assert clock[RATE] == pytest.approx(4.0 / math.sqrt(t + 300), rel=1e-14)
        assert clock[DAMPING] == 0.0
        if t <= len(LOSSES):
            mean += min(1.0, memory / (t + 100)) * (LOSSES[t - 1] - mean)


@pytest.mark.parametrize("floor", [0.05, 0.3, 1.0])
def test_barrier_and_damping_of_the_unproved_setting_follow_the_variance(floor):
    constants = changed(aw.Constants.unproved, variance_floor=floor)
    mean, variance, head = 0.5, 0.25, constants.head_start
    shares = set()
    for t, clock in enumerate(play_clock(constants, (0.5,) * 30 + LOSSES), start=1):
        share = min(1.0, max(floor, 4.0 * variance))
        shares.add(round(share, 6))
        assert clock[MEAN] == pytest.approx(mean, rel=1e-13)
        assert clock[BARRIER] == pytest.approx(constants.beta * share, rel=1e-13)
        assert clock[DAMPING] == pytest.approx(constants.implicit_exploration * share / (t + head), rel=1e-13)
        if t <= 30 + len(LOSSES):
            loss = ((0.5,) * 30 + LOSSES)[t - 1]
            rounds, before = t + head + 1, loss - mean
            mean += before / min(rounds, 20.0)
            variance += (before * (loss - mean) - variance) / min(rounds, 200.0)
    assert floor == 1.0 or len(shares) > 3  # the share really moved


@pytest.mark.parametrize("power", [0.5, 0.25, 1.0, 0.0])
def test_the_rate_falls_with_the_given_power_of_the_rounds(power):
    constants = changed(aw.Constants.sharp, power=power, head_start=7.0)
    for t, clock in enumerate(play_clock(constants), start=1):
        assert clock[RATE] == pytest.approx(constants.eta0 * (t + 7.0) ** -power, rel=1e-14)


@pytest.mark.parametrize(
    ("before", "after", "excess"),
    [
        (0.0, 88.0, 0.4),  # 11.6 + 0.04 * 400 + 3 * 20 is the limit
        (0.0, 87.0, 0.0),
        (150.0, 151.0, 1.0),  # already above: no further rise
        (150.0, 145.0, 0.0),  # falling is never held back
    ],
)
def test_an_estimate_is_held_back_by_what_exceeds_the_deficit_limit(before, after, excess):
    rates = rates_of(changed(aw.Constants.practical, deficit_root=3.0))
    clock = new_clock(rates)
    clock[ROUND] = 100.0
    assert excess_of(clock, rates, 11.6, before, after) == pytest.approx(excess, abs=1e-12)


def test_a_new_clock_has_seen_nothing():
    clock = new_clock(rates_of(aw.Constants.practical(COVER)))
    assert clock[ROUND] == 1.0
    assert (clock[[MEAN, HIGHEST, DAMPING]] == 0.0).all()
    short = new_clock(rates_of(aw.Constants.unproved(COVER)))
    assert short[MEAN] == 0.5
    assert np.isfinite(short).all()
