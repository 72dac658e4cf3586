"""Fleets: one agent per segment, one file, memory by segments seen."""

from __future__ import annotations

import tracemalloc

import pytest

import allworlds as aw
from agents.agent_runs import everything, play, report
from allworlds.foundation.errors import InvalidParameter, InvalidState

GRAPH = aw.graphs.disjoint_cliques(2, 3)


def busy_fleet(**options):
    fleet = aw.Fleet(GRAPH, seed=3, **options)
    for t in range(40):
        segment = ("DE/mobile", "FR/desktop", "ü \ud800")[t % 3]
        decision = fleet.choose(segment, [0, 3, 4] if t % 5 == 0 else None)
        if t % 4:
            fleet.observe(segment, decision, report(decision))
    return fleet


def test_segments_learn_apart_and_equal_seeds_agree():
    fleet, same = aw.Fleet(GRAPH, seed=3), aw.Fleet(GRAPH, seed=3)
    for _ in range(200):
        for one in (fleet, same):
            for segment, good in (("a", 0), ("b", 5)):
                decision = one.choose(segment)
                one.observe(segment, decision, {arm: 0.1 if arm == good else 0.9 for arm in decision.observes})
    assert fleet["a"].distribution.argmax() == 0
    assert fleet["b"].distribution.argmax() == 5
    assert everything(fleet["a"]) == everything(same["a"])
    assert fleet["a"].seed != fleet["b"].seed


def test_a_segment_does_not_depend_on_when_the_others_are_seen():
    one, other = aw.Fleet(GRAPH, seed=3), aw.Fleet(GRAPH, seed=3)
    other.choose("first")
    assert one.choose("x") == other.choose("x")


@pytest.mark.parametrize("suffix", [".json", ".npz"])
def test_a_fleet_is_saved_in_one_file_and_goes_on_bit_for_bit(tmp_path, suffix):
    fleet = busy_fleet(minimum_share={1: 0.05}, low=-1.0)
    fleet["FR/desktop"].add_arm("new", [0, 1, 2])
    fleet.save(tmp_path / f"fleet{suffix}")
    again = aw.Fleet.load(tmp_path / f"fleet{suffix}")
    assert len(list(tmp_path.iterdir())) == 1
    assert list(again) == list(fleet) == ["DE/mobile", "FR/desktop", "ü \ud800"]
    assert again.summary() == fleet.summary()
    for segment in fleet:
        assert everything(again[segment]) == everything(fleet[segment])
        assert play(again[segment], 5) == play(fleet[segment], 5)
    assert again.choose("unseen") == fleet.choose("unseen")


def test_the_summary_has_a_row_for_each_segment():
    fleet = aw.Fleet(GRAPH, seed=3)
    fleet.observe("a", fleet.choose("a"), [0.5, 0.5, 0.5])
    fleet.void("a", fleet.choose("a"))
    fleet.choose("b")
    rows = {row["segment"]: row for row in fleet.summary()}
    assert [rows["a"][name] for name in ("decisions", "learnt", "open", "voided")] == [2, 1, 0, 1]
    assert [rows["b"][name] for name in ("decisions", "learnt", "open", "best")] == [1, 0, 1, None]
    assert rows["a"]["probability"] == fleet["a"].distribution.max()
    fleet.void("a", fleet.choose("a", [0]))
    fleet["a"].retire_arm(0)
    assert next(row for row in fleet.summary() if row["segment"] == "a")["voided"] == 2


def test_memory_is_proportional_to_the_segments_seen_and_the_graph_is_shared():
    fleet = aw.Fleet(aw.graphs.disjoint_cliques(10, 10), seed=3)
    fleet.choose("warm")
    tracemalloc.start()
    for i in range(50):
        fleet.choose(f"a{i}")
    fifty = tracemalloc.get_traced_memory()[0]
    for i in range(50):
        fleet.choose(f"b{i}")
    hundred = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert hundred < 2.3 * fifty
    assert fifty / 50 < 60_000
    assert all(fleet[segment].learner is fleet["warm"].learner for segment in fleet)


def test_a_log_names_the_segment_of_every_row_and_goes_on_after_loading(tmp_path):
    rows = []
    fleet = aw.Fleet(GRAPH, seed=1, log=rows.append)
    waiting = {segment: fleet.choose(segment) for segment in ("DE", "FR")}
    fleet.save(tmp_path / "fleet.json")
    again = aw.Fleet.load(tmp_path / "fleet.json", log=rows.append)
    for segment, decision in waiting.items():
        again.observe(segment, decision.id, [0.5] * len(decision.observes))
    again.choose("IT")
    assert [(row["segment"], row["decision_id"], row["status"]) for row in rows] == [
        ("DE", 1, "open"),
        ("FR", 1, "open"),
        ("DE", 1, "observed"),
        ("FR", 1, "observed"),
        ("IT", 1, "open"),
    ]


def test_what_is_wrong_gets_a_sentence_and_makes_no_agent(tmp_path):
    fleet = busy_fleet()
    before = list(fleet)
    for call, sentence in [
        (lambda: fleet.choose(3), "segment is 3; expected a string such as 'DE/mobile'"),
        (lambda: fleet.choose("new", []), "available is empty"),
        (lambda: fleet.choose("new", [99]), "available names an unknown arm"),
        (lambda: fleet.observe("new", 1, [0.5]), "segment 'new' was never seen; fleet.choose makes its agent"),
        (lambda: fleet[3], "segment 3 was never seen"),
        (lambda: aw.Fleet(GRAPH, minimum_share=2.0), "minimum_share is 2.0"),
        (lambda: aw.Fleet(GRAPH, log="log.parquet"), "log is 'log.parquet'; expected a function of a row for a fleet"),
        (lambda: fleet.save(tmp_path / "fleet.txt"), "expected a name ending in .json or .npz"),
    ]:
        with pytest.raises(InvalidParameter, match=sentence):
            call()
    assert list(fleet) == before
    fleet.save(tmp_path / "fleet.json")
    with pytest.raises(InvalidState, match=r"this is not a saved agent; agent\.save writes one"):
        aw.Agent.load(tmp_path / "fleet.json")
    fleet["DE/mobile"].save(tmp_path / "agent.json")
    with pytest.raises(InvalidState, match=r"this is not a saved fleet; fleet\.save writes one"):
        aw.Fleet.load(tmp_path / "agent.json")
