"""The step of a separable regulariser against its optimality conditions, a bracketing solver and its neighbours."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize_scalar

from allworlds.learners.separable import Regulariser, best_index, separable_step
from allworlds.learners.tsallis_inf import tsallis_weights

KINDS = {
    "tsallis": Regulariser(3.0, 0.5, 0.0, 1.0, 0.0),
    "nearly shannon": Regulariser(40.0, 0.07, 0.0, 1.0, 0.0),
    "log barrier": Regulariser(5.0, 1.0, 0.0, 1.0, 0.0),
    "two entropies": Regulariser(30.0, 0.2, 8.0, 0.8, 0.0),
    "hybrid": Regulariser(2.0, 0.5, 0.0, 1.0, 4.0),
}
EACH_KIND = pytest.mark.parametrize("kind", list(KINDS))


def entropy(r, p):
    """``r(p)`` for one arm, written from its definition: minus the integral of ``s``."""

    def part(weight, power):
        return -weight * (np.log(p) if power == 1.0 else p ** (1.0 - power) / (1.0 - power))

    second = part(r.second, r.second_power) if r.second else 0.0
    upper = r.upper * (1.0 - p) * np.log1p(-p) + r.upper * p if r.upper else 0.0
    return part(r.weight, r.power) + second + upper


def by_bracketing(losses, r, mass):
    """Two nested roots by Brent's method, with nothing of ours."""

    def s(p):
        second = r.second * p**-r.second_power if r.second else 0.0
        return r.weight * p**-r.power + second + (r.upper * math.log1p(-p) if r.upper else 0.0)

    def shares(z):
        top = 1.0 - 1e-15
        found = []
        for loss in losses - losses.min():
            goal = loss + z
            if s(top) >= goal:
                found.append(top)
            else:
                found.append(math.exp(brentq(lambda w, g=goal: s(math.exp(w)) - g, -600, math.log(top), rtol=1e-15)))
        return np.array(found)

    low = s(mass) if r.upper == 0.0 else s(0.9) - 60.0 * r.upper
    z = brentq(lambda z: shares(z).sum() - mass, low, s(mass / losses.size), rtol=1e-15)
    return shares(z)


def step(losses, r, mass=1.0, start=1.0):
    out = np.full(losses.size, 1.0 / losses.size)
    z = separable_step(losses, r, mass, start, out)
    return out, z


@EACH_KIND
@pytest.mark.parametrize("mass", [1.0, 0.6])
def test_the_step_agrees_with_a_bracketing_solver(kind, mass):
    rng = np.random.default_rng(1)
    for n_arms in (2, 7, 30):
        for scale in (0.01, 1.0, 200.0):
            losses = rng.exponential(scale, n_arms)
            out, _ = step(losses, KINDS[kind], mass)
            assert out.sum() == pytest.approx(mass, abs=1e-13)
            assert out == pytest.approx(by_bracketing(losses, KINDS[kind], mass), rel=1e-9)


@EACH_KIND
def test_no_neighbour_has_a_lower_objective_and_prices_are_equal(kind):
    """The objective is evaluated as printed; its slopes are taken by finite differences."""
    rng = np.random.default_rng(2)
    r, losses = KINDS[kind], np.array([0.0, 1.0, 2.5, 7.0, 7.5])
    p, _ = step(losses, r)

    def objective(q):
        return losses @ q + entropy(r, q).sum()

    here = objective(p)
    for _ in range(200):
        move = rng.normal(size=5)
        move -= move.mean()
        move *= 0.5 * p.min() / np.abs(move).max()
        assert objective(p + move) > here
    h = 1e-5 * p
    prices = losses + (entropy(r, p + h) - entropy(r, p - h)) / (2.0 * h)
    assert prices == pytest.approx(np.full(5, prices[0]), rel=1e-6, abs=1e-6)


@given(
    kind=st.sampled_from(sorted(KINDS)),
    losses=st.lists(st.floats(0.0, 1e7) | st.sampled_from([0.0, 1.0, 1e-300]), min_size=2, max_size=20),
    start=st.floats(-1e6, 1e6),
    before=st.floats(1e-200, 1.0),
)
def test_from_every_start_the_step_ends_at_the_same_root(kind, losses, start, before):
    array, r = np.array(losses), KINDS[kind]
    out = np.full(array.size, before)
    separable_step(array, r, 1.0, start, out)
    again, _ = step(array, r)
    assert out.sum() == pytest.approx(1.0, abs=1e-13)
    assert out.min() > 0.0
    assert out == pytest.approx(again, rel=1e-10, abs=1e-15)


def test_with_index_one_half_it_is_the_step_of_tsallis_inf():
    rng = np.random.default_rng(3)
    for rate in (0.02, 0.5, 2.0):
        losses, expected = rng.exponential(30.0, 12), np.empty(12)
        tsallis_weights(losses, rate, 1.0, expected)
        out, _ = step(losses, Regulariser(2.0 / rate, 0.5, 0.0, 1.0, 0.0))
        assert out == pytest.approx(expected, rel=1e-11)


def test_one_arm_has_everything():
    for r in KINDS.values():
        assert step(np.array([3.0]), r, 0.75)[0].tolist() == [0.75]


@pytest.mark.parametrize(("n_arms", "independence"), [(5, 5), (10, 3), (100, 1), (10_000, 50)])
def test_the_best_index_minimises_the_bound(n_arms, independence):
    def bound(a):
        return independence * (n_arms / independence) ** (1.0 - a) / (a * (1.0 - a))

    found = minimize_scalar(bound, bounds=(0.01, 0.999), method="bounded", options={"xatol": 1e-10}).x
    assert best_index(n_arms, independence) == pytest.approx(found, abs=1e-6)
