"""The constants of Algorithm 1: the printed values, and every value that is refused."""

from __future__ import annotations

import dataclasses
import json
import math
import subprocess
import sys

import numpy as np
import pytest

from allworlds import graphs
from allworlds.covers import clique_cover
from allworlds.foundation.errors import AllWorldsError, InvalidConstants, InvalidParameter
from allworlds.ftrl import Constants, sharp_alpha, solve_ftrl
from allworlds.ftrl.sharp import rebound
from allworlds.learners import TsallisShannon

NAN, INF = math.nan, math.inf
GOOD = {"alpha": (3.0, 4.0), "beta": 2.0, "gamma": 0.01, "eta0": 1.5}


@pytest.fixture
def cover():
    return clique_cover(graphs.disjoint_cliques([1, 4, 5]))


@pytest.mark.parametrize("horizon", [1, 7, 1000, 10**9, np.int64(50)])
def test_the_papers_constants_are_those_that_are_printed(cover, horizon):
    constants = Constants.paper(cover, horizon)
    n_arms, rounds = 10, int(horizon)
    # [EK21, Algorithm 1]: alpha = 2 (1 + log^2(NT)), beta = 9, gamma = 1/(NT), eta_t = 1/sqrt(t).
    assert constants.alpha == pytest.approx((2.0 * (1.0 + math.log(n_arms * rounds) ** 2),) * 3, rel=1e-15)
    assert constants.beta == 9.0
    assert constants.gamma == 1.0 / (n_arms * rounds)
    assert [constants.learning_rate(t) for t in (1, 4, 9, 10_000)] == [1.0, 0.5, 1.0 / 3.0, 0.01]
    assert constants.estimator == "importance"


def test_the_papers_alpha_for_ten_arms_and_a_million_rounds_is_about_520(cover):
    assert Constants.paper(cover, 10**6).alpha[0] == pytest.approx(521.6, abs=0.1)


def test_sharp_constants_have_one_alpha_a_clique_and_no_floor_and_no_horizon():
    cover = clique_cover(graphs.disjoint_cliques([1, 3, 5]))
    constants = Constants.sharp(cover)
    assert np.round(constants.alpha, 3).tolist() == [2.0, 3.116, 3.879]
    assert (constants.beta, constants.gamma, constants.eta0, constants.power) == (9.0, 0.0, 1.0, 0.5)
    assert constants.estimator == "importance"
    assert Constants.sharp(cover, kappa=0.0).alpha[0] == 0.0


def test_practical_constants_are_those_of_theorem_c(cover):
    constants = Constants.practical(cover)
    alpha = [sharp_alpha(size, 0.25) for size in (1, 4, 5)]
    assert constants.alpha == tuple(alpha)
    reach = [a + math.log(size) for a, size in zip(alpha, (1, 4, 5), strict=True)]
    assert constants.rate_factor == pytest.approx([math.sqrt(value) for value in reach], rel=1e-15)
    assert constants.beta == pytest.approx(0.2 + 1.25 * rebound(5), rel=1e-15)
    assert (constants.eta0, constants.gamma, constants.power, constants.estimator) == (4.0, 0.0, 0.5, "baseline")
    assert (constants.memory, constants.barrier_slope) == (20.0, 1.25)
    assert (constants.deficit_limit, constants.deficit_root) == (0.04, 6.0)
    assert constants.baseline_share == 0.85
    assert (constants.implicit_exploration, constants.variance_floor, constants.head_start) == (0.0, 1.0, 300.0)
    assert TsallisShannon(cover).constants == constants


def test_the_unproved_setting_is_what_the_default_was(cover):
    constants = Constants.unproved(cover)
    alpha = [sharp_alpha(size, 0.25) for size in (1, 4, 5)]
    assert constants.alpha == tuple(alpha)
    reach = max(a + math.log(size) for a, size in zip(alpha, (1, 4, 5), strict=True))
    assert constants.eta0 == pytest.approx(3.0 * math.sqrt(reach), rel=1e-15)
    assert constants.implicit_exploration == pytest.approx(30.0 * math.sqrt(reach), rel=1e-15)
    assert (constants.beta, constants.gamma, constants.power, constants.estimator) == (1.5, 0.0, 0.5, "baseline")
    assert constants.memory == 0.0
    assert constants.baseline_share == 1.0
    assert constants.deficit_limit == math.inf

    assert (constants.variance_floor, constants.head_start, constants.label) == (0.25, 300.0, "unproved")


