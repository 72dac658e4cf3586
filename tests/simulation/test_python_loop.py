"""Plain classes as learners and as worlds: told what they may know, and refused in sentences."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import allworlds as aw
from allworlds.foundation.errors import InvalidLosses, InvalidParameter
from allworlds.learners.by_name import make_learner
from allworlds.simulation import play, play_many, record_rounds
from allworlds.simulation import python_loop as module
from allworlds.worlds import Reactive, stochastic
from instances_of_worlds import CLEAN, MEANS, N_ARMS, bare


class RoundRobin:
    """The simplest learner: no state but the round."""

    def __init__(self, graph=None):
        self.round, self.seen = 0, []
        if graph is not None:
            self.graph = graph

    def choose(self):
        return self.round % N_ARMS

    def observe(self, arm, losses):
        self.round += 1
        self.seen.append((arm, losses))


def test_a_plain_learner_sees_the_loss_of_its_arm():
    learner = RoundRobin()
    trace = play(learner, CLEAN["beta"], 30, seed=7)
    losses = bare(CLEAN["beta"], 30, seed=7).losses
    assert learner.seen == [(t % N_ARMS, {t % N_ARMS: losses[t, t % N_ARMS]}) for t in range(30)]
    assert (trace.learner, trace.world, trace.clique_mass) == ("RoundRobin", "stochastic", None)
    assert trace.final_regret == pytest.approx(5 * sum(mean - min(MEANS) for mean in MEANS))


def test_a_plain_learner_with_a_graph_sees_what_its_arm_shows_and_nothing_else():
    graph = aw.graphs.cycle(N_ARMS)
    learner = RoundRobin(graph)
    play(learner, CLEAN["beta"], 20, seed=7)
    losses = bare(CLEAN["beta"], 20, seed=7).losses
    for t, (arm, seen) in enumerate(learner.seen):
        neighbours = {(arm - 1) % N_ARMS, arm, (arm + 1) % N_ARMS}
        assert seen == {i: losses[t, i] for i in neighbours}


class Dice:
    """Draws from the seed that it is told."""

    name = "dice"

    def start(self, seed):
        self.rng = np.random.default_rng(seed)

    def choose(self):
        return self.rng.integers(N_ARMS)

    def observe(self, arm, losses):
        pass


def test_a_plain_learner_is_told_the_seed():
    trace = play(Dice(), CLEAN["beta"], 100, seed=5)
    expected = np.bincount(np.random.default_rng(5).integers(N_ARMS, size=100), minlength=N_ARMS)
    assert (trace.learner, trace.counts.tolist()) == ("dice", expected.tolist())


def test_each_seed_has_its_own_copy_of_a_plain_learner():
    learner = RoundRobin()
    alone = [play(RoundRobin(), CLEAN["beta"], 40, seed).counts for seed in range(6)]
    for jobs in (1, 3):
        traces = play_many(learner, CLEAN["beta"], 40, range(6), jobs)
        np.testing.assert_array_equal([trace.counts for trace in traces], alone)
    assert learner.seen == []


class Punisher(Reactive):
    """The arm of the last round loses 1, the others nothing."""

    name = "punisher"
    n_arms = N_ARMS

    def start(self, seed):
        self.last, self.heard = None, []

    def losses(self, round):
        losses = np.zeros(N_ARMS)
        if self.last is not None:
            losses[self.last] = 1.0
        return losses

    def chosen(self, round, arm):
        self.heard.append((round, arm))
        self.last = arm


class Stubborn:
    def choose(self):
        return 2

    def observe(self, arm, losses):
        self.losses = losses


def test_a_reactive_world_punishes_the_last_choice():
    world, learner = Punisher(), Stubborn()
    trace = play(learner, world, 50)
    assert trace.world == "punisher"
    assert world.heard == [(t, 2) for t in range(1, 51)]
    assert learner.losses == {2: 1.0}
    np.testing.assert_array_equal(trace.pseudo_regret, trace.rounds - 1.0)  # any other fixed arm loses nothing
    np.testing.assert_array_equal(trace.pseudo_regret, trace.realised_regret)
    assert play(RoundRobin(), Punisher(), 50).final_regret == -8.0  # it loses nothing; arm 5 loses 8


def test_a_learner_of_the_package_can_meet_a_reactive_world():
    learner = make_learner("tsallis-shannon", aw.graphs.disjoint_cliques(2, 3))
    world = Punisher()
    trace = play(learner, world, 60, seed=1)
    assert trace.counts.sum() == 60
    arms = [arm for _, arm in world.heard]
    mine = sum(one == other for one, other in itertools.pairwise(arms))
    assert trace.final_regret == pytest.approx(mine - np.bincount(arms[:-1], minlength=N_ARMS).min())
    assert trace.clique_mass.shape == (trace.rounds.size, 2)
    again = play_many(learner, world, 60, seeds=[1, 1, 1], jobs=2)
    assert all(other.counts.tolist() == trace.counts.tolist() for other in again)


class Saying(Reactive):
    """Says what it is told."""

    n_arms = N_ARMS

    def __init__(self, answer):
        self.answer = answer

    def losses(self, round):
        return self.answer


class Answering(Stubborn):
    def __init__(self, answer):
        self.answer = answer

    def choose(self):
        return self.answer


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ([0.5], r"have shape \(1,\); expected one for each arm, \(6,\)"),
        (0.5, r"have shape \(\)"),
        ([0.5] * 5 + [1.5], "the world's losses of round 1 have 1.5 for arm 5; expected 0 to 1"),
        ([float("nan")] * 6, "the world's losses of round 1 have nan for arm 0"),
        (["much"] * 6, "of round 1 are not numbers; expected 6 from 0 to 1"),
        (None, "round 1"),
    ],
)
def test_losses_that_are_none_are_refused_in_a_sentence(answer, words):
    with pytest.raises(InvalidLosses, match=words):
        play(Stubborn(), Saying(answer), 5)


class Lying(Saying):
    """Shows something else than it was asked for."""

    def __init__(self, shown):
        super().__init__([0.5] * 6)
        self.answer_shown = shown

    def shown(self, round, arm, seen, losses):
        return self.answer_shown


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        ([0.5] * 6, r"the world's shown losses of round 1 have shape \(6,\); expected one for each arm, \(1,\)"),
        ([100.5], "the world's shown losses of round 1 have 100.5 for arm"),
        (["much"], "the world's shown losses of round 1 are not numbers; expected 1 from 0 to 1"),
    ],
)
def test_what_a_world_shows_is_checked_before_a_kernel_reads_it(shown, words):
    with pytest.raises(InvalidLosses, match=words):
        play(make_learner("ucb-n", aw.graphs.bandit(6)), Lying(shown), 5)


def test_a_plain_learner_with_many_arms_and_a_fixed_graph_needs_no_square_of_memory():
    class One:
        def choose(self):
            return 0

        def observe(self, arm, losses):
            pass

    assert play(One(), stochastic(np.full(1_000_000, 0.5)), 3).horizon == 3


@pytest.mark.parametrize("answer", [6, -1, 1.0, True, None, "two"])
def test_a_choice_that_is_no_arm_is_refused_in_a_sentence(answer):
    with pytest.raises(InvalidParameter, match=r"choose\(\) returned .* in round 1; expected an arm, 0 to 5"):
        play(Answering(answer), CLEAN["beta"], 5)


def test_numpy_integers_are_arms():
    assert play(Answering(np.int32(4)), CLEAN["beta"], 5).counts[4] == 5


class Armless(Reactive):
    def losses(self, round):
        return np.zeros(2)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: play(Stubborn(), Armless(), 5), "Armless has no n_arms; expected a whole number"),
        (lambda: play(RoundRobin(aw.graphs.cycle(4)), CLEAN["beta"], 5), "the learner has 4 arms and the world 6"),
        (lambda: play(Stubborn(), stochastic([0.5, 0.5]), 5), r"choose\(\) returned 2 in round 1"),
    ],
)
def test_learners_and_worlds_that_do_not_fit_are_refused_in_a_sentence(call, words):
    with pytest.raises(InvalidParameter, match=words):
        call()


def test_every_kernel_is_called_before_the_clock_starts(monkeypatch):
    calls = []
    kernels = ("draw", "update", "write_clique_masses", "safeguards", "play_round", "write_regret")
    for name in kernels:
        kernel = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *given, name=name, kernel=kernel: calls.append(name) or kernel(*given))
    monkeypatch.setattr(module.time, "perf_counter", lambda: calls.append("clock") or 0.0)
    trace = module.python_loop(make_learner("exp3", aw.graphs.bandit(N_ARMS)), CLEAN["beta"], 5, 1, record_rounds(5))
    assert set(calls[: calls.index("clock")]) == set(kernels)
    assert trace.counts.sum() == 5
