"""The black box of Dann, Wei and Zimmert against its three layers, each solved by SciPy."""

from __future__ import annotations

import math

import networkx
import numpy as np
import pytest
from scipy.optimize import brentq

from allworlds import graphs, play
from allworlds.covers import clique_cover
from allworlds.foundation.errors import InvalidGraph, InvalidState
from allworlds.graphs import FeedbackGraph
from allworlds.kernels.random import uniform_pair
from allworlds.learners.by_name import make_learner
from allworlds.learners.dann_blackbox import DannBlackbox, second_of_two, tsallis_step
from allworlds.worlds import one_good_arm, switching

DIRECTED = FeedbackGraph.from_networkx(networkx.gnp_random_graph(6, 0.3, seed=2, directed=True))
GRAPHS = {
    "two arms": graphs.bandit(2),
    "bandit": graphs.bandit(4),
    "full information": graphs.full_information(5),
    "cliques": graphs.disjoint_cliques([6, 5, 1]),
    "directed": DIRECTED,
}
SHAPES = pytest.mark.parametrize("shape", list(GRAPHS))


def solved_two(losses, rate):
    """``argmin <q, Z> - (2 / eta) sum sqrt(q)``, by the zero of its derivative."""

    def slope(q):
        return losses[0] - losses[1] - (q**-0.5 - (1 - q) ** -0.5) / rate

    return brentq(slope, 1e-14, 1 - 1e-14, xtol=1e-15)


def solved_base(losses, rate, power):
    """``argmin <L, p> - sum p^b / (b (1 - b) eta)``, by the multiplier of its constraint."""

    def masses(multiplier):
        return ((1 - power) * rate * (losses - multiplier)) ** (-1 / (1 - power))

    ends = [losses.min() - 10 * len(losses) / ((1 - power) * rate), losses.min() - 1 / ((1 - power) * rate)]
    if len(losses) == 1:
        return np.ones(1)
    return masses(brentq(lambda multiplier: masses(multiplier).sum() - 1, *ends, xtol=1e-14))


@SHAPES
def test_every_round_follows_the_three_layers(shape):
    """Round by round from the learner's own sums: it divides by small numbers, so that rounding errors would grow."""
    graph = GRAPHS[shape]
    n, sees, log_n = graph.n_arms, graph.adjacency().astype(float), math.log(graph.n_arms)
    alphas = [clique_cover(each).n_cliques for each in (graph.mutual(), graph.symmetrised())]
    m = min(alphas[0], alphas[1] * log_n)
    power, c = max(0.5, 1 - 1 / log_n), 0.05 * m * log_n
    learner = DannBlackbox(graph, scale=0.05)
    assert learner.size == m
    state, candidate, epochs, before = learner.init(), None, 0, 0
    elapsed, z, q_spent, estimates, counts = 0, np.zeros(2), 0.0, np.zeros(n), np.zeros(n)
    for t in range(1, 400):
        ticket = learner.draw(state, *uniform_pair(1, 9, t, 0))
        candidate = ticket.candidate if candidate is None else candidate
        others = np.flatnonzero(np.arange(n) != candidate)
        local = elapsed + 1
        q1 = solved_two(z - [0, math.sqrt(c * q_spent)], 1 / (math.sqrt(local) + 8 * math.sqrt(c)))
        q = (1 - 1 / (2 * local**2)) * np.array([q1, 1 - q1]) + 1 / (4 * local**2)
        base = np.zeros(n)
        base[others] = solved_base(estimates[others], math.sqrt(log_n / ((q_spent + 1 / q[1]) * (1 + m))), power)
        expected = q[1] * base
        expected[candidate] = q[0]
        assert ticket.candidate == candidate
        assert np.allclose(learner.distribution(state), expected if t > 1 else 1 / n, rtol=1e-9, atol=1e-12)
        losses = np.random.default_rng([2, t]).uniform(size=n)
        if t < 350:  # one arm is good until it is the candidate; then another
            losses = 0.6 + 0.4 * losses
            losses[others[0]] = 0.0
        learner.update(state, ticket, losses[learner.observes(ticket.arm)])
        chosen = int(ticket.arm != candidate)
        if chosen:
            chance = q[1] * (base @ sees)
            estimates[others] += (sees[ticket.arm] * losses)[others] / np.maximum(chance[others], 1e-300)
        z = z - 1
        z[chosen] += (losses[ticket.arm] + 1) / q[chosen]
        q_spent, elapsed = q_spent + 1 / q[1], elapsed + 1
        counts[ticket.arm] += 1
        beaten = [x for x in range(n) if x != candidate and counts[x] >= elapsed / 2]
        if elapsed >= 2 * before and beaten:
            candidate = beaten[0] if len(beaten) == 1 else ticket.arm
            before, epochs = elapsed, epochs + 1
            elapsed, z, q_spent, estimates, counts = 0, np.zeros(2), 0.0, np.zeros(n), np.zeros(n)
        for mine, theirs in ((z, state.side_losses), (estimates, state.base_losses), (q_spent, state.clock[5])):
            assert np.allclose(mine, theirs, rtol=1e-9, atol=1e-9)
        z, estimates, q_spent = state.side_losses.copy(), state.base_losses.copy(), float(state.clock[5])
    assert state.clock[1] == epochs >= 2


