"""Tsallis-INF: the paper's learner on single arms, the published rules, and a step that cannot fail."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba.core import config
from scipy.optimize import brentq

from allworlds import graphs
from allworlds.covers import clique_cover
from allworlds.foundation.errors import InvalidParameter
from allworlds.ftrl import Constants
from allworlds.kernels.random import uniform_pair
from allworlds.learners import TsallisINF, TsallisShannon
from allworlds.learners.tsallis_inf import tsallis_weights
from allworlds.learners.tsallis_shannon_round import resolve

N_ROUNDS = 150 if config.DISABLE_JIT else 3000


def losses_of(t, n_arms):
    means = np.linspace(0.2, 0.8, n_arms)
    return (np.random.default_rng([3, t]).uniform(size=n_arms) < means).astype(float)


def weights_by_bracketing(losses, rate):
    """4 (eta (L - x))^-2 that sum to one, the root found by Brent's method between its two limits."""
    below = np.asarray(losses) - np.min(losses)

    def excess(x):
        return np.sum(4.0 / (rate * (below - x)) ** 2) - 1.0

    low, high = -2.0 * math.sqrt(below.size) / rate, -2.0 / rate
    x = high if excess(high) <= 0 else low if excess(low) >= 0 else brentq(excess, low, high, xtol=1e-300, rtol=1e-15)
    return 4.0 / (rate * (below - x)) ** 2


def test_importance_weighting_is_the_papers_learner_on_single_arms():
    n_arms = 7
    cover = clique_cover(graphs.bandit(n_arms))
    mine, theirs = TsallisINF(cover.graph), TsallisShannon(cover, Constants((2.0,) * n_arms, 0.0, 0.0, 1.0))
    one, other = mine.init(), theirs.init()
    for t in range(1, N_ROUNDS + 1):
        if t % 10 == 1:
            # each round is within 1e-9 on equal losses; importance weights would add up what differs
            packed = theirs.pack(other) | {"cumulative_losses": one.cumulative_losses.copy()}
            other = theirs.unpack(packed)
            resolve(other, 0)
            assert mine.distribution(one) == pytest.approx(theirs.distribution(other), rel=1e-9)
        pair = uniform_pair(11, 9, t, 0)
        ticket, same = mine.draw(one, *pair), theirs.draw(other, *pair)
        assert ticket.arm == same.arm
        seen = losses_of(t, n_arms)[[ticket.arm]]
        mine.update(one, ticket, seen)
        theirs.update(other, same, seen)
    assert one.cumulative_losses == pytest.approx(theirs.cumulative_losses(other), rel=1e-9)


def test_reduced_variance_follows_the_published_rule():
    n_arms = 5
    learner = TsallisINF(graphs.bandit(n_arms), estimator="rv")
    state = learner.init()
    total = np.zeros(n_arms)
    reduced_rounds = 0
    for t in range(1, 401):
        rate = 4.0 / math.sqrt(t)
        p = weights_by_bracketing(total, rate)
        assert learner.distribution(state) == pytest.approx(p, rel=1e-9)
        first, second = uniform_pair(12, 9, t, 0)
        ticket = learner.draw(state, first, second)
        assert ticket.arm == int(np.searchsorted(np.cumsum(p), first, side="right"))
        losses = losses_of(t, n_arms)
        baseline = 0.5 * (p >= rate**2)
        reduced_rounds += baseline.any()
        chosen = np.arange(n_arms) == ticket.arm
        total = total + np.where(chosen, (losses - baseline) / p, 0.0) + baseline
        learner.update(state, ticket, losses[[ticket.arm]])
    assert 300 < reduced_rounds < 400
    assert state.cumulative_losses == pytest.approx(total, rel=1e-9)


@pytest.mark.parametrize("estimator", ["iw", "rv"])
@pytest.mark.parametrize("n_between", [0, 60])
def test_estimates_are_right_on_average_even_when_the_outcome_comes_late(estimator, n_between):
    n_arms = 4
    learner = TsallisINF(graphs.bandit(n_arms), estimator)

    def go_on(state, first, last):
        for t in range(first, last):
            ticket = learner.draw(state, *uniform_pair(13, 9, t, 0))
            learner.update(state, ticket, losses_of(t, n_arms)[[ticket.arm]])

    state = learner.init()
    go_on(state, 1, 200)
    p = learner.distribution(state)
    tickets = [learner.draw(state, p[:i].sum() + p[i] / 2, 0.0) for i in range(n_arms)]
    go_on(state, 200, 200 + n_between)
    packed = learner.pack(state)
    losses = np.array([0.3, 0.9, 0.0, 1.0])
    mean = np.zeros(n_arms)
    for i, ticket in enumerate(tickets):
        assert ticket.arm == i
        copy = learner.unpack(packed)
        learner.update(copy, ticket, losses[[i]])
        mean += p[i] * (copy.cumulative_losses - packed["cumulative_losses"])
    assert mean == pytest.approx(losses, abs=1e-11)


@given(
    losses=st.lists(st.floats(0.0, 1e9) | st.sampled_from([0.0, 1.0, 1e-300, 1e15]), min_size=1, max_size=40),
    rate=st.floats(1e-4, 4.0),
    start=st.floats(1.0, 1e3),
)
def test_from_every_start_the_step_ends_at_the_root(losses, rate, start):
    array, out = np.array(losses), np.empty(len(losses))
    z = tsallis_weights(array, rate, start, out)
    distances = rate * (array - array.min()) / 2.0
    assert 1.0 <= z <= math.sqrt(len(losses)) * (1 + 1e-14)
    assert np.sum((distances + z) ** -2.0) == pytest.approx(1.0, abs=1e-13)
    assert out == pytest.approx((distances + z) ** -2.0, rel=1e-12)
    assert out.sum() == pytest.approx(1.0, abs=1e-14)


def test_the_step_agrees_with_a_bracketing_solver_from_one_arm_to_thousands():
    rng = np.random.default_rng(5)
    for n_arms in (1, 2, 10, 300, 5000):
        for scale in (1e-6, 1.0, 1e4):
            losses = rng.exponential(scale, n_arms)
            out = np.empty(n_arms)
            tsallis_weights(losses, 0.37, 1.0, out)
            assert out == pytest.approx(weights_by_bracketing(losses, 0.37), rel=1e-9)


def test_the_two_kinds_have_their_names_and_no_other_kind_is_taken():
    graph = graphs.bandit(3)
    assert [TsallisINF(graph, kind).title for kind in ("iw", "rv")] == ["tsallis-inf", "tsallis-inf-rv"]
    with pytest.raises(InvalidParameter, match="estimator is 'ix'; expected 'iw' or 'rv'"):
        TsallisINF(graph, "ix")
