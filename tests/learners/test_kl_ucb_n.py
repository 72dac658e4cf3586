"""KL-UCB-N: its root against scipy, its choices against the published index."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import rel_entr

from allworlds import graphs
from allworlds.foundation.errors import InvalidParameter
from allworlds.learners import KLUCBN
from allworlds.learners.kl_ucb_n import lowest_allowed
from allworlds.simulation import play_many
from allworlds.worlds import one_good_arm
from index_rules import GRAPHS, SHAPES, by_index, play


def kl(p, q):
    return float(rel_entr(p, q) + rel_entr(1 - p, 1 - q))


@pytest.mark.parametrize("p", [1e-6, 0.01, 0.3, 0.5, 0.99, 1 - 1e-9, 1.0])
@pytest.mark.parametrize("level", [1e-10, 1e-4, 0.1, 1.0, 5.0])
def test_the_index_is_the_root_that_scipy_finds(p, level):
    found = lowest_allowed(p, level)
    assert 0.0 <= found <= p
    if found > 1e-290:
        root = math.exp(brentq(lambda x: kl(p, math.exp(x)) - level, -690.0, math.log(p), xtol=1e-14, rtol=1e-14))
        assert found == pytest.approx(root, rel=1e-6 if level < 1e-9 else 1e-9)
    else:
        assert kl(p, 1e-290) <= level


def test_an_arm_that_never_lost_may_be_perfect_and_without_a_level_the_mean_is_the_index():
    assert lowest_allowed(0.0, 3.0) == 0.0
    assert lowest_allowed(0.4, 0.0) == 0.4
    assert lowest_allowed(1.0, 2.0) == pytest.approx(math.exp(-2.0), rel=1e-15)


@SHAPES
@pytest.mark.parametrize("c", [0.0, 3.0])
def test_it_chooses_what_the_published_index_chooses(shape, c):
    def index(losses, t, arm):
        level = (math.log(t) + c * math.log(max(1.0, math.log(t)))) / losses.size
        mean = losses.mean()
        if mean == 0.0 or level == 0.0:
            return mean
        if kl(mean, 1e-300) <= level:
            return 0.0
        return math.exp(brentq(lambda x: kl(mean, math.exp(x)) - level, -690.0, math.log(mean), xtol=1e-15))

    assert play(KLUCBN(GRAPHS[shape](), c), by_index(index), 150) > 0


@pytest.mark.compiled
def test_for_bandits_the_regret_grows_as_lai_and_robbins_allow():
    gap = 0.3
    bound = 3 * gap / kl((1 + gap) / 2, (1 - gap) / 2)
    traces = play_many(KLUCBN(graphs.bandit(4)), one_good_arm(4, gap=gap), 30_000, range(100), jobs=1)
    early = int(np.searchsorted(traces[0].rounds, 3_000))
    growth = np.mean([trace.pseudo_regret[-1] - trace.pseudo_regret[early] for trace in traces])
    assert growth / math.log(30_000 / traces[0].rounds[early]) == pytest.approx(bound, rel=0.3)


@pytest.mark.parametrize("c", [-1.0, math.inf, "3", True])
def test_a_negative_c_is_refused(c):
    with pytest.raises(InvalidParameter, match=r"c is .*; expected a finite number of at least 0"):
        KLUCBN(graphs.bandit(2), c)
