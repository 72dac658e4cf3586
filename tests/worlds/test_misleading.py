"""A world that says which graph a round has, and the one whose graph hides the best arm."""

from __future__ import annotations

import math

import numpy as np
import pytest

from allworlds import make_learner, play, run_race
from allworlds.foundation.errors import InvalidGraph, InvalidParameter
from allworlds.graphs import bandit, changing, cycle, loss_dependent, misleading_edges, random_edges, star
from allworlds.simulation import record_rounds
from allworlds.simulation.python_loop import python_loop
from allworlds.worlds import Reactive, corrupted, misleading_graph, stochastic

GAP, BEST, N_ARMS, ROUNDS = 0.15, 1, 4, 3000


@pytest.fixture(scope="module")
def rounds():
    """(T, N) losses and (T, N, N) who sees whom, of one run."""
    world = misleading_graph(N_ARMS, GAP, BEST)
    times = range(1, ROUNDS + 1)
    losses = np.array([[world.loss(3, t, arm) for arm in range(N_ARMS)] for t in times])
    return losses, np.array([world.graph_of(t, 3).adjacency() for t in times])


def near(share, chance, count):
    return abs(share - chance) <= 4.5 * math.sqrt(chance * (1 - chance) / count) + 1e-12


def test_edges_have_the_published_probabilities_given_the_losses(rounds):
    losses, sees = rounds
    lost = losses[:, BEST] == 1.0
    for i in range(N_ARMS):
        for j in range(N_ARMS):
            if i == j:
                assert sees[:, i, j].all()
            elif j == BEST:
                assert sees[lost, i, j].all()
                assert near(sees[~lost, i, j].mean(), (1 - 2 * GAP) / (1 + 2 * GAP), (~lost).sum())
            else:
                assert near(sees[:, i, j].mean(), 1 - 2 * GAP, ROUNDS)


def test_the_best_arm_looks_like_the_others_to_all_but_itself(rounds):
    losses, sees = rounds
    assert near(losses[:, BEST].mean(), 0.5 - GAP, ROUNDS)
    for j in range(N_ARMS):
        seen = sees[:, 3 if j != 3 else 0, j]
        assert near(losses[seen, j].mean(), 0.5, seen.sum())


@pytest.mark.parametrize("name", ["exp3-ix", "exp3-set", "ucb-n", "thompson-n"])
def test_both_loops_play_on_the_graphs_of_the_world(name):
    world = misleading_graph(N_ARMS, GAP, BEST)
    learner = make_learner(name, world.graph)
    one = play(learner, world, 200, 5)
    other = python_loop(learner, world, 200, 5, record_rounds(200))
    assert one.counts.tolist() == other.counts.tolist()


class Watcher:
    """Plays the arms in turn and keeps what it is shown; it has no graph, so the world's holds."""

    def __init__(self):
        self.shown = []

    def choose(self):
        return len(self.shown) % N_ARMS

    def observe(self, arm, losses):
        self.shown.append(losses)


@pytest.mark.parametrize("attack", [None, "best-worst"])
def test_a_plain_learner_without_a_graph_is_shown_what_the_world_says(attack):
    world = misleading_graph(N_ARMS, GAP, BEST)
    world = world if attack is None else corrupted(world, 20, attack)
    watcher = Watcher()
    play(watcher, world, 100, 2)
    for t, shown in enumerate(watcher.shown, start=1):
        expected = world.graph_of(t, 2, 100).sees((t - 1) % N_ARMS).tolist()
        assert shown == {j: world.loss(2, t, j, 100) for j in expected}
    if attack:  # the graph follows the loss as it is met
        assert all(len(world.graph_of(t, 2, 100).seen_by(BEST)) == N_ARMS for t in range(1, 20))


def test_any_world_may_have_a_fixed_or_changing_graph_and_so_may_one_of_your_own():
    turns = changing([star(N_ARMS), cycle(N_ARMS)], period=2)

    class Mine(Reactive):
        n_arms, graph = N_ARMS, turns

        def losses(self, round):
            return np.full(N_ARMS, 0.25)

    for world, graph_of in (
        (stochastic([0.5] * N_ARMS).with_graph(star(N_ARMS)), lambda t: star(N_ARMS)),
        (stochastic([0.5] * N_ARMS).with_graph(turns), turns.graph_of),
        (Mine(), turns.graph_of),
    ):
        watcher = Watcher()
        play(watcher, world, 8, 1)
        assert [list(shown) for shown in watcher.shown] == [
            graph_of(t).sees((t - 1) % N_ARMS).tolist() for t in range(1, 9)
        ]


def test_a_learner_for_another_graph_is_refused_before_anything_runs(tmp_path):
    world = misleading_graph(N_ARMS, GAP)
    with pytest.raises(InvalidParameter, match=r"the learner was made for another; expected one made for world.graph"):
        play(make_learner("ucb-n", bandit(N_ARMS)), world, 10)
    with pytest.raises(InvalidParameter, match=r"depends on the losses of a world, and 'stochastic' has no graph"):
        play(make_learner("exp3-ix", world.graph), stochastic([0.5] * N_ARMS), 10)
    with pytest.raises(InvalidParameter, match=r"was made for another"):
        run_race("bandit:4", ["misleading-graph:gap=0.15"], ["ucb-n"], 10, 1, out=tmp_path / "race")
    assert not (tmp_path / "race").exists()
    with pytest.raises(InvalidGraph, match=r"tsallis-shannon does not take; learners that take this graph: "):
        make_learner("tsallis-shannon", world.graph)


def test_a_race_is_run_on_the_graph_of_the_world(tmp_path):
    graph, world = "misleading-edges:4,gap=0.15", "misleading-graph:gap=0.15"
    result = run_race(graph, [world], ["exp3-ix", "ucb-n"], 50, 2, out=tmp_path, report=False)
    assert {row.learner for row in result.standings} == {"exp3-ix", "ucb-n"}


def test_bad_input_is_named():
    with pytest.raises(InvalidParameter, match=r"the graph has 3 arms; expected 2, as many as the world has"):
        stochastic([0.2, 0.4]).with_graph(bandit(3))
    with pytest.raises(InvalidParameter, match=r"graph is a str; expected a graph"):
        stochastic([0.2, 0.4]).with_graph("star")
    with pytest.raises(InvalidParameter, match=r"'stochastic' has no graph"):
        stochastic([0.2, 0.4]).graph_of(1)
    with pytest.raises(
        InvalidParameter, match=r"depends on the loss of arm 2; expected hinge_loss; try world.graph_of"
    ):
        misleading_edges(4).graph_of(1)
    with pytest.raises(InvalidGraph, match=r"gap is 0.7; expected"):
        misleading_graph(4, gap=0.7)
    with pytest.raises(InvalidParameter, match=r"arm is 4; expected an integer from 0 to 3"):
        loss_dependent(4, np.eye(4), np.ones((4, 4)))
    assert misleading_edges(4, 0.1) != misleading_edges(4, 0.1, best=0) != random_edges(4, 0.8)
