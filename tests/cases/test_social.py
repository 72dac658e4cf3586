"""The case of the social network: its files are read by their format, its worlds keep their word, its claims hold."""

from __future__ import annotations

import json
import struct
import sys

import networkx as nx
import numpy as np
import pytest

import allworlds as aw
import case_social
from case_data import NoData
from case_social import OURS, costs, make_settings, mean_of, play_all, shortlist, true_losses
from case_social_data import Network, load, read_gt


def gt_file(circles, labels, order="<", magic=b"\xe2\x9b\xbe gt"):
    """A file of graph-tool as its documentation describes it, for fewer than 256 nodes."""

    def text(words):
        return struct.pack(order + "Q", len(words.encode())) + words.encode()

    parts = [
        magic,
        bytes([1, order == ">"]),
        text("written by a test"),
        bytes([0]),
        struct.pack(order + "Q", len(circles)),
    ]
    parts += [struct.pack(order + "Q", len(circle)) + bytes(circle) for circle in circles]
    numbers = bytes([1]) + text("value") + bytes([4]) + struct.pack(f"{order}{len(circles)}d", *range(len(circles)))
    names = bytes([1]) + text("label") + bytes([6]) + b"".join(map(text, labels))
    unreadable = bytes([1]) + text("pos") + bytes([11]) + b"?"
    return b"".join([*parts, struct.pack(order + "Q", 3), numbers, names, unreadable])


@pytest.mark.parametrize("order", ["<", ">"])
def test_a_file_of_graph_tool_gives_its_people_their_names_and_who_knows_whom(order):
    network = read_gt("four", gt_file([[1, 2], [2, 1, 0], [], []], ["Anna", "Ben", "Çelik", "Dee"], order))
    assert (network.n_people, network.labels) == (4, ("Anna", "Ben", "Çelik", "Dee"))
    assert network.edges.tolist() == [[0, 1], [0, 2], [1, 2]]  # without the self-loop and the edge given twice


def test_names_that_are_not_unique_are_not_used():
    assert read_gt("two", gt_file([[1], []], ["Ann", "Ann"])).labels is None


def test_a_file_of_another_format_is_refused():
    with pytest.raises(NoData, match="expected a file in graph-tool's binary format"):
        read_gt("odd", gt_file([[1], []], ["A", "B"], magic=b"\x89PNG\r\n"))


def test_a_network_that_is_not_there_is_named_with_what_to_do(tmp_path):
    with pytest.raises(NoData, match=r"football\.gt\.gz; run python examples/case_social_data\.py once"):
        load("football", tmp_path)


def test_liking_halves_with_every_step_from_a_fan():
    network = load("miserables")
    truth = true_losses(network, 3)
    graph = nx.Graph(network.edges.tolist())
    fans = np.flatnonzero(truth < 0.3)
    assert fans.size == 2
    steps = nx.multi_source_dijkstra_path_length(graph, set(fans.tolist()))
    for person, loss in enumerate(truth):
        liking = 0.6 * 0.5 ** steps[person] if steps[person] <= 4 else 0.0
        assert 0.8 - liking <= loss <= 0.9 - liking


def test_people_lie_in_the_first_fifth_only_and_as_many_as_was_said():
    truth = true_losses(load("miserables"), 5)
    settings = dict(make_settings(truth, 5))
    reported = {
        name: [np.array([settings[name].world.mean(t, arm, horizon=1000) for arm in range(77)]) for t in (200, 201)]
        for name in ("fake likes", "fake likes and denials")
    }
    for lying, after in reported.values():
        assert np.array_equal(after, truth)
        assert (lying == 0.0).sum() >= 2
    likes, denials = reported["fake likes"][0], reported["fake likes and denials"][0]
    assert (likes != truth).sum() == 77 // 20
    assert (denials[truth < 0.45] == 1.0).all()


def test_a_mood_moves_all_alike():
    truth = true_losses(load("karate"), 1)
    setting = dict(make_settings(truth, 1))["moods"]
    for t in (1, 500, 1000):
        means = np.array([setting.world.mean(t, arm, horizon=1000) for arm in range(34)])
        assert np.allclose(means - means.min(), setting.truth - setting.truth.min())


