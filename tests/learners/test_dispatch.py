"""One compiled loop, many learners: each runs its own kernels, whoever ran before it."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from allworlds import graphs
from allworlds.covers import clique_cover
from allworlds.kernels.random import uniform_pair
from allworlds.learners.by_name import BY_NAME, LEARNERS, make_learner
from allworlds.learners.dispatch import WRITES_DISTRIBUTION, learn, update, visibility_of
from allworlds.simulation import play
from allworlds.simulation.python_loop import python_loop
from allworlds.simulation.trace import record_rounds
from allworlds.worlds import one_good_arm

HORIZON = 120


@pytest.mark.compiled
@pytest.mark.parametrize("graph", [graphs.disjoint_cliques(2, 3), graphs.cycle(6)], ids=["cliques", "cycle"])
def test_in_the_compiled_loop_every_learner_does_what_it_does_by_hand(graph):
    # All in one process: states that look alike to the compiler must not be taken for each other.
    world = one_good_arm(6, gap=0.3, best_arm=4)
    for name in LEARNERS:
        learner = make_learner(name, graph, horizon=HORIZON)
        compiled = play(learner, world, HORIZON, seed=3)
        by_hand = python_loop(learner, world, HORIZON, 3, record_rounds(HORIZON))
        assert compiled.counts.tolist() == by_hand.counts.tolist(), name
        assert compiled.pseudo_regret == pytest.approx(by_hand.pseudo_regret, abs=1e-9), name


def test_no_two_states_share_a_name():
    cover = clique_cover(graphs.cycle(6))
    states = [type(make_learner(name, cover, horizon=HORIZON).init()) for name in LEARNERS]
    names = {state.__name__ for state in states}
    assert len(names) == len(set(states)) == len(BY_NAME)
    assert not any("#" in name for name in names)  # numbers are for further classes of a name
    assert type(make_learner("tsallis-shannon", cover).init()) in WRITES_DISTRIBUTION  # so that its logs are quick


@pytest.mark.parametrize("graph", [graphs.disjoint_cliques([2, 3]), graphs.cycle(5)], ids=["cliques", "cycle"])
def test_visibilities_list_what_an_arm_shows_and_have_one_type(graph):
    expected = {
        "neighbours": [graph.sees(i).tolist() for i in range(5)],
        "itself": [[i] for i in range(5)],
        "everything": [[0, 1, 2, 3, 4]] * 5,
    }
    for shows, lists in expected.items():
        visibility = visibility_of(graph, shows)
        ends = visibility.starts[visibility.where], visibility.starts[visibility.where + 1]
        assert [visibility.order[a:b].tolist() for a, b in zip(*ends, strict=True)] == lists
        assert {(array.dtype, array.flags.writeable) for array in visibility} == {(np.dtype(np.int64), False)}


# A script that runs one cell twice, as a notebook does after an edit; the cell's kernels choose the arm it is given.
SCRIPT = """
import json
import sys
from typing import NamedTuple
import numpy as np
import allworlds as aw
from allworlds.kernels.jit import lean_jit
from allworlds.learners.base import Learner, Ticket
from allworlds.learners.dispatch import Visibility, draw, register_kernels

CELL = '''
class State(NamedTuple):
    clock: np.ndarray
    visibility: Visibility

class Fixed(Learner):
    name, saved = "fixed", ("clock",)
    def init(self):
        return State(np.array([1.0]), self.visibility)

@lean_jit
def draw_arm(state, first, second):
    return Ticket({arm}, 1.0, 1)

@lean_jit
def count(state, ticket, losses):
    state.clock[0] += 1.0

register_kernels(State, draw_arm, count)
learner = Fixed(aw.graphs.bandit(3))
'''

@lean_jit
def drawn(state):
    return draw(state, 0.0, 0.0).arm

arms = []
for arm in sys.argv[1:]:
    exec(CELL.replace("{arm}", arm))
    arms.append([drawn(learner.init()), aw.Agent(learner, seed=1).choose().arm])
print(json.dumps(arms))
"""


@pytest.mark.compiled
def test_states_of_one_name_run_their_own_kernels_in_one_process_and_in_the_next(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    for arms in (["1", "2"], ["2", "1"]):
        done = subprocess.run([sys.executable, script, *arms], capture_output=True, text=True, check=True)
        assert json.loads(done.stdout) == [[int(arm)] * 2 for arm in arms]


@pytest.mark.parametrize("name", ["tsallis-shannon:deficit_limit=0.001", "exp3"])
def test_what_is_held_back_is_returned_and_can_be_given_instead(name):
    learner = make_learner(name, graphs.disjoint_cliques(3, 1), horizon=HORIZON)
    found, given, plain = learner.init(), learner.init(), learner.init()
    held_back = []
    for t in range(1, 80):
        ticket = learner.draw(found, *uniform_pair(2, 9, t, 0))
        loss = np.array([float(ticket.arm > 0)])
        held_back.append(learn(found, ticket, loss, -1.0))
        learn(given, ticket, loss, held_back[-1])
        update(plain, ticket, loss)
    assert learner.estimates(found).tolist() == learner.estimates(given).tolist() == learner.estimates(plain).tolist()
    if name == "exp3":
        assert set(held_back) == {0.0}
    else:
        assert min(held_back) == 0.0
        assert learner.held_back(found) == learner.held_back(given) > 0.0
        ticket = learner.draw(found, 1.0 - 1e-12, 0.5)  # the last arm, which loses always
        z = learn(found, ticket, np.ones(1), -1.0)
        assert learn(given, ticket, np.ones(1), 0.0) == 0.0
        assert learn(plain, ticket, np.ones(1), z / 2) == z / 2
        after = [learner.estimates(state)[2] for state in (found, plain, given)]
        assert [after[1] - after[0], after[2] - after[1]] == pytest.approx([z / 2, z / 2], rel=1e-9)
        assert 0.0 < z < (1.0 - ticket.baseline) / ticket.clique_probability
