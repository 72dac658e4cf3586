"""Worlds by name are the worlds that the constructors make."""

from __future__ import annotations

import numpy as np
import pytest

from allworlds import worlds
from allworlds.foundation.errors import AllWorldsError
from allworlds.worlds.by_name import WORLDS, make_world

CASES = [
    ("stochastic:gap=0.25", worlds.one_good_arm(6, 0.25, 3)),
    ("stochastic:gap=0.25,best=1,centre=0.4", worlds.one_good_arm(6, 0.25, 1, centre=0.4)),
    ("stochastic:means=0.1/0.5/0.5/0.5/0.5/0.9", worlds.stochastic([0.1, 0.5, 0.5, 0.5, 0.5, 0.9])),
    ("constrained-adversary:gap=0.2,growth=2", worlds.constrained_adversary(6, 3, 0.2, 2.0)),
    ("switching:gap=0.3,phases=5/7", worlds.switching(6, 0.3, phases=[5, 7])),
    ("drifting:amplitude=0.1,period=50", worlds.drifting(np.full(6, 0.5), 0.1, 50.0)),
    ("random:block=3", worlds.random_sequence(6, 3)),
    ("lock-in", worlds.lock_in(6, 3)),
    (
        "lock-in:best=1,quiet=0.2,trap=0.3,quiet-level=0.2,trap-levels=0.8/0.1,end-levels=0/0.9,constant=1/0/1",
        worlds.lock_in(
            6, 1, 0.2, 0.3, quiet_level=0.2, trap_levels=[0.8, 0.1], end_levels=[0, 0.9], constant=[True, False, True]
        ),
    ),
    (
        "phases:lengths=1/3,levels=0.1/0.9,constant=0/1",
        worlds.phases([[0.1] * 6, [0.9] * 6], [1, 3], [[False] * 6, [True] * 6]),
    ),
    (
        "phases:lengths=1/3,levels=0/0.1/0.2/0.3/0.4/0.5/1/0.9/0.8/0.7/0.6/0.5",
        worlds.phases([[0.0, 0.1, 0.2, 0.3, 0.4, 0.5], [1.0, 0.9, 0.8, 0.7, 0.6, 0.5]], [1, 3]),
    ),
    ("corrupted:world=lock-in,budget=4,quiet=0.2", worlds.corrupted(worlds.lock_in(6, 3, 0.2), 4.0)),
    (
        "corrupted:attack=flip,budget=4,gap=0.25",
        worlds.corrupted(worlds.one_good_arm(6, 0.25, 3), 4.0, "flip"),
    ),
    (
        "corrupted:world=constrained-adversary,budget=4,growth=2",
        worlds.corrupted(worlds.constrained_adversary(6, 3, 0.125, 2.0), 4.0),
    ),
]


@pytest.mark.parametrize(("spec", "expected"), CASES)
def test_a_spec_makes_the_losses_of_its_constructor(spec, expected):
    world = make_world(spec, 6)
    places = [(t, i) for t in range(1, 25) for i in range(6)]
    assert [world.loss(7, t, i, 30) for t, i in places] == [expected.loss(7, t, i, 30) for t, i in places]
    assert [world.mean(t, i, 7, 30) for t, i in places] == [expected.mean(t, i, 7, 30) for t, i in places]


@pytest.mark.parametrize("name", [name for name in WORLDS if name != "recorded"])
def test_every_listed_example_makes_a_world(name):
    assert WORLDS[name].example.partition(":")[0] == name
    assert make_world(WORLDS[name].example, 12).n_arms == 12


def test_a_recorded_world_reads_its_file(tmp_path):
    (tmp_path / "losses.csv").write_text("0,1\n0.5,0.25\n")
    world = make_world(f"recorded:{tmp_path}/losses.csv", 2)
    assert world.loss(0, 2, 1) == 0.25


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("stochastc", "there is no world 'stochastc'; the nearest are stochastic"),
        ("stochastic:gap=2", "gap is 2"),
        ("stochastic:gapp=0.1", "the nearest is gap"),
        ("stochastic:means=0.1/0.5", "has 2 arms; expected 6"),
        ("stochastic:noise=pink", "noise is 'pink'"),
        ("corrupted:attack=flip", "lacks budget"),
        ("corrupted:budget=10,attack=bribe", "attack is 'bribe'"),
        ("corrupted:budget=10,gapp=1", "the nearest is gap"),
        ("corrupted:budget=10,world=corrupted", "there is no world to corrupt 'corrupted'"),
        ("phases:lengths=0.5/0.5", "lacks levels"),
        (
            "phases:lengths=0.5/0.5,levels=0.1/0.2/0.3",
            "levels are 3 numbers for 2 phases and 6 arms; expected 12, phase after phase, or 2",
        ),
        ("phases:lengths=1/0,levels=0.1/0.2", "the length of phase 1 is 0.0; expected a finite number above 0"),
        ("lock-in:constant=0/0/2", "constant has values other than True and False"),
        ("lock-in:quiet=0.9,trap=0.2", "quiet is 0.9 and trap 0.2; expected a sum below 1"),
        ("recorded:/nowhere.csv", "there is no file"),
    ],
)
def test_a_spec_that_makes_no_world_says_why(spec, sentence):
    with pytest.raises(AllWorldsError, match=sentence):
        make_world(spec, 6)
