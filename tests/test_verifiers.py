"""The verifiers themselves, on answers known by hand."""

from __future__ import annotations

import verifiers

PATH = [[1, 1, 0], [1, 1, 1], [0, 1, 1]]
TRIANGLE = [[1] * 3] * 3


def test_the_verifier_of_covers_accepts_a_cover_and_refuses_what_is_none():
    assert verifiers.is_clique_cover(PATH, [[0, 1], [2]])
    assert not verifiers.is_clique_cover(PATH, [[0, 1, 2]])
    assert not verifiers.is_clique_cover(PATH, [[0, 1]])
    assert not verifiers.is_clique_cover(PATH, [[0, 1], [1, 2]])
    assert not verifiers.is_clique_cover(PATH, [[0, 1], [2], []])


def test_the_verifier_of_independence_looks_at_every_pair():
    assert verifiers.is_independent(PATH, [0, 2])
    assert not verifiers.is_independent(PATH, [0, 2, 1])


def test_brute_force_numbers_agree_with_hand_counts():
    pentagon = [[1 if (i - j) % 5 in (0, 1, 4) else 0 for j in range(5)] for i in range(5)]
    assert [verifiers.independence_number(graph) for graph in (PATH, TRIANGLE, pentagon)] == [2, 1, 2]
    assert [verifiers.clique_cover_number(graph) for graph in (PATH, TRIANGLE, pentagon)] == [2, 1, 3]


def test_relabelling_moves_edges_with_their_arms():
    assert verifiers.relabelled(PATH, [2, 0, 1]).tolist() == [[1, 1, 1], [1, 1, 0], [1, 0, 1]]