@pytest.mark.parametrize("size", [1, 2, 7])
def test_with_one_clique_the_unproved_setting_is_exponential_weights(size):
    constants = Constants.unproved(clique_cover(graphs.full_information(size)))
    assert constants.eta0 == pytest.approx(2.0 * math.sqrt(math.log(max(2, size))), rel=1e-15)
    assert constants.implicit_exploration == 0.0
    assert constants.alpha == (sharp_alpha(size, 0.25),)


def test_what_is_not_as_in_the_paper_is_seen_in_the_repr(cover):
    assert "exploration" not in repr(Constants.paper(cover, 10))
    assert "floor" not in repr(Constants.sharp(cover))
    assert "implicit exploration=57.62/(t + 300), variance floor=0.25)" in repr(Constants.unproved(cover))
    words = "memory=20, baseline share=0.85, barrier slope=1.25, deficit limit=0.04, deficit root=6)"
    assert words in repr(Constants.practical(cover))
    for whole in (Constants.paper(cover, 10), Constants.sharp(cover), Constants.unproved(cover)):
        assert "share" not in repr(whole)


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("implicit_exploration", 0.5, "implicit exploration=0.5/t"),
        ("variance_floor", 0.5, "variance floor=0.5"),
        ("memory", 0.5, "memory=0.5"),
        ("baseline_share", 0.5, "baseline share=0.5"),
        ("barrier_slope", 0.5, "barrier slope=0.5"),
        ("deficit_limit", 0.5, "deficit limit=0.5"),
        ("deficit_root", 0.5, "deficit root=0.5"),
    ],
)
def test_whatever_is_switched_on_is_seen_in_the_repr_however_little(field, value, words):
    plain = Constants((3.0,), 1.0, 0.0, 1.0)
    name = words.partition("=")[0]
    assert name not in repr(plain)
    assert f", {words})" in repr(dataclasses.replace(plain, **{field: value}))


def test_only_importance_weights_without_implicit_exploration_are_unbiased(cover):
    one = Constants.sharp(cover)
    assert one.is_unbiased
    assert not dataclasses.replace(one, estimator="baseline").is_unbiased
    assert not dataclasses.replace(one, implicit_exploration=1e-9).is_unbiased


def test_with_one_clique_the_practical_setting_is_exponential_weights_without_damping():
    constants = Constants.practical(clique_cover(graphs.full_information(7)))
    assert constants.eta0 == pytest.approx(2.0 * math.sqrt(math.log(7.0)), rel=1e-15)
    assert constants.implicit_exploration == 0.0
    assert constants.alpha == (sharp_alpha(7, 0.25),)
    assert (constants.beta, constants.gamma, constants.power, constants.estimator) == (1.0, 0.0, 0.5, "baseline")
    assert (constants.memory, constants.head_start, constants.baseline_share) == (20.0, 0.0, 1.0)
    assert (constants.barrier_slope, constants.deficit_limit, constants.deficit_root) == (0.0, math.inf, 0.0)
    for size in (1, 2):  # a single arm counts as two, so that there is a rate
        assert Constants.practical(clique_cover(graphs.full_information(size))).eta0 == pytest.approx(
            2.0 * math.sqrt(math.log(2.0)), rel=1e-15
        )


@pytest.mark.parametrize("power", [0.0, 0.25, 0.5, 1.0])
def test_the_learning_rate_falls_with_its_power(power):
    constants = Constants(**GOOD, power=power)
    for t in (1, 2, 100):
        assert constants.learning_rate(t) == pytest.approx(1.5 * math.exp(-power * math.log(t)), rel=1e-14)


