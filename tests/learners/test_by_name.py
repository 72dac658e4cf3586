"""Learners by name: what they are made from, and what may be changed of the constants."""

from __future__ import annotations

import inspect

import pytest

import allworlds.learners
from allworlds.covers import CliqueCover, clique_cover
from allworlds.foundation.errors import AllWorldsError, InvalidParameter
from allworlds.foundation.specs import Spec, parse_spec
from allworlds.ftrl import Constants
from allworlds.graphs import cycle, disjoint_cliques
from allworlds.learners import UCBN
from allworlds.learners.by_name import BY_NAME, LEARNERS, make_learner

COVER = clique_cover(disjoint_cliques(2, 3))


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("tsallis-shannon", Constants.practical(COVER)),
        ("tsallis-shannon-sharp", Constants.sharp(COVER)),
        ("tsallis-shannon-paper", Constants.paper(COVER, 100)),
    ],
)
def test_constants_can_be_changed_one_at_a_time_by_the_names_of_their_fields(name, setting):
    changed = make_learner(f"{name}:beta=0.25,eta0=2,estimator=baseline", COVER, 100).constants
    assert (changed.beta, changed.eta0, changed.estimator) == (0.25, 2.0, "baseline")
    assert (changed.alpha, changed.gamma, changed.power) == (setting.alpha, setting.gamma, setting.power)
    assert changed.label == f"{setting.label}, beta = 0.25, eta0 = 2, estimator = baseline"
    assert make_learner(name, COVER, 100).constants == setting


def test_a_constant_that_there_is_not_is_refused_and_so_is_one_that_means_nothing():
    with pytest.raises(InvalidParameter, match="there is no option of tsallis-shannon: 'delta'; the nearest are"):
        make_learner("tsallis-shannon:delta=1", COVER)
    with pytest.raises(AllWorldsError, match="beta is -1"):
        make_learner("tsallis-shannon:beta=-1", COVER)


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_is_made_from_a_graph_and_from_a_cover(name):
    graph = cycle(6)
    fine = CliqueCover.singletons(graph)
    made, on_fine = make_learner(name, graph, 100), make_learner(name, fine, 100)
    assert made.graph is on_fine.graph is graph
    assert type(made) is type(on_fine) is LEARNERS[name].kind
    assert getattr(on_fine, "cover", fine) is fine
    assert made.title.partition(" ")[0] in LEARNERS


@pytest.mark.parametrize("name", LEARNERS)
def test_every_listed_example_makes_the_learner_of_its_line(name):
    recipe = LEARNERS[name]
    assert recipe.example.partition(":")[0] == name
    assert type(make_learner(parse_spec(recipe.example), COVER, 100)) is recipe.kind
    assert BY_NAME[recipe.kind.name] is recipe.kind
    assert getattr(allworlds.learners, recipe.kind.__name__) is recipe.kind


def test_a_spec_may_be_text_or_a_value():
    spec = Spec("ucb-n", (), {"width": 0.5})
    assert make_learner(spec, COVER) == make_learner("ucb-n:width=0.5", COVER) == UCBN(COVER.graph, 0.5)


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("ucb", "there is no learner 'ucb'; the nearest are .*ucb-n.*; 'allworlds learners' lists all"),
        ("ucb-n:widht=1", "there is no option of ucb-n: 'widht'; the nearest is width"),
        ("ucb-n:width=wide", "gives width as 'wide'; expected a number"),
        ("exp3-g:horizon=9", "there is no option of exp3-g: 'horizon'"),
        ("exp3:1", "has 1 values, but exp3 takes 0"),
        ("tsallis-shannon:setting=papr", "there is no setting 'papr'"),
        ("tsallis-shannon-paper", "tsallis-shannon-paper needs the horizon"),
    ],
)
def test_a_spec_that_makes_no_learner_says_why(spec, sentence):
    with pytest.raises(InvalidParameter, match=sentence):
        make_learner(spec, COVER)


def test_what_is_neither_a_graph_nor_a_cover_raises():
    with pytest.raises(InvalidParameter, match="graph is a list; expected a FeedbackGraph or a CliqueCover of one"):
        make_learner("ucb-n", [[0, 1]])


def test_a_bug_in_a_constructor_is_not_taken_for_a_wrong_option(monkeypatch):
    def broken(self):
        return self.width + "a bug"

    monkeypatch.setattr(UCBN, "__post_init__", broken)
    with pytest.raises(TypeError, match="unsupported operand"):
        make_learner("ucb-n:width=0.5", COVER)


DEFAULTS = {
    "broad": {"rate": 1.0 / 162.0},
    "chen-2024": {"within_scale": 1.0},
    "epsilon-greedy-lp": {"d": 0.1, "c": 5.0},
    "exp3-g": {"exploration": 1.0},
    "exp3-g-plus-plus": {"exploration": 256.0},
    "exp3-ix": {"implicit": True},
    "exp3-plus-plus": {"exploration": 256.0},
    "guarded": {
        "start": 20.0,
        "allowance": 1.2,
        "sharpness": 2.0,
        "proof": 1.0,
        "share": 0.5,
        "room_limit": 0.15,
        "alarm": 12.0,
    },
    "hedge": {"rate": 1.0},
    "hybrid": {"gamma": 1.0},
    "inf": {"power": 2.0},
    "kl-ucb-n": {"c": 0.0},
    "kong-2022": {"failure": 0.01},
    "log-barrier": {"rate": 1.0 / 162.0},
    "lu-nonstationary": {"window": 800, "changes": 1.0, "width": 2.0},
    "robust-ucb": {"width": 2.0, "groups": 16},
    "thompson-discounted": {"discount": 0.999},
    "ucb-discounted": {"width": 2.4, "changes": 1.0},
    "ucb-maxn": {"width": 2.0},
    "ucb-n": {"width": 2.0},
    "ucb-ne": {"width": 2.0},
    "ucb-v-n": {"zeta": 1.2},
    "ucb-window": {"width": 0.6, "changes": 1.0},
}
"""The constants that a learner has unless it is told others; a ``scale`` is always 1: the constants as published."""


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_a_learner_that_is_told_nothing_has_the_constants_of_its_docs(name):
    given = {key: one.default for key, one in inspect.signature(BY_NAME[name]).parameters.items()}
    numbers = {key: value for key, value in given.items() if isinstance(value, int | float)}
    scale = {"scale": 1.0} if isinstance(given.get("scale"), float) else {}
    assert numbers == DEFAULTS.get(name, {}) | scale


def test_every_learner_is_a_rival_but_those_that_see_more_than_the_graph_shows():
    assert {name for name, recipe in LEARNERS.items() if not recipe.rival} == {"hedge"}
    assert {name for name, recipe in LEARNERS.items() if recipe.kind.shows == "everything"} == {"hedge"}


def test_learners_that_divide_by_the_probability_of_a_draw_take_a_mask_and_the_plainest_of_them_new_arms():
    ours = {"guarded", "tsallis-shannon", "tsallis-shannon-paper", "tsallis-shannon-sharp"}
    movable = {"exp3", "exp3-ix", "exp3-set", *ours}
    others = {
        "elp",
        "exp3-g",
        "hybrid",
        "inf",
        "tsallis-inf",
        "tsallis-inf-graph",
        "tsallis-inf-rv",
        "tsallis-shannon-all",
    }
    assert {name for name, recipe in LEARNERS.items() if recipe.kind.movable} == movable
    assert {name for name, recipe in LEARNERS.items() if recipe.kind.redrawn} == movable | others | {
        "tsallis-shannon-all"
    }
