"""Theorem C, its setting and steps 0 to 2: which constants, estimates, prices and masses.

Random rounds of the default learner, and both sides against independent definitions.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from allworlds.foundation.errors import InvalidConstants
from allworlds.ftrl.constants import Constants
from allworlds.ftrl.sharp import rebound, worst_conditional
from allworlds.theory import practical
from allworlds.theory.practical import PracticalRound, covers
from allworlds.theory.practical_coefficients import Numbers, numbers_of
from theory.practical_states import EVERY, Step, late, shipped_run
from theory.states import cover_of


def test_the_states_reach_the_corners(states: list[PracticalRound]) -> None:
    assert min(state.mass.min() for state in states) < 1e-7
    assert sum(bool((state.excess > 0.0).any()) for state in states) > 20
    assert len(late(states, half=True)) > 60
    assert len(late(states)) < 280
    assert max(state.cover.sizes.max() for state in states) >= 25
    baselines = [state.baseline for state in states]
    assert (min(baselines), max(baselines)) == (0.0, 0.85)  # the shipped share: no baseline can be higher
    assert any(state.baseline < state.highest == 0.85 for state in states)


@pytest.mark.parametrize("step", EVERY, ids=lambda step: step.__name__)
def test_every_step_about_any_round_holds(step: Step, states: list[PracticalRound]) -> None:
    for state in states:
        check = step(state)
        assert check.holds, (check, state)


# --- step 0 --------------------------------------------------------------------------------------------


def by_hand_estimates(state: PracticalRound, k: int) -> np.ndarray:
    """The update of the learner, written out arm by arm."""
    clique = list(state.cover.cliques[k])
    q = sum(state.distribution[i] for i in clique)
    raw = {i: (state.losses[i] - state.baseline) / q for i in clique}
    before = min(state.cumulative_losses[i] for i in clique)
    after = min(state.cumulative_losses[i] + raw[i] for i in clique)
    rounds = state.round + state.constants.head_start
    c = state.constants
    limit = state.solution.multiplier + c.deficit_limit * rounds + c.deficit_root * rounds**0.5
    z = max(0.0, after - max(before, limit))
    row = np.zeros(state.cover.n_arms)
    for i in clique:
        row[i] = raw[i] - min(z, max(0.0, raw[i]))
    return row


def test_the_estimates_and_the_bias_are_those_of_the_enumerated_draws(states: list[PracticalRound]) -> None:
    rng = np.random.default_rng(3)
    tight = 0.0
    for state in states:
        rows = [by_hand_estimates(state, k) for k in range(state.cover.n_cliques)]
        np.testing.assert_allclose(state.estimates, rows, rtol=1e-6, atol=1e-6)
        u = rng.dirichlet(np.full(state.cover.n_arms, 0.1))
        expected = sum(state.mass[k] * rows[k] for k in range(state.cover.n_cliques))
        check = practical.bias(state, u)
        gap = (state.losses - expected) @ (state.distribution - u)
        assert check.left == pytest.approx(gap, abs=1e-7)
        raised = sum(
            state.mass[k] * min(state.excess[k], max(0.0, state.raw_estimates[k, i])) * state.distribution[i]
            for k, clique in enumerate(state.cover.cliques)
            for i in clique
        )
        assert raised <= check.right * (1.0 + 1e-9)
        assert check.holds
        if check.right > 1e-6:
            away = np.zeros(state.cover.n_arms)  # a comparator that loses nothing by what was held back
            away[state.best_arm] = 1.0
            tight = max(tight, practical.bias(state, away).ratio)
    assert tight > 0.99


def test_the_deficit_and_the_cost_are_their_formulas(states: list[PracticalRound]) -> None:
    for state in states[:60]:
        sizes, c = state.cover.sizes, state.constants
        rights, lefts = [], []
        for k, clique in enumerate(state.cover.cliques):
            x = 1.0 / math.sqrt(state.mass[k])
            reach = c.alpha[k] + math.log(sizes[k])
            eta = 4.0 * math.sqrt(reach) / math.sqrt(state.round + 300.0)
            rights.append(reach * x / (2.0 * eta) + (c.beta + 1.25 * state.highest) * x**2)
            lefts.append(min(state.cumulative_losses[i] for i in clique) - state.solution.multiplier)
            limit = max(reach / 0.0256, 50.0 * (c.beta + 1.25 * 0.85 + 1.0))  # theta eta0 = 0.16; 2 / theta = 50
            assert state.numbers.limits[k] == pytest.approx(limit, rel=1e-12)
        check = practical.deficit(state)
        assert check.ratio == pytest.approx(max(a / b for a, b in zip(lefts, rights, strict=True)), rel=1e-6)
        cost = practical.bias_cost(state)
        assert cost.left == pytest.approx(sum(q * q * z for q, z in zip(state.mass, state.excess, strict=True)))
        assert cost.right == pytest.approx(state.numbers.limits.sum() / (state.round + 300.0))


def test_the_mass_of_a_clique_that_is_held_back_is_small(states: list[PracticalRound]) -> None:
    ratios = [practical.held_back_mass(state).ratio for state in states if (state.excess > 0.0).any()]
    assert 0.1 < max(ratios) <= 1.0  # the bound leaves the root of the limit out, so early rounds are far below it


# --- steps 1 and 2 -------------------------------------------------------------------------------------


def test_the_price_is_the_multiplier_and_its_derivatives_are_those_of_the_proof(states: list[PracticalRound]) -> None:
    for state in states[:60]:
        losses = state.cumulative_losses
        for k, clique in enumerate(state.cover.cliques):
            q = float(state.mass[k])
            price = state.price(k, q, losses)
            scale = 1.0 + abs(price) + state.barrier / q
            assert price == pytest.approx(state.solution.multiplier, abs=1e-8 * scale)
            y = state.distribution[clique] / state.distribution[clique].sum()
            log_y = np.log(np.maximum(y, 1e-300))
            entropy = -(y @ log_y)
            weights = y * (1.0 + (log_y + entropy) / 2.0)
            assert weights.sum() == pytest.approx(1.0, abs=1e-9)
            if q > 1e-3:
                for j, i in enumerate(clique[:4]):
                    bump = np.zeros_like(losses)
                    bump[i] = 1e-4 * (1.0 + 1.0 / state.rates[k])
                    rise = state.price(k, q, losses + bump) - state.price(k, q, losses - bump)
                    assert rise / (2.0 * bump[i]) == pytest.approx(weights[j], abs=1e-4)
                slope = (state.price(k, q * 1.0001, losses) - state.price(k, q * 0.9999, losses)) / (q * 0.0002)
                assert state.price_slope(k, q, losses) == pytest.approx(slope, rel=1e-4)


def test_the_changes_of_the_price_are_differences_of_prices(states: list[PracticalRound]) -> None:
    for state in states[:100]:
        cliques = range(state.cover.n_cliques)
        after = [state.price(k, state.mass[k], state.cumulative_losses + state.estimates[k]) for k in cliques]
        before = [state.price(k, state.mass[k], state.cumulative_losses) for k in cliques]
        changes = (np.array(after) - before) * state.mass
        down, up = practical.price_falls(state), practical.price_rises(state)
        n = rebound(int(state.cover.sizes.max()))
        assert (down.left, up.left) == (pytest.approx((-changes).max()), pytest.approx(changes.max()))
        assert (down.right, up.right) == (pytest.approx(state.baseline + n), pytest.approx(1.0 - state.baseline + n))


def test_the_fall_of_a_price_reaches_the_baseline_and_a_loss_can_lower_a_price() -> None:
    cover = cover_of([1, 1])
    constants = Constants.practical(cover)
    state = PracticalRound(cover, constants, 5000, 0.85, 0.85, np.zeros(2), np.zeros(2), 0)
    assert practical.price_falls(state).ratio == pytest.approx(1.0, abs=1e-9)
    state = PracticalRound(cover, constants, 5000, 0.25, 0.85, np.zeros(2), np.ones(2), 0)
    assert practical.price_rises(state).ratio == pytest.approx(1.0, abs=1e-9)
    # 29 light arms lose: the price of the whole clique falls, although no loss is negative
    cover = cover_of([30, 1])
    cumulative = np.zeros(31)
    light = list(cover.cliques[0][1:])
    falls = []
    for gap in np.linspace(0.0, 400.0, 200):
        cumulative[light] = gap
        losses = np.zeros(31)
        losses[light] = 1e-3
        state = PracticalRound(cover, Constants.practical(cover), 10**5, 0.0, 0.0, cumulative.copy(), losses, 0)
        falls.append(practical.price_falls(state).left / 1e-3)
    assert max(falls) == pytest.approx(rebound(30), rel=0.02)


def test_the_drawn_mass_obeys_its_equation(states: list[PracticalRound]) -> None:
    used = []
    for state in states:
        lefts = []
        for k in range(state.cover.n_cliques):
            q, after = state.mass[k], state.half_mass[k, k]
            tau = min(1.0, math.sqrt(q / after))
            lefts.append(0.5 * math.sqrt(q) / state.rates[k] * (1.0 - tau) + state.barrier * (1.0 - tau**2))
        check = practical.drawn_mass(state)
        assert check.left == pytest.approx(max(lefts), abs=1e-12)
        used.append(check.ratio)
        growth = practical.mass_growth(state)
        assert growth.left == pytest.approx(max(state.half_mass[k, k] / state.mass[k] for k in range(len(lefts))))
        n = rebound(int(state.cover.sizes.max()))
        assert growth.right == pytest.approx(state.barrier / (state.barrier - state.baseline - n))
    assert max(used) > 0.9


def test_a_rare_clique_grows_by_almost_rho() -> None:
    cover = cover_of([1, 1])
    c = Constants.practical(cover)
    state = PracticalRound(cover, c, 10**4, 0.85, 0.85, np.array([0.0, 1e8]), np.zeros(2), 0)
    check = practical.mass_growth(state)
    assert check.right == pytest.approx(1.2625 / 0.4125)  # beta_t = 0.2 + 1.25 * 0.85, and n = 0
    assert 0.95 < check.ratio <= 1.0
    whole = dataclasses.replace(c, baseline_share=1.0)
    state = PracticalRound(cover, whole, 10**4, 1.0, 1.0, np.array([0.0, 1e8]), np.zeros(2), 0)
    check = practical.mass_growth(state)
    assert check.right == pytest.approx(1.45 / 0.45)
    assert 0.95 < check.ratio <= 1.0


def test_the_curvature_is_attained_by_single_arms_and_nearly_by_the_worst_conditional() -> None:
    cover = cover_of([1, 1])
    state = PracticalRound(cover, Constants.practical(cover), 10, 0.0, 0.0, np.zeros(2), np.zeros(2), 0)
    assert practical.curvature(state).ratio == pytest.approx(1.0, rel=1e-12)
    for size in (2, 10, 30):  # (H + alpha - Var) / 4 is at least kappa
        y = worst_conditional(size, 0.25)
        entropy = -(y @ np.log(y))
        spread = y @ (np.log(y) + entropy) ** 2
        alpha = 1.0 + spread / 0.75 - entropy
        assert (entropy + alpha - spread) / 4.0 >= 0.25


@pytest.mark.parametrize("size", [2, 3, 10, 100, 1000])
def test_the_rebound_is_the_largest_over_the_simplex(size: int) -> None:
    rng = np.random.default_rng(size)

    def value(y: np.ndarray) -> float:
        y = y[y > 0.0]
        log_y = np.log(y)
        return float((y * np.maximum(0.0, -(1.0 + (log_y - y @ log_y) / 2.0))).sum())

    points = [rng.dirichlet(np.full(size, 10.0 ** rng.uniform(-2.0, 1.0))) for _ in range(500)]
    two_levels = [
        np.concatenate([[1.0 - m], np.full(size - 1, m / (size - 1))]) for m in np.linspace(1e-4, 0.9999, 2000)
    ]
    assert max(value(y) for y in points) <= rebound(size) + 1e-12
    assert max(value(y) for y in two_levels) == pytest.approx(rebound(size), rel=1e-4, abs=1e-6)


def growth_at(beta: float, slope: float, n: float, b: float, highest: float) -> float:
    barrier = beta + slope * highest
    return (barrier / (barrier - b - n)) ** 1.5 * max(b, 1.0 - b) ** 2


def largest_growth(beta: float, slope: float, n: float, share: float) -> float:
    """By brute force over all pairs ``b <= highest <= share``, then on a fine grid with ``highest = b``."""
    coarse = np.linspace(0.0, share, 61)
    pairs = max(growth_at(beta, slope, n, b, top) for b in coarse for top in coarse[coarse >= b])
    fine = max(growth_at(beta, slope, n, b, b) for b in np.linspace(0.0, share, 12001))
    assert pairs <= fine
    assert fine <= pairs * 1.01
    return fine


def test_the_growth_of_the_theorem_is_the_largest_of_any_round(states: list[PracticalRound]) -> None:
    for state in states:
        assert state.growth <= state.numbers.growth * (1.0 + 1e-12)
    for sizes in ([1, 1], [10, 2], [1000, 1]):
        numbers = numbers_of(sizes)
        c, n = numbers.constants, numbers.rebound
        assert numbers.growth == pytest.approx(largest_growth(c.beta, 1.25, n, 0.85), rel=1e-6)
        for share in (0.0, 0.3, 0.6, 1.0):
            other = Numbers(np.array(sizes), dataclasses.replace(c, baseline_share=share))
            assert other.growth == pytest.approx(largest_growth(c.beta, 1.25, n, share), rel=1e-6)
    shipped = Constants.practical(cover_of([1, 1]))
    inner = Numbers(np.array([1, 1]), dataclasses.replace(shipped, beta=0.05, barrier_slope=3.0))
    inside = largest_growth(0.05, 3.0, 0.0, 0.75)
    assert inner.growth == pytest.approx(inside, rel=1e-6)
    ends = [(2.3 / 1.55) ** 1.5 * 0.75**2, (1.55 / 1.05) ** 1.5 * 0.25, 1.0]  # b = 3/4, 1/2 and 0
    assert inside > 1.2 * max(ends)  # the largest value lies inside
    flat = Numbers(np.array([1, 1]), dataclasses.replace(shipped, beta=2.0, barrier_slope=0.0, baseline_share=0.3))
    assert flat.growth == pytest.approx(1.0)  # at b = 0; at 0.3 it is (2 / 1.7)^1.5 0.7^2
    steep = Numbers(np.array([10, 2]), dataclasses.replace(shipped, beta=5.0, barrier_slope=3.0, rate_factor=()))
    assert steep.growth == pytest.approx((5.0 / (5.0 - rebound(10))) ** 1.5)  # the largest value is at b = 0
    assert steep.growth == pytest.approx(largest_growth(5.0, 3.0, rebound(10), 0.75), rel=1e-6)
    short = Numbers(np.array([1, 1]), dataclasses.replace(shipped, beta=0.05, barrier_slope=3.0, baseline_share=0.01))
    assert short.growth == pytest.approx((0.08 / 0.07) ** 1.5 * 0.99**2, rel=1e-12)  # the share ends before that place


def test_from_a_half_on_a_higher_baseline_only_makes_the_growth_larger() -> None:
    rng = np.random.default_rng(4)
    for _ in range(300):
        n, slope = rng.uniform(0.0, 3.0), rng.uniform(0.0, 4.0)
        beta = max(n, n + 1.0 - slope) + 10.0 ** rng.uniform(-3.0, 1.0)  # a barrier above b + n for every b up to 1
        values = [growth_at(beta, slope, n, b, b) for b in np.linspace(0.5, 1.0, 200)]
        assert np.all(np.diff(values) > 0.0)


# --- what the theorem is about -------------------------------------------------------------------------


def test_the_shipped_constants_are_covered_for_every_cover() -> None:
    for sizes in ([1, 1], [2, 1], [10] * 10, [300, 1], [7, 3, 100]):
        cover = cover_of(sizes)
        assert covers(Constants.practical(cover), cover)
        assert covers(Constants.sharp(cover), cover)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"implicit_exploration": 1.0}, "implicit_exploration"),
        ({"gamma": 1e-6}, "gamma"),
        ({"power": 0.4}, "power"),
        ({"variance_floor": 0.5, "baseline_share": 1.0}, "variance_floor"),
        ({"alpha": (1.0, 1.0)}, "alpha is 1 for clique 0"),
        ({"alpha": (1.0,), "rate_factor": ()}, "1 alphas for 2 cliques"),
        ({"beta": 0.0}, "baseline b = 0"),
        ({"barrier_slope": 0.5}, "baseline b = 0.85;"),
        ({"barrier_slope": 0.75, "baseline_share": 1.0}, "baseline b = 1;"),
        ({"barrier_slope": 0.5, "baseline_share": 0.6}, "baseline b = 0.6;"),
        ({"memory": 0.0}, "baseline b = 1;"),
    ],
)
def test_other_constants_are_refused_with_the_reason(change: dict[str, object], reason: str) -> None:
    cover = cover_of([3, 1])
    verdict = covers(dataclasses.replace(Constants.practical(cover), **change), cover)
    assert not verdict
    assert reason in verdict.reason


@pytest.mark.parametrize("share", [0.0, 0.3, 0.75, 1.0])
@pytest.mark.parametrize("sizes", [[1, 1], [3, 1], [100, 2]])
def test_the_condition_is_needed_up_to_the_share_and_no_further(sizes: list[int], share: float) -> None:
    cover = cover_of(sizes)
    base = dataclasses.replace(Constants.practical(cover), baseline_share=share)
    n = rebound(max(sizes))
    verdicts = []
    for slope in (0.0, 0.5, 0.7, 0.74, 0.77, 0.81, 1.0, 1.25):
        grid = np.linspace(0.0, share, 101)
        room = min(base.beta + slope * b - b - n for b in grid)  # the barrier is lowest if b is the highest so far
        verdict = covers(dataclasses.replace(base, barrier_slope=slope), cover)
        assert bool(verdict) == (room > 0.0)
        assert f"by {room:g} " in verdict.reason
        verdicts.append(bool(verdict))
    assert verdicts[-1]
    assert verdicts[0] == (share < base.beta - n)


def test_one_clique_is_another_matter() -> None:
    cover = cover_of([3])
    assert "one clique" in covers(Constants.practical(cover), cover).reason
    with pytest.raises(InvalidConstants, match="Theorem C does not hold"):
        numbers_of([3])


# --- the shipped learner -------------------------------------------------------------------------------


def test_the_shipped_learner_adds_the_estimates_of_the_theorem() -> None:
    held = 0
    baseline = 0.0
    for sizes, seed in (([3, 1, 2], 1), ([1] * 6, 2)):
        states, drawn, added = shipped_run(sizes, 400, seed)
        highest = baseline = 0.0
        for t, (state, k, row) in enumerate(zip(states, drawn, added, strict=True), start=1):
            expected = state.estimates[k]
            size = 1.0 + np.abs(state.cumulative_losses).max()
            np.testing.assert_allclose(row, expected, rtol=1e-6, atol=1e-8 * size)
            held += bool(state.excess[k] > 0.0)
            assert 0.0 <= state.baseline <= state.highest <= 0.85
            highest = max(highest, state.baseline)
            assert state.highest == highest
            assert t == 1 or abs(state.baseline - baseline) <= 0.85 * 20.0 / (t + 99.0) * (1.0 + 1e-12)
            baseline = state.baseline
    assert held > 0
