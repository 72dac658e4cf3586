"""Certificates: right ones pass here and by definition, wrong ones fail in both places."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

import verifiers
from allworlds import graphs
from allworlds.covers import CliqueCover, clique_cover
from allworlds.covers.certificate import (
    Exhausted,
    FractionalPacking,
    IndependentArms,
    OddComponents,
    Part,
    PartByPart,
    certificate_from_data,
)
from allworlds.foundation.errors import InvalidCover
from allworlds.graphs import FeedbackGraph

PENTAGON = graphs.cycle(5)
TWO_PENTAGONS = FeedbackGraph(10, [(base + i, base + (i + 1) % 5) for base in (0, 5) for i in range(5)])
HALVES = FractionalPacking([1] * 5, unit=2)
ODD = OddComponents([], n_arms=5, odd=1)

RIGHT = [
    (PENTAGON, IndependentArms([0, 2]), 2),
    (PENTAGON, ODD, 3),
    (PENTAGON, HALVES, 3),
    (PENTAGON, Exhausted(3, "by hand"), 3),
    (graphs.star(6), OddComponents([0], n_arms=6, odd=5), 5),
    (TWO_PENTAGONS, PartByPart((Part(range(5), HALVES), Part(range(5, 10), Exhausted(3, "by hand")))), 6),
    (TWO_PENTAGONS, PartByPart((Part(range(5), HALVES), Part([5, 7], IndependentArms([0, 1])))), 5),
    (graphs.disjoint_cliques([2, 3]), IndependentArms([0, 4]), 2),
]
WRONG = [
    (PENTAGON, IndependentArms([0, 1]), "see each other"),
    (PENTAGON, OddComponents([0], n_arms=5, odd=4), "there are 0 odd components; expected 4"),
    (graphs.full_information(3), OddComponents([], n_arms=3, odd=1), "three arms see each other"),
    (PENTAGON, FractionalPacking([1, 1, 1, 1, 2], unit=2), r"the clique \[\d, 4\] weighs 3/2"),
    (PENTAGON, Exhausted(4, "by mistake"), "there is a cover with 3 cliques; by mistake was wrong"),
    (
        PENTAGON,
        PartByPart((Part([0, 1], IndependentArms([0])), Part([2], IndependentArms([0])))),
        "an edge joins two parts",
    ),
    (PENTAGON, PartByPart((Part([0, 2], IndependentArms([0])), Part([2], IndependentArms([0])))), "shares an arm"),
    (
        TWO_PENTAGONS,
        PartByPart((Part(range(5), HALVES), Part(range(5, 10), Exhausted(4, "x")))),
        "there is a cover with",
    ),
    (graphs.disjoint_cliques([2, 3]), IndependentArms([2, 4]), "see each other"),
]


@pytest.mark.parametrize(("graph", "certificate", "bound"), RIGHT)
def test_a_right_certificate_proves_its_bound_here_and_by_definition(graph, certificate, bound):
    assert certificate.bound == bound
    assert isinstance(certificate.check(graph), str)
    assert verifiers.proved_bound(graph.adjacency(), certificate.to_data()) == bound


@pytest.mark.parametrize(("graph", "certificate", "sentence"), WRONG)
def test_a_wrong_certificate_fails_here_and_by_definition(graph, certificate, sentence):
    with pytest.raises(InvalidCover, match=sentence):
        certificate.check(graph)
    assert verifiers.proved_bound(graph.adjacency(), certificate.to_data()) != certificate.bound


@pytest.mark.parametrize(("graph", "certificate", "bound"), RIGHT)
def test_a_certificate_survives_json_and_pickling(graph, certificate, bound):
    again = certificate_from_data(json.loads(json.dumps(certificate.to_data())))
    assert again == certificate
    assert hash(again) == hash(certificate)
    assert pickle.loads(pickle.dumps(certificate)) == certificate
    assert again.bound == bound


def test_certificates_of_other_content_differ():
    kinds = [certificate for _, certificate, _ in RIGHT]
    assert sum(one == other for one in kinds for other in kinds) == len(kinds)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: IndependentArms([1, 1]), "the independent set contains arm 1 twice"),
        (lambda: FractionalPacking([-1, 2], unit=2), "a weight is -1"),
        (lambda: FractionalPacking([1], unit=0), "unit is 0; expected an integer of at least 1"),
        (
            lambda: certificate_from_data({"kind": "hope"}),
            "the certificate is .*; expected one of the kinds",
        ),
        (
            lambda: certificate_from_data({"kind": "exhausted"}),
            "the certificate is .*; expected one",
        ),
        (lambda: IndependentArms([9]).check(PENTAGON), "the independent set contains 9; expected arms from 0 to 4"),
        (lambda: HALVES.check(graphs.cycle(7)), "there are 5 weights; expected 7"),
        (lambda: ODD.check(graphs.cycle(7)), "the graph has 7 arms; expected 5"),
    ],
)
def test_what_is_no_certificate_is_refused_in_a_sentence(make, sentence):
    with pytest.raises(InvalidCover, match=sentence):
        make()


def test_a_cover_takes_its_bound_from_its_certificate():
    cover = CliqueCover(PENTAGON, [[0, 1], [2, 3], [4]], certificate=ODD)
    assert (cover.lower_bound, cover.is_minimum, cover.certificate) == (3, True, ODD)
    assert pickle.loads(pickle.dumps(cover)).certificate == ODD


def test_a_bound_and_a_certificate_that_disagree_are_refused():
    with pytest.raises(InvalidCover, match="lower_bound is 2; expected 3, which the certificate proves"):
        CliqueCover(PENTAGON, [[0, 1], [2, 3], [4]], lower_bound=2, certificate=ODD)
    with pytest.raises(InvalidCover, match="lower_bound is 6; expected an integer from 1 to 5"):
        CliqueCover.from_owner(PENTAGON, np.arange(5), certificate=Exhausted(6, "x"))


def test_a_pickle_from_before_certificates_still_loads():
    cover = clique_cover(PENTAGON)
    arrays = (cover.owner, cover.order, cover.starts)
    old = CliqueCover._trusted(PENTAGON, *arrays, 3, "dsatur")
    assert old == cover
    assert (old.lower_bound, old.certificate) == (3, None)


def test_weights_too_large_for_machine_integers_prove_nothing():
    two_triangles = FeedbackGraph(6, [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5)])
    huge = 2**63 - 1
    with pytest.raises(InvalidCover, match="a weight is 9223372036854775807; expected integers from 0 to the unit, 2"):
        FractionalPacking([huge] * 6, unit=2)
    with pytest.raises(InvalidCover, match=r"weighs .*; expected at most one"):
        FractionalPacking([2**40] * 6, unit=2**40).check(two_triangles)