def test_a_shortlist_has_the_largest_circles_and_their_pairs():
    network = load("miserables")
    cover = aw.clique_cover(case_social.make_graph(network))
    people, few = shortlist(network, cover, 5)
    sizes = sorted(map(len, cover.cliques), reverse=True)
    assert sorted(map(len, few.cliques), reverse=True) == sizes[:5]
    assert few.n_arms == people.size == sum(sizes[:5])
    known = {frozenset(pair) for pair in network.edges.tolist()}
    kept = {frozenset(people[pair].tolist()) for pair in few.graph.edges()}
    assert kept == {pair for pair in known if pair <= set(people.tolist())}


def test_the_mean_of_seeds_has_the_interval_of_student():
    assert mean_of([1.0, 2.0, 3.0]) == pytest.approx((2.0, 2.0 - 2.4841377, 2.0 + 2.4841377, 3.0), abs=1e-6)


@pytest.fixture(scope="module")
def runs():
    network = load("miserables")
    learners = (OURS, "thompson-n", "ucb-n", "tsallis-inf", "uniform")
    return play_all(network, aw.clique_cover(case_social.make_graph(network)), 3000, range(8), learners=learners)


@pytest.mark.compiled
@pytest.mark.parametrize("world", ["honest", "fake likes", "moods"])
def test_seeing_the_circle_costs_less_than_ignoring_it(runs, world):
    difference = mean_of(costs(runs, world, "tsallis-inf") - costs(runs, world, OURS))
    assert difference.low > 0.0, difference


@pytest.mark.compiled
def test_thompson_sampling_is_better_where_people_are_honest(runs):
    difference = mean_of(costs(runs, "honest", OURS) - costs(runs, "honest", "thompson-n"))
    assert difference.low > 0.0, difference


@pytest.mark.compiled
def test_fake_likes_take_away_the_lead_of_thompson_sampling(runs):
    honest, lying = (
        mean_of(costs(runs, world, OURS) / costs(runs, world, "thompson-n")) for world in ("honest", "fake likes")
    )
    assert lying.high < honest.low, (honest, lying)


@pytest.mark.compiled
def test_the_command_prints_json_and_draws_its_pictures(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["case_social.py", "--quick", "--json", "--out", str(tmp_path / "out")])
    case_social.main()
    answer = json.loads(capsys.readouterr().out)
    assert answer["covers"][0]["circles"] == answer["covers"][0]["at_least"] == 35
    assert len(answer["rows"]) == 4 * 5
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"network.png", "costs.png"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "people", "circles"), [("cond-mat-2003", 31_163, 13_387), ("email-Enron", 36_692, 22_256)]
)
def test_the_cover_of_a_large_network_is_proved_to_be_the_smallest(name, people, circles):
    try:
        network: Network = load(name)
    except NoData as error:
        pytest.skip(str(error))
    cover, facts = case_social.find_cover(network)
    assert (facts["people"], facts["circles"], facts["at_least"]) == (people, circles, circles)
    assert sorted(np.concatenate(cover.cliques).tolist()) == list(range(people))
    known = {(int(a), int(b)) for a, b in network.edges}
    for circle in cover.cliques:
        arms = sorted(circle.tolist())
        assert all((a, b) in known for place, a in enumerate(arms) for b in arms[place + 1 :])


@pytest.mark.slow
@pytest.mark.compiled
def test_a_shortlist_of_the_largest_circles_costs_less_than_everybody_where_rounds_are_few():
    try:
        network = load("netscience")
    except NoData as error:
        pytest.skip(str(error))
    cover = aw.clique_cover(case_social.make_graph(network))
    people, few = shortlist(network, cover, 60)
    saved = []
    for seed in range(8):
        truth = true_losses(network, seed)
        gaps = truth - truth.min()
        everybody = aw.play(aw.make_learner(OURS, cover), aw.worlds.stochastic(truth), 1500, seed)
        listed = aw.play(aw.make_learner(OURS, few), aw.worlds.stochastic(truth[people]), 1500, seed)
        saved.append(float(everybody.counts @ gaps - listed.counts @ gaps[people]))
    assert mean_of(saved).low > 0.0, mean_of(saved)
