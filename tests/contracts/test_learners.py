"""Every learner keeps the contract, on every shape of graph; and the contract notices when one does not."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from numba.core import config

from allworlds.foundation.errors import InvalidGraph, InvalidLosses, InvalidParameter, InvalidState
from allworlds.learners import TsallisShannon
from allworlds.learners.base import CliqueLearner, accepts_graph
from allworlds.learners.by_name import BY_NAME
from contracts.learner_contract import (
    BY_NUMBER,
    CHECKS,
    COVERS,
    FACTORIES,
    GRAPHS,
    bits,
    check_an_outcome_may_come_late,
    check_drawing_changes_nothing,
    check_draws_follow_the_distribution,
    check_equal_seeds_give_equal_traces,
    check_its_distribution_is_one,
    check_losses_it_may_not_see_never_surface,
    check_packing_is_a_snapshot,
    check_relabelling_arms_relabels_the_answer,
    check_rounds_count_the_outcomes_learnt,
    check_state_survives_saving,
    play,
)

CORE = (
    "aae-alphasample",
    "exp3",
    "exp3-g",
    "exp3-ix",
    "hedge",
    "thompson-n",
    "tsallis-inf",
    "tsallis-shannon",
    "ucb-n",
    "uniform",
)
"""Learners whose contract is checked compiled, too; to compile all of them takes minutes, so that is a slow test."""


def marks_of(name):
    if not BY_NAME[name].exact_probability:  # many guesses: too slow as plain Python
        return [pytest.mark.compiled]
    return [] if name in CORE or config.DISABLE_JIT else [pytest.mark.slow]


LEARNERS = pytest.mark.parametrize("name", [pytest.param(name, marks=marks_of(name)) for name in sorted(BY_NAME)])
FEW = ("one arm", "unequal cliques", "bridged triangles")
"""Shapes on which all learners are checked; the core learners are checked on all shapes, and so are all with --slow."""
NAMES_AND_SHAPES = pytest.mark.parametrize(
    ("name", "shape"),
    [
        pytest.param(
            name, shape, marks=[*marks_of(name), *([] if name in CORE or shape in FEW else [pytest.mark.slow])]
        )
        for name in sorted(BY_NAME)
        for shape in COVERS
    ],
)


@NAMES_AND_SHAPES
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
def test_every_learner_keeps_the_contract(name, shape, check):
    check(FACTORIES[name](COVERS[shape]()))


@NAMES_AND_SHAPES
def test_relabelling_arms_relabels_the_answer(name, shape):
    if name in BY_NUMBER:
        pytest.skip("its rule prefers the smaller number among equal arms")
    check_relabelling_arms_relabels_the_answer(COVERS[shape](), FACTORIES[name])


TAKEN = [
    pytest.param(name, shape, marks=marks_of(name))
    for name in sorted(BY_NAME)
    for shape in GRAPHS
    if accepts_graph(BY_NAME[name], GRAPHS[shape]())
]
REFUSED = [
    (name, shape) for name in sorted(BY_NAME) for shape in GRAPHS if (name, shape) not in {p.values for p in TAKEN}
]


@pytest.mark.parametrize(("name", "shape"), TAKEN)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
def test_every_learner_keeps_the_contract_on_every_graph_that_it_takes(name, shape, check):
    check(FACTORIES[name](GRAPHS[shape]()))


@pytest.mark.parametrize(("name", "shape"), TAKEN)
def test_relabelling_arms_of_a_directed_graph_relabels_the_answer(name, shape):
    graph = GRAPHS[shape]()
    if name in BY_NUMBER or (name == "exp3-g" and graph.observability == "weak"):
        pytest.skip("its dominating set prefers the smaller number among equal arms")
    check_relabelling_arms_relabels_the_answer(graph, FACTORIES[name])


@pytest.mark.parametrize(("name", "shape"), REFUSED)
def test_a_graph_that_a_learner_does_not_take_is_refused_with_its_arm(name, shape):
    with pytest.raises(InvalidGraph, match=rf"arm \d .*, which {name} does not take; (learners that|no learner)"):
        FACTORIES[name](GRAPHS[shape]())


@LEARNERS
def test_a_learner_is_listed_under_its_name_and_remembers_its_graph_and_its_cover_if_it_has_one(name):
    cover = COVERS["unequal cliques"]()
    learner = FACTORIES[name](cover)
    assert learner.name == name
    assert learner.graph is cover.graph
    assert (learner.n_arms, learner.n_cliques) == (6, 3 if issubclass(BY_NAME[name], CliqueLearner) else 0)
    assert hasattr(learner, "cover") == issubclass(BY_NAME[name], CliqueLearner)
    assert getattr(learner, "cover", cover) is cover


@LEARNERS
def test_a_learner_can_be_pickled_and_copied(name):
    learner = FACTORIES[name](COVERS["bridged triangles"]())
    learner.init()  # what it keeps at hand is copied too, or made again
    for same in (pickle.loads(pickle.dumps(learner)), copy.deepcopy(learner)):
        assert same == learner
        assert bits(same, play(same, 20)[0]) == bits(learner, play(learner, 20)[0])


@LEARNERS
def test_another_number_of_losses_than_the_choice_observes_raises_before_anything_is_learnt(name):
    learner = FACTORIES[name](COVERS["unequal cliques"]())
    state = learner.init()
    ticket = learner.draw(state, 0.5, 0.5)
    before, right = bits(learner, state), learner.observes(ticket.arm).size
    for shape in (0, right - 1, right + 1, (right, 1)):
        with pytest.raises(InvalidLosses, match=r"losses have shape \(.*\); expected \(\d+,\)"):
            learner.update(state, ticket, np.zeros(shape))
    assert bits(learner, state) == before


@LEARNERS
def test_a_state_that_was_not_packed_whole_is_named(name):
    learner = FACTORIES[name](COVERS["pentagon"]())
    packed = learner.pack(learner.init())
    clock = packed["clock"]
    for wrong, sentence in (
        ({}, "clock is missing; expected it among the saved arrays"),
        ({"clock": np.zeros(99)}, r"clock has shape \(99,\); expected \(\d+,\)$"),
        ({"clock": np.full_like(clock, np.nan)}, "clock contains nan; expected finite numbers"),
    ):
        with pytest.raises(InvalidState, match=sentence):
            learner.unpack({key: array for key, array in packed.items() if key != "clock"} | wrong)


@LEARNERS
@pytest.mark.parametrize("probability", ["x", 0.0, -0.5, 1.5, True])
def test_a_ticket_with_an_impossible_probability_is_not_restored(name, probability):
    learner = FACTORIES[name](COVERS["pentagon"]())
    fields = learner.draw(learner.init(), 0.5, 0.5)._asdict()
    assert learner.ticket(list(fields.values())).arm == fields["arm"]
    with pytest.raises(InvalidState, match=r"a ticket's probability is .*; expected a number above 0 and at most 1"):
        learner.ticket(list((fields | {"probability": probability}).values()))


@LEARNERS
def test_a_learner_that_is_given_something_else_than_a_graph_says_so(name):
    with pytest.raises(InvalidParameter, match="graph is a str; expected a FeedbackGraph"):
        BY_NAME[name].from_settings("a graph", FACTORIES[name](COVERS["pentagon"]()).settings())


class Leaking(TsallisShannon):
    """Asks for losses that its choice does not show."""

    def observes(self, arm):
        return np.arange(self.n_arms)[: super().observes(arm).size] if arm else super().observes(arm)


class Fidgety(TsallisShannon):
    """Learns something from merely drawing."""

    def draw(self, state, first, second):
        state.cumulative_losses[0] += 1e-12
        return super().draw(state, first, second)


class Lopsided(TsallisShannon):
    """Draws an arm more often than it says."""

    def draw(self, state, first, second):
        return super().draw(state, first**1.5, second)


class Unnormalised(TsallisShannon):
    """Has a little more than one."""

    def distribution(self, state):
        return super().distribution(state) * (1 + 1e-8)


class Forgetful(TsallisShannon):
    """Loses the clock when saved."""

    def unpack(self, arrays):
        return super().unpack(arrays | {"clock": self.pack(self.init())["clock"]})


class Aliased(TsallisShannon):
    """Hands out its own arrays when saved."""

    def pack(self, state):
        return {"cumulative_losses": state.cumulative_losses, "clock": state.clock}


class Partial(TsallisShannon):
    """Prefers low numbers."""

    def update(self, state, ticket, losses):
        super().update(state, ticket, np.minimum(losses, 0.9 if ticket.arm % 2 else 1.0))


class Moody(TsallisShannon):
    """Is different every time."""

    def draw(self, state, first, second):
        object.__setattr__(self, "calls", getattr(self, "calls", 0) + 1)
        return super().draw(state, (first + 0.01 * self.calls) % 1.0, second)


class Asleep(TsallisShannon):
    """Does not count."""

    def round(self, state):
        return 1


@pytest.mark.parametrize(
    ("broken", "check"),
    [
        (Unnormalised, check_its_distribution_is_one),
        (Lopsided, check_draws_follow_the_distribution),
        (Fidgety, check_drawing_changes_nothing),
        (Moody, check_equal_seeds_give_equal_traces),
        (Asleep, check_rounds_count_the_outcomes_learnt),
        (Forgetful, check_state_survives_saving),
        (Aliased, check_packing_is_a_snapshot),
        (Asleep, check_an_outcome_may_come_late),
        (Leaking, check_losses_it_may_not_see_never_surface),
    ],
)
def test_the_contract_notices_a_learner_that_breaks_it(broken, check):
    assert check in CHECKS
    with pytest.raises(AssertionError):
        check(broken(COVERS["unequal cliques"]()))


def test_the_contract_notices_a_learner_that_prefers_some_numbers():
    with pytest.raises(AssertionError):
        check_relabelling_arms_relabels_the_answer(COVERS["unequal cliques"](), Partial)
