"""q-FTRL against the printed rule, the step of Tsallis-INF, its bound, and arms that do not see themselves."""

from __future__ import annotations

import math

import networkx
import numpy as np
import pytest
from numba.core import config
from scipy.optimize import brentq

from allworlds import graphs, play_many
from allworlds.foundation.errors import InvalidGraph, InvalidParameter, InvalidState
from allworlds.graphs import FeedbackGraph
from allworlds.graphs.changing import changing
from allworlds.kernels.random import uniform_pair
from allworlds.learners import QFTRL
from allworlds.learners.by_name import make_learner
from allworlds.learners.q_ftrl import step
from allworlds.learners.tsallis_inf import tsallis_weights
from allworlds.worlds import one_good_arm

N_ROUNDS = 60 if config.DISABLE_JIT else 300
GRAPHS = {
    "bandit": networkx.empty_graph(4),
    "full information": networkx.complete_graph(6),
    "cycle": networkx.cycle_graph(7),
    "star": networkx.star_graph(5),
}
ALPHA = {"bandit": 4, "full information": 1, "cycle": 3, "star": 5}


def losses_of(t, n_arms):
    return (np.random.default_rng([6, t]).uniform(size=n_arms) < np.linspace(0.2, 0.8, n_arms)).astype(float)


def loopless_clique(n_arms):
    pairs = [(i, j) for i in range(n_arms) for j in range(n_arms) if i != j]
    return FeedbackGraph(n_arms, pairs, directed=True, self_loops=False)


def by_brent(losses, eta, q):
    """``q / (1 - q) p^(q - 1) = eta (L - x)`` with ``x`` such that ``p`` sums to one."""
    below = eta * (losses - losses.min())

    def shares(x):
        return ((1 - q) / q * (below + x)) ** (-1 / (1 - q))

    scale = q / (1 - q)
    return shares(brentq(lambda x: shares(x).sum() - 1, 0.9 * scale, 1.1 * scale * losses.size ** (1 - q), rtol=1e-15))


@pytest.mark.parametrize("horizon", [None, 1000])
@pytest.mark.parametrize("shape", list(GRAPHS))
def test_every_round_follows_the_rule(shape, horizon):
    graph, alpha = GRAPHS[shape], ALPHA[shape]
    n, sees = len(graph), networkx.to_numpy_array(graph) + np.eye(len(graph))
    learner = QFTRL(FeedbackGraph.from_networkx(graph), horizon)
    c = math.log(n / alpha)
    q = 0.5 * (1 + c / (math.sqrt(c * c + 4) + 2))
    assert (learner.independence, learner.index) == (alpha, pytest.approx(q))
    estimates, state = np.zeros(n), learner.init()
    for t in range(1, N_ROUNDS + 1):
        eta = math.sqrt(2 * q * n ** (1 - q) / ((horizon or t) * (1 - q) * alpha**q))
        p = by_brent(estimates, eta, q)
        assert learner.distribution(state) == pytest.approx(p, rel=1e-9)
        ticket = learner.draw(state, *uniform_pair(1, 9, t, 0))
        losses = losses_of(t, n)
        estimates = estimates + sees[ticket.arm] * losses / (sees @ p)
        learner.update(state, ticket, losses[learner.observes(ticket.arm)])


def test_index_one_half_is_the_step_of_tsallis_inf():
    """``psi_(1/2) = 2 - 2 sum sqrt(p)``: the weights of Tsallis-INF at twice the rate, which is ``sqrt(2 / t)``."""
    learner = QFTRL(graphs.bandit(6), index=0.5)
    state, expected = learner.init(), np.empty(6)
    for t in range(1, 200):
        tsallis_weights(state.cumulative_losses, 2.0 * math.sqrt(2.0 / t), 1.0, expected)
        assert learner.distribution(state) == pytest.approx(expected, rel=1e-9)
        ticket = learner.draw(state, *uniform_pair(2, 9, t, 0))
        learner.update(state, ticket, losses_of(t, 6)[[ticket.arm]])