@pytest.mark.parametrize("lead", [-1e6, -30.0, -0.1, 0.0, 1e-9, 2.0, 1e4])
def test_the_choice_between_two_meets_its_condition(lead):
    second, first = second_of_two(lead), second_of_two(-lead)
    assert first + second == pytest.approx(1.0, abs=1e-12)
    assert first**-0.5 - second**-0.5 == pytest.approx(lead, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("power", [0.5, 0.8])
def test_the_base_learner_meets_the_condition_of_its_step(power):
    """``L_i - p_i^(b - 1) / ((1 - b) eta)`` is the same for all arms but the candidate."""
    losses, out = np.array([3.0, 0.0, 400.0, 1.0, 2.5]), np.empty(5)
    for rate in (1e-3, 0.1, 10.0):
        tsallis_step(losses, 3, rate, power, out)
        assert out[3] == 0.0
        assert out.sum() == pytest.approx(1.0, abs=1e-14)
        slopes = np.delete(losses, 3) - np.delete(out, 3) ** (power - 1) / ((1 - power) * rate)
        assert np.ptp(slopes) <= 1e-9 * max(1.0, np.abs(slopes).max())


@SHAPES
def test_estimates_of_both_layers_are_unbiased(shape):
    learner = DannBlackbox(GRAPHS[shape])
    n, state = learner.n_arms, learner.init()
    for t in range(1, 12):
        ticket = learner.draw(state, *uniform_pair(4, 9, t, 0))
        learner.update(state, ticket, np.linspace(0.2, 0.9, n)[learner.observes(ticket.arm)])
    packed = learner.pack(state)
    packed["clock"][4] = 1e6  # no epoch ends now
    p, base, candidate = learner.distribution(state), state.base.copy(), int(packed["clock"][2])
    losses, edges = np.linspace(1.0, 0.3, n), np.concatenate([[0.0], np.cumsum(p)])
    lhat, z = np.zeros(n), np.zeros(2)
    for arm in range(n):
        copy = learner.unpack(packed)
        ticket = learner.draw(copy, (edges[arm] + edges[arm + 1]) / 2, 0.0)
        assert ticket.arm == arm
        learner.update(copy, ticket, losses[learner.observes(arm)])
        lhat += p[arm] * (copy.base_losses - packed["base_losses"])
        z += p[arm] * (copy.side_losses - packed["side_losses"])
    expected = losses.copy()
    expected[candidate] = 0.0
    assert np.allclose(lhat, expected, rtol=1e-9)
    assert np.allclose(z, [losses[candidate], base @ losses], rtol=1e-9)


def test_the_first_candidate_is_uniform_and_the_arm_itself_in_half_of_the_draws():
    learner = DannBlackbox(graphs.bandit(4))
    state, counts, grid = learner.init(), np.zeros((4, 4)), (np.arange(48) + 0.5) / 48
    before = [array.tobytes() for array in (state.base, state.distribution, state.clock)]
    for first in grid.tolist():
        for second in grid.tolist():
            ticket = learner.draw(state, first, second)
            counts[ticket.arm, ticket.candidate] += 1
    assert np.allclose(counts / 48**2, np.full((4, 4), 1 / 24) + np.eye(4) * (1 / 8 - 1 / 24))
    assert [array.tobytes() for array in (state.base, state.distribution, state.clock)] == before


def test_an_outcome_of_another_candidate_is_counted_but_not_learnt():
    learner = DannBlackbox(graphs.bandit(4))
    state = learner.init()
    late = learner.draw(state, 0.1, 0.1)
    now = learner.draw(state, 0.9, 0.1)
    assert (late.candidate, now.candidate) == (0, 3)
    learner.update(state, now, np.array([0.5]))
    kept = [state.base_losses.copy(), state.side_losses.copy(), state.counts.copy()]
    learner.update(state, late, np.array([1.0]))
    assert learner.round(state) == 3
    assert all(np.array_equal(a, b) for a, b in zip(kept, state[:3], strict=True))


@pytest.mark.slow
@pytest.mark.compiled
def test_regret_is_far_below_that_of_chance_in_both_worlds_and_flattens_in_the_stochastic_one():
    graph, horizon = graphs.disjoint_cliques(3, 4), 100_000
    friendly = [play(DannBlackbox(graph), one_good_arm(12, gap=0.25), horizon, seed) for seed in range(4)]
    hostile = [play(DannBlackbox(graph), switching(12, gap=0.25), horizon, seed) for seed in range(4)]
    chance = 0.25 * 11 / 12 * horizon
    assert np.mean([trace.final_regret for trace in friendly]) < chance / 8
    assert np.mean([trace.final_regret for trace in hostile]) < chance / 4
    halves = [np.interp(horizon / 2, trace.rounds, trace.pseudo_regret) / trace.final_regret for trace in friendly]
    assert np.mean(halves) > 0.85  # a root would have 0.71


def test_the_registry_hands_over_options():
    cover = clique_cover(graphs.cycle(5))
    assert make_learner("dann-blackbox", cover) == DannBlackbox(cover) == DannBlackbox(cover.graph)
    assert make_learner("dann-blackbox:size=2,scale=0.1", cover) == DannBlackbox(cover, 2.0, 0.1)


def test_what_is_left_out_is_refused():
    with pytest.raises(InvalidGraph, match="arm 0 does not see itself, which dann-blackbox does not take"):
        DannBlackbox(FeedbackGraph(3, [(0, 1), (1, 2), (0, 2)], self_loops=False))
    learner = DannBlackbox(graphs.cycle(5))
    fields = learner.draw(learner.init(), 0.5, 0.5)._asdict()
    with pytest.raises(InvalidState, match="a ticket's candidate is 5; expected an integer from 0 to 4"):
        learner.ticket(list((fields | {"candidate": 5}).values()))
