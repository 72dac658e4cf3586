"""Prices and limit orders on real data: the claims of the page, on a small version."""

from __future__ import annotations

import numpy as np
import pytest

import allworlds as aw
import case_pricing as case

BUYERS, SEEDS = 3_000, 8


@pytest.fixture(scope="module")
def curve():
    return case.demand()


def regrets(curve, name, graph, manipulated=False, buyers=BUYERS, seeds=SEEDS):
    gaps, learner = case.gaps_of(curve), aw.make_learner(name, graph)
    shown = [case.shown_to_seller(case.valuations(curve, buyers, seed), manipulated) for seed in range(seeds)]
    return [case.regret_of(learner, values, gaps, seed, [buyers])[0] for seed, values in enumerate(shown)]


def is_smaller(left, right):
    """Whether the mean of ``left - right``, seed by seed, is below 0 with 95 per cent confidence."""
    mean, half = case.interval(np.subtract(left, right))
    return mean + half < 0.0


def test_demand_falls_with_the_price_and_buyers_are_drawn_from_it(curve):
    assert curve["levels"].tolist() == [0.0, 25.0, 50.0, 95.0]
    assert np.all(np.diff(curve["shares"]) < 0.0)
    values = case.valuations(curve, 200_000, 1)
    for price, share in zip(curve["levels"], curve["shares"], strict=True):
        assert np.mean(values >= price) == pytest.approx(share, abs=0.005)
    earned = case.revenue(values).mean(axis=0)
    assert earned.max() - earned == pytest.approx(case.gaps_of(curve), abs=0.01)
    assert case.PRICES[earned.argmax()] == 95.0  # the famous finding: demand is inelastic


@pytest.mark.parametrize("graph", [case.PAIRS, case.FOURS])
def test_follow_up_questions_reveal_a_whole_clique_of_neighbouring_prices(graph):
    questions = {2: 1, 4: 2}[graph.sees(0).size]
    for arm in range(20):
        group = graph.sees(arm)[::-1]  # from low to high prices
        for n_accepted in range(len(group) + 1):  # how many prices of the group the buyer would accept
            low, high, place, asked = 0, len(group), len(group) - 1 - int(np.flatnonzero(group[::-1] == arm)[0]), -1
            while low < high:
                asked += 1
                low, high = (place + 1, high) if place < n_accepted else (low, place)
                place = (low + high - 1) // 2
            assert low == n_accepted
            assert asked <= questions


def test_a_buyer_who_names_a_price_reveals_all_lower_prices():
    for arm in range(20):
        assert case.NAMED.sees(arm).tolist() == list(range(arm, 20))
    assert np.all(np.diff(case.PRICES) < 0.0)


def test_two_questions_save_a_third_of_the_regret_among_few_buyers(curve):
    asked = np.array(regrets(curve, "tsallis-shannon", case.FOURS))
    for name in ("tsallis-shannon", "tsallis-inf"):
        assert is_smaller(asked, 2 / 3 * np.array(regrets(curve, name, case.NONE)))


@pytest.mark.slow
def test_two_questions_save_more_than_half_of_the_regret_among_many_buyers(curve):
    asked = np.array(regrets(curve, "tsallis-shannon", case.FOURS, False, 10_000, 10))
    for name in ("tsallis-shannon", "tsallis-inf", "ucb-n"):
        assert is_smaller(asked, 0.5 * np.array(regrets(curve, name, case.NONE, False, 10_000, 10)))


def test_where_buyers_name_a_price_ucb_n_is_better_than_our_learner(curve):
    assert is_smaller(regrets(curve, "ucb-n", case.NAMED), regrets(curve, "tsallis-shannon", case.FOURS))
    assert is_smaller(regrets(curve, "ucb-n", case.NAMED, True), regrets(curve, "tsallis-shannon", case.FOURS, True))


def test_what_is_inferred_from_yes_and_no_is_a_trap(curve):
    gaps = case.gaps_of(curve)
    values = [case.valuations(curve, BUYERS, seed) for seed in range(4)]
    trusting = [case.trusting_regret(value, gaps) for value in values]
    assert is_smaller(regrets(curve, "ucb-n", case.NONE, seeds=4), trusting)
    assert np.mean(trusting) > 0.5 * BUYERS * gaps.mean()  # hardly better than any price at random


def test_an_order_shows_all_deeper_ones_and_pays_its_discount_if_it_is_filled():
    table = case.apple()
    filled = table["improvement"][:, 1:] > 0.0
    assert np.all(filled[:, :-1] | ~filled[:, 1:])  # where a deeper order is filled, so is each less deep
    assert np.array_equal(table["money"][:, 1:][filled], np.broadcast_to(case.DISCOUNTS[1:], filled.shape)[filled])
    assert table["money"].shape == (1867, 13)


def test_side_observations_of_orders_help_if_they_are_true_and_hurt_if_they_are_false():
    table = case.apple()
    every, false = np.arange(len(table["money"])), case.fake_prints(table["improvement"])

    def made(name, graph, shown, measure="improvement"):
        learner = aw.make_learner(name, graph)
        return [table[measure][every, case.trade(learner, shown, seed)].mean() for seed in range(4)]

    own, deeper = aw.graphs.bandit(13), aw.graphs.total_order(13)
    assert is_smaller(made("ucb-n", own, table["improvement"]), made("ucb-n", deeper, table["improvement"]))
    assert is_smaller(made("ucb-n", deeper, false), made("ucb-n", own, false))
    assert case.interval(made("ucb-n", deeper, table["improvement"], "money"))[0] < 0.0005  # no money at the close


@pytest.mark.slow
def test_after_collusion_thompson_sampling_without_a_question_loses_more_than_our_learner(curve):
    ours = regrets(curve, "tsallis-shannon", case.NONE, True, 10_000, 10)
    assert is_smaller(ours, regrets(curve, "thompson-n", case.NONE, True, 10_000, 10))
