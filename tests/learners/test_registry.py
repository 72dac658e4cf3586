"""Learners by name: what may be changed of the constants."""

from __future__ import annotations

import pytest

from allworlds.covers import clique_cover
from allworlds.foundation.errors import AllWorldsError, InvalidParameter
from allworlds.ftrl import Constants
from allworlds.graphs import disjoint_cliques
from allworlds.learners.by_name import learner_of

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
    changed = learner_of(f"{name}:beta=0.25,eta0=2,estimator=baseline", COVER, 100).constants
    assert (changed.beta, changed.eta0, changed.estimator) == (0.25, 2.0, "baseline")
    assert (changed.alpha, changed.gamma, changed.power) == (setting.alpha, setting.gamma, setting.power)
    assert changed.label == f"{setting.label}, beta = 0.25, eta0 = 2, estimator = baseline"
    assert learner_of(name, COVER, 100).constants == setting


def test_a_constant_that_there_is_not_is_refused_and_so_is_one_that_means_nothing():
    with pytest.raises(InvalidParameter, match="there is no constant 'delta'"):
        learner_of("tsallis-shannon:delta=1", COVER)
    with pytest.raises(AllWorldsError, match="beta is -1"):
        learner_of("tsallis-shannon:beta=-1", COVER)