def test_equal_constants_have_equal_hashes_and_digests_and_others_do_not():
    one, same = Constants(**GOOD), Constants(**GOOD | {"alpha": [3, 4], "beta": np.float64(2.0)})
    assert one == same
    assert hash(one) == hash(same)
    assert one.digest() == same.digest()
    changes = {
        "alpha": (3.0, math.nextafter(4.0, 5.0)),
        "beta": 3.0,
        "gamma": 0.0,
        "eta0": 1.0,
        "power": 0.25,
        "estimator": "baseline",
        "implicit_exploration": 7.0,
        "variance_floor": 0.5,
        "head_start": 10.0,
        "rate_factor": (1.0, 2.0),
        "memory": 5.0,
        "baseline_share": 0.5,
        "barrier_slope": 1.0,
        "deficit_limit": 0.5,
        "deficit_root": 2.0,
        "label": "mine",
    }
    assert set(changes) == {field.name for field in dataclasses.fields(Constants)}
    others = [dataclasses.replace(one, **{name: value}) for name, value in changes.items()]
    assert len({constants.digest() for constants in [one, *others]}) == 1 + len(changes)
    assert one not in others


def test_the_digest_is_the_same_in_another_process():
    code = "from allworlds import Constants; print(Constants((3.0, 4.0), 2.0, 0.01, 1.5).digest())"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == Constants(**GOOD).digest()


@pytest.mark.parametrize("name", ["paper", "sharp", "practical", "unproved"])
def test_constants_survive_json_bit_for_bit(cover, name):
    constants = Constants.paper(cover, 12345) if name == "paper" else getattr(Constants, name)(cover)
    again = Constants.from_dict(json.loads(json.dumps(constants.to_dict())))
    assert again == constants
    assert again.digest() == constants.digest()


@pytest.mark.parametrize("name", ["paper", "sharp", "practical", "unproved"])
def test_constants_that_were_saved_before_there_was_a_share_take_the_whole_mean(cover, name):
    constants = Constants.paper(cover, 12345) if name == "paper" else getattr(Constants, name)(cover)
    data = json.loads(json.dumps(constants.to_dict()))
    assert data.pop("baseline_share") == constants.baseline_share
    old = Constants.from_dict(data)
    assert old.baseline_share == 1.0
    assert old == dataclasses.replace(constants, baseline_share=1.0)


def test_constants_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Constants(**GOOD).beta = 1.0


@pytest.mark.parametrize("name", ["beta", "gamma", "eta0", "power", "alpha"])
@pytest.mark.parametrize("value", [NAN, INF, -INF, -1.0, True, "1", None, 1j])
def test_what_is_no_finite_number_of_at_least_zero_is_refused(name, value):
    wrong = (3.0, value) if name == "alpha" else value
    with pytest.raises(InvalidConstants, match=name if name != "power" else "power|learning rate"):
        Constants(**GOOD | {name: wrong})


@pytest.mark.parametrize(
    "change",
    [
        {"alpha": ()},
        {"rate_factor": (1.0,)},
        {"rate_factor": (1.0, 0.0)},
        {"rate_factor": (1.0, NAN)},
        {"memory": -1.0},
        {"barrier_slope": -0.5},
        {"deficit_limit": 0.0},
        {"deficit_root": -1.0},
        {"deficit_root": NAN},
        {"deficit_limit": NAN},
        {"alpha": 3.0},
        {"alpha": "34"},
        {"eta0": 0.0},
        {"power": 1.5},
        {"estimator": "exact"},
        {"estimator": None},
        {"implicit_exploration": -1.0},
        {"variance_floor": -0.1},
        {"variance_floor": 1.5},
        {"variance_floor": 0.5, "memory": 20.0, "baseline_share": 0.75},
    ],
    ids=str,
)
def test_values_that_mean_nothing_are_refused_with_what_was_expected(change):
    with pytest.raises(InvalidConstants, match="expected"):
        Constants(**GOOD | change)


@pytest.mark.parametrize("share", [-1e-9, -1.0, 1.0 + 1e-9, 2.0, NAN, INF, -INF, True, False, "0.5", None, 1j])
def test_a_baseline_share_is_a_number_from_0_to_1(share):
    with pytest.raises(InvalidConstants, match=r"^baseline_share is .+; expected a (share from 0 to 1|number of .+)$"):
        Constants(**GOOD, memory=20.0, baseline_share=share)
    for good in (0, 0.0, 0.75, np.float64(0.5), 1):
        assert Constants(**GOOD, memory=20.0, baseline_share=good).baseline_share == float(good)


@pytest.mark.parametrize("horizon", [0, -1, 1.5, 7.0, True, "7", None, NAN, np.float64(3.0)])
def test_a_horizon_is_a_positive_integer(cover, horizon):
    with pytest.raises(InvalidParameter, match=r"horizon is .*; expected an integer of at least 1"):
        Constants.paper(cover, horizon)


