"""The compiled loop: equal to the loop by hand, repeatable bit for bit, and regret by definition."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading

import numba
import numpy as np
import pytest

import allworlds as aw
from allworlds.foundation.errors import InvalidParameter
from allworlds.learners.by_name import make_learner
from allworlds.simulation import play, play_many, record_rounds
from allworlds.simulation.play import run
from allworlds.simulation.python_loop import python_loop
from allworlds.theory import arm_gaps, corruption_level
from allworlds.worlds import World, corrupted, one_good_arm, recorded, stochastic
from allworlds.worlds.corrupted import ATTACKS
from instances_of_worlds import CLEAN, MEANS, N_ARMS, attacked, bare

HORIZON = 300
SEED = 7
WORLDS: dict[str, World] = CLEAN | {
    "bernoulli, flipped": attacked("bernoulli", "flip"),
    "beta, decoy": attacked("beta", "decoy-best"),
    "constrained, spread": attacked("constrained adversary", "spread"),
    "recorded, periodic": attacked("recorded", "periodic"),
    "drifting, best-worst": attacked("drifting", "best-worst"),
}
GRAPHS = {"tsallis-shannon": aw.graphs.disjoint_cliques([3, 1, 2]), "ucb-n": aw.graphs.cycle(N_ARMS)}
EVERYWHERE = pytest.mark.parametrize("name", WORLDS)
LEARNERS = pytest.mark.parametrize("learner", GRAPHS)
ARRAYS = ("rounds", "pseudo_regret", "clean_regret", "realised_regret", "corruption", "counts")


def a_learner(name: str = "tsallis-shannon"):
    return make_learner(name, GRAPHS[name])


def bits(trace) -> dict[str, str]:
    """Everything but the time, to the last bit."""
    arrays = {name: getattr(trace, name) for name in ARRAYS}
    if trace.clique_mass is not None:
        arrays["clique_mass"] = trace.clique_mass
    return {name: array.tobytes().hex() for name, array in arrays.items()}


@EVERYWHERE
@LEARNERS
def test_compiled_play_is_play_by_hand(name, learner):
    compiled = play(a_learner(learner), WORLDS[name], HORIZON, SEED)
    by_hand = python_loop(a_learner(learner), WORLDS[name], HORIZON, SEED, record_rounds(HORIZON))
    np.testing.assert_array_equal(compiled.counts, by_hand.counts)
    for array in ARRAYS[1:5]:
        np.testing.assert_allclose(getattr(compiled, array), getattr(by_hand, array), atol=1e-9, err_msg=array)
    assert (compiled.learner, compiled.world, compiled.seed) == (by_hand.learner, by_hand.world, by_hand.seed)
    assert (compiled.clique_mass is None) == (by_hand.clique_mass is None)


class Scripted:
    """Plays what it is told, and keeps what it sees."""

    name = "scripted"

    def __init__(self, arms, graph=None):
        self.arms, self.seen = list(arms), []
        if graph is not None:
            self.graph = graph

    def choose(self):
        return self.arms[len(self.seen)]

    def observe(self, arm, losses):
        self.seen.append((arm, losses))


@EVERYWHERE
def test_regret_and_corruption_are_what_their_definitions_say(name):
    """Totals of all arms, written out, against what was kept for a few candidates."""
    world = WORLDS[name]
    arms = np.random.default_rng(11).integers(0, N_ARMS, HORIZON)
    trace = play(Scripted(arms.tolist()), world, HORIZON, SEED)
    everything = bare(world, HORIZON, SEED)
    index = np.arange(HORIZON)
    for row, t in enumerate(trace.rounds):
        means, clean, losses = (array[:t].sum(axis=0) for array in everything[:3])
        mine = [array[index[:t], arms[:t]].sum() for array in everything[:3]]
        assert trace.pseudo_regret[row] == pytest.approx(mine[0] - means.min(), abs=1e-9)
        assert trace.clean_regret[row] == pytest.approx(mine[1] - clean.min(), abs=1e-9)
        best = np.flatnonzero(means < means.min() + 1e-9)
        assert np.abs(trace.realised_regret[row] - (mine[2] - losses[best])).min() < 1e-9
        changed = np.abs(everything.losses - everything.clean_losses)[:t].max(axis=1).sum()
        assert trace.corruption[row] == pytest.approx(changed, abs=1e-9)
    np.testing.assert_array_equal(trace.counts, np.bincount(arms, minlength=N_ARMS))


@pytest.mark.parametrize("attack", ATTACKS)
def test_the_compiled_loop_reports_the_corruption_that_was_really_spent(attack):
    world = attacked("beta", attack, budget=30.0)
    trace = play(a_learner(), world, HORIZON, SEED)
    everything = bare(world, HORIZON, SEED)
    spent = corruption_level(everything.losses, everything.clean_losses)
    assert trace.corruption[-1] == pytest.approx(spent, abs=1e-9)
    assert 29.0 < trace.corruption[-1] <= 30.0
    assert (np.diff(trace.corruption) >= 0.0).all()


@LEARNERS
def test_pseudo_regret_in_a_stochastic_world_is_counts_times_gaps(learner):
    trace = play(a_learner(learner), CLEAN["bernoulli"], 2_000, SEED)
    assert trace.counts.sum() == 2_000
    assert trace.final_regret == pytest.approx(float(trace.counts @ arm_gaps(MEANS)), abs=1e-9)
    np.testing.assert_array_equal(trace.pseudo_regret, trace.clean_regret)


def test_masses_are_recorded_where_there_are_cliques_and_only_there():
    trace = play(a_learner(), CLEAN["bernoulli"], HORIZON, SEED)
    assert trace.clique_mass.shape == (trace.rounds.size, 3)
    np.testing.assert_allclose(trace.clique_mass.sum(axis=1), 1.0, atol=1e-9)
    first = a_learner()
    np.testing.assert_allclose(trace.clique_mass[0], first.clique_mass(first.init()), atol=1e-12)
    assert play(a_learner("ucb-n"), CLEAN["bernoulli"], HORIZON, SEED).clique_mass is None


def test_a_shorter_run_is_the_beginning_of_a_longer_one():
    long, short = (play(a_learner(), CLEAN["switching"], horizon, SEED) for horizon in (1_000, 150))
    shared = np.intersect1d(long.rounds, short.rounds)
    assert shared.size > 50
    places = [np.searchsorted(trace.rounds, shared) for trace in (long, short)]
    np.testing.assert_array_equal(long.pseudo_regret[places[0]], short.pseudo_regret[places[1]])


def test_different_seeds_give_different_runs():
    traces = play_many(a_learner(), CLEAN["bernoulli"], HORIZON, seeds=range(8))
    assert len({trace.realised_regret.tobytes() for trace in traces}) == 8


# --- the same trace, whatever runs beside it --------------------------------------------------------------


PROGRAM = """
import json, sys
from allworlds.simulation.play import play, run
sys.path.insert(0, sys.argv[1])
from simulation.test_play import SEED, WORLDS, a_learner, bits
trace = play(a_learner(), WORLDS["beta, decoy"], 500, SEED)
stats = getattr(run, "stats", None)
hits, misses = (sum(stats.cache_hits.values()), sum(stats.cache_misses.values())) if stats else (None, None)
print(json.dumps({"bits": bits(trace), "counts": trace.counts.tolist(), "hits": hits, "misses": misses}))
"""


def in_another_process(**environment: str) -> dict:
    tests = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, tests],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.compiled
def test_another_process_plays_the_same_bits_and_finds_the_compiled_loop():
    here = play(a_learner(), WORLDS["beta, decoy"], 500, SEED)
    first, second = in_another_process(), in_another_process()
    assert first["bits"] == second["bits"] == bits(here)
    assert (second["hits"], second["misses"]) == (1, 0)


def test_plain_python_plays_the_same_arms():
    here = play(a_learner(), WORLDS["beta, decoy"], 500, SEED)
    assert in_another_process(NUMBA_DISABLE_JIT="1")["counts"] == here.counts.tolist()


@pytest.mark.compiled
def test_one_compiled_loop_serves_every_world():
    learner = a_learner()
    for world in WORLDS.values():
        play(learner, world, 5)
    kind = numba.typeof(learner.init())
    assert len([signature for signature in run.signatures if signature[0] == kind]) == 1


def test_any_number_of_threads_gives_the_same_bits_in_the_order_of_the_seeds():
    seeds = [5, 3, 9, 0, 3, 2**62]
    alone = [bits(play(a_learner(), WORLDS["constrained, spread"], HORIZON, seed)) for seed in seeds]
    for jobs in (1, 2, 5, None):
        traces = play_many(a_learner(), WORLDS["constrained, spread"], HORIZON, seeds, jobs)
        assert [trace.seed for trace in traces] == seeds
        assert [bits(trace) for trace in traces] == alone


def test_two_jobs_run_at_the_same_time():
    """Each of two runs waits for the other to begin: with one thread they would wait for ever."""
    barrier = threading.Barrier(2, timeout=30)

    class Waiting(Scripted):
        def __deepcopy__(self, memo):
            return Waiting(self.arms)

        def start(self, seed):
            barrier.wait()

    traces = play_many(Waiting([0, 1]), CLEAN["bernoulli"], 2, seeds=[1, 2], jobs=2)
    assert [trace.counts.sum() for trace in traces] == [2, 2]


@pytest.mark.parametrize("jobs", [1, 2])
def test_each_trace_is_announced_when_it_is_finished(jobs):
    heard = []
    traces = play_many(a_learner(), CLEAN["bernoulli"], 50, range(4), jobs, on_finish=heard.append)
    assert {id(trace) for trace in heard} == {id(trace) for trace in traces}


def test_no_seed_takes_a_fresh_one_and_says_which():
    trace = play(a_learner(), CLEAN["bernoulli"], 50, seed=None)
    assert bits(play(a_learner(), CLEAN["bernoulli"], 50, seed=trace.seed)) == bits(trace)


def test_a_run_of_one_round_and_a_world_of_one_arm_can_be_played():
    learner = make_learner("tsallis-shannon", aw.graphs.bandit(1))
    for world in (stochastic([0.5]), corrupted(recorded([[0.25]]), 1)):
        trace = play(learner, world, 1)
        assert (trace.final_regret, trace.counts.tolist(), trace.rounds.tolist()) == (0.0, [1], [1])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: play(a_learner(), one_good_arm(5, 0.25), 10), "the learner has 6 arms and the world 5"),
        (lambda: play(a_learner(), CLEAN["recorded"], 401), "horizon is 401, but 'recorded' has 400 recorded rounds"),
        (lambda: play(a_learner(), MEANS, 10), "world is a list; expected a world, such as"),
        (lambda: play(a_learner(), CLEAN["beta"], 0), "horizon is 0; expected an integer of at least 1"),
        (lambda: play(a_learner(), CLEAN["beta"], 10, seed=-1), "seed is -1"),
        (lambda: play_many(a_learner(), CLEAN["beta"], 10, jobs=0), "jobs is 0; expected an integer of at least 1"),
        (lambda: play_many(a_learner(), CLEAN["beta"], 10, jobs=1.5), "jobs is 1.5"),
        (lambda: play_many(a_learner(), CLEAN["beta"], 10, seeds=["x"]), "seed is 'x'"),
        (lambda: play(MEANS, CLEAN["beta"], 10), r"learner is a list; expected a learner of allworlds"),
        (lambda: play(Scripted, CLEAN["beta"], 10), "learner is the class Scripted; expected"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(call, words):
    with pytest.raises(InvalidParameter, match=words):
        call()


def test_seeds_are_several():
    with pytest.raises(InvalidParameter, match=r"seeds is 5; expected several integers, such as range\(10\)"):
        play_many(a_learner(), CLEAN["beta"], 10, seeds=5)