@pytest.mark.parametrize("favourite", [0.0, 6.0])
@pytest.mark.parametrize("graph", [loopless_clique(4), graphs.star(4)], ids=["loopless", "star"])
def test_estimates_are_right_on_average(graph, favourite):
    """Also of a favourite that does not see itself, whose estimate would otherwise be huge."""
    learner = QFTRL(graph, horizon=10)
    state = learner.init()
    state.cumulative_losses[:] = [0.0, favourite, 1.5 * favourite, favourite]
    step(state)
    p, packed, losses = learner.distribution(state), learner.pack(state), np.array([0.3, 1.0, 0.0, 0.7])
    assert (p[0] > 0.5) == (favourite > 0.0)
    mean, largest = np.zeros(4), 0.0
    for arm in range(4):
        copy = learner.unpack(packed)
        ticket = learner.draw(copy, p[:arm].sum() + p[arm] / 2, 0.0)
        assert ticket.arm == arm
        assert ticket.shifted == (0 if favourite and not graph.self_loops[0] else -1)
        learner.update(copy, ticket, losses[learner.observes(arm)])
        change = copy.cumulative_losses - packed["cumulative_losses"]
        largest = max(largest, change[0])
        mean += p[arm] * change
    assert mean == pytest.approx(losses, rel=1e-9)
    if favourite and not graph.self_loops[0]:
        assert largest == pytest.approx(1.0)  # it never jumps up: 1 where it is not seen, less where it is


def test_on_changing_graphs_the_distribution_waits_for_no_graph_and_alpha_is_the_average():
    turns = changing([graphs.bandit(6), graphs.full_information(6)], told="after")
    assert QFTRL(turns).independence == 3.5
    assert QFTRL(changing(graphs.full_information(6), probability=0.5)).independence == 6.0
    assert QFTRL(turns, independence=2).independence == 2.0
    runs = play_many(QFTRL(turns), one_good_arm(6, gap=0.4), 300, range(2))
    assert all(math.isfinite(trace.final_regret) for trace in runs)
    with pytest.raises(InvalidGraph, match="arm 0 sees arm 1 but not the other way round, which q-ftrl does not take"):
        QFTRL(FeedbackGraph(2, [(0, 1)], directed=True, self_loops=True))


@pytest.mark.compiled
@pytest.mark.parametrize("anytime", [False, True])
def test_the_published_bound_holds_where_the_gap_is_hardest_and_is_not_far(anytime):
    n_arms, horizon = 12, 20_000
    for graph, alpha in ((graphs.disjoint_cliques(3, 4), 3), (graphs.bandit(n_arms), 12), (loopless_clique(12), 1)):
        gap = 2.0 * math.sqrt(alpha / horizon)
        learner = QFTRL(graph, None if anytime else horizon)
        regret = np.mean(
            [trace.final_regret for trace in play_many(learner, one_good_arm(n_arms, gap=gap), horizon, range(8))]
        )
        bound = 2 * math.sqrt(math.e * alpha * horizon * (2 + math.log(n_arms / alpha)))
        assert 0.04 * bound < regret < 0.5 * bound


def test_impossible_options_and_tickets_raise():
    graph = graphs.cycle(5)
    with pytest.raises(InvalidParameter, match=r"index is 1\.5; expected a number above 0 and below 1"):
        QFTRL(graph, index=1.5)
    with pytest.raises(InvalidParameter, match=r"independence is 0\.5; expected a finite number of at least 1"):
        QFTRL(graph, independence=0.5)
    assert make_learner("q-ftrl:index=0.7", graph, horizon=100) == QFTRL(graph, 100, 0.7)
    learner = QFTRL(graph)
    fields = learner.draw(learner.init(), 0.5, 0.5)._asdict()
    with pytest.raises(InvalidState, match="a ticket's shifted arm is 5; expected an integer from -1 to 4"):
        learner.ticket(list((fields | {"shifted": 5}).values()))
