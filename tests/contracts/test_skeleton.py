"""The learner printed in CONTRIBUTING.md is a whole one: written to a file, it keeps the contract and can be played."""

from __future__ import annotations

import copy
import importlib
import pickle
import re
from pathlib import Path

import numpy as np
import pytest

import allworlds as aw
from contracts.learner_contract import CHECKS, COVERS

PAGE = Path(__file__).resolve().parents[2] / "CONTRIBUTING.md"


@pytest.fixture(scope="module")
def skeleton(tmp_path_factory):
    """The module of the printed learner."""
    (source,) = re.findall(r"^```python learner\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    folder = tmp_path_factory.mktemp("guest")
    (folder / "greedy_skeleton.py").write_text(source, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        yield importlib.import_module("greedy_skeleton")


@pytest.mark.parametrize("shape", list(COVERS))
def test_the_printed_learner_keeps_the_contract(skeleton, shape):
    for check in CHECKS:
        check(skeleton.Greedy(COVERS[shape]().graph))


def test_the_printed_learner_is_played_by_the_compiled_loop_and_learns(skeleton):
    world = aw.make_world("stochastic:gap=0.25", n_arms=6)
    traces = aw.play_many(skeleton.Greedy(aw.graphs.disjoint_cliques(2, 3)), world, horizon=2_000, seeds=range(5))
    uniform = aw.play(aw.make_learner("uniform", aw.graphs.bandit(6)), world, 2_000, seed=0)
    assert np.mean([trace.final_regret for trace in traces]) < 0.3 * uniform.final_regret


def test_an_agent_of_the_printed_learner_is_pickled_and_copied_and_says_that_it_cannot_be_saved(skeleton, tmp_path):
    agent = aw.Agent(skeleton.Greedy(aw.graphs.cycle(5)), seed=2)
    agent.observe(agent.choose(), [0.1, 0.2, 0.3])
    for same in (pickle.loads(pickle.dumps(agent)), copy.deepcopy(agent)):
        assert (type(same.learner), same.round) == (skeleton.Greedy, 2)
        assert same.distribution.tobytes() == agent.distribution.tobytes()
    with pytest.raises(aw.errors.InvalidParameter, match=r"learner is a Greedy; expected a class in .*BY_NAME"):
        agent.save(tmp_path / "agent.json")