@pytest.mark.parametrize("kappa", [1.0, 1.5, -0.1, NAN, INF, "0.5", None])
def test_kappa_is_at_least_zero_and_below_one(cover, kappa):
    with pytest.raises(InvalidConstants, match="expected 0 <= kappa < 1"):
        Constants.sharp(cover, kappa)


def refused_by_all(cover, constants, match):
    """A learner, the step, and the check itself say the same."""
    for use in (
        lambda: constants.check_fits(cover),
        lambda: TsallisShannon(cover, constants),
        lambda: solve_ftrl(cover, np.zeros(cover.n_arms), 1.0, constants),
    ):
        with pytest.raises(InvalidConstants, match=match):
            use()


def test_the_floor_of_all_arms_together_is_at_most_one(cover):
    fair = Constants(alpha=(9.0,) * 3, beta=1.0, gamma=0.1, eta0=1.0)
    fair.check_fits(cover)
    refused_by_all(
        cover, dataclasses.replace(fair, gamma=0.1001), "gamma is 0.1001, but 10 arms .* choose a smaller gamma"
    )


def test_rounding_is_forgiven_in_the_floor_and_in_alpha_and_no_more(cover):
    """A millionth of a millionth: less of an excess is taken, twice as much is refused."""
    limits = [sharp_alpha(size, 0.0) for size in (1, 4, 5)]
    for excess, taken in ((0.8e-12, True), (2e-12, False)):
        floor = Constants(alpha=(9.0,) * 3, beta=1.0, gamma=(1.0 + excess) / 10.0, eta0=1.0)
        alpha = Constants(alpha=(limits[0], limits[1] * (1.0 - excess), limits[2]), beta=1.0, gamma=0.0, eta0=1.0)
        for constants in (floor, alpha):
            if taken:
                constants.check_fits(cover)
            else:
                refused_by_all(cover, constants, "choose a smaller gamma|for a clique of 4 arms")


def test_numbers_up_to_1e30_are_taken():
    assert Constants(**GOOD | {"beta": 1e30}).beta == 1e30
    with pytest.raises(InvalidConstants, match=r"expected a number of at most 1e\+30"):
        Constants(**GOOD | {"beta": math.nextafter(1e30, math.inf)})


def test_there_is_one_alpha_for_each_clique(cover):
    for alpha in ((9.0,) * 2, (9.0,) * 4):
        constants = Constants(alpha=alpha, beta=1.0, gamma=0.0, eta0=1.0)
        refused_by_all(cover, constants, f"alpha has {len(alpha)} numbers but the cover has 3 cliques")


def test_an_alpha_below_the_convexity_limit_of_its_clique_is_refused(cover):
    limits = [sharp_alpha(size, 0.0) for size in (1, 4, 5)]
    Constants(alpha=limits, beta=1.0, gamma=0.0, eta0=1.0).check_fits(cover)
    for k, size in ((1, 4), (2, 5)):
        alpha = list(limits)
        alpha[k] *= 0.999
        constants = Constants(alpha=alpha, beta=1.0, gamma=0.0, eta0=1.0)
        refused_by_all(cover, constants, f"for a clique of {size} arms, below .*sharp_alpha")


def test_a_mass_that_neither_alpha_nor_beta_determines_is_refused(cover):
    limits = [sharp_alpha(size, 0.0) for size in (1, 4, 5)]
    assert limits[0] == 0.0
    refused_by_all(cover, Constants(alpha=limits, beta=0.0, gamma=0.0, eta0=1.0), "are both 0 for some clique")


def test_with_one_clique_alpha_and_beta_drop_out():
    whole = clique_cover(graphs.full_information(5))
    Constants(alpha=(0.0,), beta=0.0, gamma=0.0, eta0=1.0).check_fits(whole)


def test_the_errors_are_ours_and_value_errors():
    for error in (InvalidConstants, InvalidParameter):
        assert issubclass(error, AllWorldsError)
        assert issubclass(error, ValueError)


def test_the_representation_stays_short():
    many = Constants(alpha=(3.0,) * 1000, beta=1.0, gamma=0.0, eta0=1.0)
    assert "1000 in all" in repr(many)
    assert len(repr(many)) < 160
